"""Which pages a request controller may request next: the fringe first, then those polled before.

A page of the fringe is known by links only. The fringe goes by priority, highest first, and by
chance where priorities are equal; after it come the pages that were polled, longest ago first.
A decision costs the logarithm of the number of pages.
"""

import heapq
import math
from collections.abc import Iterable, Sequence

import numpy as np

from pollwise.checks import require_generator
from pollwise.errors import InputError
from pollwise.policies.arrays import check_state
from pollwise.policies.base import StateDict
from pollwise.types import Links, Observation, Page, Selection

__all__ = ["Frontier", "FrontierPolicy"]

_Entry = tuple[bool, float, float, int]
"""Whether the page was polled; minus its priority, or when it was polled; chance; its id."""


class Frontier:
    """The pages of a request controller: free, leased, or held until a time.

    `generator` breaks ties. `polled_at` is by page id, NaN for the fringe.
    """

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator
        self.begin()

    def begin(self) -> None:
        """Be without pages, as for a new traversal."""
        self.polled_at: dict[int, float] = {}
        self._priority: dict[int, float] = {}
        self._entries: dict[int, _Entry] = {}  # of free pages; what else is in the heap is stale
        self._heap: list[_Entry] = []
        self._until: dict[int, float] = {}
        self._held: list[tuple[float, int]] = []

    def add(self, pages: Sequence[Page], priorities: Iterable[float]) -> None:
        """Take up pages as fringe; `InputError` for an id that is negative or known already."""
        ids = [page.id for page in pages]
        if len(set(ids)) < len(ids) or any(i < 0 or i in self.polled_at for i in ids):
            raise InputError(
                "add: a page id is negative, given twice or known already; give every page an id"
                " of its own (0, 1, 2, ...)"
            )
        for page_id, priority in zip(ids, priorities, strict=True):
            self.polled_at[page_id] = math.nan
            self._priority[page_id] = priority
            self._free(page_id)

    def discard(self, page_ids: Iterable[int]) -> None:
        """Forget pages; unknown ids are ignored."""
        for page_id in page_ids:
            for known in (self.polled_at, self._priority, self._entries, self._until):
                known.pop(page_id, None)

    def prioritise(self, page_ids: Iterable[int], priority: float) -> None:
        """Give pages another priority, of which those that were polled take no notice."""
        for page_id in page_ids:
            self._priority[page_id] = priority
            entry = self._entries.get(page_id)
            if entry is not None and not entry[0]:
                self._push((False, -priority, entry[2], page_id))

    def take(self, now: float, limit: int) -> Selection:
        """Lease at most `limit` free pages, best first."""
        while self._held and self._held[0][0] <= now:
            until, page_id = heapq.heappop(self._held)
            if self._until.get(page_id) == until:
                self._free(page_id)
        taken: list[int] = []
        while len(taken) < limit and self._heap:
            entry = heapq.heappop(self._heap)
            page_id = entry[3]
            if self._entries.get(page_id) is entry:
                del self._entries[page_id]
                taken.append(page_id)
        return Selection(np.array(taken, np.int64), self._held[0][0] if self._held else math.inf)

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
                self._entries.pop(page_id, None)
                self._until[page_id] = until
                heapq.heappush(self._held, (until, page_id))

    def restore(self, page_id: int, polled_at: float) -> None:
        """Put back when a page was polled; leases and holds stay as they are."""
        if page_id in self.polled_at:
            self.polled_at[page_id] = polled_at
            if page_id in self._entries:
                self._free(page_id)

    def _free(self, page_id: int) -> None:
        self._until.pop(page_id, None)
        polled_at = self.polled_at[page_id]
        polled = not math.isnan(polled_at)
        key = polled_at if polled else -self._priority[page_id]
        self._push((polled, key, self._generator.random(), page_id))

    def _push(self, entry: _Entry) -> None:
        self._entries[entry[3]] = entry
        heapq.heappush(self._heap, entry)


class FrontierPolicy:
    """A request controller that goes by priorities; the subclasses say what these are.

    What it finds makes no difference to it; see `RequestController` for its methods.
    """

    def __init__(self, owner: str, generator: np.random.Generator) -> None:
        """`owner`: the name for error messages; `generator` breaks ties."""
        require_generator(owner, generator)
        self._frontier = Frontier(generator)

    def _priorities(self, pages: Sequence[Page]) -> Iterable[float]:
        """The priorities of new pages."""
        raise NotImplementedError

    def add(self, pages: Sequence[Page]) -> None:
        """Take up pages; `InputError` for an id that is negative or known already."""
        self._frontier.add(pages, self._priorities(pages))

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

    def begin_traversal(self) -> None:
        """Forget all pages; the fringe are those added next."""
        self._frontier.begin()

    def state_dict(self, page_ids: Sequence[int] | None = None) -> StateDict:
        """When pages were polled; see `Policy`."""
        known = self._frontier.polled_at
        ids = list(known) if page_ids is None else [i for i in page_ids if i in known]
        return {
            "page_ids": np.array(ids, np.int64),
            "page.polled_at": np.array([known[i] for i in ids], np.float64),
        }

    def load_state_dict(self, state: StateDict) -> None:
        """Put back when pages were polled; `StateError` if it does not fit."""
        check_state(state, self.state_dict([]))
        times = state["page.polled_at"].tolist()
        for page_id, polled_at in zip(state["page_ids"].tolist(), times, strict=True):
            self._frontier.restore(page_id, polled_at)
