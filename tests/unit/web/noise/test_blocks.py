"""Pages cut into blocks: nothing is lost, and the text of HTML stays the visible text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.web.noise.blocks import blocks_of, cutting_of
from pollwise.web.visible_text import visible_text

MARKUP = st.text("<>!-/='\" \n\r\t\fascriptylepé&").map(str.encode)


@pytest.mark.parametrize(
    ("body", "content_type", "kind"),
    [
        (b"<p>a", "Text/HTML; charset=utf-8", "html"),
        (b"<!doctype html><p>a", None, "html"),
        (b"{}", "application/json", "json"),
        (b"{}", "application/feed+json", "json"),
        (b"[1]", None, "json"),
        (b"<a/>", "application/rss+xml", "xml"),
        (b"<a/>", "text/xml", "xml"),
        (b"<p/>", "application/xhtml+xml", "xml"),
        (b"<rss/>", None, "xml"),
        (b"a", "text/csv", "text"),
        (b"a", None, "text"),
        (b"a", "image/png", "other"),
        (b"%PDF", "application/pdf", "other"),
        (b"a\0", "text/html", "other"),
    ],
)
def test_how_a_body_is_cut(body, content_type, kind):
    assert cutting_of(body, content_type) == kind


@given(st.binary(max_size=200) | MARKUP)
def test_the_blocks_of_html_are_its_visible_text(body):
    blocks = blocks_of(body, "text/html")
    if b"\0" not in body and b"\x1b" not in body:
        assert " ".join(blocks) == visible_text(body)
    assert "" not in blocks


@given(st.text("<>{}[],:\"' \na1é").map(str.encode))
@pytest.mark.parametrize("content_type", ["application/json", "text/xml", "text/plain"])
def test_the_blocks_of_the_others_have_all_but_white_space(content_type, body):
    blocks = blocks_of(body, content_type)
    assert "".join("".join(blocks).split()) == "".join(body.decode().split())
    assert all(block == block.strip() != "" for block in blocks)
