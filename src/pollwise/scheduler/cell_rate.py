"""How much of a budget may be spent now: the generic cell rate algorithm in cost units."""

import math

from pollwise.checks import require
from pollwise.types import Budget

__all__ = ["CellRate", "check_budget"]

_MANY = 1000.0
"""Polls that are enough to be told of."""


def check_budget(budget: Budget) -> None:
    """`InputError` for a budget out of its range."""
    rate, burst = budget.rate, budget.burst
    require("Budget: rate", rate, 0 < rate < math.inf, "finite and above 0")
    require("Budget: burst", burst, 1 <= burst < math.inf, "finite and at least 1")


class CellRate:
    """The position in a budget (ITU-T I.371, virtual scheduling).

    A poll of cost c may start at the time `next_at` or later, which then becomes
    max(next_at, now - (burst - 1)/rate) + c/rate. With a burst of 1 and unit costs the times are
    sums of 1/rate exactly, as floats. `InputError` for a budget out of its range.

    >>> rate = CellRate(Budget(rate=0.5, burst=2.0))
    >>> rate.spend(1.0, now=100.0), rate.next_at
    (None, 100.0)
    >>> rate.spend(1.0, now=100.0), rate.next_at
    (None, 102.0)
    """

    def __init__(self, budget: Budget) -> None:
        self.next_at = -math.inf
        self.budget = budget

    @property
    def budget(self) -> Budget:
        """The budget; a new one holds from the next poll on."""
        return self._budget

    @budget.setter
    def budget(self, budget: Budget) -> None:
        check_budget(budget)
        self._budget = budget
        self._tolerance = (budget.burst - 1) / budget.rate

    def change(self, budget: Budget, now: float) -> None:
        """Set a budget that holds from now on: what is still owed is paid at its rate, if higher.

        >>> rate = CellRate(Budget(rate=0.01))
        >>> rate.spend(1.0, now=100.0), rate.next_at
        (None, 200.0)
        >>> rate.change(Budget(rate=1.0), now=150.0), rate.next_at
        (None, 150.5)
        """
        before = self._budget.rate
        self.budget = budget
        if now < self.next_at and budget.rate > before:
            self.next_at = now + (self.next_at - now) * (before / budget.rate)

    def save_up(self, seconds: float) -> None:
        """Let the budget of so many seconds be spent at once, too, until the budget changes.

        >>> rate = CellRate(Budget(rate=0.5))
        >>> rate.begin(now=100.0), rate.save_up(3.0), rate.next_at
        (None, None, 97.0)
        >>> rate.spend(1.0, now=100.0), rate.spend(1.0, now=100.0), rate.next_at
        (None, None, 101.0)
        """
        self.next_at -= seconds
        self._tolerance = math.inf

    def begin(self, now: float) -> None:
        """Forget what was saved up before `now`: neither start nor restart brings a burst."""
        self.next_at = max(self.next_at, now)

    def spend(self, cost: float, now: float) -> None:
        """Count a poll that starts now."""
        self.next_at = max(self.next_at, now - self._tolerance) + cost / self._budget.rate

    def allows(self, cost: float, now: float) -> int:
        """How many polls of this cost may surely start at `now`, one or more if any may.

        >>> rate = CellRate(Budget(rate=0.5, burst=3.0))
        >>> rate.allows(1.0, now=100.0), rate.spend(1.0, now=100.0), rate.allows(1.0, now=100.0)
        (2, None, 1)
        """
        if now < self.next_at:
            return 0
        saved_up = min(now - self.next_at, self._tolerance) * self._budget.rate / cost
        # One less, as sums of floats may come out a little later.
        return max(int(min(saved_up, _MANY)), 1)

    def correct(self, more: float, now: float) -> None:
        """Count `more` cost units (or less, below 0) for a poll that was counted already."""
        self.next_at = max(self.next_at + more / self._budget.rate, now - self._tolerance)
