"""The connection that the parts of a store share, with its transactions and one-line errors."""

import contextlib
import itertools
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pollwise.errors import StoreError
from pollwise.store.sqlite.columns import unsound_among, unsound_column
from pollwise.store.sqlite.failures import damaged, undamaged_database
from pollwise.store.sqlite.file_format import UnlockedConnection, bring_together
from pollwise.store.sqlite.lock import FileUse
from pollwise.store.sqlite.queries import SQL
from pollwise.store.tables.connection import Columns, Connection, Writer

__all__ = ["SqliteConnection", "SqliteWriter"]

_ROWS_AT_ONCE = 500
"""Few enough to stay in the processor's cache until they are taken in: a tenth of the time."""
_MOST_INSERTED = 32
"""Rows that one statement inserts: some systems allow it 999 values."""


class SqliteWriter:
    """A `Writer` by a connection within a transaction."""

    def __init__(self, sqlite: sqlite3.Connection) -> None:
        self._sqlite = sqlite

    def execute(self, query: str, values: Mapping[str, object] = {}) -> sqlite3.Cursor:
        """Carry out the statement of this name."""
        return self._sqlite.execute(SQL[query], values)

    def execute_all(self, query: str, rows: Iterable[Mapping[str, object]]) -> None:
        """Carry it out for each row of values."""
        self._sqlite.executemany(SQL[query], rows)

    def insert(self, query: str, rows: Sequence[tuple[object, ...]]) -> None:
        """Insert rows by a statement for one of them."""
        head, values, row = SQL[query].rstrip(";").partition("VALUES ")
        begin = 0
        while begin < len(rows):
            # Powers of two, as a statement of each length has to be prepared once.
            count = min(1 << (len(rows) - begin).bit_length() - 1, _MOST_INSERTED)
            told = itertools.chain.from_iterable(rows[begin : begin + count])
            self._sqlite.execute(f"{head}{values}{', '.join([row] * count)}", tuple(told))
            begin += count

    def storable(self, text: str | None) -> str | bytes | None:
        """Text from the web as SQLite can hold it, without loss.

        A header with bytes that are not UTF-8 has lone surrogates here. SQLite's text cannot hold
        those, but the server wants its etag back unchanged.
        """
        if text is None or text.isascii():  # as most is
            return text
        try:
            text.encode()
        except UnicodeEncodeError:
            return text.encode("utf-8", "surrogatepass")
        return text


class SqliteConnection(Connection):
    """A connection to the file at `path`."""

    def __init__(self, path: Path, sqlite: sqlite3.Connection, use: FileUse) -> None:
        super().__init__(path)
        self._file = path
        self._use = use
        self._sqlite = sqlite
        self._is_unlocked = isinstance(sqlite, UnlockedConnection)
        self._as_opened = self._state_of_file() if self._is_unlocked else None
        self._writer = SqliteWriter(sqlite)

    @property
    def is_writer(self) -> bool:
        """Whether it is that of the one that alone changes pages."""
        return self._use.writes

    def damaged(self, what: object) -> StoreError:
        """The error that says what shows the damage of the file."""
        return damaged(self._file, what)

    def close(self) -> None:
        """End the use of the file; closing twice is no error.

        A writer brings what is newest into the file itself, as people copy and move a file whose
        writer has ended; but for what is newer than what somebody is reading just now.
        """
        with undamaged_database(self._file):
            if self._use.writes and self._use.is_of(self._file):
                with contextlib.suppress(sqlite3.Error):  # closed already
                    self._sqlite.execute("PRAGMA busy_timeout = 0")
                bring_together(self._sqlite, "TRUNCATE")
            self._sqlite.close()

    def rows(self, query: str, **values: object) -> list[Any]:
        """The rows of a query of `queries.sql`; `StoreError` if they hold what nobody wrote."""
        with self._reading():
            rows = self._sqlite.execute(SQL[query], values).fetchall()
            self._require_sound(unsound_column(query, rows))
        return rows

    def rows_in_parts(self, query: str, **values: object) -> Iterator[list[Any]]:
        """The same in parts, for whom one list would be too long.

        They are of one state of the file; nothing may be written before the last one.
        """
        for rows in self._unchecked_parts(query, values):
            self._require_sound(unsound_column(query, rows))
            yield rows

    def columns_in_parts(self, query: str, **values: object) -> Iterator[Columns]:
        """The columns of each part."""
        for rows in self._unchecked_parts(query, values):
            columns = [*zip(*rows, strict=True)]
            self._require_sound(unsound_among(query, columns))
            yield columns

    def _unchecked_parts(self, query: str, values: Mapping[str, object]) -> Iterator[list[Any]]:
        with self._reading():
            cursor = self._sqlite.execute(SQL[query], values)
        while True:
            with self._reading():
                rows = cursor.fetchmany(_ROWS_AT_ONCE)
            if not rows:
                return
            yield rows

    def _require_sound(self, unsound: str | None) -> None:
        """`StoreError` if something is wrong with the values of a query."""
        if unsound is not None:
            raise damaged(self._file, "a stored value is not what anybody wrote")

    def _state_of_file(self) -> tuple[int, int, int] | None:
        """What is another one once the file, or what is newest beside it, was written to, or has
        gone.
        """
        newest = self._file.with_name(f"{self._file.name}-wal")
        with contextlib.suppress(FileNotFoundError):
            found = self._file.stat()
            beside = newest.stat().st_size if newest.exists() else 0
            return found.st_mtime_ns, found.st_size, beside
        return None

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        """A context in which we read; `StoreError` if what was read may be of several states."""
        try:
            with undamaged_database(self._file):
                yield
        finally:
            if self._is_unlocked and self._state_of_file() != self._as_opened:
                raise StoreError(
                    f"{self._file} was written to while it was read by a user who cannot write it"
                    " or its folder, and so keeps nobody from that: read it again"
                )

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Writer]:
        """A context whose writes are on the disk at its end; after an error none of them is.

        Within another one they are part of that: an error drops only what came in this one.
        `StoreError` if the file was moved, removed or replaced since it was opened.
        """
        if self._sqlite.in_transaction:
            with self._savepoint():
                yield self._writer
            return
        with undamaged_database(self._file):
            self._require_its_name()
            self._sqlite.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                self._sqlite.execute("COMMIT")
            except BaseException:
                # After a full disk or an I/O error SQLite has rolled back already.
                if self._sqlite.in_transaction:
                    self._sqlite.execute("ROLLBACK")
                raise

    def _require_its_name(self) -> None:
        """`StoreError` if the file has it no more: what is written then would be lost."""
        if self._use.is_of(self._file):
            return
        name = self._file.name
        raise StoreError(
            f"{self._file} was moved, removed or replaced while it was in use: what comes now would"
            f" be lost. If it was moved, move it back: {name}-wal, if it stayed, has its latest"
            f" changes. Before another file is used by this name remove {name}-wal and {name}-shm,"
            " if they are there: they belong to the one before"
        )

    @contextlib.contextmanager
    def _savepoint(self) -> Iterator[None]:
        with undamaged_database(self._file):
            self._sqlite.execute("SAVEPOINT within")
            try:
                yield
            except BaseException:
                if self._sqlite.in_transaction:
                    self._sqlite.execute("ROLLBACK TO within")
                raise
            finally:
                if self._sqlite.in_transaction:
                    self._sqlite.execute("RELEASE within")

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """See `StoreReader.snapshot`; snapshots may be nested."""
        if self._sqlite.in_transaction:
            yield
            return
        # Only our own statements: what else fails within is no trouble of the file.
        with undamaged_database(self._file):
            self._sqlite.execute("BEGIN")
        try:
            yield
        finally:
            with undamaged_database(self._file):
                self._sqlite.execute("COMMIT")
