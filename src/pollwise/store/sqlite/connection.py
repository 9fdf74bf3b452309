"""The connection that the parts of a store share, with its transactions and one-line errors."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pollwise.store.sqlite.database import reported
from pollwise.store.sqlite.queries import SQL

__all__ = ["Connection"]


class Connection:
    """A connection to the database at `path`; file and disk errors are `StoreError`s."""

    def __init__(self, path: Path, sqlite: sqlite3.Connection) -> None:
        self.path = path
        self._sqlite = sqlite

    def close(self) -> None:
        """End the use of the file; closing twice is no error."""
        with reported(self.path):
            self._sqlite.close()

    def rows(self, query: str, **values: object) -> list[Any]:
        """The rows of a query of `queries.sql`."""
        with reported(self.path):
            return self._sqlite.execute(SQL[query], values).fetchall()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """A context whose writes are on the disk at its end; after an error none of them is."""
        with reported(self.path):
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
    def snapshot(self) -> Iterator[None]:
        """See `StoreReader.snapshot`; snapshots may be nested."""
        if self._sqlite.in_transaction:
            yield
            return
        with reported(self.path):
            self._sqlite.execute("BEGIN")
            try:
                yield
            finally:
                self._sqlite.execute("COMMIT")
