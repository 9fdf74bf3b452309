"""What people see of `pollwise plan`."""

from rich.table import Column, Table

from pollwise.console.streams import stdout
from pollwise.console.tables import count, interval
from pollwise.insight.forecasts import Interval
from pollwise.insight.plan import Plan

__all__ = ["print_plan"]

_COLUMNS = (
    "polls\na day",
    "found\na day",
    "freshness",
    "delay,\ndays",
    "one more\nfinds",
    "and adds\nfreshness",
)


def print_plan(plan: Plan) -> None:
    """The answer of `pollwise plan`."""
    table = Table(
        "budget",
        *(Column(heading, justify="right") for heading in _COLUMNS),
        title=f"{plan.pages:,} pages, {plan.budget}, objective {plan.objective}",
        caption="In brackets: four weeks of five lie between these. One more cost unit a day finds"
        " so many more changes a day, and adds so much freshness. As if all hosts could keep up."
        + _bounds(plan),
    )
    budgets = {f"× {budget.factor:g}": budget for budget in plan.results}
    if plan.wanted is not None:
        budgets[f"for {plan.wanted_freshness:g}"] = plan.wanted
    for name, budget in budgets.items():
        table.add_row(
            name,
            f"{budget.polls_per_day:,.4g}",
            _below(budget.found_per_day, ".3g"),
            _below(budget.freshness, ".3f"),
            _below(budget.delay_days, ".3g"),
            f"{budget.marginal_found:.3g}",
            f"{budget.marginal_freshness:.2g}",
        )
    stdout().print(table)


def _bounds(plan: Plan) -> str:
    """What bounds cost, in words; empty: nobody asked for any, and no page is slowed down."""
    cost, parts = plan.bounds, []
    if cost.at_least_per_day > 0:
        parts.append(
            f"At-least bounds take {cost.at_least_per_day:,.4g} a day, {cost.share:.0%} of the"
            " budget."
        )
    if cost.slowed:
        parts.append(
            f"{count(cost.slowed, 'page')} changed whenever polled, so polled once a round at most."
        )
    if parts:
        parts.append(f"Without bounds polls would find {cost.found_per_day_without:.3g} a day.")
    return "".join(f" {part}" for part in parts)


def _below(figure: Interval, form: str) -> str:
    """A figure above its interval."""
    return interval(figure, form).replace(" (", "\n(")
