"""HTTP fetches: conditional, bounded in time and size, never raising.

Validators and redirects. A validator names one state of one resource (RFC 9110 section 8.8). When
page A redirects to B, the copy and its validators are B's. `If-None-Match` is sent along with every
redirect, as two resources hardly ever share an entity tag: only B can answer 304. But
`If-Modified-Since` is only sent to the URL asked for: should A one day redirect to C, a page older
than the copy, then C would answer "not modified" for content never seen. For the same reason the
`last_modified` of a redirected answer should not be remembered.
"""

import asyncio
import email.utils
import re
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC
from typing import Protocol, Self

import aiohttp
import yarl
from aiohttp.http_exceptions import HttpProcessingError

from pollwise.errors import InputError
from pollwise.types import PageMemory
from pollwise.version import __version__
from pollwise.web.urls import canonical, joined

__all__ = [
    "USER_AGENT",
    "FetchResult",
    "Fetcher",
    "HttpFetcher",
    "MayFollow",
    "Now",
    "decompress",
    "follow_none",
    "one_line",
    "parse_http_date",
    "parse_retry_after",
]

Now = Callable[[], float]
"""Gives the time in seconds of UTC since 1970."""

MayFollow = Callable[[str], Awaitable[bool]]
"""Whether the canonical URL that a redirect leads to may be fetched."""


async def follow_none(url: str) -> bool:
    """A `MayFollow` by which no redirect is followed."""
    return False


_DAY = 86400.0
_MAX_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
# Each member costs a copy of the rest; no real page comes in more members.
_MAX_GZIP_MEMBERS = 100

USER_AGENT = f"pollwise/{__version__} (+https://pypi.org/project/pollwise/)"
"""The default User-Agent header; operators should name a page of their own."""


@dataclass(frozen=True, slots=True)
class FetchResult:
    """What came of a fetch.

    `url` is the URL asked for, `final_url` the one that answered after redirects. `error` says in
    one line why there is no usable answer; then `body` is empty, and `status` is None or that of a
    redirect that failed. Without an error `body` is the decompressed body of a 2xx answer, empty
    for every other status; `wire_bytes` is its length before decompression. `etag`, `last_modified`
    and `content_type` are header values, verbatim; `retry_after` is in seconds from now, at most a
    day; `date` is the server's time. `robots_tag` are the values of X-Robots-Tag, one a line.
    `redirected_to` is the canonical URL of a redirect that was not followed.
    """

    url: str
    final_url: str
    status: int | None = None
    etag: str | None = None
    last_modified: str | None = None
    content_type: str | None = None
    retry_after: float | None = None
    date: float | None = None
    body: bytes = b""
    wire_bytes: int = 0
    error: str | None = None
    robots_tag: str | None = None
    redirected_to: str | None = None


class Fetcher(Protocol):
    """Carries out one fetch, redirects included."""

    async def fetch(
        self, url: str, memory: PageMemory, *, may_follow: MayFollow | None = None
    ) -> FetchResult:
        """Fetch `url` if it has changed since the copy in `memory` (empty: unconditionally).

        `may_follow` is asked before each redirect is followed (None: all are). What goes wrong on
        the network is a result with `error`, never an exception.
        """
        ...


class HttpFetcher:
    """Fetches over HTTP/1.1 by one `aiohttp.ClientSession`; use it with `async with`.

    Only http and https; no cookies, no proxy from the environment, at most 5 redirects. One
    fetch, redirects included, takes at most `timeout` seconds and building a connection at most
    `connect_timeout`; a body of more than `max_bytes`, on the wire or decompressed, is an error.
    """

    def __init__(
        self,
        *,
        clock: Now,
        user_agent: str = USER_AGENT,
        timeout: float = 30.0,
        connect_timeout: float = 10.0,
        max_bytes: int = 10 * 2**20,
    ) -> None:
        self._clock = clock
        self._headers = {"User-Agent": user_agent, "Accept-Encoding": "gzip, deflate"}
        self._timeout = timeout
        self._connect_timeout = connect_timeout
        self._max_bytes = max_bytes
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            # The caller bounds how many fetches are under way; time in a queue here would count
            # as time to connect.
            connector=aiohttp.TCPConnector(limit=0),
            timeout=aiohttp.ClientTimeout(total=None, connect=self._connect_timeout),
            headers=self._headers,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def fetch(
        self, url: str, memory: PageMemory, *, may_follow: MayFollow | None = None
    ) -> FetchResult:
        """See `Fetcher.fetch`."""
        if self._session is None:
            raise RuntimeError("this HttpFetcher is not open; use it within `async with`")
        try:
            async with asyncio.timeout(self._timeout):
                return await self._follow(self._session, url, memory, may_follow)
        except aiohttp.ServerTimeoutError:
            error = f"no connection within {self._connect_timeout:g} s"
        except TimeoutError:
            error = f"no complete answer within {self._timeout:g} s"
        # ValueError: from aiohttp, yarl and the IDNA codec, for impossible hosts and headers.
        except (aiohttp.ClientError, HttpProcessingError, OSError, ValueError) as raised:
            error = _in_words(raised)
        return FetchResult(url, url, error=error)

    async def _follow(
        self,
        session: aiohttp.ClientSession,
        url: str,
        memory: PageMemory,
        may_follow: MayFollow | None,
    ) -> FetchResult:
        target = canonical(url)
        conditions = {"If-None-Match": memory.etag, "If-Modified-Since": memory.last_modified}
        for _ in range(_MAX_REDIRECTS + 1):
            sent = {name: value for name, value in conditions.items() if value is not None}
            result, location = await self._exchange(session, url, target, sent)
            if location is None:
                return result
            try:
                target = joined(target, location)
            except InputError as error:
                return replace(result, error=f"redirected to nowhere: {error}")
            if may_follow is not None and not await may_follow(target):
                why = f"redirected to {target}, refused by its robots.txt"
                return replace(result, error=why, redirected_to=target)
            conditions["If-Modified-Since"] = None
        return replace(result, error=f"more than {_MAX_REDIRECTS} redirects")

    async def _exchange(
        self, session: aiohttp.ClientSession, url: str, target: str, conditions: dict[str, str]
    ) -> tuple[FetchResult, str | None]:
        """One request and its answer, and where that redirects to."""
        # Canonical already; yarl would spell it in its own way.
        address = yarl.URL(target, encoded=True)
        async with session.get(address, headers=conditions, allow_redirects=False) as response:
            headers, status = response.headers, response.status
            result = FetchResult(
                url,
                target,
                status,
                etag=_validator(headers.get("ETag")),
                last_modified=_validator(headers.get("Last-Modified")),
                content_type=_readable(headers.get("Content-Type")),
                retry_after=parse_retry_after(headers.get("Retry-After"), self._clock()),
                date=parse_http_date(headers.get("Date")),
                robots_tag=_readable("\n".join(headers.getall("X-Robots-Tag", ())) or None),
            )
            if status in _REDIRECTS:
                return result, headers.get("Location")
            if status == 304 and not conditions:
                raise _AnswerError("304 Not Modified to a request without a condition")
            if not 200 <= status < 300:
                return result, None
            wire = await self._read(response)
            body = decompress(wire, headers.get("Content-Encoding", ""), self._max_bytes)
            return replace(result, body=body, wire_bytes=len(wire)), None

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        if (response.content_length or 0) > self._max_bytes:
            raise _too_large(self._max_bytes)
        wire = bytearray()
        async for chunk in response.content.iter_any():
            wire += chunk
            if len(wire) > self._max_bytes:
                raise _too_large(self._max_bytes)
        return bytes(wire)


class _AnswerError(ValueError):
    """An answer that arrived and cannot be used; becomes the `error` of a result."""


def decompress(data: bytes, encoding: str, max_bytes: int) -> bytes:
    """A body without its Content-Encoding (RFC 9110 section 8.4): gzip, deflate or none.

    `deflate` may lack the zlib wrapper, gzip may have several members (RFC 1952 section 2.2); what
    follows the compressed data is ignored, as browsers do. Never holds more than `max_bytes` of
    output. `ValueError`, with a reason in words, for data that is broken, cut off, too large, or in
    another encoding.
    """
    encoding = encoding.strip().lower()
    if encoding in ("", "identity") or not data:
        return data
    if encoding in ("gzip", "x-gzip"):
        window = zlib.MAX_WBITS | 16
    elif encoding == "deflate":
        wrapped = data[0] & 0x0F == 8 and int.from_bytes(data[:2], "big") % 31 == 0
        window = zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS
    else:
        raise _AnswerError(f"Content-Encoding {encoding[:40]!r}, which was not asked for")
    body = b""
    for _ in range(_MAX_GZIP_MEMBERS):
        stream = zlib.decompressobj(window)
        try:
            # One byte more than allowed shows that there is too much.
            body += stream.decompress(data, max_bytes + 1 - len(body))
        except zlib.error as error:
            raise _AnswerError(f"broken {encoding} body: {one_line(error)}") from error
        if len(body) > max_bytes:
            raise _too_large(max_bytes)
        if not stream.eof:
            raise _AnswerError(f"{encoding} body cut off")
        data = stream.unused_data
        if encoding == "deflate" or not data.startswith(b"\x1f\x8b"):
            return body
    raise _AnswerError(f"gzip body in more than {_MAX_GZIP_MEMBERS} members")


def parse_http_date(value: str | None) -> float | None:
    """The time of an HTTP date, in any of its three forms (RFC 9110 section 5.6.7); else None.

    >>> parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT")
    784111777.0
    """
    if value is None:
        return None
    try:
        date = email.utils.parsedate_to_datetime(value)
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    # Not only ValueError: the standard library's parser fails in many ways on garbage.
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def parse_retry_after(value: str | None, now: float) -> float | None:
    """The seconds to wait by a Retry-After header (RFC 9110 section 10.2.3); None: it says nothing.

    Either seconds or a date; a past date gives 0, and the wait is at most a day.

    >>> parse_retry_after("120", now=0.0)
    120.0
    """
    if value is None:
        return None
    text = value.strip()
    if re.fullmatch(r"[0-9]+", text):
        return min(float(text), _DAY)
    date = parse_http_date(text)
    return None if date is None else min(max(date - now, 0.0), _DAY)


def _validator(value: str | None) -> str | None:
    """The value if it can be sent back as it came, which only ASCII surely can."""
    return value if value and value.isascii() and value.isprintable() else None


def _readable(value: str | None) -> str | None:
    """Header text that can be stored, with `?` for undecodable bytes."""
    return None if value is None else value.encode(errors="replace").decode()


def _too_large(max_bytes: int) -> _AnswerError:
    return _AnswerError(f"body larger than {max_bytes} bytes")


def _in_words(error: Exception) -> str:
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "the server hung up before it had answered"
    if isinstance(error, aiohttp.ClientPayloadError):
        return "the body was cut off or garbled"
    if isinstance(error, aiohttp.ClientResponseError):  # its text would begin with a status 400
        return f"the answer is no HTTP: {one_line(Exception(error.message))}"
    return one_line(error)


def one_line(error: Exception) -> str:
    """What an error says, on one line of at most 300 characters; never empty."""
    text = " ".join(str(error).split()).encode(errors="backslashreplace").decode()
    return text[:300] or type(error).__name__
