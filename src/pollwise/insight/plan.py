"""What `pollwise plan` tells: what other budgets would bring."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pollwise.errors import InputError
from pollwise.insight.dispersion import Spread
from pollwise.insight.documents import ONLY_IF_ASKED
from pollwise.insight.evidence import Evidence
from pollwise.insight.forecasts import Interval, require_freshness
from pollwise.insight.knowledge import Knowledge, read_knowledge
from pollwise.insight.words import all_paused, count
from pollwise.scheduler.capacity import Shortfall
from pollwise.store.place import Place
from pollwise.texts import plain
from pollwise.units import DAY

__all__ = [
    "BoundsCost",
    "Plan",
    "PlannedBudget",
    "between",
    "curve_of",
    "plan_of",
    "planned",
    "read_plan",
]

_STEPS = 3
_CURVE = tuple(2.0 ** (n / _STEPS) for n in range(-2 * _STEPS, 2 * _STEPS + 1))
_FACTORS = _CURVE[::_STEPS]
_HORIZON = 7 * DAY
_SEED = 1
_ROUNDED_DOWN = 1.0 - 1e-6
"""A budget at an end of the curve may be shown a little beyond it."""


@dataclass(frozen=True, slots=True)
class PlannedBudget:
    """What a budget, `factor` times the present one, brings in the long run.

    `budget_per_day` is in cost units a day. The intervals are those of a week. The figures are
    those of `Expectation`, but `delay_days` is in days.
    """

    factor: float
    budget_per_day: float
    polls_per_day: float
    found_per_day: Interval
    freshness: Interval
    delay_days: Interval
    marginal_found: float
    marginal_freshness: float


@dataclass(frozen=True, slots=True)
class BoundsCost:
    """What the bounds on polls cost of the present budget.

    `at_least_per_day` are the cost units a day that at-least bounds demand, `share` what part of
    the budget that is: above 1, they cannot be kept. `slowed` counts the pages that are polled once
    a round at most because they changed whenever they were polled. `found_per_day_without` is what
    polls would find in the long run without any bounds.
    """

    at_least_per_day: float
    share: float
    slowed: int
    found_per_day_without: float


@dataclass(frozen=True, slots=True)
class Plan:
    """What a quarter to four times the present budget would bring (`results`, ascending).

    `results` and `bounds` are None as long as the `evidence` does not suffice. `pages` are watched
    and had `polls` so far; those of them that are `paused` count nowhere else. `bounds` has the
    cost of the bounds on the others. `shortfall` is what their hosts cannot take of the largest of
    these budgets (None: they take it). `wanted` is the smallest budget that reaches
    `wanted_freshness`; `curve` has more budgets in between, for a figure. The last three are None
    unless they were asked for.
    """

    database: str
    budget: str
    objective: str
    pages: int
    paused: int
    polls: int
    horizon_days: float
    bounds: BoundsCost | None
    shortfall: Shortfall | None
    evidence: Evidence
    results: tuple[PlannedBudget, ...] | None
    wanted_freshness: float | None = field(default=None, metadata=ONLY_IF_ASKED)
    wanted: PlannedBudget | None = field(default=None, metadata=ONLY_IF_ASKED)
    curve: tuple[PlannedBudget, ...] | None = field(default=None, metadata=ONLY_IF_ASKED)


def read_plan(db: Place, freshness: float | None = None, *, curve: bool = False) -> Plan:
    """What other budgets would bring, which one reaches `freshness`, and perhaps a curve.

    Errors as for `read_knowledge`; `InputError` if `freshness` is not between 0 and 1 or no budget
    reaches it, and if either is asked for while too little is known.
    """
    if freshness is not None:
        require_freshness(freshness)
    return plan_of(read_knowledge(db), freshness, curve=curve)


def plan_of(known: Knowledge, freshness: float | None = None, *, curve: bool = False) -> Plan:
    """The same for what is known of a watch; `InputError` as there."""
    if freshness is not None:
        require_freshness(freshness)
    evidence = known.evidence
    plan = Plan(
        database=str(known.database),
        budget=known.settings.budget,
        objective=known.settings.objective,
        pages=len(known.records),
        paused=len(known.records) - len(known.polled_pages),
        polls=sum(record.polls for record in known.records),
        horizon_days=_HORIZON / DAY,
        bounds=None,
        shortfall=known.scheduler.shortfall(_FACTORS[-1] * known.rate),
        evidence=evidence,
        results=None,
    )
    if not evidence.suffices:
        if freshness is not None or curve:
            asked = {"--freshness": freshness is not None, "--plot": curve}
            options = " and ".join(option for option, given in asked.items() if given)
            raise _too_little(known, f"for {options}")
        return plan
    spread = known.spread(_HORIZON)
    wanted = None if freshness is None else known.forecaster.cheapest(freshness) / known.rate
    return replace(
        plan,
        bounds=_bounds_cost(known),
        results=tuple(_kept(known, spread, factor) for factor in _FACTORS),
        wanted_freshness=freshness,
        wanted=None if wanted is None else _planned(known, spread, wanted),
        curve=known.curve if curve else None,
    )


def curve_of(known: Knowledge) -> tuple[PlannedBudget, ...]:
    """What 13 budgets from a quarter to four times the present one bring, ascending.

    It takes some seconds for each of them where pages are very many; `Knowledge.curve` keeps it.
    `InputError` as long as the evidence does not suffice.
    """
    if not known.evidence.suffices:
        raise _too_little(known, "to plan")
    spread = known.spread(_HORIZON)
    return tuple(_kept(known, spread, factor) for factor in _CURVE)


def planned(known: Knowledge, budget_per_day: float) -> PlannedBudget:
    """What a budget (cost units a day) brings in the long run: see `between`.

    Once `Knowledge.curve` is there it takes no time; errors as for both.
    """
    return between(known.curve, budget_per_day)


def between(curve: Sequence[PlannedBudget], budget_per_day: float) -> PlannedBudget:
    """What a budget (cost units a day) brings, read off a curve.

    Between two budgets of the curve every figure is taken to move in proportion to the logarithm of
    the budget, which is less than its own uncertainty off. `InputError` for a budget beyond the
    ends of the curve.
    """
    least, most = curve[0].budget_per_day, curve[-1].budget_per_day
    if not _ROUNDED_DOWN * least <= budget_per_day <= most / _ROUNDED_DOWN:
        raise InputError(
            f"a budget of {plain(budget_per_day, 3)} a day: it can be told for {plain(least, 3)} to"
            f" {plain(most, 3)}, a quarter to four times the present one"
        )
    after = next((n for n, one in enumerate(curve) if one.budget_per_day >= budget_per_day), -1)
    low, high = curve[max(after - 1, 0)], curve[after]
    if low is high or budget_per_day >= high.budget_per_day:
        return high
    part = math.log(budget_per_day / low.budget_per_day) / math.log(
        high.budget_per_day / low.budget_per_day
    )

    def blend(one: float, other: float) -> float:
        return one if one == other else (1.0 - part) * one + part * other

    def blended(one: Interval, other: Interval) -> Interval:
        ends = zip((one.mean, one.low, one.high), (other.mean, other.low, other.high), strict=True)
        return Interval(*(blend(*each) for each in ends))

    return PlannedBudget(
        factor=budget_per_day / low.budget_per_day * low.factor,
        budget_per_day=budget_per_day,
        polls_per_day=blend(low.polls_per_day, high.polls_per_day),
        found_per_day=blended(low.found_per_day, high.found_per_day),
        freshness=blended(low.freshness, high.freshness),
        delay_days=blended(low.delay_days, high.delay_days),
        marginal_found=blend(low.marginal_found, high.marginal_found),
        marginal_freshness=blend(low.marginal_freshness, high.marginal_freshness),
    )


def _too_little(known: Knowledge, aim: str) -> InputError:
    evidence = known.evidence
    if not known.polled_pages:
        return InputError(f"{known.database}: {all_paused(known.database)}")
    return InputError(
        f"{known.database}: too little is known yet {aim} ({count(evidence.polls, 'poll')} told"
        f" something, about {evidence.needed} are needed): watch on"
    )


def _bounds_cost(known: Knowledge) -> BoundsCost:
    bounds = known.scheduler.bounds
    demanded = bounds.demanded()
    return BoundsCost(
        at_least_per_day=demanded * DAY,
        share=demanded / known.rate,
        slowed=sum(bounds.is_slowed(page.id) for page in known.polled_pages),
        found_per_day_without=known.found_without_bounds * DAY,
    )


def _kept(known: Knowledge, spread: Spread, factor: float) -> PlannedBudget:
    """What a multiple of the present budget brings; made at the first use."""
    if factor not in known.planned:
        known.planned[factor] = _planned(known, spread, factor)
    return known.planned[factor]


def _planned(known: Knowledge, spread: Spread, factor: float) -> PlannedBudget:
    """What any multiple of the present budget brings."""
    budget = factor * known.rate
    expected = known.forecaster.expect(budget)
    # The same draws for every budget, so that only the budgets make differences.
    forecast = known.forecaster.forecast(
        budget,
        _HORIZON,
        generator=np.random.default_rng(_SEED),
        spread=spread,
    )
    return PlannedBudget(
        factor=factor,
        budget_per_day=expected.budget,
        polls_per_day=expected.polls_per_day,
        found_per_day=forecast.found_per_day,
        freshness=forecast.freshness,
        delay_days=forecast.delay / DAY,
        marginal_found=expected.marginal_found,
        marginal_freshness=expected.marginal_freshness,
    )
