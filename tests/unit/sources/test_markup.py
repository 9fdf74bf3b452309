"""Parts of pages, and what their heads tell."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise import extras
from pollwise.sources import markup
from pollwise.sources.selectors import read_selectors
from pollwise.sources.view import UnreadableError
from pollwise.web.reading.page_tree import tree_of

_TAGS = [
    f"<{end}{name}>"
    for name in ("title", "head", "body", "svg", "script", "style", "template")
    for end in ("", "/")
]
_SOUP = [
    *_TAGS,
    "<title/>",
    "News",
    "<p>",
    "<!--",
    "-->",
    "<noscript>",
    "<textarea>",
    "<header>",
    "<Title id=1>",
    "<Body x>",
    "<link rel=alternate type=application/rss+xml href=/f>",
]


def test_the_head_of_a_page_needs_no_extra(monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    html = "<title>News &amp;\n more</title><link rel=alternate type=application/rss+xml href=/f>"
    assert markup.head_of(html) == ("News & more", ("/f",))


def test_a_feed_that_is_named_below_the_head_in_numbers_of_letters_is_found():
    link = "<link rel='&#97;lternate' type=application/rss+xml href=/f>"
    html = f"<head><title>News</title></head><body>{link}<p>Text"
    assert markup.head_of(html) == ("News", ("/f",))


@given(st.lists(st.sampled_from(_SOUP), max_size=14).map("".join))
def test_where_the_head_is_enough_it_says_what_the_whole_page_does(html):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(markup, "_head", lambda page: page)
        whole = markup.head_of(html)
    assert markup.head_of(html) == whole


@pytest.mark.parametrize("hiding", ["<!-- {} -->", "<script>'{}'</script>", "<meta content='{}'>"])
@pytest.mark.parametrize("end", ["</head>", "<body>"])
def test_what_is_no_title_does_not_hide_the_title(hiding, end):
    hidden = hiding.format(f"<title>Old</title>{end}")
    assert markup.head_of(f"<head>{hidden}<title>News</title></head>") == ("News", ())


def test_of_a_long_page_only_the_head_is_read(monkeypatch):
    read = []
    monkeypatch.setattr(markup, "tree_of", lambda html: read.append(html) or tree_of(html))
    head = "<html><head><title>News</title><link rel=alternate type=application/atom+xml href=f>"
    assert markup.head_of(head + "</head><body>" + "<p>long" * 5_000) == ("News", ("f",))
    assert read == [head.encode()]


def test_tags_with_very_many_attributes_are_no_part_of_the_head_of_a_page():
    many = " ".join(f"a{n}" for n in range(4_000))
    link = "<link rel=alternate type=application/rss+xml href={}>".format
    html = "<title>News</title>" + link("/a") + link(f"/b x='>' {many}")
    assert markup.head_of(html) == ("News", ("/a",))


@pytest.mark.parametrize("selector", ["main", "xpath://main"])
@pytest.mark.parametrize("tag", ["<p {}>", "<body {}>", "<p x='>' {}>"])
def test_there_are_no_parts_of_pages_with_very_many_attributes(selector, tag):
    html = tag.format(" ".join(f"a{n}" for n in range(4_000)))
    with pytest.raises(UnreadableError, match="too many attributes"):
        markup.markup_parts(html, read_selectors([selector], "--select"), (), is_xml=False)
