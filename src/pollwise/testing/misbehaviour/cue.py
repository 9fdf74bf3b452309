"""What an answer is given, and the parts that many answers share."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from aiohttp import web

__all__ = [
    "BLOCK",
    "PAGE",
    "Answer",
    "Cue",
    "Routes",
    "begin",
    "html",
    "raw",
    "raw_page",
    "steadily",
]

PAGE = b"<!DOCTYPE html><title>A page</title><p>Hello from this page."
BLOCK = b"spam " * 13_000

_HTML = {"Content-Type": "text/html; charset=utf-8"}


@dataclass(frozen=True, slots=True)
class Cue:
    """A request and what it asks for.

    `words` are the named parts of the path, `query` what follows the question mark, and `visit`
    counts the requests for this path, from 1.
    """

    request: web.BaseRequest
    visit: int
    words: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)

    @property
    def transport(self) -> asyncio.Transport:
        """The connection; `ConnectionResetError` if the client has gone."""
        if self.request.transport is None:
            raise ConnectionResetError("the client has gone")
        return self.request.transport

    def whole(self, name: str, default: int) -> int:
        """A whole number of the query."""
        return int(self.query.get(name, default))

    def seconds(self, default: float) -> float:
        """The `seconds` of the query."""
        return float(self.query.get("seconds", default))


Answer = Callable[[Cue], Awaitable[web.StreamResponse]]
Routes = Mapping[str, Answer]
"""Answers by the expression that fits the whole path."""


def html(body: bytes = PAGE, **headers: str) -> web.Response:
    """An answer; the names of `headers` are written with underscores."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return web.Response(body=body, headers={**_HTML, **named})


async def begin(cue: Cue, **headers: str) -> web.StreamResponse:
    """An answer whose body is yet to be written, chunk by chunk."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    response = web.StreamResponse(headers={**_HTML, **named})
    await response.prepare(cue.request)
    return response


async def raw(cue: Cue, answer: bytes = b"") -> web.StreamResponse:
    """Send these bytes as they are, and close the connection."""
    cue.transport.write(answer)
    cue.transport.close()
    return web.Response()  # for aiohttp, which finds the connection closed


async def raw_page(cue: Cue, header: bytes, body: bytes = PAGE) -> web.StreamResponse:
    """A page with a header line as it is, even one that no server should send."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n" % len(body)
    return await raw(cue, head + header + b"\r\n\r\n" + body)


async def steadily(cue: Cue, head: bytes, piece: bytes, pause: float = 0.0) -> web.StreamResponse:
    """Send `head` and then `piece` again and again, until the client goes.

    Between two pieces pass `pause` seconds; 0: as many as the client takes.
    """
    transport = cue.transport
    transport.write(head)
    while not transport.is_closing():
        if transport.get_write_buffer_size() < len(BLOCK):
            transport.write(piece)
        await asyncio.sleep(pause or 0.001)
    return await raw(cue)
