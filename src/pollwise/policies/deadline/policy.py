"""What the policies that give every page an interval have in common."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pollwise.policies.arrays import all_watched, check_state, seen_at, watched
from pollwise.policies.base import StateDict
from pollwise.policies.compiled import CompiledPolicy
from pollwise.policies.deadline.kernels import (
    DEADLINE_PAGE,
    DEADLINE_SHARED,
    DeadlineState,
    add_pages,
    remove_pages,
    restore_pages,
    set_intervals,
)
from pollwise.policies.structures.heap import no_heaps
from pollwise.types import Page

__all__ = ["DeadlinePolicy"]


class DeadlinePolicy(CompiledPolicy):
    """Polls the page of the earliest deadline; the subclasses say what the intervals are.

    Pages without a copy come first, in the order in which they were added; what a poll finds
    makes no difference. `pollwise.policies.deadline.kernels` has the rest.
    """

    _two_heaps = "queue"

    def __init__(self, *, paced: bool = False, tick: float = 0.0) -> None:
        """`paced` and `tick`: see `DEADLINE_SHARED`."""
        shared = np.zeros(1, DEADLINE_SHARED)
        shared["paced"] = paced
        shared["tick"] = tick
        self._state = DeadlineState(np.zeros(0, DEADLINE_PAGE), shared, no_heaps())

    @property
    def deadlines(self) -> DeadlineState:
        """The deadlines, which the kernels of this family work on."""
        return self._state

    @property
    def state(self) -> Any:
        """The whole state; see `CompiledPolicy`."""
        return self.deadlines

    @property
    def _turns(self) -> DeadlineState:
        return self.deadlines

    def _intervals(self, pages: Sequence[Page]) -> NDArray[np.float64]:
        """The intervals of new pages; their unit matters only if paced: then it is seconds."""
        raise NotImplementedError

    def _enter(self, pages: Sequence[Page], page_ids: NDArray[np.int64]) -> None:
        intervals = self._intervals(pages)
        add_pages(self._state, page_ids, seen_at(pages))
        set_intervals(self._state, page_ids, intervals)

    def _remove(self, page_ids: NDArray[np.int64]) -> None:
        remove_pages(self._state, page_ids)

    def state_dict(self, page_ids: Sequence[int] | None = None) -> StateDict:
        """The latest polls and the deadlines; see `Policy`."""
        pages = self.deadlines.pages
        ids = watched(page_ids, pages)
        polled_at = pages["polled_at"][ids]
        return {
            "page_ids": ids,
            "page.polled_at": polled_at,
            # The deadline of a page never polled says when it was added, which is not learned.
            "page.deadline": np.where(np.isnan(polled_at), math.nan, pages["deadline"][ids]),
            self._clock: self.deadlines.shared["clock"].copy(),
        }

    def load_state_dict(self, state: StateDict) -> None:
        """Put the latest polls and the deadlines back; `StateError` if they do not fit."""
        check_state(state, self.state_dict([]))
        self._restore_deadlines(state)

    def _restore_deadlines(self, state: StateDict) -> None:
        ids = state["page_ids"].astype(np.int64)
        known = np.isin(ids, all_watched(self._state.pages))
        restore_pages(
            self.deadlines,
            ids[known],
            state["page.polled_at"][known].astype(np.float64),
            state["page.deadline"][known].astype(np.float64),
            float(state[self._clock].item()),
        )

    @property
    def _clock(self) -> str:
        """The name of the clock in learned state: tags of another class mean something else."""
        return f"{type(self).__name__.lower()}.clock"
