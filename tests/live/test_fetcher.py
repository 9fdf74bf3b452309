"""The fetcher against real servers, well behaved and hostile."""

import asyncio
import gzip
import resource
import socket
import time
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace

import pytest
from aiohttp import web

from pollwise.errors import NoNetworkError, PostponedError
from pollwise.testing.webserver import MisbehavingServer
from pollwise.types import Outcome, Page, PageMemory
from pollwise.web import deadlines
from pollwise.web.content_coding import BodyReader
from pollwise.web.fetcher import FetchResult, HttpFetcher
from pollwise.web.polite_fetcher import PoliteFetcher
from pollwise.web.poller import WebPoller
from pollwise.web.robots_txt import RobotsTxt

from .warming import read_request

NOTHING = PageMemory()


@pytest.fixture
async def fetcher(fetching, clock) -> AsyncIterator[HttpFetcher]:
    async with fetching(
        clock=clock, allow_private=True, user_agent="tester/1 (+https://t.example)"
    ) as fetcher:
        yield fetcher


@pytest.fixture
def follower(fetcher, following) -> PoliteFetcher:
    return following(fetcher)


@pytest.fixture
async def frugal(fetching, clock) -> AsyncIterator[HttpFetcher]:
    async with fetching(clock=clock, allow_private=True, max_bytes=1000) as fetcher:
        yield fetcher


async def test_a_plain_answer(site, fetcher):
    site.says(
        "/a",
        "hello",
        Content_Type="text/plain",
        ETag='"1"',
        Last_Modified="Sun, 06 Nov 1994 08:49:37 GMT",
        Date="Sun, 06 Nov 1994 08:49:38 GMT",
    )
    result = await fetcher.fetch(site.url("/a"), NOTHING)
    assert replace(result, head=b"") == FetchResult(
        url=site.url("/a"),
        final_url=site.url("/a"),
        status=200,
        etag='"1"',
        last_modified="Sun, 06 Nov 1994 08:49:37 GMT",
        content_type="text/plain",
        date=784111778.0,
        body=b"hello",
        wire_bytes=5,
    )
    sent = site.asked[0].headers
    assert sent["User-Agent"] == "tester/1 (+https://t.example)"
    assert sent["Accept-Encoding"] == "gzip, deflate"
    assert "If-None-Match" not in sent
    assert "If-Modified-Since" not in sent
    status_line, *headers = result.head.split(b"\r\n")
    assert status_line == b"HTTP/1.1 200 OK"
    assert {b'ETag: "1"', b"Content-Type: text/plain", b"Content-Length: 5"} <= set(headers)


async def test_the_head_of_a_success_is_told_without_what_is_private(site, fetcher):
    site.says("/a", "hello", Set_Cookie="session=secret", X_Odd="caf\xe9")
    head = (await fetcher.fetch(site.url("/a"), NOTHING)).head
    assert "X-Odd: caf\xe9".encode() in head.split(b"\r\n")
    assert b"secret" not in head
    site.says("/b", status=404)
    assert (await fetcher.fetch(site.url("/b"), NOTHING)).head == b""


async def test_the_url_goes_out_in_its_canonical_spelling(site, fetcher):
    site.says("/é |", "x")
    result = await fetcher.fetch(site.url("/x/../é |?q=%7e^'#top"), NOTHING)
    assert result.final_url == site.url("/%C3%A9%20|?q=%7e^%27")
    assert site.asked[0].raw_path == "/%C3%A9%20|?q=%7e^%27"


async def test_conditions_and_304(site, fetcher):
    site.says("/a", status=304, ETag='"2"')
    result = await fetcher.fetch(
        site.url("/a"), PageMemory('W/"1"', "Sun, 06 Nov 1994 08:49:37 GMT", "b", "t")
    )
    assert (result.status, result.etag, result.error) == (304, '"2"', None)
    assert site.asked[0].headers["If-None-Match"] == 'W/"1"'
    assert site.asked[0].headers["If-Modified-Since"] == "Sun, 06 Nov 1994 08:49:37 GMT"


async def test_304_without_a_condition_is_an_error(site, fetcher):
    site.says("/a", status=304)
    result = await fetcher.fetch(site.url("/a"), NOTHING)
    assert "without a condition" in result.error


async def test_an_answer_without_success_has_no_body(site, fetcher):
    site.says("/a", "sorry", status=500)
    result = await fetcher.fetch(site.url("/a"), NOTHING)
    assert (result.status, result.body, result.error) == (500, b"", None)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120.0),
        ("999999999", 86400.0),
        ("9" * 5000, 86400.0),
        ("Tue, 14 Nov 2023 22:14:20 GMT", 60.0),
        ("Tue, 14 Nov 2022 22:14:20 GMT", 0.0),
        ("soon", None),
    ],
)
async def test_retry_after(site, fetcher, value, seconds):
    site.says("/a", status=429, Retry_After=value)
    result = await fetcher.fetch(site.url("/a"), NOTHING)
    assert (result.status, result.retry_after) == (429, seconds)


@pytest.mark.parametrize(
    ("encoding", "encoded"),
    [
        ("gzip", gzip.compress(b"hello" * 50, mtime=0)),
        ("X-GZIP", gzip.compress(b"hello" * 25, mtime=0) + gzip.compress(b"hello" * 25, mtime=0)),
        ("deflate", zlib.compress(b"hello" * 50)),
        ("deflate", zlib.compress(b"hello" * 50, wbits=-15)),
        ("identity", b"hello" * 50),
    ],
)
async def test_encodings(site, fetcher, encoding, encoded):
    site.says("/a", encoded, Content_Encoding=encoding)
    result = await fetcher.fetch(site.url("/a"), NOTHING)
    assert result.error is None
    assert result.body == b"hello" * 50
    assert result.wire_bytes == len(encoded)


@pytest.mark.parametrize(
    ("body", "encoding", "reason"),
    [
        (b"x" * 1001, "identity", "larger than 1000 bytes (0.000954 MiB): --max-size"),
        (
            gzip.compress(b"x" * 1001, mtime=0),
            "gzip",
            "larger than 1000 bytes (0.000954 MiB): --max-size",
        ),
        (gzip.compress(b"x" * 100, mtime=0)[:-9], "gzip", "cut off"),
        (b"no gzip", "gzip", "broken gzip"),
        (b"x", "br", "not asked for"),
    ],
)
async def test_bodies_that_cannot_be_used(site, frugal, body, encoding, reason):
    site.says("/a", body, Content_Encoding=encoding)
    result = await frugal.fetch(site.url("/a"), NOTHING)
    assert reason in result.error
    assert result.body == b""


async def test_an_endless_body_is_left_at_the_limit(site, frugal):
    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b"x" * 100)
            await asyncio.sleep(0)

    site.answers["/a"] = endless
    result = await frugal.fetch(site.url("/a"), NOTHING)
    assert "larger than 1000 bytes" in result.error


async def test_a_server_that_never_answers(site, fetching, clock):
    never = asyncio.Event()

    async def hang(request: web.Request) -> web.StreamResponse:
        await never.wait()
        raise web.HTTPNotFound

    site.answers["/a"] = hang
    async with fetching(clock=clock, allow_private=True, timeout=0.1) as impatient:
        result = await impatient.fetch(site.url("/a"), NOTHING)
    never.set()
    assert result.error == "no complete answer within 0.1 s: --timeout allows more"


async def test_a_process_that_was_stopped_while_it_waited(site, fetching, clock, monkeypatch):
    """As a suspended laptop: that its time has run out says nothing of the server."""
    monkeypatch.setattr(deadlines, "_LATE", 0.2)

    async def hang(request: web.Request) -> web.StreamResponse:
        time.sleep(0.5)
        await asyncio.sleep(0.1)
        raise web.HTTPNotFound

    site.answers["/a"] = hang
    async with fetching(clock=clock, allow_private=True, timeout=0.1) as impatient:
        with pytest.raises(PostponedError, match="this machine slept"):
            await impatient.fetch(site.url("/a"), NOTHING)


async def test_being_cancelled_is_no_result(site, fetcher):
    reached, never = asyncio.Event(), asyncio.Event()

    async def hang(request: web.Request) -> web.StreamResponse:
        reached.set()
        await never.wait()
        raise web.HTTPNotFound

    site.answers["/a"] = hang
    fetching = asyncio.ensure_future(fetcher.fetch(site.url("/a"), NOTHING))
    await reached.wait()
    fetching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await fetching
    never.set()


async def test_a_certificate_that_is_not_trusted_is_told_in_words(fetcher):
    async with MisbehavingServer(tls=True) as server:
        result = await fetcher.fetch(server.url("/a"), NOTHING)
    why = "its certificate is not trusted: self-signed certificate"
    assert result.error == f"no connection to {server.origin.partition('//')[2]} ({why})"


async def test_redirects_are_followed_to_another_host(site, other_site, follower):
    site.says("/a", status=301, Location="b?x#y")
    site.says("/b", status=307, Location=other_site.url("/c"))
    other_site.says("/c", "found", ETag='"c"')
    result = await follower.fetch(site.url("/a"), NOTHING)
    assert (result.status, result.body, result.etag) == (200, b"found", '"c"')
    assert (result.url, result.final_url) == (site.url("/a"), other_site.url("/c"))


async def test_only_the_entity_tag_goes_along_with_a_redirect(site, follower):
    site.says("/a", status=302, Location="/b")
    site.says("/b", status=304)
    memory = PageMemory('"1"', "Sun, 06 Nov 1994 08:49:37 GMT", "b", "t")
    assert (await follower.fetch(site.url("/a"), memory)).status == 304
    first, second = (request.headers for request in site.asked)
    assert first["If-None-Match"] == second["If-None-Match"] == '"1"'
    assert "If-Modified-Since" in first
    assert "If-Modified-Since" not in second


async def test_five_redirects_are_followed_and_not_six(site, follower):
    for n in range(6):
        site.says(f"/{n}", status=302, Location=f"/{n + 1}")
    site.says("/6", "end")
    assert (await follower.fetch(site.url("/1"), NOTHING)).body == b"end"
    result = await follower.fetch(site.url("/0"), NOTHING)
    assert (result.status, result.error) == (302, "more than 5 redirects")


async def test_a_single_exchange_follows_no_redirect(site, fetcher):
    site.says("/a", status=302, Location="/b")
    site.says("/b", "b")
    result = await fetcher.fetch(site.url("/a"), NOTHING)
    assert (result.status, result.redirected_to) == (302, site.url("/b"))
    assert result.error == f"redirected to {site.url('/b')}, which is not followed"
    assert site.paths == ["/a"]


@pytest.mark.parametrize(
    "location", ["ftp://h/x", "javascript:alert(1)", "http://", "http://u:p@h/", "http://h:99999/"]
)
async def test_a_redirect_to_nowhere(site, fetcher, location):
    site.says("/a", status=302, Location=location)
    result = await fetcher.fetch(site.url("/a"), NOTHING)
    assert result.status == 302
    assert result.error.startswith("redirected to nowhere: ")


@pytest.mark.parametrize(
    ("told", "meant"),
    [
        (b"/caf\xe9?\xfc", "/caf%E9?%FC"),
        (b"/caf\xc3\xa9", "/caf%C3%A9"),
        (b"/" + b"a" * 5000, "/" + "a" * 5000),
    ],
)
async def test_a_redirect_by_bytes_leads_to_what_the_server_meant(raw, fetcher, told, meant):
    answer = b"HTTP/1.1 302 Found\r\nLocation: %b\r\nContent-Length: 0\r\n\r\n" % told
    result = await fetcher.fetch(await raw(answer), NOTHING)
    assert result.redirected_to.endswith(meant)
    assert len(result.error) < 200


async def test_a_redirect_that_may_not_be_followed(site, follower):
    asked = []

    async def refuse(url: str) -> str:
        asked.append(url)
        return "refused by its robots.txt"

    site.says("/a", status=302, Location="/b")
    result = await follower.fetch(site.url("/a"), NOTHING, may_follow=refuse)
    assert asked == [site.url("/b")]
    assert site.paths == ["/a"]
    assert "refused by its robots.txt" in result.error


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "no url",
        "",
        "http://127.0.0.1:1/",
        "https://" + "a" * 70 + ".invalid/",
        "http://h\udcff/",
    ],
)
async def test_what_cannot_be_asked(fetcher, url):
    result = await fetcher.fetch(url, NOTHING)
    assert result.status is None
    assert result.error
    assert "\n" not in result.error


Bytes = Callable[[bytes], Awaitable[str]]


@pytest.fixture
async def raw() -> AsyncIterator[Bytes]:
    """Serves these bytes, then hangs up; gives the URL."""
    servers = []

    async def serve(answer: bytes) -> str:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await read_request(reader, writer)
            writer.write(answer)
            writer.close()

        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        servers.append(server)
        return f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"

    yield serve
    for server in servers:
        server.close()


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"", "hung up"),
        (b"SSH-2.0-OpenSSH_9.9\r\n", "no HTTP: Bad status line"),
        (b"HTTP/1.1 200", "hung up"),
        (b"HTTP/1.1 999999 what\r\n\r\n", "no HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort", "cut off"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: ten\r\n\r\n0123456789", "no HTTP"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok",
            "no HTTP: Duplicate Content-Length",
        ),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nbroken", "no HTTP"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe", "cut off"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000 + b"\r\n\r\n", "no HTTP"),
        (b"HTTP/1.1 200 OK\r\nX: 1\x00\r\n\r\n", "no HTTP"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Encoding: gzip\r\n\r\nx",
            "Content-Encoding 'gzip, gzip', which was not asked for",
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nConnection: close\r\n\r\n\x1f\x8b",
            "Transfer-Encoding 'gzip', which was not asked for",
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n1\r\n\x1f\r\n0\r\n\r\n",
            "Transfer-Encoding 'gzip', which was not asked for",
        ),
        (
            b"HTTP/1.1 302 Found\r\nLocation: http://\xff\xfe/\r\nContent-Length: 0\r\n\r\n",
            "redirected to nowhere",
        ),
    ],
)
async def test_servers_that_do_not_speak_http(raw, fetcher, answer, error):
    result = await fetcher.fetch(await raw(answer), NOTHING)
    assert error in result.error
    assert not result.error.endswith("^")
    assert result.error.isprintable()
    assert result.error.encode()
    assert result.body == b""


async def test_a_header_may_be_long(raw, fetcher):
    policy = b"Content-Security-Policy: " + b"x" * 30_000
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"
    result = await fetcher.fetch(await raw(head + policy + b"\r\n\r\nok"), NOTHING)
    assert result.error is None
    assert result.body == b"ok"


async def test_header_bytes_that_are_no_text_are_not_remembered(raw, fetcher):
    answer = (
        b'HTTP/1.1 200 OK\r\nETag: "\xff"\r\nContent-Type: text/\xff\r\n'
        b"Last-Modified: \xff\r\nRetry-After: \xff\r\nDate: \xff\r\nContent-Length: 2\r\n\r\nok"
    )
    result = await fetcher.fetch(await raw(answer), NOTHING)
    assert (result.etag, result.last_modified, result.date) == (None, None, None)
    assert result.content_type == "text/?"
    assert result.body == b"ok"


async def test_it_must_be_open(clock):
    with pytest.raises(RuntimeError, match="async with"):
        await HttpFetcher(clock=clock, allow_private=True).fetch("http://h/", NOTHING)


async def test_our_own_lack_of_descriptors_is_no_failure_of_the_host(site, fetcher):
    site.says("/a", "a")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        with pytest.raises(PostponedError, match="short of resources"):
            await fetcher.fetch(site.url("/a"), NOTHING)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert (await fetcher.fetch(site.url("/a"), NOTHING)).body == b"a"


async def test_few_connections_are_kept_open(site, other_site, clock):
    async with HttpFetcher(clock=clock, allow_private=True, most_kept=1) as fetcher:
        ports = []

        async def answer(request):
            ports.append(request.transport.get_extra_info("peername")[1])
            return web.Response()

        for one in (site, other_site, site, other_site):
            one.answers["/a"] = answer
            await fetcher.fetch(one.url("/a"), NOTHING)
    assert ports[2] == ports[0], "one is kept"
    assert ports[3] != ports[1], "but not a second one"


@pytest.fixture
async def roomless(fetching, clock, monkeypatch) -> AsyncIterator[HttpFetcher]:
    """A fetcher with room for one large body."""
    monkeypatch.setattr("pollwise.web.fetcher._MAX_LARGE", 1)
    monkeypatch.setattr("pollwise.web.fetcher._LONGEST_WAIT", 0.3)
    async with fetching(clock=clock, allow_private=True, timeout=10.0) as fetcher:
        yield fetcher


async def test_a_large_body_has_its_place_until_it_is_released(site, roomless):
    """Once, until its task was garbage: too early for the body, or never."""
    site.says("/large", b"x" * 300_000)
    site.says("/small", b"x" * 200_000)
    url = site.url("/large")
    first = await asyncio.ensure_future(roomless.fetch(url, NOTHING))
    assert len(first.body) == 300_000
    assert (await roomless.fetch(site.url("/small"), NOTHING)).error is None
    with pytest.raises(PostponedError, match="too many large bodies"):
        await roomless.fetch(url, NOTHING)
    for _ in range(3):
        first.release()
        first.release()
        first = await roomless.fetch(url, NOTHING)
        assert len(first.body) == 300_000
    with pytest.raises(PostponedError, match="too many large bodies"):
        await roomless.fetch(url, NOTHING)


async def test_a_fetch_that_ends_without_a_body_leaves_its_place(site, roomless):
    reached, never = asyncio.Event(), asyncio.Event()

    async def hang(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "400000"})
        await response.prepare(request)
        await response.write(b"x" * 300_000)
        reached.set()
        await never.wait()
        return response

    site.answers["/hangs"] = hang
    site.says("/broken", gzip.compress(bytes(300_000))[:-9], Content_Encoding="gzip")
    site.says("/large", b"x" * 300_000)
    assert "cut off" in (await roomless.fetch(site.url("/broken"), NOTHING)).error
    fetching = asyncio.ensure_future(roomless.fetch(site.url("/hangs"), NOTHING))
    await reached.wait()
    while roomless._large_bodies._free.locked() is False:
        await asyncio.sleep(0.01)
    fetching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await fetching
    assert (await roomless.fetch(site.url("/large"), NOTHING)).error is None
    never.set()


async def test_bodies_that_wait_for_room_are_not_inflated(site, fetching, clock, monkeypatch):
    """Once, forty small answers held ten megabytes each before one of them had a place."""
    monkeypatch.setattr("pollwise.web.fetcher._MAX_LARGE", 0)
    monkeypatch.setattr("pollwise.web.fetcher._LONGEST_WAIT", 0.3)
    held = []
    feed = BodyReader.feed

    def noted(reader: BodyReader, data: bytes) -> None:
        feed(reader, data)
        held.append(reader.size)

    monkeypatch.setattr(BodyReader, "feed", noted)
    site.says("/a", gzip.compress(bytes(9_000_000)), Content_Encoding="gzip")
    async with fetching(clock=clock, allow_private=True) as fetcher:
        asking = [fetcher.fetch(site.url("/a"), NOTHING) for _ in range(10)]
        results = await asyncio.gather(*asking, return_exceptions=True)
    assert all(isinstance(result, PostponedError) for result in results)
    assert max(held) <= 256 * 1024 + 1


async def test_waiting_for_room_is_not_the_time_of_the_host(site, fetching, clock, monkeypatch):
    monkeypatch.setattr("pollwise.web.fetcher._MAX_LARGE", 1)
    site.says("/large", b"x" * 300_000)
    url = site.url("/large")
    async with fetching(clock=clock, allow_private=True, timeout=0.5) as fetcher:
        first = await fetcher.fetch(url, NOTHING)
        second = asyncio.ensure_future(fetcher.fetch(url, NOTHING))
        await asyncio.sleep(0.8)
        assert not second.done()
        first.release()
        assert (await second).error is None


async def test_one_poll_takes_one_place(site, roomless, following, clock):
    """The place of its robots.txt is free again before the page is fetched."""
    site.says("/robots.txt", b"#" * 300_000)
    site.says("/large", b"x" * 300_000)
    fetcher = following(roomless)
    poller = WebPoller(fetcher, RobotsTxt(fetcher, clock=clock), clock=clock)
    report = await poller.poll(Page(0, site.url("/large"), site.host), NOTHING)
    assert report.result.observation.outcome is Outcome.CHANGED
    with pytest.raises(PostponedError):
        await roomless.fetch(site.url("/large"), NOTHING)
    report.release()
    assert (await roomless.fetch(site.url("/large"), NOTHING)).error is None


@pytest.mark.parametrize("path", ["/closed", "/reset"])
async def test_a_connection_that_closes_leads_to_no_second_request(fetcher, path):
    """Though it had been used before."""
    async with MisbehavingServer() as server:
        server.set_page("/page", "hello")
        assert (await fetcher.fetch(server.url("/page"), NOTHING)).error is None
        assert (await fetcher.fetch(server.url(path), NOTHING)).error is not None
        assert server.requests[path] == 1


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_host_that_takes_no_connection_is_said_in_plain_words(clock, scheme):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    async with HttpFetcher(clock=clock, allow_private=True) as fetcher:
        result = await fetcher.fetch(f"{scheme}://127.0.0.1:{port}/", PageMemory())
        other = await fetcher.fetch(f"{scheme}://[::1]:{port}/", PageMemory())
    assert result.error == f"no connection to 127.0.0.1:{port} (connection refused)"
    assert other.error.startswith(f"no connection to [::1]:{port} (")


async def test_where_no_network_is_there_for_several_hosts_none_of_them_has_failed(
    site, clock, monkeypatch
):
    """As after a machine woke: their names cannot be looked up yet."""

    found = socket.getaddrinfo

    def refuse(host, *more, **options):
        if host != "localhost":
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return found(host, *more, **options)

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    site.says("/a", "a")
    kept, named = site.url("/a"), site.url("/a").replace("127.0.0.1", "localhost")
    async with HttpFetcher(clock=clock, allow_private=True) as fetcher:
        for _ in range(2):  # it may be the host's own fault
            result = await fetcher.fetch("http://one.example/", NOTHING)
            assert "Temporary failure in name resolution" in result.error
        for host in ("two", "one"):
            with pytest.raises(PostponedError, match=r"^no network: no connection to \w+\.example"):
                await fetcher.fetch(f"http://{host}.example/", NOTHING)
        for _ in range(2):  # over a connection that was kept, and to an address
            assert (await fetcher.fetch(kept, NOTHING)).body == b"a"
            with pytest.raises(NoNetworkError):
                await fetcher.fetch("http://two.example/", NOTHING)
        assert (await fetcher.fetch(named, NOTHING)).body == b"a"
        result = await fetcher.fetch("http://two.example/", NOTHING)
        assert result.error is not None
        assert result.unanswered


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "TLS failed: wrong version number"),
        (b"", "the server hung up at once"),
    ],
)
async def test_why_there_is_no_tls_is_said_in_words(clock, said, why):
    async def answer(reader, writer):
        await reader.read(1)
        writer.write(said)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with HttpFetcher(clock=clock, allow_private=True) as fetcher:
        result = await fetcher.fetch(f"https://127.0.0.1:{port}/", NOTHING)
    server.close()
    assert result.error == f"no connection to 127.0.0.1:{port} ({why})"
