"""Pages that were never polled, which need no policy: those of the largest weight come first."""

import heapq
import itertools
import math
from collections.abc import Callable

from pollwise.scheduler.cell_rate import CellRate
from pollwise.types import Budget, Page

__all__ = ["FirstCopies"]

_Place = tuple[float, int, int]
"""Of a page in the order of its scope: -weight/cost, its turn, its id."""


class FirstCopies:
    """The pages that wait for their first answer, whatever it is, and the rate at which they may.

    `own_rate` is theirs beside the `budget`, which holds if it is the higher one; None: no page
    waits here.

    They are polled in the order of weight per cost, then in that in which they came, as far as
    their hosts are free: a busy one is looked at again when it is expected to be, or when
    `look_again` says so. One choice takes time in proportion to the logarithm of the pages.

    >>> waiting = FirstCopies(Budget(rate=1.0), CellRate(Budget(rate=0.1)))
    >>> for page in (Page(0, scope="a"), Page(1, scope="a", weight=2.0), Page(2, scope="b")):
    ...     waiting.add(page)
    >>> is_free = lambda scope, now: 5.0 if scope == "a" else now
    >>> waiting.take(0.0, is_free), waiting.take(0.0, is_free), waiting.next_at
    (2, None, 5.0)
    >>> waiting.take(5.0, lambda scope, now: now)
    1
    """

    def __init__(self, own_rate: Budget | None, budget: CellRate) -> None:
        self.own_rate = None if own_rate is None else CellRate(own_rate)
        self._budget = budget
        self._pages: dict[int, Page] = {}
        self._turns = itertools.count()
        # Where a page waits: its place in line, or until when it is held. It is polled: neither.
        self._places: dict[int, _Place] = {}
        self._held_until: dict[int, float] = {}
        self._by_scope: dict[str, list[_Place]] = {}
        # Each scope with pages is in one of these heaps: with its first page, or when to look at
        # it again because its host is busy. What is outdated is dropped late.
        self._free: list[tuple[_Place, str]] = []
        self._busy: list[tuple[float, str]] = []
        self._look_at: dict[str, float] = {}
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

    def add(self, page: Page) -> None:
        """Let a page wait for its first poll; a paused one waits until it is resumed."""
        self._pages[page.id] = page
        self._line_up(page)
        if page.paused:
            self.put_back(page.id, math.inf)

    def update(self, page: Page, now: float) -> None:
        """Users want something else of a page; one that is held for a time, or polled, stays so."""
        before, self._pages[page.id] = self._pages[page.id], page
        is_in_line = page.id in self._places
        if is_in_line and (page.weight, page.cost) != (before.weight, before.cost):
            self._line_up(page)
        if page.paused != before.paused and (is_in_line or page.id in self._held_until):
            self.put_back(page.id, now)

    def put_back(self, page_id: int, until: float) -> None:
        """Let a page wait again, from a time on, or as long as it is paused."""
        if self._pages[page_id].paused:
            until = math.inf
        self._places.pop(page_id, None)
        self._held_until[page_id] = until
        heapq.heappush(self._held, (until, page_id))

    def end(self, page_id: int) -> Page | None:
        """Take out a page that waits no longer; None: it did not wait."""
        if (page := self._pages.pop(page_id, None)) is not None:
            self._places.pop(page_id, None)
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
            if self._look_at.get(scope) == time:
                del self._look_at[scope]
                self._offer(scope)
        while self._free:
            place, scope = heapq.heappop(self._free)
            line = self._by_scope.get(scope)
            if scope in self._look_at or line is None:
                continue
            page_id = place[-1]
            if line[0] == place and self._places.get(page_id) == place:
                free = free_at(scope, now)
                if free > now:
                    self._expect(scope, free)
                    continue
                heapq.heappop(line)
                del self._places[page_id]
                self._offer(scope)
                return page_id
            if line[0] == place:
                heapq.heappop(line)
            self._offer(scope)
        return None

    def awaits(self, scope: str) -> bool:
        """Whether a page waits here for this scope to be free."""
        return scope in self._look_at

    def look_again(self, scope: str, free_at: float) -> None:
        """A scope that was busy is free from this time on."""
        if scope in self._look_at:
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
        place = (-page.weight / page.cost, next(self._turns), page.id)
        self._places[page.id] = place
        heapq.heappush(self._by_scope.setdefault(page.scope, []), place)
        if page.scope not in self._look_at and self._by_scope[page.scope][0] == place:
            self._offer(page.scope)

    def _expect(self, scope: str, free_at: float) -> None:
        self._look_at[scope] = free_at
        heapq.heappush(self._busy, (free_at, scope))

    def _offer(self, scope: str) -> None:
        """Let the first page of a scope be chosen."""
        line = self._by_scope[scope]
        if line:
            heapq.heappush(self._free, (line[0], scope))
        else:
            del self._by_scope[scope]
