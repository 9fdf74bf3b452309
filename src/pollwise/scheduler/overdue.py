"""Pages that are overdue: the earliest deadline first, among those whose hosts are free."""

import heapq
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pollwise.page_columns import Coded
from pollwise.scheduler.waiting_pages import WaitingLine, places_by_scope

__all__ = ["OverduePages"]


_ANY_TURN = 0
"""Of pages with one deadline the smallest id comes first."""


class OverduePages:
    """Pages past their deadlines, in a line for each politeness scope.

    A scope that is not free is looked at again when it is expected to be, or when `look_again` says
    so. So an answer costs the same however many pages wait.

    >>> overdue = OverduePages()
    >>> overdue.add("a", deadline=5.0, page_id=1)
    >>> overdue.add("b", deadline=7.0, page_id=2)
    >>> overdue.take(now=8.0, free_at={"a": 9.0, "b": 0.0}.__getitem__), overdue.first_free
    (2, 9.0)
    """

    def __init__(self) -> None:
        self._lines: dict[str, WaitingLine] = {}
        # Heaps of scopes that may be free, by their first deadlines, and of busy ones, by the times
        # at which to look at them again. Outdated entries are dropped late.
        self._ready: list[tuple[float, str]] = []
        self._busy: list[tuple[float, str]] = []
        self.awaited: dict[str, float] = {}
        """When to look at busy scopes again, by these; to be read."""

    def __bool__(self) -> bool:
        return bool(self._lines)

    def add(self, scope: str, deadline: float, page_id: int) -> None:
        """A page whose deadline has passed; it is taken once."""
        line = self._lines.setdefault(scope, WaitingLine())
        place = deadline, _ANY_TURN, page_id
        line.push(place)
        if line.first == place:
            self._offer(scope)

    def extend(
        self, scopes: Coded[str], deadlines: NDArray[np.float64], page_ids: NDArray[np.int64]
    ) -> None:
        """Several, in any order."""
        turns = np.broadcast_to(np.int64(_ANY_TURN), len(page_ids))
        for scope, places, begin, end in places_by_scope(scopes, deadlines, turns, page_ids):
            self._lines.setdefault(scope, WaitingLine()).put(places, begin, end)
            self._offer(scope)

    def take(self, now: float, free_at: Callable[[str], float]) -> int | None:
        """The page of the earliest deadline whose scope is free now; None: there is none."""
        while self._busy and self._busy[0][0] <= now:
            time, scope = heapq.heappop(self._busy)
            if self.awaited.get(scope) == time:
                del self.awaited[scope]
                self._offer(scope)
        while self._ready:
            deadline, scope = heapq.heappop(self._ready)
            line = self._lines.get(scope)
            first = None if line is None else line.first
            if line is None or first is None or first[0] != deadline or scope in self.awaited:
                continue
            free = free_at(scope)
            if free > now:
                self._expect(scope, free)
                continue
            _, _, page_id = line.pop()
            self._offer(scope)
            return page_id
        return None

    def look_again(self, scope: str, free_at: float) -> None:
        """A scope that was busy is free from this time on."""
        if scope in self.awaited:
            self._expect(scope, free_at)

    @property
    def first_free(self) -> float:
        """When to look at the first busy scope again; infinite: none is waited for."""
        return self._busy[0][0] if self._busy else float("inf")

    def _offer(self, scope: str) -> None:
        """Let the first page of a scope be taken, unless the scope is known to be busy."""
        first = self._lines[scope].first
        if first is None:
            del self._lines[scope]
        elif scope not in self.awaited:
            heapq.heappush(self._ready, (first[0], scope))

    def _expect(self, scope: str, free_at: float) -> None:
        self.awaited[scope] = free_at
        heapq.heappush(self._busy, (free_at, scope))
