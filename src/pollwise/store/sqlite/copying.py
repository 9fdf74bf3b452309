"""A whole copy of an open database, of one moment, while a process writes to it."""

import os
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

from pollwise.errors import StoreInUseError
from pollwise.store.sqlite.failures import damaged, reported
from pollwise.store.sqlite.file_format import connect
from pollwise.store.sqlite.lock import FileUse

__all__ = ["BESIDE", "copy_into", "remove_left_drafts"]

BESIDE = ("-wal", "-shm", "-journal")
"""The ends of the names of files that SQLite keeps beside a database."""

_DRAFT = ".pollwise-copy-"
_PAGES_AT_ONCE = 1024
"""Four megabytes; after them it can be interrupted."""
_OF_SOURCE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_BUSY}
"""Errors that are not of the file that is written."""


def copy_into(connection: sqlite3.Connection, source: Path, target: Path) -> None:
    """Copy the database of a connection, which is in no transaction, into the file `target`.

    Only its owner may read it. It is checked, and takes its place as a whole or not at all. What is
    there is replaced, if it is no database in use. `StoreError` if the database cannot be read or
    is damaged, or the file cannot be written.
    """
    with _draft_in(target) as (draft, use):
        try:
            _copy(connection, source, draft)
        except sqlite3.DatabaseError as error:
            blames_source = getattr(error, "sqlite_errorcode", 0) & 0xFF in _OF_SOURCE
            with reported(source if blames_source else target):
                raise
        with reported(target):
            # Where locks are of a process, SQLite has just ended it with its own.
            use.confirm()
            _check(draft, source)
            _put(draft, target)


def remove_left_drafts(folder: Path) -> None:
    """Remove what processes of this user left in a folder that died while they made a copy."""
    for left in folder.glob(f"{_DRAFT}*"):
        # It is still being made, or has come into its place meanwhile.
        with suppress(StoreInUseError, FileNotFoundError):
            status = left.lstat()
            if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
                continue
            use = FileUse.writing(left)
            try:
                left.unlink()
            finally:
                use.release()


@contextmanager
def _draft_in(target: Path) -> Iterator[tuple[Path, FileUse]]:
    """A file beside the target, locked so that it is not taken for one that was left."""
    with reported(target):
        draft, use = _locked_draft(target.parent)
    try:
        yield draft, use
    finally:
        use.release()
        draft.unlink(missing_ok=True)


def _locked_draft(folder: Path) -> tuple[Path, FileUse]:
    while True:
        descriptor, name = tempfile.mkstemp(prefix=_DRAFT, dir=folder)  # mode 0600
        os.close(descriptor)
        draft = Path(name)
        with suppress(StoreInUseError, FileNotFoundError):  # another process was quicker
            use = FileUse.writing(draft)
            if use.is_of(draft):
                return draft, use
            use.release()


def _copy(connection: sqlite3.Connection, source: Path, draft: Path) -> None:
    """Copy page by page, as of one moment.

    The transaction holds a state of the database, so that commits of the writer neither wait nor
    make the copy begin anew; the -wal file grows meanwhile. `VACUUM INTO` does the same, but takes
    twice the time, as it sorts all rows and indexes anew, and holds up the writer more.
    """
    with closing(sqlite3.connect(draft, isolation_level=None)) as copy:
        # There is nothing to go back to, and it goes to the disk at the end.
        copy.execute("PRAGMA journal_mode = OFF")
        copy.execute("PRAGMA synchronous = OFF")
        connection.execute("BEGIN")
        try:
            with reported(source):
                connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
            # The call of `progress` lets Ctrl-C through.
            connection.backup(copy, pages=_PAGES_AT_ONCE, progress=lambda *_: None)
        finally:
            connection.execute("COMMIT")


def _check(draft: Path, source: Path) -> None:
    """`StoreError` if the copy is not sound: then neither is the database."""
    # Immutable: without -wal and -shm files beside it.
    with closing(connect(draft, "ro", unlocked=True)) as copy:
        copy.set_progress_handler(lambda: 0, 100_000)  # lets Ctrl-C through
        try:
            (found,) = copy.execute("PRAGMA quick_check(1)").fetchone()
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_CORRUPT:
                raise
            found = str(error)
    if found != "ok":
        raise damaged(source, found)


def _put(draft: Path, target: Path) -> None:
    """Bring the copy into its place, for good."""
    with ExitStack() as undo:
        with open(draft, "rb") as file:
            os.fsync(file.fileno())
        if target.exists():
            undo.callback(FileUse.writing(target).release)
        # SQLite would apply what is left of another database of this name.
        for suffix in BESIDE:
            target.with_name(target.name + suffix).unlink(missing_ok=True)
        os.replace(draft, target)
        folder = os.open(target.parent, os.O_RDONLY)
        undo.callback(os.close, folder)
        os.fsync(folder)
