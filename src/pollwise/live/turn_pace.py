"""How often the loop of a run turns: a turn costs a commit and more, however few polls it has."""

from pollwise.scheduler.cell_rate import CellRate
from pollwise.types import Budget

__all__ = ["TurnPace"]

_TURNS = Budget(rate=20.0, burst=10.0)
"""Turns of the loop a second, and at once, that need not wait. Others wait for their time where
nothing hangs on it: if the budget is spent, or most polls are still under way."""
_SHARED = 4
"""A turn in which so many polls end counts twice: there are many of them, and half as many turns
cost less than that each waits 50 ms longer."""
_CROWDED = 16
"""One in which so many end counts four times, for the same reason."""
_MOST_OWED = 0.25
"""Seconds that turns with so many polls are put off for those before that could not wait; others
owe nothing, as a host alone would hardly be polled."""


class TurnPace:
    """Says when the next turn is.

    >>> pace = TurnPace()
    >>> for turn in range(12):
    ...     pace.turned(1, now=100.0)
    >>> pace.next_at
    100.05
    """

    def __init__(self) -> None:
        self._turns = CellRate(_TURNS)

    @property
    def next_at(self) -> float:
        """When the next turn is, unless something hangs on it (UTC seconds)."""
        return self._turns.next_at

    def turned(self, polls: int, now: float) -> None:
        """Note a turn in which so many polls have ended."""
        is_shared, is_crowded = polls >= _SHARED, polls >= _CROWDED
        self._turns.next_at = min(self._turns.next_at, now + (_MOST_OWED if is_shared else 0.0))
        self._turns.spend(4.0 if is_crowded else 2.0 if is_shared else 1.0, now)
