"""The common part of policies that set the interval of a page by what its polls found."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pollwise.array_growth import enlarged
from pollwise.errors import StateError
from pollwise.policies.arrays import all_watched, check_state, seen_at
from pollwise.policies.base import StateDict
from pollwise.policies.deadline.kernels import set_intervals
from pollwise.policies.deadline.policy import DeadlinePolicy
from pollwise.types import Page

__all__ = ["AdaptivePolicy"]


class AdaptivePolicy(DeadlinePolicy):
    """Keeps what was learned of each page beside its deadline.

    Subclasses give the type of its record, which has the field `seen_at`. Their state, of the type
    `_state_type`, has the fields `deadlines`, `pages` and `shared`. `shared` is one record with the
    field `first_interval`, that of new pages; those of its fields that `_learned` names belong to
    the learned state.
    """

    name: str
    """As in the catalogue, in messages and in learned state."""
    _state_type: type[Any]
    _learned: tuple[str, ...] = ()

    def __init__(
        self,
        shared: NDArray[Any],
        page: np.dtype[Any],
        *,
        paced: bool = False,
        tick: float = 0.0,
    ) -> None:
        super().__init__(paced=paced, tick=tick)
        self._shared = shared
        self._pages = np.zeros(0, page)

    @property
    def state(self) -> Any:
        """The whole state; see `CompiledPolicy`."""
        return self._state_type(self.deadlines, self._pages, self._shared)

    def _new(self, pages: Sequence[Page]) -> NDArray[Any]:
        """The records of new pages, with what the pages themselves tell."""
        new: NDArray[Any] = np.zeros(len(pages), self._pages.dtype)
        new["seen_at"] = seen_at(pages)
        for name in {"weight", "cost"} & set(new.dtype.names or ()):
            new[name] = [getattr(page, name) for page in pages]
        return new

    def _intervals(self, pages: Sequence[Page]) -> NDArray[np.float64]:
        return np.full(len(pages), self._shared["first_interval"][0])

    def _enter(self, pages: Sequence[Page], page_ids: NDArray[np.int64]) -> None:
        super()._enter(pages, page_ids)
        self._pages = enlarged(self._pages, len(self._state.pages) - len(self._pages))
        self._pages[page_ids] = self._new(pages)

    @property
    def _clock(self) -> str:
        return f"{self.name}.clock"

    def state_dict(self, page_ids: Sequence[int] | None = None) -> StateDict:
        """What was found, the intervals that followed, and the deadlines; see `Policy`."""
        learned = super().state_dict(page_ids)
        ids = learned["page_ids"].astype(np.int64)
        learned.update(self._learned_intervals(ids))
        learned.update({f"page.{n}": self._pages[n][ids] for n in self._pages.dtype.names or ()})
        learned.update({f"{self.name}.{n}": self._shared[n].copy() for n in self._learned})
        return learned

    def load_state_dict(self, state: StateDict) -> None:
        """Put what was learned back; `StateError` if it does not fit or cannot be.

        Pages that it knows nothing of stay as they are.
        """
        check_state(state, self.state_dict([]))
        self._check_learned(state)
        for name in self._learned:
            self._shared[name] = state[f"{self.name}.{name}"]
        ids = state["page_ids"].astype(np.int64)
        known = np.isin(ids, all_watched(self._state.pages))
        for name in self._pages.dtype.names or ():
            self._pages[name][ids[known]] = state[f"page.{name}"][known]
        self._restore_intervals(state, ids, known)
        self._restore_deadlines(state)

    def _learned_intervals(self, page_ids: NDArray[np.int64]) -> StateDict:
        """Those of pages, where they are learned."""
        return {"page.wait": self._state.pages["interval"][page_ids]}

    def _check_learned(self, state: StateDict) -> None:
        """`StateError` unless it may be what such a policy has learned."""
        waits, clock = state["page.wait"].astype(np.float64), float(state[self._clock].item())
        if not (waits > 0.0).all() or not math.isfinite(clock):
            raise StateError(
                f"the learned state of {self.name} is damaged: an interval or the clock is no"
                " time that can be; go back to a copy of it"
            )

    def _restore_intervals(
        self, state: StateDict, page_ids: NDArray[np.int64], known: NDArray[np.bool_]
    ) -> None:
        """Set the intervals of those of the pages that are known."""
        waits = state["page.wait"].astype(np.float64)
        set_intervals(self._state, page_ids[known], waits[known])
