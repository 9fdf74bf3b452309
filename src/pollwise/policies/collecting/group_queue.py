"""Which pages a request controller may request next: the fringe first, then those polled before.

A page of the fringe is known by links only. It belongs to a group, and all pages of a group have
one priority, which may change at any time. The fringe goes by priority, highest first; where
priorities are equal, whatever the group, by chance or by who came first or last. After it come the
pages that were polled, longest ago first. Polled pages that are retained go by their groups as
those of the fringe do. A decision costs the logarithm of the number of pages.
"""

import heapq
import math
from collections.abc import Container, Iterable, Mapping, Sequence

import numpy as np

from pollwise.checks import require_choice, require_generator
from pollwise.errors import InputError
from pollwise.policies.arrays import check_state
from pollwise.policies.base import StateDict
from pollwise.types import Links, Observation, Page, Selection

__all__ = ["TIES", "Frontier", "FrontierPolicy", "new_ids", "polls_of"]

TIES = ("chance", "oldest", "newest")
"""What decides between pages of equal priority: chance, or since when they can be taken."""
_UNPOLLED = math.nan


def new_ids(pages: Sequence[Page], known: Container[int]) -> list[int]:
    """The ids of new pages; `InputError` for one that is negative, given twice or known."""
    ids = [page.id for page in pages]
    if len(set(ids)) < len(ids) or any(i < 0 or i in known for i in ids):
        raise InputError(
            "add: a page id is negative, given twice or known already; give every page an id"
            " of its own (0, 1, 2, ...)"
        )
    return ids


def polls_of(polled_at: Mapping[int, float], page_ids: Sequence[int] | None) -> StateDict:
    """When pages (None: all) were polled, as learned state; unknown ids are left out."""
    ids = list(polled_at) if page_ids is None else [i for i in page_ids if i in polled_at]
    return {
        "page_ids": np.array(ids, np.int64),
        "page.polled_at": np.array([polled_at[i] for i in ids], np.float64),
    }


class Frontier:
    """The pages of a request controller: free, leased, or held until a time.

    `ties` is one of `TIES`, `generator` the chance. `polled_at` and `group` are by page id, the
    former NaN for the fringe. A group has the priority 0 until it is given another one.
    """

    def __init__(self, generator: np.random.Generator, ties: str = "chance") -> None:
        self._generator = generator
        self._step = {"chance": 0, "oldest": 1, "newest": -1}[ties]
        self.begin()

    def begin(self) -> None:
        """Start without pages and priorities, as for a new traversal."""
        self.polled_at: dict[int, float] = {}
        self.group: dict[int, float] = {}
        self._retained: set[int] = set()
        self._freed = 0
        # A number for each free page, to break ties: the lowest comes first. Heaps may have stale
        # entries: one counts only if it has the number that is here.
        self._chance: dict[int, float] = {}
        self._bags: dict[float, list[tuple[float, int]]] = {}
        self._priority: dict[float, float] = {}
        self._fringe: list[tuple[float, float, float]] = []
        self._polled: list[tuple[float, float, int]] = []
        self._until: dict[int, float] = {}
        self._held: list[tuple[float, int]] = []

    def add(self, pages: Sequence[Page], groups: Iterable[float]) -> None:
        """Take up pages as fringe; `InputError` for an id that is negative or known already."""
        for page_id, group in zip(new_ids(pages, self.polled_at), groups, strict=True):
            self.polled_at[page_id] = _UNPOLLED
            self.group[page_id] = group
            self._free(page_id)

    def discard(self, page_ids: Iterable[int]) -> None:
        """Forget pages; unknown ids are ignored."""
        for page_id in page_ids:
            for known in (self.polled_at, self.group, self._chance, self._until):
                known.pop(page_id, None)
            self._retained.discard(page_id)

    def regroup(self, page_id: int, group: float) -> None:
        """Put a page into another group."""
        self.group[page_id] = group
        if page_id in self._chance:
            self._free(page_id)

    def retain(self, page_id: int, group: float) -> None:
        """Put a page into a group that it stays in when it was polled."""
        self._retained.add(page_id)
        self.regroup(page_id, group)

    def release(self, page_id: int, group: float) -> None:
        """Put a page into a group that it leaves when it is polled; ends `retain`."""
        self._retained.discard(page_id)
        self.regroup(page_id, group)

    def prioritise(self, group: float, priority: float) -> None:
        """Give the pages of a group, now and later, another priority."""
        if self._priority.get(group, 0.0) != priority:
            self._priority[group] = priority
            self._offer(group)

    def take(self, now: float, limit: int) -> Selection:
        """Lease at most `limit` free pages, best first."""
        self._end_holds(now)
        taken: list[int] = []
        while len(taken) < limit and (best := self._next()) is not None:
            del self._chance[best]
            taken.append(best)
        return self._selection(taken)

    def take_page(self, page_id: int, now: float) -> Selection:
        """Lease this page if it is free, else none."""
        self._end_holds(now)
        taken = [] if self._chance.pop(page_id, None) is None else [page_id]
        return self._selection(taken)

    def _selection(self, taken: list[int]) -> Selection:
        return Selection(np.array(taken, np.int64), self._held[0][0] if self._held else math.inf)

    def _end_holds(self, now: float) -> None:
        while self._held and self._held[0][0] <= now:
            until, page_id = heapq.heappop(self._held)
            if self._until.get(page_id) == until:
                self._free(page_id)

    def _next(self) -> int | None:
        """The best free page."""
        while self._fringe:
            negative, chance, group = heapq.heappop(self._fringe)
            bag = self._bags[group]
            if not bag or bag[0][0] != chance or -negative != self._priority.get(group, 0.0):
                continue
            page_id = heapq.heappop(bag)[1]
            self._offer(group)
            if self._chance.get(page_id) == chance:
                return page_id
        while self._polled:
            _, chance, page_id = heapq.heappop(self._polled)
            if self._chance.get(page_id) == chance:
                return page_id
        return None

    def observe(self, observation: Observation) -> bool:
        """End the lease of a page; whether the observation is news."""
        page_id, polled_at = observation.page_id, observation.polled_at
        if page_id not in self.polled_at:
            return False
        news = not polled_at <= self.polled_at[page_id]
        if news:
            self.polled_at[page_id] = polled_at
        if page_id not in self._until:
            self._free(page_id)
        return news

    def defer(self, page_ids: Iterable[int], until: float) -> None:
        """Hold pages until a time."""
        for page_id in page_ids:
            if page_id in self.polled_at:
                self._chance.pop(page_id, None)
                self._until[page_id] = until
                heapq.heappush(self._held, (until, page_id))

    def restore(self, page_id: int, polled_at: float) -> None:
        """Put back when a page was polled; leases and holds stay as they are."""
        if page_id in self.polled_at:
            self.polled_at[page_id] = polled_at
            if page_id in self._chance:
                self._free(page_id)

    def _free(self, page_id: int) -> None:
        """Let a page be taken, by what is known of it now."""
        self._until.pop(page_id, None)
        self._freed += self._step
        chance = self._chance[page_id] = self._freed or self._generator.random()
        polled_at = self.polled_at[page_id]
        if not math.isnan(polled_at) and page_id not in self._retained:
            heapq.heappush(self._polled, (polled_at, chance, page_id))
            return
        group = self.group[page_id]
        bag = self._bags.setdefault(group, [])
        heapq.heappush(bag, (chance, page_id))
        if bag[0][1] == page_id:
            self._offer(group)

    def _offer(self, group: float) -> None:
        """Queue the group by its priority now and its first page."""
        bag = self._bags.get(group)
        if bag:
            entry = (-self._priority.get(group, 0.0), bag[0][0], group)
            heapq.heappush(self._fringe, entry)


class FrontierPolicy:
    """A request controller that goes by groups; subclasses say what these are.

    What polls find makes no difference to it; for the methods see `RequestController`.
    """

    def __init__(self, owner: str, generator: np.random.Generator, ties: str = "chance") -> None:
        """`owner`: the name for error messages; `ties` and `generator` as for `Frontier`."""
        require_generator(owner, generator)
        require_choice(owner, "ties", ties, TIES)
        self._frontier = Frontier(generator, ties)

    def _groups(self, pages: Sequence[Page]) -> Iterable[float]:
        """The groups of new pages."""
        raise NotImplementedError

    def add(self, pages: Sequence[Page]) -> None:
        """Take up pages; `InputError` for an id that is negative or known already."""
        self._frontier.add(pages, self._groups(pages))

    def discard(self, page_ids: Sequence[int]) -> None:
        """Forget pages; unknown ids are ignored."""
        self._frontier.discard(page_ids)

    def select(self, now: float, limit: int) -> Selection:
        """The fringe by priority, then the pages polled longest ago; they are leased."""
        return self._frontier.take(now, limit)

    def observe(self, observations: Sequence[Observation]) -> None:
        """Remember when pages were polled, and end their leases."""
        for observation in observations:
            self._frontier.observe(observation)

    def defer(self, page_ids: Sequence[int], until: float) -> None:
        """Give leased pages back unpolled; they are not selected before `until`."""
        self._frontier.defer(page_ids, until)

    def link(self, page_id: int, links: Links) -> None:
        """Links make no difference, but for the pages that are added."""

    def rescore(self, page_ids: Sequence[int], relevances: Sequence[float]) -> None:
        """Ignored: relevance is known, does not matter, or counted when the page came."""

    def aim(self, weights: Mapping[str, float]) -> None:
        """Ignored: texts of links make no difference."""

    def begin_traversal(self) -> None:
        """Forget all pages; the fringe are those added next."""
        self._frontier.begin()

    def state_dict(self, page_ids: Sequence[int] | None = None) -> StateDict:
        """When pages were polled; see `Policy`."""
        return polls_of(self._frontier.polled_at, page_ids)

    def load_state_dict(self, state: StateDict) -> None:
        """Put back when pages were polled; `StateError` if it does not fit."""
        check_state(state, self.state_dict([]))
        times = state["page.polled_at"].tolist()
        for page_id, polled_at in zip(state["page_ids"].tolist(), times, strict=True):
            self._frontier.restore(page_id, polled_at)
