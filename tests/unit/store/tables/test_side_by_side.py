"""Pages that several processes read are those that one would read."""

import os
import signal
import sqlite3
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pollwise
from pollwise.errors import StoreError
from pollwise.store import Store
from pollwise.store.records import PageRecord
from pollwise.store.tables import side_by_side
from pollwise.store.tables import store as tables
from pollwise.watched_pages import Watched

from ..odd_pages import add_odd_pages


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setattr(side_by_side, "_AT_ONCE", 7)
    monkeypatch.setattr(tables, "_VERY_MANY", 2)
    monkeypatch.setattr(tables, "usable_cores", lambda: 2)
    with Store.open(tmp_path / "pages.db") as store:
        add_odd_pages(store)
        yield store


def as_watched(record: PageRecord) -> Watched:
    return Watched(record.page, record.memory, record.gone, record.outcome)


def test_they_are_as_in_their_records_and_in_the_order_of_their_ids(store: Store) -> None:
    watched = store.watched_pages()
    assert [*watched.items()] == [(one.page.id, as_watched(one)) for one in store.pages()]
    assert [*watched.columns()] == [one.page for one in store.pages()]
    assert all(watched.find(one.page.url) == one.page.id for one in store.pages())


def test_what_was_learned_is_what_one_process_reads(store: Store) -> None:
    with Store.open_readonly(store.path) as reader:
        one = reader.load_learned()
    assert one is not None
    assert len(one["page_ids"]) > 20
    np.testing.assert_equal(store.load_learned(), one)


def test_a_reader_beside_which_others_write_reads_alone(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(side_by_side, "read_side_by_side")
    with Store.open_readonly(store.path) as reader:
        assert len(reader.watched_pages()) == store.count_pages()
    with pytest.raises(ImportError):
        store.watched_pages()


def unlucky(
    connection: Connection, read: Any, place: Path, bounds: Sequence[tuple[int, int]]
) -> None:
    """As `_tell`, but for a process that dies of some pages."""
    tell(connection, read, place, [each for each in bounds if each[0] < 21])
    os._exit(1)


def killed(
    connection: Connection, read: Any, place: Path, bounds: Sequence[tuple[int, int]]
) -> None:
    """As `_tell`, but for a process that dies within an answer."""
    tell(connection, read, place, bounds[:1])
    os.write(connection.fileno(), struct.pack("!i", 1000) + b"a part")
    os._exit(1)


tell = side_by_side._tell

KILLED = """
import os
import signal
import sys

from pollwise.store import Store
from pollwise.store.tables import side_by_side
from pollwise.store.tables.reader import TableReader

side_by_side._AT_ONCE = 1
if __name__ == "__main__":
    with Store.open(sys.argv[1]) as store:
        parts = side_by_side.read_side_by_side(store, TableReader.watched_parts, 100_000, 2)
        print(len([next(parts), next(parts)]), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("dying", [unlucky, killed])
def test_what_a_process_leaves_that_dies_is_read_here(
    store: Store, monkeypatch: pytest.MonkeyPatch, dying: Callable[..., None]
) -> None:
    monkeypatch.setattr(side_by_side, "_tell", dying)
    assert dict(store.watched_pages()) == {one.page.id: as_watched(one) for one in store.pages()}


def test_they_end_when_the_process_is_killed_that_asks(store: Store, tmp_path: Path) -> None:
    store.close()
    program = tmp_path / "program.py"
    program.write_text(KILLED)
    environment = {**os.environ, "PYTHONPATH": str(Path(pollwise.__file__).parents[1])}
    # It is over when the last process has closed its output.
    asked = subprocess.run(
        [sys.executable, program, tmp_path / "pages.db"],
        env=environment,
        capture_output=True,
        timeout=60,
    )
    assert (asked.returncode, asked.stdout, asked.stderr) == (-signal.SIGKILL, b"2\n", b"")


def test_what_is_wrong_with_a_page_is_told_as_by_one_process(store: Store, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "pages.db")) as other, other:
        other.execute("UPDATE pages SET noise = '[' WHERE id = 30")
        other.execute("UPDATE learned_pages SET data = zeroblob(length(data)) WHERE page_id = 30")
    with pytest.raises(StoreError, match=r"pages.db: a page is damaged .*: restore a copy"):
        store.watched_pages()
    with pytest.raises(StoreError, match=r"pages.db is damaged: restore a copy, .*checksum"):
        store.load_learned()


@pytest.mark.parametrize("page_id", [2**31, 2**60])
@pytest.mark.parametrize("opening", [Store.open, Store.open_readonly])
def test_an_id_that_no_page_has_is_told_at_once(
    store: Store, tmp_path: Path, page_id: int, opening: Callable[[Path], Store]
) -> None:
    store.close()
    with closing(sqlite3.connect(tmp_path / "pages.db")) as other, other:
        other.execute("UPDATE pages SET id = ? WHERE id = 30", (page_id,))
    with (
        opening(tmp_path / "pages.db") as again,
        pytest.raises(StoreError, match=r"pages.db is damaged: restore a copy"),
    ):
        again.watched_pages()
