"""Wakes who waits for something in a database, when the process that wrote it says so."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from pollwise.errors import StoreError
from pollwise.live.incoming import Incoming
from pollwise.live.journal import Journal
from pollwise.store import Place
from pollwise.store.place import PostgresDatabase

__all__ = ["Bell"]

_PAUSE = 5.0
"""Seconds before a server that was away is asked again."""


class Bell:
    """Rung by announcements of a database at `place`. A file has none: waiting takes its time.

    Who waits looks for itself now and then, too: an announcement may be lost with its connection.
    """

    def __init__(self, place: Place, incoming: Incoming) -> None:
        self._place = place
        self._incoming = incoming
        self._rung: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)

    async def wait(self, topic: str, seconds: float) -> None:
        """Wait until something is announced of a topic since the last wait, or so many seconds."""
        rung = self._rung[topic]
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await rung.wait()
        rung.clear()

    @asynccontextmanager
    async def beside(self, journal: Journal) -> AsyncIterator[None]:
        """A context for a run in which it is rung."""
        if not isinstance(self._place, PostgresDatabase):
            yield
            return
        listening = self._incoming.begin(self._listen(self._place))
        try:
            yield
        finally:
            listening.cancel()
            await asyncio.wait([listening])

    async def _listen(self, place: PostgresDatabase) -> None:
        from pollwise.store.postgres.listening import announcements

        while True:
            with suppress(StoreError):  # what reads and writes the database says so
                async for topic in announcements(place):
                    self._rung[topic].set()
            await asyncio.sleep(_PAUSE)
