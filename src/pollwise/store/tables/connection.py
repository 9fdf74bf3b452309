"""What the tables of a store are read and written by, whichever database holds them.

Statements are named, see `queries`: a database may have its own wording of one, and gives rows with
the same columns.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from pollwise.errors import StoreError
from pollwise.store.place import Place

__all__ = ["Columns", "Connection", "Result", "Writer"]

Columns = Sequence[tuple[Any, ...]]
"""Rows by columns."""


class Result(Protocol):
    """What a statement did, and its rows."""

    @property
    def rowcount(self) -> int:
        """The number of rows that were written."""

    def fetchone(self) -> Any:
        """The next row; None: there is none."""

    def fetchall(self) -> list[Any]:
        """All rows that are left."""


class Writer(Protocol):
    """Carries out statements within a transaction."""

    def execute(self, query: str, values: Mapping[str, object] = ...) -> Result:
        """Carry out the statement of this name."""

    def execute_all(self, query: str, rows: Iterable[Mapping[str, object]]) -> None:
        """Carry it out for each row of values."""

    def insert(self, query: str, rows: Sequence[tuple[object, ...]]) -> None:
        """Insert many rows at once by a statement that is made for it."""

    def storable(self, text: str | None) -> object:
        """Text from the web as the database can hold it without loss: `rows.told` gives it back."""


class Connection(ABC):
    """A connection to the database at `path`; what goes wrong with that is a `StoreError`."""

    def __init__(self, path: Place) -> None:
        self.path = path

    @property
    @abstractmethod
    def is_writer(self) -> bool:
        """Whether it is that of the one that alone changes pages."""

    @abstractmethod
    def close(self) -> None:
        """End the use of the database; closing twice is no error."""

    @abstractmethod
    def rows(self, query: str, **values: object) -> list[Any]:
        """The rows of a query; `StoreError` if they hold what nobody wrote."""

    @abstractmethod
    def rows_in_parts(self, query: str, **values: object) -> Iterator[list[Any]]:
        """The same in parts, for whom one list would be too long.

        They are of one state of the database; nothing may be written before the last one.
        """

    def columns_in_parts(self, query: str, **values: object) -> Iterator[Columns]:
        """The columns of each part."""
        for rows in self.rows_in_parts(query, **values):
            yield [*zip(*rows, strict=True)]

    @abstractmethod
    def transaction(self) -> AbstractContextManager[Writer]:
        """A context whose writes are on the disk at its end; after an error none of them is.

        Within another one they are part of that: an error drops only what came in this one.
        """

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[None]:
        """See `StoreReader.snapshot`; snapshots may be nested."""

    @abstractmethod
    def damaged(self, what: object) -> StoreError:
        """The error that says what shows the damage of the database."""

    def row(self, query: str, **values: object) -> Any:
        """The row of a query that always has one."""
        rows = self.rows(query, **values)
        if not rows:
            raise self.damaged("what it counts is missing")
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
                raise self.damaged("stored values are out of order")
            yield from rows
            after = keys[-1]
