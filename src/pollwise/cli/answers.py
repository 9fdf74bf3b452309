"""Answers on stdout: one JSON document for programs, a table for people."""

import json
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pollwise.console.tables import Columns


def print_json(document: dict[str, Any]) -> None:
    """Print one document; what is no finite number becomes null."""
    print(json.dumps(_finite(document), indent=2, allow_nan=False))


def _finite(value: Any) -> Any:
    """A document in which null stands for the numbers that JSON does not know."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_answer(results: list[dict[str, Any]], columns: "Columns", as_json: bool) -> None:
    """Results as a document for programs or as a table for people."""
    from pollwise.console.tables import print_results

    if as_json:
        print_json({"results": results})
    else:
        print_results(results, columns)
