"""Answers as JSON documents: the one place where frozen answers become data for programs.

`docs/answers.md` names every field with its unit.
"""

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

__all__ = ["ONLY_IF_ASKED", "document"]

ONLY_IF_ASKED: Mapping[str, Any] = {"only_if_asked": True}
"""The metadata of a dataclass field that a document leaves out if it is None."""


def document(answer: Any) -> Any:
    """An answer as dicts, lists, texts, finite numbers, booleans and None, ready for `json.dumps`.

    A dataclass becomes a dict of its fields in their order, without those `ONLY_IF_ASKED` that are
    None. Tuples become lists, and members of enums their names in lower case. A float that is not
    finite becomes None, as JSON has neither infinity nor NaN.

    >>> from pollwise.insight.forecasts import Interval
    >>> document({"results": (Interval(2.0, 1.0, math.inf),)})
    {'results': [{'mean': 2.0, 'low': 1.0, 'high': None}]}
    """
    if is_dataclass(answer) and not isinstance(answer, type):
        shown = {field.name: (field, getattr(answer, field.name)) for field in fields(answer)}
        return {
            name: document(value)
            for name, (field, value) in shown.items()
            if value is not None or not field.metadata.get("only_if_asked")
        }
    if isinstance(answer, Mapping):
        return {key: document(value) for key, value in answer.items()}
    if isinstance(answer, list | tuple):
        return [document(value) for value in answer]
    if isinstance(answer, Enum):
        return answer.name.lower()
    return None if isinstance(answer, float) and not math.isfinite(answer) else answer
