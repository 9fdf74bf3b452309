"""Pages with clocks, counters and random parts, over real HTTP: only news are changes."""

import asyncio
from itertools import count

import pytest
from aiohttp import web

from pollwise.live.recalling import recalling
from pollwise.live.session import Session, web_poller
from pollwise.settings import WatchSettings
from pollwise.store import Store
from pollwise.store.records import NewPage
from pollwise.testing.fake_clock import FakeClock

HTML, JSON, FEED = "text/html", "application/json", "application/rss+xml"
QUOTES = ("To be or not to be", "I think", "All is one", "So it goes", "Call me", "Hello")


class PatientClock(FakeClock):
    """No time passes while a poll is under way: it waits for a real server."""

    async def wait(self, tasks, until):
        if len(tasks) > 1:  # the last one waits for the end
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        else:
            await super().wait(tasks, until)


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
            f"<rss><lastBuildDate>Sun, 22 Nov 2026 13:{n // 60:02}:{n % 60:02} GMT</lastBuildDate>"
            f"<item><guid>{news}</guid></item></rss>"
        ),
    ),
    "/plain": (HTML, lambda n, news: f"<p>News: {news}"),
    "/always": (HTML, lambda n, news: f"<p>{n}"),
}
EVERY = 5000.0
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


@pytest.fixture(scope="module")
def _compiled() -> None:
    """What is compiled before the first run takes longer than any run."""


async def test_only_news_are_changes(site, tmp_path):
    db = tmp_path / "noise.db"
    with Store.open(db) as store:
        store.add_pages([NewPage(site.url(path), site.host) for path in PAGES], now=0.0)
    for begin in (0.0, 20_000.0):  # masks outlive the process
        await watch_for(db, site, begin, 20_000.0)
    with Store.open_readonly(db) as store:
        records = {record.page.url.removeprefix(site.url("")): record for record in store.pages()}
        versions = {
            path: [store.body(v.body_hash).decode() for v in store.versions(record.page.id)]
            for path, record in records.items()
        }
    always = records.pop("/always")
    assert always.memory.noise.masks == ()
    assert always.memory.noise.changes_in_a_row == always.changes == always.polls - 1 > 12
    for path, record in records.items():
        noisy = path != "/plain"
        assert len(record.memory.noise.masks) == noisy, path
        assert record.polls > 12
        # Each change is news, and most news are found.
        assert 4 <= record.changes <= 40_000 / EVERY, path
        assert record.memory.noise.changes_in_a_row <= 1
    assert len(site.asked) < 2 + 8 * 20 + sum(r.polls for r in (*records.values(), always))
    assert len(set(versions["/plain"])) == len(versions["/plain"])
