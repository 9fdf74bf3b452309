"""The HTTP server of a watch: whom it answers, for how long, and how it says no."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable
from contextlib import asynccontextmanager

from aiohttp import web

from pollwise.errors import InputError, StoreError
from pollwise.texts import printable
from pollwise.web.own_servers import ANSWER_HEADERS, is_own_name

__all__ = ["answering", "application"]

_LONGEST_CONNECTION = 20.0
"""Seconds: no client can hold a connection by saying or reading little."""
_MOST_CONNECTIONS = 200
_LARGEST = 2**20
"""Bytes of a body that is read as a whole."""

_log = logging.getLogger(__name__)
# What strangers send that is no HTTP: nobody needs to know.
_silent = logging.getLogger(f"{__name__}.silent")
_silent.disabled = True

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def application(routes: Iterable[web.RouteDef], names: Collection[str]) -> web.Application:
    """An application that answers these routes, to who calls it by an address or one of `names`.

    Names are in lower case. Errors are `{"error": ...}`, one line: 400 (the request), 404, 405, 413
    (too large), 421 (the Host), 503 (the database).
    """

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        if is_own_name(request.headers.getall("Host", []), names):
            answer = await _answered(request, handler)
        else:
            answer = _refused("this server has no such name: ask its address", 421)
        answer.headers.update({**ANSWER_HEADERS, "Server": "pollwise"})
        return answer

    app = web.Application(middlewares=[guard], client_max_size=_LARGEST)
    app.add_routes(routes)
    return app


@asynccontextmanager
async def answering(listener: socket.socket, app: web.Application) -> AsyncIterator[None]:
    """A context in which requests to a listening socket, which stays open, are answered."""
    runner = web.AppRunner(app, access_log=None, logger=_silent, auto_decompress=False)
    await runner.setup()
    connections = runner.server
    assert connections is not None  # it is set up
    loop = asyncio.get_running_loop()

    def connection() -> asyncio.Protocol:
        if len(connections.connections) >= _MOST_CONNECTIONS:
            return _Refusal()
        protocol = connections()
        loop.call_later(_LONGEST_CONNECTION, protocol.force_close)
        return protocol

    server = await loop.create_server(connection, sock=listener.dup())
    try:
        yield
    finally:
        server.close()
        await runner.cleanup()


class _Refusal(asyncio.Protocol):
    """Ends a connection at once."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        transport.abort()


async def _answered(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except web.HTTPException as error:
        return _refused(error.text or error.reason, error.status)
    except InputError as error:
        return _refused(str(error), 400)
    except StoreError as error:
        return _refused(str(error), 503)
    except (OSError, web.RequestPayloadError):  # the client is gone, or sends no HTTP
        raise
    except Exception:
        _log.exception("a request could not be answered")
        return _refused("the server failed", 500)


def _refused(line: str, status: int) -> web.Response:
    return web.json_response({"error": printable(line)}, status=status)
