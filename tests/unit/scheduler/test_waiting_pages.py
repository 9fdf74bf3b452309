"""Pages that wait: the same, whether they came alone or among a thousand."""

import gc
import heapq
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.page_columns import as_columns
from pollwise.scheduler.waiting_pages import Places, WaitingLine, WaitingPages
from pollwise.types import Page

places = st.tuples(st.integers(-3, 3).map(float), st.integers(0, 99), st.integers(0, 9))


@given(st.lists(st.lists(places, min_size=1, max_size=8) | places | st.none(), max_size=40))
def test_a_line_is_a_heap(steps) -> None:
    line, heap = WaitingLine(), []
    for step in steps:
        if isinstance(step, list):
            ranks, turns, page_ids = map(np.array, zip(*step, strict=True))
            # Between others, which are not of this line.
            order = np.pad(np.lexsort((page_ids, turns, ranks)), 1)
            line.put(Places(ranks, turns, page_ids, order), 1, 1 + len(step))
            for place in step:
                heapq.heappush(heap, place)
        elif step is not None:
            line.push(step)
            heapq.heappush(heap, step)
        elif heap:
            assert line.pop() == heapq.heappop(heap)
        assert line.first == (heap[0] if heap else None)


def test_few_that_come_do_not_move_the_many_that_wait() -> None:
    line = WaitingLine()
    line.put(Places(np.arange(9.0), np.arange(9), np.arange(9), np.arange(9)), 0, 9)
    line.put(Places(np.array([0.5]), np.array([9]), np.array([9]), np.array([0])), 0, 1)
    assert len(line._heap) == 1
    assert [line.pop()[2] for _ in range(10)] == [0, 9, *range(1, 9)]


@pytest.mark.parametrize("together", [10, 1000])
def test_pages_are_there_until_they_are_taken_out(together: int) -> None:
    waiting = WaitingPages()
    pages = [Page(2 * n, f"https://example.org/{n}") for n in range(together)]
    waiting.add(as_columns(pages))
    waiting.add(as_columns([Page(1)]))
    assert len(waiting) == together + 1
    assert waiting[8] == pages[4]
    waiting[8] = Page(8, weight=3.0)
    assert waiting[8].weight == 3.0
    assert 3 not in waiting
    assert -2 not in waiting
    assert waiting.pop(3) is None
    assert [waiting.pop(8), waiting.pop(8)] == [Page(8, weight=3.0), None]
    assert len(waiting) == together
    with pytest.raises(KeyError):
        waiting[8]
    for page in pages:
        assert waiting.pop(page.id) == (None if page.id == 8 else page)
    assert len(waiting) == 1


def test_many_that_came_together_are_no_objects() -> None:
    """Each would take half a kilobyte, and the search for garbage would look at it."""
    waiting = WaitingPages()

    def objects() -> int:
        # `isinstance` would ask proxies, too, of which some tests leave dead ones.
        return sum(type(one) is Page for one in gc.get_objects())

    gc.collect()  # what other tests left may go meanwhile
    before = objects()
    waiting.add(as_columns([Page(n, f"https://example.org/{n}", name=f"{n}") for n in range(1000)]))
    assert objects() == before
    assert waiting[7] == Page(7, "https://example.org/7", name="7")


def test_the_last_ones_do_not_keep_all_that_came_with_them() -> None:
    waiting = WaitingPages()
    pages = [Page(n, f"https://example.org/{n}") for n in range(1000)]
    columns = as_columns(pages)
    kept = weakref.ref(columns.ids)
    waiting.add(columns)
    del columns
    left = (0, 998)
    for page in pages:
        if page.id not in left:
            assert waiting.pop(page.id) == page
    assert kept() is None, "the columns"
    assert len(waiting) == 2
    assert [waiting.pop(page_id) for page_id in left] == [pages[page_id] for page_id in left]
    assert len(waiting) == 0
