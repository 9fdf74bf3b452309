"""A database of an earlier version is kept as it was when it is converted."""

import os
import shutil
import sqlite3
from collections import namedtuple
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import pytest

from pollwise.errors import StoreError
from pollwise.live.opening import opened
from pollwise.store import Store
from pollwise.store.records import Batch, ChangeKind, PollResult
from pollwise.store.sqlite import file_format
from pollwise.store.sqlite.creation import lock_for_writing
from pollwise.store.sqlite.queries import migrations
from pollwise.types import NumberTold, Observation, Outcome, PageMemory
from pollwise.version import __version__

from .one_line import assert_one_line

_OLDER = 8
_PLACE = f"pollwise.before-{'.'.join(__version__.split('.')[:2])}"
_Usage = namedtuple("_Usage", "total used free")


@pytest.fixture
def older(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A database as the version before wrote it, with a page and a change."""
    path = tmp_path / "pollwise.db"
    with monkeypatch.context() as patch:
        patch.setattr(file_format, "migrations", lambda: migrations()[:_OLDER])
        lock_for_writing(path).release()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "INSERT INTO pages (id, url, scope, weight, cost, added_at)"
            " VALUES (0, 'https://a.example/', '', 1, 1, 0)"
        )
        connection.execute(
            "INSERT INTO changes (page_id, seen_at, before_at, reverted) VALUES (0, 2, 1, 0)"
        )
    return path


def format_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        number: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return number


def test_it_is_kept_beside_the_converted_one_and_people_hear_of_it(older: Path) -> None:
    told: list[str] = []
    with opened(older, told.append) as store:
        assert [record.page.url for record in store.pages()] == ["https://a.example/"]
    copy = older.with_name(f"{_PLACE}.db")
    [line] = told
    assert str(copy) in line
    assert "\n" not in line
    assert (format_of(older), format_of(copy)) == (len(migrations()), _OLDER)
    with closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("SELECT url FROM pages").fetchall() == [("https://a.example/",)]
    opened(older, told.append).close()
    assert len(told) == 1


def test_changes_of_before_are_changes_of_content(older: Path) -> None:
    with Store.open(older) as store:
        [change] = store.changes()
    assert (change.kind, change.status) == (ChangeKind.CHANGED, None)


def test_nothing_was_told_of_numbers_before(older: Path) -> None:
    with Store.open(older) as store:
        told = NumberTold(Decimal(20), Decimal("19.5"))
        seen = Observation(0, 3.0, Outcome.CHANGED)
        assert store.pages()[0].memory.told_number is None
        store.commit(Batch(polls=(PollResult(seen, PageMemory(told_number=told)),)))
    with Store.open(older) as store:
        assert store.pages()[0].memory.told_number == told


def test_another_copy_is_not_replaced(older: Path) -> None:
    first = older.with_name(f"{_PLACE}.db")
    first.write_text("mine")
    Store.open(older).close()
    assert first.read_text() == "mine"
    assert format_of(older.with_name(f"{_PLACE}-2.db")) == _OLDER


def test_without_room_for_the_copy_it_is_not_converted(
    older: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda place: _Usage(10**9, 10**9 - 1000, 1000))
    with pytest.raises(StoreError) as caught:
        Store.open(older)
    assert_one_line(caught.value, older, "of an earlier version", "0.0 MB left", "free some space")
    assert format_of(older) == _OLDER
    assert os.listdir(older.parent) == ["pollwise.db"]


def test_what_a_killed_conversion_left_is_no_lack_of_room(
    older: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = older.with_name(".pollwise-copy-of-before")
    left.write_bytes(b"half")

    def usage(place: Path) -> _Usage:
        return _Usage(10**9, 0, 0 if left.exists() else 10**9)

    monkeypatch.setattr(shutil, "disk_usage", usage)
    Store.open(older).close()
    assert sorted(os.listdir(older.parent)) == [f"{_PLACE}.db", "pollwise.db"]


def test_a_new_one_needs_no_copy(tmp_path: Path) -> None:
    Store.open(tmp_path / "pollwise.db").close()
    Store.open(tmp_path / "pollwise.db").close()
    assert os.listdir(tmp_path) == ["pollwise.db"]
