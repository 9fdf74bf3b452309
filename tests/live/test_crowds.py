"""Crowds of connections that say or read little: others are answered all the same."""

import asyncio
import itertools
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from tests.unit.insight.a_collection import make_collection
from tests.unit.insight.a_watch import make_watch

from pollwise.dashboard.answers import Answers
from pollwise.dashboard.prompt_protocol import PromptProtocol, answer_lasts
from pollwise.dashboard.server import serve
from pollwise.web.descriptors import make_room

from .answering import answering_for

PATIENCE = 60.0
LARGE = 2**26
"""Bytes that no socket holds."""
HOST = b"Host: localhost\r\n"
SAID = {
    "nothing": b"",
    "half a head": b"GET / HTTP/1.1\r\n" + HOST,
    "half a body": b"POST /api/pages HTTP/1.1\r\nContent-Length: 9\r\n" + HOST + b"\r\n{",
    "a request": b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n",
    "events": b"GET /events HTTP/1.1\r\n" + HOST + b"\r\n",
}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    make_room()
    db: Path = tmp_path_factory.mktemp("crowds") / "x.db"
    make_watch(db, time.time())
    with answering_for(db) as url:
        place = urlsplit(url)
        assert place.hostname
        assert place.port
        yield place.hostname, place.port


def ask(address: tuple[str, int], path: str, source: str = "127.0.0.1") -> bytes:
    """The beginning of an answer; empty: the connection was cut."""
    client = socket.create_connection(address, PATIENCE, (source, 0))
    with client, suppress(ConnectionError):
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        return client.recv(1000)
    return b""


@pytest.mark.parametrize("sources", [1, 6])
@pytest.mark.parametrize("said", SAID)
def test_a_crowd_keeps_nobody_out(address: tuple[str, int], said: str, sources: int) -> None:
    """Of this machine, or of as many addresses as all the connections may be of."""
    crowd = itertools.cycle([f"127.0.0.{2 + number}" for number in range(sources)])
    with ExitStack() as stack:
        for _ in range(600):
            one = socket.create_connection(address, PATIENCE, (next(crowd), 0))
            stack.enter_context(one)
            with suppress(ConnectionError):
                one.sendall(SAID[said])
                if said in ("a request", "events"):
                    # Answered, it says nothing more. Before, all might be being answered on a busy
                    # machine, and a new connection is cut then.
                    one.recv(1000)
        for source in ("127.0.0.1", "127.0.0.2"):
            for path in ("/", "/events", "/api/status"):
                assert ask(address, path, source).startswith(b"HTTP/1.1 200"), (path, source)


class Small(PromptProtocol):
    most, most_of_one = 4, 3
    most_lasting, most_lasting_of_one = 3, 2
    proxies = ("127.0.0.9",)


class Hasty(PromptProtocol):
    silent_seconds = 0.2
    seconds = 1000.0


class Served:
    """Where it listens; `/wait` is answered once `let` is set, `/last` then, too, if ever."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.let = asyncio.Event()
        self.waiting = asyncio.Semaphore(0)
        routes = [
            *(Route(path, self._answer) for path in ("/", "/large")),
            *(Route(path, self._wait) for path in ("/wait", "/last")),
        ]
        self.app = Starlette(routes=routes)

    async def _answer(self, request: Request) -> Response:
        if request.url.path == "/":
            return PlainTextResponse("ok")
        self.waiting.release()
        return PlainTextResponse("x" * LARGE)

    async def _wait(self, request: Request) -> Response:
        if request.url.path == "/last":
            answer_lasts(request)
        self.waiting.release()
        await self.let.wait()
        return PlainTextResponse("ok")

    async def client(self, path: str | None, source: str = "127.0.0.1") -> "Client":
        """A client that asks for a path, and is being answered; None: it says nothing."""
        place = self.listener.getsockname()
        reader, writer = await asyncio.open_connection(*place, local_addr=(source, 0))
        client = Client(reader, writer)
        if path is not None:
            client.ask(path)
            if path != "/":
                await asyncio.wait_for(self.waiting.acquire(), PATIENCE)
        return client


class Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def ask(self, path: str) -> None:
        self.writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())

    async def is_cut(self) -> bool:
        """Whether the connection ends; otherwise it has an answer."""
        try:
            return not await asyncio.wait_for(self.reader.read(1000), PATIENCE)
        except ConnectionError:
            return True


@asynccontextmanager
async def serving(folder: Path, protocol: type[PromptProtocol]) -> AsyncIterator[Served]:
    db = folder / "sea.db"
    make_collection(db)
    served, stop = Served(), asyncio.Event()
    async with Answers(db) as answers:
        ended = asyncio.create_task(
            serve(served.app, answers, served.listener, stop, protocol=protocol)
        )
        yield served
        served.let.set()
        stop.set()
        await ended


async def test_the_oldest_that_says_nothing_gives_way(tmp_path: Path) -> None:
    async with serving(tmp_path, Small) as served:
        busy = await served.client("/wait", "127.0.0.2")
        first, second = [await served.client(None, "127.0.0.3") for _ in range(2)]
        third = await served.client(None, "127.0.0.4")
        more = await served.client("/", "127.0.0.5")
        assert await first.is_cut()
        assert not await more.is_cut()
        served.let.set()
        assert not await busy.is_cut()
        for one in (second, third):
            one.ask("/")
            assert not await one.is_cut()


async def test_who_takes_no_answer_gives_way(tmp_path: Path) -> None:
    async with serving(tmp_path, Small) as served:
        busy = await served.client("/wait", "127.0.0.2")
        unread = await served.client("/large", "127.0.0.3")
        unread.reader._transport.pause_reading()  # type: ignore[attr-defined]
        others = [await served.client("/wait", "127.0.0.4") for _ in range(2)]
        assert not await (await served.client("/", "127.0.0.5")).is_cut()
        unread.reader._transport.resume_reading()  # type: ignore[attr-defined]
        with suppress(ConnectionError):
            assert len(await unread.reader.read(-1)) < LARGE
        served.let.set()
        assert [await one.is_cut() for one in (busy, *others)] == [False] * 3


async def test_one_address_has_a_part_of_the_connections(tmp_path: Path) -> None:
    async with serving(tmp_path, Small) as served:
        busy = [await served.client("/wait") for _ in range(3)]
        assert await (await served.client(None)).is_cut()
        assert not await (await served.client("/", "127.0.0.2")).is_cut()
        served.let.set()
        assert [await one.is_cut() for one in busy] == [False] * 3


async def test_many_may_be_behind_a_proxy(tmp_path: Path) -> None:
    async with serving(tmp_path, Small) as served:
        busy = [await served.client("/wait", "127.0.0.9") for _ in range(4)]
        assert await (await served.client(None, "127.0.0.9")).is_cut()
        served.let.set()
        assert [await one.is_cut() for one in busy] == [False] * 4


async def test_the_oldest_that_lasts_ends(tmp_path: Path) -> None:
    async with serving(tmp_path, Small) as served:
        first, second = [await served.client("/last", "127.0.0.2") for _ in range(2)]
        third = await served.client("/last", "127.0.0.2")
        assert await first.is_cut()  # of its address
        fourth = await served.client("/last", "127.0.0.3")
        fifth = await served.client("/last", "127.0.0.4")
        assert await second.is_cut()  # of all
        served.let.set()
        assert [await one.is_cut() for one in (third, fourth, fifth)] == [False] * 3


async def test_who_says_nothing_is_cut_off_soon(tmp_path: Path) -> None:
    async with serving(tmp_path, Hasty) as served:
        slow = await served.client("/wait")
        assert await (await served.client(None)).is_cut()
        served.let.set()
        assert not await slow.is_cut()
