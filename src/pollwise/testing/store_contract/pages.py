"""Pages that are added, told anew and removed."""

import itertools
import math
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.errors import InputError
from pollwise.store import Store
from pollwise.store.records import Batch, NewPage, PollResult
from pollwise.testing.store_contract.samples import A, B, C, poll, steady
from pollwise.types import Noise, NumberTold, Observation, Outcome, Page, PageMemory
from pollwise.watched_pages import Watched

__all__ = ["PagesContract"]

_numbers = itertools.count()
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
    notify_when=st.sampled_from([None, (), ("below 20", "has sold out")]),
)


class PagesContract:
    """A page keeps its id, and what was told of it last holds."""

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

    def test_what_a_run_needs_of_pages_is_as_in_their_records(self, store: Store) -> None:
        assert (dict(store.watched_pages()), store.count_pages()) == ({}, 0)
        wanted = replace(
            B,
            weight=2.0,
            longest_interval=9.0,
            shortest_interval=2.0,
            paused=True,
            tags=("x", "y"),
            select=("main",),
            ignore=("p",),
            name="Named",
            render=True,
            notify_when=("below 20",),
        )
        store.add_pages([A, wanted, C], now=0.0)
        store.add_pages([NewPage("http://a.example/p", "a.example")], now=0.0)
        store.remove_pages([2], now=1.0)
        number = NumberTold(Decimal("20.50"), None)
        told = PageMemory(
            *('"e"', "\udcff", "0f", "0e", ("0a", "0b"), Noise((), 2, 1, 4), ("1", "2"), number)
        )
        store.commit(
            Batch(
                polls=(
                    PollResult(Observation(0, 3.0, Outcome.CHANGED), told),
                    PollResult(Observation(1, 4.0, Outcome.FAILED), PageMemory(), error="no"),
                    PollResult(Observation(3, 4.0, Outcome.GONE), PageMemory(), status=404),
                )
            )
        )
        watched = store.watched_pages()
        assert dict(watched) == {
            record.page.id: Watched(record.page, record.memory, record.gone, record.outcome)
            for record in store.pages()
        }
        assert [*watched] == [0, 1, 3]
        assert watched[0].memory == told
        assert store.count_pages() == 3

    def test_a_run_knows_each_wish_also_where_it_is_the_only_one(self, store: Store) -> None:
        wishes: list[dict[str, Any]] = [
            {},
            {"cost": 2.0},
            {"longest_interval": 9.0},
            {"shortest_interval": 2.0},
            {"paused": True},
            {"tags": ("x", "y")},
            {"select": ("main", "h1 a")},
            {"ignore": ("p",)},
            {"render": True},
            {"render": True, "cost": 1.0},
            {"notify_when": ("below 20", "has sold out")},
            {"tags": ("x", "y")},
        ]
        store.add_pages(
            [NewPage(f"{B.url}{number}", "b", **own) for number, own in enumerate(wishes)], now=0.0
        )
        watched = store.watched_pages()
        assert [own.page for own in watched.values()] == [one.page for one in store.pages()]
        for own, wished in zip(watched.values(), wishes, strict=True):
            for name, value in wished.items():
                assert getattr(own.page, name) == value

    def test_the_first_pages_by_what_is_asked_for(self, store: Store) -> None:
        urls = ["http://a.example/é", "http://a.example/Z", "http://a.example/a"]
        new = [NewPage(url, "a.example", weight=n + 1.0) for n, url in enumerate(urls)]
        store.add_pages(new, now=1.0)
        store.add_pages([NewPage("http://a.example/~", "a.example"), A], now=2.0)
        store.remove_pages([4], now=3.0)
        for page_id, at in ((0, 5.0), (0, 8.0), (1, 4.0), (1, 9.0), (1, 14.0)):
            store.commit(Batch(polls=(poll(page_id, at, Outcome.CHANGED, b""),)))

        orders = {
            "url": [1, 2, 3, 0],
            "weight": [2, 1, 3, 0],
            "added": [3, 1, 2, 0],
            "polled": [1, 0, 2, 3],
            "changed": [1, 0, 2, 3],
            "changes": [1, 0, 2, 3],
            "rate": [0, 1, 2, 3],
        }
        records = store.pages()
        for by, ids in orders.items():
            for limit in range(6):
                first = sorted(store.first_pages(by, limit), key=lambda record: record.page.id)
                assert first == [records[page_id] for page_id in sorted(ids[:limit])]
                some = store.first_pages(by, limit, [0, 2, 3, 4, 99])
                among = [one for one in ids if one != 1]
                assert {record.page.id for record in some} == {*among[:limit]}
            assert store.first_pages(by, 9, []) == []

    def test_outlines_say_what_pages_are_called_and_how_they_stand(self, store: Store) -> None:
        new = [replace(A, name="Town hall", tags=("x", "y")), replace(B, paused=True), C]
        store.add_pages(new, now=1.0)
        store.remove_pages([2], now=2.0)
        seen = replace(poll(0, 3.0, Outcome.CHANGED, b""), title="At \ud800")
        store.commit(Batch(polls=(seen,)))
        assert sorted(store.each_outline()) == [
            (0, A.url, "Town hall", "At \ud800", ("x", "y"), False, Outcome.CHANGED, 3.0),
            (1, B.url, "", None, (), True, None, None),
        ]

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
            notify_when=("below 20", "has sold out"),
        )
        store.add_pages([wishes], now=0.0)
        [page] = store.add_pages([A], now=1.0)
        assert page.paused
        assert (page.tags, page.select, page.ignore) == (wishes.tags, wishes.select, wishes.ignore)
        assert (page.render, page.notify_when) == (True, wishes.notify_when)
        back = NewPage(A.url, paused=False, tags=(), select=(), notify_when=())
        [page] = store.add_pages([back], now=2.0)
        assert (page.paused, page.tags, page.select, page.ignore) == (False, (), (), wishes.ignore)
        assert page.notify_when == ()

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

    def test_what_is_told_anew_is_so_in_any_order_of_the_list(self, store: Store) -> None:
        many = [NewPage(f"https://a.example/{number}", "a.example") for number in range(5001)]
        store.add_pages(many, now=0.0)
        store.remove_pages([7, 2000], now=1.0)
        moved = replace(many[9], scope="b.example")
        told = [B, *many[:9], moved, *many[10:]]
        assert store.told_anew(told) == [B, many[7], moved, many[2000]]
        assert store.told_anew(told[::-1]) == [many[2000], moved, many[7], B]
        halves = [*many[3000:], *many[:3000]]
        assert store.told_anew(halves) == [many[7], many[2000]]

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

    @steady
    @given(st.lists(pages_with_wishes, min_size=2, max_size=4))
    def test_what_is_told_anew_is_what_adding_it_would_change(
        self, store: Store, wishes: list[NewPage]
    ) -> None:
        first, *told = _at_a_new_url(wishes)
        [made] = store.add_pages([first], now=0.0)
        assert made == store.pages()[-1].page
        for page in told:
            before = store.pages()
            anew = store.told_anew([page])
            store.add_pages([page], now=1.0)
            assert (anew == [page]) == (store.pages() != before)

    @steady
    @given(st.lists(pages_with_wishes, min_size=1, max_size=4), st.integers(0, 3))
    def test_what_is_told_anew_has_the_last_word_of_each_page(
        self, store: Store, wishes: list[NewPage], known: int
    ) -> None:
        left = []
        for only_anew in (False, True):
            told = _at_a_new_url(wishes)
            store.add_pages(told[:known], now=0.0)
            store.add_pages(store.told_anew(told) if only_anew else told, now=1.0)
            record = store.pages()[-1]
            left.append(replace(record, page=replace(record.page, id=0, url="")))
        assert left[0] == left[1]

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


def _at_a_new_url(wishes: list[NewPage]) -> list[NewPage]:
    """The same wishes of a page that the store, which all examples share, never had."""
    url = f"https://{next(_numbers)}.example/"
    return [replace(page, url=url) for page in wishes]
