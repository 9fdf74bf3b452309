"""The table of pages: filters, orders, and what is expected of each page."""

import math
import time

import pytest
from tests.unit.insight.a_watch import POLLS, URLS, make_watch

from pollwise.insight.explanation import Explanation, read_explanation
from pollwise.insight.page_list import PageState
from pollwise.insight.page_table import Column, PageTable
from pollwise.insight.snapshot import read_snapshot
from pollwise.store import Store
from pollwise.store.records import NewPage


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "x.db"
    make_watch(path, time.time())
    return path


@pytest.fixture(scope="module")
def table(db) -> PageTable:
    return read_snapshot(db).table


def ids(table: PageTable, **asked) -> list[int]:
    return [row.id for row in table.rows(**asked).results]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, [2, 0, 1, 4, 3]),
        ({"descending": True}, [3, 4, 1, 0, 2]),
        ({"order": Column.changes}, [0, 2, 1, 4, 3]),
        ({"order": Column.rate}, [0, 1, 2, 4, 3]),
        ({"order": Column.rate, "descending": False}, [1, 0, 2, 4, 3]),
        ({"order": Column.weight}, [1, 2, 0, 4, 3]),
        ({"order": Column.failures, "limit": 1}, [2]),
        ({"order": Column.polled, "offset": 2}, [2, 3, 4]),
        ({"order": Column.host, "descending": True}, [4, 3, 2, 0, 1]),
        ({"tag": "x"}, [0, 1]),
        ({"tag": "none"}, []),
        ({"state": PageState.failing}, [2]),
        ({"host": "b.example"}, [4, 3]),
        ({"text": "every DAY"}, [0]),
        ({"text": '"every DAY" '}, [0]),
        ({"text": "paused"}, [3]),
        ({"tag": "x", "text": "never"}, [1]),
    ],
)
def test_filters_and_orders(table, asked, expected):
    assert ids(table, **asked) == expected


def test_every_order_has_every_page_once(table):
    for column in Column:
        for descending in (False, True):
            assert sorted(ids(table, order=column, descending=descending)) == [0, 1, 2, 3, 4]


def test_the_figures_are_those_of_an_explanation(db, table):
    rows = {row.url: row for row in table.rows().results}
    for url in URLS:
        told, row = read_explanation(db, url), rows[url]
        assert isinstance(told, Explanation)
        assert row.expected_per_day == pytest.approx(told.changes_per_day)
        assert row.expected_between == pytest.approx(told.changes_per_day_between)
        assert row.chance == pytest.approx(told.chance, abs=0.01)
        assert row.index == pytest.approx(told.index, rel=0.01)
        assert row.price == told.price
        assert (row.outcome, row.failures, row.error) == (told.outcome, told.failures, told.error)
        if told.next_poll_at is None:
            assert row.next_poll_at is None
        else:
            assert row.next_poll_at == pytest.approx(told.next_poll_at, abs=60.0)


def test_counts(table):
    answer = table.rows(tag="x", limit=1)
    assert (answer.pages, answer.found, answer.offset, len(answer.results)) == (5, 2, 0, 1)
    assert table.tags == {"x": 2, "y": 1}
    assert table.states[PageState.watched] == 2
    assert sum(table.states.values()) == 5
    assert answer.results[0].polls == POLLS


def test_pages_that_were_never_watched(tmp_path):
    db = tmp_path / "new.db"
    with Store.open(db) as store:
        store.add_pages([NewPage(f"http://a.example/{i}", "a.example") for i in (2, 1)], now=1.0)
    table = read_snapshot(db).table
    for column in Column:
        assert ids(table, order=column) == [1, 0]
    [row, _] = table.rows().results
    assert (row.index, row.expected_per_day, row.next_poll_at, row.host) == (
        *(None, None, None),
        "a.example",
    )


def test_a_page_without_a_copy_comes_before_all_others(table):
    [first] = table.rows(order=Column.index, limit=1).results
    assert first.index == math.inf


def test_pages_that_are_not_polled_by_their_index_come_last(table):
    for descending in (True, False):
        rows = table.rows(order=Column.index, descending=descending).results
        states = [row.state for row in rows]
        assert states[3:] == [PageState.failing, PageState.paused], descending
