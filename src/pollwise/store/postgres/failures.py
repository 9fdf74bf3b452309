"""What goes wrong with a PostgreSQL database, as errors of one line."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from pollwise.errors import InputError, StoreBusyError, StoreDiskError, StoreError
from pollwise.store.place import PostgresDatabase
from pollwise.texts import one_line, printable

__all__ = ["damaged", "is_locked", "is_lost", "reported", "unreachable"]

_LOCKED = "55P03"
_BUSY = {
    "40001",  # serialization failure
    "40P01",  # deadlock
    "53300",  # too many connections
    _LOCKED,  # lock timeout
    "57014",  # cancelled by somebody
}
_ENDED = ("08", "57P", "25P03", "25P04")
"""The begins of the codes of a server that ends a session, or takes none yet."""
_CAUSES = {
    "25006": "cannot be written: it was opened for reading, or the server is a standby",
    "42501": "does not let its user do this: grant that, or name another user",
    "53100": "cannot grow, the disk of the server is full: free some space there",
    "53200": "is on a server that has no memory left: wait, or give it more",
    "58030": "is on a server whose disk fails: see its log",
    "XX001": "is damaged: restore a copy",
    "XX002": "is damaged: restore a copy, or REINDEX it",
}
_OF_DISK = {"53100", "53200", "58030"}
_REFUSED = "FATAL:"
"""What a server says that was reached, and takes no session, before it says why."""
_TOO_LARGE = "54000"
_MISSING = {"42P01", "42703"}
"""The codes for a table and for a column that is not there."""


def is_lost(error: psycopg.Error) -> bool:
    """Whether the connection has ended, so that the next one may do better."""
    code = error.sqlstate or ""
    is_of_connection = isinstance(error, psycopg.OperationalError) and not code
    return is_of_connection or code.startswith(_ENDED)


def is_locked(error: StoreBusyError) -> bool:
    """Whether the server answered, and another session holds what was asked for."""
    return isinstance(error.__cause__, psycopg.Error) and error.__cause__.sqlstate == _LOCKED


@contextmanager
def reported(place: PostgresDatabase) -> Iterator[None]:
    """Turns what the server or the way to it does wrong into a `StoreError` of one line.

    It is a `StoreBusyError` if the same call may do better, also as the connection was lost, and a
    `StoreDiskError` if the disk takes no more. `InputError` for values that PostgreSQL cannot hold.
    Other errors are bugs of ours and pass.
    """
    try:
        yield
    except psycopg.Error as error:
        code = error.sqlstate or ""
        why = _why(error)
        if code in _CAUSES:
            kind = StoreDiskError if code in _OF_DISK else StoreError
            raise kind(f"{place} {_CAUSES[code]} ({why})") from error
        if code in _MISSING:
            raise damaged(place, why) from error
        if code in _BUSY or is_lost(error):
            raise StoreBusyError(f"{place} does not answer ({why})") from error
        if isinstance(error, psycopg.DataError) or code == _TOO_LARGE:
            raise InputError(f"{place} cannot hold a value ({why})") from error
        raise


def unreachable(place: PostgresDatabase, error: psycopg.Error) -> StoreError:
    """The error that says why there is no connection; a `StoreBusyError` if there may be one."""
    if isinstance(error, psycopg.ProgrammingError):
        # Its words are those of the address, a password included.
        return StoreError(
            f"{place} cannot be read as an address: write what is no letter or digit in its parts"
            " percent-encoded, and a password into PGPASSWORD"
        )
    why = _why(error)
    if is_lost(error):
        mend = "start the server, or correct the address after --db"
        if error.pgconn is not None and error.pgconn.needs_password:
            mend = "give the password in PGPASSWORD or ~/.pgpass"
        elif _REFUSED in why:
            mend = "mend what the server says, or correct the address after --db"
        return StoreBusyError(f"{place} cannot be reached ({why}): {mend}")
    return StoreError(f"{place} cannot be opened ({why}): correct the address after --db")


def _why(error: psycopg.Error) -> str:
    """What the server says is wrong, without our statement, which says nothing to users."""
    return printable(error.diag.message_primary or "") or one_line(error)


def damaged(place: PostgresDatabase, what: object) -> StoreError:
    """The error that says what shows the damage of a database."""
    return StoreError(f"{place} is damaged: restore a copy ({what})")
