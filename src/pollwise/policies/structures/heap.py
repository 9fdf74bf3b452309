"""A heap of pages by time, from which any page can be removed: compiled kernels.

A heap is an array of HEAP: the first element tells the number of pages, the others follow in the
order of the heap. `pages[i].place` is where page i stands. Several heaps can share `pages` as long
as each page is in only one of them, and two of them one array, from either end: the second one is
`heaps[::-1]`, so that one array is handed over. Times stand beside their pages, and a node has four
children: fewer cache misses than with two.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pollwise.array_growth import with_room
from pollwise.kernel_cache import kernel
from pollwise.policies.structures.prefetch import prefetch

__all__ = [
    "HEAP",
    "entries",
    "first_page",
    "first_time",
    "heap_expect",
    "heap_push",
    "heap_remove",
    "heap_size",
    "heap_update",
    "heaps_for",
    "no_heaps",
    "time_of",
]

HEAP = np.dtype([("time", "f8"), ("page", "i4")])
_SIDE_BY_SIDE = 5
"""Elements that are fetched from memory together, at least."""

Heap = NDArray[Any]
Pages = NDArray[Any]
"""A structured array with the field `place` (int32 or int64)."""


def no_heaps() -> Heap:
    """Two empty heaps in one array, without room for any page."""
    return np.zeros(2, HEAP)


def heaps_for(pages: int, heaps: Heap) -> Heap:
    """The same two heaps, with room for so many pages together, or for more."""
    if pages + 2 <= len(heaps):
        return heaps
    both = with_room(pages + 2, HEAP)
    for heap, before in ((both, heaps), (both[::-1], heaps[::-1])):
        end = before["page"][0] + 1
        heap[:end] = before[:end]
    return both


def entries(heap: Heap) -> Heap:
    """The pages of a heap with their times, the earliest one first: a view.

    For what is not compiled, which need not know how a heap is laid out, or load a kernel to look.
    """
    return heap[1 : int(heap["page"][0]) + 1]


@kernel(forceinline=True, allocates=False)
def heap_size(heap: Heap) -> int:
    """The number of pages."""
    return int(heap[0].page)


@kernel(forceinline=True, allocates=False)
def first_page(heap: Heap) -> int:
    """The page of the earliest time; there must be one."""
    return int(heap[1].page)


@kernel(forceinline=True, allocates=False)
def first_time(heap: Heap) -> float:
    """The earliest time; there must be a page."""
    return float(heap[1].time)


@kernel(forceinline=True, allocates=False)
def time_of(heap: Heap, pages: Pages, page: int) -> float:
    """The time of a page of the heap."""
    return float(heap[pages[page].place].time)


@kernel(forceinline=True, allocates=False)
def _put(heap: Heap, pages: Pages, spot: int, page: int, time: float) -> None:
    heap[spot].page = page
    heap[spot].time = time
    pages[page].place = spot


@kernel(forceinline=True, allocates=False)
def _rise(heap: Heap, pages: Pages, spot: int, page: int, time: float) -> None:
    """Put a page at a free spot, or above it."""
    while spot > 1:
        parent = (spot + 2) // 4
        if heap[parent].time <= time:
            break
        _put(heap, pages, spot, heap[parent].page, heap[parent].time)
        spot = parent
    _put(heap, pages, spot, page, time)


@kernel(allocates=False)
def _sink(heap: Heap, pages: Pages, spot: int, page: int, time: float) -> None:
    """Put a page at a free spot, or below it."""
    end = heap_size(heap) + 1
    while True:
        first = 4 * spot - 2
        if first >= end:
            break
        grandchildren = 4 * first - 2  # fetched while their parents are compared
        for n in range(0, 16, _SIDE_BY_SIDE):
            prefetch(heap, grandchildren + n)
        least = first
        for child in range(first + 1, min(first + 4, end)):
            if heap[child].time < heap[least].time:
                least = child
        if heap[least].time >= time:
            break
        _put(heap, pages, spot, heap[least].page, heap[least].time)
        spot = least
    _put(heap, pages, spot, page, time)


@kernel(allocates=False)
def heap_push(heap: Heap, pages: Pages, page: int, time: float) -> None:
    """Put a page in, with its time."""
    heap[0].page += 1
    _rise(heap, pages, heap_size(heap), page, time)


@kernel(forceinline=True, allocates=False)
def heap_update(heap: Heap, pages: Pages, page: int, time: float) -> None:
    """Give a page of the heap another time."""
    spot = int(pages[page].place)
    if time < heap[spot].time:
        _rise(heap, pages, spot, page, time)
    else:
        _sink(heap, pages, spot, page, time)


@kernel(forceinline=True, allocates=False)
def heap_expect(heap: Heap, pages: Pages, page: int) -> None:
    """Prepare `heap_update` of a page, some time before it."""
    spot = int(pages[page].place)
    prefetch(heap, spot)
    prefetch(heap, (spot + 2) // 4)
    prefetch(heap, 4 * spot - 2)


@kernel(allocates=False)
def heap_remove(heap: Heap, pages: Pages, page: int) -> None:
    """Take a page out, wherever it stands."""
    spot, end = int(pages[page].place), heap_size(heap)
    last, time = int(heap[end].page), float(heap[end].time)
    heap[0].page -= 1
    if last == page:
        return
    if spot > 1 and time < heap[(spot + 2) // 4].time:
        _rise(heap, pages, spot, last, time)
    else:
        _sink(heap, pages, spot, last, time)
