"""Topic engines on real ports: who answers, what is merged, and peers that misbehave."""

import asyncio
import gzip
import json
import os
import re
import signal
import socket
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, closing, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import aiohttp
import pytest
import yarl
from aiohttp import web

from pollwise.dashboard.answers import Answers
from pollwise.dashboard.application import application
from pollwise.dashboard.prompt_protocol import PromptProtocol
from pollwise.dashboard.server import serve
from pollwise.dashboard.terms import AnsweringTerms
from pollwise.relevance.topic import topic
from pollwise.search.query_processor import OverloadedError, QueryProcessor
from pollwise.search.topic_engine import Sleep, TopicEngine
from pollwise.store import Store
from pollwise.store.records import Batch, Collected, Discoveries, NewPage
from pollwise.web.own_servers import address_of

from ..fork_server import FORKED, SOURCE

PEER_SECONDS = 2.0
"""So long may a peer take that does answer, on a busy machine too."""
BOTH = "https://both.example/counting"
SEA = {
    "https://sea.example/whales": "The blue whale is the largest animal of the sea.",
    "https://sea.example/krill": "Krill is what whales eat.",
    BOTH: "Statistics of whales: a sample and its mean.",
}
NUMBERS = {
    "https://numbers.example/mean": "The mean of a sample is one of its statistics.",
    "https://numbers.example/bayes": "Statistics with a prior distribution.",
    BOTH: "Statistics of whales: a sample and its mean.",
}
STARS = {"https://stars.example/comet": "A comet is neither a star nor a whale."}


def of(*collected: Collected) -> tuple[Discoveries, ...]:
    return tuple(Discoveries(collected=each) for each in collected)


def collection(path: Path, words: str, pages: dict[str, str]) -> Path:
    with Store.open(path) as store:
        store.start_run(0.0, {"topic": asdict(topic(words))}, None)
        store.add_pages([NewPage(url) for url in pages], now=0.0)
        documents = (Collected(n, 0.5, "", text) for n, text in enumerate(pages.values()))
        store.commit(Batch(discovered=of(*documents)))
    return path


class Engine(NamedTuple):
    address: str
    session: aiohttp.ClientSession
    meet: Callable[[], Any]

    async def get(self, path: str, **parameters: str | int) -> tuple[int, Any]:
        async with self.session.get(f"{self.address}{path}", params=parameters) as answer:
            assert answer.content_type == "application/json"
            return answer.status, await answer.json()

    async def search(self, query: str, **more: int) -> Any:
        status, document = await self.get("/search", q=query, **more)
        assert status == 200, document
        return document


async def quick_sleep(seconds: float) -> None:
    await asyncio.sleep(min(seconds, 0.01))


@asynccontextmanager
async def running(
    db: Path,
    *peers: str,
    at: socket.socket | None = None,
    sleep: Sleep = asyncio.sleep,
    protocol: type[PromptProtocol] = PromptProtocol,
    names: tuple[str, ...] = (),
    token: str | None = None,
    tokens: dict[str, str] | None = None,
    proxies: tuple[str, ...] = (),
) -> AsyncIterator[Engine]:
    """An engine that has met its peers, as far as they run. For it, time passes when it meets them
    again.
    """
    now = 1_700_000_000.0
    listener = at or free_port()
    known = dict.fromkeys(peers) | (tokens or {})
    terms = AnsweringTerms(db, names, token, proxies)
    async with AsyncExitStack() as stack:
        answers = await stack.enter_async_context(Answers(db))
        engine = TopicEngine(
            db,
            known,
            address=address_of(listener),
            sleep=sleep,
            clock=lambda: now,
            peer_seconds=PEER_SECONDS,
        )
        await stack.enter_async_context(engine)

        async def meet() -> None:
            nonlocal now
            now += 1000.0
            await engine.meet_peers()

        stop = asyncio.Event()
        app = application(answers, terms, engine)
        serving = asyncio.create_task(serve(app, answers, listener, stop, protocol=protocol))
        session = await stack.enter_async_context(
            aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar())
        )
        await meet()
        try:
            yield Engine(address_of(listener), session, meet)
        finally:
            stop.set()
            await serving


def free_port() -> socket.socket:
    return socket.create_server(("127.0.0.1", 0))


@pytest.fixture
def sea(tmp_path: Path) -> Path:
    return collection(tmp_path / "sea.db", "whale sea", SEA)


@pytest.fixture
def numbers(tmp_path: Path) -> Path:
    return collection(tmp_path / "numbers.db", "statistics", NUMBERS)


def urls(document: Any) -> list[str]:
    return [result["url"] for result in document["results"]]


def answered(document: Any) -> list[str]:
    return [entry["engine"] for entry in document["engines"]]


async def test_queries_go_to_those_that_are_about_them(sea: Path, numbers: Path) -> None:
    async with running(numbers) as far, running(sea, far.address) as near:
        here = await near.search("whale")
        assert answered(here) == [near.address]
        assert set(urls(here)) == set(SEA)
        assert all(result["engine"] == near.address for result in here["results"])
        assert here["results"][0]["score"] <= 1.0

        there = await near.search("statistics")
        assert answered(there) == [near.address, far.address]
        assert [entry["nearness"] for entry in there["engines"]] == [0.0, 1.0]
        assert sorted(urls(there)) == sorted(NUMBERS)  # the page that both have, once
        assert there["matches"] == 4
        assert [entry["matches"] for entry in there["engines"]] == [1, 3]
        assert there["results"][0]["engine"] == far.address
        [text] = [r for r in there["results"] if r["url"].endswith("bayes")]
        assert [text["snippet"][start:end] for start, end in text["marks"]] == ["Statistics"]

        shared = await near.search("whale OR statistics")
        assert answered(shared) == [near.address, far.address]
        assert sorted(urls(shared)) == sorted({*SEA, *NUMBERS})
        # A peer's answer is its own.
        asked_by_peer = await near.search("statistics", hops=0)
        assert answered(asked_by_peer) == [near.address]
        assert urls(asked_by_peer) == [BOTH]


async def test_what_engines_tell_of_themselves(sea: Path, numbers: Path) -> None:
    async with running(numbers) as far, running(sea, far.address, "http://127.0.0.1:9") as near:
        status, told = await near.get("/engine")
        assert (status, told["name"], told["topic"]) == (200, "sea", ["whale", "sea"])
        assert told["topic_vector"] == pytest.approx({"whale": 0.5**0.5, "sea": 0.5**0.5}, abs=1e-6)
        assert told["documents"] == 3
        known, dead = told["peers"]
        assert (known["name"], known["documents"], known["failures"]) == ("numbers", 3, 0)
        assert (dead["name"], dead["failures"]) == (None, 1)
        assert dead["error"] == "no connection (Connection refused)"
        assert await near.get("/healthz") == (200, {"status": "ok"})


async def test_hits_of_several_engines_follow_one_another(sea: Path, numbers: Path) -> None:
    async with running(numbers) as far, running(sea, far.address) as near:
        query = "statistics OR whale"
        whole = urls(await near.search(query))
        parts = [await near.search(query, limit=2, offset=offset) for offset in range(0, 8, 2)]
        assert [url for part in parts for url in urls(part)] == whole
        alone = urls(await near.search(query, hops=0))
        assert urls(await near.search(query, hops=0, limit=1, offset=1)) == alone[1:2]


async def test_peers_that_know_one_another_forward_once(
    sea: Path, numbers: Path, tmp_path: Path
) -> None:
    ports = [free_port() for _ in range(3)]
    first, second, third = map(address_of, ports)
    stars = collection(tmp_path / "stars.db", "comet", STARS)
    async with (
        running(sea, second, third, at=ports[0]) as a,
        running(numbers, third, first, at=ports[1]) as b,
        running(stars, first, second, at=ports[2]) as c,
    ):
        for engine in (a, b, c):
            await engine.meet()
        for engine in (a, b, c):
            found = await engine.search("sample")  # nobody's topic
            assert answered(found)[0] == engine.address
            assert set(answered(found)) == {first, second, third}
            assert set(urls(found)) == {BOTH, "https://numbers.example/mean"}
            assert found["failed"] == []


async def test_a_peer_that_has_ended(sea: Path, numbers: Path) -> None:
    async with AsyncExitStack() as stack:
        async with running(numbers) as far:
            near = await stack.enter_async_context(running(sea, far.address))
            assert answered(await near.search("statistics")) == [near.address, far.address]
        reason = "no connection (Connection refused)"
        for why in (reason, f"rests: {reason}"):
            found = await near.search("statistics")
            assert urls(found) == [BOTH]
            assert found["failed"] == [{"engine": far.address, "error": why}]


TOLD = {"name": "x", "topic": [], "topic_vector": {"statist": 1.0}, "documents": 1}
HIT = {
    "url": "http://a.example/",
    "title": "A",
    "snippet": "statistics",
    "marks": [[0, 10]],
    "relevance": 1,
    "score": 1,
}


async def test_a_peer_of_another_make(sea: Path, site: Any) -> None:
    site.says("/engine", json.dumps(TOLD))
    site.says("/search", json.dumps({"results": [HIT] * 200, "matches": 200}))
    peer = f"http://{site.host}"
    async with running(sea, peer) as near:
        found = await near.search("statistics", limit=7, offset=2)
        assert answered(found) == [near.address, peer]
        assert found["engines"][1]["results"] == 9
        # It is not to ask others in turn.
        assert dict(site.asked[-1].query) == {"q": "statistics", "limit": "9", "hops": "0"}
        [hit, _] = (await near.search("statistics"))["results"]
        assert hit == {**HIT, "engine": peer}


async def sleeps(request: web.Request) -> web.StreamResponse:
    await asyncio.sleep(30)
    return web.Response()


async def pours(request: web.Request) -> web.StreamResponse:
    answer = web.StreamResponse()
    await answer.prepare(request)
    with suppress(ConnectionError):
        while True:
            await answer.write(b" " * 2**16)
    return answer


async def drips(request: web.Request) -> web.StreamResponse:
    answer = web.StreamResponse()
    await answer.prepare(request)
    with suppress(ConnectionError):
        for _ in range(300):
            await answer.write(b" ")
            await asyncio.sleep(0.1)
    return answer


async def hangs_up(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


def says(body: str | bytes, status: int = 200, **headers: str) -> Any:
    async def answer(request: web.Request) -> web.Response:
        data = body.encode() if isinstance(body, str) else body
        return web.Response(body=data, status=status, headers=headers)

    return answer


MISBEHAVIOUR: list[tuple[Any, str]] = [
    (sleeps, "no complete answer within 2 s"),
    (drips, "no complete answer within 2 s"),
    (pours, "answers with more than 1048576 bytes"),
    (hangs_up, "Server disconnected"),
    (says("", 500), "answers with status 500"),
    (says("", 302, Location="/engine"), "answers with status 302"),
    (says("<html>"), "answers no JSON"),
    (says("[" * 200_000), "answers no JSON"),
    (says(b"\xff\xfe\xfd"), "answers no JSON"),
    (says(gzip.compress(b"{}"), **{"Content-Encoding": "gzip"}), "answers no JSON"),
    (says("{}"), "answers no results of a search"),
    (says('{"results": [3], "matches": 1}'), "answers a result that is no object"),
    (says(json.dumps({"results": [{**HIT, "score": 7}], "matches": 1})), "score from 0 to 1"),
]


async def test_a_peer_that_does_what_it_should_not(sea: Path, site: Any) -> None:
    site.says("/engine", json.dumps(TOLD))
    peer = f"http://{site.host}"
    async with running(sea, peer) as near:
        for answer, why in MISBEHAVIOUR:
            site.answers["/search"] = answer
            found = await near.search("statistics")
            assert urls(found) == [BOTH]
            [failed] = found["failed"]
            assert failed["engine"] == peer
            assert why in failed["error"]
            # It rests, until it is known to answer again.
            asked = len(site.asked)
            assert answered(await near.search("statistics")) == [near.address]
            assert len(site.asked) == asked
            site.says("/search", json.dumps({"results": [HIT], "matches": 1}))
            await near.meet()
            assert urls(await near.search("statistics")) == [HIT["url"], BOTH]


async def test_a_peer_that_refuses_a_query_is_asked_the_next(sea: Path, site: Any) -> None:
    site.says("/engine", json.dumps(TOLD))
    site.says("/search", status=400)
    peer = f"http://{site.host}"
    async with running(sea, peer) as near:
        for _ in range(2):
            found = await near.search("statistics")
            assert found["failed"] == [{"engine": peer, "error": "refuses the query"}]
        assert site.paths.count("/search") == 2


async def test_a_peer_that_never_tells_what_it_is(sea: Path, site: Any) -> None:
    site.answers["/engine"] = pours
    async with running(sea, f"http://{site.host}") as near:
        assert answered(await near.search("statistics")) == [near.address]
        _, told = await near.get("/engine")
        assert told["peers"][0]["error"] == "answers with more than 1048576 bytes"


REFUSED: list[tuple[dict[str, str | int], str]] = [
    ({}, "nothing to look for in the query '': give a word, such as whale"),
    ({"q": "-whale"}, "nothing to look for in the query '-whale'"),
    ({"q": "a" * 1001}, "1001 characters; expected at most 1000"),
    ({"q": "a " * 65}, "65 words; expected at most 64"),
    ({"q": "a", "limit": 0}, "limit='0' must be a whole number from 1 to 100"),
    ({"q": "a", "limit": 101}, "from 1 to 100"),
    ({"q": "a", "limit": "ten"}, "limit='ten'"),
    ({"q": "a", "offset": -1}, "offset='-1' must be a whole number from 0 to 900"),
    ({"q": "a", "offset": "9" * 5000}, "from 0 to 900"),
    ({"q": "a", "hops": 2}, "hops='2' must be a whole number from 0 to 1"),
]


async def test_requests_that_cannot_be_answered(sea: Path) -> None:
    async with running(sea) as near:
        for parameters, line in REFUSED:
            status, document = await near.get("/search", **parameters)
            assert status == 400
            assert line in document["error"]
            assert "\n" not in document["error"]
        assert await near.get("/nothing") == (
            404,
            {"error": "there is no /nothing here", "field": None},
        )


async def test_no_query_is_an_error_of_the_engine(sea: Path) -> None:
    queries = [
        '"whale',
        "whale*",
        "NEAR(",
        'a" OR',
        "🐳",
        "title:whale",
        "+whale",
        "(",
        "%",
        "a\nb",
    ]
    encoded = [*map(quote, queries), "%00", "%ff%fe", "%ed%a0%80", "", "%", "a&q=b", "a;b"]
    async with running(sea) as near:
        for query in encoded:
            url = yarl.URL(f"{near.address}/search?q={query}", encoded=True)
            async with near.session.get(url) as answer:
                assert answer.status in (200, 400), query
                assert isinstance(await answer.json(), dict)
        async with near.session.post(f"{near.address}/search") as answer:
            assert answer.status == 405
            assert await answer.json() == {"error": "Method Not Allowed", "field": None}


async def test_a_damaged_database_is_told(sea: Path) -> None:
    with closing(sqlite3.connect(sea)) as connection, connection:
        connection.execute("UPDATE documents SET text = x'00'")
    async with running(sea) as near:
        status, document = await near.get("/search", q="whale")
        assert status == 503
        assert str(sea) in document["error"]


async def test_searches_while_a_writer_commits(sea: Path) -> None:
    rounds = 40

    def write() -> None:
        with Store.open(sea) as store:
            for number in range(3, 3 + rounds):
                store.add_pages([NewPage(f"https://sea.example/{number}")], now=0.0)
                text = f"whale number {number}"
                store.commit(Batch(discovered=of(Collected(number, 0.5, "", text))))

    async with running(sea, sleep=quick_sleep) as near:
        writing = asyncio.create_task(asyncio.to_thread(write))
        counts = []
        while not writing.done():
            found = await asyncio.gather(*(near.search("whale", limit=100) for _ in range(8)))
            counts.append([len(document["results"]) for document in found])
        await writing
        assert all(3 <= number <= 3 + rounds for row in counts for number in row)
        assert [max(row) for row in counts] == sorted(max(row) for row in counts)
        assert len(urls(await near.search("whale", limit=100))) == 3 + rounds
        # The description of the collection follows.
        async with asyncio.timeout(30):
            while (await near.get("/engine"))[1]["documents"] < 3 + rounds:
                await asyncio.sleep(0.01)


async def test_too_many_searches_at_once_are_refused(sea: Path) -> None:
    with QueryProcessor(sea) as processor:
        searches = (processor.search("whale", 10) for _ in range(100))
        answers = await asyncio.gather(*searches, return_exceptions=True)
        refused = [answer for answer in answers if isinstance(answer, OverloadedError)]
        assert len(refused) == 36
        found = [answer for answer in answers if isinstance(answer, tuple)]
        assert all(len(hits) == matches == 3 for hits, matches in found)
        assert (await processor.search("whale", 1))[1] == 3


async def test_engines_as_processes(sea: Path, numbers: Path) -> None:
    """Each says where it is, answers, and ends cleanly when it is told to."""
    async with AsyncExitStack() as stack:
        far, (address, _) = await started(stack, numbers)
        near, (own, _) = await started(stack, sea, "--peers", address + "/", "--peers", address)
        session = await stack.enter_async_context(aiohttp.ClientSession())
        async with asyncio.timeout(30):
            while len(found := await answering(session, own, "statistics")) < 2:
                await asyncio.sleep(0.05)
        assert found == [own, address]
        near.send_signal(signal.SIGINT)
        far.send_signal(signal.SIGTERM)
        ends = await asyncio.gather(near.communicate(), far.communicate())
    assert (near.returncode, far.returncode) == (0, 0)
    assert ends == [(b"", b""), (b"", b"")]


async def answering(session: aiohttp.ClientSession, engine: str, query: str) -> list[str]:
    async with session.get(f"{engine}/search", params={"q": query}) as answer:
        return answered(await answer.json())


class Told(NamedTuple):
    address: str
    more: str


async def started(
    stack: AsyncExitStack, db: Path, *words: str
) -> tuple[asyncio.subprocess.Process, Told]:
    """An engine as a process, and what it told; at the end of `stack` it is no more."""
    process = await asyncio.create_subprocess_exec(
        *FORKED,
        *("serve", "--no-polling", "--db", str(db), "--port", "0", *words),
        env={**os.environ, "PYTHONPATH": SOURCE},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )

    def end() -> None:
        if process.returncode is None:
            process.kill()

    stack.callback(end)
    assert process.stderr is not None
    line = (await process.stderr.readline()).decode()
    match = re.fullmatch(r"pollwise: open (http://[^/ ]+)(/\?token=.+| .*)?\n", line)
    assert match, line
    return process, Told(match[1], match[2] or "")


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1", 200),
        ("127.0.0.1:8900", 200),
        ("[::1]:8900", 200),
        ("192.0.2.7", 200),  # an address cannot be pointed elsewhere
        ("localhost", 200),
        ("LocalHost.:80", 200),
        ("search.example:8900", 200),
        ("evil.example", 421),
        ("search.example.evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("localhost@evil.example", 421),
        ("[::1", 421),
        ("", 421),
        ("::1", 421),
    ],
)
async def test_only_its_own_names_are_answered(sea: Path, host: str, status: int) -> None:
    async with running(sea, names=("search.example",)) as near:
        for path in ("/", "/search?q=whale", "/engine", "/healthz", "/nothing"):
            url = yarl.URL(near.address + path)
            async with near.session.get(url, headers={"Host": host}) as answer:
                assert answer.status == (404 if (path, status) == ("/nothing", 200) else status)
                if status == 421:
                    assert set(await answer.json()) == {"error", "field"}


TOKEN = "a-token-of-16-letters"
PEOPLE = {"Accept": "text/html"}


async def test_without_its_token_nobody_learns_anything(sea: Path, numbers: Path) -> None:
    async with running(sea, token=TOKEN) as far:
        for path in ("/", "/search?q=whale", "/engine", "/nothing"):
            for sent in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": TOKEN}):
                async with far.session.get(far.address + path, headers=sent) as answer:
                    assert answer.status == 401
                    assert answer.headers["WWW-Authenticate"] == "Bearer"
                    assert b"whale" not in await answer.read()
        assert await far.get("/healthz") == (200, {"status": "ok"})
        for right in (
            {"headers": {"Authorization": f"Bearer {TOKEN}"}},
            {"params": {"token": TOKEN}},
        ):
            async with far.session.get(far.address + "/search?q=whale", **right) as answer:
                assert answer.status == 200
        # A peer needs it too.
        async with running(numbers, far.address) as near:
            _, told = await near.get("/engine")
            assert told["peers"][0]["error"] == "wants its token: give its URL with ?token=TOKEN"
        async with running(numbers, tokens={far.address: TOKEN}) as near:
            assert set(urls(await near.search("whale"))) == set(SEA)


async def test_people_give_the_token_once(sea: Path) -> None:
    async with running(sea, token=TOKEN) as near:
        at = near.address
        async with near.session.get(f"{at}/engine", headers=PEOPLE) as answer:
            assert answer.status == 401
            text = await answer.text()
            assert 'action="/login"' in text
            assert 'name="next" value="/engine"' in text
        for sent, status in (("wrong", 401), (TOKEN, 303)):
            form = {"token": sent, "next": "/engine"}
            async with near.session.post(
                f"{at}/login", data=form, headers=PEOPLE, allow_redirects=False
            ) as answer:
                assert answer.status == status
        assert answer.headers["Location"] == "/engine"
        cookie = answer.headers["Set-Cookie"]
        assert "HttpOnly" in cookie
        assert "samesite=strict" in cookie.lower()
        sent_back = {"Cookie": cookie.partition(";")[0]}
        async with near.session.get(f"{at}/engine", headers=sent_back) as answer:
            assert answer.status == 200
        # In the address it is taken once, and goes.
        async with near.session.get(
            f"{at}/search?q=whale&token={TOKEN}", headers=PEOPLE, allow_redirects=False
        ) as answer:
            assert answer.status == 303
            assert answer.headers["Location"] == "/search?q=whale"


@pytest.mark.parametrize("target", ["//evil.example", "http://evil.example", "x", "/\\evil", ""])
async def test_the_way_in_leads_nowhere_else(sea: Path, target: str) -> None:
    async with running(sea, token=TOKEN) as near:
        form = {"token": TOKEN, "next": target}
        async with near.session.post(
            f"{near.address}/login", data=form, allow_redirects=False
        ) as answer:
            assert answer.headers["Location"] == "/"


async def test_a_trusted_proxy_vouches_for_who_asks(sea: Path) -> None:
    async with running(sea, proxies=("127.0.0.1",)) as near:
        assert (await near.get("/engine"))[0] == 200
    async with running(sea, proxies=("192.0.2.7",)) as near:
        assert (await near.get("/engine"))[0] == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 405),  # a program: it is let through, to a path that takes no POST
        ({"Sec-Fetch-Site": "same-origin"}, 405),
        ({"Origin": "http://{host}"}, 405),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site", "Origin": "http://{host}"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
async def test_pages_of_other_origins_have_nothing_done(
    sea: Path, headers: Any, status: int
) -> None:
    async with running(sea) as near:
        host = near.address.removeprefix("http://")
        sent = {name: value.format(host=host) for name, value in headers.items()}
        async with near.session.post(f"{near.address}/engine", headers=sent) as answer:
            assert answer.status == status


async def test_large_bodies_are_refused(sea: Path) -> None:
    async with running(sea) as near:
        async with near.session.post(f"{near.address}/engine", data=b"x" * 2_000_000) as answer:
            assert answer.status == 413

        async def pieces() -> AsyncIterator[bytes]:
            for _ in range(40):
                yield b"x" * 100_000

        with suppress(aiohttp.ClientError):
            async with near.session.post(f"{near.address}/login", data=pieces()) as answer:
                assert answer.status in (404, 405, 413)
        assert (await near.get("/healthz"))[0] == 200


class Impatient(PromptProtocol):
    seconds = silent_seconds = 0.3


@pytest.mark.parametrize(
    "begin",
    [
        b"",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET / HTTP/1.1\r\n",
    ],
)
async def test_a_client_that_says_little_is_cut_off(sea: Path, begin: bytes) -> None:
    async with running(sea, protocol=Impatient) as near:
        host, port = near.address.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(begin)

        async def drip() -> None:
            while True:
                writer.write(b"X")
                await asyncio.sleep(0.02)

        dripping = asyncio.create_task(drip() if begin else asyncio.sleep(0))
        with suppress(ConnectionError):
            async with asyncio.timeout(20):
                while await reader.read(1 << 16):
                    pass
        dripping.cancel()
        writer.close()
        assert await near.get("/healthz") == (200, {"status": "ok"})


async def test_a_client_that_takes_no_answer_is_cut_off(sea: Path) -> None:
    async with running(sea, protocol=Impatient) as near:
        host, port = near.address.removeprefix("http://").split(":")
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.setblocking(False)
            loop = asyncio.get_running_loop()
            await loop.sock_connect(client, (host, int(port)))
            request = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
            with pytest.raises(ConnectionError):
                await asyncio.wait_for(loop.sock_sendall(client, request * 200_000), 20)


async def test_where_others_can_reach_it_a_token_is_made(sea: Path) -> None:
    async with AsyncExitStack() as stack:
        process, told = await started(stack, sea, "--host", "0.0.0.0")
        session = await stack.enter_async_context(aiohttp.ClientSession())
        assert "0.0.0.0" not in told.address
        reached = f"http://127.0.0.1:{told.address.rpartition(':')[2]}"
        token = re.fullmatch(r"/\?token=([\w-]{32}) .*", told.more)
        assert token, told
        async with session.get(f"{reached}/engine") as answer:
            assert answer.status == 401
        for address in (reached, told.address):
            async with session.get(f"{address}/engine?token={token[1]}") as answer:
                assert answer.status == 200
        process.send_signal(signal.SIGTERM)
        await process.communicate()
