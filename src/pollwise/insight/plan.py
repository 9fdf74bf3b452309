"""What `pollwise plan` tells: what other budgets would bring."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from pollwise.insight.forecasts import Forecast
from pollwise.insight.knowledge import Knowledge, read_knowledge

__all__ = ["draw_plan", "forecast_document", "read_plan"]

_FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
_DAY = 86_400.0
_HORIZON = 7 * _DAY
_SEED = 1
_CURVE_POINTS = 13


def forecast_document(forecast: Forecast) -> dict[str, Any]:
    """A forecast for JSON; delays in days."""
    return {
        "found_per_day": asdict(forecast.found_per_day),
        "freshness": asdict(forecast.freshness),
        "delay_days": {key: x / _DAY for key, x in asdict(forecast.delay).items()},
    }


def read_plan(db: Path, freshness: float | None = None, *, curve: bool = False) -> dict[str, Any]:
    """What a quarter to four times the budget would bring, and what `freshness` would take.

    `curve` asks for more budgets in between (`curve` in the answer), such as for a figure. Budgets
    are in cost units a day. `StoreError` if it is no database, `InputError` where it has no pages
    or no budget, or where no budget makes the pages so fresh.
    """
    known = read_knowledge(db)
    plan: dict[str, Any] = {
        "database": str(db),
        "budget": known.settings.budget,
        "objective": known.settings.objective,
        "pages": len(known.records),
        "polls": sum(record.polls for record in known.records),
        "horizon_days": _HORIZON / _DAY,
        "results": [_entry(known, factor) for factor in _FACTORS],
    }
    if freshness is not None:
        budget = known.forecaster.cheapest(freshness)
        plan["wanted_freshness"] = freshness
        plan["wanted"] = _entry(known, budget / known.rate)
    if curve:
        factors = np.geomspace(_FACTORS[0], _FACTORS[-1], _CURVE_POINTS).tolist()
        plan["curve"] = [_entry(known, factor) for factor in factors]
    return plan


def _entry(known: Knowledge, factor: float) -> dict[str, Any]:
    """What a multiple of the budget brings in the long run, with the intervals of a week."""
    budget = factor * known.rate
    expected = known.forecaster.expect(budget)
    # The same draws for every budget: their differences are of the budgets alone.
    forecast = known.forecaster.forecast(
        budget,
        _HORIZON,
        generator=np.random.default_rng(_SEED),
        spread=known.spread(_HORIZON),
    )
    return {
        "factor": factor,
        "budget_per_day": expected.budget,
        "polls_per_day": expected.polls_per_day,
        **forecast_document(forecast),
        "marginal_found": expected.marginal_found,
        "marginal_freshness": expected.marginal_freshness,
    }


def draw_plan(path: Path, plan: Mapping[str, Any]) -> None:
    """Draw the curves of a plan into a PNG file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    entries: Sequence[Mapping[str, Any]] = plan["curve"]
    budgets = [entry["budget_per_day"] for entry in entries]
    ticks = [entry["budget_per_day"] for entry in plan["results"]]
    now = ticks[_FACTORS.index(1.0)]
    figure = Figure(figsize=(12.0, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, 3)
    for panel, (key, label) in zip(panels, _PANELS.items(), strict=True):
        low, mean, high = (
            [entry[key][end] for entry in entries] for end in ("low", "mean", "high")
        )
        panel.fill_between(budgets, low, high, alpha=0.25, lw=0, label="80 % of weeks")
        panel.plot(budgets, mean, label="expected")
        panel.axvline(now, color="0.5", lw=1, ls="--", label="the present budget")
        if key == "freshness" and "wanted" in plan:
            wanted = plan["wanted"]
            panel.plot(wanted["budget_per_day"], wanted[key]["mean"], "C3o", label="wanted")
        panel.set(xscale="log", xlabel="budget, cost units a day", ylabel=label)
        panel.set_xticks(ticks, [f"{tick:,.4g}" for tick in ticks])
        panel.minorticks_off()
        panel.tick_params(axis="x", labelrotation=30)
        panel.grid(alpha=0.3)
        panel.legend(fontsize=8)
    figure.suptitle(f"{plan['pages']} pages, objective {plan['objective']}", fontsize=11)
    figure.savefig(path, dpi=120)


_PANELS = {
    "found_per_day": "changes found a day",
    "freshness": "freshness",
    "delay_days": "mean delay, days",
}
