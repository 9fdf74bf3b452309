"""Servers that send interim answers (1xx) without end, or a few as they should."""

import asyncio
import time

import pytest

from pollwise.types import PageMemory
from pollwise.web.fetcher import HttpFetcher

from .warming import read_request

NOTHING = PageMemory()
CONTINUE = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@pytest.fixture
async def serve():
    """Serves these bytes again and again, then those, whatever is asked for."""
    servers = []

    async def serving(
        repeated: bytes, times: float, last: bytes = b"", pause: float = 0.0, first: bytes = b""
    ) -> str:
        async def answer(reader, writer):
            try:
                await read_request(reader, writer)
                writer.write(first)
                count = 0
                while count < times:
                    writer.write(repeated)
                    await writer.drain()
                    await asyncio.sleep(pause)
                    count += 1
                writer.write(last)
                await writer.drain()
            except (ConnectionError, asyncio.IncompleteReadError):
                pass
            finally:
                writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        servers.append(server)
        return f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"

    yield serving
    for server in servers:
        server.close()


async def test_a_few_are_passed_over(serve, fetching, clock):
    url = await serve(CONTINUE, 10, ANSWER)
    async with fetching(clock=clock, allow_private=True) as fetcher:
        assert (await fetcher.fetch(url, NOTHING)).body == b"ok"


@pytest.mark.parametrize(("size", "pause"), [(1, 0.0), (3000, 0.0), (1, 0.01)])
async def test_a_flood_ends_the_exchange_and_holds_up_nobody(
    serve, site, fetching, clock, size, pause
):
    url = await serve(CONTINUE * size, float("inf"), pause=pause)
    site.says("/a", "good")
    async with fetching(clock=clock, allow_private=True, timeout=10) as fetcher:
        begun_at = time.monotonic()
        floods = [asyncio.ensure_future(fetcher.fetch(url, NOTHING)) for _ in range(5)]
        good = [await fetcher.fetch(site.url("/a"), NOTHING) for _ in range(5)]
        results = await asyncio.gather(*floods)
        took = time.monotonic() - begun_at
    assert [result.body for result in good] == [b"good"] * 5
    assert {result.error for result in results} == {
        "the answer is no HTTP: more than 10 interim answers"
    }
    assert took < 5


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("begin", "flood"),
    [
        (b"", b"\r\n" * 30_000),
        (CHUNKED + b"5;", b"a" * 60_000),
        (CHUNKED, b"0" * 60_000),
        (CHUNKED, b"1;" + b"a" * 16_000 + b"\r\na\r\n"),
    ],
)
async def test_what_is_no_part_of_a_body_has_a_bound_too(
    serve, site, fetching, clock, begin, flood
):
    site.says("/a", "good")
    url = await serve(flood, float("inf"), first=begin)
    async with fetching(clock=clock, allow_private=True, max_bytes=2**20) as fetcher:
        result = await fetcher.fetch(url, NOTHING)
        assert result.error in (
            "the answer is no HTTP: more than 3 MB for one answer",
            "the body was cut off or garbled",
        )
        assert (await fetcher.fetch(site.url("/a"), NOTHING)).body == b"good"


async def test_what_came_before_over_a_kept_connection_does_not_count(clock):
    connections = 0
    body = b"a" * 2**20
    told = b'HTTP/1.1 200 OK\r\nETag: "a"\r\nContent-Length: %d\r\n\r\n' % len(body)

    async def answer(reader, writer):
        nonlocal connections
        connections += 1
        try:
            while True:
                await reader.readuntil(b"\r\n\r\n")
                writer.write(told + body)
        except asyncio.IncompleteReadError:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    async with HttpFetcher(clock=clock, allow_private=True, max_bytes=2**20) as fetcher:
        for _ in range(5):
            result = await fetcher.fetch(url, PageMemory(etag='"b"'))
            result.release()
            assert (result.error, result.body) == (None, body)
    assert connections == 1
    server.close()


async def test_those_of_one_exchange_do_not_count_for_the_next(site, clock):
    """Over one connection, which is kept."""
    connections = 0

    async def answer(reader, writer):
        nonlocal connections
        connections += 1
        try:
            while True:
                await reader.readuntil(b"\r\n\r\n")
                writer.write(CONTINUE * 8 + ANSWER)
        except asyncio.IncompleteReadError:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    async with HttpFetcher(clock=clock, allow_private=True) as fetcher:
        for _ in range(3):
            assert (await fetcher.fetch(url, NOTHING)).body == b"ok"
    assert connections == 1
    server.close()
