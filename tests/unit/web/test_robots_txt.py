"""robots.txt files, hostile ones too, by the answers that hold them."""

import asyncio

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.types import PageMemory
from pollwise.web.fetcher import FetchResult
from pollwise.web.robots_rules import Rules
from pollwise.web.robots_txt import RobotsTxt

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


@pytest.mark.parametrize(
    ("text", "path", "allowed"),
    [
        # Section 2.2.1: the groups of one robot are one; its name has no case.
        ("User-agent: POLLWISE\nDisallow: /a\n\nUser-agent: pollwise\nDisallow: /b", "/a", False),
        ("User-agent: POLLWISE\nDisallow: /a\n\nUser-agent: pollwise\nDisallow: /b", "/b", False),
        ("User-agent: *\nDisallow: /a\n\nUser-agent: *\nDisallow: /b", "/b", False),
        ("User-agent: pollwise\n\nUser-agent: *\nDisallow: /", "/a", False),
        ("User-agent: pollwise\nDisallow:\n\nUser-agent: *\nDisallow: /", "/a", True),
        # Section 2.2.2: paths have case, the longest rule wins, Allow if both are as long.
        ("User-agent: *\nDisallow: /A", "/a", True),
        ("User-agent: *\nAllow: /page/\nDisallow: /page/not.gif", "/page/", True),
        ("User-agent: *\nAllow: /page/\nDisallow: /page/not.gif", "/page/not.gif", False),
        ("User-agent: *\nDisallow: /page\nAllow: /page", "/page", True),
        ("User-agent: *\nDisallow: /", "/robots.txt", True),
        ("User-agent: *\nDisallow: /foo/bar?baz=quz", "/foo/bar?baz=quz", False),
        ("User-agent: *\nDisallow: /foo/bar/ツ", "/foo/bar/%E3%83%84", False),
        ("User-agent: *\nDisallow: /foo/bar/%E3%83%84", "/foo/bar/%E3%83%84", False),
        ("User-agent: *\nDisallow: /foo/bar/%62%61%7A", "/foo/bar/baz", False),
        # Section 2.2.3: comments, the end of a pattern, any characters.
        ("User-agent: * # all\nDisallow: /a # not this", "/a", False),
        ("User-agent: *\nDisallow: /this/path/exactly$", "/this/path/exactly", False),
        ("User-agent: *\nDisallow: /this/path/exactly$", "/this/path/exactly/not", True),
        ("User-agent: *\nDisallow: /this/*/exactly", "/this/path/exactly", False),
        ("User-agent: *\nDisallow: *.gif$", "/a/b.gif", False),
        ("User-agent: *\nDisallow: *.gif$", "/a/b.gif?", True),
        # Section 2.2.4: other records end no group.
        ("User-agent: pollwise\nSitemap: http://h/s\nUser-agent: x\nDisallow: /a", "/a", False),
        ("User-agent: pollwise\nNoindex: /b\nUser-agent: x\nDisallow: /a", "/a", False),
        ("User-agent: pollwise\n\n\nUser-agent: x\nDisallow: /a", "/a", False),
        # Spellings that Protego knows.
        ("useragent: *\ndissalow: /a", "/a", False),
        ("User agent *\nDisallow /a", "/a", False),
        ("User-agent: *\nCrawl delay 3\nUser-agent: x\nDisallow: /a", "/a", True),
    ],
)  # fmt: skip
async def test_the_standard_section_by_section(text, path, allowed):
    assert (await rules_of(text)).allows(f"https://h.example{path}") is allowed


def hostile(letter: str, size: int = 500 * 1024) -> bytes:
    """A file of rules that Protego looks for in the whole URL, each different."""
    lines, left = ["User-agent: *"], size
    for number in range(size):
        lines.append(f"Disallow:*{letter}{number:x}b$")
        left -= len(lines[-1]) + 1
        if left < 0:
            break
    return "\n".join(lines).encode()


async def test_large_files_hold_up_nobody():
    """In the loop, four of them took about a second."""

    class Web:
        async def fetch(self, url, memory, *, may_follow=None):
            return FetchResult(url, url, 200, body=hostile(url[7], 100_000))

    robots = RobotsTxt(Web(), clock=lambda: 0.0)
    asking = asyncio.gather(*(robots.allows(f"http://{host}/page") for host in "abcd"))
    loop = asyncio.get_running_loop()
    beats, late = 0, 0.0
    while not asking.done():
        begun_at = loop.time()
        await asyncio.sleep(0.001)
        beats, late = beats + 1, max(late, loop.time() - begun_at)
    assert await asking == [True] * 4
    assert beats > 20


async def test_what_was_decided_is_remembered(monkeypatch):
    robots = RobotsTxt(OneFile(hostile("a", 50_000)), clock=lambda: 0.0)
    assert await robots.allows(PAGE)
    monkeypatch.setattr(Rules, "allows", None)
    assert await robots.allows(PAGE)


async def test_a_url_that_would_take_too_long_to_compare_is_disallowed():
    rules = await rules_of(hostile("a", 100_000))
    short, long = ("https://h.example/" + "a" * length for length in (100, 8000))
    assert (rules.allows(short), rules.is_too_long(short)) == (True, False)
    assert (rules.allows(long), rules.is_too_long(long)) == (False, True)


async def test_only_what_is_meant_for_us_is_kept():
    others = "".join(f"User-agent: robot{n}\nDisallow: /{n}\n" for n in range(10_000))
    text = others + "User-agent: *\n" + "Disallow: /a\n" * 10_000
    rules = await rules_of(text)
    assert (rules.size, rules.allows(PAGE)) == (len("disallow:/a"), False)


async def test_the_longest_delay_of_a_scope():
    class Web:
        async def fetch(self, url, memory, *, may_follow=None):
            delay = 2 if url.startswith("https") else 5
            return FetchResult(url, url, 200, body=f"User-agent: *\nCrawl-delay: {delay}".encode())

    robots = RobotsTxt(Web(), clock=lambda: 0.0)
    assert robots.crawl_delay("h") == 0.0
    await robots.rules("https://h/")
    assert robots.crawl_delay("h") == 2.0
    await robots.rules("http://h/")
    assert robots.crawl_delay("h") == 5.0
