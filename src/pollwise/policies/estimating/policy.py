"""The common part of policies that estimate rates and share out the budget by them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pollwise.checks import is_real, require
from pollwise.objectives import Objective
from pollwise.objectives import objective as objective_of
from pollwise.policies.deadline.adaptive import AdaptivePolicy
from pollwise.policies.estimating.kernels import (
    REALLOCATION_PAGE,
    REALLOCATION_SHARED,
    ReallocationState,
)
from pollwise.policies.estimating.price_search import worth_of
from pollwise.types import Page

__all__ = ["ReallocatingPolicy"]


class ReallocatingPolicy(AdaptivePolicy):
    """Polls at the best frequencies for the change rates as estimated by the latest epoch.

    `pollwise.policies.estimating.kernels` has the rest. It never waits.
    """

    _state_type = ReallocationState
    _learned = ("first_interval", "price")

    def __init__(self, estimator: int, objective: str | Objective, *, exploration: float) -> None:
        holds = is_real(exploration) and 0.0 <= exploration <= 1.0
        demand = "a share of the budget, from 0 to 1"
        require(f"{self.name}: exploration", exploration, holds, demand)
        shared = np.zeros(1, REALLOCATION_SHARED)
        shared["estimator"] = estimator
        shared["exploration"] = exploration
        shared["first_interval"] = shared["price"] = 1.0
        shared["began"] = np.nan
        self.objective = objective_of(objective)
        shared["worth"] = worth_of(self.name, self.objective)
        super().__init__(shared, REALLOCATION_PAGE)

    def rates(self) -> NDArray[np.float64]:
        """The change rates per second by page id, as of the latest epoch; 0: not estimated."""
        return self._pages["rate"].copy()

    def _enter(self, pages: Sequence[Page], page_ids: NDArray[np.int64]) -> None:
        super()._enter(pages, page_ids)
        self._shared["pages"] += len(pages)
