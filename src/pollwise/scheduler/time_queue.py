"""Pages by the times at which they are looked at: very many at the start, in little memory."""

import heapq
import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["TimeQueue"]

_FEW = 1000
_SHARE = 16
"""Those that come together go into the heap if they are few, or so much fewer than those there."""


class TimeQueue:
    """Times with page ids, the earliest first, and among equal ones the smallest id.

    Many that come together are kept in arrays, which takes 16 bytes each, a tenth of what an entry
    of a heap does.

    >>> queue = TimeQueue()
    >>> queue.extend(np.array([5.0, 2.0]), np.array([0, 1]))
    >>> queue.push(3.0, 7)
    >>> queue.pop(), queue.first, queue.pop(), queue.pop(), queue.first
    ((2.0, 1), 3.0, (3.0, 7), (5.0, 0), inf)
    """

    def __init__(self) -> None:
        self._times = np.zeros(0)
        self._page_ids = np.zeros(0, np.int64)
        self._next = 0
        """The place of the first one that is left in the arrays."""
        self._heap: list[tuple[float, int]] = []
        self._earliest: tuple[float, int] | None = None
        """The first one that is left in the arrays."""

    def extend(self, times: NDArray[np.float64], page_ids: NDArray[np.int64]) -> None:
        """Take in several."""
        left = len(self._times) - self._next
        if len(times) < max(_FEW, left // _SHARE):
            for entry in zip(times.tolist(), page_ids.tolist(), strict=True):
                self.push(*entry)
            return
        if left:
            times = np.concatenate([self._times[self._next :], times])
            page_ids = np.concatenate([self._page_ids[self._next :], page_ids])
        order = np.lexsort((page_ids, times))
        self._times, self._page_ids, self._next = times[order], page_ids[order], 0
        self._look()

    def push(self, time: float, page_id: int) -> None:
        """Take in one."""
        heapq.heappush(self._heap, (time, page_id))

    @property
    def first(self) -> float:
        """The earliest time; infinite: there is none."""
        from_heap = self._heap[0][0] if self._heap else math.inf
        return from_heap if self._earliest is None else min(from_heap, self._earliest[0])

    def pop(self) -> tuple[float, int]:
        """Take out the first; `IndexError` if there is none."""
        earliest = self._earliest
        if earliest is None or (self._heap and self._heap[0] < earliest):
            return heapq.heappop(self._heap)
        self._next += 1
        self._look()
        return earliest

    def pop_many(self, until: float) -> tuple[NDArray[np.float64], NDArray[np.int64]] | None:
        """Take out those up to a time that came together, in order; None: they are few."""
        end = int(np.searchsorted(self._times, until, "right"))
        if end - self._next < _FEW:
            return None
        many = self._times[self._next : end], self._page_ids[self._next : end]
        self._next = end
        self._look()
        return many

    def _look(self) -> None:
        is_over = self._next == len(self._times)
        if is_over:  # what is left behind need not be kept
            self._times, self._page_ids, self._next = np.zeros(0), np.zeros(0, np.int64), 0
            self._earliest = None
        else:
            place = self._next
            self._earliest = self._times.item(place), self._page_ids.item(place)
