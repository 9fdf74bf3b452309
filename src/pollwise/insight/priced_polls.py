"""How often a policy that polls by a price polls each page under a budget.

Such a policy polls a page whenever its index, averaged over what is believed of its rate, reaches
the price. So a price gives a poll interval for every page, and one price uses up the budget.
"""

import copy
import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pollwise.checks import require_positive
from pollwise.kernel_cache import kernel
from pollwise.objectives import Objective

__all__ = ["LONGEST", "SHORTEST", "PricedBudget", "PricedPolls", "SharedBudget", "SharedPolls"]

Floats = NDArray[np.float64]

_TIMES: Floats = 2.0 ** np.arange(-6.0, 34.25, 0.5)
"""Poll intervals in seconds between which the index is interpolated."""
_PAGES_AT_ONCE = 512
"""So many stay in the cache of a processor."""
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

    def frequencies(self, budget: float) -> Floats:
        """Polls per second of each page under a budget; see `PricedBudget.frequencies`."""
        return self.under(budget).frequencies()

    def under(self, budget: float, within: float | None = None) -> "PricedBudget":
        """The polls of a `budget` (cost units a second).

        It is a part of the budget `within`, by which bounds are reckoned; None: it is all of it.
        """
        require_positive("frequencies", "budget", budget)
        return PricedBudget(
            budget, self._costs, self._log_index(budget), *self._ends(budget, within)
        )

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
        hope = None if self._hope is None else self._hope(self._round_time(budget))
        log_index = np.empty((len(self._costs), len(_TIMES)))
        for begin in range(0, len(log_index), _PAGES_AT_ONCE):
            part = slice(begin, begin + _PAGES_AT_ONCE)
            hopeful = self._probabilities[part]
            if hope is not None:
                hopeful = hopeful * _rows(hope, part)
                hopeful /= hopeful.sum(axis=1, keepdims=True)
            index = self._worths[part, None] * (hopeful @ self._values)
            # Rounding must not make the index fall near its limit.
            np.maximum.accumulate(index, axis=1, out=index)
            with np.errstate(divide="ignore"):
                np.log(index, out=log_index[part])
        return log_index

    def _floor(self, budget: float) -> Floats:
        """Polls per second that each page gets whatever its index is (`patience`)."""
        longest = self._patience * self._round_time(budget)
        if math.isinf(longest):
            return np.zeros(len(self._costs))
        changed = self._probabilities @ -np.expm1(-self._rates * longest)
        return np.where(changed >= self._patience_chance, 1.0 / longest, 0.0)


class PricedBudget:
    """What a budget buys of pages: their polls, by a price, within bounds.

    `log_index` has the logarithm of the index of each page after each of the tabulated intervals,
    `floor` and `most` are the least and the most polls per second of each page.
    """

    def __init__(
        self, budget: float, costs: Floats, log_index: Floats, floor: Floats, most: Floats
    ) -> None:
        self._budget, self._costs, self._log_index = budget, costs, log_index
        self._floor, self._most = floor, most

    def frequencies(self, room: Floats | None = None) -> Floats:
        """Polls per second of each page; their costs add up to the budget.

        `room` has the most polls per second of each page (None: any number). They add up to less if
        that takes more than 64 polls of a page a second, or more of each page than its bounds or
        its room allow. If they have to be more often than the budget allows, all are made as much
        rarer.
        """
        budget, costs, index = self._budget, self._costs, self._log_index
        floor, most = self._floor, self._most
        if room is not None:
            most = np.minimum(most, room)
            floor = np.minimum(floor, most)
        if (forced := costs @ floor) >= budget:
            return np.asarray(floor * (budget / forced))
        finite = index[np.isfinite(index)]
        if len(finite) == 0:
            even = np.full(len(costs), budget / costs.sum())
            return np.asarray(np.clip(even, floor, most))

        columns = _all_columns(index)

        def at(log_price: float) -> tuple[Floats, NDArray[np.int64]]:
            return _frequencies_at(np.full(len(costs), log_price), index, floor, most, columns)

        low, high = float(finite.min()) - 1.0, float(finite.max()) + 1.0
        while high - low > _alike(low, high):
            middle = (low + high) / 2
            frequencies, reached = at(middle)
            if costs @ frequencies >= budget:
                low, columns[0] = middle, reached
            else:
                high, columns[1] = middle, reached
        # Where pages saturate, spending may jump between adjacent prices; then a mixture of both is
        # as good as either.
        (more, _), (less, _) = at(low), at(high)
        spread = costs @ (more - less)
        share = np.clip((budget - costs @ less) / spread, 0.0, 1.0) if spread > 0 else 0.5
        return np.asarray(share * more + (1.0 - share) * less)

    def room(self, hosts: NDArray[np.int64], takes: Floats) -> Floats:
        """The most polls per second of each page where every host takes only so many.

        `hosts` has the number of the host of each page, `takes` the most polls per second of each
        host. The pages of a host get these at a price of its own. At a higher price they get less:
        so, whatever the price of the others is, no page gets more than this.
        """
        index, floor, most = self._log_index, self._floor, self._most

        def given(frequencies: Floats) -> Floats:
            return np.asarray(np.bincount(hosts, frequencies, len(takes)), np.float64)

        finite = index[np.isfinite(index)]
        if len(finite) == 0:
            return np.asarray((takes / np.maximum(given(np.ones(len(hosts))), 1.0))[hosts])
        low = np.full(len(takes), float(finite.min()) - 1.0)
        high = np.full(len(takes), float(finite.max()) + 1.0)
        least, largest = float(low[0]), float(high[0])
        columns = _all_columns(index)

        def at(log_prices: Floats) -> tuple[Floats, NDArray[np.int64]]:
            return _frequencies_at(log_prices[hosts], index, floor, most, columns)

        has_all = given(at(low)[0]) <= takes
        for _ in range(math.ceil(math.log2((largest - least) / _alike(least, largest)))):
            middle = (low + high) / 2
            frequencies, reached = at(middle)
            is_over = given(frequencies) >= takes
            low, high = np.where(is_over, middle, low), np.where(is_over, high, middle)
            columns = np.where(is_over[hosts], (reached, columns[1]), (columns[0], reached))
        (more, _), (less, _) = at(low), at(high)
        for_more, for_less = given(more), given(less)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.clip((takes - for_less) / (for_more - for_less), 0.0, 1.0)
            rarer = np.minimum(takes / for_less, 1.0)
        share, rarer = np.nan_to_num(share), np.nan_to_num(rarer, nan=1.0)
        held = rarer[hosts] * (less + share[hosts] * (more - less))
        return np.where(has_all[hosts], np.inf, held)


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

    def frequencies(self, budget: float) -> Floats:
        """Polls per second of each page under a budget; see `PricedBudget.frequencies`."""
        return self.under(budget).frequencies()

    def under(self, budget: float, within: float | None = None) -> "SharedBudget":
        """The polls of a budget, as of `PricedPolls.under`."""
        return SharedBudget(budget, budget if within is None else within, self._costs, self._groups)


class SharedBudget:
    """What a budget, a part of that `within`, buys of `SharedPolls`."""

    def __init__(
        self,
        budget: float,
        within: float,
        costs: Floats,
        groups: Sequence[tuple[float, NDArray[np.int64], PricedPolls]],
    ) -> None:
        self._budget, self._costs, self._groups = budget, costs, groups
        self._within = within
        self._latest: dict[int, tuple[float, PricedBudget]] = {}
        """By group, what was asked for last: together that is no more than a table of all pages."""

    def frequencies(self, room: Floats | None = None) -> Floats:
        """Polls per second of each page, as of `PricedBudget.frequencies`."""
        frequencies = np.zeros(len(self._costs))
        left, others = self._budget, list(range(len(self._groups)))
        while others:
            total = math.fsum(self._groups[group][0] for group in others)
            spent, hungry = 0.0, []
            for group in others:
                share, own, _ = self._groups[group]
                amount = left * share / total
                own_room = None if room is None else room[own]
                frequencies[own] = self._priced(group, amount).frequencies(own_room)
                used = float(self._costs[own] @ frequencies[own])
                if used < (1.0 - _SATED) * amount:
                    spent += used
                else:
                    hungry.append(group)
            if len(hungry) == len(others):
                break
            left, others = left - spent, hungry
        return frequencies

    def _priced(self, group: int, amount: float) -> PricedBudget:
        """What an amount of the budget buys of a group."""
        if group not in self._latest or self._latest[group][0] != amount:
            self._latest.pop(group, None)  # before there is another
            polls = self._groups[group][2]
            self._latest[group] = amount, polls.under(amount, self._within)
        return self._latest[group][1]


def _rows(table: Floats, pages: NDArray[np.int64] | slice) -> Floats:
    """The rows of these pages; a table of one row is for all."""
    return table if len(table) == 1 else table[pages]


def _all_columns(log_index: Floats) -> NDArray[np.int64]:
    """Of each page the least and the last of all columns, as `_frequencies_at` takes them."""
    pages, count = log_index.shape
    return np.array((np.zeros(pages, np.int64), np.full(pages, count)))


def _alike(low: float, high: float) -> float:
    """By what the logarithms of two prices differ that need not be told apart."""
    return 1e-9 * max(1.0, abs(low), abs(high))


@kernel(nogil=True)
def _frequencies_at(
    log_prices: Floats, log_index: Floats, floor: Floats, most: Floats, columns: NDArray[np.int64]
) -> tuple[Floats, NDArray[np.int64]]:
    """Polls per second of each page at its price, within bounds.

    Also the first column where the index of each page reaches its price: it is between the two of
    `columns`.
    """
    pages, count = log_index.shape
    frequencies, reached = np.empty(pages), np.empty(pages, np.int64)
    for page in range(pages):
        index, log_price = log_index[page], log_prices[page]
        low, column = columns[0, page], columns[1, page]
        while low < column:
            middle = (low + column) // 2
            if index[middle] < log_price:
                low = middle + 1
            else:
                column = middle
        frequency = 0.0
        if column < count:
            inner = max(column, 1)
            before, after = index[inner - 1], index[inner]
            part = 0.0 if log_price < before else 1.0
            if -math.inf < before < after:
                part = min(max((log_price - before) / (after - before), 0.0), 1.0)
            frequency = 1.0 / (_TIMES[inner - 1] * (_TIMES[inner] / _TIMES[inner - 1]) ** part)
        frequencies[page] = min(max(frequency, floor[page]), most[page])
        reached[page] = column
    return frequencies, reached
