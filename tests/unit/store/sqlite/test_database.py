"""A file that is not ours is refused and left as it is; ours is locked, converted and opened."""

import contextlib
import fcntl
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from pollwise.errors import StoreBusyError, StoreError, StoreVersionError
from pollwise.events import Tick
from pollwise.frontier.store import FrontierStore
from pollwise.store import Requester, Store
from pollwise.store.records import Batch, ClockSetBack, NewPage, PollResult, Sizes
from pollwise.store.sqlite import database, file_format, lock
from pollwise.store.sqlite.backup import copy_database
from pollwise.store.sqlite.connection import SqliteConnection
from pollwise.store.sqlite.creation import lock_for_writing
from pollwise.store.sqlite.database import open_for_writing
from pollwise.store.sqlite.file_format import APPLICATION_ID
from pollwise.store.sqlite.queries import migrations
from pollwise.types import Observation, Outcome, PageMemory

from .one_line import assert_one_line, files

Opener = Callable[[Path], Store]

BATCH = Batch(
    events=(Tick(1.0),),
    polls=(PollResult(Observation(1, 1.0, Outcome.UNCHANGED), PageMemory()),),
    learned={"page_ids": np.array([1]), "page.rate": np.array([0.5])},
)
NEXT_FORMAT = len(migrations()) + 1


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "pollwise.db"


@pytest.fixture
def ours(path: Path) -> Path:
    with Store.open(path) as store:
        store.add_pages([NewPage("https://example.org/")], now=0.0)
    return path


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users can enter, unlike those below `tmp_path`."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@contextlib.contextmanager
def unprivileged() -> Iterator[None]:
    """Without the right of root to write everywhere."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


def set_pragma(path: Path, name: str, value: int) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA {name} = {value}")


def make_text(path: Path) -> None:
    path.write_text("https://example.org/\n" * 100)


def make_foreign(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("CREATE TABLE t (a); INSERT INTO t VALUES (1);")


def make_foreign_wal(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            f"PRAGMA journal_mode = WAL; PRAGMA application_id = {APPLICATION_ID + 1};"
        )


def make_frontier(path: Path) -> None:
    FrontierStore(path).close()


def make_truncated(path: Path) -> None:
    Store.open(path).close()
    os.truncate(path, 5000)


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (make_text, ["is not a database", "choose another file"]),
        (make_foreign, ["is a database of another program", "choose another file"]),
        (make_foreign_wal, ["is a database of another program", "choose another file"]),
        (make_frontier, ["holds a frontier, no watch or collection", "frontier.estimates"]),
        (make_truncated, ["is damaged", "restore a copy"]),
        (Path.mkdir, ["is a folder", "name a database file"]),
        (os.mkfifo, ["is no regular file", "name a database file"]),
    ],
)
@pytest.mark.parametrize("open_store", [Store.open, Store.open_readonly])
def test_what_is_not_ours_is_refused_and_left_as_it_is(
    path: Path, make: Callable[[Path], None], parts: list[str], open_store: Opener
) -> None:
    make(path)
    before = path.read_bytes() if path.is_file() else None
    names = set(os.listdir(path.parent))
    with pytest.raises(StoreError) as caught:
        open_store(path)
    assert_one_line(caught.value, path, *parts)
    if before is not None:
        assert path.read_bytes() == before
    if make is not make_truncated:  # whose first page is ours
        assert set(os.listdir(path.parent)) == names


@pytest.mark.parametrize("open_store", [Store.open, Store.open_readonly])
def test_a_missing_folder_is_refused(tmp_path: Path, open_store: Opener) -> None:
    path = tmp_path / "none" / "pollwise.db"
    with pytest.raises(StoreError) as caught:
        open_store(path)
    assert_one_line(caught.value, path, "there is no folder" if open_store == Store.open else "")
    assert not path.parent.exists()


def test_reading_needs_a_file(path: Path) -> None:
    with pytest.raises(StoreError) as caught:
        Store.open_readonly(path)
    assert_one_line(caught.value, path, "does not exist", "start 'pollwise watch'")
    assert not files(path)


@pytest.mark.parametrize("open_store", [Store.open, Store.open_readonly])
def test_a_later_format_is_refused_and_left_as_it_is(ours: Path, open_store: Opener) -> None:
    set_pragma(ours, "user_version", NEXT_FORMAT)
    before = ours.read_bytes()
    with pytest.raises(StoreVersionError) as caught:
        open_store(ours)
    assert_one_line(caught.value, ours, f"format {NEXT_FORMAT}", "install a newer pollwise")
    assert ours.read_bytes() == before


def test_a_crash_while_the_wal_was_copied_back_is_recovered_from(path: Path, ours: Path) -> None:
    wal, size = path.with_name(path.name + "-wal"), path.stat().st_size
    with Store.open(ours) as store:
        store.add_pages([NewPage(f"https://example.org/{n}") for n in range(2000)], now=0.0)
        left = wal.read_bytes()
    # The first page, which is copied first, tells of the pages at the end, which are not there.
    os.truncate(path, size)
    wal.write_bytes(left)
    with Store.open_readonly(path) as reader:
        assert len(reader.pages()) == 2001
    with Store.open(path) as store:
        assert len(store.pages()) == 2001


def test_an_older_format_is_converted_by_a_writer_alone(
    ours: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = [*migrations(), "CREATE TABLE more (a); INSERT INTO more SELECT id FROM pages;"]
    monkeypatch.setattr(file_format, "migrations", lambda: later)
    with pytest.raises(StoreVersionError) as caught:
        Store.open_readonly(ours)
    assert_one_line(caught.value, ours, f"older than format {NEXT_FORMAT}", "'pollwise watch'")
    opened, _ = open_for_writing(ours)
    with closing(opened) as connection:
        assert connection.execute("SELECT a FROM more").fetchall() == [(0,)]
        assert connection.execute("PRAGMA user_version").fetchone() == (NEXT_FORMAT,)
    Store.open_readonly(ours).close()


def test_what_an_older_version_kept_is_counted_when_it_is_converted(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(file_format, "migrations", lambda: migrations()[:3])
        lock_for_writing(path).release()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(
            "INSERT INTO pages (id, url, scope, weight, cost, added_at, seen_at, polled_at)"
            " VALUES (0, 'https://a.example/', '', 1, 1, 0, 7, 7);"
            "INSERT INTO versions VALUES (0, 3, 'text/plain', 'a'), (0, 7, 'text/plain', 'b');"
            "INSERT INTO contents VALUES ('a', 'raw', 2, x'0102'), ('b', 'raw', 3, x'010203');"
            "INSERT INTO events (run_id, line) VALUES (1, '12345'), (1, '678');"
            "INSERT INTO runs (started_at, settings) VALUES (19, '{}');"
            "INSERT INTO pages (id, url, scope, weight, cost, added_at, removed_at)"
            " VALUES (1, 'https://b.example/', '', 1, 1, 0, 20);"
        )
    with Store.open(path) as store:
        assert store.sizes() == Sizes(events=8, bodies=5)
        assert [document.first_seen_at for document in store.documents()] == [3.0]
        assert store.set_back_times(20.0) is None
        assert store.set_back_times(8.0) == ClockSetBack(8.0, ahead=12.0, polls=0)


def test_a_conversion_that_fails_leaves_the_older_format(
    ours: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = dump(ours)
    monkeypatch.setattr(
        file_format,
        "migrations",
        lambda: [*migrations(), "CREATE TABLE more (a); SELECT nonsense;"],
    )
    with pytest.raises(sqlite3.OperationalError, match="nonsense"):
        open_for_writing(ours)
    monkeypatch.undo()
    assert dump(ours) == before
    with Store.open(ours) as store:
        assert len(store.pages()) == 1


def test_a_sqlite_without_the_full_text_index_is_one_line(
    ours: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = "CREATE VIRTUAL TABLE more USING fts99 (a);"
    monkeypatch.setattr(file_format, "migrations", lambda: [*migrations(), script])
    with pytest.raises(StoreError) as caught:
        Store.open(ours)
    assert_one_line(caught.value, ours, "no such module: fts99", "another build of Python")


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return [*connection.iterdump(), str(connection.execute("PRAGMA user_version").fetchone())]


def test_a_second_writer_is_refused_until_the_first_closes(ours: Path) -> None:
    with Store.open(ours), pytest.raises(StoreError) as caught:
        Store.open(ours)
    assert_one_line(caught.value, ours, f"in use by process {os.getpid()}", "stop that process")
    Store.open(ours).close()


@pytest.fixture
def older_lock(ours: Path) -> Iterator[int]:
    """The lock of a writer of the version before: of a file beside the database."""
    descriptor = os.open(f"{ours}.lock", os.O_RDWR | os.O_CREAT, 0o644)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    yield descriptor
    os.close(descriptor)


def test_a_writer_of_the_version_before_keeps_others_out(
    ours: Path, older_lock: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its database is left in its format, and its lock file as it is."""
    os.write(older_lock, b"4321")
    before = dump(ours)
    monkeypatch.setattr(
        file_format, "migrations", lambda: [*migrations(), "CREATE TABLE more (a);"]
    )
    with pytest.raises(StoreError) as caught:
        Store.open(ours)
    assert_one_line(caught.value, ours, "in use by process 4321, which", "stop that process")
    assert dump(ours) == before
    fcntl.flock(older_lock, fcntl.LOCK_UN)
    Store.open(ours).close()
    assert dump(ours) != before
    assert Path(f"{ours}.lock").read_bytes() == b"4321"


def test_a_lock_of_the_version_before_without_a_number_is_told(ours: Path, older_lock: int) -> None:
    os.write(older_lock, b"rub\nbish")
    with pytest.raises(StoreError) as caught:
        Store.open(ours)
    assert_one_line(caught.value, ours, "in use by process (unknown)")


@pytest.mark.usefixtures("older_lock")
def test_a_refusal_by_the_version_before_gives_the_lock_back(ours: Path) -> None:
    with pytest.raises(StoreError, match="in use"):
        Store.open(ours)
    lock_for_writing(ours).release()


def test_a_lock_of_the_version_before_that_cannot_be_read_is_told(open_folder: Path) -> None:
    open_folder.chmod(0o777)
    path = open_folder / "pollwise.db"
    older = Path(f"{path}.lock")
    older.touch(0)
    with unprivileged(), pytest.raises(StoreError) as caught:
        Store.open(path)
    assert_one_line(caught.value, older, "cannot be read", "check its permissions")


def test_the_lock_holds_also_through_a_symbolic_link(ours: Path) -> None:
    link = ours.with_name("link.db")
    link.symlink_to(ours)
    with Store.open(link) as store:
        assert store.path == ours
        with pytest.raises(StoreError, match="is in use"):
            Store.open(ours)


def test_the_lock_is_of_the_file_under_whatever_name(ours: Path) -> None:
    """As in a bind mount, where the same file has another folder."""
    with Store.open(ours):
        other = ours.rename(ours.with_name("other.db"))
        with pytest.raises(StoreError) as caught:
            Store.open(other)
        other.rename(ours)
    assert_one_line(caught.value, other, f"in use by process {os.getpid()}")


@pytest.mark.parametrize("open_store", [Store.open, Store.open_readonly])
def test_a_file_with_several_names_is_refused(ours: Path, open_store: Opener) -> None:
    other = ours.with_name("other.db")
    other.hardlink_to(ours)
    for name in (ours, other):
        with pytest.raises(StoreError) as caught:
            open_store(name)
        assert_one_line(caught.value, name, "has 2 names (hard links)", "remove the other names")
    other.unlink()
    open_store(ours).close()


def test_no_file_is_left_beside_the_database(path: Path) -> None:
    with Store.open(path), Store.open_readonly(path), pytest.raises(StoreError, match="in use"):
        Store.open(path)
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="only Linux tells all locks")
def test_sqlite_keeps_its_locks_when_a_writer_closes_before_a_reader(ours: Path) -> None:
    """Closing any descriptor of a file ends all POSIX locks that the process has on it."""
    writer = Store.open(ours)
    with Store.open_readonly(ours) as reader:
        reader.pages()
        assert (held := sqlite_locks(ours)) > 0
        writer.close()
        assert sqlite_locks(ours) == held
        with Store.open(ours):
            pass
        assert sqlite_locks(ours) == held
    assert sqlite_locks(ours) == 0


def sqlite_locks(path: Path) -> int:
    """The number of POSIX locks that this process has on the bytes that SQLite locks."""
    inode = path.stat().st_ino
    rows = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    return sum(
        row[1] == "POSIX" and row[5].endswith(f":{inode}") and int(row[6]) < 2**32 for row in rows
    )


def test_a_refused_opening_gives_the_lock_back(ours: Path) -> None:
    set_pragma(ours, "user_version", NEXT_FORMAT)
    with pytest.raises(StoreVersionError):
        Store.open(ours)
    lock_for_writing(ours).release()


def open_descriptors(path: Path) -> int:
    """The number of descriptors that this process has of a file."""
    descriptors = Path("/proc/self/fd").iterdir()
    return sum(os.path.realpath(one) == str(path) for one in descriptors)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="only Linux tells descriptors")
def test_an_opening_that_ends_at_any_step_keeps_nothing(
    ours: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupt(BaseException):
        pass

    def interrupted(*_: object) -> None:
        raise Interrupt

    steps = [
        (Store.open, database, "prepare"),
        (Store.open, lock.FileUse, "confirm"),
        (Store.open_readonly, database, "_check_tables"),
        (Store.open_readonly, lock.FileUse, "reading"),
    ]
    for open_store, owner, step in steps:
        with monkeypatch.context() as patch:
            patch.setattr(owner, step, interrupted)
            with pytest.raises(Interrupt) as caught:
                open_store(ours)
        assert open_descriptors(ours) == 0, step
        assert caught.tb is not None  # which holds what was not closed
    Store.open(ours).close()


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="only Linux tells all locks")
def test_a_reader_that_is_being_opened_keeps_its_locks_when_a_writer_closes(
    ours: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = Store.open(ours)
    check = database._check_tables

    def close_writer(connection: sqlite3.Connection, path: Path) -> None:
        connection.execute("BEGIN")
        connection.execute("SELECT COUNT(*) FROM pages").fetchone()
        held = sqlite_locks(ours)
        writer.close()
        assert sqlite_locks(ours) == held > 0
        connection.execute("COMMIT")
        check(connection, path)

    monkeypatch.setattr(database, "_check_tables", close_writer)
    Store.open_readonly(ours).close()


def test_a_database_whose_damage_shows_when_it_is_closed_is_given_back(
    ours: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store.open(ours)
    with monkeypatch.context() as patch:

        def fail(_: object) -> None:
            raise StoreError("damaged")

        patch.setattr(SqliteConnection, "close", fail)
        with pytest.raises(StoreError, match="damaged"):
            store.close()
    store._connection.close()
    Store.open(ours).close()


def test_a_read_only_folder_is_refused(open_folder: Path) -> None:
    path = open_folder / "pollwise.db"
    open_folder.chmod(0o555)
    with unprivileged(), pytest.raises(StoreError) as caught:
        Store.open(path)
    assert_one_line(caught.value, path, "Permission denied", "check the permissions")
    assert not files(path)


@pytest.fixture
def in_open_folder(open_folder: Path) -> Path:
    """A database of one page that every user can read."""
    path = open_folder / "pollwise.db"
    with Store.open(path) as store:
        store.add_pages([NewPage("https://example.org/")], now=0.0)
    path.chmod(0o644)
    return path


def test_a_database_in_a_read_only_folder_is_refused_by_a_writer(in_open_folder: Path) -> None:
    before = in_open_folder.read_bytes()
    in_open_folder.parent.chmod(0o555)
    with unprivileged(), pytest.raises(StoreError) as caught:
        Store.open(in_open_folder)
    mend = "check the permissions of the file and its folder"
    assert_one_line(caught.value, in_open_folder, mend)
    assert in_open_folder.read_bytes() == before


@pytest.mark.parametrize("opened", [Store.open, Requester.open])
def test_who_writes_beside_a_database_is_told_that_its_folder_is_read_only(
    in_open_folder: Path, opened: Callable[[Path], object]
) -> None:
    in_open_folder.chmod(0o666)
    in_open_folder.parent.chmod(0o555)
    with unprivileged(), pytest.raises(StoreError) as caught:
        opened(in_open_folder)
    told = ("is in a read-only place", "and this command writes: check the permissions")
    assert_one_line(caught.value, in_open_folder, *told)


@pytest.mark.parametrize("is_copied", [False, True])
def test_a_database_that_was_closed_can_be_read_in_a_read_only_folder(
    in_open_folder: Path, is_copied: bool
) -> None:
    folder = in_open_folder.parent
    (folder / "pollwise.db-wal").touch()  # as a process leaves it that only read
    copies = folder / "copies"
    copies.mkdir(0o777)
    copies.chmod(0o777)
    before = files(in_open_folder)
    folder.chmod(0o555)
    with unprivileged():
        path = copy_database(in_open_folder, copies / "1.db") if is_copied else in_open_folder
        with Store.open_readonly(path) as store:
            assert [record.page.url for record in store.pages()] == ["https://example.org/"]
    assert files(in_open_folder) == before


def test_who_may_only_read_leaves_nothing_that_keeps_others_from_writing(
    in_open_folder: Path,
) -> None:
    in_open_folder.parent.chmod(0o777)
    in_open_folder.chmod(0o444)
    with unprivileged(), Store.open_readonly(in_open_folder) as reader:
        assert len(reader.pages()) == 1
    assert list(files(in_open_folder)) == [in_open_folder.name]


def test_a_database_in_a_read_only_folder_is_read_beside_its_writer(in_open_folder: Path) -> None:
    with Store.open(in_open_folder) as store:
        store.add_pages([NewPage("https://b.example/")], now=1.0)
        for path in in_open_folder.parent.iterdir():
            path.chmod(0o644)
        in_open_folder.parent.chmod(0o555)
        with unprivileged(), Store.open_readonly(in_open_folder) as reader:
            assert len(reader.pages()) == 2


def test_a_database_that_is_written_while_it_is_read_without_locks_is_not_called_damaged(
    in_open_folder: Path,
) -> None:
    in_open_folder.parent.chmod(0o555)
    with unprivileged():
        reader = Store.open_readonly(in_open_folder)
    in_open_folder.parent.chmod(0o755)
    with Store.open(in_open_folder) as store:
        store.add_pages([NewPage(f"https://b.example/{n}") for n in range(5000)], now=1.0)
    with reader, pytest.raises(StoreError) as caught:
        reader.pages()
    told = "was written to while it was read in a read-only place"
    assert_one_line(caught.value, in_open_folder, told, "read it again")


def test_what_is_newest_is_not_missed_in_a_read_only_folder(in_open_folder: Path) -> None:
    folder = in_open_folder.parent
    with Store.open(in_open_folder) as store:
        store.add_pages([NewPage("https://b.example/")], now=1.0)
        newest = (folder / "pollwise.db-wal").read_bytes()
    (folder / "pollwise.db-wal").write_bytes(newest)
    folder.chmod(0o555)
    for read in (Store.open_readonly, lambda path: copy_database(path, folder / "copy.db")):
        with unprivileged(), pytest.raises(StoreError) as caught:
            read(in_open_folder)
        told = "is in a read-only place, and what is newest is in pollwise.db-wal beside it: copy"
        assert_one_line(caught.value, in_open_folder, told)


def test_a_read_only_file_is_refused_by_a_writer(open_folder: Path) -> None:
    path = open_folder / "pollwise.db"
    Store.open(path).close()
    path.chmod(0o444)
    open_folder.chmod(0o777)
    with unprivileged(), pytest.raises(StoreError) as caught:
        Store.open(path)
    assert_one_line(caught.value, path, "cannot be written", "check the permissions")


def test_a_call_that_found_the_database_locked_can_be_made_again(
    ours: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_format, "_BUSY_SECONDS", 0.01)
    new = [NewPage("https://b.example/")]
    with Store.open(ours) as store, closing(sqlite3.connect(ours)) as other:
        other.execute("BEGIN IMMEDIATE")
        for call in (
            lambda: store.add_pages(new, now=1.0),
            lambda: store.start_run(1.0, {}, None),
            lambda: store.commit(BATCH),
        ):
            with pytest.raises(StoreBusyError) as caught:
                call()
            assert_one_line(caught.value, ours, "is locked by another program")
        assert len(store.pages()) == 1
        other.execute("ROLLBACK")
        [page] = store.add_pages(new, now=1.0)
        assert page.id == 1
        store.start_run(1.0, {}, None)
        store.commit(BATCH)
        assert store.pages()[1].polls == 1
        assert list(store.events(1)) == list(BATCH.events)
