"""The Whittle index policy where all change rates are known.

Source: P. Whittle, "Restless bandits: activity allocation in a changing world", 1988; the
indices are those of `pollwise.objectives`.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from pollwise.objectives import Objective
from pollwise.policies.index.policy import IndexPolicy
from pollwise.policies.known_rates import known_rates

__all__ = ["Whittle"]


class Whittle(IndexPolicy):
    """Polls the page of the largest index, computed from its true change rate.

    `rates` are changes per second by page id, `objective`, or its name, is what a poll is worth.
    Policies that learn can be compared with it.

    >>> from pollwise.types import Page
    >>> policy = Whittle(rates={0: 0.1, 1: 2.0})
    >>> policy.add([Page(0, seen_at=0.0), Page(1, seen_at=0.0)])
    >>> policy.select(now=1.0, limit=1).page_ids
    array([1])
    """

    def __init__(
        self, *, rates: Mapping[int, float], objective: str | Objective = "detection"
    ) -> None:
        super().__init__(objective=objective)
        self._rates = rates

    def _known_rates(self, page_ids: NDArray[np.int64]) -> NDArray[np.float64]:
        return known_rates("whittle", self._rates, page_ids.tolist())
