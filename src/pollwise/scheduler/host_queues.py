"""Pages that were selected while their host was busy, waiting for it in the order of selection."""

import heapq
import math
from collections import deque
from collections.abc import Callable

__all__ = ["HostQueues"]


class HostQueues:
    """A line of pages for every busy host, and which host is free next.

    Not endless, because what is worth most may change while a page waits; but long enough, for
    whoever has to come back later may never find a place at a host that is always in demand.

    >>> queues = HostQueues(places=1)
    >>> queues.join("a", 7, free_at=5.0), queues.join("a", 8, free_at=5.0)
    (True, False)
    >>> queues.next_page(4.0, free_at=lambda host: 5.0) is None, queues.first_free
    (True, 5.0)
    >>> queues.next_page(5.0, free_at=lambda host: 5.0)
    7
    """

    def __init__(self, places: int) -> None:
        """`places`: how many pages may wait for one host."""
        self._places = places
        self._lines: dict[str, deque[int]] = {}
        self._waiting: set[int] = set()
        # When a host with a line is free, to be checked again at that time; and a heap of the same,
        # from which what is no longer expected is dropped late.
        self._expected: dict[str, float] = {}
        self._free: list[tuple[float, str]] = []

    def __contains__(self, page_id: int) -> bool:
        return page_id in self._waiting

    def join(self, host: str, page_id: int, free_at: float) -> bool:
        """Let a page wait for its host, free at the time given; whether there was room."""
        if len(self._lines.get(host, ())) >= self._places:
            return False
        line = self._lines.setdefault(host, deque())
        line.append(page_id)
        self._waiting.add(page_id)
        self.expect(host, free_at)
        return True

    def expect(self, host: str, free_at: float) -> None:
        """Note when a host will be free, instead of an earlier notice."""
        if self._lines.get(host):
            self._expected[host] = free_at
            heapq.heappush(self._free, (free_at, host))

    def next_page(self, now: float, free_at: Callable[[str], float]) -> int | None:
        """Take the first page of a host that is free now; `free_at` tells that of a host."""
        while self._free and self._free[0][0] <= now:
            time, host = heapq.heappop(self._free)
            line = self._lines.get(host)
            if not line or self._expected[host] != time:
                continue
            free = free_at(host)
            if free > now:
                self.expect(host, free)
                continue
            page_id = line.popleft()
            self._waiting.discard(page_id)
            if line:
                self.expect(host, now)
            else:
                del self._lines[host], self._expected[host]
            return page_id
        return None

    @property
    def first_free(self) -> float:
        """When the first host with a line is expected to be free; infinite: none."""
        return self._free[0][0] if self._free else math.inf
