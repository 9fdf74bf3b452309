"""The heap gives its pages in the order of their times, whatever happened to it before."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pollwise.policies.structures.heap import (
    HEAP,
    entries,
    first_page,
    first_time,
    heap_push,
    heap_remove,
    heap_size,
    heap_update,
    heaps_for,
    no_heaps,
    time_of,
)

PAGE = np.dtype([("place", "i4")])
SIZE = 40

steady = settings(derandomize=True, deadline=None, max_examples=50)

changes = st.lists(
    st.tuples(
        st.integers(0, SIZE - 1),
        st.one_of(st.none(), st.floats(-5, 5), st.sampled_from([-np.inf, 0.0, np.inf])),
    ),
    max_size=150,
)


@steady
@given(changes=changes)
def test_it_is_a_sorted_list_by_another_name(changes):
    heap, pages = np.zeros(SIZE + 1, HEAP), np.zeros(SIZE, PAGE)
    times: dict[int, float] = {}
    for page, time in changes:
        if time is None:
            if times.pop(page, None) is not None:
                heap_remove(heap, pages, page)
        elif page in times:
            heap_update(heap, pages, page, time)
            times[page] = time
        else:
            heap_push(heap, pages, page, time)
            times[page] = time
        assert (
            dict(zip(*(entries(heap)[name].tolist() for name in ("page", "time")), strict=True))
            == times
        )
        assert all(heap[pages[page]["place"]]["page"] == page for page in times)
        assert all(time_of(heap, pages, page) == time for page, time in times.items())
    order = []
    while heap_size(heap) > 0:
        first = first_page(heap)
        assert first_time(heap) == times[first]
        order.append(times[first])
        heap_remove(heap, pages, first)
    assert order == sorted(times.values())


@steady
@given(times=st.lists(st.floats(0, 1), min_size=2, max_size=20))
def test_two_heaps_share_the_pages_and_one_array_that_grows(times):
    heaps, pages = no_heaps(), np.zeros(len(times), PAGE)
    for page, time in enumerate(times):
        heaps = heaps_for(page + 1, heaps)
        assert len(heaps) == page + 3
        heap_push(heaps[::-1] if page % 2 else heaps, pages, page, time)
    for n, heap in enumerate((heaps, heaps[::-1])):
        assert first_time(heap) == min(times[n::2])
        assert sorted(entries(heap)["page"].tolist()) == list(range(n, len(times), 2))
        assert entries(heap)[0]["time"] == first_time(heap)


def test_heaps_that_need_no_more_room_stay_as_they_are():
    heaps = heaps_for(5, no_heaps())
    assert heaps_for(5, heaps) is heaps
