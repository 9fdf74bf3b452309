"""The HTTP server of `pollwise serve`."""

import asyncio
import socket
from collections.abc import Callable
from contextlib import AbstractContextManager, AsyncExitStack, nullcontext

import uvicorn
from starlette.types import ASGIApp

from pollwise.dashboard.answers import Answers
from pollwise.dashboard.application import application
from pollwise.dashboard.prompt_protocol import PromptProtocol
from pollwise.dashboard.terms import AnsweringTerms
from pollwise.search.topic_engine import TopicEngine
from pollwise.settings import is_collection
from pollwise.web.own_servers import address_of

__all__ = ["answer", "serve"]

_SECONDS_TO_FINISH = 1
_LONGEST_HEAD = 2**17
"""Bytes of a request before its body: the longest URL that may be asked about fits in, as written
in a query.
"""


class _Server(uvicorn.Server):
    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]
        """Leave signals to whoever sets `stop`."""
        return nullcontext()


async def answer(
    terms: AnsweringTerms,
    listener: socket.socket,
    stop: asyncio.Event,
    *,
    begin: Callable[[Answers], None] | None = None,
) -> None:
    """Answer requests to a listening socket until `stop` is set.

    Beside a run, `begin` is called with what is answered from, to keep its figures. `StoreError` if
    the database cannot be read.
    """
    async with AsyncExitStack() as stack:
        answers = Answers(terms.db, beside_run=begin is not None)
        await stack.enter_async_context(answers)
        if begin is not None:
            begin(answers)
        engine = None
        if await answers.read(is_collection):
            peers = {peer.url: peer.token for peer in terms.peers}
            engine = TopicEngine(terms.db, peers, address=address_of(listener))
            await stack.enter_async_context(engine)

        class Protocol(PromptProtocol):
            proxies = terms.proxies

        app = application(answers, terms, engine)
        await serve(app, answers, listener, stop, protocol=Protocol)


async def serve(
    app: ASGIApp,
    answers: Answers,
    listener: socket.socket,
    stop: asyncio.Event,
    *,
    protocol: type[PromptProtocol] = PromptProtocol,
) -> None:
    """Have an application answer requests to a listening socket until `stop` is set.

    Raises what ended the reading of its `answers`, if anything did.
    """
    server = _Server(
        uvicorn.Config(
            app,
            http=protocol,
            lifespan="off",
            ws="none",
            log_config=None,
            log_level="error",  # a warning for each request that is no HTTP
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=_SECONDS_TO_FINISH,
            h11_max_incomplete_event_size=_LONGEST_HEAD,
        )
    )
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    stopping = asyncio.create_task(stop.wait())
    ends = [serving, stopping, answers.reading]
    await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    answers.end()
    server.should_exit = True
    stopping.cancel()
    await serving
    if answers.reading.done():
        answers.reading.result()
