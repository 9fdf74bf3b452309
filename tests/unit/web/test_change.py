import re
from collections.abc import Container
from dataclasses import replace

import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from pollwise.sources.reading import read, read_plainly
from pollwise.sources.view import Parts, View
from pollwise.types import PageMemory
from pollwise.web import change
from pollwise.web.change import compare, fingerprint, is_changed, is_same, remembered, same
from pollwise.web.visible_text import visible_blocks, visible_text

HTML = "text/html; charset=utf-8"


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>one</p>\n\n<p>two</p>", "one two"),
        ("a<!-- b -->c", "a c"),
        ("a<!-->b-->c", "a b-->c"),
        ("a<!-- b --!>c", "a c"),
        ("a<!-- b", "a"),
        ("a<script>b</script>c", "a c"),
        ("a<SCRIPT async>if (b</c>d) {}</Script >e", "a e"),
        ("a<scripture>b", "a b"),
        ("a<style>b</style><template><p>c</template><noscript>d</noscript>e", "a e"),
        ("a<script>b", "a"),
        ("a<img alt=\"x>y\" title='>'>b", "a b"),
        ("a<p class", "a"),
        ("1 < 2 > 0", "1 < 2 > 0"),
        ("<!doctype html><title>t</title>", "t"),
        ("", ""),
    ],
)
def test_visible_text(html, text):
    assert visible_text(html.encode()) == text


_EACH_TAG = re.compile(
    r"""
    < (?: !-- (?: -?> | (?: [^-]++ | -(?!-!?>) | )*+ (?:--!?>|\Z) )
        | (script|style|template|noscript) (?=[\s/>])
          (?: [^<]++ | <(?!/\1[\s/>]) | )*+ (?: </\1 [^>]*+ (?:>|\Z) | \Z )
        | [a-z/!?] [^>=]*+
          (?: = (?: \s*+ (?: "[^"]*+(?:"|\Z) | '[^']*+(?:'|\Z) ) | )?+ [^>=]*+ | )*+ (?:>|\Z) )
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""Tags one by one, as versions up to 0.6.0 took them out: hashes of that are in databases."""
_PIECES = ["<", ">", "/", "=", "'", '"', " ", "\n", "\t", "\r", "<b>", "</b>", "<br/>", "<a href=x"]
_PIECES += ["<!--", "-->", "<script", "</script>", "<style>", "</style>", "<svg>", "<tr>", "</TR >"]
_PIECES += ["<noscript>", "</noscript>", "<template", "<nav>", "1 < 2", "w", "\u212a", "<\u017f>"]


@given(st.lists(st.sampled_from(_PIECES), max_size=40).map("".join))
def test_tags_that_are_taken_out_together_leave_the_same_text(html):
    text = re.sub("[ \t\n\f\r]+", " ", _EACH_TAG.sub(" ", html)).strip(" ")
    assert visible_text(html.encode()) == text
    assert " ".join(visible_blocks(html)) == text


@given(st.binary(max_size=300) | st.text("<>!-/='\" ascriptyle&").map(str.encode))
def test_any_bytes_have_a_fingerprint(body):
    for content_type in (HTML, None, "", "image/png"):
        found = fingerprint(read_plainly(body, content_type))
        assert found.body_hash == xxhash.xxh3_128_hexdigest(body)
        assert len(found.text_hash) == 32


@pytest.mark.parametrize(
    ("before", "after", "content_type", "changed"),
    [
        (b"<p>a", b"<p>a", HTML, False),
        (b"<p>a", b"<p>b", HTML, True),
        (b"<p id=1>a", b"<p id=2>a", HTML, False),
        (b"<p>a<script>1</script>", b"<p>a<script>2</script>", "Text/HTML", False),
        (b"<p>a  b", b"<p>a\nb", HTML, False),
        (b"<html><p id=1>a", b"<html><p id=2>a", None, False),
        (b"<p id=1>a", b"<p id=2>a", None, True),
        (b"<p id=1>a", b"<p id=2>a", "text/plain", True),
        (b"<p id=1>a", b"<p id=2>a", "application/xhtml+xml", True),
        (b"<script>1</script>", b"<script>2</script>", HTML, True),
        ("<p>ä".encode("utf-16"), "<p>ü".encode("utf-16"), HTML, True),
        ("<p id=1>ěa".encode("utf-16"), "<p id=2>ěa".encode("utf-16"), HTML, False),
        ("<p id=1>a".encode("utf-16-le"), "<p id=2>a".encode("utf-16-le"), HTML, True),
        (b"<p>\xe4", b"<p>\xfc", "text/html; charset=latin1", True),
    ],
)
def test_what_is_a_change(before, after, content_type, changed):
    first = fingerprint(read(before, content_type))
    memory = PageMemory(body_hash=first.body_hash, text_hash=first.text_hash)
    assert is_changed(memory, fingerprint(read(after, content_type))) is changed


def test_without_a_copy_everything_is_new():
    assert is_changed(PageMemory(), fingerprint(read(b"", HTML)))


def test_earlier_versions_are_remembered_each_once():
    memory = PageMemory(etag='"1"')
    known = []
    for text in ("a", "b", "a", "<!-- -->a", "c", "b"):
        found = fingerprint(read(f"<p>{text}".encode(), HTML))
        known.append(found.text_hash in memory.earlier_hashes)
        memory = remembered(memory, found)
        assert (memory.body_hash, memory.text_hash) == (found.body_hash, found.text_hash)
        assert memory.etag is None
    assert known == [False, False, True, False, False, True]
    a, c = (fingerprint(read(body, HTML)).text_hash for body in (b"<p>a", b"<p>c"))
    assert memory.earlier_hashes == (a, c)


@given(st.lists(st.integers(0, 20)))
def test_the_latest_twelve_versions_before_the_copy_are_remembered(numbers):
    memory, seen = PageMemory(), []
    for number in numbers:
        found = fingerprint(read(b"%d" % number, "text/plain"))
        memory = remembered(memory, found)
        seen = [each for each in seen if each != found.text_hash]
        assert memory.earlier_hashes == tuple(seen[-12:])
        seen.append(found.text_hash)


@pytest.mark.parametrize(
    "piece", [b"<div>", b"<a =", b'="', b"<!--", b"<!", b"<script>", b"</script", b"<", b" "]
)
def test_pages_made_to_hurt_end(piece):
    """What takes a tree builder minutes is read at once: an endless test would tell."""
    visible_text(b"<p>" + piece * 100_000)


def feed(*items, built=0) -> View:
    """A feed of such items: an id, a title and a text."""
    told = "".join(
        f"<item><guid>{key}</guid><title>{title}</title><description>{text}</description>"
        f"<pubDate>Thu, 01 Jan 1970 00:00:{int(key):02} GMT</pubDate></item>"
        for key, title, text in items
    )
    body = f"<rss><channel><title>At {built}</title>{told}</channel></rss>"
    return read(body.encode(), "application/rss+xml")


A, B, C = ("1", "a", "x"), ("2", "b", "y"), ("3", "c", "z")


def polled(*views: View, reverted: Container[int] = ()) -> list[tuple[bool, list[str] | None]]:
    """Of each view in order, whether it is a change, and the ids of its new items.

    `reverted`: the numbers of those that are a change back to what was there before.
    """
    memory, found = PageMemory(), []
    for number, view in enumerate(views):
        compared = compare(memory, view)
        memory = compared.memory
        new = None if compared.items is None else [item.key for item in compared.items]
        found.append((compared.changed, new))
        assert compared.reverted == (number in reverted)
    return found


@pytest.mark.parametrize(
    ("views", "found"),
    [
        ([feed(A), feed(A, built=1)], (False, [])),
        ([feed(A), feed(B, A)], (True, ["2"])),
        ([feed(B, A), feed(A, B)], (False, [])),
        ([feed(C, B, A), feed(C)], (False, [])),
        ([feed(C, B, A), feed(C), feed(C, B, A)], (False, [])),  # they come back
        ([feed(A), feed(("1", "A", "x"))], (True, [])),
        ([feed(A), feed(("1", "a", "another text"))], (True, [])),
        ([feed(("1", "a", "17 votes")), feed(("1", "a", "18 votes"))], (False, [])),
        ([feed(("1", "17", "a")), feed(("1", "18", "a"))], (True, [])),
        ([feed(), feed(A)], (True, ["1"])),
        ([feed(A), feed(A, A)], (False, [])),
    ],
)
def test_a_feed_changes_by_its_items(views, found):
    first, *_, last = polled(*views)
    assert first == (True, None)
    assert last == found


def test_the_time_of_a_change_is_that_of_its_latest_item():
    memory = compare(PageMemory(), feed(A)).memory
    compared = compare(memory, feed(C, B, A))
    assert compared.changed_at == 3.0
    assert compare(compared.memory, feed(C, B, A, built=1)).changed_at is None


def test_a_feed_of_which_an_earlier_version_kept_the_text_begins_anew():
    body = b"<rss><channel><lastBuildDate>17</lastBuildDate></channel></rss>"
    memory = compare(PageMemory(), read_plainly(body, "text/html")).memory
    compared = compare(memory, feed(A, built=1))
    assert not compared.changed
    again = compare(compared.memory, feed(A, B, built=2))
    assert again.changed
    assert [item.key for item in again.items] == ["2"]


@pytest.mark.parametrize(
    ("before", "back", "new"),
    [
        (feed(A), feed(A, built=1), []),
        (feed(A), feed(B, A), ["2"]),
        (feed(), feed(), []),
        (feed(), feed(A), ["1"]),
    ],
)
def test_a_feed_that_was_a_login_page_meanwhile_is_back_with_what_is_new(before, back, new):
    login, again = (read(b"<p>Log in, please %d" % n, HTML) for n in (1, 2))
    views = (before, login, again, back, back)
    *before, is_back, after = polled(*views, reverted=() if new else {3})
    assert before == [(True, None), (True, None), (True, None)]
    assert (is_back, after) == ((True, new), (False, []))


def test_items_that_left_are_remembered_up_to_a_bound(monkeypatch):
    monkeypatch.setattr(change, "_MOST_ITEMS_GONE", 2)
    memory = compare(PageMemory(), feed(A, B)).memory
    for view in (feed(C), feed(("4", "d", "")), feed(("5", "e", ""))):
        memory = compare(memory, view).memory
    assert len(memory.items) == 3
    assert not compare(memory, feed(C)).changed
    assert compare(memory, feed(A)).changed


def test_other_parts_are_no_change_but_a_new_beginning():
    parts = [Parts(), Parts(("b",)), Parts(("b",)), Parts(("p",)), Parts()]
    memory, found = PageMemory(), []
    for n, each in enumerate(parts):
        body = b"<p>%d<b>News</b>" % n
        compared = compare(memory, read(body, HTML, each))
        found.append(compared.changed)
        memory = compared.memory
    assert found == [True, False, False, False, False]
    assert compare(memory, read(b"<p>New<b>News</b>", HTML)).changed


def test_a_body_that_is_the_same_need_not_be_read():
    body, parts = b"<p>a", Parts(("p",))
    memory = compare(PageMemory(), read(body, HTML, parts)).memory
    assert is_same(memory, body, parts)
    assert not is_same(memory, body)
    assert not is_same(memory, body + b" ", parts)
    found = same(replace(memory, etag='"1"'), memory.body_hash)
    assert (found.changed, found.memory) == (False, memory)


@pytest.mark.parametrize(
    ("page", "told"),
    [
        (b"<p>News", HTML),
        (b"<!doctype html><title>T</title>\n<p>It is 12:03.", HTML),
        (b"News<p>of today", HTML),
        (b"News\nof today", "text/plain"),
        (b'{"news": [1, 2]}', "application/json"),
        (b"<?xml version='1.0'?><a><b>News</b></a>", "application/xml"),
    ],
)
def test_a_byte_order_mark_that_comes_or_goes_is_no_change(page, told):
    marked = b"\xef\xbb\xbf" + page
    for before, after in ((page, marked), (marked, page)):
        memory = compare(PageMemory(), read(before, told)).memory
        found = compare(memory, read(after, told))
        assert not found.changed
        assert not compare(found.memory, read(before, told)).changed
        assert found.memory.earlier_hashes == ()
        assert compare(memory, read(after + b" More", told)).changed
    # What the databases of earlier versions have of a page with such a mark holds on.
    text = xxhash.xxh3_128_hexdigest("\ufeff News".encode())
    assert fingerprint(read(b"\xef\xbb\xbf<p>News", HTML)).text_hash == text
