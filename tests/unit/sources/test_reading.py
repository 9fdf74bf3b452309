"""What a poll sees: samples of all kinds, parts, and what is too broken."""

import gzip
import json
import time
import zlib
from collections import Counter
from dataclasses import replace
from pathlib import Path

import fastfeedparser
import pytest

from pollwise.sources import feeds, pdf, reading
from pollwise.sources.reading import read
from pollwise.sources.recognition import recognised
from pollwise.sources.view import Parts, UnreadableError, View
from pollwise.web.reading.page_parser import parse_page

SAMPLES = Path(__file__).parents[2] / "data" / "sources"
SEEN = json.loads((SAMPLES / "seen.json").read_text(encoding="utf-8"))
HTML, XHTML = "text/html", "application/xhtml+xml"
XML, JSON = "application/xml", "application/json"
PAGE = (SAMPLES / "page.html").read_bytes()


def summary(view: View) -> dict:
    """As in `seen.json`."""
    told: dict = {"kind": view.kind, "title": view.title}
    if view.items is None:
        told["blocks"] = [len(view.blocks), *(block[:60] for block in view.blocks[:4])]
    else:
        told["items"] = [
            [
                item.found.key,
                item.found.title,
                item.found.url,
                item.found.published_at,
                item.text[:60],
            ]
            for item in view.items
        ]
    if view.feeds:
        told["feeds"] = list(view.feeds)
    if view.notice:
        told["notice"] = view.notice
    return told


def test_every_sample_was_looked_at():
    assert {path.name for path in SAMPLES.iterdir()} == SEEN.keys() | {"README.md", "seen.json"}


@pytest.mark.parametrize("name", SEEN)
def test_samples(name):
    told = dict(SEEN[name])
    body, content_type = (SAMPLES / name).read_bytes(), told.pop("content_type")
    if "error" in told:
        with pytest.raises(UnreadableError) as error:
            read(body, content_type)
        assert str(error.value) == told["error"]
    else:
        assert summary(read(body, content_type)) == told


@pytest.mark.parametrize("content_type", [None, HTML, "text/plain", "application/octet-stream"])
def test_feeds_are_known_by_their_first_element(content_type):
    for name in ("rss-2.0-no-ids.xml", "atom-1.0-xhtml.xml", "rss-1.0-annotated.xml"):
        assert recognised((SAMPLES / name).read_bytes(), content_type) == "feed"


def test_a_page_about_pdf_is_a_page():
    assert recognised(b"<p>A PDF begins with %PDF-1.7", HTML) == "page"
    assert recognised(b"junk %PDF-1.7", "Application/PDF; x=y") == "pdf"


@pytest.mark.parametrize(
    "body", [b"<feed><entry/></feed>", b"<rdf:RDF/>", b"<p>of <rss>", b"<!--<rss>--><a/>"]
)
def test_others_are_none(body):
    assert recognised(body, XML) == "xml"


CYRILLIC = "<meta charset=cp1251><p>Киты 17<p>Порт 18".encode("cp1251")
PARTS = [
    (PAGE, HTML, ["main"], [".ad", "h2"], ["Ships in the harbour", "Berth 4", "Berth 7"]),
    (PAGE, HTML, ["article", "main h1"], ["p"], ["Anna", "Berta", "Ships in the harbour"]),
    (PAGE, HTML, ["main, article"], ["xpath://p", "h1"], ["Anna", "Berta"]),  # each only once
    (PAGE, HTML, ["xpath://p/@class"], [], ["berth", "ad", "berth"]),
    (PAGE, HTML, ["xpath://h2/text()", "h1"], [], ["Anna", "Berta", "Ships in the harbour"]),
    (PAGE, HTML, ["footer"], ["re:\\d"], ["Made at ::"]),
    (PAGE, HTML, ["re:B[a-z]+", "footer"], ["main"], None),
    (b"<a>1<b>2</b>3<b>4</b></a>", XML, [], ["xpath://b"], ["<a>", "13", "</a>"]),
    (b"<a>1<b/>2</a>", XML, [], ["xpath:/a/text()"], ["<a>", "<b/>", "</a>"]),
    (b'{"a": [1, 2, 3], "b": 4}', JSON, ["json:$.a"], ["json:$.a[0,2]"], ["[", "2]"]),
    (b'{"a": {"b": 1}}', JSON, [], ["json:$..b", "json:$.a.b"], ["{", '"a": {}}']),
    (CYRILLIC, f"{HTML}; charset=windows-1251", ["re:[А-Я]\\S+ \\d+"], [], ["Киты 17", "Порт 18"]),
    (CYRILLIC, HTML, [], ["re:Порт"], ["Киты 17", "18"]),
    (b"one 17\ntwo 18", "text/plain", ["re:[a-z]+ \\d"], [], ["one 1", "two 1"]),
]


@pytest.mark.parametrize("number", range(len(PARTS)))
def test_parts(number):
    body, content_type, select, ignore, kept = PARTS[number]
    parts = Parts(tuple(select), tuple(ignore))
    if kept is None:
        with pytest.raises(UnreadableError, match=r"select re:B\[a-z\]\+ matches nothing"):
            read(body, content_type, parts)
        return
    view = read(body, content_type, parts)
    assert list(view.blocks) == kept
    assert not view.exact
    assert view.mark == parts.mark != read(body, content_type).mark == ""


@pytest.mark.parametrize(
    ("body", "content_type", "ignore"),
    [
        (b'{"a": 1}', JSON, ".banner"),
        (b"<a>1</a>", XML, ".banner"),
        (b"<p>News", HTML, "json:$.a"),
        (b"News", "text/plain", "xpath://p"),
        (b"\0\1", "image/png", "re:a"),
        ((SAMPLES / "rss-2.0-no-ids.xml").read_bytes(), XML, ".banner"),
    ],
)
def test_what_is_ignored_in_another_kind_of_page_is_missing(body, content_type, ignore):
    parts = Parts(ignore=(ignore,))
    assert read(body, content_type, parts) == replace(read(body, content_type), mark=parts.mark)


def test_selectors_of_xhtml_are_those_of_pages():
    body = (SAMPLES / "page.xhtml").read_bytes()
    assert read(body, "application/xhtml+xml", Parts(("#news",))).blocks == ("One",)


@pytest.mark.parametrize(
    ("body", "content_type", "select", "ignore", "why"),
    [
        (PAGE, HTML, "section > p", None, "select section > p matches nothing"),
        (PAGE, HTML, "re:Zeppelin", None, "select re:Zeppelin matches nothing"),
        (PAGE, HTML, "article", "article", "select article matches nothing"),
        (PAGE, HTML, None, "html", "ignore html leaves nothing"),
        (PAGE, HTML, None, "re:.+", "ignore re:.+ leaves nothing"),
        (PAGE, HTML, "json:$.a", None, "json:$.a names no part of HTML"),
        (
            PAGE,
            HTML,
            "xpath://p[contains(.)]",
            None,
            "xpath://p[contains(.)] cannot be evaluated: ",
        ),
        (
            PAGE,
            HTML,
            None,
            "xpath://p/namespace::*",
            "xpath://p/namespace::* finds namespaces, not",
        ),
        (b"{}", JSON, "main", None, "main names no part of JSON; give json:... or re:..."),
        (
            b"<p>",
            HTML,
            "json:$.a",
            None,
            "json:$.a names no part of HTML; give CSS or",
        ),
        (b"[1, ", JSON, "json:$[0]", None, "selectors of JSON, but the answer is none: Expecting"),
        (b"[" * 100_000, JSON, "json:$[0]", None, "the JSON nests too deeply for selectors"),
        (b"<a/>", XML, "main", None, "main names no part of XML"),
        (b"\0\1", "image/png", "re:a", None, "re:a names no part of what is no text"),
    ],
)
def test_parts_that_cannot_be_had(body, content_type, select, ignore, why):
    parts = Parts(tuple(filter(None, [select])), tuple(filter(None, [ignore])))
    with pytest.raises(UnreadableError) as error:
        read(body, content_type, parts)
    assert str(error.value).startswith(why)
    assert "\n" not in str(error.value)


def test_what_nobody_thought_of_is_a_body_that_cannot_be_read(monkeypatch):
    def trip(html: str) -> None:
        raise KeyError(f"{html}\n odd")

    monkeypatch.setattr(reading, "head_of", trip)
    with pytest.raises(UnreadableError) as error:
        read(b"<p>News", HTML)
    assert str(error.value) == r"it cannot be read: KeyError: '<p>News\n odd'"


def test_ids_are_no_times_of_items():
    told = "Mon, 15 Jan 2024 10:00:00 GMT"
    items = [
        *(
            "<guid>1</guid>",
            "<guid> 4711 </guid>",
            "<guid>20240115</guid>",
            "<guid>2024-01-15</guid>",
        ),
        f"<guid>20240116</guid><pubDate>{told}</pubDate>",
        f"<guid>20240116</guid><lastBuildDate>{told}</lastBuildDate>",
        f"<guid>&lt;a&amp;b></guid><pubDate>{told}</pubDate>",
    ]
    body = "<rss><channel>{}</channel></rss>".format("".join(map("<item>{}</item>".format, items)))
    found = [item.found.published_at for item in read(body.encode(), XML).items]
    assert found == [None] * 4 + [1705312800.0] * 3


def test_ids_of_many_items_are_read_in_no_time(monkeypatch):
    """The library tries to read each of them as a time, which takes it a fifth of a millisecond."""
    read_as_times = Counter[str]()
    parse_date = fastfeedparser.main.dateutil_parser.parse

    def counted(text: str, *told, **named):
        read_as_times[text] += 1
        return parse_date(text, *told, **named)

    monkeypatch.setattr(fastfeedparser.main.dateutil_parser, "parse", counted)
    told = "<pubDate>Mon, 15 Jan 2024 10:00:00 GMT</pubDate>"
    items = "".join(f"<item><guid>id {n}</guid>{told}</item>" for n in range(100))
    view = read(f"<rss><channel>{items}</channel></rss>".encode(), XML)
    assert {item.found.published_at for item in view.items} == {1705312800.0}
    assert not read_as_times


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"<rss>" + b" " * (16 << 20), "a feed of more than 16 MiB"),
        (b"<rss>" + b"<item></item>" * 50_001, "a feed of more than 50,000 items"),
        (
            b'{"version": "https://jsonfeed.org/version/1.1", "items": [1' + b",1" * 50_000 + b"]}",
            "a feed of more than 50,000 items",
        ),
    ],
    ids=["bytes", "items", "items of JSON"],
)
def test_a_feed_that_would_take_long_is_refused_at_once(body, why):
    with pytest.raises(UnreadableError, match=why):
        read(body, None)


FEEDS = [name for name, told in SEEN.items() if told.get("kind") == "feed" and "error" not in told]


@pytest.mark.parametrize("name", FEEDS)
def test_a_feed_says_the_same_as_gzip(name):
    body = (SAMPLES / name).read_bytes()
    assert summary(read(gzip.compress(body), "application/gzip")) == summary(read(body, None))


def test_another_gzip_is_compared_byte_for_byte():
    for other in (PAGE, b'{"version": 1}', b"<feed/>"):
        assert read(gzip.compress(other), "application/gzip").kind == "bytes"


def test_a_feed_that_is_broken_or_huge_as_gzip_is_refused():
    piece = zlib.compressobj(wbits=31)
    huge = piece.compress(b"<rss>") + piece.compress(b" " * (1 << 28)) + piece.flush()
    with pytest.raises(UnreadableError, match="a feed of more than 16 MiB"):
        read(huge, "application/gzip")
    sound = gzip.compress(b"<rss>" + bytes(range(256)) * 999)
    with pytest.raises(UnreadableError, match="a feed whose gzip is broken"):
        read(sound[:500] + b"\xff" * 50 + sound[550:], None)


def test_one_odd_item_does_not_spoil_a_json_feed():
    told = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": ["odd"],
        "authors": {},
        "items": [
            {
                "id": "1",
                "title": "One",
                "date_published": 5,
                "authors": "Anna",
                "summary": "\ud800",
            },
            "odd",
            {"id": 2, "title": 7, "content_text": "Two", "attachments": [1]},
            {"id": "20240115", "date_published": "2024-01-15T10:00:00Z"},
        ],
    }
    view = read(json.dumps(told).encode(), JSON)
    found = [item.found for item in view.items]
    assert [(item.key, item.title, item.published_at) for item in found] == [
        ("1", "One", None),
        ("2", "Two", None),
        ("20240115", "", 1705312800.0),
    ]
    assert view.title == ""


def test_times_that_a_calendar_in_utc_cannot_show():
    body = json.dumps(
        {
            "version": "https://jsonfeed.org/version/1.1",
            "items": [{"id": "1", "date_published": "0001-01-01T00:00:00+14:00"}],
        }
    )
    assert read(body.encode(), JSON).items[0].found.published_at is None


def test_a_feed_of_which_parts_are_selected_is_a_document():
    body = (SAMPLES / "rss-2.0-podcast.xml").read_bytes()
    view = read(body, XML, Parts(("xpath://item/title",)))
    assert (view.kind, view.items) == ("xml", None)
    assert "Swifts" in view.blocks
    feed = read(body, XML, Parts((), ("re:in .*air",)))
    assert [item.text for item in feed.items] == ["They sleep  .", ""]


@pytest.mark.parametrize(
    "piece",
    ["<div>", "<div><!--</div>-->", "<div x='</div>'>", "<b><script></b></script>", "<ul><li>"],
)
def test_tags_that_nest_too_deeply(piece):
    """A tree builder would take half a minute."""
    body = ("<p>News" + piece * 64_000).encode()
    begun = time.process_time()
    with pytest.raises(UnreadableError, match="nest more than 1,000 deep"):
        read(body, HTML, Parts(("p",)))
    assert read(body, HTML).title == ""
    assert time.process_time() - begun < 10


def test_a_long_list_does_not_nest():
    body = ("<ul>" + "<li><p>one<br>" * 20_000 + "</ul>").encode()
    assert len(read(body, HTML, Parts(("li",))).blocks) == 20_000


def test_expressions_that_would_backtrack_end():
    body = b"a" * 200_000 + b"b"
    parts = Parts((), ("re:(a+)+$",))
    assert read(body, "text/plain", parts).blocks == (body.decode(),)


def test_without_the_libraries(monkeypatch):
    monkeypatch.setattr(feeds, "find_spec", lambda name: None)
    monkeypatch.setattr(pdf, "find_spec", lambda name: None)
    feed = read((SAMPLES / "rss-2.0-podcast.xml").read_bytes(), XML)
    assert (feed.kind, feed.exact, feed.items) == ("xml", True, None)
    assert feed.notice == (
        "read as xml, as fastfeedparser is missing: pip install 'pollwise[feeds]'"
    )
    document = read((SAMPLES / "text.pdf").read_bytes(), "application/pdf")
    assert (document.kind, document.blocks) == ("bytes", ())
    assert "pip install 'pollwise[text]'" in document.notice


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ("<title>News</title><p>It rains".encode("utf-16"), HTML),
        ("<title>News</title><p>It rains".encode("utf-16-be"), "text/html; charset=utf-16be"),
        (b"<title>\x01Ne\x1bws\n</title><p>It rains", HTML),
        (b"<svg><title>Icon</title></svg><title> </title><title>News</title>", HTML),
        (b"<html xmlns='http://www.w3.org/1999/xhtml'><title>News</title></html>", XHTML),
    ],
)
def test_a_page_has_the_same_title_wherever_it_is_shown(body, content_type):
    assert read(body, content_type).title == "News"
    assert parse_page(body, content_type, "http://a/").title == "News"
