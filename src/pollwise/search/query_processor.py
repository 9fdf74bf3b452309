"""The query processor: answers queries from a collection that others may write to."""

import asyncio
from typing import Self

from pollwise.collecting.stored_filter import stored_filter
from pollwise.errors import InputError
from pollwise.search.description import Description
from pollwise.search.ordering import search_in_order
from pollwise.settings import CollectSettings, latest_settings
from pollwise.store import Place, Store
from pollwise.store.place import file_of
from pollwise.store.readers import Readers
from pollwise.store.records import Hit

__all__ = ["OverloadedError", "QueryProcessor"]

_THREADS = 4
_MOST_WAITING = 64
_SEARCH_SECONDS = 10.0


class OverloadedError(Exception):
    """The engine is too busy to answer now; the message says so in one line."""


class QueryProcessor:
    """Searches the collection of a database, which it only reads, in threads of its own.

    A context manager; each thread has its own `Store`. `StoreError` if the database cannot be read,
    `StateError` if another version of pollwise stored its topic filter, `InputError` if it holds no
    collection.
    """

    def __init__(self, db: Place) -> None:
        self._db = db
        self._waiting = 0
        with Store.open_readonly(db) as store:
            self._description = _describe(store, db)
        self._readers = Readers(db, _THREADS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._readers.close()

    @property
    def description(self) -> Description:
        """What the collection is about, as of the start or the latest `refresh`."""
        return self._description

    async def refresh(self) -> None:
        """Describe the collection anew, after more pages have come and the filter has learned."""
        self._description = await self._readers.read(lambda store: _describe(store, self._db))

    async def search(self, query: str, limit: int, offset: int = 0) -> tuple[list[Hit], int]:
        """As `search_in_order`, with the number of all pages that match.

        `OverloadedError` where 64 searches are under way, and after 10 seconds.
        """

        def read(store: Store) -> tuple[list[Hit], int]:
            with store.snapshot():
                hits = search_in_order(store, query, limit, offset)
                return hits, store.count_matches(query)

        if self._waiting >= _MOST_WAITING:
            raise OverloadedError("too many searches at once: ask again in a moment")
        self._waiting += 1
        try:
            async with asyncio.timeout(_SEARCH_SECONDS):
                return await self._readers.read(read)
        except TimeoutError as error:
            raise OverloadedError(
                f"no answer within {_SEARCH_SECONDS:g} s: ask for fewer or rarer words"
            ) from error
        finally:
            self._waiting -= 1

    async def check(self) -> None:
        """`StoreError` if the database can no longer be read."""
        await self._readers.read(lambda store: store.next_page_id())


def _describe(store: Store, db: Place) -> Description:
    settings = latest_settings(store)
    if not isinstance(settings, CollectSettings):
        raise InputError(
            f"{db} holds no collection: make one with 'pollwise collect', or name another file"
            " (--db)"
        )
    about = settings.topic
    vector = stored_filter(store, about).topic_vector
    return Description(file_of(db, "a search").stem, about.words, vector, store.searchable_pages())
