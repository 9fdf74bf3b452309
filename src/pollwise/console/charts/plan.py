"""Draws what other budgets would bring."""

from pathlib import Path

from pollwise.insight.plan import Plan

__all__ = ["draw_plan"]

_PANELS = {
    "found_per_day": "changes found a day",
    "freshness": "freshness",
    "delay_days": "mean delay, days",
}


def draw_plan(path: Path, plan: Plan) -> None:
    """Draw a plan into a PNG file, with its curve if it has one."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    assert plan.results is not None  # or no curve would have been given
    curve = plan.curve or plan.results
    budgets = [budget.budget_per_day for budget in curve]
    ticks = [budget.budget_per_day for budget in plan.results]
    [now] = [budget.budget_per_day for budget in plan.results if budget.factor == 1.0]
    figure = Figure(figsize=(12.0, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, 3)
    for panel, (key, label) in zip(panels, _PANELS.items(), strict=True):
        figures = [getattr(budget, key) for budget in curve]
        low, high = [f.low for f in figures], [f.high for f in figures]
        panel.fill_between(budgets, low, high, alpha=0.25, lw=0, label="80 % of weeks")
        panel.plot(budgets, [f.mean for f in figures], label="expected")
        panel.axvline(now, color="0.5", lw=1, ls="--", label="the present budget")
        if key == "freshness" and plan.wanted is not None:
            wanted = plan.wanted
            panel.plot(wanted.budget_per_day, wanted.freshness.mean, "C3o", label="wanted")
        panel.set(xscale="log", xlabel="budget, cost units a day", ylabel=label)
        panel.set_xticks(ticks, [f"{tick:,.4g}" for tick in ticks])
        panel.minorticks_off()
        panel.tick_params(axis="x", labelrotation=30)
        panel.grid(alpha=0.3)
        panel.legend(fontsize=8)
    figure.suptitle(f"{plan.pages} pages, objective {plan.objective}", fontsize=11)
    figure.savefig(path, dpi=120)
