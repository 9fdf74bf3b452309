"""The best frequencies for known change rates, kept to by deadlines.

`pollwise.knapsack` computes them: those of Cho and Garcia-Molina (2003) for freshness, of Azar et
al. (2018) with weights, and their like for the other objectives. Nothing that polls at regular
intervals does better.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pollwise.errors import InputError
from pollwise.knapsack import allocate
from pollwise.objectives import Detection, Objective
from pollwise.policies.deadline_policy import DeadlinePolicy
from pollwise.policies.deadline_queue import DeadlineState, set_intervals
from pollwise.policies.known_rates import known_rates
from pollwise.types import Page

__all__ = ["Optimal"]


class Optimal(DeadlinePolicy):
    """Polls at the stationary frequencies that bring the most under a budget.

    `rates` are changes per second by page id, `budget` is in cost units per second, `objective`
    is what a poll is worth (detection, if None); weights and costs are those of the pages.
    `InputError` where a rate is missing or a number is out of range. It never waits: of more or
    fewer polls than the budget has, pages get the same shares. A page not worth any poll is
    polled once if it has no copy.

    The frequencies are computed at the first use after pages were added or discarded, in some tens
    of passes over all pages (for detection some 30 µs per page, in total): better add many at once.

    >>> from pollwise.objectives import Freshness
    >>> policy = Optimal(rates={0: 0.1, 1: 50.0}, budget=0.2, objective=Freshness())
    >>> policy.add([Page(0, seen_at=0.0), Page(1, seen_at=0.0)])
    >>> policy.select(now=1.0, limit=2).page_ids
    array([0])
    """

    def __init__(
        self, *, rates: Mapping[int, float], budget: float, objective: Objective | None = None
    ) -> None:
        if not 0 < budget < np.inf:
            raise InputError(
                f"optimal: budget={budget!r} must be a finite number above 0 (cost units per"
                " second)"
            )
        super().__init__()
        self.objective = Detection() if objective is None else objective
        self._rates = rates
        self._budget = budget
        self._worth: dict[int, tuple[float, float, float]] = {}  # rate, weight, cost
        self._stale = False

    @property
    def state(self) -> DeadlineState:
        """The whole state, with the frequencies of the pages that there are now."""
        if self._stale:
            page_ids = np.fromiter(self._worth, np.int64, len(self._worth))
            set_intervals(self._state, page_ids, self._best_intervals())
            self._stale = False
        return self._state

    def _intervals(self, pages: Sequence[Page]) -> NDArray[np.float64]:
        rates = known_rates("optimal", self._rates, [page.id for page in pages])
        for page, rate in zip(pages, rates.tolist(), strict=True):
            self._worth[page.id] = (rate, page.weight, page.cost)
        self._stale = True
        return np.full(len(pages), np.inf)  # until `state` is asked for

    def discard(self, page_ids: Sequence[int]) -> None:
        """Forget pages; unknown ids are ignored."""
        super().discard(page_ids)
        for page_id in page_ids:
            if self._worth.pop(page_id, None) is not None:
                self._stale = True

    def _best_intervals(self) -> NDArray[np.float64]:
        """Seconds, of all pages; infinite where no poll is worth anything."""
        rates, weights, costs = np.array(list(self._worth.values())).reshape(-1, 3).T
        intervals = np.full(len(rates), np.inf)
        # Where a poll would be worth nothing even after the longest time.
        worth = self.objective.index(rates, np.inf, weights, costs) > 0
        if worth.any():
            best = allocate(
                self.objective, rates[worth], self._budget, weights[worth], costs[worth]
            )
            with np.errstate(divide="ignore"):
                intervals[worth] = 1.0 / best.frequencies
        return intervals
