"""Pages that were never polled, which need no policy: those of the largest weight come first."""

import heapq
import math
from collections.abc import Callable, Sequence

import numpy as np

from pollwise.array_growth import long_enough
from pollwise.page_columns import PageColumns, as_columns, coded
from pollwise.scheduler.cell_rate import CellRate
from pollwise.scheduler.waiting_pages import (
    Place,
    WaitingLine,
    WaitingPages,
    places_by_scope,
)
from pollwise.types import Budget, Page

__all__ = ["FirstCopies"]

_NOT_IN_LINE = -1
_FEW = 20
"""Pages that are lined up one by one."""


class FirstCopies:
    """The pages that wait for their first answer, whatever it is, and the rate at which they may.

    `own_rate` is theirs beside the `budget`, which holds if it is the higher one; None: no page
    waits here.

    They are polled in the order of weight per cost, then in that in which they came, as far as
    their hosts are free: a busy one is looked at again when it is expected to be, or when
    `look_again` says so. One choice takes time in proportion to the logarithm of the pages.

    >>> waiting = FirstCopies(Budget(rate=1.0), CellRate(Budget(rate=0.1)))
    >>> waiting.add([Page(0, scope="a"), Page(1, scope="a", weight=2.0), Page(2, scope="b")])
    >>> is_free = lambda scope, now: 5.0 if scope == "a" else now
    >>> waiting.take(0.0, is_free), waiting.take(0.0, is_free), waiting.next_at
    (2, None, 5.0)
    >>> waiting.take(5.0, lambda scope, now: now)
    1
    """

    def __init__(self, own_rate: Budget | None, budget: CellRate) -> None:
        self.own_rate = None if own_rate is None else CellRate(own_rate)
        self._budget = budget
        self._pages = WaitingPages()
        self._next_turn = 0
        # Where a page waits: in line, at this turn, or until when it is held. It is polled:
        # neither.
        self._turns = np.zeros(0, np.int64)
        self._held_until: dict[int, float] = {}
        self._by_scope: dict[str, WaitingLine] = {}
        # Each scope with pages is in one of these heaps: with its first page, or when to look at
        # it again because its host is busy. What is outdated is dropped late.
        self._free: list[tuple[Place, str]] = []
        self._busy: list[tuple[float, str]] = []
        self.awaited: dict[str, float] = {}
        """When to look at busy scopes again, by these; to be read."""
        self._held: list[tuple[float, int]] = []

    def __contains__(self, page_id: int) -> bool:
        return page_id in self._pages

    def __len__(self) -> int:
        return len(self._pages)

    @property
    def wait_for_budget(self) -> bool:
        """Whether the budget holds for them, too, as it is the higher rate."""
        return self.own_rate is None or self.own_rate.budget.rate <= self._budget.budget.rate

    @property
    def rate(self) -> CellRate:
        """The rate that holds for them now."""
        if self.own_rate is None or self.wait_for_budget:
            return self._budget
        return self.own_rate

    def add(self, pages: Sequence[Page]) -> None:
        """Let pages wait for their first polls; a paused one waits until it is resumed."""
        columns = as_columns(pages)
        if len(columns) == 0:
            return
        self._pages.add(columns)
        self._turns = long_enough(self._turns, int(columns.ids.max()) + 1, _NOT_IN_LINE)
        if len(columns) < _FEW:
            for page in columns:
                self._line_up(page)
        else:
            self._line_up_all(columns)
        paused = columns.terms.array(lambda one: one.paused, np.bool_)
        for page_id in columns.ids[paused].tolist():
            self.put_back(page_id, math.inf)

    def _line_up_all(self, columns: PageColumns) -> None:
        turns = self._next_turn + np.arange(len(columns))
        self._next_turn += len(columns)
        self._turns[columns.ids] = turns
        terms = columns.terms
        scopes = coded(one.scope for one in terms.distinct)
        by_scope, ranks = scopes.at(terms.numbers), -columns.weights / columns.costs
        lines = places_by_scope(by_scope, ranks, turns, columns.ids)
        for scope, places, begin, end in lines:
            self._by_scope.setdefault(scope, WaitingLine()).put(places, begin, end)
            if scope not in self.awaited:
                self._offer(scope)

    def update(self, page: Page, now: float) -> None:
        """Users want something else of a page; one that is held for a time, or polled, stays so."""
        before, self._pages[page.id] = self._pages[page.id], page
        is_in_line = self._turns[page.id] != _NOT_IN_LINE
        if is_in_line and (page.weight, page.cost) != (before.weight, before.cost):
            self._line_up(page)
        if page.paused != before.paused and (is_in_line or page.id in self._held_until):
            self.put_back(page.id, now)

    def put_back(self, page_id: int, until: float) -> None:
        """Let a page wait again, from a time on, or as long as it is paused."""
        if self._pages[page_id].paused:
            until = math.inf
        self._turns[page_id] = _NOT_IN_LINE
        self._held_until[page_id] = until
        heapq.heappush(self._held, (until, page_id))

    def end(self, page_id: int) -> Page | None:
        """Take out a page that waits no longer; None: it did not wait."""
        if (page := self._pages.pop(page_id)) is not None:
            self._turns[page_id] = _NOT_IN_LINE
            self._held_until.pop(page_id, None)
        return page

    def take(self, now: float, free_at: Callable[[str, float], float]) -> int | None:
        """The page to poll now, which is not given again; None: there is none.

        `free_at` gives the time from which a scope may be polled, as `Hosts.free_at`.
        """
        while self._held and self._held[0][0] <= now:
            until, page_id = heapq.heappop(self._held)
            if self._held_until.get(page_id) == until:
                del self._held_until[page_id]
                self._line_up(self._pages[page_id])
        while self._busy and self._busy[0][0] <= now:
            time, scope = heapq.heappop(self._busy)
            if self.awaited.get(scope) == time:
                del self.awaited[scope]
                self._offer(scope)
        while self._free:
            place, scope = heapq.heappop(self._free)
            line = self._by_scope.get(scope)
            if scope in self.awaited or line is None:
                continue
            _, turn, page_id = place
            if line.first == place and self._turns[page_id] == turn:
                free = free_at(scope, now)
                if free > now:
                    self._expect(scope, free)
                    continue
                line.pop()
                self._turns[page_id] = _NOT_IN_LINE
                self._offer(scope)
                return page_id
            if line.first == place:
                line.pop()
            self._offer(scope)
        return None

    def look_again(self, scope: str, free_at: float) -> None:
        """A scope that was busy is free from this time on."""
        if scope in self.awaited:
            self._expect(scope, free_at)

    @property
    def next_at(self) -> float:
        """When `take` may give a page again, as far as hosts tell; infinite: none waits.

        Only of use after it gave none.
        """
        times = [heap[0][0] for heap in (self._busy, self._held) if heap]
        return min(times, default=math.inf)

    @property
    def first_poll_at(self) -> float:
        """When the next page may be asked for, as far as is known; infinite: none waits."""
        if not self._pages:
            return math.inf
        return max(self.rate.next_at, -math.inf if self._free else self.next_at)

    def _line_up(self, page: Page) -> None:
        turn = self._next_turn
        self._next_turn += 1
        place = (-page.weight / page.cost, turn, page.id)
        self._turns[page.id] = turn
        line = self._by_scope.setdefault(page.scope, WaitingLine())
        line.push(place)
        if page.scope not in self.awaited and line.first == place:
            self._offer(page.scope)

    def _expect(self, scope: str, free_at: float) -> None:
        self.awaited[scope] = free_at
        heapq.heappush(self._busy, (free_at, scope))

    def _offer(self, scope: str) -> None:
        """Let the first page of a scope be chosen."""
        first = self._by_scope[scope].first
        if first is not None:
            heapq.heappush(self._free, (first, scope))
        else:
            del self._by_scope[scope]
