"""What goes wrong with a database file, as errors of one line."""

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pollwise.errors import StoreBusyError, StoreDiskError, StoreError
from pollwise.full_disk import FULL_DISK
from pollwise.texts import one_line

__all__ = ["damaged", "reported", "undamaged_database"]

_SQLITE_CAUSES = {
    sqlite3.SQLITE_NOTADB: "is not a database: choose another file",
    sqlite3.SQLITE_CORRUPT: "is damaged: restore a copy, or try `sqlite3 {path} .recover`",
    sqlite3.SQLITE_FULL: "cannot grow, the disk is full: free some space",
    sqlite3.SQLITE_IOERR: "cannot be read or written: check the disk, its free space and quotas",
    sqlite3.SQLITE_READONLY: "cannot be written, as it is in a read-only place or was opened for"
    " reading, and this command writes: check the permissions of the file, of what is beside it"
    " (-wal, -shm) and of its folder, or copy it to another folder",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened: check the permissions of the file and its folder,"
    " and whether the disk is read-only",
    sqlite3.SQLITE_PERM: "cannot be opened: check the permissions of the file and its folder",
    sqlite3.SQLITE_BUSY: "is locked by another program: close that program",
    sqlite3.SQLITE_PROTOCOL: "cannot be locked: put it on a local disk, not on a network share",
}
_KINDS: dict[int, type[StoreError]] = {
    sqlite3.SQLITE_BUSY: StoreBusyError,
    sqlite3.SQLITE_FULL: StoreDiskError,
    sqlite3.SQLITE_IOERR: StoreDiskError,
}
_MENDS = {
    **dict.fromkeys(FULL_DISK, "free some space"),
    errno.EACCES: "check the permissions of the file and its folder",
    errno.EPERM: "check the permissions of the file and its folder",
    errno.EROFS: "check the disk, or choose a file on a disk that can be written",
    errno.EIO: "check the disk",
}
_OF_DISK = FULL_DISK | {errno.EIO, errno.EROFS}
"""A disk that fails is often made read-only by the system."""


@contextmanager
def reported(path: Path) -> Iterator[None]:
    """Turns errors of file, disk and operating system into a `StoreError` of one line.

    It is a `StoreBusyError` if another program did not give up its lock within ten seconds, and a
    `StoreDiskError` if the disk takes no more, fails or is read-only.

    Other errors of SQLite are bugs of ours and pass.
    """
    try:
        yield
    except StoreError:
        raise
    except sqlite3.DatabaseError as error:
        if "no such module" in str(error):
            raise StoreError(
                f"{path} needs SQLite with its full-text index ({error}): use another build of"
                " Python, such as those of python.org"
            ) from error
        # Text that is not UTF-8 is the only damage that the module itself reports, without a code.
        undecodable = sqlite3.SQLITE_CORRUPT if "decode to UTF-8" in str(error) else 0
        code = getattr(error, "sqlite_errorcode", undecodable)
        cause = _SQLITE_CAUSES.get(code & 0xFF)  # the low byte is the primary code
        if cause is None:
            raise
        kind = _KINDS.get(code & 0xFF, StoreError)
        # SQLite may quote a statement of several lines.
        raise kind(f"{path} {cause.format(path=path)} ({one_line(error)})") from error
    except OSError as error:
        reason = StoreDiskError if error.errno in _OF_DISK else StoreError
        mend = _MENDS.get(error.errno or 0, "choose another file")
        raise reason(f"{path} cannot be used: {error.strerror}; {mend}") from error


@contextmanager
def undamaged_database(path: Path) -> Iterator[None]:
    """As `reported`, for our own statements on our own tables: what else SQLite finds wrong with
    them is damage of the file, too.
    """
    try:
        with reported(path):
            yield
    except sqlite3.ProgrammingError:  # such as the use of a closed store
        raise
    except (
        sqlite3.Error,
        UnicodeDecodeError,
    ) as error:  # the latter where a message quotes rubbish
        raise damaged(path, error) from error


def damaged(path: Path, what: object) -> StoreError:
    """The error that says what shows the damage of a database."""
    cause = _SQLITE_CAUSES[sqlite3.SQLITE_CORRUPT].format(path=path)
    return StoreError(f"{path} {cause} ({what})")
