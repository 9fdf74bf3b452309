"""How people see the conditions of notices."""

import math
from collections.abc import Sequence

from pollwise.console.quantities import count
from pollwise.sources.conditions import Standing
from pollwise.texts import plain, printable

__all__ = ["condition_rows", "standing_told"]


def condition_rows(conditions: Sequence[Standing]) -> list[tuple[str, str]]:
    """A row for each condition, with how it stands."""
    return [("notify when", _row(one)) for one in conditions]


def _row(standing: Standing) -> str:
    parts = "".join(f"\n  {one.condition}: {standing_told(one)}" for one in standing.parts)
    return f"{standing.condition}: {standing_told(standing)}{parts}"


def standing_told(standing: Standing) -> str:
    """How a condition stands, in words.

    >>> standing_told(Standing("below 20", "19,50", 19.5, True))
    'holds now, as it reads 19,50, that is 19.5'
    """
    if standing.items is not None:
        return f"{count(standing.items, 'item')} of those there now would be told"
    if standing.reads is not None and standing.number is not None:
        says = printable(standing.reads)
        if math.isfinite(standing.number) and says != plain(standing.number):
            says += f", that is {plain(standing.number)}"
        return f"{_holds(standing)}, as it reads {says}{_measured(standing)}"
    if standing.parts:
        return _holds(standing) if standing.holds is not None else "cannot be said to hold now"
    if standing.blocks is None:
        return "cannot hold, as there is no number in what counts: select the part that has it"
    if standing.holds is not None:
        return _holds(standing)
    return f"the words are in {count(standing.blocks, 'block')} now"


def _measured(standing: Standing) -> str:
    begin = standing.measured_from
    if begin is None or not math.isfinite(begin):
        return ""
    return f"; measured from {plain(begin)}"


def _holds(standing: Standing) -> str:
    return "holds now" if standing.holds else "does not hold now"
