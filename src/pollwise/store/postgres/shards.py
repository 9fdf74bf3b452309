"""A PostgreSQL database that is split into shards, each a store in a schema of its own.

The first schema of its address keeps how many they are, and the ledger of the budget that they
share. Hosts are never split: the shard of a page is told by its politeness scope. A shard is polled
by its only writer, whose lock ends with it.
"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Self, TypeVar

from psycopg import errors, sql

from pollwise.errors import InputError, StoreVersionError
from pollwise.store.place import PostgresDatabase
from pollwise.store.postgres.connection import PostgresConnection, PostgresWriter
from pollwise.store.postgres.database import (
    ledger_session,
    looked_at,
    opened_session,
    writer_of,
)
from pollwise.store.postgres.failures import damaged, reported
from pollwise.store.store import Store

__all__ = ["MOST_SHARDS", "LedgerKeeper", "SplitDatabase"]

T = TypeVar("T")

MOST_SHARDS = 1000
_FORMAT = 1
_LONGEST_SCHEMA = 50
"""Bytes of UTF-8: PostgreSQL cuts names off at 63."""


@dataclass(frozen=True, slots=True)
class SplitDatabase:
    """A database with its shards, by the number of their schema.

    `named` is the shard of which the address was told; None: that of the whole was.
    """

    place: PostgresDatabase
    schemas: tuple[str, ...]
    named: int | None = None

    @classmethod
    def read(cls, place: PostgresDatabase) -> Self | None:
        """That of an address, its own or that of a shard; None: it is not split.

        `StoreError` as for `Store.open`.
        """
        with opened_session(place) as session, reported(place):
            writer = PostgresWriter(session)
            [(schema, around)] = writer.execute("split_around").fetchall()
            if around is not None:
                whole = cls.read(place.in_schema(around))
                if whole is not None and schema in whole.schemas:
                    return replace(whole, named=whole.schemas.index(schema))
            [(_, _, is_split, _)] = writer.execute("is_ours").fetchall()
            if not is_split:
                return None
            rows = writer.execute("shards").fetchall()
        if len(rows) != 1 or rows[0][1] < 2:
            raise damaged(place, "it does not say into how many shards it is split")
        [(version, count)] = rows
        if version > _FORMAT:
            raise StoreVersionError(
                f"{place} is split in format {version}, this pollwise knows formats up to"
                f" {_FORMAT}: install a newer pollwise"
            )
        return cls(place, _schemas(schema, count))

    @classmethod
    def make(cls, place: PostgresDatabase, count: int, *, budget: str, ledger: str) -> Self:
        """Split a database that holds nothing yet into so many shards, with what they share.

        A split that was interrupted is finished. `InputError` for a number out of range, and if the
        database holds anything.
        """
        if not 2 <= count <= MOST_SHARDS:
            raise InputError(f"--into {count}: expected 2 to {MOST_SHARDS:,d} shards")
        if (begun := cls._unfinished(place, count)) is not None:
            return begun._with_stores()
        with opened_session(place) as session, reported(place), session.transaction():
            writer = PostgresWriter(session)
            schema, ours, is_split, has_tables = looked_at(place, writer)
            if is_split:
                raise InputError(f"{place} is split already: the number of shards stays")
            if ours or has_tables:
                raise InputError(
                    f"{place} holds tables, and a database is split before it has any: name an"
                    " empty one, or a schema of its own by ?options=-csearch_path%3DSCHEMA"
                )
            if len(schema.encode()) > _LONGEST_SCHEMA:
                raise InputError(f"the name of schema {schema} is too long for those of shards")
            schemas = _schemas(schema, count)
            for one in schemas:
                try:
                    session.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(one)))
                except (errors.DuplicateSchema, errors.UniqueViolation) as error:
                    raise InputError(
                        f"{place} has a schema {one} already: drop it, or name another database"
                    ) from error
            writer.execute("make_shards")
            values = {"format": _FORMAT, "shards": count, "budget": budget, "ledger": ledger}
            writer.execute("insert_shards", values)
        return cls(place, schemas)._with_stores()

    @classmethod
    def _unfinished(cls, place: PostgresDatabase, count: int) -> Self | None:
        """A split into so many that was interrupted, so that shards have no tables yet."""
        split = cls.read(place)
        if split is None or split.named is not None or len(split.schemas) != count:
            return None
        return None if all(map(Store.exists, split.shards)) else split

    def _with_stores(self) -> Self:
        """This one, once all shards have their tables."""
        for shard in self.shards:
            Store.open(shard).close()
        return self

    @property
    def shards(self) -> tuple[PostgresDatabase, ...]:
        """The stores, by number."""
        return tuple(map(self.place.in_schema, self.schemas))

    def number_of(self, scope: str) -> int:
        """The shard of a politeness scope, the same for ever."""
        return zlib.crc32(scope.encode("utf-8", "surrogatepass")) % len(self.schemas)

    def shared(self) -> tuple[str, str]:
        """The budget of all shards, as people write it, and the ledger."""
        with opened_session(self.place) as session, reported(self.place):
            [(budget, ledger)] = PostgresWriter(session).execute("shared_budget").fetchall()
        return budget, ledger

    def share(self, budget: str) -> None:
        """Keep another budget for all shards, which is announced to them."""
        with opened_session(self.place) as session, reported(self.place), session.transaction():
            writer = PostgresWriter(session)
            writer.execute("share_budget", {"budget": budget})
            writer.execute("announce_budget", {"schemas": list(self.schemas)})

    def processes(self) -> list[str | None]:
        """Who polls the shards, by number and in words; None: nobody."""
        with opened_session(self.place) as session, reported(self.place):
            writer = PostgresWriter(session)
            return [writer_of(writer, schema) for schema in self.schemas]

    def free(self) -> set[int]:
        """The shards that nobody polls."""
        return {number for number, process in enumerate(self.processes()) if process is None}


class LedgerKeeper:
    """Changes the ledger of a split database, until it is closed."""

    def __init__(self, split: SplitDatabase) -> None:
        self._schemas = list(split.schemas)
        self._connection = PostgresConnection(split.place, partial(ledger_session, split.place))

    def close(self) -> None:
        """End the use of the database; closing twice is no error."""
        self._connection.close()

    def settle(self, change: Callable[[str, str, float], tuple[str, T]]) -> T:
        """Keep another ledger, alone: `change` gives it, and an answer.

        It gets the ledger, the budget, and the time of the server (UTC seconds). `StoreError` as
        ever.
        """
        with self._connection.transaction() as writer:
            [(budget, ledger, now)] = writer.execute("ledger_to_write").fetchall()
            changed, answer = change(ledger, budget, now)
            writer.execute("save_ledger", {"ledger": changed})
        return answer

    def announce(self) -> None:
        """Have all shards report at once, as what they may spend has changed."""
        with self._connection.transaction() as writer:
            writer.execute("announce_budget", {"schemas": self._schemas})


def _schemas(schema: str, count: int) -> tuple[str, ...]:
    return tuple(f"{schema}_shard_{number}" for number in range(count))
