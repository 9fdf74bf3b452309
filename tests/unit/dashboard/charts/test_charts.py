"""The charts: XML that parses, says what it shows, and shows what there is."""

from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from markupsafe import Markup

from pollwise.dashboard.charts.budget_curve import found_curve, freshness_curve
from pollwise.dashboard.charts.daily_bars import Day, daily_bars
from pollwise.dashboard.charts.time_line import time_line
from pollwise.insight.evidence import Evidence
from pollwise.insight.forecasts import Interval
from pollwise.insight.plan import Plan, PlannedBudget, between
from pollwise.insight.timeline import TimedChange, TimedPoll, TimedVersion, TimeLine
from pollwise.store.records import ChangeKind
from pollwise.types import Outcome

NOW = 1_700_000_000.0


def budget(factor: float) -> PlannedBudget:
    found = 50.0 * factor**0.5
    fresh = factor / (1.0 + factor)
    return PlannedBudget(
        factor=factor,
        budget_per_day=1440.0 * factor,
        polls_per_day=1440.0 * factor,
        found_per_day=Interval(found, 0.8 * found, 1.2 * found),
        freshness=Interval(fresh, fresh - 0.1, min(fresh + 0.1, 1.0)),
        delay_days=Interval(1.0, 0.5, 2.0) / factor,
        marginal_found=0.02,
        marginal_freshness=0.001,
    )


CURVE = tuple(budget(float(factor)) for factor in np.geomspace(0.25, 4.0, 13))
PLAN = Plan(
    database="x.db",
    budget="60/hour",
    objective="freshness",
    pages=10,
    paused=0,
    polls=100,
    horizon_days=7.0,
    bounds=None,
    shortfall=None,
    evidence=Evidence(100, 40),
    results=tuple(budget(factor) for factor in (0.25, 0.5, 1.0, 2.0, 4.0)),
    wanted_freshness=None,
    wanted=None,
    curve=CURVE,
)


def texts(chart: Markup) -> list[str]:
    return [one.text or "" for one in ET.fromstring(chart).iter("text")]


def test_a_curve_names_what_it_shows_and_where_one_stands():
    drawn = found_curve(PLAN)
    assert "changes found a day" in texts(drawn)
    assert "now 50" in texts(drawn)
    assert texts(drawn)[-7:-2] == ["15", "30", "60/hour", "120", "240"]
    description = ET.fromstring(drawn).findtext("desc")
    assert description == ("From 25 with 15/hour to 100 with 240/hour; now 50 with 60/hour.")


def test_the_budgets_are_in_the_unit_in_which_theirs_was_set():
    drawn = found_curve(replace(PLAN, budget="144/day/page"))
    assert texts(drawn)[-7:-2] == ["36", "72", "144/day/page", "290", "580"]
    description = ET.fromstring(drawn).findtext("desc")
    assert description is not None
    assert description.startswith("From 25 with 36/day/page to 100 with 580/day/page;")


def test_few_changes_are_told_in_a_longer_unit_of_time():
    curve = tuple(replace(one, found_per_day=one.found_per_day / 1e4) for one in CURVE)
    drawn = found_curve(replace(PLAN, curve=curve, results=curve[::3]))
    assert "changes found a year" in texts(drawn)
    assert "now 1.8" in texts(drawn)


def test_another_budget_is_marked_beside_the_present_one():
    drawn = freshness_curve(PLAN, between(CURVE, 4000.0))
    assert [text for text in texts(drawn) if text.startswith(("now", "then"))] == [
        "now 50 %",
        "then 73 %",
    ]


def test_labels_do_not_overlap_when_the_two_are_close():
    drawn = found_curve(PLAN, between(CURVE, 1500.0))
    assert [text.split()[0] for text in texts(drawn) if text.startswith(("now", "then"))] == [
        "then"
    ]


def test_everything_drawn_stands_within_the_chart():
    root = ET.fromstring(found_curve(PLAN, CURVE[-1]))
    for one in root.iter():
        for name in ("x", "x1", "x2", "cx"):
            assert 0 <= float(one.get(name, 0)) <= float(root.get("width", 0))
        for name in ("y", "y1", "y2", "cy"):
            assert 0 <= float(one.get(name, 0)) <= float(root.get("height", 0))


def test_long_labels_beside_an_axis_have_room():
    curve = tuple(replace(one, found_per_day=one.found_per_day * 1e5) for one in CURVE)
    days = [Day(NOW - 86_400.0, 9_876_543), Day(NOW, 1)]
    for drawn, longest in (
        (found_curve(replace(PLAN, curve=curve, results=curve[::3])), "15,000,000"),
        (daily_bars(days, None), "10,000,000"),
    ):
        [label] = [one for one in ET.fromstring(drawn).iter("text") if one.text == longest]
        assert label.get("text-anchor") == "end"
        assert float(label.get("x", 0)) > 8 * len(longest)


LINE = TimeLine(
    url="http://a.example/",
    added_at=NOW - 4000.0,
    first_seen_at=NOW - 3600.0,
    begin=NOW - 3600.0,
    end=NOW - 60.0,
    polls=(
        TimedPoll(NOW - 3600.0, Outcome.CHANGED, False, True),
        TimedPoll(NOW - 1800.0, Outcome.UNCHANGED, False, False),
        TimedPoll(NOW - 900.0, Outcome.FAILED, False, False),
        TimedPoll(NOW - 60.0, Outcome.CHANGED, False, False),
    ),
    changes=(TimedChange(1, NOW - 60.0, NOW - 1800.0, False, 2),),
    left_out=0,
    versions=(TimedVersion(1, NOW - 3600.0, 100), TimedVersion(2, NOW - 60.0, 120)),
)


def test_a_time_line_has_a_mark_for_each_poll_change_and_version():
    root = ET.fromstring(time_line(LINE, NOW))
    kinds = [one.get("class") for one in root.iter()]
    assert [kinds.count(kind) for kind in ("changed", "unchanged", "failed")] == [2, 1, 1]
    assert [kinds.count(kind) for kind in ("span", "version")] == [1, 2]
    assert root.findtext("desc") == (
        "4 polls, 1 of them without a copy, 1 change and 2 versions, since 60 minutes ago."
    )


def test_that_a_page_was_gone_is_drawn_as_a_poll_and_not_as_a_change():
    gone = TimedChange(2, NOW - 30.0, NOW - 60.0, False, None, ChangeKind.GONE)
    poll = TimedPoll(NOW - 30.0, Outcome.GONE, False, False)
    line = replace(LINE, polls=(*LINE.polls, poll), changes=(*LINE.changes, gone))
    root = ET.fromstring(time_line(line, NOW))
    kinds = [one.get("class") for one in root.iter()]
    assert [kinds.count(kind) for kind in ("failed", "span")] == [2, 1]
    assert "2 of them without a copy, 1 change and" in root.findtext("desc", "")


def test_a_change_is_as_long_as_the_time_in_which_it_happened():
    root = ET.fromstring(time_line(LINE, NOW))
    [span] = [one for one in root.iter("rect") if one.get("class") == "span"]
    whole = 900 - 76 - 14
    assert abs(float(span.get("width", 0)) - whole * 1740 / 3600) < 0.2


@pytest.mark.parametrize("begin", [NOW - 3600.0, NOW - 60.0])
def test_where_nothing_happened_for_long_the_end_alone_shows_what_was_last(begin):
    later = NOW + 1e7
    drawn = ET.fromstring(time_line(replace(LINE, begin=begin, polls=LINE.polls[-1:]), later))
    [*_, poll] = [one for one in drawn.iter("circle") if one.get("class") == "changed"]
    assert 900 * 0.6 < float(poll.get("cx", 0)) < 900 * 0.85


@pytest.mark.parametrize("days", [0.01, 0.3, 3.0, 900.0])
def test_a_time_at_the_end_of_the_line_is_said_within_the_picture(days):
    midnight = NOW - NOW % 86_400.0
    line = replace(LINE, begin=midnight - days * 86_400.0, end=midnight)
    times = list(ET.fromstring(time_line(line, midnight)).iter("text"))[3:]
    for text in times:
        half = 8.5 * len(text.text or "") / 2
        assert half <= float(text.get("x", 0)) <= 900 - half


def test_of_a_page_without_polls_there_is_no_chart():
    empty = replace(LINE, begin=None, end=None, polls=(), changes=(), versions=())
    assert time_line(empty, NOW) == ""


def test_one_poll_just_now_can_be_drawn():
    one = replace(LINE, begin=NOW, end=NOW, polls=LINE.polls[:1], changes=(), versions=())
    ET.fromstring(time_line(one, NOW))


def test_bars_are_as_high_as_what_was_found_and_tell_what_is_expected():
    days = [
        Day(NOW - NOW % 86_400.0 - n * 86_400.0, found) for n, found in ((2, 0), (1, 10), (0, 5))
    ]
    root = ET.fromstring(daily_bars(days, Interval(8.0, 6.0, 10.0)))
    heights = [
        float(one.get("height", 0)) for one in root.iter("rect") if "bar" in one.get("class", "")
    ]
    assert heights[0] == 0.0
    assert heights[1] == 2 * heights[2]
    assert root.findtext("desc") == ("15 changes in 3 days, 10 at most. Expected of a day: 8.")
    assert [one.text for one in root.iter("text")][-3:] == [
        "12 Nov",
        "today",
        "changes found each day (UTC)",
    ]


def test_a_first_day_alone_can_be_drawn():
    root = ET.fromstring(daily_bars([Day(NOW, 0)], None))
    assert "today" in [one.text for one in root.iter("text")]
