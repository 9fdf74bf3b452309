"""Every page at one fixed interval: the rule of feed readers and of cron."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pollwise.checks import require
from pollwise.policies.deadline.policy import DeadlinePolicy
from pollwise.types import Page, StateDict

__all__ = ["Fixed"]


class Fixed(DeadlinePolicy):
    """Polls a page when `interval` seconds have passed since its latest poll, and not before.

    Pages without a copy are due at once. Those due longest come first, and if the budget does
    not suffice for all of them, all wait longer. `InputError` unless `interval` is finite and
    above 0.

    >>> policy = Fixed(interval=60.0)
    >>> policy.add([Page(0, seen_at=0.0), Page(1, seen_at=30.0)])
    >>> policy.select(now=70.0, limit=2)
    Selection(page_ids=array([0]), wake_at=90.0)
    """

    def __init__(self, *, interval: float) -> None:
        demand = "a finite number above 0 (seconds between two polls of a page)"
        require("fixed: interval", interval, 0 < interval < np.inf, demand)
        super().__init__(paced=True)
        self._interval = interval

    def _intervals(self, pages: Sequence[Page]) -> NDArray[np.float64]:
        return np.full(len(pages), self._interval)

    def _restore_deadlines(self, state: StateDict) -> None:
        # The polls may have been set back since, as a clock was ahead.
        latest = state["page.polled_at"].astype(np.float64) + self._interval
        deadlines = np.minimum(state["page.deadline"].astype(np.float64), latest)
        super()._restore_deadlines({**state, "page.deadline": deadlines})
