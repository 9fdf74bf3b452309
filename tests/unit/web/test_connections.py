"""What this machine lacks, told from what is wrong with a host."""

import asyncio
import errno
import socket
from types import SimpleNamespace

import aiohttp
import pytest
from aiohttp import http_writer
from aiohttp.base_protocol import BaseProtocol
from aiohttp.http import HttpResponseParser
from aiohttp.streams import DataQueue
from hypothesis import given
from hypothesis import strategies as st

from pollwise.testing.webserver import MisbehavingServer
from pollwise.web.connections import Connector, Room, _plain, is_our_shortage


def not_connected(error):
    return aiohttp.ClientConnectorError(SimpleNamespace(host="h", port=80, ssl=True), error)


@pytest.fixture
def portless(monkeypatch):
    """Every connection fails as it does without a local port, and for some IPv6 addresses."""

    def refuse(one, address):
        raise OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address")

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.mark.parametrize(
    ("host", "port", "ours"),
    [("127.0.0.1", 80, True), ("127.0.0.1", 0, False), ("::1", 80, False)],
)
async def test_a_want_of_ports_is_told_from_addresses_out_of_reach(portless, host, port, ours):
    """Once, an address that cannot be reached from here was our shortage, for ever."""
    async with aiohttp.ClientSession(
        connector=Connector(any_address=True, room=Room(9))
    ) as session:
        shown = f"[{host}]" if ":" in host else host
        with pytest.raises(aiohttp.ClientConnectorError) as raised:
            await session.get(f"http://{shown}:{port}/")
    assert is_our_shortage(raised.value) is ours


async def test_a_want_of_ports_is_found_among_failures_of_several_addresses(portless):
    async with aiohttp.ClientSession(
        connector=Connector(any_address=True, room=Room(9))
    ) as session:
        with pytest.raises(aiohttp.ClientConnectorError) as raised:
            await session.get("http://127.0.0.1:80/")
    several = OSError(f"Multiple exceptions: {raised.value.os_error}, [Errno 101] unreachable")
    assert is_our_shortage(not_connected(several))


@pytest.mark.parametrize(
    ("number", "ours"),
    [
        (socket.EAI_SYSTEM, True),
        (socket.EAI_MEMORY, True),
        (socket.EAI_NONAME, False),
        (socket.EAI_AGAIN, False),
    ],
)
def test_look_ups_that_lack_memory_or_descriptors_are_ours(number, ours):
    """Once, the host had failed."""
    assert is_our_shortage(not_connected(socket.gaierror(number, "why"))) is ours


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENOBUFS, errno.ENOMEM])
def test_descriptors_and_buffers_are_ours(number):
    assert is_our_shortage(OSError(number, "why"))
    assert is_our_shortage(not_connected(OSError(number, "why")))


def test_what_is_wrong_with_a_host_is_not_ours():
    assert not is_our_shortage(OSError(errno.ECONNREFUSED, "why"))
    assert not is_our_shortage(TimeoutError())


@pytest.mark.parametrize(
    ("owner", "part"),
    [
        (aiohttp.BaseConnector, "_release"),
        (aiohttp.BaseConnector, "_get"),
        (DataQueue, "feed_data"),
        (http_writer, "_serialize_headers"),
    ],
)
async def test_an_aiohttp_without_what_is_built_upon_is_told_of(monkeypatch, owner, part):
    """Once, the bounds were silently gone."""
    monkeypatch.delattr(owner, part)
    with pytest.raises(RuntimeError, match=rf"^aiohttp .* lacks {part},"):
        Connector(any_address=True, room=Room(9))


async def test_connectors_share_the_room_for_kept_connections() -> None:
    room = Room(2)
    async with (
        MisbehavingServer() as server,
        aiohttp.ClientSession(connector=Connector(any_address=True, room=room)) as one,
        aiohttp.ClientSession(connector=Connector(any_address=True, room=room)) as other,
    ):
        for expected, session in ((1, one), (2, other)):
            async with session.get(server.url("/status/204")) as response:
                await response.read()
            assert sum(connector.kept for connector in room.connectors) == expected
            assert room.is_full == (expected == 2)


NAMES = st.sampled_from(
    [
        "ETag",
        "Date",
        "etag",
        "X-A",
        "Server",
        "Keep-Alive",
        "Connection",
        "Proxy-Connection",
        "Content-Length",
        "Age",
    ]
)
VALUES = st.sampled_from(
    ['"1"', "Sun, 06 Nov 1994 08:49:37 GMT", "a  b", "", " ", "padded ", "\tx", "0", "close", "é"]
)
LINES = st.lists(st.tuples(NAMES, st.sampled_from([": ", ":", ":\t"]), VALUES), max_size=5)


@given(st.sampled_from([" Not Modified", " ", "", " é"]), LINES, st.sampled_from(["", "x", "\r\n"]))
async def test_a_plain_304_is_what_the_parser_of_aiohttp_says(reason, lines, more):
    head = "".join(f"{name}{between}{value}\r\n" for name, between, value in lines)
    data = f"HTTP/1.1 304{reason}\r\n{head}\r\n{more}".encode()
    if (plain := _plain(data)) is None:
        is_odd = more or "é" in f"{reason}{head}" or reason == ""
        on_the_wire = "Connection" in head or "Content-Length" in head
        assert (
            is_odd or on_the_wire or any(value != value.strip() or not value for *_, value in lines)
        )
        return
    loop = asyncio.get_running_loop()
    parser = HttpResponseParser(BaseProtocol(loop), loop, 2**16, read_until_eof=True)
    ((parsed, body),), is_upgraded, rest = parser.feed_data(data)
    # Known names are spelled in one way there.
    told, expected = (
        [(name.lower(), value) for name, value in one.headers.items()] for one in (plain, parsed)
    )
    assert told == expected
    assert repr(plain).partition(" raw")[2] == repr(parsed).partition(" raw")[2]
    assert (plain.version, plain.code, plain.reason) == (parsed.version, 304, parsed.reason)
    assert (body.is_eof(), is_upgraded, rest) == (True, False, b"")


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 304 Not Modified\r\nA: b\r\n",
        b"HTTP/1.1 304 Not Modified\nA: b\n\n",
        b"HTTP/1.1 304 Not Modified\r\nA: b\r\n c\r\n\r\n",
        b"HTTP/1.1 304 Not Modified\r\nA : b\r\n\r\n",
        b"HTTP/1.1 304 Not Modified\r\nA: b\0\r\n\r\n",
        b"HTTP/1.0 304 Not Modified\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 304 Not Modified\r\n" + 65 * b"A: b\r\n" + b"\r\n",
        b"HTTP/1.1 304 Not Modified\r\nA: " + 5000 * b"b" + b"\r\n\r\n",
    ],
)
def test_what_is_no_plain_304_is_left_to_the_parser(data):
    assert _plain(data) is None
