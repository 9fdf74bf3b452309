"""What the policies that give every page an interval have in common."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pollwise.errors import InputError, StateError
from pollwise.policies.base import StateDict
from pollwise.policies.deadline_queue import (
    ABSENT,
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
    makes no difference. `pollwise.policies.deadline_queue` has the rest.
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
        page_ids = np.array([page.id for page in pages], np.int64)
        wrong = (page_ids < 0) | np.isin(page_ids, self._watched(page_ids))
        if wrong.any() or len(np.unique(page_ids)) < len(page_ids):
            raise InputError(
                "add: a page id is negative, given twice or watched already; give every page an"
                " id of its own (0, 1, 2, ...)"
            )
        intervals = self._intervals(pages)
        self._grow(int(page_ids.max()) + 1)
        seen_at = [math.nan if page.seen_at is None else page.seen_at for page in pages]
        add_pages(self._state, page_ids, np.array(seen_at, np.float64))
        set_intervals(self._state, page_ids, intervals)

    def discard(self, page_ids: Sequence[int]) -> None:
        """Forget pages; unknown ids are ignored."""
        remove_pages(self._state, self._watched(page_ids))

    def select(self, now: float, limit: int) -> Selection:
        """The pages of the earliest deadlines; they are leased."""
        page_ids = select_pages(self.state, now, limit)
        return Selection(page_ids, float(next_due(self.state)))

    def observe(self, observations: Sequence[Observation]) -> None:
        """Set the next deadlines of polled pages and end their leases."""
        known = [o for o in observations if 0 <= o.page_id < len(self.state.pages)]
        told = (o.last_changed_at for o in known)
        observe_pages(
            self.state,
            np.array([o.page_id for o in known], np.int64),
            np.array([o.polled_at for o in known], np.float64),
            np.array([o.outcome for o in known], np.int64),
            np.array([math.nan if time is None else time for time in told], np.float64),
        )

    def defer(self, page_ids: Sequence[int], until: float) -> None:
        """Give leased pages back unpolled; they are not selected before `until`."""
        defer_pages(self.state, self._watched(page_ids), until)

    def state_dict(self, page_ids: Sequence[int] | None = None) -> StateDict:
        """The latest polls and the deadlines; see `Policy`."""
        pages = self.state.pages
        ids = np.arange(len(pages)) if page_ids is None else page_ids
        ids = self._watched(ids)
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
        expected = self.state_dict([])
        if state.keys() != expected.keys():
            raise StateError(
                f"the learned state holds {sorted(state)}, this policy needs {sorted(expected)};"
                " load it into a policy of the same kind"
            )
        for name, array in expected.items():
            shape = (1,) if name == self._clock else (state["page_ids"].size,)
            if state[name].shape != shape or state[name].dtype != array.dtype:
                raise StateError(
                    f"the learned array {name!r} is {state[name].dtype} {state[name].shape},"
                    f" expected {array.dtype} {shape}; load it into a policy of the same kind and"
                    " version"
                )
        ids = state["page_ids"].astype(np.int64)
        known = np.isin(ids, self._watched(ids))
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

    def _watched(self, page_ids: Sequence[int] | NDArray[Any]) -> NDArray[np.int64]:
        """Those of the ids that are of pages."""
        ids = np.asarray(page_ids, np.int64)
        ids = ids[(ids >= 0) & (ids < len(self._state.pages))]
        return ids[self._state.pages["where"][ids] != ABSENT]

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
