"""What other processes announce of a store in a PostgreSQL database, as it happens."""

from collections.abc import AsyncIterator

import psycopg
from psycopg import sql

from pollwise.store.place import PostgresDatabase
from pollwise.store.postgres.database import session_terms
from pollwise.store.postgres.failures import reported, unreachable
from pollwise.store.postgres.queries import SQL

__all__ = ["announcements"]


async def announcements(place: PostgresDatabase) -> AsyncIterator[str]:
    """The topics that are announced, by a session of its own; a `StoreError` ends it.

    Of what was announced before the first one is waited for, nothing is heard.
    """
    try:
        session = await psycopg.AsyncConnection.connect(
            place.url, autocommit=True, **session_terms("pollwise listener")
        )
    except psycopg.Error as error:
        raise unreachable(place, error) from error
    async with session:
        with reported(place):
            found = await (await session.execute(SQL["channel"].encode())).fetchall()
            for (channel,) in found:
                await session.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
            async for heard in session.notifies():
                yield heard.payload
