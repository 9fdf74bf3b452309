"""Polls for a collection over HTTP: no request that politeness does not know of."""

import asyncio
from functools import partial

import pytest
from aiohttp import web

from pollwise.collecting.collecting_poller import CollectingPoller, _Visit
from pollwise.collecting.document_collection import DocumentCollection
from pollwise.collecting.fetcher_controller import FetcherController
from pollwise.collecting.link_filter import LinkFilter
from pollwise.collecting.response_digest import digest
from pollwise.collecting.response_processor import ResponseProcessor
from pollwise.events import HostBlocked, HostPaced
from pollwise.relevance.topic import topic
from pollwise.relevance.topic_filter import TopicFilter
from pollwise.store.records import PollResult
from pollwise.types import Observation, Outcome, Page, PageMemory
from pollwise.web import deadlines
from pollwise.web.fetcher import HttpFetcher
from pollwise.web.polite_fetcher import PoliteFetcher
from pollwise.web.poll_reports import PollReport
from pollwise.web.poller import WebPoller
from pollwise.web.robots_txt import RobotsTxt
from pollwise.web.sitemaps import SitemapEntry

WHALES = "<title>Whales</title><p>" + "The whale sings to whales of the whale. " * 20


@pytest.fixture
async def processor():
    async with ResponseProcessor(partial(digest, judge=None), time_limit=2.0) as running:
        yield running


@pytest.fixture
async def poll(site, clock, sleeping_clock, processor):
    """Polls a path of the site; `waits` are the seconds slept in between."""
    async with HttpFetcher(clock=clock, allow_private=True, max_bytes=150_000) as exchanges:
        waits = []

        async def sleep(seconds):
            await sleeping_clock.sleep(seconds)
            waits.append((seconds, list(site.paths)))

        fetcher = PoliteFetcher(
            exchanges,
            delay=0.5,
            clock=sleeping_clock,
            sleep=sleep,
            host_delay=lambda scope: robots.crawl_delay(scope),
        )
        robots = RobotsTxt(fetcher, clock=clock)

        collection = DocumentCollection(
            TopicFilter(topic("whales")), LinkFilter, lambda: iter([]), next_page_id=100
        )
        poller = CollectingPoller(
            WebPoller(fetcher, robots, clock=clock, follow_redirects=False),
            processor,
            collection,
            FetcherController(),
            crawl_delay=0.5,
            clock=clock,
        )

        async def of(path, page_id=0, memory=PageMemory(), **told):  # noqa: B008 - it is frozen
            # The scheduler leaves the host alone for longer than it asks.
            sleeping_clock.now += 4000.0
            return await poller.poll(Page(page_id, site.url(path), site.host, **told), memory)

        of.waits = waits
        of.poller = poller
        yield of


async def test_a_document_is_read_scored_and_followed(site, poll):
    site.says("/a", WHALES + "<a href=/b>more</a>", Content_Type="text/html")
    report = await poll("/a")
    assert report.result.observation.outcome is Outcome.CHANGED
    assert report.result.observation.relevance > 0.3
    assert report.discovered.collected.title == "Whales"
    # The page is about the topic: so the front page of its host joins the fringe.
    assert [found.page.url for found in report.discovered.new_pages] == [
        site.url("/b"),
        site.url("/"),
    ]
    assert report.discovered.links.targets.tolist() == [100]


async def test_it_waits_between_robots_txt_and_the_page(site, poll):
    site.says("/robots.txt", "User-agent: *\nCrawl-delay: 3")
    site.says("/a", WHALES, Content_Type="text/html")
    await poll("/a")
    assert poll.waits == [(3.0, ["/robots.txt"])]
    await poll("/a")
    assert len(poll.waits) == 1


async def test_sitemaps_are_read_once_with_pauses_and_cost_what_they_take(site, poll):
    site.says(
        "/robots.txt",
        f"Sitemap: {site.url('/map.xml')}\nSitemap: http://other.example/map.xml",
    )
    site.says(
        "/map.xml",
        f"<sitemapindex><sitemap><loc>{site.url('/one.xml')}</loc></sitemap></sitemapindex>",
    )
    urls = "".join(f"<url><loc>{site.url(f'/{n}')}</loc></url>" for n in range(3))
    foreign = "<url><loc>http://other.example/</loc></url>"
    site.says("/one.xml", f"<urlset>{urls}{foreign}</urlset>")
    site.says("/a", WHALES, Content_Type="text/html")
    report = await poll("/a")
    assert site.paths == ["/robots.txt", "/map.xml", "/one.xml", "/a"]
    assert [seconds for seconds, _ in poll.waits] == [0.5, 0.5, 0.5]
    assert [found.page.url for found in report.discovered.new_pages] == [
        *(site.url(f"/{n}") for n in range(3)),
        site.url("/"),  # as /a is about the topic
    ]
    assert report.result.observation.cost == 3.0
    assert (await poll("/a")).result.observation.cost == 1.0


async def test_sitemaps_are_subject_to_robots_txt_of_their_own_origin(site, poll):
    other = f"http://{site.host.replace('127.0.0.1', 'localhost')}"
    site.says(
        "/robots.txt",
        f"User-agent: *\nDisallow: /private\nSitemap: {site.url('/private/map.xml')}\n"
        f"Sitemap: {other}/map.xml\nSitemap: {site.url('/map.xml')}",
    )
    site.says("/a", WHALES, Content_Type="text/html")
    await poll("/a")
    assert site.paths == ["/robots.txt", "/map.xml", "/a"]


async def test_sitemaps_bring_a_bounded_number_of_pages(site, poll):
    site.says("/robots.txt", f"Sitemap: {site.url('/1.txt')}\nSitemap: {site.url('/2.txt')}")
    for number in (1, 2):
        lines = "\n".join(site.url(f"/{number}{chr(97 + n % 26)}{n:x}") for n in range(6000))
        site.says(f"/{number}.txt", lines)
    poll.poller._web.fetcher._exchanges._max_bytes = 2**20
    report = await poll("/a")
    assert len(report.discovered.new_pages) == 10_000


async def test_other_work_goes_on_while_pages_of_sitemaps_are_taken_in(site, poll, monkeypatch):
    poller, turns, sizes = poll.poller, 0, []

    async def others():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    def visit(name, count):
        letters = (f"{chr(97 + n % 26)}{n:x}" for n in range(count))
        return _Visit([SitemapEntry(site.url(f"/{name}{one}")) for one in letters])

    async def taken_in(page_id, seen):
        page = Page(page_id, site.url(f"/{page_id}"), site.host)
        result = PollResult(Observation(page_id, 5.0, Outcome.FAILED), PageMemory(), error="no")
        report = await poller._taken_in(page, PageMemory(), PollReport(result), seen)
        return [found.page.id for found in report.discovered.new_pages]

    name = poller._collection.name
    monkeypatch.setattr(
        poller._collection, "name", lambda some, now: sizes.append(len(some)) or name(some, now)
    )
    working = asyncio.ensure_future(others())
    ids = await asyncio.gather(taken_in(0, visit("a", 1000)), taken_in(1, visit("b", 2)))
    working.cancel()
    # No other page comes between those of one poll, which are stored together.
    assert ids == [list(range(100, 1100)), [1100, 1101]]
    assert max(sizes) <= 100
    assert turns >= 10


async def test_an_index_of_sitemaps_that_are_disallowed_takes_no_time(site, poll):
    """Once, each of up to 50,000 was compared with the rules, and no other poll went on."""
    rules = "\n".join(f"Disallow: /*s*s*s*{n}z" for n in range(150))
    site.says(
        "/robots.txt",
        f"User-agent: *\n{rules}\nDisallow: /s\nSitemap: {site.url('/map.xml')}",
    )
    named = "".join(f"<sitemap><loc>{site.url(f'/sss{n}')}</loc></sitemap>" for n in range(50_000))
    site.says("/map.xml", f"<sitemapindex>{named}</sitemapindex>")
    site.says("/a", WHALES, Content_Type="text/html")
    poll.poller._web.fetcher._exchanges._max_bytes = 2**23
    decided, decide = 0, poll.poller._web.robots_txt.decide

    async def counted(rules, url):
        nonlocal decided
        decided += 1
        return await decide(rules, url)

    poll.poller._web.robots_txt.decide = counted
    report = await poll("/a")
    assert report.result.observation.outcome is Outcome.CHANGED
    assert site.paths == ["/robots.txt", "/map.xml", "/a"]
    assert decided < 250


async def test_a_host_without_time_for_sitemaps_is_left_alone(site, poll, clock):
    site.says("/robots.txt", f"Sitemap: {site.url('/1.xml')}\nSitemap: {site.url('/2.xml')}")
    site.says("/1.xml", status=503, Retry_After="90")
    site.says("/a", WHALES, Content_Type="text/html")
    report = await poll("/a")
    assert site.paths == ["/robots.txt", "/1.xml"]
    assert report.result.observation.outcome is Outcome.FAILED
    assert report.result.observation.cost == 2.0
    assert report.notices == (HostBlocked(clock.now, site.host, clock.now + 90),)
    assert (await poll("/a")).result.observation.outcome is Outcome.CHANGED


async def test_sitemaps_that_could_not_be_asked_for_are_read_later(site, poll):
    site.says("/robots.txt", f"Sitemap: {site.url('/1.txt')}")
    site.says("/1.txt", site.url("/b"))
    site.says("/a", WHALES, Content_Type="text/html")
    web = poll.poller._web
    await web.robots_txt.rules(site.url("/a"))
    turn = web.fetcher._turn(site.host)
    turn.waiting += 99
    assert (await poll("/a")).result.observation.outcome is Outcome.POSTPONED
    assert site.paths == ["/robots.txt"]
    turn.waiting -= 99
    assert (await poll("/a")).result.observation.outcome is Outcome.CHANGED
    assert site.paths == ["/robots.txt", "/1.txt", "/a"]


async def test_no_poll_sits_through_a_long_crawl_delay(site, poll, clock):
    """It would keep a place of the polls under way, and outlast its lease."""
    site.says("/robots.txt", "User-agent: *\nCrawl-delay: 3000")
    site.says("/a", WHALES, Content_Type="text/html")
    report = await poll("/a")
    assert site.paths == ["/robots.txt"]
    assert poll.waits == []
    assert report.result.observation.outcome is Outcome.POSTPONED
    assert "wants 3000 s between requests" in report.result.error
    assert report.notices == (HostPaced(clock.now, site.host, 3000.0),)
    report = await poll("/a")
    assert report.result.observation.outcome is Outcome.CHANGED
    assert report.notices == ()


async def test_a_poll_ends_in_time_with_all_that_comes_before_its_page(site, poll, monkeypatch):
    """Once, only the fetch of the page was bounded."""
    monkeypatch.setattr("pollwise.collecting.collecting_poller.LONGEST_POLL", 0.5)
    never = asyncio.Event()

    async def hang(request):
        await never.wait()
        return web.Response()

    site.says("/robots.txt", f"Sitemap: {site.url('/1.txt')}\nSitemap: {site.url('/2.txt')}")
    site.says("/1.txt", site.url("/b"))
    site.answers["/2.txt"] = hang
    report = await poll("/a")
    never.set()
    assert site.paths == ["/robots.txt", "/1.txt", "/2.txt"]
    assert report.result.observation.outcome is Outcome.FAILED
    assert report.result.error.startswith("no answer within")
    assert [found.page.url for found in report.discovered.new_pages] == [site.url("/b")]


async def test_sitemaps_that_were_being_read_as_the_machine_slept_are_read_later(
    site, poll, monkeypatch
):
    monkeypatch.setattr("pollwise.collecting.collecting_poller.LONGEST_POLL", 0.5)
    since_boot = deadlines.seconds_since_boot
    awake = asyncio.Event()

    async def sleep(request):
        monkeypatch.setattr(deadlines, "seconds_since_boot", lambda: since_boot() + 3600.0)
        await awake.wait()
        return web.Response(text=site.url("/b"))

    site.says("/robots.txt", f"Sitemap: {site.url('/1.txt')}")
    site.says("/a", WHALES, Content_Type="text/html")
    site.answers["/1.txt"] = sleep
    report = await poll("/a")
    awake.set()
    assert report.result.observation.outcome is Outcome.POSTPONED
    site.says("/1.txt", site.url("/b"))
    report = await poll("/a")
    assert report.result.observation.outcome is Outcome.CHANGED
    assert site.url("/b") in [found.page.url for found in report.discovered.new_pages]
    assert site.paths == ["/robots.txt", "/1.txt", "/1.txt", "/a"]


async def test_a_redirect_is_no_request_but_a_new_page(site, poll):
    site.says("/a", status=301, Location="/b")
    report = await poll("/a")
    assert site.paths == ["/robots.txt", "/a"]
    assert report.result.observation.outcome is Outcome.UNCHANGED
    assert [found.page.url for found in report.discovered.new_pages] == [site.url("/b")]
    site.says("/b", status=302, Location="/b")
    report = await poll("/b", 100)
    assert report.discovered.new_pages == ()
    assert report.result.observation.relevance == 0.0


async def test_what_is_too_large_is_a_failed_observation(site, poll):
    site.says("/a", b"x" * 200_000, Content_Type="text/html")
    report = await poll("/a")
    assert report.result.observation.outcome is Outcome.FAILED
    assert "larger than 150000 bytes" in report.result.error
    assert report.discovered.collected is None


async def test_what_makes_a_worker_fail_is_a_failed_observation(site, poll):
    site.says("/a", WHALES, Content_Type="text/html")
    async with ResponseProcessor(partial(digest, judge="json:loads")) as failing:
        poll.poller._processor = failing
        report = await poll("/a")
    assert report.result.observation.outcome is Outcome.FAILED
    assert "JSONDecodeError" in report.result.error
    assert report.result.memory == PageMemory()


@pytest.mark.parametrize(
    "body",
    [b"\xff\xfe\x00broken \xc3\x28 " * 50, b"<a href=/x>" * 5000, b"\x00\x01\x02" * 100, b""],
    ids=["encoding", "links", "binary", "empty"],
)
async def test_odd_pages_are_taken_as_they_are(site, poll, body):
    site.says("/a", body, Content_Type="text/html; charset=utf-16-nonsense")
    report = await poll("/a")
    assert report.result.observation.outcome is Outcome.CHANGED
    assert report.discovered.collected is not None
    assert len(report.discovered.new_pages) <= 1


async def test_a_page_with_a_million_links_is_bounded(site, poll):
    links = "".join(f"<a href={n:x}>" for n in range(6000))
    site.says("/a", links, Content_Type="text/html")
    report = await poll("/a")
    assert len(report.discovered.new_pages) == 4999  # one is the page's own


async def test_the_staff_follows_what_was_measured(site, poll):
    site.says("/a", WHALES, Content_Type="text/html")
    assert poll.poller.staff() == 1  # one host is not even known yet
    await poll("/a")
    assert poll.poller.staff() >= 1


async def test_polls_that_take_far_too_long_hold_up_no_others(site, poll):
    """Each of them is made up for by one more; and they do not spoil the measured time."""
    poller = poll.poller
    poller._collection._hosts = {str(n) for n in range(1000)}
    first = poller.staff()
    now = poller._clock()
    poller._begun = dict.fromkeys(range(first), now - 60.0)
    assert poller.staff() == 2 * first
    poller._begun = {}
    poller._ended = [(now, 60.0)] * 8
    poller.staff()
    assert poller._controller.latency < 5.0


async def test_a_copy_takes_the_place_of_an_original_that_is_gone(site, poll):
    for path in ("/a", "/b"):
        site.says(path, WHALES, Content_Type="text/html", ETag='"x"')
    original, copy = await poll("/a"), await poll("/b", 1)
    assert copy.discovered.collected.duplicate_of == 0
    site.says("/a", status=404)
    gone = await poll("/a", memory=original.result.memory)
    assert gone.result.observation.outcome is Outcome.GONE
    # The loop tells when the page was seen last: there is a copy to compare with.
    there = await poll("/b", 1, copy.result.memory, seen_at=1.0)
    assert there.result.observation.outcome is Outcome.UNCHANGED
    assert there.discovered.collected.duplicate_of is None
    assert there.result.observation.relevance == original.result.observation.relevance
    assert there.result.memory.text_hash == copy.result.memory.text_hash
    again = await poll("/b", 1, there.result.memory, seen_at=2.0)
    assert again.discovered.collected is None


async def test_markup_that_says_another_thing_to_robots_is_read(site, poll):
    site.says("/a", WHALES, Content_Type="text/html")
    report = await poll("/a")
    assert report.discovered.collected.indexed
    site.says("/a", f"<meta name=robots content=noindex>{WHALES}", Content_Type="text/html")
    report = await poll("/a", memory=report.result.memory)
    assert report.result.observation.outcome is Outcome.UNCHANGED
    assert report.result.version is None
    assert not report.discovered.collected.indexed
    site.says("/a", f"<a href=/new></a>{WHALES}", Content_Type="text/html")
    report = await poll("/a", memory=report.result.memory)
    assert report.result.observation.outcome is Outcome.UNCHANGED
    assert report.discovered.collected.indexed
    assert [found.page.url for found in report.discovered.new_pages] == [site.url("/new")]
    site.says("/a", f"<a href=/new></a>{WHALES}", Content_Type="text/html", X_Robots_Tag="noindex")
    report = await poll("/a", memory=report.result.memory)
    assert not report.discovered.collected.indexed
    site.says("/a", f"<a href=/new></a>{WHALES}", Content_Type="text/html")
    assert (await poll("/a", memory=report.result.memory)).discovered.collected is None
