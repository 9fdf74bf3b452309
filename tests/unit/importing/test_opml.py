"""OPML files: feeds with the names of their folders, and what is no feed."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pollwise.errors import InputError
from pollwise.importing.opml import read_opml

from .one_line import read_or_refused

READER = b"""<?xml version="1.0" encoding="UTF-8"?>
<opml version="2.0"><head><title>Feeds</title></head><body>
  <outline text="Daily news, local" title="ignored">
    <outline type="rss" text="Town" xmlUrl="http://town.example/feed#top" category="/sport/ball"/>
    <outline text="Deep"><outline type="rss" xmlUrl=" https://deep.example "/></outline>
  </outline>
  <outline text="A link" type="link" url="https://example.org/"/>
  <outline type="rss" text="Bad" xmlUrl="ftp://x.example/"/>
  <outline type="rss" text="Alone" xmlUrl="https://alone.example/atom.xml"/>
</body></opml>"""


def test_the_feeds_of_a_reader():
    read = read_opml(READER)
    assert [(page.url, page.tags, page.name) for page in read.pages] == [
        ("http://town.example/feed", ("Daily-news-local", "sport", "ball"), "Town"),
        ("https://deep.example/", ("Daily-news-local", "Deep"), None),
        ("https://alone.example/atom.xml", None, "Alone"),
    ]
    assert [page.scope for page in read.pages if page.tags is None] == ["alone.example"]
    assert read.left_out == (
        "A link: no feed (it has no xmlUrl)",
        "ftp is not fetched: 'ftp://x.example/'; give a URL that begins with http:// or https://",
    )


@pytest.mark.parametrize(
    ("told", "url"),
    [
        ("feed://a.example/rss", "http://a.example/rss"),
        (" FEED:https://a.example/rss", "https://a.example/rss"),
        ("feed://https://a.example/rss", "https://a.example/rss"),
        ("feed://feed://a.example/rss", "http://a.example/rss"),
        ("feed:feed:https://a.example/rss", "https://a.example/rss"),
    ],
)
def test_the_scheme_of_feed_readers(told, url):
    [page] = read_opml(f'<opml><outline xmlUrl="{told}"/></opml>'.encode()).pages
    assert page.url == url


@pytest.mark.parametrize(
    ("told", "name"),
    [
        ('title="Only &lt;title&gt;"', "Only <title>"),
        ('text="Text" title="Title"', "Text"),
        ('text="two\n  lines\u202e"', "two lines"),
        ('text="https://a.example/feed"', None),
        ('text=" "', None),
        (f'text="{"long " * 100}"', ("long " * 40).strip()),
    ],
)
def test_the_name_of_a_feed(told, name):
    data = f"<opml><outline {told} xmlUrl='https://a.example/feed'/></opml>".encode()
    [page] = read_opml(data).pages
    assert page.name == name


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "no OPML: no element found"),
        (b"<html></html>", "its first tag is <html>"),
        (b"\xff\xfe", "no OPML"),
        (b'<!DOCTYPE x [<!ENTITY a "b">]><opml>&a;</opml>', "entities"),
    ],
)
def test_what_is_no_opml_is_said_in_a_line(data, told):
    with pytest.raises(InputError, match=told) as caught:
        read_opml(data)
    assert len(str(caught.value).splitlines()) == 1


def test_folders_may_be_deep():
    depth = 5_000
    data = b"<opml>" + b"<outline text='a'>" * depth
    data += b"<outline xmlUrl='http://a.example/'/>" + b"</outline>" * depth + b"</opml>"
    [page] = read_opml(data).pages
    assert page.tags == ("a",)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda t: f"<opml>{t}</opml>".encode()))
def test_any_bytes_are_read_or_refused(data):
    read_or_refused(read_opml, data)
