"""The query broker: which engines answer a query, and how their answers are merged.

This engine answers each query, as no topic vector has all words of its pages, and it costs little.
The query is also forwarded to the peers that are at least half as near to it as this engine; so
queries about this engine's topic alone stay here, others go to the engines that they are about. If
no engine is near at all, the largest peers are asked. A forwarded query is not forwarded again, so
that none goes round in circles.
"""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pollwise.relevance.terms import terms
from pollwise.search.description import Description
from pollwise.search.engine_directory import EngineDirectory, Peer
from pollwise.search.peer_client import PeerClient, PeerError, RefusedError
from pollwise.search.query_processor import QueryProcessor
from pollwise.search.results import Answer, Result, merge
from pollwise.store.records import Hit
from pollwise.store.sqlite.search import expression_of

__all__ = ["MOST_OFFSET", "MOST_RESULTS", "Found", "QueryBroker", "peers_for"]

MOST_RESULTS = 100
"""The most results that one request, here or to a peer, may ask for."""

MOST_OFFSET = 900
"""The most results that one request may skip."""

_MOST_PEERS = 3
_NEAR_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Found:
    """What came of a query: the merged results, the answers they are from (that of this engine
    first), and, by URL, why peers that should have answered did not.
    """

    results: Sequence[Result]
    answers: Sequence[Answer]
    failed: dict[str, str]


class QueryBroker:
    """Answers queries by `processor` and by the peers of `directory`, asked through `client`.

    `address` is the URL of this engine.
    """

    def __init__(
        self,
        processor: QueryProcessor,
        directory: EngineDirectory,
        client: PeerClient,
        *,
        address: str,
    ) -> None:
        self._processor = processor
        self._directory = directory
        self._client = client
        self._address = address

    async def search(self, query: str, limit: int, offset: int, *, forward: bool) -> Found:
        """At most `limit` results, from the `offset`-th (from 0) on, of this engine and, with
        `forward`, of the peers that are near. All peers together take one time-out at most.

        The query language: see `pollwise.store.sqlite.search`. `InputError`, `StoreError` and
        `OverloadedError` are about this engine; errors of peers are in the answer.
        """
        wanted, _ = expression_of(query)
        # The operators of the expression are stop words and do not become terms.
        words = terms(wanted)
        own = self._processor.description
        near = peers_for(words, own, self._directory.peers) if forward else []
        failed = {peer.url: f"rests: {peer.error}" for peer, _ in near if peer.failures}
        asked = [
            asyncio.create_task(self._ask(peer, nearness, query, offset + limit, failed))
            for peer, nearness in near
            if not peer.failures
        ]
        try:
            # Results of peers may come first, so those of this engine are needed from the first on.
            skipped = 0 if asked else offset
            hits, matches = await self._processor.search(query, limit + offset - skipped, skipped)
            answered = await asyncio.gather(*asked)
        finally:
            for task in asked:
                task.cancel()
        results = [_result(hit, self._address) for hit in hits]
        nearness = own.nearness(words)
        answers = [Answer(self._address, nearness, own.documents, matches, results)]
        answers += [answer for answer in answered if answer is not None]
        rest = offset - skipped
        return Found(merge(answers)[rest : rest + limit], answers, failed)

    async def _ask(
        self, peer: Peer, nearness: float, query: str, limit: int, failed: dict[str, str]
    ) -> Answer | None:
        try:
            results, matches = await self._client.search(peer.url, query, min(limit, MOST_RESULTS))
        except PeerError as error:
            failed[peer.url] = str(error)
            if not isinstance(error, RefusedError):
                self._directory.failed(peer.url, str(error))
            return None
        documents = 0 if peer.description is None else peer.description.documents
        return Answer(peer.url, nearness, documents, matches, results)


def peers_for(
    words: Collection[str], own: Description, peers: Sequence[Peer]
) -> list[tuple[Peer, float]]:
    """The peers, with their nearness, that should answer a query of these terms besides `own`.

    The nearest come first; at most three of them do not rest. Peers that rest are included if they
    would be asked otherwise.
    """
    known = [
        (peer, peer.description.nearness(words), peer.description.documents)
        for peer in peers
        if peer.description is not None
    ]
    nearest = max((nearness for _, nearness, _ in known), default=0.0)
    least = _NEAR_SHARE * own.nearness(words)
    if nearest > 0:
        known = [entry for entry in known if entry[1] > 0 and entry[1] >= least]
    elif least > 0:
        return []
    known.sort(key=lambda entry: (-entry[1], -entry[2], entry[0].url))
    chosen: list[tuple[Peer, float]] = []
    for peer, nearness, _ in known:
        if sum(not other.failures for other, _ in chosen) == _MOST_PEERS:
            break
        chosen.append((peer, nearness))
    return chosen


def _result(hit: Hit, engine: str) -> Result:
    return Result(hit.url, hit.title, hit.snippet, hit.marks, hit.relevance, hit.score, engine)
