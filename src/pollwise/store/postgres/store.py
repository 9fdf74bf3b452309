"""The store in a PostgreSQL database.

A commit that returned is on the disk of the server. A commit that did not return is there as a
whole or not at all. The writer holds an advisory lock of its session, so that the lock ends with
the process: at once, or after a quarter of a minute if its machine is gone.

Collections need SQLite: what is only of them is refused here.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import NoReturn, Self

from pollwise.errors import InputError
from pollwise.store.place import PostgresDatabase
from pollwise.store.postgres.connection import PostgresConnection
from pollwise.store.postgres.database import (
    WriterName,
    reading_session,
    requesting_session,
    writing_session,
)
from pollwise.store.records import Discoveries, Discovery, Fetched, Hit
from pollwise.store.store import Requester
from pollwise.store.tables.connection import Writer
from pollwise.store.tables.requests import TableRequests
from pollwise.store.tables.store import TableStore

__all__ = ["PostgresRequester", "PostgresStore"]


class PostgresStore(TableStore):
    """A `Store` in the first schema of a PostgreSQL database's search path."""

    @classmethod
    def writing(cls, place: PostgresDatabase, *, durable: bool = True) -> Self:
        """See `Store.open`."""
        begin = partial(writing_session, place, WriterName(), durable=durable)
        return cls(PostgresConnection(place, begin, is_writer=True))

    @classmethod
    def reading(cls, place: PostgresDatabase) -> Self:
        """See `Store.open_readonly`."""
        return cls(PostgresConnection(place, partial(reading_session, place)))

    def close(self) -> None:
        self._connection.close()

    def history(self) -> Iterator[Fetched]:
        self._refuse()

    def terms_of(self, page_id: int) -> tuple[bool, bytes] | None:
        self._refuse()

    def terms(self) -> Iterator[tuple[int, bytes]]:
        self._refuse()

    def search(self, query: str, limit: int = 10, offset: int = 0) -> list[Hit]:
        self._refuse()

    def count_matches(self, query: str) -> int:
        self._refuse()

    def searchable_pages(self) -> int:
        return 0

    def _save_new_pages(self, writer: Writer, new_pages: Sequence[Discovery]) -> None:
        if new_pages:
            self._refuse()

    def _save_discoveries(self, writer: Writer, discovered: Sequence[Discoveries]) -> None:
        if discovered:
            self._refuse()

    def _settle(self, writer: Writer, page_ids: Iterable[int]) -> None:
        """No page is found by its text."""

    def _refuse(self) -> NoReturn:
        raise InputError(f"{self.path} cannot hold a collection, which needs SQLite: name a file")


class PostgresRequester(TableRequests, Requester):
    """A `Requester` of a PostgreSQL database."""

    def __init__(self, connection: PostgresConnection) -> None:
        self._connection = connection

    @classmethod
    def asking(cls, place: PostgresDatabase) -> Self:
        """See `Requester.open`."""
        return cls(PostgresConnection(place, partial(requesting_session, place)))

    def close(self) -> None:
        self._connection.close()
