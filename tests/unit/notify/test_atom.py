"""Changes as an Atom feed."""

from dataclasses import replace
from xml.etree import ElementTree

import fastfeedparser

from pollwise.insight.changes import ListedChange
from pollwise.notify.atom import atom_feed
from pollwise.store.records import ChangeKind, FoundItem

ATOM = {"a": "http://www.w3.org/2005/Atom"}
FEED = "urn:uuid:00000000-0000-4000-8000-000000000000"
CHANGES = (
    ListedChange(
        "urn:uuid:1",
        1,
        "http://a.example/?a=1&b=<2>",
        "Title \x00\x1b<b>&",
        ("shop",),
        7200.0,
        0.0,
        False,
        "old \ud800",
        "new",
        (),
    ),
    ListedChange(
        *("urn:uuid:2", 2, "http://b.example/", "", (), 9000.5, 8000.0, False, None, None),
        (FoundItem("k", "An item"),),
    ),
)


def test_an_entry_for_each_change_the_newest_first():
    feed = ElementTree.fromstring(atom_feed(FEED, CHANGES, 0.0))
    assert feed.findtext("a:id", namespaces=ATOM) == FEED
    assert feed.findtext("a:updated", namespaces=ATOM) == "1970-01-01T02:30:00.500000Z"
    newest, other = feed.findall("a:entry", ATOM)
    assert newest.findtext("a:id", namespaces=ATOM) == "urn:uuid:2"
    assert newest.findtext("a:title", namespaces=ATOM) == "http://b.example/: An item"
    summary = newest.findtext("a:summary", namespaces=ATOM)
    assert summary == "+ An item\nchanged in the 17 minutes before"
    assert other.findtext("a:title", namespaces=ATOM) == "Title <b>&"
    assert other.findtext("a:summary", namespaces=ATOM).startswith("- old\n+ new\n")
    assert other.find("a:link", ATOM).get("href") == "http://a.example/?a=1&b=<2>"
    assert other.find("a:category", ATOM).get("term") == "shop"


def test_an_entry_of_a_feed_is_called_by_its_first_new_item():
    items = (FoundItem("1", "", "http://b.example/1"), FoundItem("2", "Second"), FoundItem("3"))
    feed = ElementTree.fromstring(atom_feed(FEED, (replace(CHANGES[1], items=items),), 0.0))
    title = feed.find("a:entry", ATOM).findtext("a:title", namespaces=ATOM)
    assert title == "http://b.example/: http://b.example/1 and 2 more"


def test_an_entry_says_that_a_page_is_gone():
    gone = replace(CHANGES[1], items=(), kind=ChangeKind.GONE, status=404)
    feed = ElementTree.fromstring(atom_feed(FEED, (gone,), 0.0))
    entry = feed.find("a:entry", ATOM)
    assert entry.findtext("a:title", namespaces=ATOM) == "Gone: http://b.example/"
    summary = entry.findtext("a:summary", namespaces=ATOM)
    assert summary == "gone (404) in the 17 minutes before"


def test_a_feed_of_no_changes_has_a_time():
    feed = ElementTree.fromstring(atom_feed(FEED, (), 60.0))
    assert feed.findtext("a:updated", namespaces=ATOM) == "1970-01-01T00:01:00.000000Z"


def test_a_feed_reader_understands_it():
    feed = fastfeedparser.parse(atom_feed(FEED, CHANGES, 0.0))
    assert [entry.id for entry in feed.entries] == ["urn:uuid:2", "urn:uuid:1"]
    assert [entry.link for entry in feed.entries] == [CHANGES[1].url, CHANGES[0].url]
