"""Pages with clocks, counters and random parts, over real HTTP: only news are changes."""

import asyncio
from itertools import count
from math import inf

import pytest
from aiohttp import web

from pollwise.events import HostFreed
from pollwise.live.incoming import Incoming
from pollwise.live.recalling import recalling
from pollwise.live.session import Session
from pollwise.live.web_polling import web_poller
from pollwise.settings import WatchSettings
from pollwise.store import Store
from pollwise.store.records import NewPage
from pollwise.testing.fake_clock import FakeClock
from pollwise.types import Outcome, Page, PageMemory
from pollwise.web import polite_fetcher
from pollwise.web.beside import Beside
from pollwise.web.noise.looks import Copy

from .patient_watch import PatientClock

HTML, JSON, FEED = "text/html", "application/json", "application/rss+xml"
QUOTES = ("To be or not to be", "I think", "All is one", "So it goes", "Call me", "Hello")


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Nothing here shows seconds."""
    monkeypatch.setattr(polite_fetcher, "APART", 0.0)


# By path: the Content-Type, and the body by the number of the request and of the news.
PAGES = {
    "/clock": (HTML, lambda n, news: f"<p>Now: <b>{n // 60:02}:{n % 60:02}</b><h1>News</h1>{news}"),
    "/counter": (HTML, lambda n, news: f"<p>News {news}.<p>You are visitor {n + 997:,}<p>End"),
    "/random": (
        HTML,
        lambda n, news: f"<p>Menu<p>{QUOTES[n % 6]}<p>The news of today are: {news}, and so on",
    ),
    "/advertisement": (
        HTML,
        lambda n, news: (
            "<p>Menu"
            + (f"<div><b>Buy {QUOTES[n % 6]}</b>now</div>" if n % 3 else "")
            + f"<p>The news of today are: {news}, and nothing but these are of any interest"
        ),
    ),
    "/json": (JSON, lambda n, news: f'{{"generated_at": {1_700_000_000 + n}, "items": [{news}]}}'),
    "/feed": (
        FEED,
        lambda n, news: (
            f"<rss><channel><lastBuildDate>13:{n // 60:02}:{n % 60:02}</lastBuildDate>"
            f"<item><guid>{news}</guid></item></channel></rss>"
        ),
    ),
    "/plain": (HTML, lambda n, news: f"<p>News: {news}"),
}
EVERY = 2500.0
"""Seconds from one piece of news to the next."""


def serve(site, clock) -> None:
    numbers = count()

    def answer(path: str):
        content_type, body = PAGES[path]

        async def answer(request: web.Request) -> web.Response:
            news = int(clock() // EVERY)
            return web.Response(text=body(next(numbers), news), content_type=content_type)

        return answer

    site.answers.update({path: answer(path) for path in PAGES})


async def watch_for(path, site, begin: float, seconds: float) -> None:
    clock, stop = PatientClock(begin), asyncio.Event()
    clock.stop_at(begin + seconds, stop)
    serve(site, clock)
    with Store.open(path) as store:
        session = Session(store, WatchSettings(budget="1/minute"), clock=clock, say=print)
        async with (
            recalling(path) as recall,
            web_poller(clock, crawl_delay=0.0, allow_private=True, recall=recall) as poller,
        ):
            await session.run(poller, stop, on_progress=lambda *_: None)


async def test_only_news_are_changes(site, tmp_path):
    db = tmp_path / "noise.db"
    with Store.open(db) as store:
        store.add_pages([NewPage(site.url(path), site.host) for path in PAGES], now=0.0)
    for begin in (0.0, 10_000.0):  # masks outlive the process
        await watch_for(db, site, begin, 10_000.0)
    with Store.open_readonly(db) as store:
        records = {record.page.url.removeprefix(site.url("")): record for record in store.pages()}
        versions = {
            path: [store.body(v.body_hash).decode() for v in store.versions(record.page.id)]
            for path, record in records.items()
        }
    for path, record in records.items():
        noisy = path not in ("/plain", "/feed")  # of a feed only the items count
        assert len(record.memory.noise.masks) == noisy, path
        assert record.polls > 12
        # Each change is news, and most news are found.
        assert 4 <= record.changes <= 20_000 / EVERY, path
        assert record.memory.noise.changes_in_a_row <= 1
    assert len(set(versions["/plain"])) == len(versions["/plain"])
    # Two fetches more for a page with noise, and some for changes that are none.
    assert len(site.asked) <= 2 + sum(record.polls + 12 for record in records.values())


class RestlessClock(FakeClock):
    """Time passes if nothing has ended for a moment, though polls are under way."""

    async def wait(self, tasks, until):
        done, _ = await asyncio.wait(tasks, timeout=0.1, return_when=asyncio.FIRST_COMPLETED)
        if not done:
            await super().wait(tasks, until)


async def test_other_pages_are_polled_while_one_is_looked_at(site, tmp_path, monkeypatch):
    """However long it waits before it is fetched again: here for as long as the run lasts."""
    monkeypatch.setattr(polite_fetcher, "APART", 3600.0)
    numbers = count()

    async def noisy(request: web.Request) -> web.Response:
        return web.Response(text=f"<p>{next(numbers)}", content_type=HTML)

    site.answers["/noisy"] = noisy
    quiet = [f"/{n}" for n in range(9)]
    for path in quiet:
        site.says(path, "<p>Quiet", Content_Type=HTML)
    db, clock, stop, incoming = tmp_path / "x.db", RestlessClock(0.0), asyncio.Event(), Incoming()
    clock.stop_at(200.0, stop)  # earlier than the poll is given up
    looked_since = inf

    def freed(event: HostFreed) -> None:
        nonlocal looked_since
        looked_since = len(site.asked)
        incoming.put([event])

    def enough(*_: object) -> None:
        if len(site.asked) >= looked_since + 12:
            stop.set()

    with Store.open(db) as store:
        new = [NewPage(site.url(path), site.host) for path in ("/noisy", *quiet)]
        store.add_pages(new, now=0.0)
        settings = WatchSettings(budget="1/second", crawl_delay=0.0)
        session = Session(store, settings, clock=clock, say=print)
        async with (
            recalling(db) as recall,
            web_poller(
                clock, crawl_delay=0.0, allow_private=True, recall=recall, freed=freed
            ) as poller,
        ):
            await session.run(poller, stop, on_progress=enough, incoming=incoming)
    assert len(site.asked) >= looked_since + 12
    assert site.paths.count("/noisy") == 2


async def test_a_page_of_nothing_but_noise_is_left_as_it_is(site, clock):
    """It is said to differ at every poll; the looks at it become ever fewer."""
    numbers = count()

    async def answer(request: web.Request) -> web.Response:
        return web.Response(text=f"<p>{next(numbers)}", content_type=HTML)

    async def recall(page_id: int) -> Copy | None:
        return None

    site.answers["/"] = answer
    page, memory, costs = Page(0, site.url("/"), site.host), PageMemory(), []
    async with web_poller(clock, crawl_delay=0.0, allow_private=True, recall=recall) as poller:
        for _ in range(20):
            result = (await poller.poll(page, memory)).result
            assert result.observation.outcome is Outcome.CHANGED
            costs.append(result.observation.cost)
            memory = result.memory
    assert memory.noise.masks == ()
    assert memory.noise.changes_in_a_row == 19
    assert [n for n, cost in enumerate(costs) if cost == 3.0] == [1, 3, 7, 15]
    assert sum(costs) == 28 == len(site.asked) - 1


async def test_a_look_that_brings_the_same_bytes_reads_nothing_more(site, clock, monkeypatch):
    """The change stands, and later looks are fewer."""

    async def answer(request: web.Request) -> web.Response:
        return web.Response(text=f"<p>News {news} {'and on ' * 4000}", content_type=HTML)

    async def recall(page_id: int) -> Copy | None:
        raise AssertionError("the latest copy is asked for")

    async def call(*_: object, **__: object) -> None:
        raise AssertionError("the bodies are read beside")

    monkeypatch.setattr(Beside, "call", call)
    site.answers["/"] = answer
    page, memory, costs = Page(0, site.url("/"), site.host), PageMemory(), []
    async with web_poller(clock, crawl_delay=0.0, allow_private=True, recall=recall) as poller:
        for n in range(6):
            news = n
            result = (await poller.poll(page, memory)).result
            memory = result.memory
            assert result.observation.outcome is Outcome.CHANGED
            costs.append(result.observation.cost)
    assert costs == [1.0, 2.0, 1.0, 2.0, 1.0, 1.0]
    assert (memory.noise.gap, memory.noise.since_look) == (4, 2)


async def test_a_look_that_is_refused_leaves_the_poll_as_it_was(site, clock):
    """And the host is left alone as long as it says."""
    statuses = iter([200, 200, 503])

    async def answer(request: web.Request) -> web.Response:
        status = next(statuses)
        text = f"<p>News {status} {next(numbers)}"
        return web.Response(
            text=text, status=status, content_type=HTML, headers={"Retry-After": "60"}
        )

    async def recall(page_id: int) -> Copy | None:
        return None

    numbers = count()
    site.answers["/"] = answer
    page = Page(0, site.url("/"), site.host)
    async with web_poller(clock, crawl_delay=0.0, allow_private=True, recall=recall) as poller:
        first = await poller.poll(page, PageMemory())
        report = await poller.poll(page, first.result.memory)
    assert report.result.observation.outcome is Outcome.CHANGED
    assert report.result.observation.cost == 2.0
    assert [notice.until - notice.now for notice in report.notices] == [60.0]


async def test_a_look_that_the_end_of_a_run_cuts_short_leaves_the_poll_as_it_was(site, clock):
    looking, numbers = asyncio.Event(), count()

    async def answer(request: web.Request) -> web.Response:
        number = next(numbers)
        if number == 2:
            looking.set()
            await asyncio.sleep(60.0)
        return web.Response(text=f"<p>News {number}", content_type=HTML)

    async def recall(page_id: int) -> Copy | None:
        return None

    site.answers["/"] = answer
    page = Page(0, site.url("/"), site.host)
    async with web_poller(clock, crawl_delay=0.0, allow_private=True, recall=recall) as poller:
        first = await poller.poll(page, PageMemory())
        poll = asyncio.ensure_future(poller.poll(page, first.result.memory))
        await looking.wait()
        poll.cancel()
        result = (await poll).result
    assert result.observation.outcome is Outcome.CHANGED
    assert result.version.body == b"<p>News 1"
    # The look is still due.
    assert result.memory.noise.since_look == result.memory.noise.gap == 1


@pytest.mark.parametrize("status", [404, 503])
async def test_looks_that_fail_become_fewer(site, clock, status):
    async def answer(request: web.Request) -> web.Response:
        asked.append(request)
        if len(asked) == 1:
            return web.Response(text=f"<p>News of {news}", content_type=HTML)
        return web.Response(text="", status=status, content_type=HTML)

    async def recall(page_id: int) -> Copy | None:
        return None

    site.answers["/"] = answer
    page, memory, looks = Page(0, site.url("/"), site.host), PageMemory(), []
    async with web_poller(clock, crawl_delay=0.0, allow_private=True, recall=recall) as poller:
        for n in range(20):
            news, asked = QUOTES[n % 6] + " and on" * n, []
            result = (await poller.poll(page, memory)).result
            memory = result.memory
            looks += [n] * (len(asked) > 1)
    assert looks == [1, 3, 7, 15]
