"""What a receiver is still to be told, and when."""

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.store.sqlite.damage import put

from pollwise.notify.delivery import Delivery
from pollwise.notify.receivers import Channel, read_receiver
from pollwise.store import Store
from pollwise.store.records import Batch, FoundItem, NewPage, PollResult, StoredReceiver
from pollwise.types import Observation, Outcome, PageMemory, Version

URL, SHOP = "http://a.example/", "http://b.example/"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "x.db") as store:
        store.add_pages([NewPage(URL), NewPage(SHOP, tags=("shop",))], now=0.0)
        change(store, 0, 1.0)
        change(store, 1, 1.0)
        yield store


def change(store: Store, page_id: int, at: float) -> None:
    body = f"<title>T{page_id}</title><p>Number {at:g}".encode()
    version = Version(page_id, at, "text/html", body, f"{page_id:016x}{int(at):016x}")
    seen = Observation(page_id, at, Outcome.CHANGED)
    store.commit(Batch(polls=(PollResult(seen, PageMemory(), version),)))


def delivery(**told: Any) -> Delivery:
    told = {"name": "me", "to": "https://a.example/", **told}
    return Delivery(read_receiver(told), StoredReceiver("me", 0))


def test_nothing_is_due_without_a_change(store):
    assert delivery().due_at(store, 5.0) == math.inf


def test_what_holds_longest_is_named(store):
    change(store, 0, 100.0)
    daily = delivery(digest="1d")
    assert daily.held_by(store, 110.0) == "a digest after 24 hours"
    daily.begin(store, 110.0)
    daily.failed(111.0, "status 500")
    change(store, 1, 112.0)
    assert daily.due_at(store, 115.0) == 86_500.0
    assert daily.held_by(store, 115.0) == "a digest after 24 hours"
    plain = delivery()
    plain.begin(store, 110.0)
    plain.failed(111.0, "status 500")
    assert plain.held_by(store, 115.0) == "it failed: status 500"
    assert plain.held_by(store, 1e6) == ""
    plain.begin(store, 200.0)
    plain.arrived(200.0)
    change(store, 1, 201.0)
    assert plain.held_by(store, 210.0) == "one notice in 2 minutes at most"


def test_a_receiver_is_left_alone_for_as_long_as_it_asks_but_for_a_day_at_most(store):
    change(store, 0, 100.0)
    one = delivery()
    one.begin(store, 110.0)
    one.failed(111.0, "status 429", 7200.0)
    assert one.due_at(store, 115.0) == 7311.0
    assert one.held_by(store, 7310.0) == "it failed: status 429"
    one.failed(8000.0, "status 429", 1.0)
    assert one.due_at(store, 8001.0) == 8120.0
    one.failed(9000.0, "status 503", 1e9)
    assert one.due_at(store, 9001.0) == 9000.0 + 86_400.0
    one.failed(10_000.0, "status 500")
    assert one.due_at(store, 10_001.0) == 10_480.0


def test_the_name_of_a_page_goes_before_its_title(store):
    store.add_pages([NewPage(URL, name="Town hall")], now=50.0)
    change(store, 0, 100.0)
    notice = delivery().begin(store, 110.0)
    assert (notice.title, notice.text.splitlines()[0]) == ("Changed: Town hall", "Town hall")
    assert [(one.name, one.title) for one in notice.changes] == [("Town hall", "T0")]


def test_a_change_is_told_at_once_with_what_differs(store):
    change(store, 0, 100.0)
    one = delivery()
    assert one.due_at(store, 110.0) == 100.0
    notice = one.begin(store, 110.0)
    assert notice.title == "Changed: T0"
    assert notice.text.splitlines() == [
        "T0",
        URL,
        "- Number 1",
        "+ Number 100",
        "changed in the last 109 s; seen 1970-01-01 00:01:40 UTC",
        f"more: pollwise diff {URL} --db {store.path}",
    ]
    one.arrived(111.0)
    assert one.state == StoredReceiver("me", 1, 0, 111.0, 111.0)
    assert one.due_at(store, 111.0) == math.inf


def test_that_a_page_is_gone_and_back_is_told(store):
    store.add_pages([NewPage(URL, name="Town hall")], now=50.0)
    told = []
    one = delivery()
    for at, outcome, status in (
        (100.0, Outcome.GONE, 404),
        (200.0, Outcome.GONE, 404),
        (300.0, Outcome.UNCHANGED, None),
    ):
        result = PollResult(Observation(0, at, outcome), PageMemory(), status=status)
        store.commit(Batch(polls=(result,)))
        if one.due_at(store, at + 50.0) <= at + 50.0:
            told.append(one.begin(store, at + 50.0))
            one.arrived(at + 50.0)
    assert [notice.title for notice in told] == ["Gone: Town hall", "Back: Town hall"]
    assert told[0].text.splitlines() == [
        "Town hall",
        URL,
        "gone (404) 50 s to 2.5 minutes ago; seen 1970-01-01 00:01:40 UTC",
        f"more: pollwise history {URL} --db {store.path}",
    ]
    assert told[1].text.splitlines()[2].startswith("back 50 s to 2.5 minutes ago; seen ")


def test_the_title_says_what_all_of_its_pages_have_in_common(store):
    for page_id in (0, 1):
        seen = Observation(page_id, 100.0, Outcome.GONE)
        store.commit(Batch(polls=(PollResult(seen, PageMemory(), status=404),)))
    assert delivery().begin(store, 110.0).title == "Gone: 2 pages"
    change(store, 0, 120.0)
    assert delivery().begin(store, 130.0).title == "3 changes of 2 pages"


def test_what_is_told_in_short_says_what_is_gone(store):
    store.add_pages([NewPage(f"{URL}{n}") for n in range(21)], now=50.0)
    for page_id in range(2, 23):
        change(store, page_id, 60.0)
        result = PollResult(Observation(page_id, 100.0, Outcome.GONE), PageMemory(), status=410)
        store.commit(Batch(polls=(result,)))
    assert delivery().begin(store, 110.0).text.endswith(f"Also changed:\n{URL}20 (gone (410))")


def test_a_notice_that_is_sent_again_is_the_same(store):
    change(store, 0, 100.0)
    change(store, 1, 101.0)
    one = delivery()
    first = one.begin(store, 110.0)
    one.failed(111.0, "no route")
    change(store, 0, 112.0)  # waits for the next one
    assert one.due_at(store, 112.0) == 171.0
    restarted = Delivery(one.receiver, one.state)
    again = restarted.begin(store, 200.0)
    assert (again.id, again.changes) == (first.id, first.changes)
    assert again.title == "2 changes of 2 pages"
    restarted.arrived(200.0)
    after = restarted.begin(store, 300.0)
    assert after.id != first.id
    assert [one.seen_at for one in after.changes] == [112.0]


def test_only_changes_of_its_tags_are_told(store):
    change(store, 0, 100.0)
    one = delivery(tags=["shop", "other"])
    assert one.due_at(store, 110.0) == math.inf
    assert one.state.told_seq == 1
    change(store, 1, 120.0)
    change(store, 0, 121.0)
    assert [told.url for told in one.begin(store, 130.0).changes] == [SHOP]
    one.arrived(130.0)
    assert one.due_at(store, 140.0) == math.inf


def test_what_waits_is_counted_without_being_read(store):
    store.add_pages([NewPage(SHOP, tags=("shop", "big"))], now=50.0)
    for at in (100.0, 110.0):
        change(store, 0, at)
    change(store, 1, 120.0)
    put(store.path, "UPDATE changes SET items = ?", "[")
    assert delivery().count_waiting(store, 130.0) == 3
    for tag, waiting in (("shop", 1), ("big", 1), ("sho", 0), ("%", 0)):
        assert delivery(tags=[tag]).count_waiting(store, 130.0) == waiting


def test_a_notice_that_nobody_wants_any_more_is_dropped(store):
    change(store, 1, 100.0)
    one = delivery(tags=["shop"])
    one.begin(store, 110.0)
    store.add_pages([NewPage(SHOP, tags=("other",))], now=111.0)
    assert one.due_at(store, 120.0) == math.inf
    assert one.state.trying_seq == 0


def test_what_nobody_wants_between_two_looks_is_no_notice(store):
    change(store, 1, 100.0)
    one = delivery(tags=["shop"])
    assert one.due_at(store, 110.0) == 100.0
    store.add_pages([NewPage(SHOP, tags=("other",))], now=110.0)
    assert one.begin(store, 110.0) is None
    assert one.due_at(store, 110.0) == math.inf


def test_digests_and_limits(store):
    change(store, 0, 100.0)
    assert delivery(digest="1h").due_at(store, 110.0) == 3700.0
    one = delivery(at_most="2/hour")
    one.begin(store, 110.0)
    one.arrived(110.0)
    change(store, 0, 120.0)
    assert one.due_at(store, 120.0) == 1910.0


def test_times_of_a_clock_that_was_ahead_hold_nothing_up(store):
    change(store, 0, 100.0)
    one = delivery()
    ahead = 1e9
    one.state = replace(one.state, sent_at=ahead, tried_at=ahead, failures=20)
    assert one.due_at(store, 110.0) == 110.0 + 3600.0


def test_a_notice_has_a_bounded_number_of_changes(store):
    for at in range(100, 350):
        change(store, 0, float(at))
    one = delivery()
    notice = one.begin(store, 400.0)
    assert len(notice.changes) == 200
    assert notice.text.count("more: pollwise diff") == 20
    assert notice.text.endswith(f"Also changed:\n{URL}")
    assert notice.changes[30].added is None
    one.arrived(400.0)
    assert len(one.begin(store, 500.0).changes) == 50


def test_a_feed_has_what_was_told_before_too(store):
    one = delivery()
    one.receiver = replace(one.receiver, channel=Channel.ATOM)
    change(store, 0, 100.0)
    one.begin(store, 100.0)
    one.arrived(100.0)
    change(store, 0, 200.0)
    assert [told.seen_at for told in one.begin(store, 200.0).changes] == [100.0, 200.0]


def test_what_a_condition_holds_back_is_not_told(store):
    one = delivery()
    one.begin(store, 10.0)
    one.arrived(10.0)
    items = (FoundItem("a", "Kettle"), FoundItem("b", "Mug", held_back=True))
    for at, held_back in ((20.0, True), (21.0, False), (22.0, True)):
        seen = Observation(0, at, Outcome.CHANGED)
        poll = PollResult(seen, PageMemory(), items=items, held_back=held_back)
        store.commit(Batch(polls=(poll,)))
    assert one.count_waiting(store, 500.0) == 1
    assert one.due_at(store, 500.0) == 130.0
    notice = one.begin(store, 500.0)
    assert [(change.seen_at, change.items) for change in notice.changes] == [(21.0, items[:1])]
    assert "Kettle" in notice.text
    assert "Mug" not in notice.text
    one.arrived(500.0)
    assert one.due_at(store, 1000.0) == math.inf  # and what came after it, neither
    assert one.count_waiting(store, 1000.0) == 0


def test_a_file_has_what_was_held_back_as_little(store):
    feed = delivery(to="atom:changes.xml")
    poll = PollResult(Observation(0, 20.0, Outcome.CHANGED), PageMemory(), held_back=True)
    store.commit(Batch(polls=(poll,)))
    change(store, 1, 21.0)
    assert 20.0 not in [one.seen_at for one in feed.begin(store, 30.0).changes]
