"""The SQLite store keeps the contract of stores, and tells damage of its file in one line."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from pollwise.errors import StoreError
from pollwise.store import Requester, Store
from pollwise.store.records import Batch
from pollwise.testing.store_contract import StoreContract, StoreOpening
from pollwise.testing.store_contract.samples import A, B, poll
from pollwise.types import Outcome

from .damage import put


class TestSqlite(StoreContract):
    @pytest.fixture
    def opening(self, tmp_path: Path) -> StoreOpening:
        path = tmp_path / "pollwise.db"
        return StoreOpening(
            partial(Store.open, path),
            partial(Store.open_readonly, path),
            partial(Requester.open, path),
        )


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "pollwise.db") as store:
        store.add_pages([A, B], now=0.0)
        for at in (1.0, 2.0):
            store.commit(Batch(polls=(poll(0, at, Outcome.CHANGED, b"a" * 1000),)))
        yield store


def test_the_file_alone_has_all_once_its_writer_has_closed_though_others_read(
    store: Store, tmp_path: Path
) -> None:
    with Store.open_readonly(store.path) as reader:
        assert len(reader.pages()) == 2
        store.close()
        copy = tmp_path / "copy.db"
        copy.write_bytes(store.path.read_bytes())
        with Store.open_readonly(copy) as copied:
            assert copied.totals() == reader.totals()


def test_a_run_after_a_crash_needs_no_more_room_than_its_own_writes(
    store: Store, tmp_path: Path
) -> None:
    crashed = tmp_path / "crashed.db"
    for suffix in ("", "-wal"):
        written = store.path.with_name(store.path.name + suffix).read_bytes()
        crashed.with_name(crashed.name + suffix).write_bytes(written)
    size = len(written)
    with Store.open(crashed) as begun:
        begun.commit(Batch(polls=(poll(1, 3.0, Outcome.UNCHANGED),)))
        assert crashed.with_name(f"{crashed.name}-wal").stat().st_size == size
        assert begun.totals().polls == store.totals().polls + 1


@pytest.mark.parametrize("bound", [0.0, -1.0, 9e999, "often"])
def test_a_bound_that_cannot_be_is_damage(store: Store, bound: float | str) -> None:
    put(store.path, "UPDATE pages SET longest_interval = ?", bound)
    with pytest.raises(StoreError, match="is damaged: restore a copy"):
        store.pages()


@pytest.mark.parametrize("items", ["[", "{}1", "[[1]]", '[["a","b","c","d"]]', "[7]", "7"])
def test_items_that_nobody_wrote_are_damage(store: Store, items: str) -> None:
    put(store.path, "UPDATE changes SET items = ?", items)
    with pytest.raises(StoreError, match="is damaged"):
        list(store.changes())


def test_a_title_that_nobody_wrote_is_one_line(store: Store) -> None:
    put(store.path, "UPDATE pages SET title = ?", b"\xff")
    for read in (store.pages, lambda: list(store.each_outline())):
        with pytest.raises(StoreError, match=r"a page is damaged .*: restore a copy"):
            read()


@pytest.mark.parametrize(
    "text", ["nonsense", "{}", "[1,2]", "[[[1]],0,0,0]", "[[],0,0,-1]", "[" * 100_000]
)
def test_noise_that_nobody_wrote_is_one_line(store: Store, text: str) -> None:
    put(store.path, "UPDATE pages SET noise = ?", text)
    for read in (store.pages, lambda: store.find_page(A.url)):
        with pytest.raises(StoreError, match=r"a page is damaged .*: restore a copy") as raised:
            read()
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize("text", ["twenty", "20 19 18", "20 ", "NaN", "1 Infinity"])
def test_a_number_that_nobody_told_is_one_line(store: Store, text: str) -> None:
    put(store.path, "UPDATE pages SET told_number = ?", text)
    for read in (store.pages, store.watched_pages, lambda: store.find_page(A.url)):
        with pytest.raises(StoreError, match=r"a page is damaged .*: restore a copy"):
            read()


def test_a_damaged_head_is_told_with_its_page(store: Store) -> None:
    put(store.path, "UPDATE versions SET head = ? WHERE seen_at = 1", b"rubbish")
    with pytest.raises(StoreError, match="what page 0 holds is damaged"):
        store.head(0, 1.0)


def test_a_damaged_body_is_told_with_its_file(store: Store) -> None:
    store.close()
    with closing(sqlite3.connect(store.path)) as connection, connection:
        connection.execute("UPDATE contents SET data = x'00'")
    with Store.open_readonly(store.path) as reader, pytest.raises(StoreError) as caught:
        reader.body(store_hash := reader.versions(0)[0].body_hash)
    assert str(caught.value).startswith(f"{store.path}: the body {store_hash} is damaged")


def test_the_bytes_are_those_of_the_file(store: Store) -> None:
    size = store.totals().bytes
    store.close()
    assert size == store.path.stat().st_size


@pytest.mark.parametrize(("durable", "synchronous"), [(True, 2), (False, 0)])
def test_only_a_durable_store_waits_for_the_disk(tmp_path, durable, synchronous):
    with Store.open(tmp_path / "x.db", durable=durable) as store:
        [(found,)] = store._connection._sqlite.execute("PRAGMA synchronous").fetchall()
    assert found == synchronous


@pytest.mark.parametrize("happens", ["moved", "removed", "replaced"])
def test_nothing_is_written_into_a_file_that_has_lost_its_name(store: Store, happens: str) -> None:
    other = store.path.with_name("other.db")
    with Store.open(other) as copy:
        copy.add_pages([A], now=0.0)
    was = other.read_bytes()
    if happens == "removed":
        store.path.unlink()
    elif happens == "moved":
        store.path.rename(store.path.with_name("moved.db"))
    else:
        other.rename(store.path)
    found = Batch(polls=(poll(0, 3.0, Outcome.CHANGED),))
    for write in (lambda: store.commit(found), lambda: store.add_pages([B], now=3.0)):
        with pytest.raises(StoreError, match=r"was moved, removed .* remove pollwise\.db-wal"):
            write()
    assert (store.path if happens == "replaced" else other).read_bytes() == was


def test_what_was_moved_and_is_moved_back_has_lost_nothing(store: Store) -> None:
    path, moved = store.path, store.path.with_name("moved.db")
    was = store.pages()
    path.rename(moved)
    with pytest.raises(StoreError, match=r"move it back: pollwise\.db-wal"):
        store.commit(Batch(polls=(poll(0, 3.0, Outcome.CHANGED),)))
    store.close()
    moved.rename(path)
    with Store.open(path) as again:
        assert again.pages() == was


def test_a_folder_that_became_a_file_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with Store.open(folder / "x.db") as store:
        folder.rename(tmp_path / "other")
        folder.touch()
        with pytest.raises(StoreError, match="was moved, removed"):
            store.commit(Batch())
