"""The connection that the parts of a store share, with its transactions and one-line errors.

A connection that was lost is made anew at the next call. What was written by it is on the disk if
its transaction was committed; where the answer of the server to the commit was lost, the server is
asked what became of it (`pg_xact_status`), so that nothing is written twice.
"""

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import psycopg

from pollwise.errors import StoreBusyError, StoreError
from pollwise.store.place import PostgresDatabase
from pollwise.store.postgres.failures import damaged, is_lost, reported
from pollwise.store.postgres.queries import SQL
from pollwise.store.tables.connection import Connection, Writer

__all__ = ["PostgresConnection", "PostgresWriter", "Session"]

_ROWS_AT_ONCE = 2000
_PATIENCE = 10.0
"""Seconds to wait for a server that is away, such as one that is restarted."""
_COMMIT_PATIENCE = 60.0
"""Seconds to wait for the server that has to say whether a commit was kept."""
_LOOK_EVERY = 0.2

Session = psycopg.Connection[tuple[Any, ...]]
"""A connection of psycopg; it begins transactions where it is told to (autocommit)."""


class PostgresWriter:
    """A `Writer` by a session within a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def execute(
        self,
        query: str,
        values: Mapping[str, object] = {},
    ) -> psycopg.Cursor[tuple[Any, ...]]:
        """Carry out the statement of this name."""
        return self._session.execute(SQL[query].encode(), values, binary=True)

    def execute_all(self, query: str, rows: Iterable[Mapping[str, object]]) -> None:
        """Carry it out for each row of values, without waiting for each answer."""
        with self._session.cursor() as cursor:
            cursor.executemany(SQL[query].encode(), list(rows))

    def insert(self, query: str, rows: Sequence[tuple[object, ...]]) -> None:
        """Insert rows by a `COPY` statement."""
        with self._session.cursor() as cursor, cursor.copy(SQL[query].encode()) as copy:
            for row in rows:
                copy.write_row(row)

    def storable(self, text: str | None) -> bytes | None:
        """The bytes of text from the web, which may have NUL and lone surrogates."""
        return None if text is None else text.encode("utf-8", "surrogatepass")


class PostgresConnection(Connection):
    """A connection to the database at `place`, by sessions that `begin` gives.

    `begin` raises a `StoreBusyError` if there may be one later.
    """

    def __init__(self, place: PostgresDatabase, begin: Callable[[], Session]) -> None:
        super().__init__(place)
        self._place = place
        self._begin = begin
        try:
            self._session = begin()
        except StoreBusyError as error:  # a server that is away at the start is not waited for
            raise StoreError(str(error)) from error
        self._is_closed = False
        self._is_within = False

    def damaged(self, what: object) -> StoreError:
        """The error that says what shows the damage of the database."""
        return damaged(self._place, what)

    def close(self) -> None:
        """End the session; closing twice is no error."""
        self._is_closed = True
        if not self._session.closed:
            # The server would do it a little later, and who opens the store next may be quicker.
            with contextlib.suppress(psycopg.Error):
                self._session.execute(SQL["unlock"].encode())
        self._session.close()

    def rows(self, query: str, **values: object) -> list[Any]:
        """The rows of a query of `queries.sql`."""
        if self._is_within:
            with reported(self._place):
                return self._session.execute(SQL[query].encode(), values, binary=True).fetchall()
        session = self._live()
        with reported(self._place):
            try:
                return session.execute(SQL[query].encode(), values, binary=True).fetchall()
            except psycopg.OperationalError as error:
                if not is_lost(error):
                    raise
            # That it was lost shows only now.
            return self._live().execute(SQL[query].encode(), values, binary=True).fetchall()

    def rows_in_parts(self, query: str) -> Iterator[list[Any]]:
        """The same of a query without parameters, in parts, by a cursor of the server."""
        with (
            self.snapshot(),
            reported(self._place),
            self._session.cursor(name=query, binary=True) as cursor,
        ):
            cursor.execute(SQL[query].encode())
            while rows := cursor.fetchmany(_ROWS_AT_ONCE):
                yield rows

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Writer]:
        """A context whose writes are on the disk at its end; after an error none of them is.

        Within another one they are part of that: an error drops only what came in this one.
        """
        if self._is_within:
            with reported(self._place), self._session.transaction():
                yield PostgresWriter(self._session)
            return
        with self._whole("BEGIN"):
            yield PostgresWriter(self._session)

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """See `StoreReader.snapshot`; snapshots may be nested."""
        if self._is_within:
            yield
            return
        with self._whole("BEGIN ISOLATION LEVEL REPEATABLE READ"):
            yield

    @contextlib.contextmanager
    def _whole(self, begin: str) -> Iterator[None]:
        """A transaction that is in no other one."""
        session = self._live()
        with reported(self._place):
            try:
                session.execute(begin.encode())
            except psycopg.OperationalError as error:
                if not is_lost(error):
                    raise
                # That it was lost shows only now.
                session = self._live()
                session.execute(begin.encode())
            self._is_within = True
            try:
                yield
                written = session.execute(SQL["transaction_id"].encode()).fetchone()
            except BaseException:
                try:
                    if not session.closed:
                        session.execute(b"ROLLBACK")
                except psycopg.Error:  # it was lost, and the transaction with it
                    session.close()
                raise
            finally:
                self._is_within = False
            try:
                session.execute(b"COMMIT")
            except psycopg.OperationalError as error:
                number = written[0] if written else None
                if not (is_lost(error) and number and self._was_committed(number)):
                    raise

    def _was_committed(self, number: str) -> bool:
        """What became of a transaction whose commit got no answer; `StoreError` if nobody tells."""
        give_up_at = time.monotonic() + _COMMIT_PATIENCE
        while time.monotonic() < give_up_at:
            with contextlib.suppress(StoreBusyError):
                rows = self.rows("transaction_status", id=number)
                if rows[0][0] != "in progress":
                    return bool(rows[0][0] == "committed")
            time.sleep(_LOOK_EVERY)
        raise StoreError(
            f"{self._place} was lost while it kept a batch, and is away since: whether the batch is"
            " there is not known; start the server, then this again"
        )

    def _live(self) -> Session:
        """The session, or a new one in place of one that was lost."""
        if not self._session.closed:
            return self._session
        if self._is_closed:
            raise psycopg.InterfaceError("the store is closed")
        give_up_at = time.monotonic() + _PATIENCE
        while True:
            try:
                self._session = self._begin()
                return self._session
            except StoreBusyError:
                if time.monotonic() > give_up_at:
                    raise
            time.sleep(_LOOK_EVERY)
