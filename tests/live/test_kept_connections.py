"""Fetches over kept connections: what is sent and what comes of it are as over new ones."""

import asyncio
import gc
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace

import aiohttp
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pollwise.errors import PostponedError
from pollwise.fetch_settings import HeaderLine
from pollwise.testing.webserver import SELF_SIGNED, MisbehavingServer
from pollwise.types import PageMemory
from pollwise.web import connections, deadlines
from pollwise.web.fetcher import HttpFetcher
from pollwise.web.own_headers import OwnHeaders

from .warming import WarmFetcher, read_request

NOTHING = PageMemory()
KNOWN = PageMemory('"1"', "Sun, 06 Nov 1994 08:49:37 GMT", "b", "t")
OK = b"HTTP/1.1 200 OK\r\n"
HINTS = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"


async def test_no_session_is_used_for_them(site, clock, monkeypatch):
    site.says("/a", "a", ETag='"1"')
    site.says("/b", status=304)
    async with HttpFetcher(clock=clock, allow_private=True) as fetcher:
        assert (await fetcher.fetch(site.url("/a"), NOTHING)).body == b"a"

        def refuse(*_, **__):
            raise AssertionError("a session was used")

        monkeypatch.setattr(aiohttp.ClientSession, "_request", refuse)
        assert (await fetcher.fetch(site.url("/a"), NOTHING)).body == b"a"
        assert (await fetcher.fetch(site.url("/b"), KNOWN)).status == 304
        with pytest.raises(AssertionError, match="a session was used"):
            await fetcher.fetch(site.url("/a").replace("127.0.0.1", "localhost"), NOTHING)
    assert site.paths == ["/a", "/a", "/b"]


async def test_they_are_encrypted_where_the_first_was(clock, monkeypatch):
    trusting = ssl.create_default_context(cafile=str(SELF_SIGNED))
    monkeypatch.setattr(aiohttp.connector, "_SSL_CONTEXT_VERIFIED", trusting)
    async with (
        MisbehavingServer(tls=True) as server,
        WarmFetcher(clock=clock, allow_private=True) as fetcher,
    ):
        server.set_page("/a", "a" * 300_000, etag='"1"')
        result = await fetcher.fetch(server.url("/a"), NOTHING)
        assert (result.error, len(result.body)) == (None, 300_000)
        assert (await fetcher.fetch(server.url("/a"), KNOWN)).status == 304
        plain = server.url("/a").replace("https:", "http:")
        assert (await fetcher.fetch(plain, NOTHING)).error is not None


async def test_none_is_used_that_was_kept_while_the_machine_slept(clock, monkeypatch):
    host = Host([OK + b"Content-Length: 1\r\n\r\na"], closes=False)
    async with serving(host) as origin, HttpFetcher(clock=clock, allow_private=True) as fetcher:
        for slept, connected in ((0.0, 1), (0.0, 1), (3600.0, 2), (0.0, 2)):
            before = deadlines.seconds_since_boot
            monkeypatch.setattr(deadlines, "seconds_since_boot", lambda a=before, b=slept: a() + b)
            assert (await fetcher.fetch(origin + "/", NOTHING)).body == b"a"
            assert host.connections == connected


@pytest.mark.parametrize("line", [b"Content-Length: 5", b"Transfer-Encoding: chunked"])
@pytest.mark.parametrize("body", [b"0\r\n\r\n", b"12345"])
async def test_a_304_with_a_body_is_the_last_answer_of_its_connection(clock, line, body):
    head = b"HTTP/1.1 304 Not Modified\r\n%b\r\n\r\n" % line
    host = Host([head + body], closes=False)
    async with serving(host) as origin, HttpFetcher(clock=clock, allow_private=True) as fetcher:
        for connected in (1, 2, 3):
            result = await fetcher.fetch(origin + "/", KNOWN)
            assert (result.status, result.error) == (304, None)
            assert host.connections == connected


UNCHANGED = b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"
TWO = OK + b"Content-Length: 2\r\n\r\n"


@pytest.mark.parametrize("more", [b"12345", TWO + b"no"], ids=["garbage", "an answer"])
@pytest.mark.parametrize(
    ("pieces", "body"),
    [
        ([UNCHANGED], b""),
        ([HINTS + UNCHANGED], b""),
        ([HINTS, UNCHANGED], b""),
        ([TWO + b"ok"], b"ok"),
        ([TWO, b"ok"], b"ok"),
        ([TWO[:10], TWO[10:] + b"ok"], b"ok"),
        ([OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"], b"ok"),
        ([b"HTTP/1.1 204 No Content\r\n\r\n"], b""),
    ],
)
async def test_what_follows_an_answer_is_dropped_with_its_connection(
    clock, fetching, pieces, body, more
):
    host = Host([*pieces[:-1], pieces[-1] + more], closes=False, pause=0.02)
    async with serving(host) as origin, fetching(clock=clock, allow_private=True) as fetcher:
        for connected in (1, 2, 3):
            result = await fetcher.fetch(origin + "/", KNOWN)
            assert (result.body, result.error) == (body, None)
            assert host.connections == connected


@pytest.mark.parametrize("protocol", [b"http", b"Http"])
async def test_the_protocol_may_be_in_lower_case(clock, fetching, protocol):
    """As for browsers and curl."""
    answer = protocol + TWO[4:] + b"ok"
    host = Host([HINTS.lower(), answer], closes=False)
    async with serving(host) as origin, fetching(clock=clock, allow_private=True) as fetcher:
        for _ in range(2):
            result = await fetcher.fetch(origin + "/", NOTHING)
            assert (result.status, result.body, result.error) == (200, b"ok", None)
    assert host.connections == 1


async def test_a_header_that_comes_in_two_pieces_is_no_protocol(clock, fetching):
    pieces = [OK + b'Content-Length: 2\r\nETag: "', b'http/x"\r\n\r\nok']
    host = Host(pieces, closes=False, pause=0.05)
    async with serving(host) as origin, fetching(clock=clock, allow_private=True) as fetcher:
        for _ in range(2):
            result = await fetcher.fetch(origin + "/", NOTHING)
            assert (result.etag, result.body, result.error) == ('"http/x"', b"ok", None)


@dataclass
class Host:
    """What a server says to each request, in pieces; it hangs up after the first if it `closes`."""

    pieces: list[bytes]
    closes: bool
    pause: float = 0.0
    heads: list[bytes] = field(default_factory=list)
    connections: int = 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                self.heads.append(await read_request(reader, writer))
                for piece in self.pieces:
                    writer.write(piece)
                    await writer.drain()
                    await asyncio.sleep(self.pause)
                if self.closes:
                    break
        writer.close()


@asynccontextmanager
async def serving(host: Host) -> AsyncIterator[str]:
    server = await asyncio.start_server(host, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    server.close()


async def outcomes(
    kind: type[HttpFetcher], host: Host, path: str, memory: PageMemory, own: OwnHeaders
) -> tuple[list[str], list[bytes], int]:
    """What comes of two fetches, what was sent, and how many connections that took.

    Of one fetch if the server closes: nobody knows how soon that is noticed.
    """
    async with (
        serving(host) as origin,
        kind(
            clock=lambda: 0.0,
            given={origin.removeprefix("http://")},
            max_bytes=200,
            own_headers=own,
        ) as fetcher,
    ):
        results = [
            await fetcher.fetch(origin + path, memory) for _ in range(1 if host.closes else 2)
        ]

    return (
        [repr(result).replace(origin, "http://h") for result in results],
        [re.sub(rb"127.0.0.1:\d+", b"h", head) for head in host.heads],
        host.connections,
    )


def both(
    pieces: list[bytes],
    closes: bool,
    path: str = "/",
    memory: PageMemory = NOTHING,
    own: OwnHeaders | None = None,
) -> tuple[list[str], list[bytes]]:
    """What comes of it and is sent for it: the same over new connections and over kept ones."""
    headers = OwnHeaders() if own is None else own
    new, kept = (
        asyncio.run(outcomes(kind, Host(pieces, closes), path, memory, headers))
        for kind in (HttpFetcher, WarmFetcher)
    )
    assert new[0] == kept[0]
    assert new[1] == kept[1]
    assert new[2] == kept[2] or closes
    return new[:2]


visible = st.text("".join(map(chr, range(32, 127))), max_size=30)


@settings(max_examples=60, deadline=None)
@given(
    st.text("/?&=%#.;:@'|^ aB1é", max_size=20),
    st.none() | visible,
    st.none() | visible,
    st.lists(
        st.tuples(st.sampled_from(["Accept", "X-A", "Cookie", "accept"]), visible), max_size=3
    ),
)
@example("?", '"1"', None, [])
@example("a?#", "W/é", "x\r\nX-B: 1", [("Accept", "text/html")])
def test_the_same_is_sent(path, etag, modified, lines):
    own = OwnHeaders([HeaderLine(None, name, value) for name, value in lines])
    _, heads = both(
        [b"HTTP/1.1 304 Not Modified\r\n\r\n"], False, f"/{path}", PageMemory(etag, modified), own
    )
    assert len(heads) == (0 if "x\r\n" in (modified or "") else 2)


NAMES = """Content-Length Content-Type ETag Last-Modified Date Location Retry-After X-Robots-Tag
Link Connection Upgrade Transfer-Encoding Content-Encoding Set-Cookie X-A Age content-length"""
names = st.sampled_from(NAMES.split()).map(str.encode)
values = st.sampled_from(
    b"0|1|5|7|-1|5, 5|close|keep-alive|chunked|gzip|gzip, chunked|identity|/b|http://[x|ftp://x/|120"
    b"|Sun, 06 Nov 1994 08:49:37 GMT|text/html|\"1\"|W/\"1\"|</hub>; rel=hub|\xff\xfe|caf\xc3\xa9|"
    b"a\x00b|a\tb|a\x7fb|  padded  |folded\r\n on".split(b"|")
)  # fmt: skip
statuses = st.sampled_from(
    [99, 101, 200, 200, 200, 203, 204, 206, 301, 304, 401, 404, 407, 429, 500, 600]
)


@st.composite
def answers(draw: st.DrawFn) -> tuple[list[bytes], bool]:
    """An answer in pieces, right or somewhat wrong; whether the server hangs up after it."""
    interim = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * draw(
        st.sampled_from([0, 0, 1, 10, 11])
    )
    status, version = draw(statuses), draw(st.sampled_from(["1.1", "1.1", "1.1", "1.0", "2.0"]))
    lines = [
        b"HTTP/%b %d %b" % (version.encode(), status, draw(st.sampled_from([b"OK", b"", b"\xff"])))
    ]
    lines += [
        b"%b:%b%b" % (name, draw(st.sampled_from([b" ", b"", b"\t"])), value)
        for name, value in draw(st.lists(st.tuples(names, values), max_size=4))
    ]
    body = draw(st.binary(max_size=40) | st.just(bytes(250)))
    kind = draw(st.sampled_from(["length", "chunked", "until it ends", "none"]))
    if kind == "length":
        lines.append(b"Content-Length: %d" % (len(body) + draw(st.sampled_from([0, 0, 0, 1, -1]))))
    elif kind == "chunked":
        lines.append(b"Transfer-Encoding: chunked")
        cut = draw(st.integers(0, len(body)))
        ends = draw(
            st.sampled_from([b"0\r\n\r\n", b"0\r\nX-T: 1\r\n\r\n", b"", b"zz\r\n", b"0\r\n"])
        )
        chunks = [b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:cut], body[cut:]) if part]
        body = b"".join(chunks) + ends
    elif kind == "none":
        body = b""
    extra = draw(st.sampled_from([b"", b"", b"", b"\r\n", b"extra", OK + b"\r\n"]))
    end = draw(st.sampled_from([b"\r\n", b"\r\n", b"\n"]))
    whole = interim + end.join(lines) + end * 2 + body + extra
    cuts = sorted(draw(st.lists(st.integers(0, len(whole)), max_size=4)))
    pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    return [piece for piece in pieces if piece], True


@settings(max_examples=300, deadline=None)
@given(answers(), st.booleans())
def test_the_same_comes_of_all_answers(answer, is_known):
    both(*answer, memory=KNOWN if is_known else NOTHING)


@st.composite
def whole_answers(draw: st.DrawFn) -> bytes:
    """An answer to keep a connection after, perhaps with more than belongs to it."""
    status, version = draw(st.sampled_from([200, 204, 304, 404])), draw(st.sampled_from("10"))
    lines = [b"HTTP/1.%b %d OK" % (version.encode(), status)]
    lines += draw(st.lists(st.sampled_from([b"Connection: close", b"Connection: keep-alive"])))[:1]
    body = draw(st.binary(max_size=40))
    if status in (204, 304):
        body = b""
    elif draw(st.booleans()):
        lines.append(b"Content-Length: %d" % len(body))
    else:
        lines.append(b"Transfer-Encoding: chunked")
        body = (b"%x\r\n%b\r\n" % (len(body), body) if body else b"") + b"0\r\n\r\n"
    extra = draw(st.sampled_from([b"", b"", b"\r\n", b"extra", OK + b"Content-Length: 0\r\n\r\n"]))
    return (
        b"\r\n".join([*lines, b"", body]) + extra
        if body
        else b"\r\n".join(lines) + b"\r\n\r\n" + extra
    )


@settings(max_examples=150, deadline=None)
@given(whole_answers())
@example(OK + b"Content-Length: 2\r\n\r\nokmore")
def test_they_are_kept_after_the_same_answers(answer):
    both([answer], False, memory=KNOWN)


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("before", [[], [HINTS]], ids=["at once", "after an interim answer"])
@pytest.mark.parametrize(
    "pieces",
    [
        [CHUNKED + b"5\r\nhello\r\nzz\r\n"],
        [CHUNKED, b"5\r\nhello\r\n", b"zz\r\n"],
        [CHUNKED, b"5\r\nhello\r", b"\nzz\r\n"],
    ],
    ids=["at once", "later", "later, as a chunk ends"],
)
async def test_a_body_that_gets_garbled_ends_the_fetch(clock, fetching, before, pieces):
    """However it arrives: its head was read already when the bad chunk comes, or was not."""
    host = Host([*before, *pieces], closes=True, pause=0.05)
    async with (
        serving(host) as origin,
        fetching(clock=clock, allow_private=True, timeout=10.0) as fetcher,
    ):
        result = await fetcher.fetch(origin + "/", NOTHING)
    assert result.error is not None
    assert result.error.startswith("the answer is no HTTP: Invalid character in chunk size")


WRONG = """/status/429?retry_after=5 /status/503 /status/204 /status/304 /etag-long /etag-odd
/etag-blind /not-modified /redirect/2 /redirect-loop /redirect-nowhere /redirect-bad/1
/redirect-bad/5 /closed /reset /cut-off /length/99 /length/100 /length/101 /length/-1
/length/1e3 /length/9999999999999999999999 /two-lengths /length-and-chunks /chunk-size/5
/chunk-size/-5 /chunk-size/zz /chunk-size/fffffffffffffffffff /not-http /endless-headers
/endless-status /endless-trailers /long-header /many-headers /interim/10 /interim/11
/endless-interim /endless /huge /gzip /gzip-bomb /gzip-nested /gzip-members /gzip-endless
/gzip-broken /gzip-cut-off /deflate-bomb /encoding/br /not-utf-8 /terminal /binary"""


@pytest.mark.parametrize("path", WRONG.split())
async def test_the_same_comes_of_servers_that_do_wrong(clock, path):
    told = []
    async with MisbehavingServer() as server:
        for kind in (HttpFetcher, WarmFetcher):
            async with kind(clock=clock, allow_private=True, max_bytes=100_000) as fetcher:
                result = await fetcher.fetch(server.url(path), KNOWN)
            head = re.sub(rb"Date: [^\r]*", b"", result.head)
            told.append(replace(result, date=None, head=head))
        assert server.requests[path] == 2
    assert told[0] == told[1]


@pytest.mark.parametrize("path", ["/never", "/endless-drip", "/drip-headers", "/slow-headers"])
async def test_one_that_is_given_up_is_not_kept(clock, path):
    told = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
    async with (
        MisbehavingServer() as server,
        WarmFetcher(clock=clock, allow_private=True, timeout=0.5) as fetcher,
    ):
        result = await fetcher.fetch(server.url(path), KNOWN)
        assert result.error == "no complete answer within 0.5 s: --timeout allows more"
        server.set_page("/a", "a")
        assert (await fetcher.fetch(server.url("/a"), NOTHING)).body == b"a"
        assert server.requests[path] == 1
    gc.collect()
    assert told == [], "it was closed, not forgotten"


@pytest.mark.parametrize(
    "unasked",
    [
        b"HTTP/1.1 408 Late\r\nContent-Length: 1\r\n\r\nx",
        b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nEVIL",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        b"garbage",
    ],
    ids=["an answer that ends it", "an answer", "half a head", "garbage"],
)
@pytest.mark.parametrize("kind", [HttpFetcher, WarmFetcher])
async def test_what_comes_unasked_is_no_answer_to_the_next_request(clock, kind, unasked):
    """Else every page of the host would have the content of the one before."""
    paths = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                path = (await read_request(reader, writer)).split()[1]
                paths.append(path)
                length = b"Content-Length: %d" % len(path)
                writer.write(OK + length + b"\r\n\r\n" + path)
                if path == b"/b":
                    await asyncio.sleep(0.1)
                    writer.write(unasked)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    origin = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with kind(clock=clock, allow_private=True) as fetcher:
        for path in ("/a", "/b", "/c", "/d"):
            result = await fetcher.fetch(origin + path, NOTHING)
            assert (result.status, result.body) == (200, path.encode()), result.error
            await asyncio.sleep(0.3)
    server.close()
    assert paths[-4:] == [b"/a", b"/b", b"/c", b"/d"]


class Impatient:
    """A host that closes a connection as it gets a request after it had nothing for `patience`
    seconds of the clock `now`.
    """

    def __init__(self, patience: float) -> None:
        self.patience = patience
        self.now = 100.0
        self.connections = 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        last = self.now
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while b"/closed" not in await read_request(reader, writer):
                if self.now - last >= self.patience:
                    break
                last = self.now
                writer.write(OK + b"Content-Length: 1\r\n\r\nx")
        writer.close()


async def test_those_that_a_host_closes_early_are_used_for_a_shorter_time(clock, monkeypatch):
    """Else every second poll would fail of a page that is polled as it closes them."""
    host = Impatient(patience=5.0)
    monkeypatch.setattr(connections, "monotonic", lambda: host.now)
    monkeypatch.setattr(aiohttp.connector, "monotonic", lambda: host.now)
    server = await asyncio.start_server(host, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    async with HttpFetcher(clock=clock, allow_private=True) as fetcher:

        async def failed(path: str, pause: float) -> bool:
            host.now += pause
            return (await fetcher.fetch(url + path, NOTHING)).error is not None

        assert not await failed("a", 5.0)
        with pytest.raises(PostponedError):  # nobody could know that before
            await failed("a", 5.0)
        assert [await failed("a", 5.0) for _ in range(4)] == [False] * 4
        assert host.connections == 5
        assert not any([await failed("a", 3.0) for _ in range(4)])
        assert host.connections == 5, "for 4 seconds they are used"
        assert await failed("closed", 0.5), "which says nothing of that"
        assert not any([await failed("a", 3.0) for _ in range(4)])
        assert host.connections == 6
    server.close()


async def test_the_hosts_that_close_them_early_are_not_kept_without_end(clock, monkeypatch):
    monkeypatch.setattr(connections, "_MANY_HOSTS", 2)
    async with HttpFetcher(clock=clock, allow_private=True) as fetcher:
        connector = fetcher._any.connector
        for port in range(1, 6):
            key = connections.connections_to("a.example", port, is_tls=True)
            assert [connector.note_closed(key, 5.0) for _ in range(2)] == [True, False]
            assert len(connector._used_for) in (1, 2)
