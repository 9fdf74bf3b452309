"""A topic engine: answers queries from a collection and, with peers, from theirs."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Self

from pollwise.errors import InputError, StateError, StoreError
from pollwise.search.description import Description
from pollwise.search.engine_directory import EngineDirectory, Peer
from pollwise.search.peer_client import PEER_SECONDS, PeerClient
from pollwise.search.query_broker import Found, QueryBroker
from pollwise.search.query_processor import QueryProcessor
from pollwise.store import Place

__all__ = ["Sleep", "TopicEngine"]

_RENEWAL = 60.0
_LOOK = 1.0

_log = logging.getLogger(__name__)

Sleep = Callable[[float], Awaitable[None]]
"""Waits for so many seconds."""


class TopicEngine:
    """The engine of the collection in `db`, at the URL `address`; use it with `async with`.

    `peers` are other engines by their URLs without a slash at the end, with the tokens that they
    want (None: none). Meanwhile the peers that are due are asked what they are about, and the
    description of the collection is renewed each minute. `clock` gives UTC seconds; `peer_seconds`
    has a peer for an answer. Errors as for `QueryProcessor`.
    """

    def __init__(
        self,
        db: Place,
        peers: Mapping[str, str | None],
        *,
        address: str,
        sleep: Sleep = asyncio.sleep,
        clock: Callable[[], float] = time.time,
        peer_seconds: float = PEER_SECONDS,
    ) -> None:
        self._processor = QueryProcessor(db)
        self._directory = EngineDirectory(peers, clock=clock)
        tokens = {url: token for url, token in peers.items() if token is not None}
        self._client = PeerClient(tokens=tokens, timeout=peer_seconds)
        self._broker = QueryBroker(self._processor, self._directory, self._client, address=address)
        self._sleep = sleep
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        self._tasks = [
            asyncio.create_task(self._keep_peers()),
            asyncio.create_task(self._keep_description()),
        ]
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._client.__aexit__()
        self._processor.__exit__()

    @property
    def description(self) -> Description:
        """What the collection is about, as of the start or some minute since."""
        return self._processor.description

    @property
    def peers(self) -> list[Peer]:
        """All peers, in the order in which they were named."""
        return self._directory.peers

    async def search(self, query: str, limit: int, offset: int, *, forward: bool) -> Found:
        """See `QueryBroker.search`."""
        return await self._broker.search(query, limit, offset, forward=forward)

    async def meet_peers(self) -> None:
        """Ask the peers that are due what they are about."""
        await self._directory.refresh(self._client.describe)

    async def _keep_peers(self) -> None:
        while True:
            await self.meet_peers()
            await self._sleep(_LOOK)

    async def _keep_description(self) -> None:
        while True:
            await self._sleep(_RENEWAL)
            try:
                await self._processor.refresh()
            except (StoreError, StateError, InputError) as error:
                _log.warning("the description of the collection stays as it was: %s", error)
