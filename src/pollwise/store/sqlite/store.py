"""The store in one SQLite file.

A commit that returned is on the disk (WAL, `synchronous = FULL`, one fsync each) and survives the
death of the process and a power loss. A commit that did not return is there as a whole or not at
all.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from pollwise.store.records import Discoveries, Discovery, Fetched, Hit
from pollwise.store.sqlite.collection import (
    read_history,
    read_terms,
    read_terms_of,
    save_discoveries,
    save_new_pages,
    settle,
)
from pollwise.store.sqlite.connection import SqliteConnection
from pollwise.store.sqlite.creation import lock_for_writing
from pollwise.store.sqlite.database import (
    check_readable,
    check_usable,
    open_for_reading,
    open_for_writing,
)
from pollwise.store.sqlite.failures import undamaged_database
from pollwise.store.sqlite.lock import FileUse, no_older_writer
from pollwise.store.sqlite.search import count_matches, search
from pollwise.store.tables.connection import Writer
from pollwise.store.tables.store import TableStore

__all__ = ["SqliteStore"]


class SqliteStore(TableStore):
    """A `Store` in one SQLite file."""

    def __init__(self, path: Path, connection: sqlite3.Connection, use: FileUse) -> None:
        super().__init__(SqliteConnection(path, connection, use))
        self._use: FileUse | None = use

    @classmethod
    def writing(cls, place: Path, *, durable: bool = True) -> Self:
        """See `Store.open`."""
        with undamaged_database(place), ExitStack() as undo:
            check_usable(place)
            use = lock_for_writing(place)
            undo.callback(use.release)
            with no_older_writer(place):
                connection, copy = open_for_writing(place)
            undo.callback(connection.close)
            if not durable:
                connection.execute("PRAGMA synchronous = OFF")
            use.confirm()
            undo.pop_all()
            store = cls(place, connection, use)
            store.older_copy = copy
            return store

    @classmethod
    def reading(cls, place: Path) -> Self:
        """See `Store.open_readonly`."""
        with undamaged_database(place), ExitStack() as undo:
            check_readable(place)
            # First, or a writer of this process that closes now would end the reader's locks.
            use = FileUse.reading(place)
            undo.callback(use.release)
            connection = open_for_reading(place)
            undo.pop_all()
            return cls(place, connection, use)

    def close(self) -> None:
        try:
            self._connection.close()
        finally:
            if self._use is not None:
                self._use.release()
                self._use = None

    def history(self) -> Iterator[Fetched]:
        return read_history(self._connection)

    def terms_of(self, page_id: int) -> tuple[bool, bytes] | None:
        return read_terms_of(self._connection, page_id)

    def terms(self) -> Iterator[tuple[int, bytes]]:
        return read_terms(self._connection)

    def search(self, query: str, limit: int = 10, offset: int = 0) -> list[Hit]:
        return search(self._connection, query, limit, offset)

    def count_matches(self, query: str) -> int:
        return count_matches(self._connection, query)

    def searchable_pages(self) -> int:
        count: int = self._connection.row("searchable_pages")[0]
        return count

    def _save_new_pages(self, writer: Writer, new_pages: Sequence[Discovery]) -> None:
        save_new_pages(writer, new_pages)

    def _save_discoveries(self, writer: Writer, discovered: Sequence[Discoveries]) -> None:
        save_discoveries(writer, self.path, discovered)

    def _settle(self, writer: Writer, page_ids: Iterable[int]) -> None:
        values = {"page_ids": json.dumps(sorted(set(page_ids)))}
        for (page_id,) in writer.execute("unsettled", values).fetchall():
            settle(writer, self.path, page_id)
