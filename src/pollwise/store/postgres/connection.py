"""The connection that the parts of a store share, with its transactions and one-line errors.

A connection that was lost is made anew at the next call. Where the answer of the server to a commit
of the writer was lost, the new session finds the number of the transaction, or that of the one
before, so that nothing is written twice. (The server's own numbers of transactions do not do: after
a crash it gives those out again that had not come to the disk.)
"""

import contextlib
import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import psycopg

from pollwise.errors import StoreBusyError, StoreError
from pollwise.store.place import PostgresDatabase
from pollwise.store.postgres.failures import damaged, is_locked, is_lost, reported
from pollwise.store.postgres.queries import SQL
from pollwise.store.tables.connection import Connection, Writer

__all__ = ["PostgresConnection", "PostgresWriter", "Session"]

_ROWS_AT_ONCE = 2000
_PATIENCE = 10.0
"""Seconds to wait for a server that is away, such as one that is restarted."""
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
        rows = iter(rows)
        with self._session.cursor() as cursor:
            while some := list(itertools.islice(rows, _ROWS_AT_ONCE)):
                cursor.executemany(SQL[query].encode(), some)

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

    `begin` raises a `StoreBusyError` if there may be one later; at first that is waited for only if
    another session has a lock. Sessions of the only writer (`is_writer`) number what they commit.
    """

    def __init__(
        self, place: PostgresDatabase, begin: Callable[[], Session], *, is_writer: bool = False
    ) -> None:
        super().__init__(place)
        self._writes = is_writer
        self._batch = 0
        self._place = place
        self._begin = begin
        try:
            self._session = begin()
        except StoreBusyError as error:
            if is_locked(error):
                raise
            raise StoreError(str(error)) from error  # a server that is away is not waited for
        self._is_closed = False
        self._is_within = False

    @property
    def is_writer(self) -> bool:
        """Whether it is that of the one that alone changes pages."""
        return self._writes

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

    def rows_in_parts(self, query: str, **values: object) -> Iterator[list[Any]]:
        """The same in parts, by a cursor of the server."""
        with (
            self.snapshot(),
            reported(self._place),
            self._session.cursor(name=query, binary=True) as cursor,
        ):
            cursor.execute(SQL[query].encode(), values)
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
                is_numbered = self._writes and self._number(session)
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
                if not (is_lost(error) and is_numbered and self._was_committed()):
                    raise

    def _number(self, session: Session) -> bool:
        """Number the transaction; whether it has written anything."""
        values = {"batch": self._batch + 1}
        is_numbered = session.execute(SQL["count_batch"].encode(), values).rowcount > 0
        self._batch += is_numbered
        return is_numbered

    def _was_committed(self) -> bool:
        """Whether the latest transaction was kept, whose commit got no answer.

        Waits for the server: nobody else knows. The lost session has ended by the time that the new
        one has its lock.
        """
        while True:
            with contextlib.suppress(StoreBusyError):
                [(batch,)] = self.rows("latest_batch")
                return bool(batch == self._batch)

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
