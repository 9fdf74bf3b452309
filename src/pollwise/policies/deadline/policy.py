"""What the policies that give every page an interval have in common."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pollwise.policies.arrays import (
    all_watched,
    check_state,
    new_ids,
    observed,
    seen_at,
    watched,
)
from pollwise.policies.base import StateDict
from pollwise.policies.deadline.kernels import (
    PAGE,
    SHARED,
    DeadlineState,
    add_pages,
    defer_pages,
    next_due,
    observe_pages,
    remove_pages,
    restore_pages,
    select_pages,
    set_intervals,
)
from pollwise.types import Observation, Page, Selection

__all__ = ["DeadlinePolicy"]


class DeadlinePolicy:
    """Polls the page of the earliest deadline; the subclasses say what the intervals are.

    Pages without a copy come first, in the order in which they were added; what a poll finds
    makes no difference. `pollwise.policies.deadline.kernels` has the rest.
    """

    def __init__(self, *, paced: bool = False, tick: float = 0.0) -> None:
        """`paced` and `tick`: see `deadline_queue.SHARED`."""
        shared = np.zeros(1, SHARED)
        shared["paced"] = paced
        shared["tick"] = tick
        self._state = DeadlineState(
            pages=np.zeros(0, PAGE),
            shared=shared,
            queue=np.zeros(1, np.int64),
            held=np.zeros(1, np.int64),
        )

    @property
    def state(self) -> DeadlineState:
        """The whole state: arrays that the functions of `deadline_queue` work on.

        To be asked for anew after every `add`, which may need larger arrays.
        """
        return self._state

    def _intervals(self, pages: Sequence[Page]) -> NDArray[np.float64]:
        """The intervals of new pages; their unit matters only if paced: then it is seconds."""
        raise NotImplementedError

    def add(self, pages: Sequence[Page]) -> None:
        """Take up pages; `InputError` for an id that is negative or watched already."""
        if not pages:
            return
        page_ids = new_ids(pages, self._state.pages)
        intervals = self._intervals(pages)
        self._grow(int(page_ids.max()) + 1)
        add_pages(self._state, page_ids, seen_at(pages))
        set_intervals(self._state, page_ids, intervals)

    def discard(self, page_ids: Sequence[int]) -> None:
        """Forget pages; unknown ids are ignored."""
        remove_pages(self._state, watched(page_ids, self._state.pages))

    def select(self, now: float, limit: int) -> Selection:
        """The pages of the earliest deadlines; they are leased."""
        page_ids = select_pages(self.state, now, limit)
        return Selection(page_ids, float(next_due(self.state)))

    def observe(self, observations: Sequence[Observation]) -> None:
        """Set the next deadlines of polled pages and end their leases."""
        observe_pages(self.state, *observed(observations, self.state.pages))

    def defer(self, page_ids: Sequence[int], until: float) -> None:
        """Give leased pages back unpolled; they are not selected before `until`."""
        defer_pages(self.state, watched(page_ids, self._state.pages), until)

    def state_dict(self, page_ids: Sequence[int] | None = None) -> StateDict:
        """The latest polls and the deadlines; see `Policy`."""
        pages = self.state.pages
        ids = all_watched(pages) if page_ids is None else watched(page_ids, pages)
        polled_at = pages["polled_at"][ids]
        return {
            "page_ids": ids,
            "page.polled_at": polled_at,
            # The deadline of a page never polled says when it was added, which is not learned.
            "page.deadline": np.where(np.isnan(polled_at), math.nan, pages["deadline"][ids]),
            self._clock: self.state.shared["clock"].copy(),
        }

    def load_state_dict(self, state: StateDict) -> None:
        """Put the latest polls and the deadlines back; `StateError` if they do not fit."""
        check_state(state, self.state_dict([]))
        ids = state["page_ids"].astype(np.int64)
        known = np.isin(ids, all_watched(self._state.pages))
        restore_pages(
            self.state,
            ids[known],
            state["page.polled_at"][known].astype(np.float64),
            state["page.deadline"][known].astype(np.float64),
            float(state[self._clock].item()),
        )

    @property
    def _clock(self) -> str:
        """The name of the clock in learned state: tags of another class mean something else."""
        return f"{type(self).__name__.lower()}.clock"

    def _grow(self, pages: int) -> None:
        """Make room for page ids below `pages`; the room doubles."""
        old = len(self._state.pages)
        if pages <= old:
            return
        more = max(pages, 2 * old, 16) - old
        self._state = self._state._replace(
            **{
                name: np.append(array, np.zeros(more, array.dtype))
                for name in ("pages", "queue", "held")
                for array in [getattr(self._state, name)]
            }
        )
