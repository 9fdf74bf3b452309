"""HTTP fetches: conditional, bounded in time and size, never raising."""

import asyncio
import errno
import re
from collections.abc import Awaitable, Callable, Container, Mapping
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, field, replace
from typing import Protocol, Self

import aiohttp
from aiohttp.http import RawResponseMessage
from aiohttp.http_exceptions import HttpProcessingError
from multidict import CIMultiDict, CIMultiDictProxy

from pollwise.errors import InputError, NoNetworkError, PostponedError
from pollwise.sources.reading import LARGE
from pollwise.sources.view import NO_HUB, HubLinks
from pollwise.texts import no_tls, one_line
from pollwise.types import PageMemory
from pollwise.version import __version__
from pollwise.web.addresses import RefusedAddressError, require_public_host
from pollwise.web.answers import Answer, answer_over, answered, ask_at_once
from pollwise.web.connections import PARSING, Connector, Lent, Room, is_our_shortage, once_only
from pollwise.web.content_coding import BodyError, BodyReader, too_large
from pollwise.web.deadlines import Deadlines, ahead_of_loop, time_limit
from pollwise.web.headers import (
    hub_links,
    parse_http_date,
    parse_retry_after,
    readable,
    transfer_codings,
    validator,
)
from pollwise.web.large_bodies import LargeBodies, Release, release_nothing
from pollwise.web.own_headers import OwnHeaders
from pollwise.web.own_network import OwnNetwork
from pollwise.web.response_head import kept_head
from pollwise.web.urls import Divided, joined, scope_of, shown, spelled

__all__ = [
    "MAX_BYTES",
    "USER_AGENT",
    "Asking",
    "Begun",
    "Exchanges",
    "FetchResult",
    "Fetcher",
    "HttpFetcher",
    "MayFollow",
    "Now",
    "Told",
    "follow_none",
]

Now = Callable[[], float]
"""Gives the time in seconds of UTC since 1970."""

MayFollow = Callable[[str], Awaitable[str | None]]
"""Why the canonical URL that a redirect leads to may not be fetched, in words to follow the URL and
a comma; None: it may."""


_NOT_FOLLOWED = "which is not followed"


async def follow_none(url: str) -> str:
    """A `MayFollow` by which no redirect is followed."""
    return _NOT_FOLLOWED


_NO_LOGIN = "the proxy wants a login: give --netrc, and its login in the netrc file"
_LONGER = ": --timeout allows more"
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_NO_UTF_8 = re.compile("[\udc80-\udcff]")
"""What stands for a byte that is none (`surrogateescape`)."""
_PIECE = 64 * 1024
"""Bytes of a body that are read at a time."""
_MOST_AROUND = 2**20
"""Bytes of an answer besides its body and as much again, such as heads and the sizes of chunks."""
_MAX_LARGE = 4
"""Large bodies that are held at a time: each may have `MAX_BYTES`, and be decompressed."""
_LONGEST_WAIT = 30.0
"""Seconds that one waits for others of them; then its poll is postponed."""
_MAX_KEPT = 200
"""Hosts to which connections stay open: each takes a descriptor."""

MAX_BYTES = 10 * 2**20
"""The default size of the largest body."""
USER_AGENT = f"pollwise/{__version__} (+https://pypi.org/project/pollwise/)"
"""The default User-Agent header; operators should name a page of their own."""


@dataclass(slots=True)  # not frozen: to make one, as each poll does, would take three times as long
class FetchResult:
    """What came of a fetch.

    `url` is the URL asked for, `final_url` the one that answered after redirects. `error` says in
    one line why there is no usable answer; then `body` is empty, and `status` is None or that of a
    redirect that failed; `unanswered`: no host has answered in time. Without an error `body` is the
    decompressed body of a 2xx answer, empty for every other status; `wire_bytes` is its length
    before decompression. `etag`, `last_modified` and `content_type` are header values, verbatim;
    `retry_after` is in seconds from now, at most a day; `date` is the server's time. `robots_tag`
    are the values of X-Robots-Tag, one a line. `redirected_to` is the canonical URL of a redirect
    that was not followed. `hub_links` are those of its Link headers. `head` is what `kept_head`
    keeps of the head of a 2xx answer. `allowed_origin` is the value of Access-Control-Allow-Origin.
    `requests` are those that it took to render the page, with the one for the page itself; None: it
    was not to be rendered. Call `release` when the body is held no more: a large one takes one of
    few places.
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
    unanswered: bool = False
    robots_tag: str | None = None
    redirected_to: str | None = None
    hub_links: HubLinks = NO_HUB
    head: bytes = b""
    allowed_origin: str | None = None
    requests: int | None = None
    release: Release = field(default=release_nothing, compare=False, repr=False)


class Fetcher(Protocol):
    """Carries out one fetch, redirects included."""

    async def fetch(
        self,
        url: str,
        memory: PageMemory,
        *,
        may_follow: MayFollow | None = None,
        again: bool = False,
    ) -> FetchResult:
        """Fetch `url` if it has changed since the copy in `memory` (empty: unconditionally).

        `may_follow` is asked before each redirect is followed (None: all are). `again`: the same
        was fetched just before, and it may take long until its hosts are free. What goes wrong on
        the network is a result with `error`, never an exception; but `PostponedError` if the fetch
        could not be made through no fault of `url`.
        """
        ...


@dataclass(frozen=True, slots=True)
class Asking:
    """The page whose script asks for something, by its politeness scope, and with what `headers`.

    To other hosts than its own go no headers of the user, and a private address is asked only if
    all hosts may have one: what a page says may reach no more than its own host could.
    """

    scope: str
    headers: Mapping[str, str]


class Exchanges(Protocol):
    """Carries out single exchanges."""

    async def fetch(
        self, url: str, memory: PageMemory, *, asking: Asking | None = None
    ) -> FetchResult:
        """As `Fetcher.fetch`, but no redirect is followed: one is a result with `error`.

        `asking`: who asks, if it is no poll but the script of a page.
        """
        ...


Told = Callable[[FetchResult | None], None]
"""Takes the result of a fetch that was begun, if it is a plain "304 Not Modified"; None: it is, or
will be, something else."""
_Read = Callable[[str, str, int, CIMultiDictProxy[str]], FetchResult]


class Begun:
    """An exchange that was begun over a connection that was kept.

    It was begun at the time `begun_at` of the event loop, which the boot clock was `ahead` of, and
    ends at `ends_at` at the latest: it is called when its time is over. `told` is called once,
    unless it is given up before. `read` gives the result of an answer.
    """

    __slots__ = ("_deadlines", "_read", "_told", "ahead", "begun_at", "ends_at", "lent", "url")

    def __init__(self, url: str, deadlines: Deadlines, told: Told, read: _Read) -> None:
        self.url = url
        self.lent: Lent | None = None
        self._deadlines = deadlines
        self._told: Told | None = told
        self._read = read
        self.ends_at = deadlines.add(self)
        self.begun_at = self.ends_at - deadlines.seconds
        self.ahead = ahead_of_loop(self.begun_at)

    def __call__(self) -> None:
        """Tell that there is no result yet."""
        self._tell(None)

    def heard(self, message: RawResponseMessage | None) -> bool:
        """Take an answer; see `pollwise.web.connections.Heard`."""
        if message is None or self.lent is None or self._told is None:
            self._tell(None)
            return False
        result = self._read(self.url, self.url, message.code, message.headers)
        self.lent.release()
        self._tell(result)
        return True

    def _tell(self, result: FetchResult | None) -> None:
        """Tell who is to be told."""
        self._deadlines.take_out(self)
        told, self._told = self._told, None
        if told is not None:
            told(result)

    def give_up(self) -> None:
        """End it: nobody is told any more."""
        self._deadlines.take_out(self)
        self._told = None
        if self.lent is not None:
            self.lent.give_up()


class HttpFetcher:
    """`Exchanges` over HTTP/1.1 by `aiohttp`; use it with `async with`.

    Only http and https; no cookies of servers, no proxy from the environment. One exchange takes at
    most `timeout` seconds and building a connection at most `connect_timeout`; a body of more than
    `max_bytes`, on the wire or decompressed, is an error. Of bodies larger than 256 kB only a few
    are held at a time, until `FetchResult.release`; the time that one has to wait does not count.

    Hosts may only have public addresses, see `is_public`, except those whose politeness scopes are
    in `given`; with `allow_private` all hosts may have any address. Connections are kept open to
    about `most_kept` hosts at most.

    `own_headers` go to hosts whose scopes are in `given`, and to no others; of those that are
    secret see `OwnHeaders`: `given_plain` are the scopes of which http URLs were given.

    `NoNetworkError` if no network is there for other hosts either, see `OwnNetwork`.

    With `proxy` (its URL) all requests go through it, and it may have any address; what the name of
    a host means is then looked up here and checked, but the proxy looks it up anew.
    `PostponedError` if the proxy cannot be reached or wants a login.
    """

    def __init__(
        self,
        *,
        clock: Now,
        user_agent: str = USER_AGENT,
        timeout: float = 30.0,
        connect_timeout: float = 10.0,
        max_bytes: int = MAX_BYTES,
        given: Container[str] = (),
        given_plain: Container[str] = (),
        allow_private: bool = False,
        most_kept: int = _MAX_KEPT,
        own_headers: OwnHeaders | None = None,
        proxy: str | None = None,
    ) -> None:
        self._clock = clock
        self._headers = {"User-Agent": user_agent, "Accept-Encoding": "gzip, deflate"}
        self._timeout = timeout
        self._connect_timeout = min(connect_timeout, timeout)
        self._max_bytes = max_bytes
        self._given = given
        self._given_plain = given_plain
        self._allow_private = allow_private
        self._most_kept = most_kept
        self._own_headers = OwnHeaders() if own_headers is None else own_headers
        self._proxy = proxy
        self._proxy_headers = {} if proxy is None else self._own_headers.of_proxy(proxy)
        self._large_bodies = LargeBodies(_MAX_LARGE, longest_wait=_LONGEST_WAIT)
        self._deadlines = Deadlines(timeout)
        self.network = OwnNetwork()
        self._sessions: AsyncExitStack | None = None

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            # Apart, so that no connection to a private address is used for another host.
            room = Room(self._most_kept)
            self._public = await stack.enter_async_context(self._session(room, any_address=False))
            self._any = await stack.enter_async_context(self._session(room, any_address=True))
            self._sessions = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._deadlines.close()
        if self._sessions is not None:
            await self._sessions.aclose()
            self._sessions = None

    def _session(self, room: Room, *, any_address: bool) -> aiohttp.ClientSession:
        return once_only(
            aiohttp.ClientSession(
                connector=Connector(
                    any_address=any_address or self._proxy is not None,
                    room=room,
                    connected=self.network.connected,
                    most_received=2 * self._max_bytes + _MOST_AROUND,
                ),
                timeout=aiohttp.ClientTimeout(total=None, connect=self._connect_timeout),
                headers=self._headers,
                cookie_jar=aiohttp.DummyCookieJar(),
                **PARSING,
            )
        )

    async def fetch(
        self, url: str, memory: PageMemory, *, asking: Asking | None = None
    ) -> FetchResult:
        """See `Exchanges.fetch`."""
        return await self._made(
            url, lambda limit, place: self._exchange(limit, place, url, memory, asking)
        )

    def begin(self, url: str, parts: Divided, memory: PageMemory, told: Told) -> Begun | None:
        """Begin a fetch that needs nothing but its answer; None: it needs more.

        `url` is canonical, and has these `parts`. A connection has to be kept, and a validator to
        be known. Ask `go_on` for the result if the one that is `told` is None.
        """
        conditions = _conditions(memory)
        if self._sessions is None or self._proxy is not None or not conditions:
            return None
        is_given = parts.scope in self._given
        begun = Begun(url, self._deadlines, told, self._told)
        try:
            own = self._sent_along(url, is_given)
            headers = conditions | own if own else conditions
            session = self._session_to(is_any=self._allow_private or is_given)
            begun.lent = ask_at_once(session, parts, headers, begun.heard)
        except (aiohttp.ClientError, ValueError, PostponedError):
            return None  # it is said of the fetch that is made instead
        finally:
            if begun.lent is None:
                begun.give_up()
        return None if begun.lent is None else begun

    async def go_on(self, begun: Begun) -> FetchResult:
        """The result of a fetch that was begun."""

        async def received(limit: asyncio.Timeout, place: ExitStack) -> FetchResult:
            assert begun.lent is not None, "it was begun"
            with await answer_over(begun.lent) as answer:
                return await self._received(answer, begun.url, begun.url, limit, place)

        return await self._made(begun.url, received, begun)

    async def post(
        self, url: str, form: Mapping[str, str], *, may_be_private: bool = False
    ) -> FetchResult:
        """Post a form, without the user's headers; the result has no body.

        The host may have an address that is not public only with `allow_private`, or if it
        `may_be_private`. Else as `fetch`.
        """

        async def posted(limit: asyncio.Timeout, place: ExitStack) -> FetchResult:
            target = spelled(url).url
            is_any = self._allow_private or may_be_private
            headers = {} if target.startswith("https:") else self._proxy_headers
            with await self._asked("POST", target, is_any, headers, form) as answer:
                return self._told(url, target, answer.status, answer.headers)

        return await self._made(url, posted)

    async def _made(
        self,
        url: str,
        make: Callable[[asyncio.Timeout, ExitStack], Awaitable[FetchResult]],
        begun: Begun | None = None,
    ) -> FetchResult:
        """What an exchange gives, in its time, which begins now unless it was `begun` before."""
        if self._sessions is None:
            raise RuntimeError("this HttpFetcher is not open; use it within `async with`")
        if begun is None:
            limited = time_limit(asyncio.get_running_loop().time() + self._timeout)
        else:
            limited = time_limit(begun.ends_at, ahead=begun.ahead)
        unanswered = True
        try:
            with ExitStack() as place:
                async with limited as limit:
                    result = await make(limit, place)
                return replace(result, release=place.pop_all().close) if result.body else result
        except aiohttp.ClientProxyConnectionError as raised:
            raise PostponedError(f"the proxy cannot be reached: {_in_words(raised)}") from raised
        except aiohttp.ServerTimeoutError:
            error = f"no connection within {self._connect_timeout:g} s"
            if self._connect_timeout == self._timeout:
                error += _LONGER
        except TimeoutError:
            error = f"no complete answer within {self._timeout:g} s{_LONGER}"
        # ValueError: from aiohttp, yarl and the IDNA codec, for impossible hosts and headers.
        except (aiohttp.ClientError, HttpProcessingError, OSError, ValueError) as raised:
            # tinyproxy says 401 of a wrong login.
            if isinstance(raised, aiohttp.ClientHttpProxyError) and raised.status in (401, 407):
                raise PostponedError(_NO_LOGIN) from raised
            error = _in_words(raised)
            if is_our_shortage(raised):
                raise PostponedError(f"this machine is short of resources: {error}") from raised
            if self.network.is_down(raised):
                raise NoNetworkError(f"no network: {error}") from raised
            unanswered = isinstance(raised, aiohttp.ClientConnectorError)
        return FetchResult(url, url, error=error, unanswered=unanswered)

    async def _exchange(
        self,
        limit: asyncio.Timeout,
        place: ExitStack,
        url: str,
        memory: PageMemory,
        asking: Asking | None,
    ) -> FetchResult:
        target, scope, _ = spelled(url)
        is_given = scope in self._given and (asking is None or scope == asking.scope)
        conditions = _conditions(memory)
        sent = CIMultiDict({} if asking is None else asking.headers)
        sent.update(conditions | self._sent_along(target, is_given))
        is_any = self._allow_private or is_given
        with await self._asked("GET", target, is_any, sent) as answer:
            if answer.status == 304 and not conditions:
                raise BodyError("304 Not Modified to a request without a condition")
            return await self._received(answer, url, target, limit, place)

    async def _received(
        self, answer: Answer, url: str, target: str, limit: asyncio.Timeout, place: ExitStack
    ) -> FetchResult:
        """The result of an answer, with its body."""
        result = self._told(url, target, answer.status, answer.headers)
        if result.redirected_to is not None or result.error is not None:
            return result
        if not 200 <= answer.status < 300:
            return result
        reader = await self._read(answer, limit, place)
        return replace(result, body=reader.body(), wire_bytes=reader.wire_bytes, head=_head(answer))

    async def _asked(
        self,
        method: str,
        target: str,
        is_any: bool,
        headers: Mapping[str, str],
        form: Mapping[str, str] | None = None,
    ) -> Answer:
        """The answer to a request; `is_any`: of any address."""
        session = self._session_to(is_any=is_any)
        if self._proxy is not None and session is self._public:
            await require_public_host(target)
        return await answered(
            session,
            method,
            target,
            headers,
            form=form,
            proxy=self._proxy,
            proxy_headers=self._proxy_headers,
        )

    def _session_to(self, *, is_any: bool) -> aiohttp.ClientSession:
        """What asks hosts of any address, or of public ones only."""
        return self._any if is_any else self._public

    def _told(self, url: str, target: str, status: int, told: CIMultiDictProxy[str]) -> FetchResult:
        """The result of an answer with this status and these headers, without the body."""
        self.network.answered()
        if status == 407 and self._proxy is not None and target.startswith("http:"):
            raise PostponedError(_NO_LOGIN)
        etag, last_modified = told.get("ETag"), told.get("Last-Modified")
        retry_after, date = told.get("Retry-After"), told.get("Date")
        content_type, allowed = told.get("Content-Type"), told.get("Access-Control-Allow-Origin")
        tags, links = told.getall("X-Robots-Tag", ()), told.getall("Link", ())
        # Most answers lack most of these.
        result = FetchResult(
            url,
            target,
            status,
            etag=validator(etag) if etag else None,
            last_modified=validator(last_modified) if last_modified else None,
            content_type=readable(content_type) if content_type else content_type,
            retry_after=parse_retry_after(retry_after, self._clock()) if retry_after else None,
            date=parse_http_date(date) if date else None,
            robots_tag=readable("\n".join(tags) or None) if tags else None,
            hub_links=hub_links(links, target) if links else NO_HUB,
            allowed_origin=readable(allowed) if allowed else allowed,
        )
        location = told.get("Location")
        if status in _REDIRECTS and location is not None:
            return _redirected(result, location)
        return result

    def _sent_along(self, target: str, is_given: bool) -> dict[str, str]:
        """The user's headers, and those for the proxy if it reads this request itself."""
        by_proxy = self._proxy is not None
        headers = {}
        if is_given and self._own_headers.are_any:
            may_be_plain = scope_of(target) in self._given_plain
            headers = self._own_headers.of(
                target, self._clock(), by_proxy=by_proxy, may_be_plain=may_be_plain
            )
        return headers if target.startswith("https:") else headers | self._proxy_headers

    async def _read(self, answer: Answer, limit: asyncio.Timeout, place: ExitStack) -> BodyReader:
        if coded := transfer_codings(answer.headers.getall("Transfer-Encoding", ())):
            raise BodyError(f"Transfer-Encoding {coded!r}, which was not asked for")
        expected = int(answer.headers.get("Content-Length") or 0)
        encoding = ", ".join(answer.headers.getall("Content-Encoding", ()))
        reader = BodyReader(encoding, max_bytes=self._max_bytes, room=LARGE)
        self._bound(expected)
        is_large = expected > LARGE
        if is_large:
            await self._make_room(reader, limit, place)
        async for chunk in answer.body.iter_chunked(_PIECE):
            reader.feed(chunk)
            self._bound(reader.wire_bytes)
            if reader.is_full and not is_large:
                is_large = True
                await self._make_room(reader, limit, place)
        return reader

    async def _make_room(
        self, reader: BodyReader, limit: asyncio.Timeout, place: ExitStack
    ) -> None:
        place.callback(await self._place(limit))
        reader.make_room()

    def _bound(self, size: int) -> None:
        if size > self._max_bytes:
            raise BodyError(too_large(self._max_bytes))

    async def _place(self, limit: asyncio.Timeout) -> Release:
        """Wait for a place without a limit on the host: it is not what takes so long."""
        loop = asyncio.get_running_loop()
        begun_at, ends_at = loop.time(), limit.when()
        limit.reschedule(None)
        release = await self._large_bodies.take_place()
        if ends_at is not None:
            limit.reschedule(ends_at + loop.time() - begun_at)
        return release


def _conditions(memory: PageMemory) -> dict[str, str]:
    """The headers by which only what differs from the copy is sent."""
    conditions = {}
    if memory.etag is not None:
        conditions["If-None-Match"] = memory.etag
    if memory.last_modified is not None:
        conditions["If-Modified-Since"] = memory.last_modified
    return conditions


def _head(answer: Answer) -> bytes:
    minor = 0 if answer.version == aiohttp.HttpVersion10 else 1
    status_line = f"HTTP/1.{minor} {answer.status} {answer.reason or ''}"
    return kept_head(status_line.encode(errors="surrogateescape"), answer.raw_headers)


def _redirected(result: FetchResult, location: str) -> FetchResult:
    try:
        # What is no UTF-8 goes back to the server as it came.
        raw = _NO_UTF_8.sub(lambda found: f"%{ord(found[0]) - 0xDC00:02X}", location)
        target = joined(result.final_url, raw)
    except InputError as what:
        return replace(result, error=f"redirected to nowhere: {what}")
    error = f"redirected to {shown(target)}, {_NOT_FOLLOWED}"
    return replace(result, error=error, redirected_to=target)


def _in_words(error: Exception) -> str:
    if isinstance(error, aiohttp.ClientConnectorError) and isinstance(
        error.os_error, RefusedAddressError
    ):
        return one_line(error.os_error)
    if isinstance(error, aiohttp.ClientConnectorError):  # its own text has "ssl:default" in it
        why = one_line(OSError(error.strerror or error.os_error))
        if error.os_error.errno == errno.ECONNREFUSED:  # asyncio says "Connect call failed"
            why = "connection refused"
        elif told := no_tls(error.os_error):
            why = told
        elif isinstance(error.os_error, ConnectionError):
            why = "the server hung up at once"
        host = f"[{error.host}]" if ":" in error.host else error.host
        return f"no connection to {host}:{error.port} ({why})"
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "the server hung up before it had answered"
    if isinstance(error, aiohttp.ClientPayloadError):
        return "the body was cut off or garbled"
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"the proxy refused a tunnel: status {error.status}"
    # The text of these would begin with a status 400, and may end in a line that only points.
    if isinstance(error, aiohttp.ClientResponseError | HttpProcessingError):
        return f"the answer is no HTTP: {one_line(Exception(error.message.rstrip(' ^')))}"
    return one_line(error)
