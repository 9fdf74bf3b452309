import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from pollwise.sources.reading import read
from pollwise.types import PageMemory
from pollwise.web.change import fingerprint, is_changed, remembered
from pollwise.web.visible_text import visible_text

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


@given(st.binary(max_size=300) | st.text("<>!-/='\" ascriptyle&").map(str.encode))
def test_any_bytes_have_a_fingerprint(body):
    for content_type in (HTML, None, "", "image/png"):
        found = fingerprint(read(body, content_type))
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
