"""The database file: recognised, checked and opened.

Files of other programs are never changed, so a file is checked before it is opened for writing.
"""

import sqlite3
import stat
from contextlib import closing
from functools import cache
from pathlib import Path

from pollwise.errors import StoreError, StoreVersionError
from pollwise.store.sqlite.failures import damaged
from pollwise.store.sqlite.file_format import (
    APPLICATION_ID,
    OTHER_FILES,
    bring_together,
    connect,
    connect_to_read,
    latest_format,
    pragma,
    prepare,
    steps_to,
)
from pollwise.store.sqlite.upgrading import keep_older

__all__ = [
    "check_readable",
    "check_usable",
    "open_for_reading",
    "open_for_requests",
    "open_for_writing",
]


def check_readable(path: Path) -> None:
    """As `check_usable`, and `StoreError` if there is no file."""
    if not path.exists():
        raise StoreError(
            f"{path} does not exist: name another with --db, or start 'pollwise watch' or"
            " 'pollwise collect' to make it"
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
    if status.st_size and (found := _application_id(path)) != APPLICATION_ID:
        if found in OTHER_FILES:
            what, call = OTHER_FILES[found]
            raise StoreError(
                f"{path} holds {what}, no watch or collection: choose another file; in Python"
                f" {call.format(path.name)} tells what was learned there"
            )
        raise StoreError(f"{path} is a database of another program: choose another file")
    if status.st_nlink > 1:
        # What is newest is in the -wal file beside one name, and would be missed by another.
        raise StoreError(
            f"{path} has {status.st_nlink} names (hard links), and SQLite would mix up their data:"
            " remove the other names, or make each a copy"
        )


def open_for_writing(path: Path) -> tuple[sqlite3.Connection, Path | None]:
    """A connection to the database, which is migrated first; the lock must be held.

    The other answer is where a copy of the database is kept as it was before: None if it had the
    latest format already.

    `StoreError` if the file is not ours or cannot be written, `StoreVersionError` if a later
    version of pollwise wrote it.
    """
    _check_version(path)
    connection = connect(path, "rw")
    try:
        _check_tables(connection, path)
        # Else a start on a disk that was full needs room behind all that the last run wrote.
        bring_together(connection, "PASSIVE")
        copy = keep_older(connection, path)
        prepare(connection)
    except BaseException:
        connection.close()
        raise
    return connection, copy


def open_for_reading(path: Path) -> sqlite3.Connection:
    """A connection that cannot write, as of `connect_to_read`; a writer may be at work meanwhile.

    `StoreError` if the file is damaged or unreadable, `StoreVersionError` if another version of
    pollwise wrote it in another format.
    """
    _check_format(path)
    return _checked(connect_to_read(path), path)


def _check_format(path: Path) -> None:
    """`StoreVersionError` unless the database has the format of this version."""
    if path.exists() and path.stat().st_size == 0:
        raise StoreError(f"{path} is empty: 'pollwise watch' makes a database of it")
    version, known = _check_version(path), latest_format()
    if version < known:
        raise StoreVersionError(
            f"{path} has format {version}, older than format {known} of this pollwise:"
            " 'pollwise watch', 'collect' or 'serve', whichever polls it, converts it"
        )


def open_for_requests(path: Path) -> sqlite3.Connection:
    """A connection for short writes beside the one writer; errors as for `open_for_reading`."""
    _check_format(path)
    return _checked(connect(path, "rw"), path)


def _checked(connection: sqlite3.Connection, path: Path) -> sqlite3.Connection:
    try:
        _check_tables(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _application_id(path: Path) -> int:
    # Immutable: so that no -wal and -shm files are left beside a file of another program.
    with closing(connect(path, "ro", unlocked=True)) as connection:
        try:
            return pragma(connection, "application_id")
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_CORRUPT:
                raise
    # Part of it may still be in the -wal file, during a checkpoint or after a crash in one.
    with closing(connect_to_read(path)) as connection:
        return pragma(connection, "application_id")


def _check_version(path: Path) -> int:
    # Read-only, as the last writable connection changes the file when it closes.
    with closing(connect_to_read(path)) as connection:
        version, known = pragma(connection, "user_version"), latest_format()
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
    version = pragma(connection, "user_version")
    missing = _columns_made_by(steps_to(version)) - _columns(connection)
    for table, column in sorted(missing):
        raise damaged(path, f"the table {table} has no column {column}")


@cache
def _columns_made_by(steps: tuple[str, ...]) -> frozenset[tuple[str, str]]:
    """All tables and their columns after these scripts."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as sound:
        sound.executescript("\n".join(steps))
        return _columns(sound)


def _columns(connection: sqlite3.Connection) -> frozenset[tuple[str, str]]:
    return frozenset(
        connection.execute(
            "SELECT t.name, c.name FROM sqlite_master AS t, pragma_table_info(t.name) AS c"
            " WHERE t.type = 'table'"
        )
    )
