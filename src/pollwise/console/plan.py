"""What people see of `pollwise plan`."""

import math

from rich.table import Column, Table

from pollwise.console.quantities import (
    between,
    count,
    durations,
    not_known,
    number,
    percent,
    rate,
    unit_of,
)
from pollwise.console.streams import stdout
from pollwise.console.tables import print_figures
from pollwise.insight.capacity import shortfall_words
from pollwise.insight.plan import Plan, PlannedBudget
from pollwise.insight.words import all_paused
from pollwise.texts import plain
from pollwise.units import DAY

__all__ = ["print_plan"]


def print_plan(plan: Plan) -> None:
    """The answer of `pollwise plan`."""
    paused = f" ({plan.paused:,} paused)" if plan.paused else ""
    heading = f"{count(plan.pages, 'page')}{paused}, {plan.budget}, objective {plan.objective}"
    console = stdout()
    if plan.results is None:
        evidence = plan.evidence
        are_all_paused = plan.paused == plan.pages
        why = (
            all_paused(plan.database)
            if are_all_paused
            else not_known(evidence.polls, evidence.needed)
        )
        console.print(f"{heading}: {why}", soft_wrap=True)
        return
    [present] = [budget for budget in plan.results if budget.factor == 1.0]
    poll_unit, polls_in = unit_of(present.polls_per_day)
    found_unit, found_in = unit_of(present.found_per_day.mean)
    headings = (
        f"polls\n{polls_in}",
        f"changes\nfound\n{found_in}",
        "copies\nfresh",
        "changes\nfound after",
        "one more poll\nfinds",
    )
    table = Table(
        "budget",
        *(Column(heading, justify="right") for heading in headings),
        title=heading,
        caption="In brackets: four weeks of five lie between these." + _bounds(plan),
    )
    budgets = {f"× {budget.factor:g}": budget for budget in plan.results}
    if plan.wanted is not None:
        budgets[f"for {plan.wanted_freshness:g}"] = plan.wanted
    for name, budget in budgets.items():
        table.add_row(name, *_cells(budget, poll_unit, found_unit))
    print_figures(console, table)
    if plan.shortfall is not None:
        words = shortfall_words(plan.shortfall, plan.budget, present.budget_per_day)
        console.print(words, soft_wrap=True)
    if plan.wanted is not None:
        text = _budget_text(plan.wanted.budget_per_day)
        console.print(f"A freshness of {plan.wanted_freshness:g} takes `--budget {text}`.")


def _budget_text(per_day: float) -> str:
    """A budget in two digits, not less than so much a day, as `--budget` reads it."""
    size, unit = unit_of(per_day)
    amount = per_day * size / DAY
    step = 10.0 ** (math.floor(math.log10(amount)) - 1)
    return f"{plain(math.ceil(amount / step) * step, 6)}/{unit.split()[1]}"


def _bounds(plan: Plan) -> str:
    """What bounds cost, in words; empty: nobody asked for any, and no page is slowed down."""
    cost, parts = plan.bounds, []
    if cost is None:
        return ""
    if cost.at_least_per_day > 0:
        asked = rate(cost.at_least_per_day)
        parts.append(
            f"At-least bounds take {asked}, {cost.share:.0%} of the budget."
            if cost.share <= 1.0
            else f"At-least bounds need {asked}, more than the budget: not all can be kept."
        )
    if cost.slowed:
        parts.append(
            f"{count(cost.slowed, 'page')} changed whenever polled, so polled once a round at most."
        )
    if parts:
        found = rate(cost.found_per_day_without)
        parts.append(f"Without bounds polls would find {found}.")
    return "".join(f" {part}" for part in parts)


def _cells(budget: PlannedBudget, poll_unit: float, found_unit: float) -> tuple[str, ...]:
    """The figures of a row, in these units of time (seconds), each above its interval."""
    return (
        number(budget.polls_per_day * poll_unit / DAY),
        between(budget.found_per_day * (found_unit / DAY)).replace(" (", "\n("),
        percent(budget.freshness).replace(" (", "\n("),
        durations(budget.delay_days * DAY).replace(" (", "\n("),
        number(budget.marginal_found),
    )
