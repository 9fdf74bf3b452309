"""robots.txt files, hostile ones too, by the answers that hold them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.types import PageMemory
from pollwise.web.fetcher import FetchResult
from pollwise.web.robots_txt import RobotsTxt, Rules

PAGE = "https://h.example/a"


class OneFile:
    """A fetcher that has one file."""

    def __init__(self, body: bytes) -> None:
        self.body = body

    async def fetch(self, url: str, memory: PageMemory, *, may_follow=None) -> FetchResult:
        return FetchResult(url, url, 200, body=self.body)


async def rules_of(body: str | bytes, product: str = "pollwise/1") -> Rules:
    data = body.encode() if isinstance(body, str) else body
    return await RobotsTxt(OneFile(data), clock=lambda: 0.0, user_agent=product).rules(PAGE)


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("", True),
        ("User-agent: *\nDisallow:", True),
        ("User-agent: *\nDisallow: /", False),
        ("\ufeffUser-agent: *\nDisallow: /", False),
        ("user-agent:*\r\ndisallow:/a\r\n", False),
        ("User-agent: *\nDisallow: /\nAllow: /a", True),
        ("User-agent: *\nDisallow: /*$\nAllow: /a$", True),
        ("User-agent: PollWise\nDisallow: /", False),
        ("User-agent: pollwise/0.9 # the robot\nDisallow: /", False),
        ("User-agent: other\nUser-agent: pollwise\nDisallow: /", False),
        ("User-agent: other\nDisallow: /", True),
        ("User-agent: other\nDisallow:\n\nUser-agent: *\nDisallow: /", False),
        ("User-agent: *\nDisallow: /\n\nUser-agent: pollwise\nDisallow: /b", True),
        # A product token is compared whole (RFC 9309 section 2.2.1).
        ("User-agent: poll\nDisallow: /", True),
        ("User-agent: pollwise-images\nDisallow: /", True),
        ("Disallow: /", True),
        ("<!doctype html><title>Disallow: /</title>", True),
    ],
)
async def test_groups_and_rules(text, allowed):
    assert (await rules_of(text)).allows(PAGE) is allowed


@pytest.mark.parametrize(
    ("text", "delay"),
    [
        ("User-agent: *\nCrawl-delay: 2.5", 2.5),
        ("User-agent: other\nCrawl-delay: 2.5", 0.0),
        ("User-agent: *\nCrawl-delay: 1e9", 86400.0),
        ("User-agent: *\nCrawl-delay: inf", 0.0),
        ("User-agent: *\nCrawl-delay: -1", 0.0),
        ("User-agent: *\nCrawl-delay: soon", 0.0),
    ],
)
async def test_crawl_delay(text, delay):
    assert (await rules_of(text)).crawl_delay == delay


async def test_a_user_agent_without_a_product_token_obeys_the_rules_for_all():
    text = "User-agent: 7\nDisallow: /b\n\nUser-agent: *\nDisallow: /a"
    assert not (await rules_of(text, product="7seas/1")).allows(PAGE)


@pytest.mark.parametrize(
    ("text", "sitemaps"),
    [
        ("", ()),
        (
            "Sitemap: https://H.example/a.xml\nUser-agent: other\nDisallow: /\n"
            "sitemap: http://g/b.xml.gz # all\nSitemap: https://h.example/a.xml",
            ("https://h.example/a.xml", "http://g/b.xml.gz"),
        ),
        ("Sitemap: /a.xml\nSitemap:\nSitemap: ftp://h/a\nSitemap: http://h/b", ("http://h/b",)),
    ],
)
async def test_sitemaps(text, sitemaps):
    assert (await rules_of(text)).sitemaps == sitemaps


async def test_a_file_of_nothing_but_sitemaps():
    text = "\n".join(f"Sitemap: http://h/{n}" for n in range(20_000))
    assert len((await rules_of(text)).sitemaps) == 1000


def test_without_a_file_there_are_no_sitemaps():
    assert Rules(0.0, unreachable="status 503").sitemaps == ()


LINES = st.sampled_from(
    [
        "User-agent: *",
        "User agent pollwise",
        "Disallow: /%",
        "Allow: *$",
        "Crawl-delay: x",
        "Sitemap: http://",
        "#",
        ":",
    ]
)


@given(st.binary(max_size=300) | st.lists(LINES | st.text(), max_size=20).map("\n".join))
async def test_garbage_never_raises(body):
    data = body if isinstance(body, bytes) else body.encode(errors="replace")
    rules = await rules_of(data)
    assert rules.allows(PAGE) in (True, False)
    assert 0 <= rules.crawl_delay <= 86400
    assert isinstance(rules.sitemaps, tuple)


async def test_many_robots_in_one_group_are_no_burden():
    """Without folding this takes minutes and more memory than there is."""
    names = "".join(f"User-agent: robot{n}\n" for n in range(12_000))
    text = names + "User-agent: pollwise\n" + "Disallow: /a\n" * 15_000
    assert not (await rules_of(text)).allows(PAGE)


async def test_what_all_files_take_together_is_bounded(monkeypatch):
    monkeypatch.setattr("pollwise.web.robots_txt._MAX_HELD", 20_000)
    rng = np.random.default_rng(1)

    class Web:
        async def fetch(self, url, memory, *, may_follow=None):
            body = "User-agent: *\n" + "".join(
                f"Disallow: /{rng.bytes(40).hex()}\n" for _ in range(20)
            )
            return FetchResult(url, url, 200, body=body.encode() + rng.bytes(2000).hex().encode())

    robots = RobotsTxt(Web(), clock=lambda: 0.0)
    for number in range(100):
        await robots.rules(f"http://h{number}/")
    held = [origin.rules for origin in robots._origins.values()]
    assert 5 < len(held) < 30
    assert robots._held == sum(len(rules.text) for rules in held if rules is not None)
    assert await robots.rules("http://h99/") is held[-1]
