"""Polls of pages of real servers, from robots.txt to the report."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from pollwise.errors import PostponedError
from pollwise.events import HostBlocked, HostPaced
from pollwise.sources.reading import read
from pollwise.sources.view import NO_HUB, HubLinks
from pollwise.types import Mask, Noise, Observation, Outcome, Page, PageMemory
from pollwise.web import poller as poller_module
from pollwise.web.beside import Beside
from pollwise.web.change import fingerprint
from pollwise.web.fetcher import FetchResult, HttpFetcher
from pollwise.web.polite_fetcher import PoliteFetcher
from pollwise.web.poller import WebPoller
from pollwise.web.robots_txt import RobotsTxt

HTML = "text/html; charset=utf-8"
NOTHING = PageMemory()


@pytest.fixture
async def poller(clock, following) -> AsyncIterator[WebPoller]:
    async with HttpFetcher(clock=clock, allow_private=True) as fetcher:
        follower = following(fetcher)
        robots = RobotsTxt(follower, clock=clock)
        yield WebPoller(follower, robots, clock=clock, not_modified_cost=0.1)


@pytest.fixture
def page(site) -> Page:
    return Page(7, site.url("/a"), site.host, cost=2.0)


async def test_the_first_copy_is_a_version(site, poller, page, clock):
    site.says("/a", "<p>hello", Content_Type=HTML, ETag='"1"')
    report = await poller.poll(page, NOTHING)
    assert report.result.observation == Observation(7, clock.now, Outcome.CHANGED, cost=2.0)
    assert report.result.version.body == b"<p>hello"
    assert report.result.version.content_type == HTML
    assert (report.result.version.page_id, report.result.version.seen_at) == (7, clock.now)
    assert report.result.version.body_hash == report.result.memory.body_hash
    assert report.result.memory.etag == '"1"'
    assert (report.notices, report.result.error) == ((), None)


async def test_not_modified_is_unchanged_and_cheap(site, poller, page):
    site.says("/a", "<p>hello", Content_Type=HTML, ETag='"1"')
    memory = (await poller.poll(page, NOTHING)).result.memory
    site.says("/a", status=304, ETag='"2"')
    report = await poller.poll(page, memory)
    assert (report.result.observation.outcome, report.result.observation.cost) == (
        Outcome.UNCHANGED,
        0.2,
    )
    assert report.result.version is None
    assert report.result.memory.etag == '"2"'
    assert report.result.memory.text_hash == memory.text_hash
    assert site.asked[-1].headers["If-None-Match"] == '"1"'


async def test_another_markup_is_unchanged_and_remembered(site, poller, page):
    site.says("/a", "<p id=1>hello", Content_Type=HTML, ETag='"1"')
    first = await poller.poll(page, NOTHING)
    site.says("/a", "<p id=2>hello", Content_Type=HTML)
    report = await poller.poll(page, first.result.memory)
    assert (report.result.observation.outcome, report.result.observation.cost) == (
        Outcome.UNCHANGED,
        2.0,
    )
    assert report.result.version is None
    assert report.result.memory.body_hash != first.result.memory.body_hash
    assert report.result.memory.text_hash == first.result.memory.text_hash
    assert report.result.memory.etag is None


async def test_another_text_is_changed(site, poller, page):
    site.says("/a", "<p>hello", Content_Type=HTML)
    first = await poller.poll(page, NOTHING)
    site.says("/a", "<p>goodbye", Content_Type=HTML)
    report = await poller.poll(page, first.result.memory)
    assert report.result.observation.outcome is Outcome.CHANGED
    assert report.result.version.body == b"<p>goodbye"


async def test_a_version_seen_before_is_a_reversion_also_after_a_failure(site, poller, page):
    memory, told = NOTHING, []
    for text in ("one", "two", "", "one", "one", "three", "two"):
        site.says("/a", f"<p>{text}", 200 if text else 500, Content_Type=HTML)
        report = await poller.poll(page, memory)
        memory = report.result.memory
        told.append((report.result.observation.outcome, report.result.observation.reverted))
    new, back = (Outcome.CHANGED, False), (Outcome.CHANGED, True)
    same, failed = (Outcome.UNCHANGED, False), (Outcome.FAILED, False)
    assert told == [new, new, failed, back, same, new, back]


@pytest.mark.parametrize("status", [404, 410])
async def test_gone(site, poller, page, status):
    site.says("/a", status=status)
    memory = PageMemory('"1"', None, "b", "t")
    report = await poller.poll(page, memory)
    assert report.result.observation.outcome is Outcome.GONE
    assert (report.result.memory, report.result.error) == (memory, None)
    assert report.result.status == status


@pytest.mark.parametrize("status", [204, 206, 302, 400, 403, 429, 500, 503])
async def test_other_answers_fail(site, poller, page, status):
    site.says("/a", status=status)
    memory = PageMemory('"1"', None, "b", "t")
    report = await poller.poll(page, memory)
    assert (report.result.observation.outcome, report.result.observation.cost) == (
        Outcome.FAILED,
        2.0,
    )
    assert report.result.error == f"status {status}"
    assert (report.result.memory, report.notices) == (memory, ())


@pytest.mark.parametrize("status", [429, 503])
async def test_a_host_that_names_a_time_is_left_alone_until_then(site, poller, page, clock, status):
    site.says("/a", status=status, Retry_After="30")
    report = await poller.poll(page, NOTHING)
    assert report.result.observation.outcome is Outcome.FAILED
    assert report.notices == (HostBlocked(clock.now, site.host, clock.now + 30),)


async def test_a_network_error_fails_in_words(poller, site, page):
    await poller.poll(page, NOTHING)  # its robots.txt is known from here on
    await site.server.close()
    # The connection of the poll before is closed; it is not tried again at once on another one.
    for words in ("hung up", "127.0.0.1"):
        report = await poller.poll(page, NOTHING)
        assert report.result.observation.outcome is Outcome.FAILED
        assert words in report.result.error


async def test_what_robots_txt_disallows_is_not_fetched(site, poller, page):
    site.says("/robots.txt", "User-agent: *\nDisallow: /a")
    report = await poller.poll(page, NOTHING)
    assert (report.result.observation.outcome, report.result.observation.cost) == (
        Outcome.FAILED,
        2.0,
    )
    assert report.result.error == f"disallowed by http://{site.host}/robots.txt"
    assert report.notices == ()
    assert site.paths == ["/robots.txt"]


async def test_without_robots_txt_at_hand_the_host_is_left_alone(site, poller, page, clock):
    site.says("/robots.txt", status=500)
    report = await poller.poll(page, NOTHING)
    assert "status 500" in report.result.error
    assert report.notices == (HostBlocked(clock.now, site.host, clock.now + 600),)
    assert site.paths == ["/robots.txt"]


async def test_a_redirect_into_what_robots_txt_disallows_is_not_followed(
    site, other_site, poller, page
):
    other_site.says("/robots.txt", "User-agent: *\nDisallow: /b")
    site.says("/a", status=302, Location=other_site.url("/b"))
    report = await poller.poll(page, NOTHING)
    assert "refused by its robots.txt" in report.result.error
    assert other_site.paths == ["/robots.txt"]


async def test_last_modified_of_a_redirect_is_not_remembered(site, poller, page):
    site.says("/a", status=302, Location="/b")
    site.says("/b", "x", ETag='"b"', Last_Modified="Sun, 06 Nov 1994 08:49:37 GMT")
    report = await poller.poll(page, NOTHING)
    memory = report.result.memory
    assert report.answered_by == site.url("/b")
    assert (memory.etag, memory.last_modified) == ('"b"', None)
    site.says("/a", "x", Last_Modified="Sun, 06 Nov 1994 08:49:37 GMT")
    report = await poller.poll(page, memory)
    memory = report.result.memory
    assert report.answered_by is None
    assert memory.last_modified == "Sun, 06 Nov 1994 08:49:37 GMT"


async def test_a_crawl_delay_is_told_once_per_reading(site, poller, page, clock):
    site.says("/robots.txt", "User-agent: *\nCrawl-delay: 5")
    paced = HostPaced(clock.now, site.host, 5.0)
    assert (await poller.poll(page, NOTHING)).notices == (paced,)
    assert (await poller.poll(page, NOTHING)).notices == ()
    clock.now += 86400
    site.says("/robots.txt", "")
    assert (await poller.poll(page, NOTHING)).notices == (HostPaced(clock.now, site.host, 0.0),)
    clock.now += 86400
    assert (await poller.poll(page, NOTHING)).notices == ()


async def test_hosts_of_which_nothing_is_told_are_forgotten(
    site, other_site, poller, page, clock, monkeypatch
):
    monkeypatch.setattr(poller_module, "_MANY_SCOPES", 4)
    poller._kept = 4
    site.says("/robots.txt", "User-agent: *\nCrawl-delay: 5")
    told = (await poller.poll(page, NOTHING)).notices
    assert [notice.delay for notice in told] == [5.0]
    for n in range(40):
        await poller.poll(Page(n + 1, other_site.url("/page"), f"{n}.example"), NOTHING)
    assert len(poller._told) <= 5
    clock.now += 86400
    site.says("/robots.txt", "")
    assert (await poller.poll(page, NOTHING)).notices == (HostPaced(clock.now, site.host, 0.0),)


# The clock of the tests stands at Tue, 14 Nov 2023 22:13:20 GMT.
@pytest.mark.parametrize(
    ("last_modified", "date", "seen_ago", "expected_ago"),
    [
        ("Tue, 14 Nov 2023 22:13:10 GMT", "Tue, 14 Nov 2023 22:13:20 GMT", None, 10),
        ("Tue, 14 Nov 2023 22:13:10 GMT", "no date", None, 10),
        ("Tue, 14 Nov 2023 22:13:10 GMT", "Tue, 14 Nov 2023 22:13:20 GMT", 20, 10),
        ("Tue, 14 Nov 2023 22:13:10 GMT", "Tue, 14 Nov 2023 22:13:20 GMT", 5, None),
        ("Tue, 14 Nov 2023 22:13:20 GMT", "Tue, 14 Nov 2023 22:13:20 GMT", None, None),
        ("Tue, 14 Nov 2023 22:13:10 GMT", "Tue, 14 Nov 2023 22:13:00 GMT", None, None),
        ("Tue, 14 Nov 2023 22:13:21 GMT", "Tue, 14 Nov 2023 22:14:00 GMT", None, None),
        ("yesterday", "Tue, 14 Nov 2023 22:13:20 GMT", None, None),
    ],
)
async def test_last_modified_is_told_where_it_can_be_believed(
    site, poller, clock, last_modified, date, seen_ago, expected_ago
):
    seen_at = None if seen_ago is None else clock.now - seen_ago
    page = Page(7, site.url("/a"), site.host, seen_at=seen_at)
    memory = NOTHING if seen_at is None else PageMemory(body_hash="other", text_hash="other")
    site.says("/a", "x", Last_Modified=last_modified, Date=date)
    told = (await poller.poll(page, memory)).result.observation.last_changed_at
    assert told == (None if expected_ago is None else clock.now - expected_ago)


async def test_an_unchanged_page_was_not_modified_since_its_copy(site, poller, clock):
    site.says("/a", "x", Last_Modified="Tue, 14 Nov 2023 22:13:10 GMT")
    page = Page(7, site.url("/a"), site.host, seen_at=clock.now - 20)
    memory = (await poller.poll(page, NOTHING)).result.memory
    touched = await poller.poll(page, memory)
    assert touched.result.observation.outcome is Outcome.UNCHANGED
    # That is told all the same: who learns shall know that such times are no changes.
    assert touched.result.observation.last_changed_at == clock.now - 10
    parted = replace(page, select=("p",))
    told = {"Last_Modified": "Tue, 14 Nov 2023 22:13:10 GMT", "Content_Type": "text/html"}
    site.says("/a", "<p>x", **told)
    memory = (await poller.poll(parted, NOTHING)).result.memory
    again = (await poller.poll(parted, memory)).result.observation
    assert (again.outcome, again.last_changed_at) == (Outcome.UNCHANGED, None)
    masked = replace(memory, noise=Noise(masks=(Mask(("", ""), ("", ""), "", 1, 1, 9, "12:03"),)))
    site.says("/a", status=304, Last_Modified="Tue, 14 Nov 2023 22:13:10 GMT")
    told = [
        (await poller.poll(page, each)).result.observation.last_changed_at
        for each in (memory, masked)
    ]
    assert told == [clock.now - 10, None]


async def test_of_two_origins_of_a_scope_the_slower_one_sets_the_pace(clock):
    delays = {"http": "10", "https": "2"}

    class Both:
        async def fetch(self, url, memory, *, may_follow=None):
            delay = delays[url.partition(":")[0]]
            return FetchResult(url, url, 200, body=f"User-agent: *\nCrawl-delay: {delay}".encode())

    poller = WebPoller(Both(), RobotsTxt(Both(), clock=clock), clock=clock)
    told = []
    for number, scheme in enumerate(["http", "https", "http"]):
        page = Page(number, f"{scheme}://h/", "h")
        told.append((await poller.poll(page, NOTHING)).notices)
    assert told == [(HostPaced(clock.now, "h", 10.0),), (HostPaced(clock.now, "h", 10.0),), ()]
    clock.now += 86400
    delays["http"] = "0"
    told = (await poller.poll(Page(0, "http://h/", "h"), NOTHING)).notices
    assert told == (HostPaced(clock.now, "h", 2.0),)


async def test_of_the_hosts_of_a_group_the_slowest_one_sets_the_pace_and_none_blocks_it(clock):
    class Hosts:
        async def fetch(self, url, memory, *, may_follow=None):
            if "down" in url:
                return FetchResult(url, url, error="no answer")
            delay = 10 if "slow" in url else 2
            return FetchResult(url, url, 200, body=f"User-agent: *\nCrawl-delay: {delay}".encode())

    groups = dict.fromkeys(["slow", "fast", "down"], "@x")
    robots = RobotsTxt(Hosts(), clock=clock, groups=groups)
    poller = WebPoller(Hosts(), robots, clock=clock, groups=groups)
    told = []
    for host in ("down", "slow", "fast"):
        told.append((await poller.poll(Page(0, f"http://{host}/", host), NOTHING)).notices)
    assert told == [
        (),
        (HostPaced(clock.now, "slow", 10.0),),
        (HostPaced(clock.now, "fast", 10.0),),
    ]
    assert robots.crawl_delay("@x") == 10.0


@pytest.fixture
def polite(clock, sleeping_clock):
    """Makes a poller whose exchanges take turns, in a time that passes only while they wait."""

    def of(fetcher) -> WebPoller:
        turns = PoliteFetcher(
            fetcher,
            delay=1.0,
            clock=sleeping_clock,
            sleep=sleeping_clock.sleep,
            host_delay=lambda scope: robots.crawl_delay(scope),
        )
        robots = RobotsTxt(turns, clock=clock)
        return WebPoller(turns, robots, clock=clock)

    return of


async def test_a_redirect_to_a_busy_host_postpones_the_poll(site, other_site, clock, polite, page):
    site.says("/a", status=302, Location=other_site.url("/b"))
    other_site.says("/b", "b")
    other_site.says("/robots.txt", "User-agent: *\nCrawl-delay: 60")
    async with HttpFetcher(clock=clock, allow_private=True) as fetcher:
        report = await polite(fetcher).poll(page, NOTHING)
    assert report.result.observation.outcome is Outcome.POSTPONED
    assert report.result.error.startswith(f"{other_site.host} is busy")
    assert (report.result.version, report.result.memory) == (None, NOTHING)
    assert other_site.paths == ["/robots.txt"]


async def test_a_host_with_a_long_crawl_delay_is_told_of_after_its_robots_txt(
    site, clock, polite, page
):
    site.says("/robots.txt", "User-agent: *\nCrawl-delay: 60")
    async with HttpFetcher(clock=clock, allow_private=True) as fetcher:
        report = await polite(fetcher).poll(page, NOTHING)
    assert report.result.observation.outcome is Outcome.POSTPONED
    assert report.notices == (HostPaced(clock.now, site.host, 60.0),)


class Short:
    """A fetcher of a machine that lacks descriptors for what is not robots.txt, or for all."""

    def __init__(self, *, for_all: bool) -> None:
        self.for_all = for_all
        self.asked = 0

    async def fetch(self, url, memory, *, may_follow=None):
        self.asked += 1
        if self.for_all or not url.endswith("/robots.txt"):
            raise PostponedError("this machine is short of resources: too many open files")
        return FetchResult(url, url, 404)


@pytest.mark.parametrize("for_all", [True, False])
async def test_our_own_shortage_postpones_the_poll(clock, for_all):
    fetcher = Short(for_all=for_all)
    poller = WebPoller(fetcher, RobotsTxt(fetcher, clock=clock), clock=clock)
    report = await poller.poll(Page(1, "http://h/", "h", cost=2.0), NOTHING)
    expected = Observation(1, clock.now, Outcome.POSTPONED, cost=2.0)
    assert (report.result.observation, report.notices) == (expected, ())
    assert "too many open files" in report.result.error


async def test_a_robots_txt_that_was_not_asked_for_is_asked_for_soon(clock):
    fetcher = Short(for_all=True)
    robots = RobotsTxt(fetcher, clock=clock)
    for _ in range(3):
        with pytest.raises(PostponedError):
            await robots.rules("http://h/")
    assert fetcher.asked == 1, "those who waited are not to wait again"
    fetcher.for_all = False
    clock.now += 10
    assert (await robots.rules("http://h/")).allows("http://h/")


@pytest.mark.parametrize("known", [True, False])
async def test_the_robots_txt_of_one_origin_does_not_block_another(clock, known):
    class OnlyHttp:
        async def fetch(self, url, memory, *, may_follow=None):
            return FetchResult(url, url, 500 if url.startswith("https:") else 404)

    shared = {"h:1"} if known else ()
    robots = RobotsTxt(OnlyHttp(), clock=clock)
    poller = WebPoller(OnlyHttp(), robots, clock=clock, several_origins=shared)
    if not known:
        await poller.poll(Page(0, "http://h:1/", "h:1"), NOTHING)
    report = await poller.poll(Page(1, "https://h:1/", "h:1"), NOTHING)
    assert report.result.observation.outcome is Outcome.FAILED
    assert report.result.error == (
        "nothing may be fetched, as https://h:1/robots.txt cannot be had: status 500"
    )
    assert report.notices == ()


@pytest.mark.parametrize("status", [429, 503])
async def test_a_time_named_for_robots_txt_is_obeyed(site, poller, page, clock, status):
    site.says("/robots.txt", status=status, Retry_After="5000")
    report = await poller.poll(page, NOTHING)
    assert report.notices == (HostBlocked(clock.now, site.host, clock.now + 5000),)
    site.says("/robots.txt", "")
    site.says("/a", "x")
    clock.now += 4999
    assert (await poller.poll(page, NOTHING)).result.observation.outcome is Outcome.FAILED
    clock.now += 1
    assert (await poller.poll(page, NOTHING)).result.observation.outcome is Outcome.CHANGED


async def test_a_time_is_named_for_the_host_that_names_it(site, other_site, poller, page, clock):
    site.says("/a", status=302, Location=other_site.url("/b"))
    other_site.says("/b", status=429, Retry_After="99999999")
    report = await poller.poll(page, NOTHING)
    assert report.notices == (HostBlocked(clock.now, other_site.host, clock.now + 86400),)


class Counted(Beside):
    """Counts its calls."""

    calls = 0

    async def call(self, function, *arguments, **limits):
        self.calls += 1
        return await super().call(function, *arguments, **limits)


async def test_large_pages_are_compared_by_another_process(site, clock, following):
    async with HttpFetcher(clock=clock, allow_private=True) as fetcher, Counted() as beside:
        robots = RobotsTxt(following(fetcher), clock=clock)
        poller = WebPoller(following(fetcher), robots, clock=clock, beside=beside)
        for size, calls in ((10, 0), (300_000, 1)):
            body = b"<p>spam <" * size
            site.says("/large", body, Content_Type=HTML)
            report = await poller.poll(Page(0, site.url("/large")), NOTHING)
            assert beside.calls == calls
            assert report.result.observation.outcome is Outcome.CHANGED
            found = fingerprint(read(body, HTML))
            assert report.result.memory.text_hash == found.text_hash


ATOM = (
    '<feed xmlns="http://www.w3.org/2005/Atom"><title>t</title><link rel="hub" href="/hub"/>'
    '<link rel="self" href="{}"/><entry><id>1</id></entry></feed>'
)


async def test_the_hub_of_a_feed_is_told_by_its_headers_or_else_by_the_feed(site, poller, page):
    hub, topic = site.url("/hub"), site.url("/self")
    for told, known in (("/self", topic), ("", page.url), ("http://a.example", "http://a.example")):
        site.says("/a", ATOM.format(told), Content_Type="application/atom+xml")
        report = await poller.poll(page, NOTHING)
        assert (report.hub_links, report.result.error) == (HubLinks(hub, known), None)
    memory = report.result.memory
    assert (await poller.poll(page, memory)).hub_links is None, "it was not read again"
    links = '<https://h.example/>; rel="hub", </self>; rel="SELF"'
    for link, found in (
        (links, HubLinks("https://h.example/", topic)),
        (f'<http://[x>; rel="other", {links}', HubLinks(hub, "http://a.example")),
        ('<ftp://h.example/>; rel="hub"', NO_HUB),
        ("<<<>>>;;;,,,<", HubLinks(hub, "http://a.example")),
    ):
        site.says("/a", ATOM.format("http://a.example"), Link=link)
        assert (await poller.poll(page, NOTHING)).hub_links == found
    site.says("/a", "<p>a page", Content_Type=HTML, Link=links)
    assert (await poller.poll(page, NOTHING)).hub_links == HubLinks("https://h.example/", topic)
    site.says("/a", "<p>another page", Content_Type=HTML)
    assert (await poller.poll(page, NOTHING)).hub_links == NO_HUB
    site.says("/a", status=500)
    assert (await poller.poll(page, NOTHING)).hub_links is None
