"""The connection that the parts of a store share, with its transactions and one-line errors."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pollwise.store.sqlite.columns import unsound_column
from pollwise.store.sqlite.failures import damaged, undamaged_database
from pollwise.store.sqlite.queries import SQL

__all__ = ["Connection"]

_ROWS_AT_ONCE = 2000


class Connection:
    """A connection to the database at `path`; file and disk errors are `StoreError`s."""

    def __init__(self, path: Path, sqlite: sqlite3.Connection) -> None:
        self.path = path
        self._sqlite = sqlite

    def close(self) -> None:
        """End the use of the file; closing twice is no error."""
        with undamaged_database(self.path):
            self._sqlite.close()

    def rows(self, query: str, **values: object) -> list[Any]:
        """The rows of a query of `queries.sql`; `StoreError` if they hold what nobody wrote."""
        with undamaged_database(self.path):
            rows = self._sqlite.execute(SQL[query], values).fetchall()
        if unsound_column(query, rows) is not None:
            raise damaged(self.path, "a stored value is not what anybody wrote")
        return rows

    def rows_in_parts(self, query: str) -> Iterator[list[Any]]:
        """The same of a query without parameters, in parts, for whom one list would be too long.

        They are of one state of the file; nothing may be written before the last one.
        """
        with undamaged_database(self.path):
            cursor = self._sqlite.execute(SQL[query])
        while True:
            with undamaged_database(self.path):
                rows = cursor.fetchmany(_ROWS_AT_ONCE)
            if unsound_column(query, rows) is not None:
                raise damaged(self.path, "a stored value is not what anybody wrote")
            if not rows:
                return
            yield rows

    def row(self, query: str, **values: object) -> Any:
        """The row of a query that always has one."""
        rows = self.rows(query, **values)
        if not rows:
            raise damaged(self.path, "what it counts is missing")
        return rows[0]

    def rows_by_key(
        self, query: str, limit: int, *, after: int = -1, **values: object
    ) -> Iterator[Any]:
        """All rows of a query, read in portions; their first column is an ascending key.

        It is larger than `after`.
        """
        while rows := self.rows(query, after=after, limit=limit, **values):
            keys = [row[0] for row in rows]
            # Else a damaged tree could lead in a circle.
            if any(key <= before for before, key in zip([after, *keys], keys, strict=False)):
                raise damaged(self.path, "stored values are out of order")
            yield from rows
            after = keys[-1]

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """A context whose writes are on the disk at its end; after an error none of them is.

        Within another one they are part of that: an error drops only what came in this one.
        """
        if self._sqlite.in_transaction:
            with self._savepoint():
                yield self._sqlite
            return
        with undamaged_database(self.path):
            self._sqlite.execute("BEGIN IMMEDIATE")
            try:
                yield self._sqlite
                self._sqlite.execute("COMMIT")
            except BaseException:
                # After a full disk or an I/O error SQLite has rolled back already.
                if self._sqlite.in_transaction:
                    self._sqlite.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def _savepoint(self) -> Iterator[None]:
        with undamaged_database(self.path):
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
        with undamaged_database(self.path):
            self._sqlite.execute("BEGIN")
            try:
                yield
            finally:
                self._sqlite.execute("COMMIT")
