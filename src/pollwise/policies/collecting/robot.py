"""The request controller of the robot: what to fetch next, a new page or a held one again.

Both compete in one queue, by what a poll is expected to be worth to min(R, F) of the collection:
new pages by a value that is learned as the crawl goes on (`pollwise.policies.collecting.fringe`),
held ones by the Whittle index of freshness at learned change rates
(`pollwise.policies.collecting.revisits`). Estimates of coverage and freshness steer how the two
count against each other (`pollwise.policies.collecting.balance`). A second traversal
follows the best order for the web as it is known (`pollwise.policies.collecting.horn_index`).
"""

import heapq
import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from pollwise.checks import require_generator
from pollwise.policies.arrays import check_state
from pollwise.policies.base import StateDict
from pollwise.policies.collecting.balance import Balance
from pollwise.policies.collecting.fringe import FringeValue
from pollwise.policies.collecting.group_queue import new_ids, polls_of
from pollwise.policies.collecting.revisits import Revisits
from pollwise.types import LikelyLink, Links, Observation, Outcome, Page, Selection

__all__ = ["Robot"]

_UNPOLLED = math.nan
_GONE_RESTS = 600.0
"""Seconds before a page that was gone is tried again because a page newly links to it."""
_AFTER_FAILURE = 0.5
"""The factor on the value of a new page for each failure in a row."""


class Robot:
    """A `RequestController` that learns online which links lead to relevant pages.

    It needs no training. `topic`, the weights of its terms, says which links to follow until it has
    learned from what they brought how much such words tell; None: nobody says. `generator` draws
    what the model is fitted to.
    `revisit` False: the web is assumed never to change, and pages are fetched again only if there
    is nothing else to do, longest ago first. `balance` makes the rule by which new pages compete.

    A page that is gone counts as one that brought nothing. It is selected again if another page
    newly links to it, ten minutes later at the earliest, or if there is no other page at all. After
    a restart, first load the state, then feed pages, relevances and links of the collection in the
    order of their first fetches by `observe` and `link`; before the first `select` that is quick,
    and teaches nothing about changes twice.

    >>> robot = Robot(generator=np.random.default_rng(1))
    >>> robot.add([Page(0, "http://h.example/")])
    >>> robot.select(now=1.0, limit=5).page_ids
    array([0])
    """

    def __init__(
        self,
        *,
        generator: np.random.Generator,
        topic: Mapping[str, float] | None = None,
        revisit: bool = True,
        balance: Callable[[], Balance] = Balance,
    ) -> None:
        require_generator("robot", generator)
        self._fringe = FringeValue(generator)
        if topic is not None:
            self._fringe.aim(topic)
        self._revisit = revisit
        self._make_balance = balance
        self._begin()

    def _begin(self) -> None:
        self._pages: dict[int, Page] = {}
        self._polled_at: dict[int, float] = {}
        self._leased: dict[int, float | None] = {}
        """The value of a new page; None: another page."""
        self._until: dict[int, float] = {}
        self._blocked: dict[str, float] = {}
        self._deferred: list[tuple[float, int, str]] = []
        self._polled: list[tuple[float, int]] = []
        self._failed: dict[int, tuple[float, float]] = {}
        """For each new page that failed: when it last did, and its value since."""
        self._retries: list[tuple[float, int]] = []
        self._untold: dict[int, None] = {}
        """Pages that an earlier run polled; those of which it tells nothing brought nothing."""
        self._judged: dict[int, float] = {}
        """The relevance of pages that were judged while they could not be selected."""
        self._unfetched = 0
        """How many pages were never polled."""
        self._balance = self._make_balance()
        self._revisits = Revisits(resting=self._balance.rests)

    def aim(self, weights: Mapping[str, float]) -> None:
        """Aim at a topic, as the weights of its terms, from now on."""
        self._fringe.aim(weights)

    def add(self, pages: Sequence[Page]) -> None:
        """Take up pages; `InputError` for an id that is negative, given twice or known already."""
        pages = list(pages)  # they may be made when they are asked for, and are kept
        ids = new_ids(pages, self._polled_at)
        self._pages.update((page.id, page) for page in pages)
        self._polled_at.update(dict.fromkeys(ids, _UNPOLLED))
        self._unfetched += len(ids)
        self._fringe.seen(pages)

    def discard(self, page_ids: Sequence[int]) -> None:
        """Forget pages; unknown ids are ignored."""
        for page_id in page_ids:
            if self._pages.pop(page_id, None) is None:
                continue
            self._unfetched -= math.isnan(self._polled_at.pop(page_id))
            for known in (self._until, self._leased, self._failed, self._judged):
                known.pop(page_id, None)
            if page_id in self._revisits:
                self._revisits.drop(page_id)
        self._fringe.forget(page_ids)

    def select(self, now: float, limit: int) -> Selection:
        """The pages of the largest indices, new or held; they are leased."""
        while self._deferred and self._deferred[0][0] <= now:
            self._end_deferral(*heapq.heappop(self._deferred))
        for polled in self._untold:
            if polled in self._pages and not self._fringe.knows(polled):
                self._fringe.fetched(polled, 0.0)
        self._untold.clear()
        taken: list[int] = []
        while len(taken) < limit and (page_id := self._next(now)) is not None:
            taken.append(page_id)
        wake_at = min(self._deferred[0][0] if self._deferred else math.inf, self._revisits.wake_at)
        return Selection(np.array(taken, np.int64), wake_at)

    def _end_deferral(self, until: float, page_id: int, scope: str) -> None:
        if scope:
            self._fringe.unblock(page_id)
            self._revisits.unblock(scope)
            if self._blocked.get(scope, math.inf) <= until:
                del self._blocked[scope]
        if self._until.get(page_id) == until:
            del self._until[page_id]
            self._free(page_id)

    def _next(self, now: float) -> int | None:
        """Lease the best page."""
        page_id, worth = self._revisits.best(now)
        new = self._best_new()
        if new is not None:
            found, value = new
            if page_id < 0 or self._index_of_new(value, now) >= worth:
                if self._failed.get(found):
                    heapq.heappop(self._retries)
                else:
                    self._fringe.take(found)
                self._leased[found] = value
                return found
        if page_id >= 0:
            self._revisits.lease(page_id, now)
        else:
            page_id = self._oldest()
        if page_id < 0:
            return None
        self._leased[page_id] = None
        return page_id

    def _index_of_new(self, value: float, now: float) -> float:
        return self._balance.index(
            value,
            freshness=self._revisits.freshness,
            change_rate=self._revisits.change_rate(now),
            relevance=self._revisits.relevance,
            held=len(self._revisits),
            fringe=self._unfetched,
        )

    def _best_new(self) -> tuple[int, float] | None:
        """The best new page and its value."""
        best = self._fringe.best()
        while self._retries:
            value, page_id = -self._retries[0][0], self._retries[0][1]
            is_present = self._failed.get(page_id, (0.0, math.nan))[1] == value
            if is_present and self._may_be_taken(page_id):
                return (page_id, value) if best is None or value > best[1] else best
            heapq.heappop(self._retries)
        return best

    def _oldest(self) -> int:
        """If there is nothing else to do: the page that was polled longest ago; -1: none."""
        if self._revisit and (len(self._revisits) or self._leased or self._until):
            return -1
        while self._polled:
            polled_at, page_id = heapq.heappop(self._polled)
            if self._polled_at.get(page_id) == polled_at and self._may_be_taken(page_id):
                return page_id
        return -1

    def _may_be_taken(self, page_id: int) -> bool:
        """Whether a page is free; one whose scope is blocked waits until that is over."""
        if not self._is_free(page_id):
            return False
        until = self._blocked.get(self._pages[page_id].scope)
        if until is None:
            return True
        self._until[page_id] = until
        heapq.heappush(self._deferred, (until, page_id, ""))
        return False

    def _is_free(self, page_id: int) -> bool:
        return page_id not in self._leased and page_id not in self._until

    def _free(self, page_id: int) -> None:
        """Let a page be selected, by what is known of it now."""
        polled_at, judged = self._polled_at[page_id], self._judged.pop(page_id, None)
        if page_id in self._revisits:
            if judged is not None:
                self._revisits.weigh(page_id, judged)
            self._revisits.release(page_id)
        elif judged is not None:
            self._revisits.hold(self._pages[page_id], judged, polled_at)
        elif page_id in self._failed:
            heapq.heappush(self._retries, (-self._failed[page_id][1], page_id))
        elif math.isnan(polled_at):
            self._fringe.release(page_id)
        else:
            heapq.heappush(self._polled, (polled_at, page_id))

    def observe(self, observations: Sequence[Observation]) -> None:
        """Learn what polls found, and end the leases of their pages."""
        for observation in observations:
            if observation.page_id in self._pages:
                self._observe(observation)

    def _observe(self, observation: Observation) -> None:
        page_id = observation.page_id
        was_leased = page_id in self._leased
        value = self._leased.pop(page_id, None)
        news = not observation.polled_at <= self._polled_at[page_id]
        if page_id in self._revisits:
            self._observe_held(observation, news)
        elif news and observation.outcome == Outcome.FAILED:
            self._fail(page_id, value, observation.polled_at)
        elif news and observation.outcome == Outcome.GONE:
            self._failed.pop(page_id, None)
            self._fringe.fetched(page_id, 0.0)
        elif news:
            relevance = observation.relevance or 0.0
            self._failed.pop(page_id, None)
            self._fringe.fetched(page_id, relevance)
            if self._revisit:
                self._judged[page_id] = relevance
                self._balance.found(value, relevance)
        if news and observation.outcome != Outcome.FAILED:
            self._note_poll(page_id, observation.polled_at)
        if (news or was_leased) and page_id not in self._until:
            self._free(page_id)

    def _observe_held(self, observation: Observation, news: bool) -> None:
        page_id, relevance = observation.page_id, observation.relevance
        self._revisits.observe(observation)
        if news and observation.outcome == Outcome.GONE:
            self._judged.pop(page_id, None)
            self._balance.lost(self._revisits.drop(page_id))
        elif relevance is not None and (news or not self._fringe.knows(page_id)):
            self._fringe.fetched(page_id, relevance)
            self._judge(page_id, relevance)

    def _note_poll(self, page_id: int, polled_at: float) -> None:
        self._unfetched += math.isnan(polled_at) - math.isnan(self._polled_at[page_id])
        self._polled_at[page_id] = polled_at

    def _fail(self, page_id: int, value: float | None, polled_at: float) -> None:
        """A new page could not be fetched."""
        failed_at, before = self._failed.get(page_id, (-math.inf, value))
        if polled_at > failed_at:
            if before is None:
                before = self._fringe.value(page_id)
            self._fringe.hold(page_id)
            self._failed[page_id] = (polled_at, _AFTER_FAILURE * before)

    def defer(self, page_ids: Sequence[int], until: float) -> None:
        """Give leased pages back unpolled; no page of their scopes is selected before `until`."""
        for page_id in page_ids:
            if page_id not in self._leased:
                continue
            del self._leased[page_id]
            scope = self._pages[page_id].scope
            self._until[page_id] = until
            heapq.heappush(self._deferred, (until, page_id, scope))
            if page_id in self._revisits:
                self._revisits.defer(page_id, until)
            if scope:
                self._fringe.block(page_id)
                self._revisits.block(scope, until)
                self._blocked[scope] = max(until, self._blocked.get(scope, until))

    def link(self, page_id: int, links: Links) -> None:
        """Learn what a page links to; unknown pages are ignored."""
        if page_id in self._pages:
            targets = self._fringe.linked(page_id, links)
            if self._revisit:
                for target in targets.tolist():
                    self._welcome(target)

    def _welcome(self, page_id: int) -> None:
        """A page is newly linked to: if it was gone, it may be back."""
        polled_at = self._polled_at.get(page_id, _UNPOLLED)
        gone = not math.isnan(polled_at) and page_id not in self._revisits
        # What an earlier run tells of links is not new.
        if gone and page_id not in self._untold and self._is_free(page_id):
            self._note_poll(page_id, _UNPOLLED)
            self._until[page_id] = until = polled_at + _GONE_RESTS
            heapq.heappush(self._deferred, (until, page_id, ""))

    def rescore(self, page_ids: Sequence[int], relevances: Sequence[float]) -> None:
        """Correct the relevance of fetched pages that `observe` told."""
        for page_id, relevance in zip(page_ids, relevances, strict=True):
            self._fringe.corrected(page_id, relevance)
            if page_id in self._revisits:
                self._judge(page_id, relevance)

    def _judge(self, page_id: int, relevance: float) -> None:
        if self._is_free(page_id):
            self._revisits.weigh(page_id, relevance)
        else:
            self._judged[page_id] = relevance

    def likely_links(self, count: int) -> list[LikelyLink]:
        """The new pages of the highest values, best first, whether their hosts are free or not."""
        return self._fringe.likely_links(count)

    def begin_traversal(self) -> None:
        """Forget which pages were fetched, and plan with what was learned of the web."""
        while self._deferred:
            self._end_deferral(*heapq.heappop(self._deferred))
        self._begin()
        self._fringe.begin_traversal()

    def state_dict(self, page_ids: Sequence[int] | None = None) -> StateDict:
        """When pages were polled, what was learned of their changes, and the balance."""
        polls = polls_of(self._polled_at, page_ids)
        revisits = self._revisits.state_dict(polls["page_ids"].tolist())
        return {**polls, "balance": self._balance.state(), **revisits}

    def load_state_dict(self, state: StateDict) -> None:
        """Put back what `state_dict` gave; `StateError` if it does not fit."""
        check_state(state, self.state_dict([]))
        ids: list[int] = state["page_ids"].tolist()
        times, relevances = state["page.polled_at"].tolist(), state["page.relevance"].tolist()
        for page_id, polled_at, relevance in zip(ids, times, relevances, strict=True):
            if page_id not in self._pages or math.isnan(polled_at):
                continue
            self._note_poll(page_id, polled_at)
            self._fringe.polled(page_id)
            self._untold[page_id] = None
            if self._revisit and not math.isnan(relevance):
                self._judged[page_id] = relevance
            if self._is_free(page_id):
                self._free(page_id)
        own = ("page_ids", "page.polled_at", "balance")
        learned = {name: array for name, array in state.items() if name not in own}
        self._revisits.load_state_dict(ids, learned)
        self._balance.load(state["balance"].tolist())
