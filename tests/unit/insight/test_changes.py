"""What changed, as it is read from a database that may be at work."""

import json
import math
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from pollwise.errors import InputError, StoreError
from pollwise.insight.changes import (
    change_id,
    happened,
    read_changes,
    read_diff,
    read_history,
    since_of,
)
from pollwise.insight.documents import document
from pollwise.store import Store
from pollwise.store.records import Batch, ChangeKind, FoundItem, NewPage, PollResult
from pollwise.store.retention import parse_retention
from pollwise.types import Observation, Outcome, PageMemory, Version

URL, OTHER = "http://a.example/", "http://b.example/feed"


def poll(page_id: int, at: float, body: str, **told: object) -> PollResult:
    version = Version(page_id, at, "text/html", body.encode(), f"{page_id:016x}{int(at):016x}")
    seen = Observation(page_id, at, Outcome.CHANGED, reverted=bool(told.pop("reverted", False)))
    return PollResult(seen, PageMemory(), version, **told)  # type: ignore[arg-type]


def gone(page_id: int, at: float) -> PollResult:
    return PollResult(Observation(page_id, at, Outcome.GONE), PageMemory(), status=404)


def back(page_id: int, at: float) -> PollResult:
    return PollResult(Observation(page_id, at, Outcome.UNCHANGED), PageMemory())


@pytest.fixture
def db(tmp_path: Path) -> Path:
    path = tmp_path / "x.db"
    with Store.open(path) as store:
        store.add_pages([NewPage(URL, tags=("shop",)), NewPage(OTHER)], now=0.0)
        items = (FoundItem("k", "An item", "http://b.example/1", 15.0),)
        for result in (
            poll(0, 10.0, "<title>Shop</title><p>Price: 1 EUR"),
            poll(1, 11.0, "<rss>"),
            poll(0, 20.0, "<title>Shop</title><p>Price: 2 EUR", title="Shop"),
            poll(1, 25.0, "<rss/>", items=items, title="Feed"),
            poll(0, 30.0, "<title>Shop</title><p>Price: 1 EUR", title="Shop", reverted=True),
        ):
            store.commit(Batch(polls=(result,)))
    return path


def test_the_newest_changes_come_last_with_what_differs(db):
    answer = read_changes(db, since=0.0)
    price, feed, back = answer.changes
    assert (price.url, price.title, price.tags) == (URL, "Shop", ("shop",))
    assert (price.before_at, price.seen_at, price.reverted) == (10.0, 20.0, False)
    assert (price.removed, price.added) == ("Price: 1 EUR", "Price: 2 EUR")
    assert (feed.title, feed.items[0].title, feed.removed, feed.added) == (
        "Feed",
        "An item",
        None,
        None,
    )
    assert (back.before_at, back.reverted) == (20.0, True)
    assert json.loads(json.dumps(document(answer)))["changes"][1]["items"][0]["key"] == "k"


def test_what_is_asked_for_is_listed(db):
    assert [one.seen_at for one in read_changes(db, since=25.0).changes] == [25.0, 30.0]
    assert [one.seen_at for one in read_changes(db, since=0.0, tag="shop").changes] == [20.0, 30.0]
    answer = read_changes(db, since=0.0, limit=1)
    assert ([one.seen_at for one in answer.changes], answer.left_out) == ([30.0], 2)
    assert read_changes(db, since=31.0).changes == ()


def test_the_changes_of_one_page(db):
    answer = read_changes(db, since=0.0, url=URL)
    assert [one.seen_at for one in answer.changes] == [20.0, 30.0]
    answer = read_changes(db, since=0.0, url=URL, limit=1)
    assert ([one.seen_at for one in answer.changes], answer.left_out) == ([30.0], 1)
    assert read_changes(db, since=25.0, url=URL, tag="other").changes == ()
    with pytest.raises(InputError, match=r"http://c\.example/ was never watched in"):
        read_changes(db, since=0.0, url="http://c.example/")


def test_the_changes_of_a_url_that_several_pages_had(db):
    with Store.open(db) as store:
        store.remove_pages([0], now=35.0)
        store.add_pages([NewPage(URL)], now=40.0)
        for at in (50.0, 60.0):
            store.commit(Batch(polls=(poll(2, at, f"<p>At {at}"),)))
    answer = read_changes(db, since=0.0, url=URL, limit=2)
    assert ([one.seen_at for one in answer.changes], answer.left_out) == ([30.0, 60.0], 1)


def test_changes_are_in_the_order_of_their_times_whenever_they_were_committed(db):
    with Store.open(db) as store:
        for at in (50.0, 40.0):  # the first of them looked for noise, and took longer
            store.commit(Batch(polls=(poll(int(at == 40.0), at, f"<p>At {at}"),)))
    times = [one.seen_at for one in read_changes(db, since=25.0).changes]
    assert times == sorted(times)


def test_the_id_of_a_change_stays(db):
    ids = [change.id for change in read_changes(db, since=0.0).changes]
    assert len(set(ids)) == 3
    with Store.open(db) as store:
        assert ids == [change_id(store.database_id(), seq) for seq in (1, 2, 3)]
        store.commit(Batch(polls=(poll(0, 40.0, "<p>x"),)))
    assert [change.id for change in read_changes(db, since=0.0).changes][:3] == ids


def test_the_history_of_a_page(db):
    answer = read_history(db, URL)
    assert (answer.watched, answer.versions, answer.left_out) == (True, 3, 0)
    first, second, third = answer.entries
    assert (first.version, first.first_copy, first.title, first.before_at) == (
        1,
        True,
        "Shop",
        None,
    )
    assert (second.version, second.first_copy, second.added) == (2, False, "Price: 2 EUR")
    assert (third.version, third.reverted, third.before_at) == (3, True, 20.0)
    assert [one.version for one in read_history(db, URL, limit=1).entries] == [3]
    assert read_history(db, URL, limit=1).left_out == 2


def test_a_page_that_was_removed_and_watched_again_has_one_history(db):
    with Store.open(db) as store:
        store.remove_pages([0], now=35.0)
        assert not read_history(db, URL).watched  # while a writer is at work
        store.add_pages([NewPage(URL)], now=40.0)
        store.commit(Batch(polls=(poll(2, 50.0, "<p>Closed"),)))
    answer = read_history(db, URL)
    assert [one.version for one in answer.entries] == [1, 2, 3, 4]
    assert [one.first_copy for one in answer.entries] == [True, False, False, True]
    assert read_diff(db, URL, 2, 4).after.seen_at == 50.0
    assert [one.url for one in read_changes(db, since=0.0).changes] == [URL, OTHER, URL]


def test_a_change_outlives_its_versions(db):
    with Store.open(db) as store:
        store.keep_versions(parse_retention("1"))
        for at in (40.0, 50.0):
            store.commit(Batch(polls=(poll(0, at, f"<p>{at}"),)))
    entries = read_history(db, URL).entries
    assert [one.version for one in entries] == [None, None, None, 1]
    assert [one.bytes is None for one in entries] == [True, True, True, False]
    assert entries[0].removed is None
    with pytest.raises(InputError, match="one version is kept, and two are needed"):
        read_diff(db, URL)


def test_a_page_that_is_gone_and_back_is_among_the_changes(db):
    with Store.open(db) as store:
        for result in (gone(0, 40.0), gone(1, 45.0), back(0, 50.0)):
            store.commit(Batch(polls=(result,)))
    told = read_changes(db, since=40.0).changes
    assert [(one.url, happened(one.kind, one.status), one.before_at) for one in told] == [
        (URL, "gone (404)", 30.0),
        (OTHER, "gone (404)", 25.0),
        (URL, "back", 40.0),
    ]
    assert [(one.removed, one.added, one.title) for one in told[::2]] == [(None, None, "Shop")] * 2
    assert [one.seen_at for one in read_changes(db, since=40.0, tag="shop").changes] == [40.0, 50.0]
    first, *_, lost, found = read_history(db, URL).entries
    assert (first.kind, first.status, first.first_copy) == (None, None, True)
    assert (lost.kind, lost.status, lost.version, lost.bytes) == (ChangeKind.GONE, 404, None, None)
    assert (found.kind, found.version, found.first_copy) == (ChangeKind.BACK, None, False)
    written = document(told[0])
    assert (written["kind"], written["status"]) == ("gone", 404)


def test_a_page_is_gone_also_where_no_change_tells_of_it(db):
    # As after an upgrade, or when the change is kept no more.
    with Store.open(db) as store:
        store.commit(Batch(polls=(gone(0, 40.0), gone(0, 50.0))))
        store._connection._sqlite.execute("DELETE FROM changes WHERE seen_at = 40.0")
    assert read_diff(db, URL).gone_at == 40.0
    with Store.open(db) as store:
        failed = PollResult(Observation(0, 60.0, Outcome.FAILED), PageMemory(), error="no answer")
        store.commit(Batch(polls=(failed,)))
    assert read_diff(db, URL).gone_at == 40.0
    with Store.open(db) as store:
        store.commit(Batch(polls=(back(0, 70.0),)))
    assert read_diff(db, URL).gone_at is None


def test_the_versions_of_a_page_that_is_gone_are_compared(db):
    assert read_diff(db, URL).gone_at is None
    with Store.open(db) as store:
        store.commit(Batch(polls=(gone(0, 40.0), gone(0, 50.0))))
    answer = read_diff(db, URL)
    assert (answer.after.version, answer.gone_at) == (3, 40.0)
    with Store.open(db) as store:
        store.keep_versions(parse_retention("1"))
        store.commit(Batch(polls=(gone(0, 60.0),)))
    with pytest.raises(InputError, match=r"has been gone since 1970-01-01 00:00:40 \(UTC\)"):
        read_diff(db, URL)


def test_the_difference_of_two_versions(db):
    answer = read_diff(db, URL)
    assert (answer.before.version, answer.after.version, answer.after.title) == (2, 3, "Shop")
    [hunk] = answer.hunks
    [block] = hunk.blocks
    assert [(some.kind.value, some.text) for some in block.words] == [
        ("same", "Price:"),
        ("removed", "2"),
        ("added", "1"),
        ("same", "EUR"),
    ]
    assert read_diff(db, URL, 1).before.version == 1
    assert read_diff(db, URL, 1, 3).hunks == ()
    assert read_diff(db, URL, 3, 2).hunks != ()


@pytest.mark.parametrize(
    ("numbers", "message"),
    [((0,), "has no version 0: the kept ones are 1 to 3"), ((1, 4), "has no version 4")],
)
def test_versions_that_are_not_there(db, numbers, message):
    with pytest.raises(InputError, match=message):
        read_diff(db, URL, *numbers)


def test_what_was_never_watched_is_one_line(db, tmp_path):
    for read in (read_history, read_diff):
        with pytest.raises(InputError, match=r"http://c.example/ was never watched in .*x\.db"):
            read(db, "http://c.example/")
        with pytest.raises(StoreError, match="does not exist"):
            read(tmp_path / "none.db", URL)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30m", 98_200.0), ("12h", 56_800.0), ("1d", 13_600.0), ("1970-01-01T01:00Z", 3600.0)],
)
def test_since_when(text, seconds):
    assert math.isclose(since_of(text, 100_000.0), seconds)


@pytest.mark.parametrize("text", ["", "yesterday", "1y", "-1d", "1e9", "10000-01-01"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(InputError, match=r"expected an age such as 30m, 12h, 1d or 2w"):
        since_of(text, 0.0)


def test_the_oldest_version_that_is_kept_need_not_be_the_first_copy(db):
    with Store.open(db) as store:
        store.keep_versions(parse_retention("1"))
        store.commit(Batch(polls=(poll(0, 40.0, "<p>40"),)))
    with closing(sqlite3.connect(db)) as connection, connection:
        connection.execute("DELETE FROM changes")  # as after 200,000 others
    [entry] = read_history(db, URL).entries
    assert (entry.version, entry.seen_at, entry.first_copy) == (1, 40.0, False)
