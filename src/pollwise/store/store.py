"""A store, whichever database it is in."""

import os
from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Self

from pollwise.extras import require_extra
from pollwise.store.base import StoreJournal, StoreReader, StoreRequests
from pollwise.store.place import Place, PostgresDatabase, parse_place

if TYPE_CHECKING:
    from pollwise.store.postgres.shards import SplitDatabase

__all__ = ["Requester", "Store", "require_postgres", "split_database"]


class Requester(StoreRequests):
    """Asks the process that has a store open for writing; writes nothing but requests."""

    @staticmethod
    def open(place: str | os.PathLike[str] | PostgresDatabase) -> "Requester":
        """`StoreError` if there is no such store, `StoreVersionError` if another version of
        pollwise wrote it in another format.
        """
        named = resolved(place)
        if isinstance(named, PostgresDatabase):
            require_postgres()
            from pollwise.store.postgres.store import PostgresRequester

            return PostgresRequester.asking(named)
        from pollwise.store.sqlite.requests import SqliteRequester

        return SqliteRequester.asking(named)

    @abstractmethod
    def close(self) -> None:
        """End the use of the store."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Store(StoreReader, StoreRequests, StoreJournal):
    """Pages, learned state, event log and page versions, in a SQLite file or a PostgreSQL database.

    One process at a time has it open for writing (`open`); any number read it meanwhile
    (`open_readonly`), even in the same process. `pollwise.store.base` says what the methods do.
    """

    older_copy: Path | None = None
    """Where the database is kept as it was before it was converted now; None: it was not."""

    @staticmethod
    def open(place: str | os.PathLike[str] | PostgresDatabase, *, durable: bool = True) -> "Store":
        """The only writer of this store, which is created or converted if need be.

        Not `durable`: commits do not wait for the disk, and a power loss may damage a file or
        undo commits.

        `StoreError` if another store, here or in another process, has it open for writing, if it is
        the file of another program (which is not changed) or if it cannot be written;
        `StoreVersionError` if a later version of pollwise wrote it. `InputError` if a library is
        missing that it needs.
        """
        named = resolved(place)
        if isinstance(named, PostgresDatabase):
            require_postgres()
            from pollwise.store.postgres.store import PostgresStore

            return PostgresStore.writing(named, durable=durable)
        from pollwise.store.sqlite.store import SqliteStore

        return SqliteStore.writing(named, durable=durable)

    @staticmethod
    def open_readonly(place: str | os.PathLike[str] | PostgresDatabase) -> "Store":
        """A reader; a writer may be at work. Calls that write raise `StoreError`.

        A file in a folder that cannot be written is read as nobody writes to it. `StoreError` if
        there is no such database, or such a folder has what was not yet written into the file;
        `StoreVersionError` if its format is that of another version of pollwise.
        """
        named = resolved(place)
        if isinstance(named, PostgresDatabase):
            require_postgres()
            from pollwise.store.postgres.store import PostgresStore

            return PostgresStore.reading(named)
        from pollwise.store.sqlite.store import SqliteStore

        return SqliteStore.reading(named)

    @staticmethod
    def exists(place: Place) -> bool:
        """Whether there is anything at this place; `StoreError` if its server cannot tell."""
        if isinstance(place, PostgresDatabase):
            require_postgres()
            from pollwise.store.postgres.database import holds_store

            return holds_store(place)
        return place.exists()

    @abstractmethod
    def close(self) -> None:
        """End the use of the store; closing twice is no error."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def split_database(place: Place) -> "SplitDatabase | None":
    """The shards of a database, or of that in which it is one; None: it is not split.

    `StoreError` as for `Store.open`.
    """
    if not isinstance(place, PostgresDatabase):
        return None
    require_postgres()
    from pollwise.store.postgres.shards import SplitDatabase

    return SplitDatabase.read(place)


def require_postgres() -> None:
    """`InputError` if the library for PostgreSQL is missing."""
    require_extra("postgres", "a PostgreSQL database", "name a file after --db")


def resolved(place: str | os.PathLike[str] | PostgresDatabase) -> Place:
    """What names the store: of a file the path without symbolic links."""
    named = parse_place(place)
    return Path(os.path.realpath(named)) if isinstance(named, Path) else named
