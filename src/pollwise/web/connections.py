"""The connections of the fetcher: to whom, how many stay open, what may come before an answer.

aiohttp has no option for the last two, so its connector and its protocol are refined here. Nor has
it a way to use a connection without a session. Not all of what this builds upon is public, so
pollwise asks for the versions of aiohttp that have it.
"""

import asyncio
import errno
import functools
import math
import re
import socket
import sys
from collections.abc import Callable
from time import monotonic
from typing import Any, Self

import aiohttp
from aiohttp import AddrInfoType, http_writer
from aiohttp.client_proto import ResponseHandler
from aiohttp.client_reqrep import ConnectionKey
from aiohttp.http import HttpVersion11, RawResponseMessage
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.streams import EMPTY_PAYLOAD
from multidict import CIMultiDict, CIMultiDictProxy

from pollwise.errors import PostponedError
from pollwise.web.addresses import require_public
from pollwise.web.deadlines import ahead_of_loop

__all__ = [
    "PARSING",
    "Connector",
    "Heard",
    "Lent",
    "Room",
    "connections_to",
    "is_our_shortage",
    "once_only",
]

Heard = Callable[[RawResponseMessage | None], bool]
"""Takes the answer to a request if that is a plain 304; None: it is, or will be, something else.

Says whether it has taken it."""

_MAX_INTERIM = 10
"""Interim (1xx) answers before one answer. Each is handled without a pause for anybody else."""
_KEPT_FOR = 15.0
_SHORTEST_KEPT = 1.0
"""A connection closed after fewer seconds without a request was not closed for having none."""
_EARLIER = 0.8
"""The share of the seconds after which a host closed a connection, in which the next are used."""
_MANY_HOSTS = 10_000
"""Hosts of which that is remembered."""
_OF_PROXY = 0.5
"""How much of the time to connect the way to a proxy may take: the rest is for its tunnel."""

_OUR_SHORTAGE = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_OUR_SHORTAGE_LOOKING_UP = frozenset({socket.EAI_SYSTEM, socket.EAI_MEMORY})
_NO_PORT = "no local port is free"
_PROTOCOL = b"HTTP/"
_LINE_END = b"\r\n"
_HEAD_END = 2 * _LINE_END
# Nothing is tried twice: `++` and `*+` give nothing back.
_LINE = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]++:[\t ]*+[\x21-\x7e][\t\x20-\x7e]*+(?<![\t ])\r\n"
_PLAIN = re.compile(rb"HTTP/1\.1 304(?: ([\x20-\x7e]*+))?\r\n((?:%b|)*+)\r\n" % _LINE)
# Of such lines, which have space only before a value or within it.
_HEADERS = re.compile(rb"([^:]+):[\t ]*([^\r]+)\r\n")
_HEADERS_TEXT = re.compile(_HEADERS.pattern.decode())
_LONGEST_PLAIN = 4096
_MOST_PLAIN = 64
_ON_THE_WIRE = frozenset(
    {
        "connection",
        "content-encoding",
        "content-length",
        "proxy-connection",  # which the parser takes for `connection`
        "transfer-encoding",
        "upgrade",
    }
)
"""Headers that say how a body is sent, where it ends, or whether another answer may follow."""
PARSING: dict[str, Any] = {"auto_decompress": False, "max_field_size": 32 * 1024}
"""How sessions have answers taken apart. A header that says what a page may load
(`Content-Security-Policy`) has more than the usual 8 kB on some sites."""
_RECEIVED = 64 * 1024
"""Bytes that the system holds for a connection (Linux: twice that): enough for 10 MB in 8 seconds
from a host 0.1 s away."""


def is_our_shortage(error: BaseException) -> bool:
    """Whether this machine lacked what an exchange needs, such as descriptors or ports."""
    if isinstance(error, aiohttp.ClientConnectorError):
        error = error.os_error
    if isinstance(error, socket.gaierror):
        return error.errno in _OUR_SHORTAGE_LOOKING_UP
    # By its words: only they are left if several addresses failed, each in its own way.
    return isinstance(error, OSError) and (error.errno in _OUR_SHORTAGE or _NO_PORT in str(error))


def _require(refined: object, *parts: str) -> None:
    """`RuntimeError` if something that is refined here lacks a part: nothing would be bounded."""
    missing = [part for part in parts if not hasattr(refined, part)]
    if missing:
        raise RuntimeError(
            f"aiohttp {aiohttp.__version__} lacks {', '.join(missing)}, which pollwise builds upon;"
            " install the version that pollwise asks for"
        )


def once_only(session: aiohttp.ClientSession) -> aiohttp.ClientSession:
    """The session, which makes no request twice.

    aiohttp would repeat one at once if its connection had been used before and is closed: the same
    host would be asked again without a pause.
    """
    _require(session, "_retry_connection")
    session._retry_connection = False
    return session


class Room:
    """Room for connections to so many hosts, shared by connectors."""

    def __init__(self, hosts: int) -> None:
        self._hosts = hosts
        self.connectors: list[Connector] = []

    @property
    def is_full(self) -> bool:
        """Whether no connection to another host is to be kept."""
        left = self._hosts
        for connector in self.connectors:
            left -= connector.kept
        return left <= 0


class Connector(aiohttp.TCPConnector):
    """Connects to public addresses only, or to any with `any_address`.

    Connections are kept for 15 seconds after their use, if there is `room` for those to another
    host. There is no bound on those in use: time in a queue here would count as time to connect.

    Many hosts close a connection sooner, such as after 5 seconds; of a host that is polled every 5
    seconds each second request would meet that. So after the first one the connections to that host
    are used for a shorter time.

    `connected` is told of each new connection, by the host. An answer may have `most_received`
    bytes with all that is sent around its body.
    """

    def __init__(
        self,
        *,
        any_address: bool,
        room: Room,
        connected: Callable[[str], None] = lambda host: None,
        most_received: int = sys.maxsize,
    ) -> None:
        super().__init__(
            limit=0,
            keepalive_timeout=_KEPT_FOR,
            socket_factory=_Socket.to_any if any_address else _Socket.to_public,
        )
        _require(self, "_conns", "_factory", "_get", "_acquired", "_cleanup_handle", "_closed")
        _require(super(), "_release", "_create_connection", "_create_direct_connection")
        _require(ResponseHandler, "feed_data", "set_response_params", "data_received")
        _require(ResponseHandler(asyncio.get_running_loop()), "_parser", "_payload")
        _require(http_writer, "_serialize_headers")
        self._connected = connected
        self._room = room
        room.connectors.append(self)
        self._ahead = ahead_of_loop(monotonic())
        """It grows while the machine sleeps."""
        self._woke_at = -math.inf
        """When it was seen to have slept last; what was kept before may be closed since long."""
        self._used_for: dict[ConnectionKey, float] = {}
        """For how many seconds those are used which their hosts close sooner than we."""
        answers: Callable[..., ResponseHandler] = _Answers
        self._factory = functools.partial(
            answers, loop=asyncio.get_running_loop(), most_received=most_received
        )

    async def _create_connection(self, req: Any, *more: Any) -> Any:
        made = await super()._create_connection(req, *more)
        self._connected(req.url.raw_host or "")
        return made

    async def _create_direct_connection(
        self,
        req: Any,
        traces: Any,
        timeout: aiohttp.ClientTimeout,
        *,
        client_error: type[Exception] = aiohttp.ClientConnectorError,
    ) -> Any:
        connect = super()._create_direct_connection
        if client_error is not aiohttp.ClientProxyConnectionError:
            return await connect(req, traces, timeout, client_error=client_error)
        # aiohttp tells of a host what has failed on the way to the proxy: its name, TLS, the time.
        seconds = None if timeout.connect is None else timeout.connect * _OF_PROXY
        try:
            async with asyncio.timeout(seconds):
                return await connect(req, traces, timeout, client_error=client_error)
        except aiohttp.ClientConnectorError as error:
            raise aiohttp.ClientProxyConnectionError(req.connection_key, error.os_error) from error
        except TimeoutError as error:
            why = TimeoutError(errno.ETIMEDOUT, f"no answer within {seconds:g} s")
            raise aiohttp.ClientProxyConnectionError(req.connection_key, why) from error

    def _release(self, key: Any, protocol: Any, *, should_close: bool = False) -> None:
        super()._release(key, protocol, should_close=should_close or self._room.is_full)
        protocol.is_idle = True

    @property
    def kept(self) -> int:
        """The hosts to which connections are kept open."""
        return len(self._conns)

    def lent(self, key: ConnectionKey) -> "Lent | None":
        """One of these connections, if one was kept that can be used again."""
        while kept := self._conns.get(key):
            protocol, kept_at = kept[0]
            now = monotonic()
            ahead = ahead_of_loop(now)
            if ahead > self._ahead + _SHORTEST_KEPT:
                self._ahead, self._woke_at = ahead, now
            idle = now - kept_at
            if not protocol.is_connected() or idle > _KEPT_FOR:
                return None  # aiohttp drops it
            kept.popleft()
            if not kept:
                del self._conns[key]
            self._acquired.add(protocol)
            assert isinstance(protocol, _Answers), "it was made here"
            if kept_at >= self._woke_at and idle < self._used_for.get(key, _KEPT_FOR):
                return Lent(self, key, protocol, idle)
            self._release(key, protocol, should_close=True)
        return None

    def note_closed(self, key: ConnectionKey, idle: float) -> bool:
        """A host closed a connection that nothing was sent over for so long, as it was used.

        Whether that could not be known before.
        """
        if idle < _SHORTEST_KEPT:
            return False  # it did not do that because nothing was sent
        is_first = key not in self._used_for
        if is_first and len(self._used_for) >= _MANY_HOSTS:
            self._used_for.clear()
        self._used_for[key] = _EARLIER * idle
        return is_first

    def take_back(self, key: ConnectionKey, protocol: "_Answers") -> None:
        """Keep a connection that was lent, if that can be.

        This is what aiohttp does with most, without looking whether somebody waits: nobody does.
        """
        is_usual = not self._closed and self._cleanup_handle is not None
        if not is_usual or protocol.should_close or self._room.is_full:
            self._release(key, protocol)
            return
        self._acquired.discard(protocol)
        self._conns[key].append((protocol, monotonic()))
        protocol.is_idle = True


class Lent:
    """A connection that was kept, `idle` for so many seconds, for one request and its answer."""

    __slots__ = ("_connector", "_idle", "_key", "_protocol")

    def __init__(
        self, connector: Connector, key: ConnectionKey, protocol: "_Answers", idle: float
    ) -> None:
        self._connector = connector
        self._key = key
        self._protocol = protocol
        self._idle = idle

    def ask(self, request: bytes, told: Heard | None = None) -> None:
        """Make a request.

        `told` is called once, as soon as it is known what the answer is. If it takes the answer,
        `release` the connection; else go on with `heard`. An error is that of aiohttp, and closes
        the connection.
        """
        try:
            transport = self._protocol.transport
            if transport is None:
                raise aiohttp.ServerDisconnectedError
            self._protocol.expect_plain(told)
            transport.write(request)
        except BaseException:
            self.give_up()
            raise

    async def heard(self) -> tuple[RawResponseMessage, aiohttp.StreamReader]:
        """The head of the answer, and its body as it arrives.

        Release the connection when the body was read; it is closed if there is an error, which is
        that of aiohttp, but `PostponedError` if the host had closed it for the first time.
        """
        try:
            while True:
                message, body = await self._protocol.read()
                is_interim = 100 <= message.code < 200 and message.code != 101
                if not is_interim:
                    return message, body
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
            is_first = self._protocol.is_unanswered and self._connector.note_closed(
                self._key, self._idle
            )
            self.give_up()
            if is_first:  # as both do that at the same moment, the request was not taken
                raise PostponedError(
                    "the host closed a connection just as it was used again"
                ) from error
            raise
        except BaseException:
            self.give_up()
            raise

    def release(self) -> None:
        """Give the connection back."""
        self._connector.take_back(self._key, self._protocol)

    def give_up(self) -> None:
        """Close the connection: nobody is told of the answer any more."""
        self._protocol.expect_plain(None)
        self._connector._release(self._key, self._protocol, should_close=True)


def connections_to(host: str, port: int, *, is_tls: bool) -> ConnectionKey:
    """The connections to a host: its address, without brackets, or its name in lower case and
    Punycode.
    """
    return ConnectionKey(host, port, is_tls, True, None, None, None)


class _Socket(socket.socket):
    """Tells a want of local ports from what has the same number.

    That is an address that cannot be reached from here, as many of IPv6, and port 0.
    """

    @classmethod
    def to_any(cls, info: AddrInfoType) -> Self:
        """A new socket for a connection to this address."""
        family, kind, protocol, _, _ = info
        made = cls(family, kind, protocol)
        # What has arrived is read at once, and hundreds of hosts may send much while they wait.
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVED)
        return made

    @classmethod
    def to_public(cls, info: AddrInfoType) -> Self:
        """The same if the address is public; else `RefusedAddressError`."""
        require_public(info[4][0])
        return cls.to_any(info)

    def connect(self, address: Any) -> None:
        try:
            super().connect(address)
        except OSError as error:
            is_ambiguous = self.family != socket.AF_INET or address[1] == 0
            if error.errno != errno.EADDRNOTAVAIL or is_ambiguous:
                raise
            raise OSError(error.errno, _NO_PORT) from error


class _Answers(ResponseHandler):
    """Ends a connection that sends one interim answer after another, or what nobody asked for.

    The latter would be taken for the answer to the next request, and each answer for the next one.
    Such are the bodies of a 304, which has none (RFC 9110, 15.4.5), and what goes on after the
    length that was told. They are no fault of the answer before them.

    Most answers to polls are a plain 304. Where one is expected, no parser is made before something
    else has come.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, most_received: int = sys.maxsize) -> None:
        super().__init__(loop)
        self._most_received = most_received
        self._received = 0
        """Bytes since the request."""
        self._interim = 0
        self._is_plain_expected = False
        self._has_begun = False
        """Whether the head of the answer to the request has come; interim ones do not count."""
        self._in_head = False
        """Whether a part of a head has come."""
        self._told: Heard | None = None
        self.is_idle = False
        """Whether it is kept, and no request is under way."""

    def set_response_params(self, **params: Any) -> None:
        """See aiohttp: a request is about to be made."""
        self.is_idle = self._is_plain_expected = self._has_begun = self._in_head = False
        self._received = 0
        super().set_response_params(**params)

    def expect_plain(self, told: Heard | None) -> None:
        """A request is about to be made whose answer may be a plain 304, to be `told` if it is."""
        self.is_idle, self._is_plain_expected = False, True
        self._received = 0
        self._parser = None
        self._told = told

    @property
    def is_unanswered(self) -> bool:
        """Whether nothing has come since the request that may be answered by a plain 304."""
        return self._is_plain_expected

    def connection_lost(self, exc: BaseException | None) -> None:
        """See `asyncio.Protocol`."""
        super().connection_lost(exc)
        self._tell(None)

    def _tell(self, message: RawResponseMessage | None) -> bool:
        """Tell who is to be told, once; whether the message was taken."""
        told, self._told = self._told, None
        return told is not None and told(message)

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        if self.is_idle and data:  # with none, aiohttp takes up again what it has
            self.close()
            return
        if self._is_plain_expected:
            self._is_plain_expected = False
            if (message := _plain(data)) is not None:
                self._payload = EMPTY_PAYLOAD
                self._interim = 0
                if not self._tell(message):
                    self.feed_data((message, EMPTY_PAYLOAD))
                return
            self.set_response_params(read_until_eof=True, **PARSING)
            self._tell(None)
        self._received += len(data)
        if self._received > self._most_received:
            # Chunks may have more around them than in them, and nobody else counts that.
            self._refuse(f"more than {self._most_received >> 20} MB for one answer")
        while data and not self._has_begun and self.exception() is None:
            # A head alone: if the parser meets an error, what it found in the same bytes is lost.
            if not self._in_head and not (data := data.lstrip(_LINE_END)):
                break
            end = data.find(_HEAD_END)
            head = data if end < 0 else data[: end + len(_HEAD_END)]
            data = data[len(head) :]
            if not self._in_head and head[: len(_PROTOCOL)].upper() == _PROTOCOL:
                head = _PROTOCOL + head[len(_PROTOCOL) :]  # in lower case some servers send it
            self._in_head = end < 0
            super().data_received(head)
        if self.exception() is None:
            super().data_received(data)
        error, body = self.exception(), self._payload
        if error is not None and body is not None and not body.is_eof():
            # aiohttp tells only who waits for a head. And not at once: who was just woken, as a
            # chunk has ended, would not look for it before he waits again.
            self._loop.call_soon(body.set_exception, error)
        if self.is_idle and self.should_close:  # released at the end of a body, but more has come
            self.close()

    def _refuse(self, what: str) -> None:
        """End the connection, as an answer has what it may not have."""
        if self.exception() is None:
            self.set_exception(HttpProcessingError(message=what))
            if self.transport is not None:
                self.transport.close()

    def feed_data(self, data: Any, size: int = 0) -> None:
        message, _ = data
        if not 100 <= message.code < 200:
            self._interim = 0
            self._has_begun = True
        elif self._interim == _MAX_INTERIM:
            self._refuse(f"more than {_MAX_INTERIM} interim answers")
            return
        else:
            self._interim += 1
        super().feed_data(data, size)


def _plain(data: bytes) -> RawResponseMessage | None:
    """An answer that is a 304 as plain as most are; None: it is for a parser to say what it is."""
    if len(data) > _LONGEST_PLAIN or (parts := _PLAIN.fullmatch(data)) is None:
        return None
    lines = tuple(_HEADERS.findall(parts[2]))
    headers = CIMultiDict(_HEADERS_TEXT.findall(parts[2].decode()))
    if len(lines) > _MOST_PLAIN or not _ON_THE_WIRE.isdisjoint(map(str.lower, headers)):
        return None
    return RawResponseMessage(
        HttpVersion11,
        304,
        (parts[1] or b"").decode(),
        CIMultiDictProxy(headers),
        lines,
        should_close=False,
        compression=None,
        upgrade=False,
        chunked=False,
    )
