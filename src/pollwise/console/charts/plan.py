"""Draws what other budgets would bring."""

from pathlib import Path

from pollwise.console.quantities import unit_of
from pollwise.experiments.figure_files import save
from pollwise.insight.plan import Plan, PlannedBudget
from pollwise.texts import plain
from pollwise.units import DAY, HOUR, MINUTE

__all__ = ["draw_plan"]

_DELAYS = {"days": DAY, "hours": HOUR, "minutes": MINUTE}
"""Units in which a delay is told that has at least one of them; seconds if it has not."""


def draw_plan(path: Path, plan: Plan) -> None:
    """Draw a plan into a PNG file, with its curve if it has one."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    assert plan.results is not None  # or no curve would have been given
    curve = plan.curve or plan.results
    budgets = [budget.budget_per_day for budget in curve]
    ticks = [budget.budget_per_day for budget in plan.results]
    [present] = [budget for budget in plan.results if budget.factor == 1.0]
    unit, name = unit_of(present.budget_per_day)
    figure = Figure(figsize=(12.0, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, 3)
    for panel, (key, (label, scale)) in zip(panels, _panels(present).items(), strict=True):
        figures = [getattr(budget, key) * scale for budget in curve]
        low, high = [f.low for f in figures], [f.high for f in figures]
        panel.fill_between(budgets, low, high, alpha=0.25, lw=0, label="80 % of weeks")
        panel.plot(budgets, [f.mean for f in figures], label="expected")
        panel.axvline(
            present.budget_per_day, color="0.5", lw=1, ls="--", label="the present budget"
        )
        if key == "freshness" and plan.wanted is not None:
            wanted = plan.wanted
            panel.plot(wanted.budget_per_day, wanted.freshness.mean, "C3o", label="wanted")
        panel.set(xscale="log", xlabel=f"budget, cost units {name}", ylabel=label)
        panel.set_xticks(ticks, [plain(tick * unit / DAY, 4) for tick in ticks])
        panel.minorticks_off()
        panel.tick_params(axis="x", labelrotation=30)
        panel.grid(alpha=0.3)
        panel.legend(fontsize=8)
    figure.suptitle(f"{plan.pages} pages, objective {plan.objective}", fontsize=11)
    save(figure, path)


def _panels(present: PlannedBudget) -> dict[str, tuple[str, float]]:
    """What each panel is called, and by what its figures are multiplied, by the figures' names."""
    unit, name = unit_of(present.found_per_day.mean)
    seconds = present.delay_days.mean * DAY
    delays = ((name, size) for name, size in _DELAYS.items() if seconds >= size)
    delay, size = next(delays, ("seconds", 1.0))
    return {
        "found_per_day": (f"changes found {name}", unit / DAY),
        "freshness": ("freshness", 1.0),
        "delay_days": (f"mean delay, {delay}", DAY / size),
    }
