"""The database file: recognised, created, locked and migrated, with one-line errors.

Files of other programs are never changed, so a file is checked before it is opened for writing. A
new database is made beside its place and renamed into it, so that even after a crash a database of
ours is whole.
"""

import errno
import os
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from pollwise.errors import StoreBusyError, StoreError, StoreVersionError
from pollwise.store.sqlite.lock import FileUse, only_maker
from pollwise.store.sqlite.queries import migrations

__all__ = [
    "APPLICATION_ID",
    "check_readable",
    "check_usable",
    "damaged",
    "lock_for_writing",
    "open_for_reading",
    "open_for_writing",
    "reported",
    "undamaged_database",
]

APPLICATION_ID = 0x706F6C77
"""`polw`: marks a SQLite file as a database of pollwise."""

_DRAFTS = ".pollwise-draft-"
"""The begin of the names of folders in which databases are made."""

_BUSY_SECONDS = 10.0

_SQLITE_CAUSES = {
    sqlite3.SQLITE_NOTADB: "is not a database: choose another file",
    sqlite3.SQLITE_CORRUPT: "is damaged: restore a copy, or try 'sqlite3 FILE .recover'",
    sqlite3.SQLITE_FULL: "cannot grow, the disk is full: free some space",
    sqlite3.SQLITE_IOERR: "cannot be read or written: check the disk, its free space and quotas",
    sqlite3.SQLITE_READONLY: "cannot be written: check the permissions of the file and its folder",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened: check the permissions of the file and its folder",
    sqlite3.SQLITE_PERM: "cannot be opened: check the permissions of the file and its folder",
    sqlite3.SQLITE_BUSY: "is locked by another program: close that program",
    sqlite3.SQLITE_PROTOCOL: "cannot be locked: put it on a local disk, not on a network share",
}
_FULL_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}


@contextmanager
def reported(path: Path) -> Iterator[None]:
    """Turns errors of file, disk and operating system into a `StoreError` of one line.

    It is a `StoreBusyError` if another program did not give up its lock within ten seconds.

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
        kind = StoreBusyError if code & 0xFF == sqlite3.SQLITE_BUSY else StoreError
        raise kind(f"{path} {cause} ({error})") from error
    except OSError as error:
        if error.errno in _FULL_DISK:
            mend = "free some space"
        elif error.errno in _FORBIDDEN:
            mend = "check the permissions of the file and its folder"
        else:
            mend = "choose another file"
        raise StoreError(f"{path} cannot be used: {error.strerror}; {mend}") from error


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
    return StoreError(f"{path} {_SQLITE_CAUSES[sqlite3.SQLITE_CORRUPT]} ({what})")


def lock_for_writing(path: Path) -> FileUse:
    """Become the only writer of the database, which is made if there is none, until `release`.

    `StoreError` if there is another writer, or the file cannot be made or written.
    """
    while True:
        use = _lock_existing(path) or _make(path)
        if use is not None:
            return use


def open_for_writing(path: Path) -> sqlite3.Connection:
    """A connection to the database, which is migrated first; the lock must be held.

    `StoreError` if the file is not ours or cannot be written, `StoreVersionError` if a later
    version of pollwise wrote it.
    """
    _check_version(path)
    connection = _connect(path, "rw")
    try:
        _check_tables(connection, path)
        _tune(connection)
        # SQLite opens a file that it cannot write for reading: fail now, not at the first commit.
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        _migrate(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def open_for_reading(path: Path) -> sqlite3.Connection:
    """A connection that cannot write; a writer may be at work meanwhile.

    `StoreError` if the file is damaged or unreadable, `StoreVersionError` if another version of
    pollwise wrote it in another format.
    """
    version, known = _check_version(path), len(migrations())
    if version < known:
        raise StoreVersionError(
            f"{path} has format {version}, older than format {known} of this pollwise:"
            " start 'pollwise watch' once to convert it"
        )
    connection = _connect(path, "ro")
    try:
        _check_tables(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def check_readable(path: Path) -> None:
    """As `check_usable`, and `StoreError` if there is no file."""
    if not path.exists():
        raise StoreError(
            f"{path} does not exist: start 'pollwise watch' or 'pollwise collect' to make it"
        )
    check_usable(path)


def check_usable(path: Path) -> None:
    """`StoreError` unless the path is free, an empty file or a database of pollwise.

    It leaves the file and its folder as they are.
    """
    if not path.parent.is_dir():
        raise StoreError(f"{path}: there is no folder {path.parent}: make it, or choose another")
    if not path.exists():
        return
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        what = "a folder" if stat.S_ISDIR(status.st_mode) else "no regular file"
        raise StoreError(f"{path} is {what}: name a database file")
    if status.st_size and _application_id(path) != APPLICATION_ID:
        raise StoreError(f"{path} is a database of another program: choose another file")
    if status.st_nlink > 1:
        # What is newest is in the -wal file beside one name, and would be missed by another.
        raise StoreError(
            f"{path} has {status.st_nlink} names (hard links), and SQLite would mix up their data:"
            " remove the other names, or make each a copy"
        )


def _application_id(path: Path) -> int:
    # Immutable: so that no -wal and -shm files are left beside a file of another program.
    with closing(_connect(path, "ro", "&immutable=1")) as connection:
        try:
            return _pragma(connection, "application_id")
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_CORRUPT:
                raise
    # Part of it may still be in the -wal file, during a checkpoint or after a crash in one.
    with closing(_connect(path, "ro")) as connection:
        return _pragma(connection, "application_id")


def _check_version(path: Path) -> int:
    # Read-only, as the last writable connection changes the file when it closes.
    with closing(_connect(path, "ro")) as connection:
        version, known = _pragma(connection, "user_version"), len(migrations())
    if version > known:
        raise StoreVersionError(
            f"{path} has format {version}, this pollwise knows formats up to {known}:"
            " install a newer pollwise, or choose another file"
        )
    if version < 0:
        raise damaged(path, f"it says to have format {version}")
    return version


def _check_tables(connection: sqlite3.Connection, path: Path) -> None:
    """`StoreError` if a table or a column is missing that the format of the database has."""
    version = _pragma(connection, "user_version")
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as sound:
        _migrate(sound, version)
        missing = _columns(sound) - _columns(connection)
    for table, column in sorted(missing):
        raise damaged(path, f"the table {table} has no column {column}")


def _columns(connection: sqlite3.Connection) -> set[tuple[str, str]]:
    return set(
        connection.execute(
            "SELECT t.name, c.name FROM sqlite_master AS t, pragma_table_info(t.name) AS c"
            " WHERE t.type = 'table'"
        )
    )


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
    with only_maker(path.parent):
        if path.exists() and path.stat().st_size:
            return None
        _remove_drafts(path.parent)
        with tempfile.TemporaryDirectory(prefix=_DRAFTS, dir=path.parent) as folder:
            draft = Path(folder, "pollwise.db")
            os.close(os.open(draft, os.O_CREAT | os.O_EXCL, 0o644))
            use = FileUse.writing(draft)
            try:
                _create(draft)
                _put(draft, path)
            except BaseException:
                use.release()
                raise
        return use


def _remove_drafts(folder: Path) -> None:
    """Remove what a process left that died while it made a database; no other makes one now."""
    for left in folder.glob(f"{_DRAFTS}*"):
        status = left.lstat()
        if stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid():
            shutil.rmtree(left)


def _create(draft: Path) -> None:
    """Make a database of an empty file."""
    with closing(_connect(draft, "rw")) as connection:
        _tune(connection)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        _migrate(connection)


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


def _connect(path: Path, mode: str, more: str = "") -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.as_uri()}?mode={mode}{more}",
        uri=True,
        timeout=_BUSY_SECONDS,
        isolation_level=None,  # transactions begin and end where we say so
        check_same_thread=False,
    )


def _tune(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    # FULL: one fsync for each commit. With NORMAL, in WAL mode, commits reach the disk only at the
    # next checkpoint, so that a power loss would undo polls.
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA fullfsync = ON")  # matters on macOS only


def _migrate(connection: sqlite3.Connection, target: int | None = None) -> None:
    """Bring a database into the format `target`; None: the latest."""
    done = _pragma(connection, "user_version")
    for version, script in enumerate(migrations()[done:target], start=done + 1):
        try:
            connection.executescript(
                f"BEGIN IMMEDIATE;\n{script}\nPRAGMA user_version = {version};\nCOMMIT;"
            )
        except sqlite3.Error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    value: int = connection.execute(f"PRAGMA {name}").fetchone()[0]
    return value
