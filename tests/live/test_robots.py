"""robots.txt from real servers: what its answers mean, and how often it is asked for."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from pollwise.web.fetcher import HttpFetcher
from pollwise.web.robots_txt import RobotsTxt

DAY, TEN_MINUTES = 86400.0, 600.0


@pytest.fixture
async def robots(clock, following) -> AsyncIterator[RobotsTxt]:
    async with HttpFetcher(clock=clock, allow_private=True) as fetcher:
        yield RobotsTxt(following(fetcher), clock=clock)


async def test_its_rules_are_obeyed(site, robots):
    site.says("/robots.txt", "User-agent: *\nDisallow: /private\nCrawl-delay: 2.5")
    assert await robots.allows(site.url("/public"))
    assert not await robots.allows(site.url("/private/x"))
    assert (await robots.rules(site.url("/"))).crawl_delay == 2.5
    assert site.paths == ["/robots.txt"]


@pytest.mark.parametrize("status", [300, 400, 401, 403, 404, 410, 451])
async def test_where_there_is_none_all_is_allowed_for_a_day(site, robots, clock, status):
    site.says("/robots.txt", "User-agent: *\nDisallow: /", status=status)
    assert await robots.allows(site.url("/"))
    assert (await robots.rules(site.url("/"))).expires_at == clock.now + DAY


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_where_it_cannot_be_had_nothing_is_allowed_for_ten_minutes(
    site, robots, clock, status
):
    site.says("/robots.txt", status=status)
    assert not await robots.allows(site.url("/"))
    assert (await robots.rules(site.url("/"))).unreachable == f"status {status}"
    site.says("/robots.txt", "")
    clock.now += TEN_MINUTES - 1
    assert not await robots.allows(site.url("/"))
    clock.now += 1
    assert await robots.allows(site.url("/"))
    assert len(site.asked) == 2


async def test_where_nobody_answers_nothing_is_allowed(robots):
    rules = await robots.rules("http://127.0.0.1:1/x")
    assert not rules.allows("http://127.0.0.1:1/x")
    assert "127.0.0.1" in rules.unreachable


async def test_where_nobody_answers_it_is_asked_for_again_soon_and_then_ever_more_rarely(
    robots, clock
):
    """A network that was away for a minute once cost each host ten."""
    waits = []
    for _ in range(6):
        rules = await robots.rules("http://127.0.0.1:1/x")
        waits.append(rules.expires_at - clock.now)
        clock.now = rules.expires_at
    assert waits == [60.0, 120.0, 240.0, 480.0, 600.0, 600.0]


async def test_an_answer_makes_the_next_wait_short_again(site, robots, clock):
    async def hang_up(request: web.Request) -> web.Response:
        request.transport.close()
        return web.Response()

    async def allow(request: web.Request) -> web.Response:
        return web.Response()

    waits = []
    for answer in (hang_up, hang_up, allow, hang_up):
        site.answers["/robots.txt"] = answer
        rules = await robots.rules(site.url("/"))
        waits.append(rules.expires_at - clock.now)
        clock.now = rules.expires_at
    assert waits == [60.0, 120.0, DAY, 60.0]


async def test_it_is_asked_for_again_after_a_day(site, robots, clock):
    site.says("/robots.txt", "User-agent: *\nDisallow: /")
    assert not await robots.allows(site.url("/"))
    site.says("/robots.txt", "")
    clock.now += DAY - 1
    assert not await robots.allows(site.url("/"))
    clock.now += 1
    assert await robots.allows(site.url("/"))


async def test_redirects_are_followed_and_those_to_nowhere_are_none(site, other_site, robots):
    site.says("/robots.txt", status=301, Location=other_site.url("/rules"))
    other_site.says("/rules", "User-agent: *\nDisallow: /a")
    assert not await robots.allows(site.url("/a"))
    other_site.says("/robots.txt", status=301, Location="/robots.txt")
    assert await robots.allows(other_site.url("/a"))


async def test_each_origin_has_its_own(site, other_site, robots):
    site.says("/robots.txt", "User-agent: *\nDisallow: /")
    assert not await robots.allows(site.url("/"))
    assert await robots.allows(other_site.url("/"))


async def test_only_the_first_500_kib_count(site, robots):
    before = "User-agent: *\nDisallow: /a\n"
    filler = "#" * (500 * 1024 - len(before) - 1) + "\n"
    site.says("/robots.txt", before + filler + "Disallow: /b\n")
    assert not await robots.allows(site.url("/a"))
    assert await robots.allows(site.url("/b"))


async def test_those_who_ask_at_once_share_one_fetch(site, robots):
    asked = await asyncio.gather(*(robots.rules(site.url(f"/{n}")) for n in range(20)))
    assert site.paths == ["/robots.txt"]
    assert all(rules is asked[0] for rules in asked)


async def test_if_the_one_who_fetches_is_cancelled_the_next_one_does_it(site, robots):
    reached, go_on = asyncio.Event(), asyncio.Event()

    async def slow(request: web.Request) -> web.Response:
        reached.set()
        await go_on.wait()
        return web.Response(text="User-agent: *\nDisallow: /")

    site.answers["/robots.txt"] = slow
    first = asyncio.ensure_future(robots.allows(site.url("/")))
    await reached.wait()
    second = asyncio.ensure_future(robots.allows(site.url("/")))
    first.cancel()
    go_on.set()
    assert await second is False
    assert first.cancelled()


async def test_the_product_token_of_the_user_agent_picks_the_group(site, clock, following):
    site.says("/robots.txt", "User-agent: *\nDisallow: /\n\nUser-agent: finder\nDisallow: /x")
    async with HttpFetcher(clock=clock, allow_private=True) as fetcher:
        robots = RobotsTxt(
            following(fetcher), clock=clock, user_agent="Finder/2.0 (+https://f.example)"
        )
        assert await robots.allows(site.url("/"))
        assert not await robots.allows(site.url("/x"))
