"""The process that serves a frontier: its file, its threads, its port."""

import asyncio
import logging
import signal
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import grpc

from pollwise.errors import InputError
from pollwise.frontier.frontier import Frontier
from pollwise.frontier.listing import Listing
from pollwise.frontier.revisits import Revisits
from pollwise.frontier.service import Service
from pollwise.frontier.store import FrontierReader, FrontierStore
from pollwise.frontier.worker import Worker
from pollwise.live.clock import LiveClock
from pollwise.live.hangups import NOTHING_TO_RELOAD, heed_hangups
from pollwise.web.own_servers import host_and_port, listen_on

__all__ = ["Serving", "serve_frontier"]

_LOG = logging.getLogger(__name__)
_PATIENCE = 3.0
"""Seconds after which it is said what takes so long."""
_MOST_CALLS = 1000
"""Calls under way; one more is refused (RESOURCE_EXHAUSTED)."""
_GRACE = 2.0
"""Seconds for calls under way when the server ends."""
_ELSEWHERE = "give another --port or --host"
_OPTIONS = [
    ("grpc.so_reuseport", 0),  # else two servers would share a port, and have half the URLs each
    ("grpc.keepalive_time_ms", 60_000),  # a client that is gone keeps no stream
    ("grpc.keepalive_timeout_ms", 20_000),
    ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
]


@dataclass(frozen=True, slots=True)
class Serving:
    """What is served, and where: `port` 0 is any that is free.

    `keep_dates`: no known URL is given out before its own date.
    """

    db: Path
    host: str
    port: int
    keep_dates: bool = False


async def serve_frontier(serving: Serving) -> None:
    """Serve until SIGINT, SIGTERM or, at a terminal, SIGHUP; the log says once calls are answered.

    `InputError` if the port cannot be had, `StoreError` if the file cannot be used.
    """
    server = grpc.aio.server(options=_OPTIONS, maximum_concurrent_rpcs=_MOST_CALLS)
    port = _bind(server, serving)  # first, so that a start which fails makes no file
    with ExitStack() as stack:
        store = stack.enter_context(closing(FrontierStore(serving.db)))
        reader = stack.enter_context(closing(FrontierReader(serving.db)))
        await _compile()
        clock = LiveClock()
        frontier = Frontier(store, clock(), keep_dates=serving.keep_dates)
        writing = stack.enter_context(closing(Worker("writing", frontier.transaction)))
        reading = stack.enter_context(closing(Worker("reading")))
        service = Service(frontier, writing, Listing(reader), reading, clock, "")
        server.add_generic_rpc_handlers((service.handler(),))
        service.address = host_and_port(serving.host, port)
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        for one in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(one, stop.set)
        heed_hangups(loop, end=stop.set, reload=partial(_LOG.info, NOTHING_TO_RELOAD))
        await server.start()
        _LOG.info("URLs of %s are served at %s", serving.db, service.address)
        await stop.wait()
        _LOG.info("stopping: calls under way have %.0f s", _GRACE)
        await server.stop(_GRACE)


async def _compile() -> None:
    compiling = asyncio.ensure_future(asyncio.to_thread(Revisits.compile))
    await asyncio.wait([compiling], timeout=_PATIENCE)
    if not compiling.done():
        _LOG.info("compiling, which takes about half a minute the first time on a machine")
    await compiling


def _bind(server: grpc.aio.Server, serving: Serving) -> int:
    address = host_and_port(serving.host, serving.port)
    try:
        return int(server.add_insecure_port(address))
    except (RuntimeError, UnicodeError) as error:  # UnicodeError: no host has such a name
        # gRPC does not tell why; a socket of our own does.
        listen_on(serving.host, serving.port, _ELSEWHERE).close()
        raise InputError(f"{address} cannot be listened on; {_ELSEWHERE}") from error
