"""How often a policy that polls by a price polls each page under a budget.

Such a policy polls a page whenever its index, averaged over the posterior of its rate, reaches the
price. So a price gives a poll interval for every page, and one price uses up the budget.
"""

import copy
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pollwise.checks import require_positive
from pollwise.kernel_cache import kernel
from pollwise.objectives import Objective

__all__ = ["LONGEST", "SHORTEST", "PricedPolls", "SharedPolls"]

Floats = NDArray[np.float64]

_TIMES: Floats = 2.0 ** np.arange(-6.0, 34.25, 0.5)
"""Poll intervals in seconds between which the index is interpolated."""
_NEXT_TO_NOTHING = 1e-6
"""The share of pages to which the others leave nothing."""
_SATED = 1e-3
"""The part of its share that a group must leave for it to be taken as having enough."""
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

    def frequencies(
        self, budget: float, within: float | None = None, room: Floats | None = None
    ) -> Floats:
        """Polls per second of each page; their costs add up to `budget` (cost units a second).

        It is a part of the budget `within`, by which bounds are reckoned; None: it is all of it.
        `room` has the most polls per second of each page (None: any number). They add up to less if
        that takes more than 64 polls of a page a second, or more of each page than its bounds or
        its room allow. If they have to be more often than the budget allows, all are made as much
        rarer.
        """
        require_positive("frequencies", "budget", budget)
        index = self._log_index(budget)
        floor, most = self._ends(budget, within)
        if room is not None:
            most = np.minimum(most, room)
            floor = np.minimum(floor, most)
        if (forced := self._costs @ floor) >= budget:
            return np.asarray(floor * (budget / forced))
        finite = index[np.isfinite(index)]
        if len(finite) == 0:
            even = np.full(len(self._costs), budget / self._costs.sum())
            return np.asarray(np.clip(even, floor, most))
        low, high = float(finite.min()) - 1.0, float(finite.max()) + 1.0
        while high - low > _alike(low, high):
            middle = (low + high) / 2
            if self._costs @ _frequencies_at(self._all(middle), index, floor, most) >= budget:
                low = middle
            else:
                high = middle
        # Where pages saturate, spending may jump between adjacent prices; then a mixture of both is
        # as good as either.
        more, less = (
            _frequencies_at(self._all(price), index, floor, most) for price in (low, high)
        )
        spread = self._costs @ (more - less)
        share = np.clip((budget - self._costs @ less) / spread, 0.0, 1.0) if spread > 0 else 0.5
        return np.asarray(share * more + (1.0 - share) * less)

    def room(
        self, budget: float, hosts: NDArray[np.int64], takes: Floats, within: float | None = None
    ) -> Floats:
        """The most polls per second of each page where every host takes only so many.

        `hosts` has the number of the host of each page, `takes` the most polls per second of each
        host. The pages of a host get these at a price of its own. At a higher price they get less:
        so, whatever the price of the others is, no page gets more than this.
        """
        index = self._log_index(budget)
        floor, most = self._ends(budget, within)

        def given(frequencies: Floats) -> Floats:
            return np.asarray(np.bincount(hosts, frequencies, len(takes)), np.float64)

        finite = index[np.isfinite(index)]
        if len(finite) == 0:
            return np.asarray((takes / np.maximum(given(np.ones(len(hosts))), 1.0))[hosts])
        low = np.full(len(takes), float(finite.min()) - 1.0)
        high = np.full(len(takes), float(finite.max()) + 1.0)
        least, largest = float(low[0]), float(high[0])
        has_all = given(_frequencies_at(low[hosts], index, floor, most)) <= takes
        for _ in range(math.ceil(math.log2((largest - least) / _alike(least, largest)))):
            middle = (low + high) / 2
            is_over = given(_frequencies_at(middle[hosts], index, floor, most)) >= takes
            low, high = np.where(is_over, middle, low), np.where(is_over, high, middle)
        more, less = (_frequencies_at(price[hosts], index, floor, most) for price in (low, high))
        for_more, for_less = given(more), given(less)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.clip((takes - for_less) / (for_more - for_less), 0.0, 1.0)
            rarer = np.minimum(takes / for_less, 1.0)
        share, rarer = np.nan_to_num(share), np.nan_to_num(rarer, nan=1.0)
        held = rarer[hosts] * (less + share[hosts] * (more - less))
        return np.where(has_all[hosts], np.inf, held)

    def of(self, pages: NDArray[np.int64]) -> "PricedPolls":
        """The same for some of the pages only, by their numbers."""
        other = copy.copy(self)
        other._probabilities, other._costs = self._probabilities[pages], self._costs[pages]
        other._worths = self._worths[pages]
        hope, intervals = self._hope, self._intervals
        if hope is not None:
            other._hope = lambda round_time: _rows(hope(round_time), pages)
        if intervals is not None:

            def own_intervals(budget: float) -> tuple[Floats, Floats]:
                shortest, longest = intervals(budget)
                return shortest[pages], longest[pages]

            other._intervals = own_intervals
        return other

    def _all(self, log_price: float) -> Floats:
        """The same price for every page."""
        return np.full(len(self._costs), log_price)

    def _ends(self, budget: float, within: float | None) -> tuple[Floats, Floats]:
        """The least and the most polls per second of each page."""
        floor, most = self._floor(budget), np.full(len(self._costs), np.inf)
        if self._intervals is None:
            return floor, most
        shortest, longest = self._intervals(budget if within is None else within)
        with np.errstate(divide="ignore"):
            most = 1.0 / shortest
        return np.minimum(np.maximum(floor, 1.0 / longest), most), most

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


class SharedPolls:
    """Shares a budget out among groups of pages with shares of it, and each share by a price.

    `groups` has the number of the group of each page, `shares` the share of each group (0 to 1),
    `costs` what a poll of each page takes. What a group cannot use goes to the others.
    """

    def __init__(
        self, polls: PricedPolls, costs: Floats, groups: NDArray[np.int64], shares: Floats
    ) -> None:
        pages = [np.flatnonzero(groups == group) for group in range(len(shares))]
        self._groups = [
            (max(share, _NEXT_TO_NOTHING), own, polls.of(own))
            for share, own in zip(shares.tolist(), pages, strict=True)
            if len(own) > 0
        ]
        self._costs = costs

    def frequencies(
        self, budget: float, within: float | None = None, room: Floats | None = None
    ) -> Floats:
        """Polls per second of each page, as of `PricedPolls.frequencies`."""
        whole = budget if within is None else within
        frequencies = np.zeros(len(self._costs))
        left, others = budget, self._groups
        while others:
            total = math.fsum(share for share, _, _ in others)
            spent, hungry = 0.0, []
            for share, own, polls in others:
                amount = left * share / total
                own_room = None if room is None else room[own]
                frequencies[own] = polls.frequencies(amount, within=whole, room=own_room)
                used = float(self._costs[own] @ frequencies[own])
                if used < (1.0 - _SATED) * amount:
                    spent += used
                else:
                    hungry.append((share, own, polls))
            if len(hungry) == len(others):
                break
            left, others = left - spent, hungry
        return frequencies


def _rows(table: Floats, pages: NDArray[np.int64]) -> Floats:
    """The rows of these pages; a table of one row is for all."""
    return table if len(table) == 1 else table[pages]


def _alike(low: float, high: float) -> float:
    """By what the logarithms of two prices differ that need not be told apart."""
    return 1e-9 * max(1.0, abs(low), abs(high))


@kernel(nogil=True)
def _frequencies_at(log_prices: Floats, log_index: Floats, floor: Floats, most: Floats) -> Floats:
    """Polls per second of each page at its price, within bounds."""
    pages, columns = log_index.shape
    frequencies = np.empty(pages)
    for page in range(pages):
        index, log_price = log_index[page], log_prices[page]
        low, column = 0, columns
        while low < column:
            middle = (low + column) // 2
            if index[middle] < log_price:
                low = middle + 1
            else:
                column = middle
        frequency = 0.0
        if column < columns:
            inner = max(column, 1)
            before, after = index[inner - 1], index[inner]
            part = 0.0 if log_price < before else 1.0
            if -math.inf < before < after:
                part = min(max((log_price - before) / (after - before), 0.0), 1.0)
            frequency = 1.0 / (_TIMES[inner - 1] * (_TIMES[inner] / _TIMES[inner - 1]) ** part)
        frequencies[page] = min(max(frequency, floor[page]), most[page])
    return frequencies
