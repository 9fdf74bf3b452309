"""The database becomes this store's own: locked, and made if there is none.

A new database is made apart and renamed into its place, so that even after a crash a database of
ours is whole.
"""

import os
import shutil
import stat
import tempfile
from contextlib import ExitStack, closing
from pathlib import Path

from pollwise.store.sqlite.file_format import connect, prepare
from pollwise.store.sqlite.lock import FileUse, only_maker

__all__ = ["lock_for_writing"]

_DRAFTS = ".pollwise-draft-"
"""The begin of the names of folders in which databases are made."""


def lock_for_writing(path: Path) -> FileUse:
    """Become the only writer of the database, which is made if there is none, until `release`.

    `StoreError` if there is another writer, or the file cannot be made or written.
    """
    while True:
        use = _lock_existing(path) or _make(path)
        if use is not None:
            return use


def _lock_existing(path: Path) -> FileUse | None:
    """The lock of the database at the path; None if there is none, or it was replaced just now."""
    try:
        if not path.stat().st_size:
            return None
        use = FileUse.writing(path)
    except FileNotFoundError:
        return None
    if use.is_of(path):
        return use
    use.release()
    return None


def _make(path: Path) -> FileUse | None:
    """A new database and its lock; None if another process was quicker.

    The draft is locked before it comes into its place, and takes the lock along. It is in a folder
    of its own that nobody else can name beforehand or write to.
    """
    with ExitStack() as undo, only_maker(path.parent):
        if path.exists() and path.stat().st_size:
            return None
        _remove_drafts(path.parent)
        with tempfile.TemporaryDirectory(prefix=_DRAFTS, dir=path.parent) as folder:
            draft = Path(folder, "pollwise.db")
            os.close(os.open(draft, os.O_CREAT | os.O_EXCL, 0o600))
            use = FileUse.writing(draft)
            undo.callback(use.release)
            with closing(connect(draft, "rw")) as connection:
                prepare(connection)
                # So does closing it, but without an error where the disk is full.
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            _put(draft, path)
        undo.pop_all()
        return use


def _remove_drafts(folder: Path) -> None:
    """Remove what a process left that died while it made a database; no other makes one now."""
    for left in folder.glob(f"{_DRAFTS}*"):
        status = left.lstat()
        if stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid():
            shutil.rmtree(left)


def _put(draft: Path, path: Path) -> None:
    """Bring a new database into its place, for good."""
    # SQLite would apply the -wal file of a database that was deleted after a crash.
    for suffix in ("-wal", "-shm", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    os.replace(draft, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
