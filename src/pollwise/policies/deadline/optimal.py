"""The best frequencies for known change rates, kept by deadlines.

`pollwise.knapsack` computes them: those of Cho and Garcia-Molina (2003) for freshness, of Azar et
al. (2018) with weights, and their like for the other objectives. Nothing that polls at regular
intervals does better.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pollwise.checks import require
from pollwise.knapsack import allocate
from pollwise.objectives import Objective
from pollwise.objectives import objective as objective_of
from pollwise.policies.deadline.kernels import DeadlineState, set_intervals
from pollwise.policies.deadline.policy import DeadlinePolicy
from pollwise.policies.known_rates import known_rates
from pollwise.types import Page

__all__ = ["Optimal"]

_FEW_MOVES = 0.01
"""Up to this share of pages added or discarded, the price is kept."""


class Optimal(DeadlinePolicy):
    """Polls at the stationary frequencies that bring the most under a budget.

    `rates` are changes per second by page id, `budget` is in cost units per second, `objective`,
    or its name, is what a poll is worth; weights and costs are those of the pages.
    `InputError` where a rate is missing or a number is out of range. It never waits: if there are
    more or fewer polls than the budget has, pages get the same shares of them. A page that is not
    worth any poll is polled once if it has no copy.

    The frequencies are computed at the first use after more than one page in a hundred was added
    or discarded, in some tens of passes over all pages (for detection some 30 µs per page in
    total). In between, new pages are polled at the price of the others, which is the best for a
    slightly different budget.

    >>> policy = Optimal(rates={0: 0.1, 1: 50.0}, budget=0.2, objective="freshness")
    >>> policy.add([Page(0, seen_at=0.0), Page(1, seen_at=0.0)])
    >>> policy.select(now=1.0, limit=2).page_ids
    array([0])
    """

    def __init__(
        self, *, rates: Mapping[int, float], budget: float, objective: str | Objective = "detection"
    ) -> None:
        demand = "a finite number above 0 (cost units per second)"
        require("optimal: budget", budget, 0 < budget < np.inf, demand)
        super().__init__()
        self.objective = objective_of(objective)
        self._rates = rates
        self._budget = budget
        self._worth: dict[int, tuple[float, float, float]] = {}  # rate, weight, cost
        self._price: float | None = None
        self._moves = 0  # pages added or discarded since the price was computed

    @property
    def deadlines(self) -> DeadlineState:
        """With frequencies for the pages that there are now."""
        if self._moves > _FEW_MOVES * len(self._worth):
            page_ids = np.fromiter(self._worth, np.int64, len(self._worth))
            set_intervals(self._state, page_ids, self._allocate())
            self._moves = 0
        return self._state

    def discard(self, page_ids: Sequence[int]) -> None:
        """Forget pages; unknown ids are ignored."""
        super().discard(page_ids)
        for page_id in page_ids:
            if self._worth.pop(page_id, None) is not None:
                self._moves += 1

    def _intervals(self, pages: Sequence[Page]) -> NDArray[np.float64]:
        rates = known_rates("optimal", self._rates, [page.id for page in pages])
        new = [(r, page.weight, page.cost) for r, page in zip(rates.tolist(), pages, strict=True)]
        self._worth.update(zip((page.id for page in pages), new, strict=True))
        self._moves += len(pages)
        if self._price is None:
            return np.full(len(pages), np.inf)  # until `deadlines` are asked for
        return self.objective.due(self._price, *np.array(new).T)

    def _allocate(self) -> NDArray[np.float64]:
        """Find the price, and the intervals of all pages; infinite where no poll is worth it."""
        rates, weights, costs = np.array(list(self._worth.values())).reshape(-1, 3).T
        intervals = np.full(len(rates), np.inf)
        # A poll of any other page is worth nothing even after the longest time.
        worth = self.objective.index(rates, np.inf, weights, costs) > 0
        self._price = None
        if worth.any():
            best = allocate(
                self.objective, rates[worth], self._budget, weights[worth], costs[worth]
            )
            self._price = best.price
            with np.errstate(divide="ignore"):
                intervals[worth] = 1.0 / best.frequencies
        return intervals
