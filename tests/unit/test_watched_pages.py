"""The pages of a run: packed or not, they are what was put in."""

from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise import watched_pages
from pollwise.types import Mask, Noise, Outcome, Page, PageMemory
from pollwise.watched_pages import Watched, WatchedPages, count_of_scope, id_of_url

hashes = st.text("0123456789abcdef", min_size=1, max_size=3)
texts = st.none() | st.text(max_size=3)
masks = st.just(Mask(("a", "b"), ("c", "d"), "", 0, 1, 9, "12:30"))
noise = st.builds(
    Noise, st.lists(masks, max_size=1).map(tuple), st.integers(0, 3), st.integers(0, 3)
)
URLS = ["http://a.example/", "https://a.example/é", "https://b.example/\udcff"]
parts = st.sampled_from([(), ("a", "b c")])
watched = st.builds(
    lambda page_id, **others: (page_id, others),
    st.integers(0, 12),
    url=st.sampled_from(URLS),
    scope=st.sampled_from(["", "a"]),
    site=st.sampled_from(["", "a"]),
    cost=st.sampled_from([1.0, 2.5]),
    longest_interval=st.none() | st.just(9.0),
    shortest_interval=st.none() | st.just(0.5),
    select=parts,
    ignore=parts,
    render=st.booleans(),
    weight=st.floats(0.0, 1e9),
    seen_at=st.none() | st.floats(-1e9, 1e9),
    kind=st.sampled_from(["", "k"]),
    changes_in_a_row=st.integers(0, 3),
    tags=st.lists(st.text(max_size=2), max_size=2).map(tuple),
    name=st.text(max_size=3),
    paused=st.booleans(),
)
memories = st.builds(
    PageMemory,
    texts,
    texts,
    st.none() | hashes,
    st.none() | hashes,
    st.lists(hashes, max_size=2).map(tuple),
    noise,
    st.lists(hashes, max_size=3).map(tuple),
)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["put", "get", "remove", "read all"]),
            watched,
            memories,
            st.booleans(),
            st.none() | st.sampled_from(Outcome),
        ),
        max_size=30,
    ),
    st.sampled_from([0, 1, 3, 10_000]),
)
def test_it_is_a_dict(steps, most_whole: int) -> None:
    pages, expected = WatchedPages(), {}
    with mock.patch.object(watched_pages, "_MOST_WHOLE", most_whole):
        for what, (page_id, fields), memory, gone, outcome in steps:
            if what == "put":
                expected[page_id] = Watched(Page(page_id, **fields), memory, gone, outcome)
                pages[page_id] = expected[page_id]
            elif what == "remove":
                assert pages.pop(page_id, None) == expected.pop(page_id, None)
            elif what == "get":
                assert pages.get(page_id) == expected.get(page_id)
            else:
                expected = dict(sorted(expected.items()))
                assert list(pages.items()) == list(expected.items())
                assert list(pages.columns()) == [own.page for own in expected.values()]
                assert list(pages.columns()[1:]) == [own.page for own in expected.values()][1:]
                for url in URLS:
                    assert id_of_url(pages, url) == id_of_url(expected, url)
                count = sum(own.page.seen_at is None for own in expected.values())
                assert pages.count_without_copy() == count
                failed = [one for one, own in expected.items() if own.outcome is Outcome.FAILED]
                assert pages.with_outcome([Outcome.FAILED]) == failed
                without = [one for one in failed if expected[one].page.seen_at is None]
                assert pages.with_outcome([Outcome.FAILED], without_copy=True) == without
                plain = [own for own in expected.values() if own.page.url.startswith("http:")]
                assert pages.count_by_scope(plain=True).total() == len(plain)
                of_a = sum(own.page.scope == "a" for own in expected.values())
                assert count_of_scope(pages, "a") == count_of_scope(expected, "a") == of_a
                new = [own for own in expected.values() if own.outcome is None]
                assert pages.count_by_scope(polled=False).total() == len(new)
            assert len(pages) == len(expected)
            assert set(pages) == set(expected)


def test_of_what_is_not_there_nothing_is_told() -> None:
    pages = WatchedPages()
    assert -1 not in pages
    assert "0" not in pages
    with pytest.raises(KeyError):
        pages[0]
    with pytest.raises(KeyError):
        del pages[0]


def test_what_is_remembered_stays_the_same_object_from_one_poll_to_the_next() -> None:
    pages = WatchedPages()
    memory = PageMemory(items=("a", "b"))
    pages[0] = Watched(Page(0), memory)
    assert pages[0].memory.items is memory.items


def test_to_count_the_pages_of_a_scope_unpacks_none(monkeypatch) -> None:
    monkeypatch.setattr(watched_pages, "_MOST_WHOLE", 2)
    pages = WatchedPages()
    for page_id in range(9):
        pages[page_id] = Watched(Page(page_id, scope="ab"[page_id % 2]), PageMemory())
    whole = list(pages._whole)
    assert count_of_scope(pages, "b") == 4
    assert list(pages._whole) == whole
