"""The misbehaving server: what a client sees of each of its paths."""

import asyncio
import zlib
from collections.abc import AsyncIterator, Iterator

import aiohttp
import pytest
import pytest_asyncio

from pollwise.testing.webserver import MisbehavingServer

DATE = "Mon, 05 Feb 2024 10:00:00 GMT"


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """The server is to blame nobody for its own misdeeds."""
    yield
    assert not caplog.get_records("call")


@pytest_asyncio.fixture
async def server() -> AsyncIterator[MisbehavingServer]:
    async with MisbehavingServer() as server:
        yield server


@pytest_asyncio.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(auto_decompress=False) as client:
        yield client


async def raw(server: MisbehavingServer, path: str, limit: int = 1 << 16) -> bytes:
    """The first bytes of the answer, as they come over the wire."""
    host, port = server.origin.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    answer = b""
    while len(answer) < limit and (more := await reader.read(limit)):
        answer += more
    writer.close()
    return answer


async def test_a_page_is_what_the_test_set(
    server: MisbehavingServer, client: aiohttp.ClientSession
) -> None:
    server.set_page("/a?b=1", "Grüße", headers={"X-A": "b"})
    async with client.get(server.url("/a?b=1"), headers={"X-C": "d"}) as answer:
        assert answer.status == 200
        assert await answer.read() == "Grüße".encode()
        assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
        assert answer.headers["X-A"] == "b"
    assert server.requests == {"/a?b=1": 1}
    assert server.last_headers["/a?b=1"]["X-C"] == "d"
    server.remove_page("/a?b=1")
    for path in ("/a?b=1", "/a", "/robots.txt"):
        async with client.get(server.url(path)) as answer:
            assert answer.status == 404


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({"If-None-Match": '"v1"'}, 304),
        ({"If-None-Match": 'W/"v1"'}, 304),
        ({"If-None-Match": '"v0", "v1"'}, 304),
        ({"If-None-Match": "*"}, 304),
        ({"If-None-Match": '"v0"'}, 200),
        ({"If-None-Match": '"v0"', "If-Modified-Since": DATE}, 200),
        ({"If-Modified-Since": DATE}, 304),
        ({"If-Modified-Since": DATE.replace("10:00", "11:00")}, 304),
        ({"If-Modified-Since": DATE.replace("10:00", "09:00")}, 200),
        ({"If-Modified-Since": "yesterday"}, 200),
        ({}, 200),
    ],
)
async def test_conditional_requests(
    server: MisbehavingServer, client: aiohttp.ClientSession, asked: dict[str, str], status: int
) -> None:
    server.set_page("/a", "x", etag='"v1"', last_modified=DATE)
    async with client.get(server.url("/a"), headers=asked) as answer:
        assert answer.status == status
        assert answer.headers["ETag"] == '"v1"'
        assert answer.headers["Last-Modified"] == DATE
        assert await answer.read() == (b"" if status == 304 else b"x")


@pytest.mark.parametrize("last_modified", [None, "yesterday"])
async def test_without_validators_every_answer_is_whole(
    server: MisbehavingServer, client: aiohttp.ClientSession, last_modified: str | None
) -> None:
    server.set_page("/a", "x", last_modified=last_modified)
    asked = {"If-Modified-Since": DATE}
    async with client.get(server.url("/a"), headers=asked) as answer:
        assert answer.status == 200
    async with client.get(server.url("/a"), headers={"If-None-Match": '""'}) as answer:
        assert answer.status == 200


async def test_an_error_is_no_match(
    server: MisbehavingServer, client: aiohttp.ClientSession
) -> None:
    server.set_page("/a", "x", etag='"v1"', status=500)
    async with client.get(server.url("/a"), headers={"If-None-Match": '"v1"'}) as answer:
        assert answer.status == 500


async def test_statuses_and_redirects(
    server: MisbehavingServer, client: aiohttp.ClientSession
) -> None:
    async with client.get(server.url("/status/503?retry_after=5")) as answer:
        assert (answer.status, answer.headers["Retry-After"]) == (503, "5")
    async with client.get(server.url("/status/410")) as answer:
        assert answer.status == 410
        assert "Retry-After" not in answer.headers
    async with client.get(server.url("/redirect/3")) as answer:
        assert answer.status == 200
        assert len(answer.history) == 3
    with pytest.raises(aiohttp.TooManyRedirects):
        await client.get(server.url("/redirect-loop"))
    server.set_page("/moved", "", status=301, headers={"Location": "file:///etc/passwd"})
    async with client.get(server.url("/moved"), allow_redirects=False) as answer:
        assert answer.status == 301
        assert answer.headers["Location"] == "file:///etc/passwd"


@pytest.mark.parametrize("path", ["/slow-headers", "/slow-body"])
async def test_slow_answers_outlast_the_patient(
    server: MisbehavingServer, client: aiohttp.ClientSession, path: str
) -> None:
    with pytest.raises(asyncio.TimeoutError):
        async with asyncio.timeout(0.05), client.get(server.url(path)) as answer:
            await answer.read()


@pytest.mark.parametrize("path", ["/slow-headers?seconds=0", "/slow-body?seconds=0"])
async def test_slow_answers_end(
    server: MisbehavingServer, client: aiohttp.ClientSession, path: str
) -> None:
    async with client.get(server.url(path)) as answer:
        assert b"Hello" in await answer.read()


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("/closed", aiohttp.ServerDisconnectedError),
        ("/cut-off", aiohttp.ClientPayloadError),
        ("/length/1000", aiohttp.ClientPayloadError),
        ("/not-http", aiohttp.ClientResponseError),
        ("/endless-headers", aiohttp.ClientResponseError),
    ],
)
async def test_broken_answers(
    server: MisbehavingServer,
    client: aiohttp.ClientSession,
    path: str,
    error: type[Exception],
) -> None:
    with pytest.raises(error):
        async with client.get(server.url(path)) as answer:
            await answer.read()


async def test_more_bytes_than_claimed(server: MisbehavingServer) -> None:
    head, body = (await raw(server, "/length/10")).split(b"\r\n\r\n", maxsplit=1)
    assert b"Content-Length: 10" in head
    assert len(body) == 100


async def test_headers_without_end(server: MisbehavingServer) -> None:
    answer = await raw(server, "/endless-headers", limit=1 << 20)
    assert len(answer) >= 1 << 20
    assert b"\r\n\r\n" not in answer


async def test_a_huge_body_comes_without_its_length(
    server: MisbehavingServer, client: aiohttp.ClientSession
) -> None:
    async with client.get(server.url("/huge")) as answer:
        assert answer.content_length is None
        assert len(await answer.content.readexactly(200_000)) == 200_000
    async with client.get(server.url("/huge?bytes=100000")) as answer:
        assert len(await answer.read()) == 100_000


async def test_gzip_whole_and_broken(
    server: MisbehavingServer, client: aiohttp.ClientSession
) -> None:
    bodies = {}
    for path in ("/gzip", "/gzip-bomb?bytes=1000000", "/gzip-broken", "/gzip-cut-off"):
        async with client.get(server.url(path)) as answer:
            assert answer.headers["Content-Encoding"] == "gzip"
            bodies[path] = await answer.read()
    assert b"Hello" in zlib.decompress(bodies["/gzip"], wbits=31)
    assert zlib.decompress(bodies["/gzip-bomb?bytes=1000000"], wbits=31) == bytes(1_000_000)
    assert len(bodies["/gzip-bomb?bytes=1000000"]) < 10_000
    for path in ("/gzip-broken", "/gzip-cut-off"):
        with pytest.raises(zlib.error):
            zlib.decompress(bodies[path], wbits=31)


async def test_encodings_that_nobody_asked_for(
    server: MisbehavingServer, client: aiohttp.ClientSession
) -> None:
    async with client.get(server.url("/encoding/rot13")) as answer:
        assert answer.headers["Content-Encoding"] == "rot13"
    async with client.get(server.url("/not-utf-8")) as answer:
        assert answer.charset == "utf-8"
        with pytest.raises(UnicodeDecodeError):
            (await answer.read()).decode()


async def test_it_stops_while_a_client_waits(client: aiohttp.ClientSession) -> None:
    async with MisbehavingServer() as server:
        waiting = asyncio.ensure_future(client.get(server.url("/slow-headers")))
        while not server.requests:
            await asyncio.sleep(0.001)
    with pytest.raises(aiohttp.ClientError):
        await waiting
