"""Reads the entries of a list, and tells all that cannot be used at once."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from pollwise.errors import InputError

__all__ = ["read_each"]

_MOST_TOLD = 10

T = TypeVar("T")


def read_each(
    named: Iterable[tuple[str, str]], read: Callable[[str], T], *, between: str
) -> list[T]:
    """What is made of texts, each with the name of its place.

    `InputError` tells up to ten that cannot be used, each at its place, with a text `between` them.
    """
    values, errors = [], []
    for place, text in named:
        try:
            values.append(read(text))
        except InputError as error:
            errors.append(f"{place}: {error}")
    if errors:
        more = len(errors) - _MOST_TOLD
        rest = [f"and {more:,d} more that cannot be used"] if more > 0 else []
        raise InputError(between.join([*errors[:_MOST_TOLD], *rest]))
    return values
