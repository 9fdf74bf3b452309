"""A web site on the loopback interface that answers as a test says, and a clock that stands."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial

import pytest
import pytest_asyncio
from aiohttp import web
from aiohttp.test_utils import TestServer

from pollwise.web.fetcher import HttpFetcher
from pollwise.web.polite_fetcher import PoliteFetcher

from .warming import WARMING, WarmFetcher

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


class StandingClock:
    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class SleepingClock(StandingClock):
    """Time passes only while somebody sleeps."""

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


class Site:
    """`answers` maps paths to what they answer (404 for the others); `asked` lists requests."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.asked: list[web.Request] = []
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._handle)
        self.server = TestServer(app)

    def url(self, path: str) -> str:
        return f"http://{self.host}{path}"

    @property
    def host(self) -> str:
        return f"{self.server.host}:{self.server.port}"

    @property
    def paths(self) -> list[str]:
        return [request.path for request in self.asked]

    def says(self, path: str, body: str | bytes = b"", status: int = 200, **headers: str) -> None:
        """`path` answers this from now on; `_` in the names of headers stands for `-`."""
        data = body.encode() if isinstance(body, str) else body
        named = {name.replace("_", "-"): value for name, value in headers.items()}

        async def answer(request: web.Request) -> web.Response:
            return web.Response(body=data, status=status, headers=named)

        self.answers[path] = answer

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        if request.path == WARMING:
            return web.Response()
        self.asked.append(request)
        if request.path not in self.answers:
            raise web.HTTPNotFound
        return await self.answers[request.path](request)


@pytest.fixture(params=[HttpFetcher, WarmFetcher], ids=["new", "kept"])
def fetching(request) -> type[HttpFetcher]:
    """What fetches over new connections, and what does over those that were kept."""
    return request.param


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    site = Site()
    await site.server.start_server()
    yield site
    await site.server.close()


@pytest.fixture
async def other_site() -> AsyncIterator[Site]:
    site = Site()
    await site.server.start_server()
    yield site
    await site.server.close()


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def chromium():
    """A browser for the tests of a module: to start one takes longer than most of them."""
    from playwright.async_api import async_playwright

    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=shutil.which("chromium"))
        yield browser
        await browser.close()


@pytest.fixture
def following(clock) -> Callable[[HttpFetcher], PoliteFetcher]:
    """Makes a fetcher follow redirects, without a pause."""
    return partial(PoliteFetcher, delay=0.0, clock=clock, sleep=asyncio.sleep)


@pytest.fixture
def sleeping_clock() -> SleepingClock:
    return SleepingClock(0.0)


@pytest.fixture
def clock() -> StandingClock:
    return StandingClock(1_700_000_000.0)
