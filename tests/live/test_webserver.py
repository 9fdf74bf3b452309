"""The misbehaving server: what a client sees of each of its paths."""

import asyncio
import contextlib
import gzip
import re
import ssl
import zlib
from collections.abc import AsyncIterator, Iterator

import aiohttp
import pytest
import pytest_asyncio

from pollwise.testing import webserver
from pollwise.testing.exchanges import rapid_fire
from pollwise.testing.misbehaviour.pages import HOSTILE_TEXT
from pollwise.testing.misbehaviour.redirects import BAD_TARGETS
from pollwise.testing.webserver import SELF_SIGNED, MisbehavingHosts, MisbehavingServer

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
    try:
        while len(answer) < limit and (more := await reader.read(limit)):
            answer += more
    finally:
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


KINDS = {
    kind: set(re.findall(r"[\w-]+", re.search(rf"/{kind}/\(\?P<\w+>(.*)\)", each)[1]))
    for each in webserver._ROUTES
    for kind in ("html", "robots", "modified")
    if each.startswith(f"/{kind}/(")
}
KINDS["robots"].add("endless")
KINDS["modified"].add("rubbish")
WORDS = {"N": "3", "CODE": "418", "SIZE": "zz", "NAME": "br"}
PLAIN = [
    path.split("?")[0]
    for path in re.findall(r"(?<=[\n ])(/[a-z][\w/-]*)(?=[?, \n])", webserver.__doc__)
    if not re.search("KIND|WHEN|robots.txt", path)
]
PATHS = sorted(
    {re.sub("|".join(WORDS), lambda found: WORDS[found[0]], path) for path in PLAIN}
    | {f"/{kind}/{one}" for kind, ones in KINDS.items() for one in ones}
)
ASKED_MORE = {
    "/gzip-bomb": "?bytes=1000000",
    "/gzip-nested": "?bytes=1000000",
    "/deflate-bomb": "?bytes=1000000",
    "/redirect-to": "?url=file:///etc/passwd",
    "/redirect-round": "?origins=http://127.0.1.1:1,http://127.0.1.2:1",
}


def test_the_table_has_every_path() -> None:
    fitting = {path: [e for e in webserver._ROUTES if re.fullmatch(e, path)] for path in PATHS}
    assert {path for path, expressions in fitting.items() if len(expressions) != 1} == set()
    assert {e for expressions in fitting.values() for e in expressions} == set(webserver._ROUTES)
    for kinds in KINDS.values():
        assert {kind for kind in kinds if not re.search(rf"\b{kind}\b", webserver.__doc__)} == set()


async def test_every_path_misbehaves_without_a_fault_of_the_server(
    server: MisbehavingServer,
) -> None:
    silent = {"/never", "/slow-headers", "/closed", "/reset"}
    for path in PATHS:
        with contextlib.suppress(TimeoutError, ConnectionError):
            async with asyncio.timeout(0.05 if path in silent else 30):
                answer = await raw(server, path + ASKED_MORE.get(path, ""), limit=1)
                assert (answer == b"") == (path in silent), path
    async with asyncio.timeout(10):
        while len(server.exchanges) < len(PATHS):  # those that the client gave up
            await asyncio.sleep(0.01)


async def test_any_path_can_behave_like_another(
    server: MisbehavingServer, client: aiohttp.ClientSession
) -> None:
    server.set_behaviour("/robots.txt", "/status/503?retry_after=7")
    async with client.get(server.url("/robots.txt")) as answer:
        assert (answer.status, answer.headers["Retry-After"]) == (503, "7")
    server.set_behaviour("/robots.txt", "/robots/deny")
    async with client.get(server.url("/robots.txt")) as answer:
        assert await answer.text() == "User-agent: *\nDisallow: /\n"
    server.set_page("/robots.txt", "a page")
    async with client.get(server.url("/robots.txt")) as answer:
        assert await answer.text() == "a page"
    server.remove_page("/robots.txt")
    async with client.get(server.url("/robots.txt")) as answer:
        assert answer.status == 404
    with pytest.raises(ValueError, match="/nonsense is no path of the misbehaving server"):
        server.set_behaviour("/a", "/nonsense")


async def texts(client: aiohttp.ClientSession, url: str, visits: int = 3, **sent: str) -> list[str]:
    bodies = []
    for _ in range(visits):
        async with client.get(url, headers=sent) as answer:
            bodies.append(f"{answer.status} {answer.headers.get('ETag')} {await answer.text()}")
    return bodies


async def test_lies_about_changes(server: MisbehavingServer, client: aiohttp.ClientSession) -> None:
    assert len({*await texts(client, server.url("/clock"))}) == 3
    stuck = await texts(client, server.url("/etag-stuck"), **{"If-None-Match": '"stuck"'})
    assert len({*stuck}) == 3
    assert all(each.startswith('200 "stuck"') for each in stuck)
    fresh = await texts(client, server.url("/etag-new"))
    assert len({*fresh}) == 3
    assert len({each.partition("<")[2] for each in fresh}) == 1
    assert (await texts(client, server.url("/etag-blind"), 1))[0].startswith("200")
    blind = await texts(client, server.url("/etag-blind"), 1, **{"If-None-Match": "*"})
    assert blind == ['304 "blind" ']
    assert [e[:3] for e in await texts(client, server.url("/flapping"))] == ["200", "503", "200"]
    storm = await texts(client, server.url("/storm?count=2"))
    assert [each[:3] for each in storm] == ["429", "429", "200"]


async def test_a_retry_after_that_is_a_date(
    server: MisbehavingServer, client: aiohttp.ClientSession
) -> None:
    async with client.get(server.url("/status/429?retry_in=3600")) as answer:
        assert answer.headers["Retry-After"].endswith("GMT")


async def test_redirects_to_where_they_should_not_go(
    server: MisbehavingServer, client: aiohttp.ClientSession
) -> None:
    for number, target in enumerate(BAD_TARGETS):
        answer = await raw(server, f"/redirect-bad/{number}", 1 << 20)
        assert f"Location: {target}".rstrip().encode() in answer


async def test_redirects_round_hosts() -> None:
    async with MisbehavingHosts(3) as hosts, aiohttp.ClientSession() as client:
        origins = ",".join(server.origin for server in hosts.servers)
        start = hosts.servers[0].url(f"/redirect-round?origins={origins}&at=1")
        with pytest.raises(aiohttp.TooManyRedirects):
            await client.get(start)
        asked = [exchange.host for exchange in hosts.exchanges]
        assert asked[:4] == ["127.0.1.1", "127.0.1.2", "127.0.1.3", "127.0.1.1"]
        assert len(rapid_fire(hosts.exchanges, 60.0)) == len(asked) - 3


async def test_many_hosts_in_one_process() -> None:
    async with MisbehavingHosts(200) as hosts, aiohttp.ClientSession() as client:
        assert len({server.origin.rpartition(":")[0] for server in hosts.servers}) == 200
        hosts.servers[199].set_page("/", "the last")
        async with client.get(hosts.servers[199].url("/")) as answer:
            assert await answer.text() == "the last"
        [exchange] = hosts.exchanges
        assert (exchange.host, exchange.path) == ("127.0.1.200", "/")
        assert exchange.begun_at <= exchange.ended_at


async def test_the_log_tells_when_an_answer_ended(
    server: MisbehavingServer, client: aiohttp.ClientSession
) -> None:
    async with client.get(server.url("/slow-headers?seconds=0.1")) as answer:
        await answer.read()
    [exchange] = server.exchanges
    assert exchange.path == "/slow-headers?seconds=0.1"
    assert exchange.ended_at - exchange.begun_at >= 0.1


async def test_tls_that_nobody_trusts(client: aiohttp.ClientSession) -> None:
    async with MisbehavingServer(tls=True) as server:
        server.set_page("/", "secret")
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await client.get(server.url("/"))
        trusting = ssl.create_default_context(cafile=SELF_SIGNED)
        async with client.get(server.url("/"), ssl=trusting) as answer:
            assert await answer.text() == "secret"
        with pytest.raises(aiohttp.ClientError):
            await client.get(server.url("/").replace("https:", "http:"))


async def test_tls_where_there_is_none(
    server: MisbehavingServer, client: aiohttp.ClientSession
) -> None:
    with pytest.raises(aiohttp.ClientConnectorError):
        await client.get(server.url("/").replace("http:", "https:"))


async def test_resets(server: MisbehavingServer) -> None:
    for path in ("/reset", "/reset-midway"):
        with pytest.raises(ConnectionResetError):
            await raw(server, path)


async def test_interim_responses(server: MisbehavingServer, client: aiohttp.ClientSession) -> None:
    answer = await raw(server, "/interim/5")
    assert answer.count(b"HTTP/1.1 103") == 5
    assert b"Hello" in answer
    assert (await raw(server, "/endless-interim", 1 << 20)).count(b"HTTP/1.1 103") > 1000


async def test_a_bomb_in_a_bomb(server: MisbehavingServer, client: aiohttp.ClientSession) -> None:
    async with client.get(server.url("/gzip-nested?bytes=100000000")) as answer:
        packed = await answer.read()
    assert len(packed) < 10_000
    once = gzip.decompress(packed)
    assert len(once) < 1_000_000
    assert zlib.decompressobj(31).decompress(once, 1000) == bytes(1000)


async def test_text_for_terminals(server: MisbehavingServer, client: aiohttp.ClientSession) -> None:
    async with client.get(server.url("/terminal")) as answer:
        assert HOSTILE_TEXT in await answer.text()


async def test_an_endless_stream_unpacks(server: MisbehavingServer) -> None:
    answer = await raw(server, "/gzip-endless", limit=1 << 16)
    chunks = re.split(rb"\r\n[0-9a-f]+\r\n", answer.partition(b"\r\n\r\n")[2].partition(b"\r\n")[2])
    assert len(zlib.decompressobj(31).decompress(b"".join(chunks[:2]))) > 1 << 22
