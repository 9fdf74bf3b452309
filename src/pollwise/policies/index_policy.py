"""What the policies that poll the page of the largest index have in common."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pollwise.objectives import Detection, Objective
from pollwise.policies.arrays import check_state, new_ids, observed, seen_at, watched
from pollwise.policies.base import StateDict
from pollwise.policies.index_learning import refresh_prior
from pollwise.policies.index_queue import (
    add_pages,
    defer_pages,
    observe_pages,
    remove_pages,
    select_pages,
    straighten_line,
)
from pollwise.policies.index_state import HELD, HOST, LEASED, PAGE, SHARED, IndexState
from pollwise.rates.lattice import tabulate
from pollwise.rates.posterior import changed_table, log_uniform, unchanged_table
from pollwise.types import Observation, Page, Selection

__all__ = ["IndexPolicy"]

_PRICE = ("price", "polls")
_SHARED_LEARNED = (*_PRICE, "gap", "gaps", "learned", "next_fit", "fits", "prior", "recalibration")


class IndexPolicy:
    """Polls the page of the largest Whittle index; the subclasses say what is known of rates.

    `state` is the whole state: arrays that the compiled functions of `index_queue` work on (and
    the compiled loop of the simulator).
    """

    def __init__(
        self,
        *,
        objective: Objective | None,
        tilt: NDArray[np.float64] | None = None,
        patience: float = math.inf,
    ) -> None:
        """`tilt`: what the rates' posterior is multiplied with, a row for each number of polls;
        None: the rates are known. `patience`: see `index_state.SHARED`.
        """
        self.objective = Detection() if objective is None else objective
        self._learning = tilt is not None
        self._scopes: dict[str, int] = {}
        self.state = _empty_state(self.objective, tilt)
        self.state.shared["patience"] = patience
        refresh_prior(self.state.shared)

    def _known_rates(self, page_ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """The change rates of pages; only asked where rates are known."""
        raise NotImplementedError

    def add(self, pages: Sequence[Page]) -> None:
        """Take up pages; of those never polled, larger weights and older copies are tried first."""
        if not pages:
            return
        pages = sorted(pages, key=_urgency)
        page_ids = new_ids(pages, self.state.pages)
        scopes = [self._scopes.setdefault(page.scope, len(self._scopes)) for page in pages]
        self._grow(int(page_ids.max()) + 1, len(self._scopes))
        state = self.state
        state.pages["weight"][page_ids] = [page.weight / page.cost for page in pages]
        state.pages["seen_at"][page_ids] = seen_at(pages)
        state.pages["scope"][page_ids] = scopes
        state.pages["polls"][page_ids] = 0
        if self._learning:
            state.pages["likelihood"][page_ids] = 1.0
        else:
            state.pages["rate"][page_ids] = self._known_rates(page_ids)
        add_pages(state, page_ids)

    def discard(self, page_ids: Sequence[int]) -> None:
        """Forget pages; unknown ids are ignored."""
        remove_pages(self.state, watched(page_ids, self.state.pages))

    def select(self, now: float, limit: int) -> Selection:
        """The pages of the largest indices; they are leased."""
        page_ids = select_pages(self.state, now, limit)
        held = self.state.held
        wake_at = float(self.state.pages[held[1]]["key"]) if held[0] > 0 else math.inf
        return Selection(page_ids, wake_at)

    def observe(self, observations: Sequence[Observation]) -> None:
        """Learn from polls and end the leases of their pages."""
        observe_pages(self.state, *observed(observations, self.state.pages))

    def defer(self, page_ids: Sequence[int], until: float) -> None:
        """Give leased pages back unpolled; they are not selected before `until`."""
        defer_pages(self.state, watched(page_ids, self.state.pages), until)

    def state_dict(self, page_ids: Sequence[int] | None = None) -> StateDict:
        """What was learned; see `Policy`."""
        state = self.state
        ids = watched(range(len(state.pages)) if page_ids is None else page_ids, state.pages)
        learned: StateDict = {
            "page_ids": ids,
            "page.seen_at": state.pages["seen_at"][ids],
            "page.polls": state.pages["polls"][ids],
        }
        for name in _SHARED_LEARNED:
            learned[name] = state.shared[name].copy()
        learned["objective"] = self._objective_identity()
        if self._learning:
            learned["page.likelihood"] = state.pages["likelihood"][ids]
        return learned

    def load_state_dict(self, state: StateDict) -> None:
        """Put learned state back; `StateError` if it does not fit."""
        check_state(state, self.state_dict([]))
        ids, first = np.unique(state["page_ids"].astype(np.int64), return_index=True)
        known = np.isin(ids, watched(ids, self.state.pages))
        ids, rows = ids[known], first[known]
        # Leased and held pages stay so; the others wait at places that depend on what is learned.
        waiting = ids[~np.isin(self.state.pages["where"][ids], (HELD, LEASED))]
        remove_pages(self.state, waiting)
        self.state.pages["seen_at"][ids] = state["page.seen_at"][rows]
        self.state.pages["polls"][ids] = state["page.polls"][rows]
        # Of another objective everything is of use but the price, which is in other units.
        same = np.array_equal(state["objective"], self._objective_identity())
        for name in _SHARED_LEARNED:
            if same or name not in _PRICE:
                self.state.shared[name] = state[name]
        if self._learning:
            self.state.pages["likelihood"][ids] = state["page.likelihood"][rows]
            refresh_prior(self.state.shared)
        add_pages(self.state, waiting)

    def _objective_identity(self) -> NDArray[np.float64]:
        """Numbers that no two objectives share."""
        objective = self.objective
        return np.array([objective.power, objective.decay or 0.0, float(objective.shape(1.0))])

    def _grow(self, pages: int, scopes: int) -> None:
        """Make room for page ids below `pages` and as many scopes; rooms double."""
        state = self.state
        if scopes > len(state.hosts):
            more = np.zeros(max(scopes - len(state.hosts), len(state.hosts)), HOST)
            more["price"] = 1.0
            state = state._replace(hosts=np.append(state.hosts, more))
        old = len(state.pages)
        if pages > old:
            room = max(pages, 2 * old, 16)
            line = np.full(2 * room, -1, np.int64)
            straighten_line(state, line)
            grown: dict[str, NDArray[Any]] = {"line": line}
            for name in ("pages", "calendar", "held"):
                array = getattr(state, name)
                # A heap has one place more than there are pages.
                grown[name] = np.zeros(room + len(array) - old, array.dtype)
                grown[name][: len(array)] = array
            state = state._replace(**grown)
        self.state = state


def _urgency(page: Page) -> tuple[float, float]:
    return -page.weight / page.cost, -math.inf if page.seen_at is None else page.seen_at


def _empty_state(objective: Objective, tilt: NDArray[np.float64] | None) -> IndexState:
    """The state without any page."""
    decay = objective.decay
    if decay is None:
        index_table = tabulate(lambda a: objective.shape(a) / a**objective.power)
        decay_table = tabulate(np.ones_like)
    else:
        index_table = tabulate(lambda a: a**-objective.power)
        decay_table = tabulate(objective.shape)
    shared = np.zeros(1, SHARED)
    shared["learning"] = tilt is not None
    shared["power"] = objective.power
    shared["latest"] = math.nan
    shared["decay"] = 0.0 if decay is None else decay
    shared["prior"] = log_uniform(math.inf)
    shared["tilt"] = 1.0 if tilt is None else tilt
    shared["tables"] = [index_table, decay_table, changed_table(), unchanged_table()]
    return IndexState(
        pages=np.zeros(0, PAGE),
        shared=shared,
        calendar=np.zeros(1, np.int64),
        held=np.zeros(1, np.int64),
        line=np.zeros(0, np.int64),
        hosts=np.zeros(0, HOST),
    )
