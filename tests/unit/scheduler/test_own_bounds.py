"""What is kept of pages with bounds is found again by page, whoever came and went before."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pollwise.page_columns import as_columns
from pollwise.scheduler.own_bounds import OwnBoundsTable
from pollwise.types import Page

intervals = st.none() | st.floats(0.5, 1e9)
wanted = st.builds(
    dict,
    scope=st.sampled_from("abc"),
    cost=st.floats(0.1, 9.0),
    longest_interval=intervals,
    shortest_interval=intervals,
    seen_at=st.none() | st.floats(-1e9, 1e9),
    changes_in_a_row=st.integers(0, 99),
    paused=st.booleans(),
)


@given(st.lists(st.tuples(st.sets(st.integers(0, 40), max_size=9), wanted), max_size=20))
def test_each_page_has_its_own(steps) -> None:
    table, kept = OwnBoundsTable(), {}
    for page_ids, fields in steps:
        for page_id in page_ids & kept.keys():
            own = table.get(page_id)
            assert own is not None
            table.remove(own)
            del kept[page_id]
            page_ids = page_ids - {page_id}
        new = [Page(page_id, **fields) for page_id in page_ids]
        table.extend(as_columns(new), np.full(len(new), -math.inf))
        kept |= {page.id: page for page in new}
        for page_id, page in kept.items():
            own = table.get(page_id)
            assert own is not None
            assert (own.scope, own.cost, own.paused) == (page.scope, page.cost, page.paused)
            assert own.longest == page.longest_interval
            assert own.shortest == page.shortest_interval
            assert own.seen == (page.seen_at is not None)
            assert own.changes == page.changes_in_a_row
            assert (own.polled_at, own.looks_at) == (-math.inf, math.inf)
        assert table.columns["page_id"][table.rows()].tolist() == sorted(kept)
    assert table.get(41) is None
    assert table.get(-1) is None


def test_what_is_written_stays() -> None:
    table = OwnBoundsTable()
    table.extend(as_columns([Page(3), Page(5)]), np.zeros(2))
    own, other = table.get(3), table.get(5)
    assert own is not None
    assert other is not None
    own.polled_at = 7.0
    own.want(Page(3, cost=2.0, longest_interval=9.0, paused=True))
    assert table.get(3) is own
    table.let_go()
    again = table.get(3)
    assert again is not None
    assert again is not own
    assert (again.polled_at, again.cost, again.longest, again.shortest) == (7.0, 2.0, 9.0, None)
    assert (again.round_cost, other.round_cost, other.polled_at) == (0.0, 1.0, 0.0)
