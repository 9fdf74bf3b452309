"""A web server whose answers are wrong on demand, for tests of code that fetches pages.

`MisbehavingServer` serves the pages that a test has set with `set_page`, and these paths (a
number in the query may be left out):

==================================  ==============================================================
/status/CODE?retry_after=5          this status, with Retry-After if given
/redirect/N                         N redirects, then a page
/redirect-loop                      a redirect to itself
/slow-headers?seconds=60            nothing for so long, then a page
/slow-body?seconds=1                a page, a byte every so many seconds
/closed                             the connection is closed without an answer
/cut-off                            the connection is closed in the middle of a chunked body
/length/N                           a body of 100 bytes whose Content-Length says N
/huge?bytes=1073741824              a body of so many bytes
/gzip                               a page, well compressed
/gzip-bomb?bytes=67108864           so many zero bytes, compressed to a thousandth
/gzip-broken                        Content-Encoding gzip, body not gzip
/gzip-cut-off                       the first half of a gzip stream, as if it were the whole
/encoding/NAME                      a Content-Encoding that nobody has asked for
/endless-headers                    header after header, without end
/not-utf-8                          bytes that are not UTF-8, although charset says so
/not-http                           an answer that is not HTTP
==================================  ==============================================================

Every other path answers 404, even /robots.txt.
"""

import asyncio
import gzip
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Self

from aiohttp import web
from multidict import CIMultiDictProxy

__all__ = ["MisbehavingServer", "cut_off", "listen", "not_modified"]

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_HTML = {"Content-Type": "text/html; charset=utf-8"}
_PAGE = b"<!DOCTYPE html><title>A page</title><p>Hello from this page."
_BLOCK = b"spam " * 13_000


async def listen(runner: web.BaseRunner, host: str) -> int:
    """Serve on a port of `host` that the operating system chooses, and give its number.

    `OSError` where the machine has no such address.
    """
    await runner.setup()
    await web.TCPSite(runner, host, 0).start()
    port: int = runner.addresses[0][1]
    return port


def not_modified(request: web.BaseRequest, etag: str | None, modified_at: datetime | None) -> bool:
    """Whether a conditional request is to be answered with 304 (RFC 9110 section 13.2.2).

    `etag` is the current header value, quotes and all; both are None where the server has none.
    If-None-Match, compared weakly, goes before If-Modified-Since.
    """
    asked = request.if_none_match
    if asked is not None:
        opaque = None if etag is None else etag.removeprefix("W/").strip('"')
        return any(tag.value in ("*", opaque) for tag in asked)
    since = request.if_modified_since
    return since is not None and modified_at is not None and modified_at <= since


async def cut_off(request: web.BaseRequest) -> web.StreamResponse:
    """A handler: the connection is closed in the middle of a chunked body."""
    response = await _begin(request)
    await response.write(_PAGE)
    _transport(request).close()
    return response


@dataclass(frozen=True, slots=True)
class _SetPage:
    body: bytes
    status: int
    headers: Mapping[str, str]
    modified_at: datetime | None


class MisbehavingServer:
    """An HTTP server on a free port of 127.0.0.1, as an asynchronous context manager.

    `requests` counts the requests and `last_headers` has the latest request's headers, both by
    path with its query. `origin`, such as `http://127.0.0.1:40123`, is known once the server is
    entered. `set_page` works at any time.
    """

    def __init__(self) -> None:
        self.requests: Counter[str] = Counter()
        self.last_headers: dict[str, CIMultiDictProxy[str]] = {}
        self.origin = ""
        self._pages: dict[str, _SetPage] = {}

    def url(self, path: str) -> str:
        """The URL of a path, which begins with a slash."""
        return self.origin + path

    def set_page(
        self,
        path: str,
        body: bytes | str,
        *,
        content_type: str = "text/html; charset=utf-8",
        etag: str | None = None,
        last_modified: str | None = None,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Answer `path` (with its query, if it has one) with this from now on.

        `etag` and `last_modified` are header values, sent verbatim; conditional requests are
        answered with 304 where they match. A `str` is sent as UTF-8. For a redirect give a 3xx
        `status` and `headers` with Location.
        """
        sent = {"Content-Type": content_type, **(headers or {})}
        modified_at = None
        if etag is not None:
            sent["ETag"] = etag
        if last_modified is not None:
            sent["Last-Modified"] = last_modified
            with suppress(ValueError):  # an invalid date is left to the client
                modified_at = parsedate_to_datetime(last_modified).replace(tzinfo=UTC)
        data = body.encode() if isinstance(body, str) else body
        self._pages[path] = _SetPage(data, status, sent, modified_at)

    def remove_page(self, path: str) -> None:
        """Answer `path` with 404 from now on."""
        self._pages.pop(path, None)

    async def __aenter__(self) -> Self:
        app = web.Application(middlewares=[self._count])
        app.router.add_routes([web.get(path, handler) for path, handler in _ROUTES.items()])
        app.router.add_get("/{path:.*}", self._page)
        self._runner = web.AppRunner(
            app, handler_cancellation=True, shutdown_timeout=0.1, access_log=None
        )
        self.origin = f"http://127.0.0.1:{await listen(self._runner, '127.0.0.1')}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    @web.middleware
    async def _count(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        self.requests[request.raw_path] += 1
        self.last_headers[request.raw_path] = request.headers
        return await handler(request)

    async def _page(self, request: web.Request) -> web.StreamResponse:
        page = self._pages.get(request.raw_path)
        if page is None:
            return web.Response(status=404, text="no such page")
        if page.status == 200 and not_modified(request, page.headers.get("ETag"), page.modified_at):
            kept = {k: v for k, v in page.headers.items() if k in ("ETag", "Last-Modified")}
            return web.Response(status=304, headers=kept)
        return web.Response(status=page.status, body=page.body, headers=page.headers)


def _html(body: bytes = _PAGE, **headers: str) -> web.Response:
    """An answer; the names of `headers` are written with underscores."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return web.Response(body=body, headers={**_HTML, **named})


async def _begin(request: web.BaseRequest) -> web.StreamResponse:
    response = web.StreamResponse(headers=_HTML)
    await response.prepare(request)
    return response


def _transport(request: web.BaseRequest) -> asyncio.Transport:
    if request.transport is None:
        raise ConnectionResetError("the client has gone")
    return request.transport


async def _raw(request: web.Request, answer: bytes = b"") -> web.Response:
    """Send these bytes as they are, and close the connection."""
    transport = _transport(request)
    transport.write(answer)
    transport.close()
    return web.Response()  # for aiohttp, which finds the connection closed


async def _status(request: web.Request) -> web.Response:
    wait = request.query.get("retry_after")
    headers = {} if wait is None else {"Retry-After": wait}
    return web.Response(status=int(request.match_info["code"]), headers=headers)


async def _redirect(request: web.Request) -> web.Response:
    left = int(request.match_info["n"])
    if left == 0:
        return _html()
    return web.Response(status=302, headers={"Location": f"/redirect/{left - 1}"})


async def _redirect_loop(request: web.Request) -> web.Response:
    return web.Response(status=302, headers={"Location": "/redirect-loop"})


async def _slow_headers(request: web.Request) -> web.Response:
    await asyncio.sleep(float(request.query.get("seconds", 60)))
    return _html()


async def _slow_body(request: web.Request) -> web.StreamResponse:
    pause = float(request.query.get("seconds", 1))
    response = await _begin(request)
    for i in range(len(_PAGE)):
        await response.write(_PAGE[i : i + 1])
        await asyncio.sleep(pause)
    return response


async def _length(request: web.Request) -> web.Response:
    claimed = int(request.match_info["n"])
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {claimed}\r\n\r\n"
    return await _raw(request, head.encode() + _PAGE.ljust(100))


async def _huge(request: web.Request) -> web.StreamResponse:
    left = int(request.query.get("bytes", 2**30))
    response = await _begin(request)
    while left > 0:
        await response.write(_BLOCK[:left])
        left -= len(_BLOCK)
    return response


async def _gzip(request: web.Request) -> web.Response:
    return _html(gzip.compress(_PAGE, mtime=0), Content_Encoding="gzip")


async def _gzip_bomb(request: web.Request) -> web.Response:
    zeros = bytes(int(request.query.get("bytes", 2**26)))
    return _html(gzip.compress(zeros, compresslevel=1, mtime=0), Content_Encoding="gzip")


async def _gzip_broken(request: web.Request) -> web.Response:
    return _html(Content_Encoding="gzip")


async def _gzip_cut_off(request: web.Request) -> web.Response:
    packed = gzip.compress(_PAGE, mtime=0)
    return _html(packed[: len(packed) // 2], Content_Encoding="gzip")


async def _encoding(request: web.Request) -> web.Response:
    return _html(Content_Encoding=request.match_info["name"])


async def _endless_headers(request: web.Request) -> web.Response:
    transport = _transport(request)
    transport.write(b"HTTP/1.1 200 OK\r\n")
    while not transport.is_closing():
        if transport.get_write_buffer_size() < len(_BLOCK):
            transport.write(b"X-Spam: spam, spam, spam\r\n" * 100)
        await asyncio.sleep(0.001)
    return await _raw(request)


async def _not_utf_8(request: web.Request) -> web.Response:
    return _html(b"<!DOCTYPE html><title>Gr\xfc\xdfe</title><p>\xff\xfe caf\xe9")


async def _not_http(request: web.Request) -> web.Response:
    return await _raw(request, b"220 mail.example.org ESMTP\r\n")


_ROUTES: Mapping[str, Handler] = {
    r"/status/{code:\d{3}}": _status,
    r"/redirect/{n:\d+}": _redirect,
    "/redirect-loop": _redirect_loop,
    "/slow-headers": _slow_headers,
    "/slow-body": _slow_body,
    "/closed": _raw,
    "/cut-off": cut_off,
    r"/length/{n:\d+}": _length,
    "/huge": _huge,
    "/gzip": _gzip,
    "/gzip-bomb": _gzip_bomb,
    "/gzip-broken": _gzip_broken,
    "/gzip-cut-off": _gzip_cut_off,
    "/encoding/{name}": _encoding,
    "/endless-headers": _endless_headers,
    "/not-utf-8": _not_utf_8,
    "/not-http": _not_http,
}
