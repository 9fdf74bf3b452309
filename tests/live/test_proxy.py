"""Fetches through a proxy: all of them, none past it, and no private address behind it."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack

import aiohttp
import pytest

from pollwise.errors import PostponedError
from pollwise.fetch_settings import FetchSettings, HeaderLine
from pollwise.live.collecting import _text_of
from pollwise.live.web_polling import fetching
from pollwise.types import Outcome, Page, PageMemory
from pollwise.web.fetcher import HttpFetcher
from pollwise.web.own_headers import OwnHeaders
from pollwise.web.poller import WebPoller
from pollwise.web.robots_txt import RobotsTxt

from .proxy import Proxy

NOTHING = PageMemory()
LOGIN = OwnHeaders(logins={"127.0.0.1": ("me", "geheim")})


@pytest.fixture
async def proxy() -> AsyncIterator[Proxy]:
    async with Proxy() as proxy:
        yield proxy


def unused_port() -> int:
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return int(asked.getsockname()[1])


async def test_requests_go_through_the_proxy(site, clock, proxy):
    site.says("/a", "a")
    async with HttpFetcher(clock=clock, given={site.host}, proxy=proxy.url) as fetcher:
        assert (await fetcher.fetch(site.url("/a"), NOTHING)).body == b"a"
    (head,) = proxy.heads
    assert head.startswith(f"GET {site.url('/a')} HTTP/1.1\r\n")
    assert "Proxy-Authorization" not in head


async def test_an_example_of_a_topic_comes_through_the_proxy_too(site, proxy):
    site.says("/a", "whales sing", Content_Type="text/html")
    make_poller = fetching(FetchSettings(proxy=proxy.url), OwnHeaders())
    assert "sing" in await asyncio.to_thread(_text_of, site.url("/a"), make_poller)
    assert [head.split()[1] for head in proxy.heads] == [site.url("/robots.txt"), site.url("/a")]


async def test_https_goes_through_a_tunnel_that_tells_the_proxy_no_secret(clock, proxy):
    own = OwnHeaders(
        FetchSettings(headers=("example.org: X-Own: secret",)).header_lines(),
        logins={"example.org": ("me", "geheim"), "127.0.0.1": ("we", "us")},
    )
    proxy.refusal = "403 Forbidden"
    async with HttpFetcher(
        clock=clock, given={"example.org"}, own_headers=own, proxy=proxy.url
    ) as fetcher:
        result = await fetcher.fetch("https://example.org/a", NOTHING)
    assert result.error == "the proxy refused a tunnel: status 403"
    (head,) = proxy.heads
    assert head.startswith("CONNECT example.org:443 HTTP/1.1\r\n")
    assert f"Proxy-Authorization: {aiohttp.encode_basic_auth('we', 'us')}\r\n" in head
    assert "X-Own" not in head
    assert "\r\nAuthorization" not in head


async def test_a_secret_header_does_not_follow_a_downgrade_to_plain_http(clock, proxy):
    own = OwnHeaders([HeaderLine("example.org", "X-Token", "geheim", is_secret=True)])
    proxy.refusal = "403 Forbidden"
    for given_plain in ((), ("example.org",)):
        async with HttpFetcher(
            clock=clock,
            given={"example.org"},
            given_plain=given_plain,
            own_headers=own,
            proxy=proxy.url,
        ) as fetcher:
            await fetcher.fetch("http://example.org/a", NOTHING)
        assert ("X-Token: geheim" in proxy.heads[-1]) == bool(given_plain)


async def test_a_redirect_to_this_machine_is_refused_behind_a_proxy_too(
    site, other_site, clock, following, proxy
):
    other_site.says("/secret", "secret")
    port = other_site.server.port
    for target in (f"http://127.0.0.1:{port}", f"http://localhost:{port}", "http://[::1]"):
        site.says("/a", status=302, Location=f"{target}/secret")
        async with HttpFetcher(clock=clock, given={site.host}, proxy=proxy.url) as fetcher:
            result = await following(fetcher).fetch(site.url("/a"), NOTHING)
        assert "no public address" in result.error
    assert other_site.asked == []
    assert len(proxy.heads) == 3


async def test_a_name_that_only_the_proxy_knows_must_be_given_or_allowed(site, clock, proxy):
    site.says("/a", "a")
    proxy.names["inside.invalid"] = "127.0.0.1"
    url = f"http://inside.invalid:{site.server.port}/a"
    async with HttpFetcher(clock=clock, proxy=proxy.url) as fetcher:
        result = await fetcher.fetch(url, NOTHING)
    assert "inside.invalid cannot be looked up here" in result.error
    assert "--allow-private" in result.error
    assert proxy.heads == []
    async with HttpFetcher(clock=clock, proxy=proxy.url, allow_private=True) as fetcher:
        assert (await fetcher.fetch(url, NOTHING)).body == b"a"


async def test_a_login_of_the_proxy_goes_to_the_proxy_only(site, clock, proxy):
    site.says("/a", "a")
    proxy.login = aiohttp.encode_basic_auth("me", "geheim")
    async with HttpFetcher(
        clock=clock, allow_private=True, own_headers=LOGIN, proxy=proxy.url
    ) as fetcher:
        assert (await fetcher.fetch(site.url("/a"), NOTHING)).body == b"a"
    (asked,) = site.asked
    assert "Proxy-Authorization" not in asked.headers
    assert "Authorization" not in asked.headers


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/a", "https://example.org/a"])
async def test_a_proxy_that_wants_a_login_postpones(clock, proxy, url):
    proxy.login = "another"
    async with HttpFetcher(
        clock=clock, allow_private=True, own_headers=LOGIN, proxy=proxy.url
    ) as fetcher:
        with pytest.raises(PostponedError, match="the proxy wants a login") as postponed:
            await fetcher.fetch(url, NOTHING)
    assert "geheim" not in str(postponed.value)


async def test_a_tunnel_that_is_refused_for_the_login_postpones(clock, proxy):
    proxy.refusal = "401 Unauthorized"
    async with HttpFetcher(clock=clock, own_headers=LOGIN, proxy=proxy.url) as fetcher:
        with pytest.raises(PostponedError, match="the proxy wants a login"):
            await fetcher.fetch("https://1.1.1.1/a", NOTHING)


async def test_a_site_that_says_407_through_a_tunnel_or_without_a_proxy_has_failed(site, clock):
    site.says("/a", status=407)
    async with HttpFetcher(clock=clock, given={site.host}) as fetcher:
        assert (await fetcher.fetch(site.url("/a"), NOTHING)).status == 407


@pytest.fixture
def full_port() -> Iterator[int]:
    """A port that does not answer: so many wait there already that further ones are dropped."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as server, ExitStack() as waiting:
        for _ in range(4):
            client = waiting.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(server.getsockname())
        yield server.getsockname()[1]


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/a", "https://127.0.0.1:1/a"])
@pytest.mark.parametrize(
    ("proxy_url", "why"),
    [
        ("http://proxy.invalid:3128", "proxy.invalid:3128 ("),
        ("https://{site}", "(TLS failed: "),
        ("http://127.0.0.1:{full}", "(no answer within 0.25 s)"),
    ],
)
async def test_no_way_to_the_proxy_is_no_fault_of_a_page(
    site, clock, full_port, url, proxy_url, why
):
    own = proxy_url.format(site=site.host, full=full_port)
    async with HttpFetcher(
        clock=clock, allow_private=True, proxy=own, connect_timeout=0.5
    ) as fetcher:
        with pytest.raises(PostponedError, match="the proxy cannot be reached: ") as postponed:
            await fetcher.fetch(url, NOTHING)
    assert why in str(postponed.value)


async def test_a_poll_is_postponed_while_the_proxy_cannot_be_reached(site, clock):
    site.says("/a", "a")
    port = unused_port()
    async with HttpFetcher(
        clock=clock, allow_private=True, proxy=f"http://127.0.0.1:{port}"
    ) as fetcher:
        robots_txt = RobotsTxt(fetcher, clock=clock)
        poller = WebPoller(fetcher, robots_txt, clock=clock)
        report = await poller.poll(Page(0, site.url("/a"), site.host), NOTHING)
    assert report.result.observation.outcome is Outcome.POSTPONED
    assert report.result.error.startswith("the proxy cannot be reached: ")
    assert site.asked == []
