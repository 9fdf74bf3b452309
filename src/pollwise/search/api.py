"""The JSON API of a topic engine.

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
answers what the engine is about and which peers it knows, `GET /health` `{"status": "ok"}`, and
`GET /?q=WORDS&offset=0` a page for people (`pollwise.search.page`). Errors are `{"error": ...}`,
one line, with the status 400 (the query), 401 (no token), 404 (the path), 405 (the method), 421 (a
Host that is none of the engine's) or 503 (the database, or too much to do); see
`pollwise.search.access`.
"""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import asdict

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from pollwise.errors import InputError, StateError, StoreError
from pollwise.search.access import Guard
from pollwise.search.engine_directory import EngineDirectory, Peer
from pollwise.search.page import PAGE_HEADERS, search_page
from pollwise.search.peer_client import PeerClient
from pollwise.search.query_broker import MOST_OFFSET, MOST_RESULTS, Found, QueryBroker
from pollwise.search.query_processor import OverloadedError, QueryProcessor

__all__ = ["Sleep", "engine_api"]

_LONGEST_QUERY = 1000
_SHOWN = 10
_RENEWAL = 60.0
_LOOK = 1.0

_log = logging.getLogger(__name__)

Sleep = Callable[[float], Awaitable[None]]
"""Waits for so many seconds."""


def engine_api(
    processor: QueryProcessor,
    directory: EngineDirectory,
    client: PeerClient,
    *,
    address: str,
    names: Collection[str] = (),
    token: str | None = None,
    sleep: Sleep = asyncio.sleep,
) -> Starlette:
    """The topic engine as an ASGI application with the URL `address`.

    For `names` and `token` see `pollwise.search.access.Guard`.
    While it runs, the engine directory asks the peers that are due, and the description of the
    collection is renewed each minute.
    """
    broker = QueryBroker(processor, directory, client, address=address)

    async def search(request: Request) -> JSONResponse:
        query = _query(request)
        limit = _whole(request, "limit", 10, 1, MOST_RESULTS)
        offset = _whole(request, "offset", 0, 0, MOST_OFFSET)
        hops = _whole(request, "hops", 1, 0, 1)
        found = await broker.search(query, limit, offset, forward=hops > 0)
        asked = {"query": query, "limit": limit, "offset": offset}
        return JSONResponse({**asked, **_found(found)})

    async def page(request: Request) -> Response:
        about, sent = processor.description, request.query_params
        query, status, found, error = sent.get("q", "").strip(), 200, None, None
        offset = 0
        try:
            offset = _whole(request, "offset", 0, 0, MOST_OFFSET)
            if query:
                found = await broker.search(_query(request), _SHOWN, offset, forward=True)
        except InputError as refused:
            status, error = 400, str(refused)
        except (StoreError, OverloadedError) as refused:
            status, error = 503, str(refused)
        body = search_page(
            about.name,
            about.documents,
            query=query[:_LONGEST_QUERY],
            limit=_SHOWN,
            offset=offset,
            found=found,
            error=error,
            token=sent.get("token"),
        )
        return Response(body, status, PAGE_HEADERS)

    async def engine(request: Request) -> JSONResponse:
        peers = [_peer(peer) for peer in directory.peers]
        return JSONResponse({**processor.description.document(), "peers": peers})

    async def health(request: Request) -> JSONResponse:
        await processor.check()
        return JSONResponse({"status": "ok"})

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        tasks = [
            asyncio.create_task(_keep_peers(directory, client, sleep)),
            asyncio.create_task(_keep_description(processor, sleep)),
        ]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    return Starlette(
        routes=[
            Route("/", page),
            Route("/search", search),
            Route("/engine", engine),
            Route("/health", health),
        ],
        exception_handlers={
            InputError: _refused(400),
            StoreError: _refused(503),
            OverloadedError: _refused(503),
            HTTPException: _no_such_thing,
        },
        lifespan=lifespan,
        middleware=[Middleware(Guard, names=names, token=token)],
    )


async def _keep_peers(directory: EngineDirectory, client: PeerClient, sleep: Sleep) -> None:
    while True:
        await directory.refresh(client.describe)
        await sleep(_LOOK)


async def _keep_description(processor: QueryProcessor, sleep: Sleep) -> None:
    while True:
        await sleep(_RENEWAL)
        try:
            await processor.refresh()
        except (StoreError, StateError, InputError) as error:
            _log.warning("the description of the collection stays as it was: %s", error)


def _query(request: Request) -> str:
    query = request.query_params.get("q", "")
    if len(query) > _LONGEST_QUERY:
        raise InputError(
            f"the query has {len(query)} characters; expected at most {_LONGEST_QUERY}"
        )
    return query


def _whole(request: Request, name: str, default: int, least: int, most: int) -> int:
    """A parameter of the query that is a whole number."""
    text = request.query_params.get(name)
    if text is None:
        return default
    if not re.fullmatch("[0-9]{1,9}", text) or not least <= int(text) <= most:
        raise InputError(f"{name}={text[:20]!r} must be a whole number from {least} to {most}")
    return int(text)


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


def _refused(status: int) -> Callable[[Request, Exception], JSONResponse]:
    return lambda request, error: JSONResponse({"error": str(error)}, status)


def _no_such_thing(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        line = f"there is no {request.url.path[:80]}: ask /search?q=WORDS, /engine or /health"
    else:
        line = f"{error.detail}: ask by GET"
    return JSONResponse({"error": line}, error.status_code, error.headers)
