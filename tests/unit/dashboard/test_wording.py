"""How figures are said in pages, and that nothing of strangers gets through as markup."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from pollwise.console.quantities import number
from pollwise.dashboard.wording import (
    ago,
    bare,
    budget_text,
    interval,
    of_price,
    outcome,
    outward,
    per_time,
    share,
    shares,
    when,
)
from pollwise.insight.forecasts import Interval
from pollwise.scheduler.budgets import parse_budget
from pollwise.texts import plain
from pollwise.types import Outcome

NOW = 1_700_000_000.0
"""2023-11-14 22:13:20 UTC."""


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.4, "just now"),
        (-0.4, "now"),
        (45.0, "45 s ago"),
        (119.9, "119 s ago"),
        (240.0, "4 minutes ago"),
        (7200.0, "2 hours ago"),
        (3 * 86_400.0, "3 days ago"),
        (-300.0, "in 5 minutes"),
        (30 * 86_400.0, "15 Oct"),
        (400 * 86_400.0, "10 Oct 2022"),
    ],
)
def test_times_are_said_by_their_distance_from_now_and_far_ones_by_the_day(seconds, said):
    assert ago(NOW - seconds, NOW) == said


def test_a_time_tells_programs_and_the_curious_all_of_it():
    assert when(NOW - 240.4, NOW) == (
        '<time datetime="2023-11-14T22:09:19Z" title="2023-11-14 22:09:19 UTC">4 minutes ago</time>'
    )


@pytest.mark.parametrize("seconds", [None, math.inf, math.nan, 1e15])
def test_what_is_no_time_is_said_in_words_which_are_escaped(seconds):
    assert when(seconds, NOW, never="<none>") == Markup("&lt;none&gt;")


def test_rates_have_their_unit_once_and_their_interval():
    assert per_time(48.0, (24.0, 96.0)) == "2 (1 to 4) an hour"
    assert per_time(0.0, (0.0, 0.0)) == "hardly ever"
    assert per_time(1.0, (0.001, 3.0)) == "every 2.7 years to 3 a day"


def test_forecast_figures_say_their_interval_more_quietly():
    told = Interval(426_764.0, 357_297.0, 491_755.0)
    assert interval(told) == '427,000 <span class="between">(357,000 to 492,000)</span>'
    assert interval(Interval(1.0, 0.5, math.inf), 0.5) == (
        '2 <span class="between">(1 to ∞)</span>'
    )
    assert shares(Interval(0.5, 0.25, 1.0)) == '50 % <span class="between">(25 to 100)</span>'


def test_small_shares_have_a_digit_more():
    told = [share(part) for part in (0.0004, 0.04, 0.4, 1.0)]
    assert told == ["less than 0.1 %", "4.0 %", "40 %", "100 %"]


@given(
    st.floats(1e-6, 1e12), st.sampled_from(["60/hour", "1/day/page", " 2/week", "9/second/page"])
)
def test_a_budget_can_be_read_again_and_is_nearly_the_same(per_day, like):
    said = budget_text(per_day, like, 1200)
    assert "e" not in said.partition("/")[0]
    assert said.partition("/")[2] == like.partition("/")[2]
    read = parse_budget(said).total(1200) * 86_400.0
    assert read == pytest.approx(per_day, rel=0.051)


@given(st.floats(0.0, allow_nan=False, allow_infinity=False))
def test_figures_have_no_powers_of_ten(told):
    for said in (of_price(told, 1.0), number(told), share(told), plain(told)):
        assert not re.search(r"[0-9]e[-+]?[0-9]", said)


def test_outcomes_are_told_as_people_know_them():
    assert outcome(None) == "not polled yet"
    assert outcome(Outcome.CHANGED, first_copy=True) == "first copy"
    assert outcome(Outcome.UNCHANGED, first_copy=True) == "unchanged"
    assert outcome(Outcome.CHANGED, reverted=True) == "changed back"
    assert outcome(Outcome.FAILED) == "failed"


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "data:text/html,x", "//evil", "", "http://[", " file:///etc"]
)
def test_only_addresses_of_the_web_become_links(url):
    assert outward(url) == ""
    assert outward("HTTPS://a.example/x") == "HTTPS://a.example/x"


def test_urls_are_read_without_what_all_begin_with():
    assert bare("https://a.example/x\u0000\n") == "a.example/x"
