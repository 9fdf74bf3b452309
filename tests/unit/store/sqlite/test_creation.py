"""A new database is whole wherever a process ends, and nothing of the user is lost for it."""

import errno
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from pollwise.errors import StoreBusyError, StoreDiskError, StoreError
from pollwise.store import Store
from pollwise.store.records import NewPage
from pollwise.store.sqlite import creation, file_format, lock
from pollwise.store.sqlite.database import check_usable
from pollwise.store.sqlite.file_format import APPLICATION_ID
from pollwise.store.sqlite.lock import only_maker
from pollwise.store.sqlite.queries import migrations

from .one_line import assert_one_line, files


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "pollwise.db"


def test_a_new_database_bears_our_marks(path: Path) -> None:
    Store.open(path).close()
    with closing(sqlite3.connect(path)) as connection:
        marks = [
            connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("application_id", "user_version", "journal_mode")
        ]
    assert marks == [APPLICATION_ID, len(migrations()), "wal"]
    assert APPLICATION_ID.to_bytes(4, "big") == b"polw"


def test_an_empty_file_becomes_a_database(path: Path) -> None:
    path.touch()
    check_usable(path)
    with Store.open(path) as store:
        assert store.pages() == []


def test_a_disk_that_is_full_once_the_tables_are_made_leaves_no_damaged_database(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)

    def prepare(connection: sqlite3.Connection) -> None:
        file_format.prepare(connection)
        # What the -wal file has does not fit into the file itself.
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))

    monkeypatch.setattr(creation, "prepare", prepare)
    try:
        with pytest.raises(StoreDiskError) as caught:
            Store.open(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert_one_line(caught.value, path, "free space")
    assert not files(path)


def test_what_a_crash_left_of_an_earlier_start_is_not_taken_over(path: Path) -> None:
    wal = path.with_name(path.name + "-wal")
    with Store.open(path) as store:
        store.add_pages([NewPage("https://example.org/")], now=0.0)
        left = wal.read_bytes()
    path.unlink()
    wal.write_bytes(left)
    with Store.open(path) as store:
        assert store.pages() == []
    assert set(files(path)) == {path.name}


def test_no_file_of_the_user_is_taken_for_a_draft(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("mine")
    path.with_name(path.name + ".new").write_text("mine, too")
    path.with_name(path.name + ".new-wal").symlink_to(other)
    (tmp_path / f"{creation._DRAFTS}list").write_text("mine as well")
    (tmp_path / f"{creation._DRAFTS}link").symlink_to(tmp_path)
    before = files(path)
    Store.open(path).close()
    after = files(path)
    assert after.pop(path.name).startswith(b"SQLite format 3")
    assert after == before


def test_a_draft_that_a_crash_left_is_removed(path: Path) -> None:
    code = (
        "import os, pathlib, sys;"
        "from pollwise.store.sqlite import creation;"
        "creation._put = lambda draft, path: os._exit(9);"
        "creation.lock_for_writing(pathlib.Path(sys.argv[1]))"
    )
    died = subprocess.run([sys.executable, "-c", code, str(path)], timeout=60)
    assert died.returncode == 9
    [left] = os.listdir(path.parent)
    assert left.startswith(creation._DRAFTS)
    Store.open(path).close()
    assert os.listdir(path.parent) == [path.name]


def test_a_database_that_cannot_be_made_leaves_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(file_format, "migrations", lambda: ["CREATE TABLE t (a); SELECT nonsense;"])
        with pytest.raises(StoreError, match="nonsense"):
            Store.open(path)
    assert os.listdir(path.parent) == []
    Store.open(path).close()


def test_a_database_whose_draft_folder_cannot_be_removed_is_given_back(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(folder: tempfile.TemporaryDirectory[str], *_: object) -> None:
        folder.cleanup()
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(tempfile.TemporaryDirectory, "__exit__", fail)
        with pytest.raises(StoreError) as caught:
            Store.open(path)
    assert_one_line(caught.value, path, os.strerror(errno.EIO))
    Store.open(path).close()


def test_a_folder_that_another_program_locks_is_told(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "_MAKER_SECONDS", 0.01)
    with only_maker(path.parent), pytest.raises(StoreBusyError) as caught:
        Store.open(path)
    assert_one_line(caught.value, path.parent, "is locked by another program")
    Store.open(path).close()


def test_a_new_database_is_for_its_user_alone(path: Path) -> None:
    """It has pages behind logins, and the secrets of subscriptions."""
    Store.open(path).close()
    assert path.stat().st_mode & 0o777 == 0o600
