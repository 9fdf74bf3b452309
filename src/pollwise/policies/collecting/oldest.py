"""Pages in the order of their latest polls, some of whose scopes are blocked."""

import heapq
from collections import Counter

__all__ = ["OldestFirst"]


class OldestFirst:
    """Pages by the times of their latest polls, earliest first, scope by scope.

    >>> pages = OldestFirst()
    >>> pages.add(7, "a.example", 20.0)
    >>> pages.add(8, "b.example", 30.0)
    >>> pages.block("a.example")
    >>> pages.first()
    8
    """

    def __init__(self) -> None:
        self._time: dict[int, float] = {}
        # Heaps of (time, page), by scope, and one of (time of the first, scope). They may have
        # stale entries, which are dropped when they come first.
        self._scopes: dict[str, list[tuple[float, int]]] = {}
        self._firsts: list[tuple[float, str]] = []
        self._blocks: Counter[str] = Counter()

    def add(self, page_id: int, scope: str, polled_at: float) -> None:
        """Add a page, or move it to its new place."""
        if self._time.get(page_id) == polled_at:
            return
        self._time[page_id] = polled_at
        pages = self._scopes.setdefault(scope, [])
        heapq.heappush(pages, (polled_at, page_id))
        if pages[0][1] == page_id:
            heapq.heappush(self._firsts, (polled_at, scope))

    def remove(self, page_id: int) -> None:
        """Take a page out, if it is there."""
        self._time.pop(page_id, None)

    def block(self, scope: str) -> None:
        """Pass over the pages of a scope, until as many `unblock`s."""
        self._blocks[scope] += 1

    def unblock(self, scope: str) -> None:
        """End what `block` began."""
        self._blocks[scope] -= 1
        if not self._blocks[scope]:
            del self._blocks[scope]
            if pages := self._scopes.get(scope):
                heapq.heappush(self._firsts, (pages[0][0], scope))

    def first(self) -> int | None:
        """The page that was polled longest ago; None: there is none, or all are blocked."""
        while self._firsts:
            time, scope = self._firsts[0]
            pages = self._scopes[scope]
            while pages and self._time.get(pages[0][1]) != pages[0][0]:
                heapq.heappop(pages)
            if scope not in self._blocks and pages and pages[0][0] == time:
                return pages[0][1]
            heapq.heappop(self._firsts)
            if scope not in self._blocks and pages:
                heapq.heappush(self._firsts, (pages[0][0], scope))
        return None
