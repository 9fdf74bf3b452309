"""Polls that are written together, against the same polls written one by one."""

import sqlite3
from contextlib import closing
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.store.some_polls import NOW, PAGES, results

from pollwise.store import Store
from pollwise.store.records import Batch, NewPage, PollResult
from pollwise.store.sqlite.queries import SQL
from pollwise.store.tables import polls

TOGETHER = (
    "take_out_told_polls",
    "update_unchanged_pages",
    "insert_unchanged_polls",
    "prune_polls_of_pages",
    "unsettled",
    "save_learned_pages",
)


def rows_after(path: Path, batches: list[tuple[PollResult, ...]]) -> list[list[tuple[object, ...]]]:
    """All rows that tell of polls, once these are written."""
    with Store.open(path) as store:
        store.add_pages([NewPage(f"https://{n}.example/") for n in range(PAGES)], now=NOW - 1.0)
        for batch in batches:
            store.commit(Batch(polls=batch))
    with closing(sqlite3.connect(path)) as connection:
        tables = {
            "pages": "id",
            "polls": "page_id, polled_at",
            "changes": "seq",
            "versions": "page_id, seen_at",
        }
        return [
            connection.execute(f"SELECT * FROM {table} ORDER BY {order}").fetchall()
            for table, order in tables.items()
        ]


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(results(), max_size=6).map(tuple), max_size=4))
def test_polls_written_together_leave_the_same_rows(
    tmp_path_factory: pytest.TempPathFactory, batches: list[tuple[PollResult, ...]]
) -> None:
    folder = tmp_path_factory.mktemp("polls")
    together = rows_after(folder / "together.db", batches)
    with mock.patch.object(polls, "_is_plain", return_value=False):
        assert together == rows_after(folder / "alone.db", batches)


def test_pages_are_found_by_their_ids(tmp_path: Path) -> None:
    Store.open(tmp_path / "pollwise.db").close()
    with closing(sqlite3.connect(tmp_path / "pollwise.db")) as connection:
        connection.execute(SQL["make_told_polls"])
        values = {"page_ids": "[]", "kept": 1, "size": 1, "layout": "", "data": b""}
        for name in TOGETHER:
            plan = connection.execute(f"EXPLAIN QUERY PLAN {SQL[name]}", values).fetchall()
            told = " ".join(step[3] for step in plan)
            assert "SCAN pages" not in told
            assert "SCAN polls" not in told
