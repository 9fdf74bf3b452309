"""What `pollwise plan` tells: what other budgets would bring."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from pollwise.errors import InputError
from pollwise.insight.dispersion import Spread
from pollwise.insight.documents import ONLY_IF_ASKED
from pollwise.insight.evidence import Evidence
from pollwise.insight.forecasts import Interval
from pollwise.insight.knowledge import Knowledge, read_knowledge

__all__ = ["BoundsCost", "Plan", "PlannedBudget", "read_plan"]

_FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
_DAY = 86_400.0
_HORIZON = 7 * _DAY
_SEED = 1
_CURVE_POINTS = 13


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
    and had `polls` so far; `bounds` has the cost of the bounds on these. `wanted` is the smallest
    budget that reaches `wanted_freshness`; `curve` has more budgets in between, for a figure. The
    last three are None unless they were asked for.
    """

    database: str
    budget: str
    objective: str
    pages: int
    polls: int
    horizon_days: float
    bounds: BoundsCost | None
    evidence: Evidence
    results: tuple[PlannedBudget, ...] | None
    wanted_freshness: float | None = field(default=None, metadata=ONLY_IF_ASKED)
    wanted: PlannedBudget | None = field(default=None, metadata=ONLY_IF_ASKED)
    curve: tuple[PlannedBudget, ...] | None = field(default=None, metadata=ONLY_IF_ASKED)


def read_plan(db: Path, freshness: float | None = None, *, curve: bool = False) -> Plan:
    """What other budgets would bring, which one reaches `freshness`, and perhaps a curve.

    Errors as for `read_knowledge`; `InputError` if no budget reaches `freshness`, and if either is
    asked for while too little is known.
    """
    known = read_knowledge(db)
    evidence = known.evidence
    plan = Plan(
        database=str(db),
        budget=known.settings.budget,
        objective=known.settings.objective,
        pages=len(known.records),
        polls=sum(record.polls for record in known.records),
        horizon_days=_HORIZON / _DAY,
        bounds=None,
        evidence=evidence,
        results=None,
    )
    if not evidence.suffices:
        if freshness is not None or curve:
            raise InputError(
                f"{db}: too little is known yet for --freshness and --plot ({evidence.polls} polls"
                f" told something, about {evidence.needed} are needed): watch on"
            )
        return plan
    spread = known.spread(_HORIZON)
    wanted = None if freshness is None else known.forecaster.cheapest(freshness) / known.rate
    points = np.geomspace(_FACTORS[0], _FACTORS[-1], _CURVE_POINTS).tolist() if curve else None
    return replace(
        plan,
        bounds=_bounds_cost(known),
        results=tuple(_planned(known, spread, factor) for factor in _FACTORS),
        wanted_freshness=freshness,
        wanted=None if wanted is None else _planned(known, spread, wanted),
        curve=None if points is None else tuple(_planned(known, spread, at) for at in points),
    )


def _bounds_cost(known: Knowledge) -> BoundsCost:
    bounds = known.scheduler.bounds
    demanded = bounds.demanded()
    return BoundsCost(
        at_least_per_day=demanded * _DAY,
        share=demanded / known.rate,
        slowed=sum(bounds.is_slowed(page.id) for page in known.pages),
        found_per_day_without=known.unbounded_forecaster.expect(known.rate).found_per_day,
    )


def _planned(known: Knowledge, spread: Spread, factor: float) -> PlannedBudget:
    """What a multiple of the present budget brings."""
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
        delay_days=forecast.delay / _DAY,
        marginal_found=expected.marginal_found,
        marginal_freshness=expected.marginal_freshness,
    )
