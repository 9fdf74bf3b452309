import gzip
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.web import sitemaps
from pollwise.web.sitemaps import (
    MAX_ENTRIES,
    CutOffError,
    EntriesBeyond,
    SitemapEntry,
    UnusableEntries,
    parse_sitemap,
)

NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def urls(body: bytes) -> list[str]:
    return [entry.url for entry in parse_sitemap(body)]


def test_pages():
    body = f"""<?xml version="1.0" encoding="UTF-8"?>
    <urlset {NAMESPACE} xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
      <!-- two -->
      <url>
        <loc> HTTP://H.example/a?b=1&amp;c=2#d </loc>
        <lastmod>2004-12-23T18:00:15+00:00</lastmod><changefreq>daily</changefreq>
        <image:image><image:loc>http://h/no.png</image:loc></image:image>
        <image:loc>http://h/neither.png</image:loc>
      </url>
      <url><loc><![CDATA[http://h/ü]]></loc></url>
    </urlset>""".encode()
    expected = [
        SitemapEntry("http://h.example/a?b=1&c=2", 1103824815.0),
        SitemapEntry("http://h/%C3%BC"),
    ]
    assert parse_sitemap(body) == expected
    assert parse_sitemap(b"\xef\xbb\xbf" + body.lstrip()) == expected
    assert parse_sitemap(gzip.compress(body)) == expected


def test_an_index():
    body = f"""<sitemapindex {NAMESPACE}>
      <sitemap><loc>http://h/1.xml.gz</loc><lastmod>2005-01-01</lastmod></sitemap>
      <url><loc>http://h/a</loc></url>
      <sitemap></sitemap>
    </sitemapindex>"""
    assert parse_sitemap(body.encode()) == [
        SitemapEntry("http://h/1.xml.gz", 1104537600.0, is_index=True)
    ]


def test_prefixes():
    body = b"<s:urlset><s:url><s:loc>http://h/a</s:loc><i:loc>http://h/b</i:loc></s:url></s:urlset>"
    assert urls(body) == ["http://h/a"]


def test_text():
    body = (
        "\ufeffhttp://h/a\r\n\nnonsense\nhttps://h/ü  \n"
        + "http://h/"
        + "b" * 3000
        + "\nhttp://h/c"
    )
    assert urls(body.encode()) == ["http://h/a", "https://h/%C3%BC", "http://h/c"]
    assert urls(gzip.compress(body.encode())) == urls(body.encode())
    assert urls(b"http://h/\xff\n") == ["http://h/%EF%BF%BD"]


@pytest.mark.parametrize(
    ("told", "seconds"),
    [
        ("1970", 0.0),
        ("1970-02", 2678400.0),
        ("1970-01-02", 86400.0),
        (" 1970-01-01T01:00Z ", 3600.0),
        ("1970-01-01T01:00:00.5+01:00", 0.5),
        ("1970-01-01 00:00:01", 1.0),
        ("1969-12-31", -86400.0),
        ("", None),
        ("yesterday", None),
        ("1970-13", None),
        ("1970-01-01T25:00", None),
        ("9" * 100, None),
        ("0001-01-01T00:00:00+14:00", None),
        ("9999-12-31T23:59:59-14:00", None),
    ],
)
def test_last_modified(told, seconds):
    body = f"<urlset><url><loc>http://h/</loc><lastmod>{told}</lastmod></url></urlset>"
    assert parse_sitemap(body.encode()) == [SitemapEntry("http://h/", seconds)]


def entries(n: int) -> str:
    return "".join(f"<url><loc>http://h/{number}</loc></url>" for number in range(n))


@pytest.mark.parametrize(
    "end",
    [
        "",
        "<url><loc>http://h/a",
        "<url><loc>http://h/a</loc>",
        "<url a=1/>",
        "&copy;",
        "</b>",
        "\0",
    ],
)
def test_what_stands_before_the_break_is_read(end):
    body = f"<urlset>{entries(3)}{end}".encode()
    assert urls(body) == ["http://h/0", "http://h/1", "http://h/2"]


def test_what_is_cut_off_is_not_whole():
    body = f"<urlset>{entries(3)}</urlset><!-- made ".encode()
    assert len(parse_sitemap(body, whole=True)) == 3
    assert len(parse_sitemap(body[:80] + b"</b>" + body[80:], whole=True)) == 2
    for cut in (body[:80], gzip.compress(body[:80])[:-9]):
        with pytest.raises(CutOffError, match="does not end: cut off after 2 entries"):
            parse_sitemap(cut, whole=True)


def test_truncated_gzip():
    body = gzip.compress(f"<urlset>{entries(5000)}</urlset>".encode())
    assert 100 < len(urls(body[: len(body) // 2])) < 5000
    assert len(urls(body + b"garbage")) == 5000
    assert urls(body[:20]) == []


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<",
        b"\x1f\x8b",
        b"\x1f\x8bgarbage",
        b"<!doctype html><html><p>Not found",
        b"<html><url><loc>http://h/</loc></url></html>",
        b"<rss><channel><link>http://h/</link></channel></rss>",
        b'<?xml version="1.0" encoding="nonsense"?><a/>',
        b"<urlset><url><loc>mailto:a@h</loc></url><url/><url><loc/></url><loc>http://h/</loc></urlset>",
        b"<urlset><x><loc>http://h/</loc></x><url></url></urlset>",
        f"<urlset><url><loc>http://h/{'a' * 3000}</loc></url></urlset>".encode(),
        "<urlset><url><loc>http://h/</loc></url></urlset>".encode("utf-16"),
    ],
)
def test_what_is_no_sitemap(body):
    assert parse_sitemap(body) == []


def test_entities_are_not_expanded(tmp_path):
    (tmp_path / "secret").write_text("http://h/secret")
    declared = [
        '<!ENTITY a "http://h/a">',
        f'<!ENTITY a SYSTEM "file://{tmp_path}/secret">',
        '<!ENTITY b "bbbbbbbbbb"><!ENTITY a "&b;&b;&b;&b;">',
    ]
    for entity in declared:
        body = f"<!DOCTYPE urlset [{entity}]><urlset><url><loc>&a;</loc></url></urlset>"
        assert parse_sitemap(body.encode()) == []


def test_bounds_of_the_protocol(monkeypatch):
    monkeypatch.setattr(sitemaps, "MAX_ENTRIES", 100)
    assert len(urls(f"<urlset>{entries(150)}</urlset>".encode())) == 100
    assert len(urls(b"http://h/\n" * 150)) == 100
    monkeypatch.setattr(sitemaps, "MAX_BYTES", 2 * 1024 * 1024)
    bomb = b"<urlset><!--" + b" " * 10_000_000 + b"--><url><loc>http://h/</loc></url></urlset>"
    assert urls(gzip.compress(bomb)) == []
    monkeypatch.setattr(sitemaps, "_MAX_ELEMENTS", 20)
    assert urls(f"<urlset>{entries(4)}{16 * '<a/>'}{entries(4)}".encode()) == [
        f"http://h/{number}" for number in range(4)
    ]
    assert MAX_ENTRIES == 50_000


@pytest.mark.parametrize(
    "body",
    [
        b"<urlset>" + b"<a>" * 1_000_000,
        b"<urlset>" + b"".join(b"<a%x/>" % n for n in range(400_000)),
        b"<urlset>" + b"".join(b'<a b%x="1"/>' % n for n in range(300_000)),
        b"<urlset " + b" " * 6_000_000 + b">",
        b"<urlset><!--" + b"-" * 6_000_000,
        b"<urlset><url><loc>" + b"a" * 6_000_000,
        b"\n" * 6_000_000,
        gzip.compress(b"<urlset>" + b" " * 50_000_000, 1, mtime=0),
    ],
    ids=["depth", "names", "attributes", "tag", "comment", "text", "lines", "gzip"],
)
def test_hostile_files_take_little_memory(body):
    tracemalloc.start()
    try:
        assert parse_sitemap(body) == []
        assert tracemalloc.get_traced_memory()[1] < 30_000_000
    finally:
        tracemalloc.stop()


TAGS = ["urlset", "sitemapindex", "url", "sitemap", "loc", "lastmod"]
PARTS = [
    *map("<{}>".format, TAGS),
    *map("</{}>".format, TAGS),
    "http://h/",
    "&amp;",
    "<!--",
    "2020",
]


@given(
    st.binary(max_size=200)
    | st.lists(st.sampled_from(PARTS), max_size=25).map(lambda parts: "".join(parts).encode())
)
def test_nothing_raises(body):
    for data in (body, gzip.compress(body), gzip.compress(body)[:-9]):
        for entry in parse_sitemap(data):
            assert entry.url.startswith("http")


def test_entries_that_cannot_be_used_are_counted():
    unusable = UnusableEntries()
    locations = ("ftp://h/a", "http://h/", "", f"http://h/{'a' * 3000}")
    entries = "".join(f"<url><loc>{location}</loc></url>" for location in locations)
    body = f"<urlset>{entries}<url/></urlset>".encode()
    assert [entry.url for entry in parse_sitemap(body, unusable=unusable)] == ["http://h/"]
    assert unusable.count == 4
    assert unusable.why.startswith("ftp is not fetched: 'ftp://h/a'")
    assert parse_sitemap(b"http://h/a\n\n  \nh/b\n", unusable=unusable)
    assert unusable.count == 5


@pytest.mark.parametrize(
    ("body", "count", "is_all"),
    [
        (f"<urlset>{entries(100)}</urlset>", 0, True),
        (f"<urlset>{entries(150)}</urlset>", 50, True),
        (f"<urlset>{entries(150)}<url>", 50, False),
        ("http://h/\n" * 150, 50, True),
        ("http://h/\n" * 250, 101, False),
        (f"<urlset>{entries(50)}{'<a/>' * 300}{entries(9)}", 1, False),
    ],
)
def test_entries_behind_a_limit_are_counted(monkeypatch, body, count, is_all):
    monkeypatch.setattr(sitemaps, "MAX_ENTRIES", 100)
    monkeypatch.setattr(sitemaps, "_MAX_LINES", 200)
    monkeypatch.setattr(sitemaps, "_MAX_ELEMENTS", 400)
    beyond = EntriesBeyond()
    found = parse_sitemap(body.encode(), whole=True, beyond=beyond)
    assert len(found) in (50, 100)
    assert beyond == EntriesBeyond(count, is_all)
