"""What people see of a plan, on a terminal of 80 columns."""

import math
from dataclasses import replace

import pytest

from pollwise.console.charts.plan import draw_plan
from pollwise.console.plan import print_plan
from pollwise.insight.evidence import Evidence
from pollwise.insight.forecasts import Interval
from pollwise.insight.plan import BoundsCost, Plan, PlannedBudget
from pollwise.scheduler.capacity import Shortfall, SlowHost

NEVER = Interval(math.inf, math.inf, math.inf)


def budget(factor: float, delay: Interval) -> PlannedBudget:
    return PlannedBudget(
        factor=factor,
        budget_per_day=12_000.0 * factor,
        polls_per_day=12_000.0 * factor,
        found_per_day=Interval(4_000.0, 3_500.0, 4_500.0),
        freshness=Interval(0.789, 0.654, 0.901),
        delay_days=delay,
        marginal_found=0.123,
        marginal_freshness=1e-6,
    )


PLAN = Plan(
    database="x.db",
    budget="500/hour",
    objective="detection",
    pages=12_345,
    paused=0,
    polls=100_000,
    horizon_days=7.0,
    bounds=None,
    shortfall=None,
    evidence=Evidence(90_000, 12_345),
    results=(budget(0.25, NEVER), budget(1.0, Interval(0.1, 0.05, 0.2))),
)


def test_a_plan_fits_a_terminal_and_no_number_is_cut(terminal):
    with terminal.in_use():
        print_plan(PLAN)
    assert max(map(len, terminal.plain.splitlines())) <= 80
    assert "…" not in terminal.plain
    shown = [
        " ".join(line.replace("│", " ").replace("┃", " ").split())
        for line in terminal.plain.splitlines()
    ]
    assert "polls found copies changes one more poll" in shown
    assert "budget a minute a minute fresh found after finds" in shown
    assert "× 0.25 2.1 2.8 79 % never 0.12" in shown
    assert "× 1 8.3 2.8 79 % 2.4 hours 0.12" in shown
    assert "(2.4–3.1) (65–90) (1.2–4.8)" in shown


def test_the_budget_that_is_wanted_is_told_as_the_option_takes_it(terminal):
    with terminal.in_use():
        print_plan(replace(PLAN, wanted_freshness=0.9, wanted=budget(0.337, NEVER)))
    *_, last = terminal.plain.splitlines()
    assert last == "A freshness of 0.9 takes `--budget 2.9/minute`."
    assert "for 0.9" in terminal.plain


def test_a_plan_says_what_hosts_take(terminal):
    slow = SlowHost("a.example", 9, 12_000.0, pause=7.2, answers_in=0.0)
    short = Shortfall(48_000.0, 12_000.0, 12_000.0, 0.25, slow=1, hosts=(slow,))
    with terminal.in_use():
        print_plan(replace(PLAN, shortfall=short))
    assert "a.example can take 500 polls an hour (a pause of 7.2 s); a budget above that" in (
        " ".join(terminal.plain.split())
    )


def test_of_a_few_polls_nothing_is_planned(terminal):
    with terminal.in_use():
        print_plan(replace(PLAN, pages=1, evidence=Evidence(3, 40), results=None))
    assert " ".join(terminal.plain.split()) == (
        "1 page, 500/hour, objective detection: not known yet (3 polls that told something; about"
        " 40 needed)"
    )


def test_a_plan_says_how_many_of_its_pages_are_paused(terminal):
    with terminal.in_use():
        print_plan(replace(PLAN, paused=2_345))
    assert "12,345 pages (2,345 paused), 500/hour" in " ".join(terminal.plain.split())


def test_of_pages_that_are_all_paused_nothing_is_planned(terminal):
    with terminal.in_use():
        print_plan(replace(PLAN, pages=2, paused=2, evidence=Evidence(0, 40), results=None))
    assert " ".join(terminal.plain.split()) == (
        "2 pages (2 paused), 500/hour, objective detection: all pages are paused: `pollwise resume"
        " URL --db x.db` lets them be polled again"
    )


@pytest.mark.parametrize("columns", [40, 60, 70])
def test_in_a_narrow_terminal_columns_are_left_out_and_no_number_is_cut(
    terminal, monkeypatch, columns
):
    monkeypatch.setenv("COLUMNS", str(columns))
    with terminal.in_use():
        print_plan(PLAN)
    table, _, note = terminal.plain.partition("left out, as the terminal has")
    assert "…" not in table
    assert max(map(len, table.splitlines())) <= columns
    assert "(2.4–3.1)" in table
    assert ("one more poll finds" in note) is (columns < 70)


def test_a_drawn_plan_is_in_the_units_of_the_table(monkeypatch, tmp_path):
    figure = pytest.importorskip("matplotlib.figure").Figure
    said = []

    def note(self, path, **_):
        said.extend(panel.get_ylabel() for panel in self.axes)
        said.append(self.axes[0].get_xlabel())
        said.extend(tick.get_text() for tick in self.axes[0].get_xticklabels())

    monkeypatch.setattr(figure, "savefig", note)
    draw_plan(tmp_path / "x.png", PLAN)
    assert said == [
        *("changes found a minute", "freshness", "mean delay, hours"),
        *("budget, cost units a minute", "2.083", "8.333"),
    ]


def test_bounds_that_need_more_than_the_budget_are_not_said_to_take_it(terminal):
    cost = BoundsCost(600_000.0, share=50.0, slowed=0, found_per_day_without=4_000.0)
    with terminal.in_use():
        print_plan(replace(PLAN, bounds=cost))
    told = " ".join(terminal.plain.split())
    assert "At-least bounds need 6.9 a second, more than the budget: not all can be kept." in told
