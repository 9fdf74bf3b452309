"""What goes wrong with a file is an error of one line, with what to do."""

import errno
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from pollwise.errors import StoreDiskError, StoreError
from pollwise.store import Store
from pollwise.store.sqlite.failures import reported

from .one_line import assert_one_line


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "pollwise.db"


def test_a_full_disk_is_told_from_other_errors(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("CREATE TABLE t (a); PRAGMA max_page_count = 2;")
        with pytest.raises(StoreError) as caught, reported(path):
            connection.execute("INSERT INTO t VALUES (zeroblob(100000))")
    assert_one_line(caught.value, path, "the disk is full: free some space")


def test_a_database_that_another_program_writes_to_is_told(path: Path) -> None:
    Store.open(path).close()
    with closing(sqlite3.connect(path)) as other, closing(sqlite3.connect(path, timeout=0)) as late:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError) as caught, reported(path):
            late.execute("BEGIN IMMEDIATE")
    assert_one_line(caught.value, path, "is locked by another program: close that program")


@pytest.mark.parametrize(
    ("number", "mend", "kind"),
    [
        (errno.ENOSPC, "free some space", StoreDiskError),
        (errno.EACCES, "check the permissions", StoreError),
        (errno.EROFS, "choose a file on a disk that can be written", StoreDiskError),
        (errno.EIO, "check the disk", StoreDiskError),
        (errno.ENAMETOOLONG, "choose another file", StoreError),
    ],
)
def test_what_the_operating_system_refuses_is_told_with_a_mend(
    path: Path, number: int, mend: str, kind: type[StoreError]
) -> None:
    with pytest.raises(StoreError) as caught, reported(path):
        raise OSError(number, os.strerror(number))
    assert type(caught.value) is kind
    assert_one_line(caught.value, path, os.strerror(number), mend)


def test_errors_of_ours_stay_what_they_are(path: Path) -> None:
    with (
        closing(sqlite3.connect(":memory:")) as connection,
        pytest.raises(sqlite3.OperationalError, match="no such table"),
        reported(path),
    ):
        connection.execute("SELECT * FROM nowhere")
