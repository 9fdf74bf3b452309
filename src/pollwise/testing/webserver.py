"""A web server whose answers are wrong on demand, for tests of code that fetches pages.

`MisbehavingServer` serves the pages that a test has set with `set_page`, and these paths (what
follows the question mark may be left out; what is shown there is the default):

==================================  ==============================================================
refusals, and lies about changes
/status/CODE?retry_after=5          this status; Retry-After verbatim, or as the date in so many
                                    seconds with retry_in=30; by default without
/storm?count=5&status=429           so many refusals, then a page; retry_after as above
/flapping?status=503                a page and a refusal in turn
/clock                              a page with the number of the visit: it changes each time
/noise                              the same text each time, in other markup
/etag-new                           a new ETag each time, the same page
/etag-stuck                         the same ETag each time, another page
/etag-blind                         another page, but 304 to every request with If-None-Match
/etag-long?bytes=7000               a long ETag
/etag-odd                           an ETag that is none, with an escape sequence
/not-modified                       304, asked or not
/modified/WHEN                      another page each time, Last-Modified being always now, future,
                                    old (1995), ancient (year 1), never (year 9999) or rubbish
/modified-now-and-the-same          the same page each time, Last-Modified always now
/dated?ahead=31536000               Date and Last-Modified so many seconds from now
redirects
/redirect/N                         N redirects, then a page
/redirect-loop                      a redirect to itself
/redirect-endless/N                 to N + 1, for ever
/redirect-to?url=URL&status=302     to any URL (percent-encoded)
/redirect-round?origins=A,B         for ever round these origins of misbehaving servers
/redirect-bad/N                     to the N-th of `misbehaviour.redirects.BAD_TARGETS`: file:,
                                    javascript:, private addresses, nonsense
/redirect-nowhere                   302 without Location
the wire
/closed, /reset                     the connection is closed or reset without an answer
/cut-off, /reset-midway             the same in the middle of a chunked body
/never                              no answer at all
/slow-headers?seconds=60            nothing for so long, then a page
/drip-headers?seconds=1             headers, a byte every so many seconds
/endless-headers                    header after header, without end
/endless-status                     a status line without end
/endless-trailers                   trailer after trailer
/long-header?bytes=1048576          one header of that length
/many-headers?count=10000           so many headers
/interim/N                          N interim responses (103), then a page
/endless-interim?seconds=0          interim responses only, twenty every so many seconds
/length/N                           a body of 100 bytes whose Content-Length says N (any text)
/two-lengths, /length-and-chunks    two Content-Lengths, or one and chunks
/chunk-size/SIZE                    a chunk whose size is this text
/not-http                           an answer that is not HTTP
bodies
/slow-body?seconds=1                a page, a byte every so many seconds
/endless-drip?seconds=1             the same, without end
/endless                            a body without end
/huge?bytes=1073741824              a body of so many bytes
/gzip                               a page, well compressed
/gzip-bomb?bytes=67108864           so many zero bytes, compressed to a thousandth
/gzip-nested?bytes=268435456        the same, compressed once more
/gzip-members?count=100000          so many empty members
/gzip-endless                       zero bytes without end, compressed
/gzip-broken                        Content-Encoding gzip, body not gzip
/gzip-cut-off                       the first half of a gzip stream, as if it were the whole
/deflate-bomb?bytes=67108864        as /gzip-bomb
/encoding/NAME                      a Content-Encoding that nobody has asked for
/not-utf-8                          bytes that are not UTF-8, although charset says so
pages
/html/KIND?bytes=1048576            markup that is hard to read: deep, unclosed, quotes, comments,
                                    declarations, cdata, entities, attributes, formatting, tables,
                                    scripts, titles, links, bases, nul
/terminal                           escape sequences and bidi overrides in title, text and links
/trap/N                             links to two new pages, and so on
/binary?bytes=65536                 every byte there is, as HTML
robots.txt
/robots/KIND                        text: empty, allow, deny, bom, utf-16, crlf, cr, html, binary,
                                    nul, terminal, sitemaps, rate; up to 500 kB: rules, groups,
                                    agents, wildcards, wildcard, stars, percent, long-line,
                                    long-agent; Crawl-delay: delay-10, delay-1e9, delay-1e308,
                                    delay-nan, delay-negative; and endless
==================================  ==============================================================

Every other path answers 404, even /robots.txt. `set_behaviour("/robots.txt", "/robots/deny")` makes
a path answer as another one does: so robots.txt can be anything of the above.

`exchanges` is the log: what was asked for when. `MisbehavingHosts` is a number of servers, each on
a loopback address of its own, with one log.
"""

import re
import ssl
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import NamedTuple, Self

from aiohttp import web
from multidict import CIMultiDictProxy
from yarl import URL

from pollwise.testing.exchanges import Exchange
from pollwise.testing.loopback import listen, loopback_address
from pollwise.testing.misbehaviour import bodies, lies, pages, redirects, robots, wire
from pollwise.testing.misbehaviour.cue import Answer, Cue, Routes

__all__ = [
    "SELF_SIGNED",
    "MisbehavingHosts",
    "MisbehavingServer",
    "cut_off",
    "listen",
    "not_modified",
]

SELF_SIGNED = Path(__file__).with_name("self_signed.pem")
"""The key and the certificate of a server with `tls`, made for 127.0.0.1; nobody trusts it."""

_ROUTES: Routes = {
    **lies.ROUTES,
    **redirects.ROUTES,
    **wire.ROUTES,
    **bodies.ROUTES,
    **pages.ROUTES,
    **robots.ROUTES,
}


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
    return await wire.close_midway(Cue(request, 1))


class _SetPage(NamedTuple):
    body: bytes
    status: int
    headers: Mapping[str, str]
    modified_at: datetime | None


class MisbehavingServer:
    """An HTTP server on a free port of `host`, as an asynchronous context manager.

    With `tls` it speaks TLS, with the certificate of `SELF_SIGNED`; to speak plain HTTP to it, or
    TLS to one without, is a misbehaviour too. `requests` counts the requests and `last_headers` has
    the latest request's headers, both by path with its query. `exchanges` has each request with
    `host`, path, begin and end, once it is answered or given up. `origin`, such as
    `http://127.0.0.1:40123`, is known once the server is entered. `set_page`, `set_behaviour` and
    `remove_page` work at any time. `OSError` where the machine has no such address.
    """

    def __init__(self, *, host: str = "127.0.0.1", tls: bool = False) -> None:
        self.host = host
        self.requests: Counter[str] = Counter()
        self.last_headers: dict[str, CIMultiDictProxy[str]] = {}
        self.exchanges: list[Exchange] = []
        self.origin = ""
        self._tls = tls
        self._pages: dict[str, _SetPage] = {}
        self._behaviours: dict[str, str] = {}

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
        self.remove_page(path)
        self._pages[path] = _SetPage(data, status, sent, modified_at)

    def set_behaviour(self, path: str, like: str) -> None:
        """Answer `path` (with its query) from now on as the path `like` of the table answers.

        `ValueError` if the table has no such path.
        """
        if _answering(URL(like, encoded=True).path) is None:
            raise ValueError(f"{like} is no path of the misbehaving server; see its module")
        self.remove_page(path)
        self._behaviours[path] = like

    def remove_page(self, path: str) -> None:
        """Answer `path` with 404 from now on, or as the table says."""
        self._pages.pop(path, None)
        self._behaviours.pop(path, None)

    async def __aenter__(self) -> Self:
        server = web.Server(self._answer, access_log=None, handler_cancellation=True)
        self._runner = web.ServerRunner(server, shutdown_timeout=0.1)
        scheme, tls = "http", None
        if self._tls:
            scheme, tls = "https", ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(SELF_SIGNED)
        self.origin = f"{scheme}://{self.host}:{await listen(self._runner, self.host, tls=tls)}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        path, begun_at = request.raw_path, time.monotonic()
        self.requests[path] += 1
        self.last_headers[path] = request.headers
        try:
            response = await self._response(request, path)
            if request.transport is not None and not request.transport.is_closing():
                await response.prepare(request)
                await response.write_eof()
            return response
        finally:
            self.exchanges.append(Exchange(self.host, path, begun_at, time.monotonic()))

    async def _response(self, request: web.BaseRequest, path: str) -> web.StreamResponse:
        page = self._pages.get(path)
        if page is not None:
            return _page(request, page)
        like = URL(self._behaviours.get(path, path), encoded=True)
        found = _answering(like.path)
        if found is None:
            return web.Response(status=404, text="no such page")
        answer, words = found
        return await answer(Cue(request, self.requests[path], words, like.query))


class MisbehavingHosts:
    """So many misbehaving servers, on `loopback_address(0)` and on, as a context manager.

    `servers` are theirs in that order, and `exchanges` is the log of all together, in the order in
    which the requests ended. `OSError` where the machine has no such addresses.
    """

    def __init__(self, number: int) -> None:
        self.servers = [MisbehavingServer(host=loopback_address(n)) for n in range(number)]
        self.exchanges: list[Exchange] = []
        for server in self.servers:
            server.exchanges = self.exchanges
        self._running = AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as starting:
            for server in self.servers:
                await starting.enter_async_context(server)
            self._running = starting.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._running.aclose()


def _answering(path: str) -> tuple[Answer, dict[str, str]] | None:
    """What answers a path, without its query, and the words in it."""
    for expression, answer in _ROUTES.items():
        found = re.fullmatch(expression, path)
        if found:
            return answer, found.groupdict()
    return None


def _page(request: web.BaseRequest, page: _SetPage) -> web.Response:
    if page.status == 200 and not_modified(request, page.headers.get("ETag"), page.modified_at):
        kept = {k: v for k, v in page.headers.items() if k in ("ETag", "Last-Modified")}
        return web.Response(status=304, headers=kept)
    return web.Response(status=page.status, body=page.body, headers=page.headers)
