"""Exchanges that wait for their turn, with a made-up time in which each takes a second."""

import asyncio
from itertools import pairwise

import pytest

from pollwise.errors import PostponedError
from pollwise.shared_scopes import DomainScopes
from pollwise.types import Outcome, Page, PageMemory
from pollwise.web import polite_fetcher
from pollwise.web.addresses import Addresses
from pollwise.web.fetcher import Asking, FetchResult, follow_none
from pollwise.web.polite_fetcher import PoliteFetcher
from pollwise.web.poller import WebPoller
from pollwise.web.robots_rules import Rules
from pollwise.web.robots_txt import RobotsTxt

NOTHING = PageMemory()


class Web:
    """A fetcher and its time; `redirects` say where URLs lead."""

    def __init__(self, **redirects):
        self.now = 0.0
        self.redirects = {f"http://{host}/robots.txt": to for host, to in redirects.items()}
        self.exchanges = []
        self.answer = None
        self.polite = PoliteFetcher(self, delay=3.0, clock=lambda: self.now, sleep=self.sleep)

    async def sleep(self, seconds):
        assert seconds <= 3.0
        await asyncio.sleep(0)
        self.now += seconds

    async def wait(self, seconds):
        self.now += seconds

    async def fetch(self, url, memory, asking=None):
        begun_at = self.now
        await asyncio.sleep(0)
        self.now = begun_at + 1.0
        self.exchanges.append((url, begun_at, memory))
        target = self.redirects.get(url)
        if target is None and self.answer is not None:
            return self.answer
        if target is None:
            return FetchResult(url, url, 200, body=b"User-agent: *\nDisallow: /secret")
        return FetchResult(url, url, 302, error="refused", redirected_to=target)


async def test_one_host_is_asked_once_in_a_delay():
    web = Web()
    results = await asyncio.gather(
        *(web.polite.fetch(f"http://a/{n}", NOTHING, may_follow=follow_none) for n in range(3))
    )
    assert [result.status for result in results] == [200, 200, 200]
    assert [begun_at for _, begun_at, _ in web.exchanges] == [0.0, 4.0, 8.0]


async def test_redirects_take_turns_as_well():
    web = Web(a="http://b/robots.txt", b="http://a/x")
    memory = PageMemory(etag='"1"', last_modified="yesterday")
    result = await web.polite.fetch("http://a/robots.txt", memory)
    assert (result.url, result.final_url, result.error) == (
        "http://a/robots.txt",
        "http://a/x",
        None,
    )
    assert web.exchanges == [
        ("http://a/robots.txt", 0.0, memory),
        ("http://b/robots.txt", 1.0, PageMemory(etag='"1"')),
        ("http://a/x", 4.0, PageMemory(etag='"1"')),
    ]


async def test_a_thousand_hosts_cannot_send_the_robot_against_one():
    web = Web(**{f"h{n}": "http://victim/robots.txt" for n in range(1000)})
    robots = RobotsTxt(web.polite, clock=lambda: web.now)
    asking = (robots.rules(f"http://h{n}/") for n in range(1000))
    told = await asyncio.gather(*asking, return_exceptions=True)
    begins = [begun for url, begun, _ in web.exchanges if url == "http://victim/robots.txt"]
    assert len(begins) == 5
    assert min(b - a for a, b in pairwise(begins)) >= 4.0
    assert sum(isinstance(one, Rules) for one in told) == 5
    assert sum(isinstance(one, PostponedError) for one in told) == 995


async def test_a_host_that_others_redirect_to_still_answers_for_itself():
    web = Web(**{f"h{n}": "http://victim/" for n in range(100)})
    asking = [web.polite.fetch(f"http://h{n}/robots.txt", NOTHING) for n in range(100)]
    redirected = asyncio.gather(*asking, return_exceptions=True)
    await web.sleep(0.0)
    assert (await web.polite.fetch("http://victim/", NOTHING)).status == 200
    await redirected


@pytest.mark.parametrize(("delay", "begins"), [(0.0, [0.0, 2.1, 4.2]), (60.0, [0.0, 61.0, 122.0])])
async def test_a_page_is_fetched_again_however_long_its_host_wants_to_rest(delay, begins):
    """And not before a clock that shows seconds has moved."""
    web = Web(a="http://a/x")
    web.polite = PoliteFetcher(web, delay=delay, clock=lambda: web.now, sleep=web.wait)
    for again in (False, True, True):
        await web.polite.fetch("http://a/", NOTHING, again=again)
    assert [begun for _, begun, _ in web.exchanges] == pytest.approx(begins)


async def test_others_wait_for_one_fetch_that_is_made_again_at_most():
    web = Web()

    async def sleep(seconds: float) -> None:
        await asyncio.sleep(0)
        web.now += seconds

    web.polite = PoliteFetcher(web, delay=3.0, clock=lambda: web.now, sleep=sleep)
    again = [web.polite.fetch(f"http://a/{n}", NOTHING, again=True) for n in range(12)]
    looks = asyncio.gather(*again)
    while not web.exchanges:
        await asyncio.sleep(0)
    await web.polite.fetch("http://a/other", NOTHING)
    urls = [url for url, _, _ in web.exchanges]
    assert urls.index("http://a/other") <= 2
    await looks
    assert len(web.exchanges) == 13
    assert min(b - a for (_, a, _), (_, b, _) in pairwise(web.exchanges)) >= 3.99


async def test_a_redirect_that_is_fetched_again_may_take_as_long():
    web = Web(a="http://b/")
    web.polite = PoliteFetcher(web, delay=60.0, clock=lambda: web.now, sleep=web.wait)
    for again in (False, True):
        assert (await web.polite.fetch("http://a/robots.txt", NOTHING, again=again)).status == 200


async def test_no_poll_rests_longer_than_it_may_take():
    web = Web()
    web.polite = PoliteFetcher(web, delay=91.0, clock=lambda: web.now, sleep=web.wait)
    await web.polite.fetch("http://a/", NOTHING)
    with pytest.raises(PostponedError, match=r"^a wants 91 s between requests$"):
        await web.polite.fetch("http://a/", NOTHING, again=True)
    assert web.now == 1.0


async def test_a_host_is_left_as_much_time_as_it_asks_for():
    web = Web()
    web.polite = PoliteFetcher(
        web, delay=3.0, clock=lambda: web.now, sleep=web.wait, host_delay={"a": 9.0, "b": 1.0}.get
    )
    for url in ("http://a/1", "http://b/1", "http://a/2", "http://b/2"):
        await web.polite.fetch(url, NOTHING)
    assert [(url, begun) for url, begun, _ in web.exchanges] == [
        ("http://a/1", 0.0),
        ("http://b/1", 1.0),
        ("http://a/2", 10.0),
        ("http://b/2", 11.0),
    ]


async def test_a_turn_that_is_far_off_is_not_waited_for():
    web = Web()
    web.polite = PoliteFetcher(
        web, delay=3.0, clock=lambda: web.now, sleep=web.wait, host_delay=lambda scope: 60.0
    )
    await web.polite.fetch("http://a/1", NOTHING)
    with pytest.raises(PostponedError, match=r"^a is busy"):
        await web.polite.fetch("http://a/2", NOTHING)
    assert web.now == 1.0
    web.now = 30.0
    assert (await web.polite.fetch("http://a/2", NOTHING)).status == 200


class Moved:
    """A host whose pages all moved from http to https, and that wants a delay of its visitors."""

    def __init__(self, delay):
        self.now = 0.0
        self.delay = delay
        self.exchanges = []
        self.polite = PoliteFetcher(
            self,
            delay=1.0,
            clock=lambda: self.now,
            sleep=self.sleep,
            host_delay=lambda scope: self.robots.crawl_delay(scope),
        )
        self.robots = RobotsTxt(self.polite, clock=lambda: self.now)
        self.poller = WebPoller(self.polite, self.robots, clock=lambda: self.now)

    async def sleep(self, seconds):
        await asyncio.sleep(0)
        self.now += seconds

    async def fetch(self, url, memory):
        await asyncio.sleep(0)
        self.exchanges.append(self.now)
        self.now += 1.0
        if url.startswith("http:"):
            to = url.replace("http:", "https:")
            return FetchResult(url, url, 302, error="not followed", redirected_to=to)
        return FetchResult(url, url, 200, body=b"User-agent: *\nCrawl-delay: %g" % self.delay)

    async def outcomes(self, polls):
        """What so many polls of a page find; the scheduler leaves the host alone in between."""
        found = []
        for _ in range(polls):
            report = await self.poller.poll(Page(0, "http://a/", "a"), NOTHING)
            found.append(report.result.observation.outcome)
            self.now += self.delay
        return found, report.result.error


@pytest.mark.parametrize("delay", [21.0, 46.0, 170.0])
async def test_a_redirect_within_a_host_is_followed_however_slow_the_host(delay):
    """Once, it was postponed for ever: at most 20 seconds were waited."""
    web = Moved(delay)
    found, error = await web.outcomes(4)
    assert (found[-1], error) == (Outcome.CHANGED, None)
    web.now += 86400.0  # now the robots.txt are read anew
    begun = len(web.exchanges)
    found, error = await web.outcomes(4)
    assert (found[-1], error) == (Outcome.CHANGED, None)
    assert all(b - a >= 1.0 + delay for a, b in pairwise(web.exchanges[begun:]))


async def test_a_redirect_within_a_host_too_slow_for_one_poll_fails_in_words():
    web = Moved(3600.0)
    found, error = await web.outcomes(4)
    assert found[-1] is Outcome.FAILED
    assert (
        error == "redirected to https://a/, but a wants 3600 s between requests: too long for"
        " one poll"
    )
    web.now += 86400.0
    report = await web.poller.poll(Page(0, "http://a/", "a"), NOTHING)
    assert report.result.observation.outcome is Outcome.FAILED
    assert "cannot be had: redirected to https://a/robots.txt, but a wants" in report.result.error


async def test_a_delay_given_by_the_user_postpones_no_redirecting_robots_txt():
    web = Moved(0.0)
    web.polite._delay = 25.0
    assert (await web.robots.rules("http://a/")).unreachable is None


@pytest.mark.parametrize("status", [429, 503])
async def test_a_host_that_names_a_time_is_left_alone_until_then_whoever_asks(status):
    web = Web(h="http://a/1")
    web.answer = FetchResult("", "http://a/1", status, retry_after=86400.0)
    await web.polite.fetch("http://a/1", NOTHING)
    web.now = 86000.0
    with pytest.raises(PostponedError):
        await web.polite.fetch("http://h/robots.txt", NOTHING)


async def test_redirects_without_end():
    web = Web(a="http://a/robots.txt")
    result = await web.polite.fetch("http://a/robots.txt", NOTHING)
    circle = "in a circle: as where a cookie is wanted, which --cookie-file gives"
    assert result.error == f"more than 5 redirects, {circle}"
    assert len(web.exchanges) == 6
    rules = await RobotsTxt(web.polite, clock=lambda: web.now).rules("http://a/")
    assert rules.allows("http://a/secret"), "RFC 9309 section 2.3.1.2: as if there were none"


async def test_what_is_no_url_is_left_to_the_exchange():
    web = Web()
    assert (await web.polite.fetch("nonsense", NOTHING)).status == 200


@pytest.mark.parametrize("delay", [0.0, 3.0])
async def test_hosts_that_are_free_are_forgotten(monkeypatch, delay):
    monkeypatch.setattr(polite_fetcher, "_MANY_SCOPES", 4)
    web = Web()
    web.polite = PoliteFetcher(web, delay=delay, clock=lambda: web.now, sleep=web.sleep)
    for n in range(40):
        await web.polite.fetch(f"http://h{n}/", NOTHING)
    assert len(web.polite._turns) < 12


async def test_a_host_that_a_browser_asks_is_not_forgotten_meanwhile(monkeypatch):
    monkeypatch.setattr(polite_fetcher, "_MANY_SCOPES", 1)
    web = Web()
    await asyncio.gather(
        web.polite.fetch_part("http://a/part", Asking("a", {})),
        web.polite.fetch("http://b/", NOTHING),
    )
    await web.polite.fetch("http://a/", NOTHING)
    begun = [begun_at for url, begun_at, _ in web.exchanges if url == "http://a/"]
    assert begun == [4.0]


async def test_hosts_of_a_group_take_turns_also_within_a_redirect():
    web = Web(a="http://b/")
    web.polite = PoliteFetcher(
        web,
        delay=3.0,
        clock=lambda: web.now,
        sleep=web.wait,
        host_delay=lambda scope: 5.0 if scope == "@x" else 0.0,
        groups={"a": "@x", "b": "@x"},
    )
    for url in ("http://a/robots.txt", "http://c/1", "http://b/2"):
        await web.polite.fetch(url, NOTHING)
    assert [(url, begun) for url, begun, _ in web.exchanges] == [
        ("http://a/robots.txt", 0.0),
        ("http://b/", 6.0),
        ("http://c/1", 7.0),
        ("http://b/2", 12.0),
    ]


async def test_hosts_of_a_domain_take_turns_also_within_a_redirect():
    web = Web(**{"a.example.org": "http://b.example.org/"})
    web.polite = PoliteFetcher(
        web, delay=3.0, clock=lambda: web.now, sleep=web.wait, groups=DomainScopes({})
    )
    for url in ("http://a.example.org/robots.txt", "http://example.com/", "http://example.org/"):
        await web.polite.fetch(url, NOTHING)
    assert [(url, begun) for url, begun, _ in web.exchanges] == [
        ("http://a.example.org/robots.txt", 0.0),
        ("http://b.example.org/", 4.0),
        ("http://example.com/", 5.0),
        ("http://example.org/", 8.0),
    ]


@pytest.mark.parametrize(
    ("addresses", "begun"),
    [(None, [0.0, 1.0, 2.0]), (Addresses(lambda: 0.0), [0.0, 4.0, 5.0])],
)
async def test_hosts_at_one_address_wait_for_each_other_if_that_is_asked_for(addresses, begun):
    web = Web()
    web.polite = PoliteFetcher(
        web, delay=3.0, clock=lambda: web.now, sleep=web.wait, addresses=addresses
    )
    # A name that means nothing is asked for as well: what is wrong is said by the exchange.
    for url in ("http://127.0.0.1/", "http://127.0.0.1:81/", "http://x.invalid/"):
        await web.polite.fetch(url, NOTHING)
    assert [begun_at for _, begun_at, _ in web.exchanges] == begun


async def test_that_a_host_at_an_address_wants_to_be_left_alone_holds_for_no_other():
    web = Web()
    web.polite = PoliteFetcher(
        web,
        delay=3.0,
        clock=lambda: web.now,
        sleep=web.wait,
        addresses=Addresses(lambda: 0.0),
    )
    web.answer = FetchResult("", "", 429, retry_after=100.0)
    await web.polite.fetch("http://127.0.0.1/", NOTHING)
    with pytest.raises(PostponedError, match=r"^127\.0\.0\.1 is busy"):
        await web.polite.fetch("http://127.0.0.1/", NOTHING)
    assert (await web.polite.fetch("http://127.0.0.1:81/", NOTHING)).status == 429
