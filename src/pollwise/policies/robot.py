"""The request controller of the robot: new pages by a value learned as the crawl goes on.

The fringe goes by `pollwise.policies.robot_fringe.FringeValue`; after it come the pages that were
polled, longest ago first. A second traversal follows the best order for the web as it is known
(`pollwise.policies.horn_index`).
"""

import heapq
import math
from collections.abc import Sequence

import numpy as np

from pollwise.checks import require_generator
from pollwise.errors import InputError
from pollwise.policies.arrays import check_state
from pollwise.policies.base import StateDict
from pollwise.policies.robot_fringe import FringeValue
from pollwise.types import Links, Observation, Outcome, Page, Selection

__all__ = ["Robot"]

_UNPOLLED = math.nan


class Robot:
    """A `RequestController` that learns online which links lead to relevant pages.

    It needs no training and is not told the topic. `generator` draws what the model is fitted to.
    `state_dict` has the times of polls only: after a restart, feed pages, relevances and links in
    the order of their first fetches by `add`, `observe` and `link`; before the first `select` that
    is quick.

    >>> robot = Robot(generator=np.random.default_rng(1))
    >>> robot.add([Page(0, "http://h.example/")])
    >>> robot.select(now=1.0, limit=5).page_ids
    array([0])
    """

    def __init__(self, *, generator: np.random.Generator) -> None:
        require_generator("robot", generator)
        self._fringe = FringeValue(generator)
        self._begin()

    def _begin(self) -> None:
        self._polled_at: dict[int, float] = {}
        self._leased: set[int] = set()
        self._until: dict[int, float] = {}
        self._held: list[tuple[float, int]] = []
        self._polled: list[tuple[float, int]] = []

    def add(self, pages: Sequence[Page]) -> None:
        """Take up pages; `InputError` for an id that is negative, given twice or known already."""
        ids = [page.id for page in pages]
        if len(set(ids)) < len(ids) or any(i < 0 or i in self._polled_at for i in ids):
            raise InputError(
                "add: a page id is negative, given twice or known already; give every page an id"
                " of its own (0, 1, 2, ...)"
            )
        self._polled_at.update(dict.fromkeys(ids, _UNPOLLED))
        self._fringe.seen(pages)

    def discard(self, page_ids: Sequence[int]) -> None:
        """Forget pages; unknown ids are ignored."""
        for page_id in page_ids:
            self._polled_at.pop(page_id, None)
            self._until.pop(page_id, None)
            self._leased.discard(page_id)
        self._fringe.forget(page_ids)

    def select(self, now: float, limit: int) -> Selection:
        """The fringe by value, then the pages polled longest ago; they are leased."""
        while self._held and self._held[0][0] <= now:
            until, page_id = heapq.heappop(self._held)
            if self._until.get(page_id) == until:
                del self._until[page_id]
                self._free(page_id)
        taken: list[int] = []
        while len(taken) < limit and (best := self._next()) is not None:
            self._leased.add(best)
            taken.append(best)
        return Selection(np.array(taken, np.int64), self._held[0][0] if self._held else math.inf)

    def _next(self) -> int | None:
        page_id = self._fringe.take()
        while page_id is None and self._polled:
            polled_at, oldest = heapq.heappop(self._polled)
            free = oldest not in self._leased and oldest not in self._until
            if free and self._polled_at.get(oldest) == polled_at:
                page_id = oldest
        return page_id

    def _free(self, page_id: int) -> None:
        """Let a page be taken, by what is known of it now."""
        polled_at = self._polled_at[page_id]
        if math.isnan(polled_at):
            self._fringe.release(page_id)
        else:
            heapq.heappush(self._polled, (polled_at, page_id))

    def observe(self, observations: Sequence[Observation]) -> None:
        """Learn what polls found, and end the leases of their pages."""
        for observation in observations:
            page_id = observation.page_id
            if page_id not in self._polled_at:
                continue
            was_leased = page_id in self._leased
            self._leased.discard(page_id)
            news = not observation.polled_at <= self._polled_at[page_id]
            if news:
                self._polled_at[page_id] = observation.polled_at
                failed = observation.outcome == Outcome.FAILED
                self._fringe.fetched(page_id, None if failed else observation.relevance or 0.0)
            elif observation.relevance is not None and not self._fringe.knows(page_id):
                self._fringe.fetched(page_id, observation.relevance)
            if (news or was_leased) and page_id not in self._until:
                self._free(page_id)

    def defer(self, page_ids: Sequence[int], until: float) -> None:
        """Give leased pages back unpolled; they are not selected before `until`."""
        for page_id in page_ids:
            if page_id in self._polled_at:
                self._leased.discard(page_id)
                self._fringe.hold(page_id)
                self._until[page_id] = until
                heapq.heappush(self._held, (until, page_id))

    def link(self, page_id: int, links: Links) -> None:
        """Learn what a page links to; unknown pages are ignored."""
        if page_id in self._polled_at:
            self._fringe.linked(page_id, links)

    def rescore(self, page_ids: Sequence[int], relevances: Sequence[float]) -> None:
        """Take the relevance of fetched pages to be another than `observe` told."""
        for page_id, relevance in zip(page_ids, relevances, strict=True):
            self._fringe.corrected(page_id, relevance)

    def begin_traversal(self) -> None:
        """Forget which pages were fetched, and plan with what was learned."""
        self._begin()
        self._fringe.begin_traversal()

    def state_dict(self, page_ids: Sequence[int] | None = None) -> StateDict:
        """When pages were polled; see `Policy`."""
        known = self._polled_at
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
            if page_id not in self._polled_at or math.isnan(polled_at):
                continue
            self._polled_at[page_id] = polled_at
            self._fringe.polled(page_id)
            if page_id not in self._leased and page_id not in self._until:
                self._free(page_id)
