"""A snapshot: all of a database at once, from which answers are made."""

import math
import time
from dataclasses import replace

import pytest
from tests.unit.insight.a_watch import POLLS, URLS, make_watch

from pollwise.errors import InputError
from pollwise.insight.explanation import explain
from pollwise.insight.forecasts import Interval
from pollwise.insight.knowledge import read_knowledge
from pollwise.insight.plan import between, plan_of, planned
from pollwise.insight.snapshot import read_snapshot
from pollwise.insight.status import status_of
from pollwise.policies.index.fields import code_of_odds, set_tick
from pollwise.policies.index.state import TICK_UNIT
from pollwise.store import Store
from pollwise.store.records import NewPage


@pytest.fixture
def db(tmp_path):
    make_watch(tmp_path / "x.db", time.time())
    return tmp_path / "x.db"


def test_it_stays_as_it_was_while_the_database_changes(db):
    snapshot = read_snapshot(db)
    assert snapshot.latest_change == POLLS - 1
    assert snapshot.known.records is snapshot.records
    assert 0.0 < snapshot.seconds < 60.0
    with Store.open(db) as store:
        store.add_pages([NewPage("http://c.example/")], now=time.time())
        assert status_of(snapshot, store).pages == len(snapshot.records) == len(URLS)
        assert explain(snapshot.known, store, URLS[0]).polls == POLLS
        with pytest.raises(InputError, match="added just now"):
            explain(snapshot.known, store, "http://c.example/")


def test_the_hours_of_a_page_that_changes_by_the_clock_are_told(db):
    known = read_knowledge(db)
    pages = known.policy.state.pages
    with Store.open(db) as store:
        (page,) = store.page_ids(URLS[0])
        assert explain(known, store, URLS[0]).daily_between is None
        pages["dates"][page], pages["clock_odds"][page] = 5, code_of_odds(1.0)
        set_tick(pages[page], 600.0)
        told = explain(known, store, URLS[0]).daily_between
    assert told == pytest.approx((86_400.0 - 1800.0, 600.0), abs=TICK_UNIT)


def test_pages_that_were_never_watched(tmp_path):
    with Store.open(tmp_path / "new.db") as store:
        store.add_pages([NewPage("http://a.example/")], now=1.0)
    snapshot = read_snapshot(tmp_path / "new.db")
    assert (snapshot.known, snapshot.settings, len(snapshot.records)) == (None, None, 1)


def test_any_budget_is_read_off_the_curve(db):
    known = read_knowledge(db)
    plan = plan_of(known, curve=True)
    assert [one.factor for one in plan.results] == [0.25, 0.5, 1.0, 2.0, 4.0]
    assert plan.curve is known.curve
    present = plan.results[2]
    assert planned(known, present.budget_per_day) == present
    # What is left out of the curve is found again between its neighbours.
    missing = known.curve[7]
    found = between([*known.curve[:7], *known.curve[8:]], missing.budget_per_day)
    assert found.factor == pytest.approx(missing.factor)
    assert found.polls_per_day == pytest.approx(missing.polls_per_day, rel=0.03)
    assert found.found_per_day.mean == pytest.approx(missing.found_per_day.mean, rel=0.03)
    assert found.freshness.mean == pytest.approx(missing.freshness.mean, abs=0.02)
    for budget in (0.0, present.budget_per_day * 5, present.budget_per_day / 5):
        with pytest.raises(InputError, match="a quarter to four times"):
            planned(known, budget)


def test_a_point_of_the_curve_is_read_off_as_it_is_beside_an_infinite_one(db):
    known = read_knowledge(db)
    first, *others = known.curve[:3]
    endless = replace(first, delay_days=Interval(math.inf, math.inf, math.inf))
    curve = [endless, *others]
    assert [between(curve, one.budget_per_day) for one in curve] == curve
    assert between(curve, curve[-1].budget_per_day * (1 + 1e-7)) == curve[-1]
    middle = math.sqrt(curve[0].budget_per_day * curve[1].budget_per_day)
    assert between(curve, middle).delay_days.mean == math.inf


def test_nothing_is_foreseen_beyond_what_hosts_take(db):
    """The host a.example asked for nine seconds, b.example is limited to 200 a day."""
    takes = 86_400 / 9 + 200
    with Store.open(db) as store:
        store.change_settings({"budget": "1/second"})
        status = status_of(read_snapshot(db), store)
    assert status.shortfall.polls_per_day == pytest.approx(takes)
    assert [host.host for host in status.shortfall.hosts] == ["b.example", "a.example"]
    plan = plan_of(read_knowledge(db))
    assert plan.shortfall.share == pytest.approx(takes / (4 * 86_400))
    assert [one.polls_per_day for one in plan.results] == pytest.approx([takes] * 5)
    assert [one.marginal_found for one in plan.results] == pytest.approx([0.0] * 5, abs=1e-6)


def test_hosts_that_take_the_budget_are_not_told(db):
    with Store.open_readonly(db) as store:
        assert status_of(read_snapshot(db), store).shortfall is None
    assert plan_of(read_knowledge(db)).shortfall is None
