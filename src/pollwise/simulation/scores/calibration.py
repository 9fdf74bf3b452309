"""Whether the predictions of a policy come true: its chances and forecasts in a replay."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from pollwise.errors import InputError
from pollwise.insight.dispersion import Spread
from pollwise.insight.forecaster import Forecaster
from pollwise.insight.forecasts import Forecast, Interval
from pollwise.metrics import Changes, Polls, score
from pollwise.objectives import Objective
from pollwise.policies.base import Policy
from pollwise.policies.catalogue import PolicyChoice, Setting
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.simulation.loop import BudgetPerPage, simulate
from pollwise.simulation.scores.witness import Witness
from pollwise.simulation.worlds.world import World
from pollwise.types import Budget
from pollwise.units import DAY

__all__ = ["CalibrationReport", "Coverage", "Decile", "Period", "calibration_of", "waits"]

Floats = NDArray[np.float64]

_LONG_TRACE = 100 * DAY
"""A shorter history has no room for many weeks."""
_MOST_FORECASTS = 60
_DRAWS = 200


@dataclass(frozen=True, slots=True)
class Decile:
    """A tenth of the polls by predicted chance: mean chance, share that changed, and number."""

    predicted: float
    observed: float
    polls: int


@dataclass(frozen=True, slots=True)
class Period:
    """A forecast made at `begin` (UTC seconds) and what happened; delay in seconds."""

    begin: float
    forecast: Forecast
    found_per_day: float
    freshness: float
    delay: float


@dataclass(frozen=True, slots=True)
class Coverage:
    """How often 80 % intervals held the figure, and the forecasts' mean error relative to it."""

    covered: float
    bias: float
    forecasts: int


@dataclass(frozen=True, slots=True)
class CalibrationReport:
    """How predictions compare with outcomes after the warm-up.

    `deciles` of the polls by predicted chance, ascending; `brier` is the mean squared error of the
    chances; `periods` are the forecasts, of `horizon` seconds each.
    """

    deciles: tuple[Decile, ...]
    brier: float
    horizon: float
    periods: tuple[Period, ...]

    @property
    def worst(self) -> float:
        """The largest difference between predicted and observed among the deciles."""
        return max((abs(d.predicted - d.observed) for d in self.deciles), default=math.nan)

    def coverage(self, figure: str) -> Coverage:
        """Of `found_per_day`, `freshness` or `delay`."""
        intervals: list[Interval] = [getattr(p.forecast, figure) for p in self.periods]
        true = np.array([getattr(p, figure) for p in self.periods])
        known = np.isfinite(true)
        low, mean, high = (
            np.array([getattr(interval, end) for interval in intervals])[known]
            for end in ("low", "mean", "high")
        )
        true = true[known]
        if len(true) == 0:
            return Coverage(math.nan, math.nan, 0)
        inside = (low <= true) & (true <= high)
        return Coverage(float(inside.mean()), float((mean - true).mean() / true.mean()), len(true))

    def document(self) -> dict[str, Any]:
        """For JSON: numbers and lists only, delay in days."""
        covers = {name: self.coverage(name) for name in ("found_per_day", "freshness", "delay")}
        return {
            "deciles": [
                {"predicted": d.predicted, "observed": d.observed, "polls": d.polls}
                for d in self.deciles
            ],
            "worst_decile": self.worst,
            "brier": self.brier,
            "horizon_days": self.horizon / DAY,
            "forecasts": len(self.periods),
            "coverage": {name: cover.covered for name, cover in covers.items()},
            "bias": {name: cover.bias for name, cover in covers.items()},
        }


def calibration_of(
    history: World,
    policy: PolicyChoice,
    *,
    objective: Objective,
    budget: Budget | BudgetPerPage,
    warm_up: float,
    report: Callable[[str], None] = lambda text: None,
) -> CalibrationReport:
    """Replay a history to a policy and hold its predictions against what happens.

    Only the time after `warm_up`, a share of the whole, counts. Forecasts are made at evenly
    spaced moments, for the next 7 days, or 2 where the history is shorter than 100 days.
    `InputError` for a policy that predicts nothing.
    """
    report(f"{policy.text}: calibration")
    history.reset(0)
    pages = history.pages
    total = budget.rate * (len(pages) if isinstance(budget, BudgetPerPage) else 1)
    setting = Setting(objective, total, pages=len(pages), rates=history.rates)
    made = policy.make(setting)
    if not isinstance(made, BayesianIndex):
        raise InputError(f"{policy.text} predicts no chances: calibration is for bayes-index")
    length = history.end - history.begin
    cheapest = min(page.cost for page in pages)
    witness = Witness(made, most=math.ceil(length * total / cheapest) + 1)
    horizon = (7 if length >= _LONG_TRACE else 2) * DAY
    begin = history.begin + warm_up * length
    count = min(int((history.end - begin) // horizon), _MOST_FORECASTS)
    moments = np.linspace(begin, history.end - horizon, max(count, 0)).tolist()
    watching: list[tuple[Forecast, NDArray[np.bool_]]] = []
    generator = setting.generator

    def on_pause(now: float) -> None:
        forecast, present = _forecast(history, witness, budget, now, horizon, generator)
        watching.append((forecast, present))

    # A witness has all that the compiled loop needs of a policy.
    runs = cast(Policy, witness)
    polls = simulate(runs, history, seed=0, budget=budget, pauses=moments, on_pause=on_pause)
    outcomes = _Outcomes(history, polls, witness)
    return CalibrationReport(
        *_reliability(witness.polls, begin),
        horizon=horizon,
        periods=tuple(
            outcomes.of(now, *watched) for now, watched in zip(moments, watching, strict=True)
        ),
    )


def _reliability(polls: NDArray[Any], begin: float) -> tuple[tuple[Decile, ...], float]:
    """Deciles and Brier score of the polls since `begin`."""
    polls = polls[(polls["time"] >= begin) & ~np.isnan(polls["chance"])]
    polls = polls[np.argsort(polls["chance"], kind="stable")]
    if len(polls) == 0:
        return (), math.nan
    deciles = tuple(
        Decile(float(part["chance"].mean()), float(part["changed"].mean()), len(part))
        for part in np.array_split(polls, min(10, len(polls)))
    )
    return deciles, float(np.square(polls["chance"] - polls["changed"]).mean())


def _forecast(
    history: World,
    witness: Witness,
    budget: Budget | BudgetPerPage,
    now: float,
    horizon: float,
    generator: np.random.Generator,
) -> tuple[Forecast, NDArray[np.bool_]]:
    """The forecast made at a moment, and which pages are alive then."""
    changes = history.changes
    present = (np.maximum(changes.born, history.begin) <= now) & (changes.died > now)
    pages = [page for page, here in zip(history.pages, present, strict=True) if here]
    rate = budget.rate * (len(pages) if isinstance(budget, BudgetPerPage) else 1)
    past = witness.polls[~np.isnan(witness.polls["chance"])]
    gaps = past["time"] - past["seen_at"]
    spread = Spread.of_polls(now - past["time"], gaps, past["chance"], past["changed"], horizon)
    forecast = Forecaster.of(witness.policy, pages, rate).forecast(
        rate,
        horizon,
        generator=generator,
        chances=witness.policy.uncorrected_chances([page.id for page in pages], now),
        spread=spread,
        draws=_DRAWS,
    )
    return forecast, present


class _Outcomes:
    """What happened over a period to the pages alive at its begin."""

    def __init__(self, history: World, polls: Polls, witness: Witness) -> None:
        self._history = history
        self._polls = polls
        self._witness = witness.polls
        changes = history.changes
        self._page = np.repeat(np.arange(len(changes.born)), np.diff(changes.offsets))
        self._waited = waits(changes, polls, history.end)

    def of(self, now: float, forecast: Forecast, present: NDArray[np.bool_]) -> Period:
        """The forecast made at `now`, and what happened."""
        end = now + forecast.horizon
        changes = self._history.changes
        theirs = replace(changes, died=np.where(present, changes.died, -math.inf))
        freshness = score(self._polls, theirs, begin=now, end=end).freshness
        polls = self._witness
        found = (polls["time"] >= now) & (polls["time"] < end) & ~np.isnan(polls["chance"])
        count = int((found & polls["changed"] & present[polls["page"]]).sum())
        mine = (changes.times >= now) & (changes.times < end) & present[self._page]
        delay = float(self._waited[mine].mean()) if mine.any() else math.nan
        return Period(now, forecast, count * DAY / forecast.horizon, freshness, delay)


def waits(changes: Changes, polls: Polls, end: float) -> Floats:
    """Seconds from each change to the next poll of its page, or to the end of page or history."""
    order = np.argsort(polls.page_ids, kind="stable")
    times = polls.times[order]
    offsets = np.searchsorted(polls.page_ids[order], np.arange(len(changes.born) + 1))
    waits = np.empty(len(changes.times))
    for page in range(len(changes.born)):
        own = changes.of_page(page)
        last = min(end, changes.died[page])
        polled = np.append(times[offsets[page] : offsets[page + 1]], last)
        next_poll = polled[np.searchsorted(polled[:-1], own)]
        waits[changes.offsets[page] : changes.offsets[page + 1]] = next_poll - own
    return waits
