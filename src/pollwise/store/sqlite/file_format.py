"""The marks and tables by which a file is a database of pollwise, and connections to it."""

import contextlib
import os
import sqlite3
from pathlib import Path

from pollwise.errors import StoreError
from pollwise.store.sqlite.queries import migrations

__all__ = [
    "APPLICATION_ID",
    "CRAWL_ID",
    "FRONTIER_ID",
    "OTHER_FILES",
    "UnlockedConnection",
    "bring_together",
    "connect",
    "connect_to_read",
    "latest_format",
    "migrate",
    "pragma",
    "prepare",
    "steps_to",
]

APPLICATION_ID = 0x706F6C77
"""`polw`: marks a SQLite file as a database of pollwise."""
FRONTIER_ID = 0x706F6C66
"""`polf`: marks the file of a frontier."""
CRAWL_ID = 0x706F6C73
"""`pols`: marks that of a crawl by Scrapy."""
OTHER_FILES = {
    FRONTIER_ID: ("a frontier", "pollwise.frontier.estimates('{}')"),
    CRAWL_ID: ("a crawl by Scrapy", "pollwise.Schedule.load('{}.schedule')"),
}
"""What else pollwise keeps in SQLite (see `owned_file`), and what tells what was learned there, by
the name of the file."""

_BUSY_SECONDS = 10.0
_AS_USED = {"effective_ids": True} if os.access in os.supports_effective_ids else {}


class UnlockedConnection(sqlite3.Connection):
    """A connection to a file that nothing is kept from writing to meanwhile."""


def connect(path: Path, mode: str, *, unlocked: bool = False) -> sqlite3.Connection:
    """A connection in one of SQLite's modes (`ro`, `rw`)."""
    return sqlite3.connect(
        f"{path.as_uri()}?mode={mode}{'&immutable=1' if unlocked else ''}",
        uri=True,
        factory=UnlockedConnection if unlocked else sqlite3.Connection,
        timeout=_BUSY_SECONDS,
        isolation_level=None,  # transactions begin and end where we say so
        check_same_thread=False,
    )


def connect_to_read(path: Path) -> sqlite3.Connection:
    """A connection that cannot write, also to a file that this user cannot write, or its folder.

    There it is an `UnlockedConnection`, unless the file of its locks is there: SQLite cannot make
    it or, in a folder that can be written, would leave one behind that belongs to this user, and
    who may write to the database could not any more. `StoreError` if what is newest is beside the
    file, and cannot be read for lack of that file.
    """
    newest, locks = (path.with_name(path.name + suffix) for suffix in ("-wal", "-shm"))
    is_writable = all(os.access(one, os.W_OK, **_AS_USED) for one in (path, path.parent))
    if is_writable or (newest.exists() and locks.exists()):
        return connect(path, "ro")
    if newest.exists() and newest.stat().st_size:
        raise StoreError(
            f"{path} is in a read-only place, and what is newest is in {newest.name} beside it:"
            " copy both into another folder, and name that copy"
        )
    return connect(path, "ro", unlocked=True)


def prepare(connection: sqlite3.Connection) -> None:
    """Make a database of an empty file, or bring one of ours into the latest format."""
    connection.execute("PRAGMA journal_mode = WAL")
    # FULL: one fsync for each commit. With NORMAL, in WAL mode, commits reach the disk only at the
    # next checkpoint, so that a power loss would undo polls.
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA fullfsync = ON")  # matters on macOS only
    connection.execute("PRAGMA temp_store = MEMORY")  # a folder for it may be full or locked
    # In 2 MB, as by default, the URLs of a large list have no room: their index is read again for
    # every page that is discovered.
    connection.execute("PRAGMA cache_size = -32768")  # KiB
    # SQLite opens a file that it cannot write for reading: fail now, not at the first commit.
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    migrate(connection, latest_format())


def bring_together(connection: sqlite3.Connection, mode: str) -> None:
    """Bring what is newest into the file itself, as far as readers and the disk let.

    `mode`: PASSIVE, after which the -wal file is written from its begin, or TRUNCATE, after which
    it is empty, too.
    """
    with contextlib.suppress(sqlite3.Error):  # what stays in the -wal file is as safe
        connection.execute(f"PRAGMA wal_checkpoint({mode})")


def latest_format() -> int:
    """The number of the format that this version of pollwise reads and writes."""
    return len(migrations())


def steps_to(target: int) -> tuple[str, ...]:
    """The scripts that make the tables of the format `target` of none."""
    return tuple(migrations()[:target])


def migrate(connection: sqlite3.Connection, target: int) -> None:
    """Bring the tables of a database into the format `target`, if they have an older one.

    All steps are one transaction: each one alone would wait for the disk.
    """
    done = pragma(connection, "user_version")
    steps = steps_to(target)[done:]
    if not steps:
        return
    script, version = "\n".join(steps), done + len(steps)
    try:
        connection.executescript(
            f"BEGIN IMMEDIATE;\n{script}\nPRAGMA user_version = {version};\nCOMMIT;"
        )
    except sqlite3.Error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def pragma(connection: sqlite3.Connection, name: str) -> int:
    """The value of a pragma that is a number."""
    value: int = connection.execute(f"PRAGMA {name}").fetchone()[0]
    return value
