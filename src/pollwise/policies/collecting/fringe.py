"""The worth of fetching the pages that are known by links only, learned as the crawl goes on.

The value of a page is the relevance per fetch that it is expected to bring, in the best part of its
discovery tree that begins with it (`pollwise.policies.collecting.returns`): the sum of what is
known of it (`pollwise.policies.collecting.evidence`), each kind by its weight. The weights are
fitted to what the fetches of this crawl led to, with the evidence as it was before each fetch
(`pollwise.policies.collecting.weights`). Each time the crawl has grown by a share, they are fitted
anew and the whole fringe is valued with them, so the cost per page does not grow with the number of
pages.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pollwise.policies.collecting.evidence import N_EVIDENCE, correct, gather, learn, link
from pollwise.policies.collecting.fringe_queue import (
    best,
    block_host,
    offer,
    offer_new,
    value_all,
    value_new,
    value_some,
    value_targets,
    withdraw,
)
from pollwise.policies.collecting.gates import GateSearch
from pollwise.policies.collecting.horn_index import horn_index
from pollwise.policies.collecting.known_web import (
    ABSENT,
    AIMED,
    EXPLORATION,
    FETCHED,
    FRINGE,
    HELD,
    KnownWeb,
)
from pollwise.policies.collecting.next_links import likely_links
from pollwise.policies.collecting.returns import subtree_densities
from pollwise.policies.collecting.weights import FIRST_WEIGHTS, Weights
from pollwise.types import LikelyLink, Links, Page

__all__ = ["FringeValue"]

Ints = NDArray[np.int64]

_EXPLORATION = 5.0
"""The bonus of a host without fetches, in mean relevances."""
_FIRST_FIT, _FIT_STEP, _FIT_GROWTH = 10, 5, 1.1
"""Fetches before the first fit of the weights, and from fit to fit: at least so many, and by what
factor they grow."""
_VALUED_AT_ONCE = 8192
"""If there are more pages, some are valued with each fetch, so that no fetch waits for all."""
_BACKGROUND, _BACKGROUND_WEIGHT = 100, 30.0
"""Pages of the fringe that are fitted beside the fetched ones as worth nothing, and how many
fetches all of them count for."""
_RANK_STEP = 1e-12
"""By which the values of a plan fall from one page to the next, to keep its order."""


class FringeValue:
    """The fringe by value; `generator` draws pages that count as worth nothing, and gates.

    Nothing is fitted or valued before the first `best`, so feeding in the pages, links and
    relevances of an earlier run is quick.
    """

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator
        self._gates = GateSearch(generator)
        self._known = KnownWeb()
        self._known.web.totals[EXPLORATION] = _EXPLORATION
        self._learned = Weights()
        self._weights = FIRST_WEIGHTS
        self._row = np.zeros(N_EVIDENCE, np.float32)
        """What is known of the page that `best` has just given."""
        self._valued = np.zeros(N_EVIDENCE, np.float32)
        self._unvalued: list[int] = []
        self._seeds: set[int] = set()
        """Pages that were there before any link to them."""
        # By fetch: the page, and what was known of it before.
        self._fetched: list[int] = []
        self._rows = np.zeros((64, N_EVIDENCE), np.float32)
        self._taken: dict[int, NDArray[np.float32]] = {}
        self._awake = False
        self._next_fit = 0
        self._valued_at = self._sweep = 0

    def aim(self, weights: Mapping[str, float]) -> None:
        """Take up the topic, as the weights of its terms, in the place of an earlier one."""
        self._known.aim(weights)
        self._next_fit = 0

    def seen(self, pages: Sequence[Page]) -> None:
        """Take up pages as fringe."""
        if not pages:
            return
        self._known.add(pages)
        web = self._known.web
        ids = np.array([page.id for page in pages])
        offer_new(web, ids)
        self._unvalued += ids.tolist()
        for page_id, host in zip(ids.tolist(), web.pages["host"][ids].tolist(), strict=True):
            self._gates.seen(page_id, host)

    def linked(self, page_id: int, links: Links) -> NDArray[np.int32]:
        """Learn what a fetched page links to; the pages that it did not link to before."""
        first, end = self._known.add_links(page_id, links)
        web = self._known.web
        link(web, page_id, first, end)
        if self._awake:
            value_targets(web, self._weights, self._valued, page_id, first, end)
        new: NDArray[np.int32] = web.links["target"][first:end]
        self._gates.linked(web, page_id, new)
        return new

    def fetched(self, page_id: int, relevance: float | None) -> None:
        """Learn the relevance of a page, which leaves the fringe; None: it could not be fetched."""
        web = self._known.web
        row = self._taken.pop(page_id, None)
        self._leave(page_id, FETCHED)
        if relevance is None:
            return
        if web.pages[page_id]["learned"]:
            self._correct(page_id, relevance)
            return
        if row is None:
            row = self._row
            gather(web, page_id, row)
        number = len(self._fetched)
        if number == len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
        self._rows[number] = row
        self._fetched.append(page_id)
        learn(web, page_id, row, relevance)
        self._gates.fetched(web, page_id, relevance)

    def polled(self, page_id: int) -> None:
        """A page was fetched before; what it taught is told by `fetched`, if at all."""
        self._leave(page_id, FETCHED)

    def knows(self, page_id: int) -> bool:
        """Whether the relevance of a page was learned."""
        return bool(self._known.web.pages[page_id]["learned"])

    def corrected(self, page_id: int, relevance: float) -> None:
        """Correct the relevance of a fetched page; other pages are ignored."""
        web = self._known.web
        if 0 <= page_id < len(web.pages) and web.pages[page_id]["learned"]:
            self._correct(page_id, relevance)

    def _correct(self, page_id: int, relevance: float) -> None:
        correct(self._known.web, page_id, relevance)
        self._gates.judged_anew(self._known, page_id, relevance)

    def best(self) -> tuple[int, float] | None:
        """The page to take next and its value; None: none may be taken.

        A page that is fetched for where it may lead has the value of the best one.
        """
        self._prepare()
        web = self._known.web
        page_id = int(best(web, self._weights, self._row))
        if page_id < 0:
            return None
        value = min(float(web.pages[page_id]["value"]), 1.0)  # an estimate may be beyond that
        gate = self._gates.next_page(web, len(self._fetched))
        if gate is not None and gate != page_id:
            page_id = gate
            gather(web, page_id, self._row)
        return page_id, value

    def take(self, page_id: int) -> None:
        """Hold the page that `best` has just given."""
        self._taken[page_id] = self._row.copy()
        self._leave(page_id, HELD)
        self._gates.taken(page_id)

    def release(self, page_id: int) -> None:
        """Put a page that was held back, or fetched, into the fringe."""
        web = self._known.web
        if web.pages[page_id]["where"] in (HELD, FETCHED):
            self._taken.pop(page_id, None)
            web.pages[page_id]["where"] = FRINGE
            offer(web, page_id, float(web.pages[page_id]["value"]))

    def hold(self, page_id: int) -> None:
        """Keep a page of the fringe from being taken until it is released."""
        if self._known.web.pages[page_id]["where"] == FRINGE:
            self._leave(page_id, HELD)

    def block(self, page_id: int) -> None:
        """Keep all pages of the host of a page from being taken, until as many `unblock`s."""
        block_host(self._known.web, page_id, 1)

    def unblock(self, page_id: int) -> None:
        """End what `block` began."""
        block_host(self._known.web, page_id, -1)

    def forget(self, page_ids: Iterable[int]) -> None:
        """The pages are no longer there; what they taught stays. Unknown ids are ignored."""
        for page_id in page_ids:
            if 0 <= page_id < len(self._known.web.pages):
                self._taken.pop(page_id, None)
                self._leave(page_id, ABSENT)

    def value(self, page_id: int) -> float:
        """The relevance per fetch that a page of the fringe is expected to bring.

        It has a bonus for a directory of which little was fetched, but not that of the host.
        """
        self._prepare()
        return float(self._known.web.pages[page_id]["value"])

    def likely_links(self, count: int) -> list[LikelyLink]:
        """The pages of the highest values, best first, whether their hosts are free or not."""
        return likely_links(self._known, count)

    def begin_traversal(self) -> None:
        """Plan the order of the known web with all that was learned, and start without pages."""
        web = self._known.web
        pages = web.pages
        there = np.flatnonzero(pages["end_word"])
        if not len(there):
            return
        expected = np.where(pages["learned"], pages["relevance"], np.maximum(pages["value"], 0.0))
        expected[~np.isfinite(expected)] = 0.0
        links = web.links[: self._known.n_links]
        order = np.argsort(links["source"], kind="stable")
        offsets = np.searchsorted(links["source"][order], np.arange(len(pages) + 1))
        starts = np.union1d(there[pages["discoverer"][there] < 0], np.array([*self._seeds], int))
        targets = links["target"][order].astype(np.int64)
        plan = horn_index(expected, offsets.astype(np.int64), targets, starts)
        pages["planned"] = plan.density - _RANK_STEP * plan.rank
        pages["where"] = ABSENT
        self._taken.clear()
        value_all(web, self._weights, self._valued)
        web.totals[EXPLORATION] = 0.0
        self._gates.stop()

    def _leave(self, page_id: int, where: int) -> None:
        web = self._known.web
        if web.pages[page_id]["where"] == FRINGE:
            withdraw(web, page_id)
        web.pages[page_id]["where"] = where

    def _prepare(self) -> None:
        """Fit and value what is due."""
        web, count = self._known.web, len(self._fetched)
        self._awake = True
        at_once = len(web.pages) <= _VALUED_AT_ONCE
        if count >= self._next_fit:
            self._next_fit = max(count + _FIT_STEP, int(count * _FIT_GROWTH))
            if web.totals[AIMED]:
                self._known.match()
            if count >= _FIRST_FIT:
                self._fit()
            if at_once:
                value_all(web, self._weights, self._valued)
        if not at_once:
            turns = (count - self._valued_at) / max((_FIT_GROWTH - 1) * count, 10.0)
            many = int(turns * len(web.pages))
            self._sweep = value_some(web, self._weights, self._valued, self._sweep, many)
        self._valued_at = count
        if self._unvalued:
            new = np.array(self._unvalued)
            self._seeds.update(new[web.pages["n_in"][new] == 0].tolist())
            value_new(web, self._weights, self._valued, new)
            self._unvalued.clear()

    def _fit(self) -> None:
        pages, count = self._known.web.pages, len(self._fetched)
        place = np.full(len(pages) + 1, -1)
        place[self._fetched] = np.arange(count)
        parents = place[pages["discoverer"][self._fetched]]
        parents[parents >= np.arange(count)] = -1
        returns = subtree_densities(pages["relevance"][self._fetched], parents)
        self._weights = self._learned.fitted(
            self._rows[:count], returns, self._background(), _BACKGROUND_WEIGHT
        )

    def _background(self) -> NDArray[np.float32]:
        """What is known of some pages of the fringe, drawn at random: most bring nothing.

        Fetched pages were chosen, so they do not show what the others are like: weights that are
        fitted to the first few of them, of which most are relevant, promise as much everywhere.
        """
        fringe = np.flatnonzero(self._known.web.pages["where"] == FRINGE)
        drawn = self._generator.permutation(fringe)[:_BACKGROUND]
        rows = np.zeros((len(drawn), N_EVIDENCE), np.float32)
        for row, page_id in zip(rows, drawn.tolist(), strict=True):
            gather(self._known.web, page_id, row)
        return rows
