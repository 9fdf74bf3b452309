"""What a watch really brought: changes found, and freshness as far as polls tell."""

import time

import pytest
from tests.unit.insight.a_watch import POLLS, make_watch

from pollwise.insight.knowledge import read_knowledge
from pollwise.insight.measured import measured_of
from pollwise.store import Store
from pollwise.store.records import NewPage


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    path = tmp_path_factory.mktemp("measured") / "x.db"
    make_watch(path, time.time())
    return path


def test_a_week(db):
    known = read_knowledge(db)
    with Store.open_readonly(db) as store:
        week = measured_of(known, store, 7.0)
    assert week.days == pytest.approx(7.0)
    # One page changed at each of its seven polls, another one never.
    assert (week.found, week.polls, week.changed) == (7, 14, 7)
    assert week.found_per_day == pytest.approx(1.0)
    assert 3.0 < week.expected < 9.0
    # Of both, the half day since the latest poll is not covered. Of the page of weight 1 that
    # changed, half of the time was fresh but for the half day that begins within a gap, of which
    # the second half is left.
    assert week.covered == pytest.approx(6.5 / 7.0, abs=1e-3)
    assert week.freshness.least == pytest.approx(0.75, abs=1e-3)
    fresh = (3 * 6.5 + 6 * 0.5 + 0.5 * 0.25) / (4 * 6.5)
    assert week.freshness.middle == pytest.approx(fresh, abs=1e-3)


def test_a_time_of_which_polls_tell_too_little(db):
    known = read_knowledge(db)
    with Store.open_readonly(db) as store:
        hours = measured_of(known, store, 0.75)
        ever = measured_of(known, store, 1000.0)
    assert (hours.freshness, hours.covered) == (None, pytest.approx(1 / 3, abs=1e-3))
    assert ever.days == pytest.approx(POLLS - 0.5, abs=0.01)
    assert ever.found == POLLS - 1
    assert ever.found_per_day == pytest.approx(40 / 40.5, abs=1e-3)


def test_without_a_copy_there_is_nothing_to_measure(tmp_path):
    db = tmp_path / "new.db"
    with Store.open(db) as store:
        store.add_pages([NewPage("http://a.example/")], now=1.0)
        store.start_run(1.0, {"budget": "1/hour"}, None)
    known = read_knowledge(db)
    with Store.open_readonly(db) as store:
        assert measured_of(known, store, 7.0) is None
