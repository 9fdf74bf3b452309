"""Pages by columns are the same pages."""

import json
import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pollwise.page_columns import as_columns, coded, from_plain, to_plain
from pollwise.types import Page

intervals = st.none() | st.floats(0.5, 1e9)
texts = st.lists(st.text(max_size=3), max_size=2).map(tuple)
pages = st.lists(
    st.builds(
        Page,
        id=st.integers(0, 2**31),
        url=st.text(max_size=9),
        scope=st.sampled_from(["", "a", "b"]),
        weight=st.floats(0.0, 1e9),
        cost=st.floats(0.1, 9.0),
        seen_at=st.none() | st.floats(-1e9, 1e9),
        site=st.sampled_from(["", "a"]),
        kind=st.sampled_from(["", "k", "l"]),
        longest_interval=intervals,
        shortest_interval=intervals,
        changes_in_a_row=st.integers(0, 99),
        paused=st.booleans(),
        tags=texts,
        select=texts,
        ignore=texts,
        name=st.text(max_size=3),
        render=st.booleans(),
        notify_when=texts,
    ),
    max_size=6,
)


@given(pages)
def test_they_come_back_from_json_and_arrays(some: list[Page]) -> None:
    lists, arrays = to_plain(as_columns(some))
    assert list(from_plain(json.loads(json.dumps(lists)), arrays)) == some


def test_they_come_back_from_the_lists_of_earlier_versions() -> None:
    lists = {
        "id": [0, 3],
        "url": ["http://a.example/", "http://b.example/"],
        "weight": 2.0,
        "seen_at": [10.0, None],
        "kind": ["k", ""],
        "changes_in_a_row": 0,
        "name": "",
        "terms": [0, 1],
        "of_terms": [
            ["a", "a", 0.5, None, None, False, ["x"], [], [], False],
            ["b", "b", 1.0, 9.0, None, True, [], [], [], False],
        ],
    }
    assert from_plain(lists) == (
        Page(0, "http://a.example/", "a", 2.0, 0.5, 10.0, "a", "k", tags=("x",)),
        Page(3, "http://b.example/", "b", 2.0, site="b", longest_interval=9.0, paused=True),
    )


@given(pages, st.data())
def test_any_of_them_in_any_order(some: list[Page], data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(0, len(some) - 1))) if some else []
    picked = as_columns(some).at(np.array(places, np.int64))
    assert list(picked) == [some[place] for place in places]
    assert list(picked[1:]) == [some[place] for place in places[1:]]
    assert picked.costs.tolist() == [page.cost for page in picked]
    assert picked.kinds.values() == [page.kind for page in picked]
    seen_at = [None if math.isnan(time) else time for time in picked.seen_at.tolist()]
    assert seen_at == [page.seen_at for page in picked]
    assert list(as_columns(list(picked)).only(picked.weights > 1.0)) == [
        page for page in picked if page.weight > 1.0
    ]


def test_scopes_that_pages_share() -> None:
    columns = as_columns([Page(0, scope="a"), Page(1, scope="b"), Page(2, scope="a")])
    assert columns.with_scopes(lambda scope: scope) is columns
    shared = columns.with_scopes({"a": "c", "b": "b"}.__getitem__)
    assert [page.scope for page in shared] == ["c", "b", "c"]
    assert [terms.scope for terms in shared.terms.values()] == ["c", "b", "c"]
    assert shared[1:][0].scope == "b"


@given(st.lists(st.text(max_size=2)))
def test_values_come_back_from_their_numbers(values: list[str]) -> None:
    assert coded(values).values() == values
    assert len(coded(values).distinct) == len(set(values))


def test_what_is_given_for_values_is_given_for_each_in_their_order() -> None:
    words = coded(["a", "bb", "a"])
    assert words.array(len, np.int64).tolist() == [1, 2, 1]
    assert words.array(str.isalpha, np.bool_).tolist() == [True] * 3
    assert words.array(lambda _: math.nan, np.float64).shape == (3,)
    assert len(coded([]).array(len, np.int64)) == 0
