"""What programs tell, as frozen dataclasses: one reader for queries of URLs and bodies in JSON.

The annotations of a dataclass say what is allowed, `Annotated[int, Told("rows", least=1)]`;
`schema` makes the same known to programs.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from pollwise.checks import is_finite, shown
from pollwise.dashboard.api.refusals import RefusedError

__all__ = [
    "MOST_NUMBER",
    "TellableField",
    "Told",
    "read_body_fields",
    "read_query_fields",
    "tellable",
]

MOST_NUMBER = 2**53
"""Of what is counted: every program can hold it."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Told:
    """What a field means, and its bounds.

    Those of numbers are `least`, `most` and `above` (which it must exceed); of texts they are
    characters, of lists items and the characters of each (`longest`).
    """

    meaning: str
    least: float | None = None
    most: float | None = None
    above: float | None = None
    longest: int = 2000


@dataclass(frozen=True, slots=True)
class TellableField:
    """A field that may be told: `kind` is bool, int, float, str, an enum of texts or tuple, a list.

    `item` is what is in a list: str or int.
    """

    name: str
    kind: type
    item: type
    told: Told
    required: bool
    default: Any


@cache
def tellable(cls: type) -> Mapping[str, TellableField]:
    """The fields of a dataclass by name; all are annotated with what is `Told` of them."""
    hints = get_type_hints(cls, include_extras=True)
    return {field.name: _tellable(field, hints[field.name]) for field in fields(cls)}


def read_query_fields(cls: type[T], query: Mapping[str, str]) -> T:
    """The dataclass of the texts in a query; `RefusedError`, which names the field, for others."""
    return _made(cls, query, _READ_TEXT)


def read_body_fields(cls: type[T], body: object) -> T:
    """The dataclass of a JSON object; `RefusedError`, which names the field, for others."""
    if not isinstance(body, dict):
        raise RefusedError("the body must be one JSON object")
    return _made(cls, body, {})


def _tellable(field: "Field[Any]", hint: Any) -> TellableField:
    annotated, told = get_args(hint)
    assert isinstance(told, Told), field.name
    if get_origin(annotated) in (Union, UnionType):
        [annotated] = [one for one in get_args(annotated) if one is not NoneType]
    kind = get_origin(annotated) or annotated
    item = get_args(annotated)[0] if kind is tuple else str
    required = field.default is MISSING
    default = None if required else field.default
    return TellableField(field.name, kind, item, told, required, default)


def _made(cls: type[T], named: Mapping[str, Any], readers: Mapping[type, Any]) -> T:
    known = tellable(cls)  # type: ignore[arg-type]  # a class is hashable
    for name in named:
        if name not in known:
            expected = f"expected {', '.join(known)}" if known else "expected none"
            raise RefusedError(f"there is no field {shown(name)}; {expected}", field=name)
    values = {}
    for name, field in known.items():
        if name in named:
            value = named[name]
            if field.kind in readers:
                value = readers[field.kind](value)
            values[name] = _checked(field, value)
        elif field.required:
            raise RefusedError(f"{name} is missing: {field.told.meaning}", field=name)
    return cls(**values)


def _checked(field: TellableField, value: object) -> Any:
    """The value of a field, if it is one."""
    kind, told = field.kind, field.told
    if kind is bool and isinstance(value, bool):
        return value
    if kind is int and type(value) is int and _is_within(value, told):
        return value
    if kind is float and is_finite(value) and _is_within(value, told):
        return float(value)
    if kind is str and isinstance(value, str) and _is_within(len(value), told) and _is_text(value):
        return value
    if issubclass(kind, Enum) and isinstance(value, str) and value in _values(kind):
        return kind(value)
    if (
        kind is tuple
        and isinstance(value, list)
        and _is_within(len(value), told)
        and all(_is_item(one, field) for one in value)
    ):
        return tuple(value)
    raise RefusedError(f"{field.name}={shown(value)} must be {_demand(field)}", field=field.name)


def _is_item(value: object, field: TellableField) -> bool:
    if field.item is int:
        return type(value) is int and 0 <= value <= MOST_NUMBER
    return isinstance(value, str) and len(value) <= field.told.longest and _is_text(value)


def _is_within(number: float, told: Told) -> bool:
    return (
        (told.least is None or number >= told.least)
        and (told.most is None or number <= told.most)
        and (told.above is None or number > told.above)
    )


def _is_text(text: str) -> bool:
    """Whether a text can be stored: JSON can name halves of characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text


def _demand(field: TellableField) -> str:
    """What the value must be, in words."""
    kind, told = field.kind, field.told
    if kind is bool:
        return "true or false"
    if issubclass(kind, Enum):
        return f"one of {', '.join(_values(kind))}"
    bounds = [
        *([] if told.above is None else [f"above {told.above:g}"]),
        *([] if told.least is None else [f"at least {told.least:g}"]),
        *([] if told.most is None else [f"at most {told.most:.15g}"]),
    ]
    between = " and ".join(bounds)
    if kind is tuple:
        size = f", {between} of them" if between else ""
        if field.item is int:
            return f"a list of whole numbers{size}"
        return f"a list of texts{size}, of at most {told.longest} characters each"
    if kind is str:
        return f"a text of {between} characters" if between else "a text"
    return " ".join(filter(None, ("a whole number" if kind is int else "a number", between)))


def _values(kind: type[Enum]) -> list[str]:
    return [one.value for one in kind]


def _flag(text: str) -> object:
    return {"true": True, "false": False}.get(text, text)


def _whole(text: str) -> object:
    return int(text) if re.fullmatch("-?[0-9]{1,15}", text, re.ASCII) else text


def _number(text: str) -> object:
    if not re.fullmatch(r"-?[0-9.]+([eE][-+]?[0-9]+)?", text[:50], re.ASCII):
        return text
    try:
        number = float(text)
    except ValueError:
        return text
    return number if math.isfinite(number) else text


_READ_TEXT = {bool: _flag, int: _whole, float: _number}
"""Reads values that are written as texts; what is none of the kind stays a text."""
