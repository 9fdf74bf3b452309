"""Times of a clock that was ahead hold up nothing: they are set back when a run begins."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.store import Store
from pollwise.store.records import ClockSetBack, NewPage
from pollwise.store.tables.times import _moves

NOW = 1.7e9
MONTH = 30 * 86_400.0
PAGES = [NewPage("https://a.example/"), NewPage("https://b.example/")]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "pollwise.db") as store:
        yield store


def test_the_time_of_a_removal_is_set_back_too(store: Store) -> None:
    store.add_pages(PAGES, now=0.0)
    store.remove_pages([0], now=NOW + MONTH)
    store.remove_pages([0, 7], now=NOW + 2 * MONTH)  # which are removed or unknown
    assert store.set_back_times(NOW) == ClockSetBack(NOW, MONTH, polls=0)
    with closing(sqlite3.connect(store.path)) as connection:
        removed_at = connection.execute("SELECT removed_at FROM pages").fetchall()
    assert removed_at == [(NOW,), (None,)]
    assert store.set_back_times(NOW) is None


@given(st.sets(st.floats(-1e3, 1e10) | st.floats(NOW - 0.01, NOW + 0.01), max_size=60))
def test_moved_times_are_before_now_distinct_and_in_order(times: set[float]) -> None:
    moves = _moves(times, NOW)
    moved = dict(moves)
    after = [moved.get(time, time) for time in sorted(times)]
    assert after == sorted(set(after))
    if any(time > NOW for time in times):
        assert all(time < NOW for time in after)
    else:
        assert not moves
    assert [before for before, _ in moves] == sorted(moved)
    assert all(new < old for old, new in moves)
