"""The search of a collection, for programs and for the brokers of peers.

`GET /search?q=WORDS&limit=10&offset=0&hops=1` answers ::

    {"query": ..., "limit": 10, "offset": 0,
     "matches": 25,
     "results": [{"url": ..., "title": ..., "snippet": ..., "marks": [[start, end], ...],
                  "relevance": 0.9, "score": 0.8, "engine": "http://..."}, ...],
     "engines": [{"engine": "http://...", "nearness": 0.7, "matches": 20, "results": 10}, ...],
     "failed": [{"engine": "http://...", "error": ...}, ...]}

`matches` counts the matching pages of all engines, those of several engines several times. `marks`
are the places of the query's words in the snippet, in Unicode characters. `engines` are those that
answered, this one first, and `failed` those that should have. `limit` is at most 100, `offset` at
most 900; `hops` is 0 if the query must not be forwarded, as in queries from peers. `GET /engine`
answers what the engine is about and which peers it knows.
"""

from dataclasses import asdict

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from pollwise.dashboard.api.parameters import text_asked, whole_number_asked
from pollwise.search.engine_directory import Peer
from pollwise.search.query_broker import MOST_OFFSET, MOST_RESULTS, Found
from pollwise.search.topic_engine import TopicEngine

__all__ = ["search_routes"]


def search_routes(engine: TopicEngine) -> list[Route]:
    """What an engine answers."""

    async def search(request: Request) -> JSONResponse:
        query = text_asked(request, "q")
        limit = whole_number_asked(request, "limit", 10, least=1, most=MOST_RESULTS)
        offset = whole_number_asked(request, "offset", 0, least=0, most=MOST_OFFSET)
        hops = whole_number_asked(request, "hops", 1, least=0, most=1)
        found = await engine.search(query, limit, offset, forward=hops > 0)
        asked = {"query": query, "limit": limit, "offset": offset}
        return JSONResponse({**asked, **_found(found)})

    async def about(request: Request) -> JSONResponse:
        peers = [_peer(peer) for peer in engine.peers]
        return JSONResponse({**engine.description.document(), "peers": peers})

    return [Route("/search", search), Route("/engine", about)]


def _found(found: Found) -> dict[str, object]:
    return {
        "matches": sum(answer.matches for answer in found.answers),
        "results": [asdict(result) for result in found.results],
        "engines": [
            {
                "engine": answer.engine,
                "nearness": answer.nearness,
                "matches": answer.matches,
                "results": len(answer.results),
            }
            for answer in found.answers
        ],
        "failed": [{"engine": url, "error": why} for url, why in found.failed.items()],
    }


def _peer(peer: Peer) -> dict[str, object]:
    known = peer.description
    return {
        "url": peer.url,
        "name": None if known is None else known.name,
        "documents": None if known is None else known.documents,
        "heard_at": peer.heard_at,
        "failures": peer.failures,
        "error": peer.error,
    }
