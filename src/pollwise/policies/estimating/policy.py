"""What the policies have in common that estimate rates and share the budget out by them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pollwise.checks import is_real
from pollwise.errors import InputError
from pollwise.objectives import Objective
from pollwise.policies.arrays import seen_at
from pollwise.policies.deadline.adaptive import AdaptivePolicy
from pollwise.policies.estimating.kernels import PAGE, SHARED, ReallocationState, observe_pages
from pollwise.policies.estimating.price_search import worth_of
from pollwise.types import Page

__all__ = ["ReallocatingPolicy"]


class ReallocatingPolicy(AdaptivePolicy):
    """Polls at the best frequencies for the change rates as estimated by the latest epoch.

    `pollwise.policies.estimating.kernels` has the rest. It never waits.
    """

    _learned = ("first_interval", "price")

    def __init__(self, estimator: int, objective: Objective, *, exploration: float) -> None:
        if not (is_real(exploration) and 0.0 <= exploration <= 1.0):
            raise InputError(
                f"{self.name}: exploration={exploration!r} must be a share of the budget, from"
                " 0 to 1"
            )
        shared = np.zeros(1, SHARED)
        shared["estimator"] = estimator
        shared["exploration"] = exploration
        shared["first_interval"] = shared["price"] = 1.0
        shared["began"] = np.nan
        shared["worth"] = worth_of(self.name, objective)
        self.objective = objective
        super().__init__(shared, PAGE)

    @property
    def state(self) -> ReallocationState:
        """The whole state: what the functions of `reallocation` work on.

        To be asked for anew after every `add`, which may need larger arrays.
        """
        return ReallocationState(self._turns.state, self._pages, self._shared)

    def rates(self) -> NDArray[np.float64]:
        """The change rates per second by page id, as of the latest epoch; 0: not estimated."""
        return self._pages["rate"].copy()

    def add(self, pages: Sequence[Page]) -> None:
        """Take up pages; `InputError` for an id that is negative or watched already."""
        super().add(pages)
        self._shared["pages"] += len(pages)

    def _new(self, pages: Sequence[Page]) -> NDArray[np.void]:
        new = np.zeros(len(pages), PAGE)
        new["seen_at"] = seen_at(pages)
        new["weight"] = [page.weight for page in pages]
        new["cost"] = [page.cost for page in pages]
        return new

    def _take_in(
        self,
        page_ids: NDArray[np.int64],
        polled_at: NDArray[np.float64],
        outcomes: NDArray[np.int64],
        last_changed_at: NDArray[np.float64],
        items: NDArray[np.int64],
    ) -> None:
        observe_pages(self.state, page_ids, polled_at, outcomes, last_changed_at)
