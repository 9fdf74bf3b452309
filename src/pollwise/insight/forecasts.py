"""What a budget buys: changes found, freshness and delay, with intervals, from rate posteriors.

A policy that polls by a price visits a page each time that the mean of its index over what is
known of its rate reaches the price; so a price is a poll interval for every page, and one price
uses up the budget. What comes of these intervals has closed forms for a known rate λ and interval
τ (a = λτ): a poll finds a change with probability 1 - e^-a, the copy is up to date for a share
(1 - e^-a)/a of the time, and a change waits τ/2. Their means over the posteriors are the forecast.

Its intervals come of three uncertainties: the rates are drawn from their posteriors, what happens
in the period is drawn given the rates, and because changes of real pages cluster, the latter are
spread as widely as predictions missed in the past (`pollwise.insight.dispersion`).

Hosts that cannot keep up with their pages are not taken into account, nor that a policy goes on
learning. `docs/theory.md` has more.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special

from pollwise.checks import require_positive
from pollwise.errors import InputError
from pollwise.insight.dispersion import LEVEL, POISSON, Spread
from pollwise.insight.forecast_draws import (
    drawn_delay,
    drawn_found,
    drawn_freshness,
    expected_changes,
    fresh_share,
    tellable,
)
from pollwise.objectives import Objective
from pollwise.types import Page

if TYPE_CHECKING:
    from pollwise.policies.index.bayes_index import BayesianIndex

__all__ = ["Expectation", "Forecast", "Forecaster", "Interval"]

Floats = NDArray[np.float64]

_DAY = 86_400.0
_TIMES: Floats = 2.0 ** np.arange(-6.0, 34.25, 0.5)
"""Poll intervals in seconds between which the index is interpolated."""
_PAGES_AT_ONCE = 8192
_ENDS = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
_MOST_DRAWN = 2_000_000
"""Pages times draws."""
_FEW_EXAMPLES = 3.0
"""Pages polled as of which rates are as much apart from each other as they are off together."""
_TELLABLE = 10.0
"""Of changes that come faster than this between two polls, polls do not tell how fast."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A forecast figure: the expected value, and between what it lies in four cases of five."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a budget brings in the long run.

    `budget` and `polls_per_day` are per day; `found_per_day` are the polls that find a change;
    `freshness` is the mean share of time in which the copy of a page equals the page, by weight;
    `delay` the mean seconds from a change to the next poll of its page (infinite where a page that
    changes is never polled). `marginal_found` and `marginal_freshness` are what one more cost unit
    a day would add to `found_per_day` and `freshness`.
    """

    budget: float
    polls_per_day: float
    found_per_day: float
    freshness: float
    delay: float
    marginal_found: float
    marginal_freshness: float


@dataclass(frozen=True, slots=True)
class Forecast:
    """What is to be expected of the coming `horizon` (seconds); the figures of `Expectation`."""

    horizon: float
    found_per_day: Interval
    freshness: Interval
    delay: Interval


class Forecaster:
    """Forecasts for pages of which the rates are known as far as `probabilities` say.

    `rates` are changes per second, `probabilities` a row for each page that says how likely each
    rate is; `weights` and `costs` are numbers, or one for each page. Where polls are shared out,
    weights are multiplied with `worths`, as for pages that revert, and probabilities with `hope`,
    a function of the seconds in which there is a poll for every page, that gives a row for each
    page or one for all. However little a page is worth, it is polled once in so many rounds of
    all pages (`patience`; infinite: not so), if it has changed by then with a probability of
    `patience_chance` at least.
    `examples` is the number of pages from which it was learned how rates are distributed: after
    few, rates are likely to be other than believed all together. Budgets are in cost units per
    second.

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
    ) -> None:
        self._rates = np.asarray(rates, np.float64)
        self._probabilities = np.asarray(probabilities, np.float64)
        pages = len(self._probabilities)
        if pages == 0:
            raise InputError("a forecast needs at least one page: add pages first")
        self._weights = np.broadcast_to(np.asarray(weights, np.float64), pages)
        self._costs = np.broadcast_to(np.asarray(costs, np.float64), pages)
        weights = self._weights if self._weights.any() else np.ones(pages)
        self._shares = weights / weights.sum()
        self._hope = hope
        self._patience = patience
        self._patience_chance = patience_chance
        self._shared = _FEW_EXAMPLES / (_FEW_EXAMPLES + examples)
        self._factors = np.ones(pages)
        self._values = objective.index(self._rates[:, None], _TIMES[None, :])
        self._worths = self._weights * np.asarray(worths, np.float64) / self._costs

    @classmethod
    def of(cls, policy: "BayesianIndex", pages: Sequence[Page], budget: float) -> Self:
        """Of pages that a policy watches, by what it has learned under such a budget.

        `budget` is in cost units per second.
        """
        page_ids = [page.id for page in pages]
        rates, probabilities = policy.rate_posteriors(page_ids)
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
        ).calibrated(budget, policy.recalibrated)

    def calibrated(self, budget: float, recalibrated: Callable[[Floats], Floats]) -> Self:
        """The same with each page's rates changed by a factor.

        It makes the chance that a poll finds a change, under `budget`, what `recalibrated` makes
        of it. When pages are polled stays as it is: that is up to a policy that knows no better.
        """
        chances, _, _ = self._per_cycle(self.frequencies(budget))
        with np.errstate(divide="ignore", invalid="ignore"):
            factors = np.log1p(-recalibrated(chances)) / np.log1p(-chances)
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._factors = np.where(np.isfinite(factors) & (factors > 0), factors, 1.0)
        return other

    def frequencies(self, budget: float) -> Floats:
        """Polls per second of each page; their costs add up to `budget` (cost units a second).

        Unless that is more than 64 polls of each page a second.
        """
        require_positive("frequencies", "budget", budget)
        index, floor = self._log_index(budget), self._floor(budget)
        finite = index[np.isfinite(index)]
        if len(finite) == 0:
            return np.full(len(self._costs), budget / self._costs.sum())
        low, high = float(finite.min()) - 1.0, float(finite.max()) + 1.0
        while high - low > 1e-9 * max(1.0, abs(low), abs(high)):
            middle = (low + high) / 2
            if self._costs @ _frequencies_at(middle, index, floor) >= budget:
                low = middle
            else:
                high = middle
        # Where pages saturate, prices side by side may be far apart in spending: any mixture of
        # what they buy is as good.
        more, less = (_frequencies_at(price, index, floor) for price in (low, high))
        spread = self._costs @ (more - less)
        share = np.clip((budget - self._costs @ less) / spread, 0.0, 1.0) if spread > 0 else 0.5
        return np.asarray(share * more + (1.0 - share) * less)

    def expect(self, budget: float) -> Expectation:
        """What a budget brings in the long run; it is in cost units per second."""
        polls, found, freshness, delay = self._figures(self.frequencies(budget))
        step = max(1.0 / _DAY, 0.01 * budget)
        _, more_found, more_freshness, _ = self._figures(self.frequencies(budget + step))
        return Expectation(
            budget=budget * _DAY,
            polls_per_day=polls * _DAY,
            found_per_day=found * _DAY,
            freshness=freshness,
            delay=delay,
            marginal_found=(more_found - found) / step,
            marginal_freshness=(more_freshness - freshness) / (step * _DAY),
        )

    def curve(self, budgets: Sequence[float]) -> list[Expectation]:
        """`expect` of several budgets."""
        return [self.expect(budget) for budget in budgets]

    def cheapest(self, freshness: float) -> float:
        """The smallest budget, in cost units per second, that makes pages so fresh (to 0.1 %).

        `InputError` for a share that is none, and where no budget reaches it.
        """
        if not 0 < freshness < 1:
            raise InputError(f"freshness {freshness} must be between 0 and 1 (exclusive)")
        most = math.log(self._costs.sum() / _TIMES[0])

        def excess(log_budget: float) -> float:
            frequency = self.frequencies(math.exp(log_budget))
            return self._mean(self._per_cycle(frequency)[1]) - freshness

        if excess(most) < 0:
            raise InputError(
                f"no budget makes these pages {freshness} fresh: with one poll of each every"
                f" {_TIMES[0]} s it is {excess(most) + freshness:.4f}; ask for less"
            )
        least = math.log(self._costs.sum() / _TIMES[-1])
        found = least if excess(least) >= 0 else optimize.brentq(excess, least, most, xtol=2e-4)
        # The root may be a little too small.
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

        `chances` are how likely each page has changed since its copy was made, NaN where there is
        none; None: as in the long run. `spread` is that of the past, the default that of Poisson
        processes. `draws` is how many outcomes the intervals are taken of, fewer for more
        than 5,000 pages.
        """
        require_positive("forecast", "horizon", horizon)
        frequency = self.frequencies(budget)
        polls, found, freshness, delay = self._figures(frequency)
        # Of the polls some make first copies, and the past is felt for about one round of all.
        first, ahead = 0.0, 0.0
        if chances is not None:
            first = min(float(np.isnan(chances).sum()) / (polls * horizon), 1.0)
            rounds = polls * horizon / len(frequency)
            now = self._mean(1.0 - np.where(np.isnan(chances), 1.0, chances))
            ahead = (now - freshness) * -math.expm1(-rounds) / rounds
        found *= 1.0 - first
        cumulative = np.cumsum(self._probabilities, axis=1)
        cumulative /= cumulative[:, -1:]
        excess = max(spread.found - 1.0, 0.0) / max(found * horizon, 1.0)
        outcomes = np.empty((max(min(draws, _MOST_DRAWN // len(frequency)), 50), 3))
        for outcome in outcomes:
            rate = self._drawn_rates(cumulative, generator)
            # Pages that share their fate: a busy week makes all of them faster.
            common = generator.gamma(1.0 / excess, excess) if excess > 0 else 1.0
            outcome[0] = drawn_found(
                rate * common, frequency * (1.0 - first), frequency, horizon, generator
            )
            outcome[1] = drawn_freshness(rate, frequency, self._shares, horizon, generator)
            outcome[2] = drawn_delay(rate, frequency, horizon, generator)
        found_ends = np.quantile(outcomes[:, 0], _ENDS) * (_DAY / horizon)
        fresh_ends = (
            freshness
            + ahead
            + np.sqrt(spread.stale) * (np.quantile(outcomes[:, 1], _ENDS) - freshness)
        )
        return Forecast(
            horizon,
            Interval(found * _DAY, *found_ends.tolist()),
            Interval(freshness + ahead, *np.clip(fresh_ends, 0.0, 1.0).tolist()),
            _delay_interval(delay, outcomes[:, 2], spread.delay),
        )

    def _round_time(self, budget: float) -> float:
        """Seconds in which there is a poll for every page."""
        return float(self._costs.sum()) / budget

    def _log_index(self, budget: float) -> Floats:
        """The logarithm of the index of each page after each of the tabulated intervals."""
        hopeful = self._probabilities
        if self._hope is not None:
            hopeful = hopeful * self._hope(self._round_time(budget))
            hopeful /= hopeful.sum(axis=1, keepdims=True)
        index: Floats = self._worths[:, None] * (hopeful @ self._values)
        # Rounding must not make the index fall where it has all but reached its limit.
        np.maximum.accumulate(index, axis=1, out=index)
        with np.errstate(divide="ignore"):
            return np.log(index, out=index)

    def _floor(self, budget: float) -> Floats:
        """Polls per second that each page gets whatever its index is."""
        longest = self._patience * self._round_time(budget)
        if math.isinf(longest):
            return np.zeros(len(self._costs))
        changed = self._probabilities @ -np.expm1(-self._rates * longest)
        return np.where(changed >= self._patience_chance, 1.0 / longest, 0.0)

    def _per_cycle(self, frequency: Floats) -> tuple[Floats, Floats, Floats]:
        """Of each page, the probability that a poll finds a change, its freshness, its rate.

        Changes count as far as polls can tell them: what never was seen twice between two polls
        may come every second, and would outweigh the changes of all other pages.
        """
        found, fresh, rate = (np.empty(len(frequency)) for _ in range(3))
        for begin in range(0, len(frequency), _PAGES_AT_ONCE):
            part = slice(begin, begin + _PAGES_AT_ONCE)
            rates = self._factors[part, None] * self._rates
            expected = expected_changes(rates, frequency[part, None])
            probabilities = self._probabilities[part]
            found[part] = (probabilities * -np.expm1(-expected)).sum(axis=1)
            fresh[part] = (probabilities * fresh_share(expected)).sum(axis=1)
            told = tellable(rates, frequency[part, None], _TELLABLE)
            rate[part] = (probabilities * told).sum(axis=1)
        return found, fresh, rate

    def _figures(self, frequency: Floats) -> tuple[float, float, float, float]:
        """Polls and found changes per second, freshness and mean delay."""
        found, fresh, rate = self._per_cycle(frequency)
        with np.errstate(divide="ignore"):
            waited = rate[rate > 0] / (2 * frequency[rate > 0])
        return (
            float(frequency.sum()),
            float(frequency @ found),
            self._mean(fresh),
            float(waited.sum() / rate.sum()) if rate.sum() > 0 else 0.0,
        )

    def _mean(self, values: Floats) -> float:
        """Over the pages, by weight."""
        return float(self._shares @ values)

    def _drawn_rates(self, cumulative: Floats, generator: np.random.Generator) -> Floats:
        """A rate for each page, all of them higher or lower as far as the belief is shared."""
        own = generator.normal(size=len(cumulative))
        level = math.sqrt(self._shared) * generator.normal() + math.sqrt(1 - self._shared) * own
        number = (cumulative < special.ndtr(level)[:, None]).sum(axis=1)
        rates: Floats = self._rates[np.minimum(number, len(self._rates) - 1)]
        return rates * self._factors


def _frequencies_at(log_price: float, log_index: Floats, floor: Floats) -> Floats:
    """Polls per second of each page at a price."""
    column = (log_index < log_price).sum(axis=1)
    row, inner = np.arange(len(log_index)), np.clip(column, 1, len(_TIMES) - 1)
    before, after = log_index[row, inner - 1], log_index[row, inner]
    with np.errstate(invalid="ignore", divide="ignore"):
        part = np.clip(np.nan_to_num((log_price - before) / (after - before), nan=1.0), 0, 1)
    times = _TIMES[inner - 1] * (_TIMES[inner] / _TIMES[inner - 1]) ** part
    return np.maximum(np.where(column == len(_TIMES), 0.0, 1.0 / times), floor)


def _delay_interval(mean: float, drawn: Floats, spread: float) -> Interval:
    """Widened in proportion, for delays cannot be negative."""
    drawn = drawn[~np.isnan(drawn)]
    if len(drawn) == 0 or math.isinf(mean):
        return Interval(mean, mean, mean)
    low, high = np.quantile(drawn, _ENDS, method="nearest").tolist()
    middle = max(float(np.median(drawn)), 1e-9)
    ratio = np.array((max(low, 1e-3 * middle), high)) / middle
    ends = (middle * ratio ** math.sqrt(spread)).tolist()
    return Interval(mean, *ends)
