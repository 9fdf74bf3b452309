"""Exchanges that wait for their turn, with a made-up time in which each takes a second."""

import asyncio
from itertools import pairwise

import pytest

from pollwise.types import PageMemory
from pollwise.web import polite_fetcher
from pollwise.web.fetcher import FetchResult, follow_none
from pollwise.web.polite_fetcher import PoliteFetcher
from pollwise.web.robots_txt import RobotsTxt

NOTHING = PageMemory()


class Web:
    """A fetcher and its time; `redirects` say where URLs lead."""

    def __init__(self, **redirects):
        self.now = 0.0
        self.redirects = {f"http://{host}/robots.txt": to for host, to in redirects.items()}
        self.exchanges = []
        self.polite = PoliteFetcher(self, delay=3.0, clock=lambda: self.now, sleep=self.sleep)

    async def sleep(self, seconds):
        assert seconds <= 3.0
        await asyncio.sleep(0)
        self.now += seconds

    async def fetch(self, url, memory, *, may_follow=None):
        assert may_follow is follow_none
        begun_at = self.now
        await asyncio.sleep(0)
        self.now = begun_at + 1.0
        self.exchanges.append((url, begun_at, memory))
        target = self.redirects.get(url)
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
    rules = await asyncio.gather(*(robots.rules(f"http://h{n}/") for n in range(1000)))
    begins = [begun for url, begun, _ in web.exchanges if url == "http://victim/robots.txt"]
    assert len(begins) == 10
    assert min(b - a for a, b in pairwise(begins)) >= 4.0
    assert sum(r.unreachable is None for r in rules) == 10


async def test_redirects_without_end():
    web = Web(a="http://a/robots.txt")
    result = await web.polite.fetch("http://a/robots.txt", NOTHING)
    assert result.error == "more than 5 redirects"
    assert len(web.exchanges) == 6
    rules = await RobotsTxt(web.polite, clock=lambda: web.now).rules("http://a/")
    assert rules.allows("http://a/secret"), "RFC 9309 section 2.3.1.2: as if there were none"


async def test_what_is_no_url_is_left_to_the_fetcher():
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
