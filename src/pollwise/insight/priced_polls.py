"""How often a policy that polls by a price polls each page under a budget.

Such a policy polls a page whenever its index, averaged over the posterior of its rate, reaches the
price. So a price gives a poll interval for every page, and one price uses up the budget.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pollwise.checks import require_positive
from pollwise.objectives import Objective

__all__ = ["LONGEST", "SHORTEST", "PricedPolls"]

Floats = NDArray[np.float64]

_TIMES: Floats = 2.0 ** np.arange(-6.0, 34.25, 0.5)
"""Poll intervals in seconds between which the index is interpolated."""
SHORTEST, LONGEST = float(_TIMES[0]), float(_TIMES[-1])
"""The least and the most seconds between two polls of a page."""


class PricedPolls:
    """Shares a budget out among pages; the arguments are as for `Forecaster`.

    But `costs` and `worths` have one entry for each page, and `worths` multiply the index.
    `intervals`, if any, gives for a budget the least and the most seconds between two polls of each
    page.
    """

    def __init__(
        self,
        objective: Objective,
        rates: Floats,
        probabilities: Floats,
        *,
        costs: Floats,
        worths: ArrayLike,
        hope: Callable[[float], Floats] | None,
        patience: float,
        patience_chance: float,
        intervals: Callable[[float], tuple[Floats, Floats]] | None = None,
    ) -> None:
        self._rates = rates
        self._probabilities = probabilities
        self._costs = costs
        self._worths = np.asarray(worths, np.float64)
        self._hope = hope
        self._patience = patience
        self._patience_chance = patience_chance
        self._intervals = intervals
        self._values = objective.index(rates[:, None], _TIMES[None, :])

    def frequencies(self, budget: float) -> Floats:
        """Polls per second of each page; their costs add up to `budget` (cost units a second).

        They add up to less if that takes more than 64 polls of a page a second, or more of each
        page than its bounds allow. If they have to be more often than the budget allows, all are
        made as much rarer.
        """
        require_positive("frequencies", "budget", budget)
        index, floor = self._log_index(budget), self._floor(budget)
        most = np.full(len(self._costs), np.inf)
        if self._intervals is not None:
            shortest, longest = self._intervals(budget)
            with np.errstate(divide="ignore"):
                most = 1.0 / shortest
            floor = np.minimum(np.maximum(floor, 1.0 / longest), most)
            if (forced := self._costs @ floor) >= budget:
                return np.asarray(floor * (budget / forced))
        finite = index[np.isfinite(index)]
        if len(finite) == 0:
            even = np.full(len(self._costs), budget / self._costs.sum())
            return np.asarray(np.clip(even, floor, most))
        low, high = float(finite.min()) - 1.0, float(finite.max()) + 1.0
        while high - low > 1e-9 * max(1.0, abs(low), abs(high)):
            middle = (low + high) / 2
            if self._costs @ _frequencies_at(middle, index, floor, most) >= budget:
                low = middle
            else:
                high = middle
        # Where pages saturate, spending may jump between adjacent prices; then a mixture of both is
        # as good as either.
        more, less = (_frequencies_at(price, index, floor, most) for price in (low, high))
        spread = self._costs @ (more - less)
        share = np.clip((budget - self._costs @ less) / spread, 0.0, 1.0) if spread > 0 else 0.5
        return np.asarray(share * more + (1.0 - share) * less)

    def _round_time(self, budget: float) -> float:
        """Seconds that one poll of every page takes."""
        return float(self._costs.sum()) / budget

    def _log_index(self, budget: float) -> Floats:
        """The logarithm of the index of each page after each of the tabulated intervals."""
        hopeful = self._probabilities
        if self._hope is not None:
            hopeful = hopeful * self._hope(self._round_time(budget))
            hopeful /= hopeful.sum(axis=1, keepdims=True)
        index: Floats = self._worths[:, None] * (hopeful @ self._values)
        # Rounding must not make the index fall near its limit.
        np.maximum.accumulate(index, axis=1, out=index)
        with np.errstate(divide="ignore"):
            return np.log(index, out=index)

    def _floor(self, budget: float) -> Floats:
        """Polls per second that each page gets whatever its index is (`patience`)."""
        longest = self._patience * self._round_time(budget)
        if math.isinf(longest):
            return np.zeros(len(self._costs))
        changed = self._probabilities @ -np.expm1(-self._rates * longest)
        return np.where(changed >= self._patience_chance, 1.0 / longest, 0.0)


def _frequencies_at(log_price: float, log_index: Floats, floor: Floats, most: Floats) -> Floats:
    """Polls per second of each page at a price, within bounds."""
    column = (log_index < log_price).sum(axis=1)
    row, inner = np.arange(len(log_index)), np.clip(column, 1, len(_TIMES) - 1)
    before, after = log_index[row, inner - 1], log_index[row, inner]
    with np.errstate(invalid="ignore", divide="ignore"):
        part = np.clip(np.nan_to_num((log_price - before) / (after - before), nan=1.0), 0, 1)
    times = _TIMES[inner - 1] * (_TIMES[inner] / _TIMES[inner - 1]) ** part
    return np.clip(np.where(column == len(_TIMES), 0.0, 1.0 / times), floor, most)
