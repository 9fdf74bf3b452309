"""Every parser of what strangers write: it never fails, stays linear, and its output can be stored.

Time is that of the processor, and the bounds are many times what is needed: what they catch is
quadratic, which takes minutes.
"""

import gzip
import math
import sqlite3
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pollwise.collecting.traps import Traps, is_endless
from pollwise.errors import InputError
from pollwise.sources.reading import read_plainly
from pollwise.web.change import fingerprint
from pollwise.web.content_coding import BodyReader
from pollwise.web.crawl_urls import crawl_url, host_of
from pollwise.web.headers import parse_http_date, parse_retry_after
from pollwise.web.reading.page_encoding import decoded
from pollwise.web.reading.page_parser import MAX_LINKS, MAX_TEXT, parse_page
from pollwise.web.reading.parsed_page import MAX_ANCHOR, MAX_BLOCKS, MAX_PLACE, ParsedPage
from pollwise.web.sitemaps import MAX_ENTRIES, parse_sitemap
from pollwise.web.url_list import read_url_list
from pollwise.web.urls import canonical, joined, origin_of, scope_of
from pollwise.web.visible_text import visible_text

URL = "http://a.example/b/c"
MOST_SECONDS = 5.0
TOKEN = "a" * 24

UNITS = (
    *("<", "</", "<a", "<a ", "<a>", "</a>", "<a href=", '<a href="', "<a href=x>", "<a href=x>y"),
    *("<!", "<!-", "<!--", "-->", "--!>", "<![CDATA[", "]]>", "<?", "<?xml ", "/>", ">", "=", '="'),
    *("<p>", "</p>", "<div>", "</div>", "<b>", "<table>", "<td>", "<tr>", "<li>", "<template>"),
    *("<script>", "<script", "</script", "<title>", "</title>", "<style ", "<textarea>", "<xmp>"),
    *("<noscript>", "<base href=x>", "<base href='//a/'>", "<link rel=next href=x>", "<svg/>"),
    *("<meta name=robots content=x>", "<meta http-equiv=refresh content='0;url=", "<p hidden>"),
    *("<p style='display:none'>", "<img alt=x>", "<iframe src=x>", "<p class=", "class= ", " x=1"),
    *(
        "&",
        "&amp",
        "&amp;",
        "&#",
        "&#x110000;",
        "&#xd800;",
        "&#99999999999;",
        "&copy=",
        "é",
        "\x1b",
    ),
    *("'", '"', " ", "\n", "\n\n", "\t", "/", "-", "x", "\0", "\u202e", "\ufeff", "//", "http://"),
    *(
        "<a href='http://[",
        "<a href='javascript:x'>",
        "<a href='http://b@c/'>",
        "<a href='?&#xd800;'>",
    ),
)
markup = st.lists(st.sampled_from(UNITS) | st.text(max_size=5), max_size=30).map("".join)
types = st.sampled_from(
    [
        None,
        "",
        "text/html",
        "text/plain",
        "application/xhtml+xml",
        "image/png",
        "text/html;charset=",
    ]
)
labels = st.sampled_from(
    ["utf-7", "utf-16", "iso2022_jp", "idna", "mbcs", "rot13", "aliases", "gbk"]
)
urls = st.one_of(
    st.text(),
    st.lists(
        st.sampled_from(
            [
                "http://",
                "https://",
                "//",
                "/",
                "a",
                ".",
                "..",
                "%2e",
                "%",
                "%c3%a9",
                "@",
                ":",
                "[",
                "?",
                "]",
                "::1",
                "&",
                "=",
                "sid=",
                ";jsessionid=x",
                f"(s({TOKEN}))",
                "utm_x",
                "\\",
                "#",
                "\u202e",
                "\ud800",
                "\0",
                " ",
                "é",
                "xn--",
                "2024-01",
                "123",
                "0x7f",
                "\t",
            ]
        )
        | st.text(max_size=3),
        max_size=20,
    ).map("".join),
)


@contextmanager
def linear() -> Iterator[None]:
    begun = time.process_time()
    yield
    assert time.process_time() - begun < MOST_SECONDS


def assert_storable(*values: str | None) -> None:
    """SQLite takes the text and gives it back."""
    with sqlite3.connect(":memory:") as connection:
        for value in values:
            assert connection.execute("SELECT ?", (value,)).fetchone() == (value,)


def assert_one_line(error: Exception, *parts: str) -> None:
    line = str(error)
    assert len(line.splitlines()) == 1
    assert len(line) < 1000
    assert line.isprintable()
    assert all(part in line for part in parts)


def assert_bounded(page: ParsedPage) -> None:
    assert_storable(page.title, page.canonical, page.language, page.reason, *page.blocks)
    assert sum(map(len, page.blocks)) <= MAX_TEXT
    assert len(page.blocks) <= MAX_BLOCKS
    assert len(page.links) <= MAX_LINKS
    assert len(page.title) <= 300
    for link in page.links:
        assert_storable(link.url, link.anchor, link.place)
        assert canonical(link.url) == link.url
        assert len(link.anchor) <= MAX_ANCHOR
        assert len(link.place) <= MAX_PLACE
        assert link.url.isprintable()


@given(markup, types, labels)
def test_pages_that_are_nonsense(text: str, content_type: str | None, label: str) -> None:
    told = f"{content_type}{label}" if content_type and content_type.endswith("=") else content_type
    body = text.encode(errors="surrogatepass")
    assert_bounded(parse_page(body, told, URL, text))
    assert_storable(visible_text(body))
    fingerprint(read_plainly(body, told))


@given(st.binary(), st.text())
@example(b"<meta charset=utf-7>", "")
@example(b"<meta charset=mbcs>", "text/html; charset=undefined")
@example(b"x", "text/html; charset=" + "x" * 10_000)
@example(b"x", "charset=..........")
def test_bytes_in_any_encoding(body: bytes, content_type: str) -> None:
    text = decoded(body, content_type)
    assert_storable(text)
    assert "\0" not in text
    assert_bounded(parse_page(body, content_type, URL, content_type))
    assert_bounded(parse_page(body, "text/html", URL))


@given(labels | st.text(st.characters(categories=["L", "N"]), max_size=20), st.binary())
def test_any_label_of_an_encoding(label: str, body: bytes) -> None:
    assert_storable(decoded(body, f"text/html; charset={label}"))
    declaration = f"<meta charset='{label}'>".encode()
    assert_storable(decoded(declaration + body, None))


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    st.lists(st.sampled_from(UNITS), max_size=3).map("".join),
    st.lists(st.sampled_from(UNITS), min_size=1, max_size=4).map("".join),
)
def test_time_is_linear_whatever_repeats(before: str, unit: str) -> None:
    body = (before + unit * (200_000 // len(unit))).encode()
    with linear():
        for content_type in ("text/html", "application/xml"):
            assert_bounded(parse_page(body, content_type, URL))
        fingerprint(read_plainly(body, "text/html"))
        parse_sitemap(body)


@given(st.binary() | markup.map(lambda text: b"<urlset>" + text.encode(errors="replace")))
@example(b"\x1f\x8b")
@example(b"\x1f\x8b\x08\0\0\0\0\0\0\3")
@example(b"\xff\xfe<\0u\0r\0l\0s\0e\0t\0>\0")
@example(b"<?xml version='1.0' encoding='UTF-7'?><urlset/>")
@example(
    b"<urlset><url><loc>http://a/</loc><lastmod>0001-01-01T00:00:00+23:59</lastmod></url></urlset>"
)
@example(
    b"<urlset><url><loc>http://a/</loc><lastmod>9999-12-31T23:59:59-23:59</lastmod></url></urlset>"
)
def test_sitemaps_that_are_nonsense(body: bytes) -> None:
    for sent in (body, gzip.compress(body, mtime=0), gzip.compress(body, mtime=0)[:-5]):
        for entry in parse_sitemap(sent):
            assert_storable(entry.url)
            assert canonical(entry.url) == entry.url
            assert entry.last_modified is None or math.isfinite(entry.last_modified)


LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))


@pytest.mark.parametrize(
    "body",
    [
        f'<!DOCTYPE u [<!ENTITY l0 "ha">{LAUGHS}]><urlset><url><loc>&l9;</loc></url>'.encode(),
        b'<!DOCTYPE u [<!ENTITY x SYSTEM "file:///etc/passwd">]><urlset><url><loc>&x;</loc></url>',
        b'<!DOCTYPE u [<!ENTITY % x SYSTEM "http://127.0.0.1/">%x;]><urlset/>',
        b"<urlset>" + b"<a>" * 300_000,
        b"<urlset " + b" ".join(b"a%d='1'" % n for n in range(100_000)) + b">",
        b"<urlset><url><loc>" + b"x" * 3_000_000,
        b"<urlset><url><loc>" + b"&amp;" * 500_000,
        b"<urlset>" + b"<url><loc>http://a/</loc></url>" * 60_000,
        b"<urlset>" + b"<!-- -->" * 300_000,
        b"<urlset " + b"x" * 3_000_000,
        b"http://a/\n" * 200_000,
        b"\n" * 3_000_000,
        gzip.compress(b"<urlset>" + b"<url><loc>http://a/</loc></url>" * 60_000, mtime=0),
        gzip.compress(b" " * 100_000_000, 1, mtime=0),
    ],
    ids=lambda body: repr(body[:24]),
)
def test_sitemaps_that_mean_ill(body: bytes) -> None:
    with linear():
        found = parse_sitemap(body)
    assert len(found) <= MAX_ENTRIES
    assert all(entry.url == "http://a/" for entry in found)


@given(urls, urls)
def test_urls_that_are_nonsense(url: str, reference: str) -> None:
    for parse in (canonical, scope_of, origin_of, crawl_url, lambda u: joined(URL, u)):
        try:
            parsed = parse(url)
        except InputError as error:
            assert_one_line(error)
        else:
            assert_storable(parsed)
            assert parsed.isascii()
            assert parsed.isprintable()
    try:
        base = canonical(url)
        known = crawl_url(joined(base, reference))
    except InputError:
        return
    assert crawl_url(known) == known
    assert host_of(known)
    is_endless(known.split("?")[0].partition("://")[2])
    traps.enter(known)


traps = Traps()


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "/",
        "../",
        "/.",
        "%",
        "%2e/",
        "%25",
        ";",
        ";jsessionid=x",
        "/.;jsessionid=x",
        "&",
        "&sid=",
        f"/(s({TOKEN}))",
        "/(a(b)",
        "(a(b))",
        "?",
        "&utm_a=b",
        "0",
        "deadbeef",
        "-",
        "=2024-01",
    ],
)
def test_long_urls_take_linear_time(unit: str) -> None:
    for before in ("http://a.example/", "http://a.example/?", "http://a.example/x?a&"):
        with linear():
            known = crawl_url(before + unit * (100_000 // len(unit)))
            traps.enter(known)
            is_endless(known.partition("://a.example")[2])


@given(st.none() | st.text() | st.text('0123456789 GMT:,+-JanFebSun()\x00\\"', max_size=60))
@example("Mon, 01 Jan 0001 00:00:00 +2359")
@example("Fri, 31 Dec 9999 23:59:59 -2359")
@example("9" * 5000)
@example("٣")
@example("(" * 1000)
def test_dates_that_are_nonsense(text: str | None) -> None:
    at = parse_http_date(text)
    assert at is None or math.isfinite(at)
    wait = parse_retry_after(text, 1_700_000_000.0)
    assert wait is None or 0 <= wait <= 86_400


@pytest.mark.parametrize("unit", ["(", ")", "\\", '"', ",", ":", " ", "Mon, ", "1 ", "-", "+", "."])
def test_long_dates_take_linear_time(unit: str) -> None:
    with linear():
        parse_retry_after(unit * (50_000 // len(unit)), 0.0)


@given(
    st.binary()
    | st.binary().map(lambda data: gzip.compress(data, mtime=0))
    | st.binary().map(zlib.compress),
    st.sampled_from(["gzip", "deflate", "x-gzip", " GZIP ", "", "identity", "br", "gzip, gzip"])
    | st.text(),
    st.integers(1, 100),
)
def test_bodies_that_are_broken(data: bytes, encoding: str, most: int) -> None:
    reader = BodyReader(encoding, max_bytes=most, room=10)
    try:
        for begin in range(0, len(data), 100):
            reader.feed(data[begin : begin + 100])
            if reader.is_full:
                reader.make_room()
        body = reader.body()
    except ValueError as error:
        assert_one_line(error)
    else:
        assert len(body) <= most


@given(st.text() | st.binary() | urls.map(lambda url: f"{url} weight=2 cost=nan"))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_url_lists_that_are_nonsense(tmp_path: Path, text: Any) -> None:
    path = tmp_path / "urls.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode(errors="surrogatepass"))
    try:
        listed = read_url_list(path)
    except InputError as error:
        assert_one_line(error, str(path))
    else:
        assert all(canonical(entry.url) == entry.url for entry in listed)
        assert all(0 < entry.weight < math.inf and 0 < entry.cost < math.inf for entry in listed)
