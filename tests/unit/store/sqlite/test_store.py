"""The store keeps what it was given: whole batches, the latest poll of a page, every version."""

import math
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.errors import InputError, StateError, StoreError
from pollwise.events import Added, Event, Polled, Tick
from pollwise.store import Store
from pollwise.store.records import (
    Batch,
    FoundItem,
    NewPage,
    PollResult,
    Postponed,
    StoredChange,
    StoredVersion,
    Totals,
)
from pollwise.types import Observation, Outcome, Page, PageMemory, StateDict, Version

from .damage import put

A, B, C = (NewPage(f"https://{name}.example/", f"{name}.example") for name in "abc")


pages_with_wishes = st.builds(
    NewPage,
    st.just(A.url),
    st.sampled_from([A.scope, "b.example"]),
    weight=st.sampled_from([None, 1.0, 2.0]),
    cost=st.sampled_from([None, 1.0, 10.0]),
    longest_interval=st.sampled_from([None, 0.0, 60.0]),
    shortest_interval=st.sampled_from([None, 0.0, 60.0]),
    paused=st.sampled_from([None, False, True]),
    tags=st.sampled_from([None, (), ("news", "daily")]),
    select=st.sampled_from([None, (), ("main", "p")]),
    ignore=st.sampled_from([None, (), ("nav",)]),
    render=st.sampled_from([None, False, True]),
    listed_in=st.sampled_from([None, "", "/list"]),
    name=st.sampled_from([None, "", "Town hall"]),
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "pollwise.db") as store:
        yield store


def poll(
    page_id: int, at: float, outcome: Outcome, body: bytes | None = None, error: str | None = None
) -> PollResult:
    """A poll that remembers its time as the page's etag."""
    version = None
    if body is not None:
        version = Version(page_id, at, "text/html", body, f"hash of {body[:20]!r}")
    return PollResult(Observation(page_id, at, outcome), PageMemory(etag=str(at)), version, error)


def gone(page_id: int, at: float, status: int) -> PollResult:
    """A poll that was told so by this status."""
    return PollResult(Observation(page_id, at, Outcome.GONE), PageMemory(), status=status)


def learned(page_ids: list[int], value: float) -> StateDict:
    """What a policy might have learned of these pages."""
    return {
        "page_ids": np.array(page_ids),
        "page.rate": np.full(len(page_ids), value),
        "page.window": np.full((len(page_ids), 3), value, dtype=np.float32),
        "price": np.array(value),
    }


def rows_of_pages(store: Store) -> list[object]:
    with closing(sqlite3.connect(store.path)) as connection:
        return connection.execute("SELECT * FROM pages").fetchall()


def dump(store: Store) -> list[str]:
    """All that is in the file."""
    with closing(sqlite3.connect(store.path)) as connection:
        return list(connection.iterdump())


class TestPages:
    def test_ids_are_dense_from_zero_in_the_order_given(self, store: Store) -> None:
        assert store.add_pages([A, B], now=5.0) == [
            Page(0, A.url, A.scope, site=A.scope),
            Page(1, B.url, B.scope, site=B.scope),
        ]
        assert [page.id for page in store.add_pages([C], now=6.0)] == [2]
        assert [record.page.id for record in store.pages()] == [0, 1, 2]
        assert [record.added_at for record in store.pages()] == [5.0, 5.0, 6.0]

    def test_a_page_is_of_the_site_and_the_kind_that_its_address_tells(self, store: Store) -> None:
        new = NewPage("https://a.example/blog/2024/a-title.html?x=1", "a.example")
        [added] = store.add_pages([new], now=0.0)
        assert (added.site, added.kind) == ("a.example", "blog/#/*.html")
        assert store.pages()[0].page == added

    def test_a_name_stays_until_another_is_told(self, store: Store) -> None:
        [page] = store.add_pages([replace(A, name="Town hall")], now=0.0)
        assert page.name == "Town hall"
        for told, name in ((None, "Town hall"), ("Office", "Office"), ("", "")):
            store.add_pages([replace(A, name=told)], now=1.0)
            assert store.pages()[0].page.name == name

    def test_a_page_without_polls_knows_of_none(self, store: Store) -> None:
        store.add_pages([A], now=0.0)
        [record] = store.pages()
        assert (record.polls, record.changes, record.failures) == (0, 0, 0)
        assert record.memory == PageMemory()
        assert (record.outcome, record.error) == (None, None)
        assert (record.page.seen_at, record.polled_at) == (None, None)

    def test_a_page_added_again_keeps_its_id_and_history(self, store: Store) -> None:
        store.add_pages([A, B], now=0.0)
        store.commit(Batch(polls=(poll(0, 1.0, Outcome.CHANGED),)))
        again = replace(A, scope="shared", weight=3.0, cost=2.0)
        assert store.add_pages([C, again, C], now=9.0) == [
            Page(2, C.url, C.scope, site=C.scope),
            Page(0, A.url, "shared", 3.0, 2.0, seen_at=1.0, site="shared"),
            Page(2, C.url, C.scope, site=C.scope),
        ]
        record = store.find_page(A.url)
        assert record is not None
        assert record.page == Page(0, A.url, "shared", 3.0, 2.0, seen_at=1.0, site="shared")
        assert (record.added_at, record.polls) == (0.0, 1)

    @pytest.mark.parametrize("bound", [0.0, -1.0, 9e999, "often"])
    def test_a_bound_that_cannot_be_is_damage(self, store: Store, bound: float | str) -> None:
        store.add_pages([A], now=0.0)
        put(store.path, "UPDATE pages SET longest_interval = ?", bound)
        with pytest.raises(StoreError, match="is damaged: restore a copy"):
            store.pages()

    def test_what_is_not_told_of_a_page_stays_as_it_was(self, store: Store) -> None:
        [told] = store.add_pages([NewPage(A.url, A.scope, 3.0, 2.0, 86400.0, 60.0)], now=0.0)
        assert store.add_pages([A], now=1.0) == [told]
        [page] = store.add_pages([replace(A, cost=1.0, shortest_interval=0.0)], 2.0)
        assert page == replace(told, cost=1.0, shortest_interval=None)

    def test_wishes_stay_until_others_are_told(self, store: Store) -> None:
        wishes = NewPage(
            A.url,
            paused=True,
            tags=("news", "daily"),
            select=("main > article", "xpath://p[1]"),
            ignore=("re:seen \\d+ times",),
            render=True,
        )
        store.add_pages([wishes], now=0.0)
        [page] = store.add_pages([A], now=1.0)
        assert page.paused
        assert (page.tags, page.select, page.ignore) == (wishes.tags, wishes.select, wishes.ignore)
        assert page.render
        [page] = store.add_pages([NewPage(A.url, paused=False, tags=(), select=())], now=2.0)
        assert (page.paused, page.tags, page.select, page.ignore) == (False, (), (), wishes.ignore)

    def test_what_was_said_last_of_the_bounds_of_a_page_holds(self, store: Store) -> None:
        store.add_pages([A, B], now=0.0)
        bounded = replace(A, longest_interval=86400.0, shortest_interval=60.0)
        [page] = store.add_pages([bounded], now=1.0)
        assert (page.longest_interval, page.shortest_interval) == (86400.0, 60.0)
        assert [record.page.longest_interval for record in store.pages()] == [86400.0, None]
        back = replace(A, longest_interval=0.0, shortest_interval=0.0)
        store.add_pages([back], now=2.0)
        assert [record.page.shortest_interval for record in store.pages()] == [None, None]
        assert [record.page.longest_interval for record in store.pages()] == [None, None]

    @pytest.mark.parametrize("wrong", [replace(B, weight=math.inf), replace(B, cost=-math.inf)])
    def test_a_number_that_is_not_finite_is_refused_with_the_whole_list(
        self, store: Store, wrong: NewPage
    ) -> None:
        with pytest.raises(InputError, match=r"b\.example/: .*inf.* must be finite"):
            store.add_pages([A, wrong], now=0.0)
        assert store.pages() == []

    def test_a_removed_page_is_gone_and_its_id_never_given_again(self, store: Store) -> None:
        store.add_pages([A, B], now=0.0)
        store.remove_pages([1, 1, 77], now=1.0)
        assert [record.page.id for record in store.pages()] == [0]
        assert store.find_page(B.url) is None
        assert store.add_pages([B], now=2.0) == [Page(2, B.url, B.scope, site=B.scope)]

    def test_an_unknown_url_is_not_found(self, store: Store) -> None:
        assert store.find_page(A.url) is None

    def test_many_urls_are_found_at_once(self, store: Store) -> None:
        many = [NewPage(f"https://a.example/{number}", "a.example") for number in range(5001)]
        store.add_pages(many, now=0.0)
        urls = [page.url for page in many[::-1]]
        found = store.find_pages([*urls, B.url])
        assert found == {record.page.url: record for record in store.pages()}
        assert store.told_anew([*many, B]) == [B]

    def test_the_pages_that_lists_brought_are_found_by_them(self, store: Store) -> None:
        store.add_pages(
            [replace(A, listed_in="/one"), replace(B, listed_in="/two"), replace(C, listed_in="")],
            now=0.0,
        )
        assert store.listed_urls(["/two", "/one", "/three"]) == [A.url, B.url]
        store.add_pages([replace(B, listed_in="")], now=1.0)  # somebody names it besides
        assert store.listed_urls(["/two"]) == []

    def test_what_is_told_twice_at_once_holds_as_it_was_told_last(self, store: Store) -> None:
        heavy, selected = replace(A, weight=5.0), replace(A, select=("main",))
        first, second, third = store.add_pages([A, heavy, selected], now=0.0)
        assert first == second == third == store.pages()[0].page
        assert (first.weight, first.select) == (5.0, ("main",))

    @given(st.lists(pages_with_wishes, min_size=2, max_size=4))
    def test_what_is_told_anew_is_what_adding_it_would_change(self, told: list[NewPage]) -> None:
        with TemporaryDirectory() as folder, Store.open(Path(folder) / "a.db") as store:
            [made] = store.add_pages(told[:1], now=0.0)
            assert made == store.pages()[0].page
            for page in told[1:]:
                before = rows_of_pages(store)
                anew = store.told_anew([page])
                store.add_pages([page], now=1.0)
                assert (anew == [page]) == (rows_of_pages(store) != before)

    @given(st.lists(pages_with_wishes, min_size=1, max_size=4), st.integers(0, 3))
    def test_what_is_told_anew_has_the_last_word_of_each_page(
        self, told: list[NewPage], known: int
    ) -> None:
        left = []
        for only_anew in (False, True):
            with TemporaryDirectory() as folder, Store.open(Path(folder) / "a.db") as store:
                store.add_pages(told[:known], now=0.0)
                store.add_pages(store.told_anew(told) if only_anew else told, now=1.0)
                left.append(rows_of_pages(store))
        assert left[0] == left[1]


class TestPolls:
    @pytest.fixture(autouse=True)
    def pages(self, store: Store) -> None:
        store.add_pages([A, B], now=0.0)

    def test_every_change_gets_a_number_that_is_never_given_again(self, store: Store) -> None:
        items = (FoundItem("a", "News", "https://a.example/n", 3.5), FoundItem("b"))
        for at, reverted in ((1.0, False), (2.0, False), (4.0, True), (3.0, False)):
            seen = Observation(0, at, Outcome.CHANGED, reverted=reverted)
            result = PollResult(seen, PageMemory(), title=f"At {at:g}", items=items)
            store.commit(Batch(polls=(result, poll(1, at, Outcome.UNCHANGED))))
        assert list(store.changes()) == [  # neither the first copy, nor one that came late
            StoredChange(1, 0, A.url, 2.0, 1.0, False, "At 2", items),
            StoredChange(2, 0, A.url, 4.0, 2.0, True, "At 4", items),
        ]
        assert [one.seq for one in store.changes(after=1)] == [2]
        assert [one.seq for one in store.changes(since=4.0, page_id=0)] == [2]
        assert list(store.changes(page_id=1)) == []
        assert store.count_changes() == (2, 2.0)
        assert store.count_changes(after=1) == (1, 4.0)
        assert store.count_changes(after=2) == (0, None)
        assert store.pages()[0].title == "At 4"
        store.remove_pages([0], now=9.0)
        assert [one.url for one in store.changes()] == [A.url, A.url]

    @pytest.mark.parametrize("alone", [True, False], ids=["alone", "together"])
    def test_that_a_page_is_gone_and_back_is_told_once(self, store: Store, alone: bool) -> None:
        polls = (
            poll(0, 1.0, Outcome.CHANGED),
            gone(0, 2.0, 404),
            gone(0, 3.0, 410),
            poll(0, 4.0, Outcome.FAILED),
            gone(0, 5.0, 404),
            poll(0, 6.0, Outcome.FAILED),
            poll(0, 5.5, Outcome.UNCHANGED),  # late: what was told since holds
            poll(0, 7.0, Outcome.UNCHANGED),
            poll(0, 8.0, Outcome.UNCHANGED),
            gone(0, 7.5, 404),  # late
            gone(0, 9.0, 410),
            PollResult(Observation(0, 10.0, Outcome.CHANGED), PageMemory(), title="New"),
            poll(0, 11.0, Outcome.CHANGED),
        )
        for one in polls if alone else ():
            store.commit(Batch(polls=(one, poll(1, one.observation.polled_at, Outcome.UNCHANGED))))
        if not alone:
            store.commit(Batch(polls=polls))
        assert [(c.kind.name, c.seen_at, c.before_at, c.status) for c in store.changes()] == [
            ("GONE", 2.0, 1.0, 404),
            ("BACK", 7.0, 5.0, None),
            ("GONE", 9.0, 8.0, 410),
            ("BACK_CHANGED", 10.0, 9.0, None),
            ("CHANGED", 11.0, 10.0, None),
        ]
        assert [c.title for c in store.changes()] == [None, None, None, "New", "New"]
        assert store.pages()[0].changes == 2
        assert store.count_changes() == (5, 2.0)
        assert store.count_changes(of_content=True) == (2, 10.0)

    def test_a_page_that_never_had_a_copy_is_not_told_as_gone(self, store: Store) -> None:
        for one in (gone(0, 1.0, 404), poll(0, 2.0, Outcome.CHANGED), gone(0, 3.0, 404)):
            store.commit(Batch(polls=(one,)))
        assert [one.seen_at for one in store.changes()] == [3.0]

    def test_what_is_gone_is_known_after_a_restart(self, store: Store) -> None:
        store.commit(Batch(polls=(poll(0, 1.0, Outcome.CHANGED), gone(0, 2.0, 404))))
        path = store.path
        store.close()
        with Store.open(path) as again:
            again.commit(Batch(polls=(gone(0, 3.0, 404),)))
            assert [one.seen_at for one in again.changes()] == [2.0]

    def test_imported_checks_tell_of_nothing_that_is_gone(self, store: Store) -> None:
        store.import_checks([poll(0, 1.0, Outcome.CHANGED), gone(0, 2.0, 404)], {})
        assert list(store.changes()) == []

    def test_changes_are_marked_as_read_and_as_unread(self, store: Store) -> None:
        for at in (1.0, 2.0, 3.0, 4.0):
            seen = Observation(0, at, Outcome.CHANGED)
            store.commit(Batch(polls=(PollResult(seen, PageMemory()),)))
        assert [one.read for one in store.changes()] == [False, False, False]
        assert store.mark_read([3, 3, 99]) == 1
        assert [one.seq for one in store.changes(unread=True)] == [1, 2]
        assert [one.read for one in store.changes()] == [False, False, True]
        assert store.mark_read([3], read=False) == 1
        assert store.mark_read(up_to=2) == 2
        assert [one.seq for one in store.changes(unread=True, since=2.0)] == [3]

    @pytest.mark.parametrize(
        ("told", "costs"),
        [
            ([{}, {"render": True}, {"render": True}, {"render": False}], [1.0, 10.0, 10.0, 1.0]),
            ([{"cost": 5.0}, {"render": False}, {"render": True}], [5.0, 5.0, 5.0]),
            ([{"render": True, "cost": 1.0}, {"render": True}, {"weight": 2.0}], [1.0, 1.0, 1.0]),
            ([{"render": True}, {"cost": 30.0}, {"render": False}], [10.0, 30.0, 30.0]),
            ([{}, {"render": True, "cost": 3.0}], [1.0, 3.0]),
        ],
        ids=["usual", "chosen", "cheap", "dear", "both"],
    )
    def test_the_cost_follows_rendering_unless_it_was_chosen(
        self, store: Store, told: list[dict[str, Any]], costs: list[float]
    ) -> None:
        url = "https://c.example/"
        assert [store.add_pages([NewPage(url, **one)], 1.0)[0].cost for one in told] == costs

    @pytest.mark.parametrize("items", ["[", "{}1", "[[1]]", '[["a","b","c","d"]]', "[7]", "7"])
    def test_items_that_nobody_wrote_are_damage(self, store: Store, items: str) -> None:
        for at in (1.0, 2.0):
            store.commit(Batch(polls=(poll(0, at, Outcome.CHANGED),)))
        put(store.path, "UPDATE changes SET items = ?", items)
        with pytest.raises(StoreError, match="is damaged"):
            list(store.changes())

    def test_what_is_known_of_a_feed_is_kept(self, store: Store) -> None:
        memory = PageMemory(items=("1f", "2e"))
        seen = Observation(0, 1.0, Outcome.CHANGED)
        store.commit(Batch(polls=(PollResult(seen, memory, source="feed"),)))
        store.commit(Batch(polls=(PollResult(replace(seen, polled_at=2.0), memory),)))
        record = store.pages()[0]
        assert (record.memory.items, record.source) == (("1f", "2e"), "feed")

    def test_the_first_copy_is_no_change(self, store: Store) -> None:
        store.commit(Batch(polls=(poll(0, 1.0, Outcome.CHANGED),)))
        record = store.pages()[0]
        assert (record.polls, record.changes, record.last_changed_at) == (1, 0, None)
        assert record.page.seen_at == 1.0
        store.commit(Batch(polls=(poll(0, 2.0, Outcome.CHANGED),)))
        record = store.pages()[0]
        assert (record.polls, record.changes, record.last_changed_at) == (2, 1, 2.0)

    def test_what_the_server_says_of_the_latest_change_goes_first(self, store: Store) -> None:
        told = Observation(0, 10.0, Outcome.UNCHANGED, last_changed_at=3.0, n_items=2, cost=0.5)
        store.commit(Batch(polls=(PollResult(told, PageMemory()),)))
        record = store.pages()[0]
        assert (record.last_changed_at, record.last_cost) == (3.0, 0.5)
        assert store.recent_outcomes(0) == [told]

    def test_a_reversion_is_kept(self, store: Store) -> None:
        told = Observation(0, 10.0, Outcome.CHANGED, reverted=True)
        store.commit(Batch(polls=(PollResult(told, PageMemory()),)))
        assert store.recent_outcomes(0) == [told]

    def test_failures_are_counted_in_a_row(self, store: Store) -> None:
        for at, (outcome, failures) in enumerate(
            [(Outcome.FAILED, 1), (Outcome.FAILED, 2), (Outcome.GONE, 0), (Outcome.FAILED, 1)]
        ):
            store.commit(Batch(polls=(poll(0, float(at), outcome, error="HTTP 500"),)))
            record = store.pages()[0]
            assert (record.failures, record.outcome) == (failures, outcome)
            assert record.error == "HTTP 500"
            assert record.page.seen_at is None

    def test_a_postponed_poll_leaves_only_its_reason(self, store: Store) -> None:
        store.commit(Batch(polls=(poll(0, 1.0, Outcome.CHANGED),)))
        before = store.pages()[0]
        store.commit(Batch(polls=(poll(0, 2.0, Outcome.POSTPONED, error="no connection left"),)))
        postponed = Postponed(2.0, "no connection left")
        assert store.pages()[0] == replace(before, postponed=postponed)
        assert len(store.recent_outcomes(0)) == 1
        store.commit(Batch(polls=(poll(0, 3.0, Outcome.UNCHANGED),)))
        assert store.pages()[0].postponed is None
        store.commit(Batch(polls=(poll(0, 2.5, Outcome.POSTPONED, error="late"),)))
        assert store.pages()[0].postponed is None

    def test_our_own_shortage_is_not_told_as_the_fault_of_a_page(self, store: Store) -> None:
        store.commit(Batch(polls=(poll(0, 1.0, Outcome.FAILED, error="HTTP 500"),)))
        why = "no host '\ud800'"
        store.commit(Batch(polls=(poll(0, 2.0, Outcome.POSTPONED, error=why),)))
        record = store.pages()[0]
        assert (record.outcome, record.error, record.failures) == (Outcome.FAILED, "HTTP 500", 1)
        assert record.postponed == Postponed(2.0, why)

    def test_headers_that_are_no_text_come_back_as_they_were(self, store: Store) -> None:
        memory = PageMemory('"\udcff"', "gestern, früh", "00", "ff", ("aa", "bb"))
        gone = Observation(0, 1.0, Outcome.FAILED)
        store.commit(Batch(polls=(PollResult(gone, memory, error="no host '\ud800'"),)))
        assert store.pages()[0].memory == memory
        assert store.pages()[0].error == "no host '\ud800'"

    def test_the_polls_that_found_a_watched_page(self, store: Store) -> None:
        store.add_pages([A, B, C], now=0.0)
        outcomes = (Outcome.CHANGED, Outcome.FAILED, Outcome.UNCHANGED, Outcome.GONE)
        for page_id in (1, 0, 2):
            polls = tuple(poll(page_id, 10.0 + i, outcome) for i, outcome in enumerate(outcomes))
            store.commit(Batch(polls=polls))
        store.remove_pages([2], now=20.0)
        assert store.outcomes().tolist() == [
            (0, 10.0, True), (0, 12.0, False), (1, 10.0, True), (1, 12.0, False)
        ]  # fmt: skip

    def test_the_latest_polls_are_kept_newest_first(self, store: Store) -> None:
        polls = [poll(page, float(at), Outcome.UNCHANGED) for at in range(120) for page in (0, 1)]
        store.commit(Batch(polls=tuple(polls)))
        times = [seen.polled_at for seen in store.recent_outcomes(0, limit=1000)]
        assert times == [float(at) for at in range(119, 69, -1)]
        assert store.recent_outcomes(1, limit=2) == [
            polls[-1].observation,
            polls[-3].observation,
        ]
        assert store.pages()[0].polls == 120

    @pytest.mark.parametrize(
        ("batch", "message"),
        [
            (Batch(polls=(poll(7, 2.0, Outcome.CHANGED),)), "a poll of page 7, which .* never had"),
            (
                Batch(
                    polls=(
                        replace(
                            poll(0, 2.0, Outcome.CHANGED),
                            version=poll(1, 2.0, Outcome.CHANGED, b"other").version,
                        ),
                    )
                ),
                "a version of page 1 in a poll of page 0",
            ),
            (Batch(events=(Tick(0.0),)), "call start_run first"),
            (Batch(learned={"page_ids": np.arange(2), "page.a": np.zeros(1)}), "'page.a'"),
        ],
    )
    def test_a_batch_that_does_not_fit_is_refused_as_a_whole(
        self, store: Store, batch: Batch, message: str
    ) -> None:
        before = dump(store)
        good = poll(1, 1.0, Outcome.CHANGED, b"body")
        whole = replace(batch, polls=(good, *batch.polls), scheduler="{}")
        with pytest.raises((InputError, StateError), match=message):
            store.commit(whole)
        assert dump(store) == before
        store.commit(Batch(polls=(good,)))
        assert store.pages()[1].polls == 1

    def test_a_poll_of_a_page_removed_meanwhile_is_kept(self, store: Store) -> None:
        store.remove_pages([0], now=1.0)
        store.commit(Batch(polls=(poll(0, 2.0, Outcome.CHANGED, b"last"),)))
        assert [version.seen_at for version in store.versions(0)] == [2.0]


@given(
    st.lists(
        st.tuples(
            st.integers(0, 6).map(float),
            st.sampled_from(sorted(set(Outcome) - {Outcome.POSTPONED})),
        ),
        min_size=1,
        max_size=10,
    )
)
def test_a_page_is_as_its_latest_poll_left_it(
    tmp_path_factory: pytest.TempPathFactory, seen: list[tuple[float, Outcome]]
) -> None:
    """In whichever order the polls come in, doubled or not: counted, each; believed, if newer."""
    latest, first_copy, seen_at, failures, changes = -math.inf, True, None, 0, 0
    outcome = None
    for at, what in seen:
        changes += what is Outcome.CHANGED and not first_copy
        if at > latest:
            latest, outcome = at, what
            failures = failures + 1 if what is Outcome.FAILED else 0
            if what in (Outcome.CHANGED, Outcome.UNCHANGED):
                seen_at, first_copy = at, False
    polls = tuple(poll(0, at, what) for at, what in seen)
    with Store.open(tmp_path_factory.mktemp("polls") / "pollwise.db") as store:
        store.add_pages([A], now=0.0)
        store.commit(Batch(polls=polls))
        [record] = store.pages()
        times = [observation.polled_at for observation in store.recent_outcomes(0)]
    assert (record.polls, record.changes, record.failures) == (len(seen), changes, failures)
    assert (record.polled_at, record.outcome, record.page.seen_at) == (latest, outcome, seen_at)
    assert record.memory.etag == str(latest)
    assert times == sorted({at for at, _ in seen}, reverse=True)


class TestLearned:
    @pytest.fixture(autouse=True)
    def pages(self, store: Store) -> None:
        store.add_pages([A, B, C], now=0.0)

    def load(self, store: Store) -> StateDict:
        state = store.load_learned()
        assert state is not None
        return state

    def test_a_new_store_has_learned_nothing(self, store: Store) -> None:
        assert store.load_learned() is None

    def test_batches_add_up_and_the_latest_row_of_a_page_holds(self, store: Store) -> None:
        for page_ids, value in [([0, 2], 1.0), ([2], 2.0), ([1], 3.0)]:
            store.commit(Batch(learned=learned(page_ids, value)))
        state = self.load(store)
        assert state["page_ids"].tolist() == [0, 1, 2]
        assert state["page.rate"].tolist() == [1.0, 3.0, 2.0]
        assert state["page.window"].tolist() == [[1.0] * 3, [3.0] * 3, [2.0] * 3]
        assert state["price"] == 3.0

    def test_a_shared_array_that_is_no_longer_given_is_gone(self, store: Store) -> None:
        store.commit(Batch(learned=learned([0], 1.0) | {"old": np.zeros(2)}))
        store.commit(Batch(learned=learned([0], 1.0)))
        assert set(self.load(store)) == set(learned([0], 1.0))

    def test_what_only_pages_or_only_all_share_is_kept(self, store: Store) -> None:
        store.commit(Batch(learned={"price": np.array(2.0)}))
        state = self.load(store)
        assert state["page_ids"].tolist() == []
        assert state["price"] == 2.0

    def test_removed_and_unknown_pages_are_left_out(self, store: Store) -> None:
        store.commit(Batch(learned=learned([0, 1], 1.0)))
        store.remove_pages([0], now=1.0)
        store.commit(Batch(learned=learned([0, 1, 50], 2.0)))
        assert self.load(store)["page_ids"].tolist() == [1]

    def test_what_two_policies_learned_cannot_be_mixed(self, store: Store) -> None:
        store.commit(Batch(learned=learned([0], 1.0)))
        other: StateDict = {"page_ids": np.array([1]), "page.wins": np.ones(1)}
        store.commit(Batch(learned=other))
        with pytest.raises(
            StateError, match=r"2 different policies .*page\.rate, page\.window; page\.wins"
        ):
            store.load_learned()
        store.forget_learned()
        assert store.load_learned() is None
        store.commit(Batch(learned=other))
        assert self.load(store)["page.wins"].tolist() == [1.0]

    def test_a_policy_may_take_over_page_by_page(self, store: Store) -> None:
        store.commit(Batch(learned=learned([0], 1.0)))
        store.commit(Batch(learned={"page_ids": np.array([0]), "page.wins": np.ones(1)}))
        assert set(self.load(store)) == {"page_ids", "page.wins"}


class TestRuns:
    EVENTS: tuple[Event, ...] = (
        Added(1.0, (Page(0, A.url),)),
        Polled(2.0, (Observation(0, 2.0, Outcome.CHANGED),)),
        Tick(math.inf),
    )

    def test_events_belong_to_the_current_run(self, store: Store) -> None:
        one = store.start_run(1.0, {"policy": "bayes-index", "burst": 2}, b"state \x00 one")
        store.commit(Batch(events=self.EVENTS[:2]))
        store.commit(Batch(events=self.EVENTS[2:]))
        two = store.start_run(2.0, {}, b"two")
        store.commit(Batch(events=(Tick(5.0),)))
        assert tuple(store.events(one)) == self.EVENTS
        assert tuple(store.events(two)) == (Tick(5.0),)
        assert [(run.id, run.started_at, run.settings) for run in store.runs()] == [
            (one, 1.0, {"policy": "bayes-index", "burst": 2}),
            (two, 2.0, {}),
        ]
        assert store.initial_state(one) == b"state \x00 one"

    def test_a_long_log_is_read_in_order(self, store: Store) -> None:
        run = store.start_run(0.0, {}, b"")
        events = tuple(Tick(float(at)) for at in range(2500))
        store.commit(Batch(events=events))
        assert tuple(store.events(run)) == events

    def test_events_after_reopening_need_a_new_run(self, store: Store) -> None:
        first = store.start_run(0.0, {}, b"")
        store.close()
        with Store.open(store.path) as reopened:
            with pytest.raises(InputError, match="call start_run first"):
                reopened.commit(Batch(events=(Tick(0.0),)))
            assert reopened.start_run(1.0, {}, b"") > first

    def test_pruning_leaves_the_newest_runs(self, store: Store) -> None:
        store.prune_events(keep_runs=1)  # before the first run
        runs = []
        for at in range(3):
            runs.append(store.start_run(float(at), {}, b"state"))
            store.commit(Batch(events=(Tick(float(at)),)))
        store.prune_events(keep_runs=2)
        assert [len(list(store.events(run))) for run in runs] == [0, 1, 1]
        assert [run.id for run in store.runs()] == runs
        with pytest.raises(InputError, match=f"no run {runs[0]}, or its event log was pruned"):
            store.initial_state(runs[0])
        assert store.initial_state(runs[1]) == b"state"

    def test_the_current_run_is_never_pruned(self, store: Store) -> None:
        with pytest.raises(InputError, match="keep_runs is 0; expected at least 1"):
            store.prune_events(keep_runs=0)

    def test_the_scheduler_state_is_that_of_the_latest_batch_that_gave_one(
        self, store: Store
    ) -> None:
        assert store.scheduler_state() is None
        for state in ('{"n": 1}', '{"n": 2}', None):
            store.commit(Batch(scheduler=state))
        assert store.scheduler_state() == '{"n": 2}'


class TestVersions:
    BODIES = (b"", b"<p>" * 1000, bytes(range(256)))

    @pytest.fixture(autouse=True)
    def pages(self, store: Store) -> None:
        store.add_pages([A, B], now=0.0)

    def test_bodies_come_back_as_they_were(self, store: Store) -> None:
        for at, body in enumerate(self.BODIES):
            store.commit(Batch(polls=(poll(0, float(at), Outcome.CHANGED, body),)))
        store.remove_pages([0], now=9.0)
        versions = store.versions(0)
        assert [version.seen_at for version in versions] == [0.0, 1.0, 2.0]
        assert [version.size for version in versions] == [len(body) for body in self.BODIES]
        assert tuple(store.body(version.body_hash) for version in versions) == self.BODIES

    def test_a_body_is_stored_once(self, store: Store) -> None:
        noise = np.random.default_rng(1).bytes(200_000)
        polls = [poll(page, float(at), Outcome.CHANGED, noise) for page in (0, 1) for at in (0, 1)]
        store.commit(Batch(polls=tuple(polls)))
        assert len(store.versions(0)) == len(store.versions(1)) == 2
        assert store.totals().versions == 4
        assert store.totals().bytes < 400_000

    def test_a_version_says_what_it_is(self, store: Store) -> None:
        result = poll(0, 3.0, Outcome.CHANGED, b"abc")
        assert result.version is not None
        odd = replace(result.version, content_type="text/\udce9")
        store.commit(Batch(polls=(replace(result, version=odd),)))
        assert store.versions(0) == [StoredVersion(3.0, "text/\udce9", odd.body_hash, 3)]
        assert store.versions(1) == []

    def test_a_version_keeps_the_head_of_its_answer(self, store: Store) -> None:
        head = b"HTTP/1.1 200 OK\r\nX-Odd: caf\xe9\r\n" + b"A: b\r\n" * 1000
        result = poll(0, 3.0, Outcome.CHANGED, b"abc")
        assert result.version is not None
        told = replace(result, version=replace(result.version, head=head))
        store.commit(Batch(polls=(told, poll(0, 4.0, Outcome.CHANGED, b"def"))))
        assert store.head(0, 3.0) == head
        assert store.head(0, 4.0) == store.head(0, 5.0) == store.head(1, 3.0) == b""
        put(store.path, "UPDATE versions SET head = ? WHERE seen_at = 3", b"rubbish")
        with pytest.raises(StoreError, match="what page 0 holds is damaged"):
            store.head(0, 3.0)

    def test_an_unknown_body_is_refused(self, store: Store) -> None:
        with pytest.raises(InputError, match="no body with the hash 'abc'"):
            store.body("abc")

    def test_a_damaged_body_is_told_with_its_file(self, store: Store) -> None:
        store.commit(Batch(polls=(poll(0, 1.0, Outcome.CHANGED, b"a" * 1000),)))
        store.close()
        with closing(sqlite3.connect(store.path)) as connection, connection:
            connection.execute("UPDATE contents SET data = x'00'")
        with Store.open_readonly(store.path) as reader, pytest.raises(StoreError) as caught:
            reader.body(store_hash := reader.versions(0)[0].body_hash)
        assert str(caught.value).startswith(f"{store.path}: the body {store_hash} is damaged")


class TestTotals:
    def test_an_empty_store_holds_nothing(self, store: Store) -> None:
        totals = store.totals()
        assert replace(totals, bytes=0) == Totals(0, 0, 0, 0, 0, 0)

    def test_watched_pages_and_all_versions_are_counted(self, store: Store) -> None:
        store.add_pages([A, B, C], now=0.0)
        polls = [
            poll(0, 1.0, Outcome.CHANGED, b"one"),
            poll(0, 2.0, Outcome.CHANGED, b"two"),
            poll(0, 3.0, Outcome.UNCHANGED),
            poll(1, 3.0, Outcome.FAILED),
            poll(1, 4.0, Outcome.FAILED),
            poll(2, 4.0, Outcome.CHANGED, b"gone"),
            poll(2, 5.0, Outcome.FAILED),
        ]
        store.commit(Batch(polls=tuple(polls)))
        store.remove_pages([2], now=6.0)
        size = store.totals().bytes
        assert store.totals() == Totals(
            pages=2, polls=5, changes=1, failing=1, versions=3, bytes=size
        )
        store.close()
        assert size == store.path.stat().st_size


class TestReaders:
    def test_a_reader_sees_what_the_writer_commits_at_once(self, store: Store) -> None:
        with Store.open_readonly(store.path) as reader:
            assert reader.pages() == []
            store.add_pages([A], now=0.0)
            assert reader.pages() == store.pages() != []
            store.commit(Batch(scheduler="{}"))
            assert reader.scheduler_state() == "{}"

    def test_a_slow_reader_does_not_hold_the_writer_up(self, store: Store) -> None:
        run = store.start_run(0.0, {}, b"")
        store.commit(Batch(events=(Tick(0.0), Tick(1.0))))
        with Store.open_readonly(store.path) as reader:
            events = reader.events(run)
            assert next(events) == Tick(0.0)
            store.commit(Batch(events=(Tick(2.0),)))
            assert list(events) == [Tick(1.0), Tick(2.0)]

    def test_a_reader_cannot_write(self, store: Store) -> None:
        with Store.open_readonly(store.path) as reader:
            for write in (
                lambda: reader.add_pages([A], now=0.0),
                lambda: reader.remove_pages([0], now=0.0),
                lambda: reader.commit(Batch(scheduler="{}")),
                lambda: reader.start_run(0.0, {}, b""),
                reader.forget_learned,
            ):
                with pytest.raises(StoreError, match="cannot be written: check the permissions"):
                    write()
            assert reader.scheduler_state() is None

    def test_closing_twice_is_no_error(self, store: Store) -> None:
        reader = Store.open_readonly(store.path)
        for _ in range(2):
            reader.close()
            store.close()


def test_all_is_there_after_reopening(store: Store) -> None:
    store.add_pages([A, B], now=0.0)
    run = store.start_run(0.0, {"policy": "uniform"}, b"state")
    store.commit(
        Batch(
            events=TestRuns.EVENTS,
            polls=(poll(0, 1.0, Outcome.CHANGED, b"body"),),
            learned=learned([0], 2.0),
            scheduler="{}",
        )
    )
    before, records = dump(store), store.pages()
    store.close()
    with Store.open(store.path) as reopened:
        assert dump(reopened) == before
        assert reopened.pages() == records
        assert tuple(reopened.events(run)) == TestRuns.EVENTS


@pytest.mark.parametrize(("durable", "synchronous"), [(True, 2), (False, 0)])
def test_only_a_durable_store_waits_for_the_disk(tmp_path, durable, synchronous):
    with Store.open(tmp_path / "x.db", durable=durable) as store:
        [(found,)] = store._connection._sqlite.execute("PRAGMA synchronous").fetchall()
    assert found == synchronous
