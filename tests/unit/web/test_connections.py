"""What this machine lacks, told from what is wrong with a host."""

import errno
import socket
from types import SimpleNamespace

import aiohttp
import pytest
from aiohttp import http_writer
from aiohttp.streams import DataQueue

from pollwise.testing.webserver import MisbehavingServer
from pollwise.web.connections import Connector, Room, is_our_shortage


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
