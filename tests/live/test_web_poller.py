"""The poller of watches and collections as it is put together, against real servers."""

import asyncio
import time
from itertools import pairwise

from aiohttp import web

from pollwise.events import HostBlocked, Unanswered
from pollwise.live.web_polling import web_poller
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.scheduler.scheduler import Scheduler
from pollwise.types import Budget, Outcome, Page, PageMemory

DELAY = 0.2


async def test_pages_that_redirect_to_one_host_ask_it_one_after_the_other(site, other_site):
    """Once, they all asked at once."""
    spans = []

    async def slow(request: web.Request) -> web.Response:
        begun_at = time.monotonic()
        await asyncio.sleep(0.02)
        spans.append((begun_at, time.monotonic()))
        return web.Response(text="Crawl-delay: 0")

    other_site.answers.update(dict.fromkeys(("/robots.txt", "/0", "/1", "/2"), slow))
    # Three hosts for the poller: addresses of this machine, with a port of one server.
    for n in range(3):
        site.says(f"/{n}", status=302, Location=other_site.url(f"/{n}"))
    async with web_poller(time.time, crawl_delay=DELAY, allow_private=True) as poller:
        polls = [
            poller.poll(Page(n, f"http://{host}:{site.server.port}/{n}", host), PageMemory())
            for n, host in enumerate(("127.0.0.1", "localhost", "[::ffff:127.0.0.1]"))
        ]
        reports = await asyncio.gather(*polls)
    assert {report.result.observation.outcome for report in reports} == {Outcome.CHANGED}
    assert len(spans) == 4
    assert all(later[0] - earlier[1] >= 0.9 * DELAY for earlier, later in pairwise(spans))


async def test_hosts_at_one_address_are_asked_one_after_the_other(site, other_site):
    asked_at = []

    async def answer(request: web.Request) -> web.Response:
        asked_at.append(time.monotonic())
        return web.Response(text="Crawl-delay: 0")

    for one in (site, other_site):
        one.answers.update(dict.fromkeys(("/robots.txt", "/a"), answer))
    async with web_poller(
        time.time, crawl_delay=DELAY, allow_private=True, by_address=True
    ) as poller:
        pages = [Page(n, one.url("/a"), one.host) for n, one in enumerate((site, other_site))]
        reports = await asyncio.gather(*(poller.poll(page, PageMemory()) for page in pages))
    assert {report.result.observation.outcome for report in reports} == {Outcome.CHANGED}
    assert len(asked_at) == 4
    assert all(later - earlier >= 0.9 * DELAY for earlier, later in pairwise(asked_at))


async def test_that_there_was_no_answer_is_told_of_a_page_and_of_its_robots_txt(site):
    async def nothing(request: web.Request) -> web.Response:
        await asyncio.sleep(30.0)
        return web.Response()

    page = Page(0, site.url("/a"), site.host)
    site.answers["/robots.txt"] = nothing
    async with web_poller(time.time, crawl_delay=0.0, allow_private=True, timeout=0.3) as poller:
        blocked, told = (await poller.poll(page, PageMemory())).notices
    assert isinstance(blocked, HostBlocked)
    assert isinstance(told, Unanswered)
    assert told.page_id == 0
    site.says("/robots.txt", "Crawl-delay: 0")
    site.answers["/a"] = nothing
    async with web_poller(time.time, crawl_delay=0.0, allow_private=True, timeout=0.3) as poller:
        assert isinstance((await poller.poll(page, PageMemory())).notices[0], Unanswered)
        site.says("/a", status=500)
        assert (await poller.poll(page, PageMemory())).notices == ()


async def test_what_the_user_did_not_give_is_refused_down_to_its_robots_txt(site, other_site):
    site.says("/a", status=302, Location=other_site.url("/b"))
    async with web_poller(time.time, crawl_delay=0.0, given={site.host}) as poller:
        report = await poller.poll(Page(0, site.url("/a"), site.host), PageMemory())
    assert report.result.observation.outcome is Outcome.FAILED
    assert other_site.asked == []
    assert "127.0.0.1 is no public address" in report.result.error
    assert "--allow-private" in report.result.error


async def test_a_host_that_named_a_time_is_left_alone_after_a_restart_too(site, other_site):
    """Once, the time was forgotten of a host that is only redirected to."""
    site.says("/a", status=302, Location=other_site.url("/b"))
    other_site.says("/b", status=503, Retry_After="3000")
    page, state = Page(0, site.url("/a"), site.host), None
    for asked in (["/robots.txt", "/b"], []):
        scheduler = Scheduler(BayesianIndex(), Budget(1.0), crawl_delay=0.0, retry_after=60.0)
        scheduler.restore([page], state)
        async with web_poller(
            time.time,
            crawl_delay=0.0,
            allow_private=True,
            blocked_until=scheduler.host_blocked_until,
        ) as poller:
            for notice in (report := await poller.poll(page, PageMemory())).notices:
                scheduler.handle(notice)
        assert other_site.paths == asked
        other_site.asked.clear()
        state = scheduler.state()
    assert report.result.observation.outcome is Outcome.POSTPONED
