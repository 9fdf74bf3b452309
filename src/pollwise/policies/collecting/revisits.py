"""The held pages of a collection: which is most worth another look, and how fresh they are.

The worth of a look is the Whittle index of freshness (`pollwise.objectives`), with the relevance r
of the page for its weight::

    W(τ) = (r/λ) [1 - e^-a (1 + a)],  a = λτ

Relevant pages have change rates of their own, and the index is its expectation over the belief in
them (`pollwise.policies.index.bayes_index`). Irrelevant pages are looked at because they may get
links to new pages. They are many and matter little, so they share one rate, that of all changes
seen, and one weight, and the one polled longest ago is the best: nothing is kept for each. Their
weight is a hundredth of the mean relevance of a held page, as if one change in a hundred brought a
link to an average held page.

After each poll a page rests until it may have changed (`pollwise.policies.collecting.rests`); as
long as all rest, none is worth a look.
"""

import heapq
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pollwise.objectives import Freshness
from pollwise.policies.base import StateDict
from pollwise.policies.collecting.oldest import OldestFirst
from pollwise.policies.collecting.rests import Past, Rests
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.policies.index.queue import best_page, lease_page
from pollwise.types import Observation, Outcome, Page

__all__ = ["Revisits"]

_IRRELEVANT = 0.01
"""The weight of an irrelevant page, in mean relevances of the held pages."""
_LOOKED_AT = 8
"""Pages whose chance to be up to date is computed anew at each decision."""
_COMMON = 2.0
"""Polls of a page that the common rate counts as in the estimate of freshness."""
_DOUBT = 5.0
"""Changes that count as expected, and as seen, before the first poll."""
_MEMORY = 300.0
"""Polls over which changes seen are compared with those expected."""
_NO_PAST = Past(math.nan, math.nan, math.nan)
_PAST = ("page.first_at", "page.since_at", "page.changes_seen")
_OWN_STATE = ("page.relevance", *_PAST, "looks", "rests")
"""What is learned here and not in the index."""
_SEEN = (Outcome.CHANGED, Outcome.UNCHANGED)


class Revisits:
    """The pages that were fetched and are not gone, by what a look at them again is worth.

    Without `resting`, any may be looked at again at any time.
    """

    def __init__(self, *, resting: bool = True) -> None:
        self._index = BayesianIndex(objective=Freshness())
        self._irrelevant = OldestFirst()
        self._pages: dict[int, Page] = {}
        self._relevance: dict[int, float] = {}
        self._polled_at: dict[int, float] = {}
        self._past: dict[int, Past] = {}
        self._rests = Rests()
        self._are_resting = resting
        # Irrelevant pages that rest: until when, and a heap of that, which may have stale entries.
        self._until: dict[int, float] = {}
        self._resting: list[tuple[float, int]] = []
        # Relevant pages have numbers of their own in the index; the others are not in it.
        self._number: dict[int, int] = {}
        self._page_of: list[int] = []
        # The relevant pages in a ring, and how likely their copies are up to date.
        self._fresh: dict[int, float] = {}
        self._ring: list[int] = []
        self._place: dict[int, int] = {}
        self._next = 0
        self.relevance = 0.0
        """The sum of the relevance of the held pages."""
        self._fresh_relevance = 0.0
        self._begun_at = math.nan
        self._changes = self._exposure = 0.0
        self._seen = self._expected = _DOUBT
        self._best: tuple[int, float, float] = (-1, 0.0, 0.0)

    def __contains__(self, page_id: int) -> bool:
        return page_id in self._relevance

    def __len__(self) -> int:
        return len(self._relevance)

    def hold(self, page: Page, relevance: float, polled_at: float) -> None:
        """Take up a page with a copy made at this time."""
        if math.isnan(self._begun_at):
            self._begun_at = polled_at
        self._pages[page.id] = page
        self._polled_at[page.id] = polled_at
        self._past[page.id] = Past(polled_at, polled_at)
        self._enter(page.id, relevance)

    def drop(self, page_id: int) -> float:
        """Let go of a held page; its relevance."""
        relevance = self._relevance[page_id]
        self._leave(page_id)
        for known in (self._pages, self._polled_at, self._past, self._relevance):
            del known[page_id]
        return relevance

    def weigh(self, page_id: int, relevance: float) -> None:
        """Correct the relevance of a held page."""
        before = self._relevance[page_id]
        if before > 0 and relevance > 0:
            self._relevance[page_id] = relevance
            self.relevance += relevance - before
            self._fresh_relevance += (relevance - before) * self._fresh[page_id]
            self._index.weigh([self._number[page_id]], [relevance])
        elif before != relevance:
            self._leave(page_id)
            self._enter(page_id, relevance)

    def observe(self, observation: Observation) -> None:
        """Learn from a poll of a held page; `release` ends its lease."""
        page_id, polled_at = observation.page_id, observation.polled_at
        seen = observation.outcome in _SEEN
        interval = polled_at - self._polled_at[page_id]
        number = self._number.get(page_id)
        if seen and interval > 0:
            changed = observation.outcome == Outcome.CHANGED
            self._exposure += interval
            self._changes += changed
            self._rests.note(self._past[page_id], self._polled_at[page_id], polled_at, changed)
            if changed:
                self._past[page_id] = self._past[page_id].changed(polled_at)
            if number is not None:
                [expected] = self._index.chances([number], polled_at)
                self._seen += changed - (self._seen - _DOUBT) / _MEMORY
                self._expected += expected - (self._expected - _DOUBT) / _MEMORY
            self._polled_at[page_id] = polled_at
        if number is not None:
            self._index.observe([replace(observation, page_id=number)])
            if seen and interval >= 0:
                self._note_fresh(page_id, 1.0)

    def release(self, page_id: int) -> None:
        """Let a page be the best one again, after its lease or deferral has ended, and its rest."""
        self._rest(page_id)

    def _rest(self, page_id: int) -> None:
        number, until = self._number.get(page_id), self._polled_at[page_id]
        if self._are_resting:
            until = self._rests.end(self._past[page_id], until)
        if number is not None:
            self._index.rest(number, until)
        else:
            self._until[page_id] = until
            heapq.heappush(self._resting, (until, page_id))

    def _wake(self, now: float) -> None:
        """Let the irrelevant pages compete whose rests are over."""
        while self._resting and self._resting[0][0] <= now:
            until, page_id = heapq.heappop(self._resting)
            if self._until.get(page_id) == until:
                del self._until[page_id]
                page = self._pages[page_id]
                self._irrelevant.add(page_id, page.scope, self._polled_at[page_id])

    @property
    def wake_at(self) -> float:
        """When the next page that rests is to be looked at again, or a little before; infinite:
        none rests.
        """
        first = self._resting[0][0] if self._resting else math.inf
        return min(first, self._index.next_return)

    def best(self, now: float) -> tuple[int, float]:
        """The page most worth a look and its index; -1: there is none."""
        self._wake(now)
        if not self._pages:
            return -1, 0.0
        self._look_at_some(now)
        number, index, second = best_page(self._index.state, now)
        page_id = self._page_of[number] if number >= 0 else -1
        oldest = self._irrelevant.first()
        if oldest is not None:
            worth = self._worth_of_irrelevant(now - self._polled_at[oldest], now)
            if number < 0 or worth > index:
                self._best = (-1, worth, index)
                return oldest, worth
        self._best = (number, index, second)
        return page_id, float(index)

    def lease(self, page_id: int, now: float) -> None:
        """Lease the page that `best` has just given."""
        number, index, second = self._best
        if number >= 0:
            lease_page(self._index.state, number, now, index, second)
        else:
            self._irrelevant.remove(page_id)

    def defer(self, page_id: int, until: float) -> None:
        """Give a leased page back unpolled; it is not the best one before it is released."""
        if page_id in self._number:
            self._index.defer([self._number[page_id]], until)

    def block(self, scope: str, until: float) -> None:
        """No page of a scope is the best one before `until`."""
        self._index.block(scope, until)
        self._irrelevant.block(scope)

    def unblock(self, scope: str) -> None:
        """The time until which a scope was blocked has come."""
        self._irrelevant.unblock(scope)

    @property
    def freshness(self) -> float:
        """The expected share of the held relevance that is up to date; 1: nothing is held.

        It is corrected by the ratio of the changes that polls found to those expected.
        """
        if self.relevance <= 1e-9:
            return 1.0
        stale = 1.0 - self._fresh_relevance / self.relevance
        return 1.0 - min(stale * self._seen / self._expected, 1.0)

    def change_rate(self, now: float) -> float:
        """Changes per second to be expected of a page that was never polled.

        The changes seen over the time observed. One change and the time since the first page was
        held are added: without experience the rate is one change in that time.
        """
        return (1.0 + self._changes) / max(now - self._begun_at + self._exposure, 1e-9)

    def state_dict(self, page_ids: Sequence[int]) -> StateDict:
        """What was learned of these pages, in this order, and what all share.

        A page that is not held has the relevance NaN; the other fields of pages without relevance
        are 0.
        """
        numbers = [self._number.get(page_id, -1) for page_id in page_ids]
        rows = np.flatnonzero(np.array(numbers, np.int64) >= 0)
        learned = self._index.state_dict([n for n in numbers if n >= 0])
        del learned["page_ids"]
        for name, array in learned.items():
            if name.startswith("page."):
                whole = np.zeros((len(page_ids), *array.shape[1:]), array.dtype)
                whole[rows] = array
                learned[name] = whole
        relevance = [self._relevance.get(page_id, math.nan) for page_id in page_ids]
        learned["page.relevance"] = np.array(relevance, np.float64)
        past = [self._past.get(page_id, _NO_PAST) for page_id in page_ids]
        columns = zip(*past, strict=True) if past else [()] * len(_PAST)
        learned.update(zip(_PAST, (np.array(one, np.float64) for one in columns), strict=True))
        learned["rests"] = self._rests.state()
        learned["looks"] = np.array(
            [self._begun_at, self._changes, self._exposure, self._seen, self._expected]
        )
        return learned

    def load_state_dict(self, page_ids: Sequence[int], state: StateDict) -> None:
        """Put learned state back, of those of the pages that are relevant and held."""
        looks = state["looks"].tolist()
        self._begun_at, self._changes, self._exposure, self._seen, self._expected = looks
        # A page that was not relevant when the state was taken has nothing to put back.
        seen_at = state["page.seen_at"]
        told = np.flatnonzero(seen_at).tolist()
        if told:  # it began no later than that, should the clock have been ahead
            self._begun_at = min(self._begun_at, float(np.nanmax(seen_at[told])))
        rows = [n for n in told if page_ids[n] in self._number]
        learned = {
            name: array[rows] if name.startswith("page.") else array
            for name, array in state.items()
            if name not in _OWN_STATE
        }
        learned["page_ids"] = np.array([self._number[page_ids[n]] for n in rows], np.int64)
        self._index.load_state_dict(learned)
        self._rests.load(state["rests"].tolist())
        columns = (state[name].tolist() for name in _PAST)
        for page_id, *past in zip(page_ids, *columns, strict=True):
            if page_id in self._past and not math.isnan(past[0]):
                self._past[page_id] = Past(*past)
                if page_id in self._number or page_id in self._until:  # it is not leased
                    self._rest(page_id)

    def _worth_of_irrelevant(self, elapsed: float, now: float) -> float:
        rate = self.change_rate(now)
        mean = self.relevance / len(self._relevance)
        return _IRRELEVANT * float(_FRESHNESS.index(rate, max(elapsed, 0.0), mean))

    def _enter(self, page_id: int, relevance: float) -> None:
        self._relevance[page_id] = relevance
        if relevance <= 0:
            self._rest(page_id)
            return
        page = self._pages[page_id]
        self._number[page_id] = number = len(self._page_of)
        self._page_of.append(page_id)
        site = page.site or page.scope or "web"
        polled_at = self._polled_at[page_id]
        self._index.add([replace(page, id=number, weight=relevance, seen_at=polled_at, site=site)])
        self._rest(page_id)
        self._place[page_id] = len(self._ring)
        self._ring.append(page_id)
        self._fresh[page_id] = 1.0
        self.relevance += relevance
        self._fresh_relevance += relevance

    def _leave(self, page_id: int) -> None:
        if page_id not in self._number:
            self._irrelevant.remove(page_id)
            self._until.pop(page_id, None)
            return
        self._index.discard([self._number.pop(page_id)])
        relevance = self._relevance[page_id]
        self.relevance -= relevance
        self._fresh_relevance -= relevance * self._fresh.pop(page_id)
        place, last = self._place.pop(page_id), self._ring.pop()
        if last != page_id:
            self._ring[place] = last
            self._place[last] = place

    def _note_fresh(self, page_id: int, fresh: float) -> None:
        self._fresh_relevance += self._relevance[page_id] * (fresh - self._fresh[page_id])
        self._fresh[page_id] = fresh

    def _look_at_some(self, now: float) -> None:
        count = min(_LOOKED_AT, len(self._ring))
        some = [self._ring[(self._next + n) % len(self._ring)] for n in range(count)]
        self._next += count
        rate = self.change_rate(now)
        numbers = np.array([self._number[page_id] for page_id in some], np.int64)
        chances = self._index.chances(numbers, now).tolist()
        looked_at = self._index.state.pages["polls"][numbers].tolist()
        for page_id, chance, polls in zip(some, chances, looked_at, strict=True):
            elapsed = now - self._polled_at[page_id]
            by_common_rate = math.exp(-rate * max(elapsed, 0.0))
            trust = polls / (polls + _COMMON)
            self._note_fresh(page_id, trust * (1.0 - chance) + (1.0 - trust) * by_common_rate)


_FRESHNESS = Freshness()
