"""What notices say."""

from dataclasses import replace

from pollwise.insight.changes import ListedChange
from pollwise.notify.wording import text_of
from pollwise.store.records import FoundItem

URL = "https://a.example/"


def test_the_new_items_of_a_feed_come_with_their_addresses(tmp_path):
    items = (FoundItem("1", "First", f"{URL}1"), FoundItem("2", "", f"{URL}2"), FoundItem("3"))
    change = ListedChange("urn:1", 1, URL, "Feed", (), 60.0, 0.0, False, None, None, items)
    lines = text_of([change], 60.0, tmp_path / "x.db").splitlines()
    assert lines[2:6] == ["+ First", f"{URL}1", f"+ {URL}2", "+ 3"]


def test_of_many_new_items_the_first_ten_are_named(tmp_path):
    items = tuple(FoundItem(str(n), f"Item {n}") for n in range(12))
    change = ListedChange("urn:1", 1, URL, "Feed", (), 60.0, 0.0, False, None, None, items)
    lines = text_of([change], 60.0, tmp_path / "x.db").splitlines()
    assert lines[11:13] == ["+ Item 9", "+ 2 more new items"]


def test_a_notice_says_how_much_more_differs(tmp_path):
    change = ListedChange(*("urn:1", 1, URL, "", (), 60.0, 0.0, False, "old", "new", ()), further=2)
    lines = text_of([change], 60.0, tmp_path / "x.db").splitlines()
    assert lines[1:4] == ["- old", "+ new", "and 2 more blocks of text"]


def test_beyond_twenty_changes_the_new_items_of_feeds_are_told_nevertheless(tmp_path):
    page = ListedChange("urn:1", 1, URL, "", (), 60.0, 0.0, False, None, None, ())
    feed = replace(page, url=f"{URL}feed", items=(FoundItem("1", "First", f"{URL}1"),))
    lines = text_of([*(page,) * 21, feed], 60.0, tmp_path / "x.db").splitlines()
    assert lines[-5:] == ["Also changed:", URL, f"{URL}feed", "+ First", f"{URL}1"]
