"""What a budget buys: changes found, freshness and delay, with intervals, by uncertain rates.

`PricedPolls` says how often each page is polled. For a known rate λ and poll interval τ (a = λτ)
there are closed forms: a poll finds a change with probability 1 - e^-a, the copy is up to date for
a share (1 - e^-a)/a of the time, and a change waits τ/2. Their means over what is believed of the
rates are the forecast. For the pages of a policy that is what it decides by: `rate_beliefs`.

Its intervals cover three uncertainties. The rates are drawn from what is believed of them. What
happens in the period is drawn given the rates. And because changes of real pages cluster, the
intervals are widened as the errors of past predictions demand (`pollwise.insight.dispersion`).

A host gets no more polls than it takes (`HostedPolls`). A forecast ignores that a policy goes on
learning. `docs/theory.md` has more.
"""

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pollwise.checks import require_positive
from pollwise.errors import InputError
from pollwise.insight.dispersion import LEVEL, POISSON, Spread
from pollwise.insight.forecast_draws import (
    drawn_figures,
    expected_changes,
    fresh_share,
    information,
    normal_distribution,
    tellable,
)
from pollwise.insight.forecasts import Expectation, Forecast, Interval, require_freshness
from pollwise.insight.hosted_polls import HostedPolls
from pollwise.insight.priced_polls import LONGEST, SHORTEST, PricedPolls, SharedPolls
from pollwise.kernel_cache import kernel
from pollwise.numerics import root
from pollwise.objectives import Objective
from pollwise.types import Page
from pollwise.units import DAY

if TYPE_CHECKING:
    from pollwise.policies.index.bayes_index import BayesianIndex

__all__ = ["Forecaster"]

Floats = NDArray[np.float64]

_PAGES_AT_ONCE = 256
"""So many stay in the cache of a processor."""
_ENDS = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
_MOST_DRAWN = 2_000_000
"""Pages times draws."""
_FEW_EXAMPLES = 3.0
"""With so many example pages, half of the uncertainty of a rate is common to all pages."""
_APART = 8
"""Columns of a table from one that is looked at first to the next: a line of memory."""
_MOST_TELLING = np.array(0.7968)
"""The chance of a change with which a poll tells most of the rate (`information`)."""
_TELLABLE = 10.0
"""Above so many changes between two polls, polls do not tell the rate."""


class _LongRun(NamedTuple):
    """What polls bring in the long run.

    Of each page their `frequency` (polls per second) and the `chances` that one finds a change. Of
    all pages `polls` and changes `found` per second, the mean `freshness` by weight, and the mean
    `delay` of a change in seconds.
    """

    frequency: Floats
    chances: Floats
    polls: float
    found: float
    freshness: float
    delay: float


class Forecaster:
    """Forecasts for pages with uncertain rates.

    `rates` are changes per second; `probabilities` has a row for each page with the probability of
    each rate. `weights` and `costs` are numbers, or one for each page. `examples` is the number of
    pages from which the distribution of rates was learned: with few, all rates together may well be
    higher or lower than believed. Budgets are in cost units per second.

    To share out polls, weights are multiplied by `worths`, as for pages that revert, and
    probabilities by `hope`: a function of the seconds per round of all pages that gives a row for
    each page or one for all. Even a page of little worth is polled once in `patience` rounds if it
    has changed by then with a probability of at least `patience_chance`; an infinite `patience`
    turns this off. `intervals` gives for a budget the least and the most seconds between two polls
    of each page; None: there are no such bounds. `groups` has the number of the group of each page
    and the share of the budget (0 to 1) of each group; None: all pages share all of it. `hosts` has
    the number of the host of each page and the polls a second that each host takes at most; None:
    they take everything.

    >>> from pollwise.objectives import Detection
    >>> known = Forecaster(Detection(), [1.0, 2.0], np.eye(2))
    >>> known.frequencies(budget=3.0).round(2)
    array([1., 2.])
    >>> round(known.expect(budget=3.0).found_per_day / 86_400, 3)
    1.896
    """

    def __init__(
        self,
        objective: Objective,
        rates: ArrayLike,
        probabilities: ArrayLike,
        weights: ArrayLike = 1.0,
        costs: ArrayLike = 1.0,
        *,
        worths: ArrayLike = 1.0,
        hope: Callable[[float], Floats] | None = None,
        patience: float = np.inf,
        patience_chance: float = 0.0,
        examples: float = np.inf,
        intervals: Callable[[float], tuple[Floats, Floats]] | None = None,
        groups: tuple[NDArray[np.int64], Floats] | None = None,
        hosts: tuple[NDArray[np.int64], Floats] | None = None,
    ) -> None:
        self._rates = np.asarray(rates, np.float64)
        self._probabilities = np.asarray(probabilities, np.float64)
        pages = len(self._probabilities)
        if pages == 0:
            raise InputError("a forecast needs at least one page: add pages first")
        own = np.broadcast_to(np.asarray(weights, np.float64), pages)
        weights = own if own.any() else np.ones(pages)
        self._shares = weights / weights.sum()
        self._costs = np.broadcast_to(np.asarray(costs, np.float64), pages)
        self._shared = _FEW_EXAMPLES / (_FEW_EXAMPLES + examples)
        self._factors = np.ones(pages)
        self._latest: tuple[float, _LongRun] | None = None
        polls = PricedPolls(
            objective,
            self._rates,
            self._probabilities,
            costs=self._costs,
            worths=own * np.asarray(worths, np.float64) / self._costs,
            hope=hope,
            patience=patience,
            patience_chance=patience_chance,
            intervals=intervals,
        )
        shared: PricedPolls | SharedPolls = polls
        if groups is not None and len(groups[1]) > 1:
            shared = SharedPolls(polls, self._costs, *groups)
        self._polls = shared if hosts is None else HostedPolls(shared, polls, self._costs, *hosts)

    @classmethod
    def of(
        cls,
        policy: "BayesianIndex",
        pages: Sequence[Page],
        budget: float,
        intervals: Callable[[float], tuple[Floats, Floats]] | None = None,
        hosts: tuple[NDArray[np.int64], Floats] | None = None,
    ) -> Self:
        """For the pages that a policy watches, from what it has learned under this budget.

        By what it believes of them until their next polls, as it decides by that.
        """
        page_ids = [page.id for page in pages]
        rates, probabilities = policy.rate_beliefs(page_ids)
        return cls(
            policy.objective,
            rates,
            probabilities,
            [page.weight for page in pages],
            [page.cost for page in pages],
            worths=policy.worths(page_ids),
            hope=partial(policy.hope, page_ids),
            patience=policy.patience,
            patience_chance=policy.patience_chance,
            examples=policy.examples,
            intervals=intervals,
            groups=policy.group_shares(page_ids),
            hosts=hosts,
        ).calibrated(budget, policy.recalibrated)

    def calibrated(self, budget: float, recalibrated: Callable[[Floats], Floats]) -> Self:
        """The same with each page's rates multiplied by a factor.

        With it, the chance that a poll finds a change under `budget` is the `recalibrated` one.
        When pages are polled does not change, as the policy decides by the rates that it believes.
        """
        frequency = self.frequencies(budget)
        chances, _, _ = self._per_cycle(frequency)
        with np.errstate(divide="ignore", invalid="ignore"):
            factors = np.log1p(-recalibrated(chances)) / np.log1p(-chances)
        other = copy.copy(self)
        other._factors = np.where(np.isfinite(factors) & (factors > 0), factors, 1.0)
        other._latest = budget, other._with(frequency)
        return other

    def frequencies(self, budget: float) -> Floats:
        """Polls per second of each page; see `PricedBudget.frequencies`."""
        return self._polls.frequencies(budget)

    def found(self, budget: float) -> float:
        """The changes a second that polls find under a budget in the long run."""
        return self._under(budget).found

    def expect(self, budget: float) -> Expectation:
        """What a budget brings in the long run."""
        run = self._under(budget)
        step = max(1.0 / DAY, 0.01 * budget)
        more = self._with(self.frequencies(budget + step))
        return Expectation(
            budget=budget * DAY,
            polls_per_day=run.polls * DAY,
            found_per_day=run.found * DAY,
            freshness=run.freshness,
            delay=run.delay,
            marginal_found=(more.found - run.found) / step,
            marginal_freshness=(more.freshness - run.freshness) / (step * DAY),
        )

    def cheapest(self, freshness: float) -> float:
        """The smallest budget that reaches this freshness (between 0 and 1; to 0.1 %).

        `InputError` for another freshness, or if no budget reaches it.
        """
        require_freshness(freshness)
        most = math.log(self._costs.sum() / SHORTEST)

        def excess(log_budget: float) -> float:
            frequency = self.frequencies(math.exp(log_budget))
            return self._mean(self._per_cycle(frequency)[1]) - freshness

        if excess(most) < 0:
            raise InputError(
                f"no budget makes these pages {freshness} fresh: with all polls that their"
                f" hosts take, of each one every {SHORTEST:.2g} s at most, it is"
                f" {excess(most) + freshness:.4f}; ask for less"
            )
        least = math.log(self._costs.sum() / LONGEST)
        found = least if excess(least) >= 0 else root(excess, least, most, absolute=2e-4)
        # The root found may be a little too small.
        return math.exp(found + 4e-4)

    def forecast(
        self,
        budget: float,
        horizon: float,
        *,
        generator: np.random.Generator,
        chances: Floats | None = None,
        spread: Spread = POISSON,
        draws: int = 400,
    ) -> Forecast:
        """What to expect of the coming `horizon` seconds, with intervals of 80 %.

        `chances` are the uncorrected probabilities that each page has changed since its copy was
        made, NaN without a copy; None: as in the long run. `spread` is that of past predictions, by
        default that of Poisson processes. The intervals come from so many `draws`, fewer for more
        than 5,000 pages.
        """
        require_positive("forecast", "horizon", horizon)
        run = self._under(budget)
        frequency, freshness = run.frequency, run.freshness
        first, ahead = self._outset(chances, run.polls * horizon, freshness)
        found = run.found * (1.0 - first)
        excess = max(spread.found - 1.0, 0.0) / max(found * horizon, 1.0)
        outcomes = np.array(
            [
                drawn_figures(rate, frequency, self._shares, first, excess, horizon, generator)
                for rate in self._drawn_rates(draws, self._common(run.chances), generator)
            ]
        )
        found_ends = np.quantile(outcomes[:, 0], _ENDS) * (DAY / horizon)
        fresh_off = np.quantile(outcomes[:, 1], _ENDS) - freshness
        fresh_ends = freshness + ahead + np.sqrt(spread.stale) * fresh_off
        with np.errstate(divide="ignore"):
            longest = float(1.0 / frequency.min())
        return Forecast(
            horizon,
            _interval(found * DAY, found_ends),
            _interval(freshness + ahead, np.clip(fresh_ends, 0.0, 1.0)),
            _delay_interval(run.delay, outcomes[:, 2], spread.delay, longest),
        )

    def _outset(
        self, chances: Floats | None, polls: float, freshness: float
    ) -> tuple[float, float]:
        """The share of the `polls` that makes first copies, and how much fresher than in the long
        run the pages are over these: their present state matters for about one round of all pages.
        """
        if chances is None:
            return 0.0, 0.0
        first = min(float(np.isnan(chances).sum()) / polls, 1.0)
        rounds = polls / len(chances)
        with np.errstate(divide="ignore"):
            changed = -np.expm1(self._factors * np.log1p(-chances))
        now = self._mean(1.0 - np.where(np.isnan(chances), 1.0, changed))
        return first, (now - freshness) * -math.expm1(-rounds) / rounds

    def _per_cycle(self, frequency: Floats) -> tuple[Floats, Floats, Floats]:
        """Of each page, the probability that a poll finds a change, its freshness, its rate.

        Rates count only as far as polls can tell them (`tellable`). Otherwise a page that may
        change every second, for all that polls tell, would outweigh the changes of all others.
        """
        found, fresh, rate = (np.empty(len(frequency)) for _ in range(3))
        for begin in range(0, len(frequency), _PAGES_AT_ONCE):
            part = slice(begin, begin + _PAGES_AT_ONCE)
            rates = self._factors[part, None] * self._rates
            expected = expected_changes(rates, frequency[part, None])
            probabilities = self._probabilities[part]
            changed = -np.expm1(-expected)
            found[part] = (probabilities * changed).sum(axis=1)
            fresh[part] = (probabilities * fresh_share(expected, changed)).sum(axis=1)
            told = tellable(rates, frequency[part, None], _TELLABLE)
            rate[part] = (probabilities * told).sum(axis=1)
        return found, fresh, rate

    def _under(self, budget: float) -> _LongRun:
        """What a budget brings; that asked for last is kept."""
        latest = self._latest  # other threads may ask for other budgets meanwhile
        if latest is None or latest[0] != budget:
            latest = self._latest = budget, self._with(self.frequencies(budget))
        return latest[1]

    def _with(self, frequency: Floats) -> _LongRun:
        """What so many polls per second of each page bring."""
        chances, fresh, rate = self._per_cycle(frequency)
        with np.errstate(divide="ignore"):
            waited = rate[rate > 0] / (2 * frequency[rate > 0])
        return _LongRun(
            frequency,
            chances,
            polls=float(frequency.sum()),
            found=float(frequency @ chances),
            freshness=self._mean(fresh),
            delay=float(waited.sum() / rate.sum()) if rate.sum() > 0 else 0.0,
        )

    def _mean(self, values: Floats) -> float:
        """The mean over pages, by weight."""
        return float(self._shares @ values)

    def _common(self, chances: Floats) -> Floats:
        """The part of each page's uncertainty that is common to all pages.

        It is the larger, the less a poll tells of the page's rate: what is believed of a page that
        has changed at each of its polls was learned from no page. `chances` are those that a poll
        of each page finds a change.
        """
        told = information(np.maximum(chances, _MOST_TELLING)) / information(_MOST_TELLING)
        return np.asarray(1.0 - (1.0 - self._shared) * told)

    def _drawn_rates(
        self, draws: int, common: Floats, generator: np.random.Generator
    ) -> Iterator[Floats]:
        """Draws of a rate for each page; a part of the deviation is `common` to all pages."""
        cumulative = np.cumsum(self._probabilities, axis=1)
        cumulative /= cumulative[:, -1:]
        marks = _marks(cumulative)
        of_all, of_own = np.sqrt(common), np.sqrt(1.0 - common)
        for _ in range(max(min(draws, _MOST_DRAWN // len(cumulative)), 50)):
            own = generator.normal(size=len(cumulative))
            level = of_all * generator.normal() + of_own * own
            number = _first_reaching(cumulative, marks, normal_distribution(level))
            yield self._rates[number] * self._factors


def _marks(rows: Floats) -> Floats:
    """Every eighth column, by which `_first_reaching` looks."""
    return np.ascontiguousarray(rows[:, _APART - 1 :: _APART])


@kernel(nogil=True)
def _first_reaching(rows: Floats, marks: Floats, levels: Floats) -> NDArray[np.int64]:
    """The first place of each row, which never falls, that reaches the level of the row; else the
    last one.

    `marks` are those of `rows`: few lines of memory are read of each, and no step is guessed.
    """
    places = np.empty(len(rows), np.int64)
    last = rows.shape[1] - 1
    for row in range(len(rows)):
        level = levels[row]
        passed = 0
        for mark in range(marks.shape[1]):
            passed += marks[row, mark] < level
        place = begin = passed * _APART
        for column in range(begin, min(begin + _APART, last)):
            place += rows[row, column] < level
        places[row] = min(place, last)
    return places


def _interval(mean: float, ends: Floats) -> Interval:
    """The interval with these ends, and with the mean: most of what is rare may be above them."""
    low, high = ends.tolist()
    return Interval(mean, min(low, mean), max(high, mean))


def _delay_interval(mean: float, drawn: Floats, spread: float, longest: float) -> Interval:
    """The interval of the drawn delays, widened by ratios, as delays cannot be negative.

    No change waits for more than the `longest` time between two polls of a page.
    """
    drawn = drawn[~np.isnan(drawn)]
    if len(drawn) == 0 or math.isinf(mean):
        return Interval(mean, mean, mean)
    low, high = np.quantile(drawn, _ENDS, method="nearest").tolist()
    middle = max(float(np.median(drawn)), 1e-9)
    ratio = np.array((max(low, 1e-3 * middle), high)) / middle
    return _interval(mean, np.minimum(middle * ratio ** math.sqrt(spread), longest))
