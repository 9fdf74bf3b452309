"""Requests to the process that has a database file open for writing."""

from contextlib import ExitStack
from pathlib import Path
from typing import Self

from pollwise.store.sqlite.connection import SqliteConnection
from pollwise.store.sqlite.database import check_readable, open_for_requests
from pollwise.store.sqlite.failures import undamaged_database
from pollwise.store.sqlite.lock import FileUse
from pollwise.store.store import Requester
from pollwise.store.tables.requests import TableRequests

__all__ = ["SqliteRequester"]


class SqliteRequester(TableRequests, Requester):
    """A `Requester` of a database file."""

    def __init__(self, connection: SqliteConnection, use: FileUse) -> None:
        self._connection = connection
        self._use = use

    @classmethod
    def asking(cls, place: Path) -> Self:
        """`StoreError` if there is no such database, `StoreVersionError` if another version of
        pollwise wrote it in another format.
        """
        with undamaged_database(place), ExitStack() as undo:
            check_readable(place)
            use = FileUse.reading(place)
            undo.callback(use.release)
            connection = open_for_requests(place)
            undo.pop_all()
            return cls(SqliteConnection(place, connection, use), use)

    def close(self) -> None:
        """End the use of the file."""
        try:
            self._connection.close()
        finally:
            self._use.release()
