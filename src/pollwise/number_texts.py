"""The number of a page that was told last, as a text of a line."""

from decimal import Decimal, InvalidOperation

from pollwise.types import NumberTold

__all__ = ["pack_number", "unpack_number"]


def pack_number(number: NumberTold | None) -> str:
    """The numbers with a space between them; empty: there are none.

    >>> pack_number(NumberTold(Decimal("20.50"), Decimal("19.9")))
    '20.50 19.9'
    """
    if number is None:
        return ""
    return str(number.told) if number.latest is None else f"{number.told} {number.latest}"


def unpack_number(text: str) -> NumberTold | None:
    """From what `pack_number` gives; `ValueError` for anything else."""
    if not text:
        return None
    try:
        told, *latest = (Decimal(part) for part in text.split(" "))
    except InvalidOperation as error:
        raise ValueError(f"no number that was told: {text[:40]!r}") from error
    if len(latest) > 1 or not all(number.is_finite() for number in (told, *latest)):
        raise ValueError(f"no number that was told: {text[:40]!r}")
    return NumberTold(told, latest[0] if latest else None)
