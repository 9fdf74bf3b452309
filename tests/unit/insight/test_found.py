"""The changes of the latest days, counted."""

import time

import pytest
from tests.unit.insight.a_watch import DAY, POLLS, make_watch

from pollwise.insight.found import found_of
from pollwise.store import Store
from pollwise.store.records import NewPage


def test_changes_of_the_latest_days(tmp_path):
    now = time.time()
    make_watch(tmp_path / "x.db", now)
    with Store.open_readonly(tmp_path / "x.db") as store:
        week = found_of(store.pages(), store, until=now, days=7.0)
        ever = found_of(store.pages(), store, until=now, days=1000.0)
        before = found_of(store.pages(), store, until=now - 1000 * DAY, days=7.0)
    assert (week.number, week.seconds) == (7, 7 * DAY)
    assert (ever.number, ever.seconds) == (POLLS - 1, pytest.approx((POLLS - 0.5) * DAY))
    assert before is None


def test_without_a_copy_there_is_no_time_to_count_in(tmp_path):
    with Store.open(tmp_path / "new.db") as store:
        store.add_pages([NewPage("http://a.example/")], now=1.0)
        assert found_of(store.pages(), store, until=2.0, days=1.0) is None
