"""Answers on stdout: one JSON document for programs, a table for people; notices on stderr."""

import json
import sys
from typing import TYPE_CHECKING, Any

from pollwise.insight.documents import document

if TYPE_CHECKING:
    from pollwise.console.simulations import Columns


def notify(text: str) -> None:
    """Print a line that says whose it is."""
    print(f"pollwise: {text}", file=sys.stderr, flush=True)


def print_json(answer: Any) -> None:
    """Print an answer as one document; see `document`."""
    print(json.dumps(document(answer), indent=2, allow_nan=False))


def print_answer(results: list[dict[str, Any]], columns: "Columns", as_json: bool) -> None:
    """Results as a document for programs or as a table for people."""
    from pollwise.console.simulations import print_results

    if as_json:
        print_json({"results": results})
    else:
        print_results(results, columns)
