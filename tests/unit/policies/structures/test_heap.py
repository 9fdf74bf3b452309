"""The heap gives its pages in the order of their times, whatever happened to it before."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pollwise.policies.structures.heap import heap_push, heap_remove, heap_update

PAGE = np.dtype([("key", "f8"), ("place", "i8")])
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
    heap, pages = np.zeros(SIZE + 1, np.int64), np.zeros(SIZE, PAGE)
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
        assert set(heap[1 : heap[0] + 1].tolist()) == set(times)
        assert all(heap[pages[page]["place"]] == page for page in times)
        assert all(pages[page]["key"] == time for page, time in times.items())
    order = []
    while heap[0] > 0:
        first = int(heap[1])
        order.append(times[first])
        heap_remove(heap, pages, first)
    assert order == sorted(times.values())


@steady
@given(times=st.lists(st.floats(0, 1), min_size=2, max_size=20))
def test_two_heaps_share_the_pages(times):
    heaps, pages = np.zeros((2, len(times) + 1), np.int64), np.zeros(len(times), PAGE)
    for page, time in enumerate(times):
        heap_push(heaps[page % 2], pages, page, time)
    assert pages["key"][heaps[0][1]] == min(times[::2])
    assert pages["key"][heaps[1][1]] == min(times[1::2])
