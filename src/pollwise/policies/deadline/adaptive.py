"""What the policies have in common that set the interval of a page by what its polls found."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pollwise.errors import StateError
from pollwise.policies.arrays import all_watched, check_state, new_ids, observed, watched
from pollwise.policies.base import StateDict
from pollwise.policies.deadline.kernels import set_intervals
from pollwise.policies.deadline.policy import DeadlinePolicy
from pollwise.types import Observation, Page, Selection

__all__ = ["AdaptivePolicy"]


class _Turns(DeadlinePolicy):
    """Whose turn it is. New pages have the interval `shared["first_interval"]`."""

    def __init__(self, owner: str, shared: NDArray[Any], *, paced: bool) -> None:
        super().__init__(paced=paced)
        self._owner = owner
        self._shared = shared

    @property
    def _clock(self) -> str:
        return f"{self._owner}.clock"

    def _intervals(self, pages: Sequence[Page]) -> NDArray[np.float64]:
        return np.full(len(pages), self._shared["first_interval"][0])


class AdaptivePolicy:
    """Keeps what was learned of each page beside the queue of deadlines.

    Subclasses say what that is: `page`, the type of its record, and `_new`, the records of new
    pages. `shared` is one record with the field `first_interval`, and the fields of it that
    `_learned` names belong to the learned state. What an observation does is up to `_take_in`.
    """

    name: str
    """As in the catalogue; messages and learned state bear it."""
    _learned: tuple[str, ...] = ()

    def __init__(self, shared: NDArray[Any], page: np.dtype[Any], *, paced: bool = False) -> None:
        self._shared = shared
        self._pages = np.zeros(0, page)
        self._turns = _Turns(self.name, shared, paced=paced)

    @property
    def state(self) -> Any:
        """The whole state; to be asked for anew after every `add`, which may need larger arrays."""
        raise NotImplementedError

    def _new(self, pages: Sequence[Page]) -> NDArray[Any]:
        """The records of new pages."""
        raise NotImplementedError

    def _take_in(
        self,
        page_ids: NDArray[np.int64],
        polled_at: NDArray[np.float64],
        outcomes: NDArray[np.int64],
        last_changed_at: NDArray[np.float64],
        items: NDArray[np.int64],
    ) -> None:
        """Learn from observations and end the leases of their pages; `items`: -1 if not told."""
        raise NotImplementedError

    def add(self, pages: Sequence[Page]) -> None:
        """Take up pages; `InputError` for an id that is negative or watched already."""
        if not pages:
            return
        page_ids = new_ids(pages, self._turns.state.pages)
        self._turns.add(pages)
        more = len(self._turns.state.pages) - len(self._pages)
        self._pages = np.append(self._pages, np.zeros(more, self._pages.dtype))
        self._pages[page_ids] = self._new(pages)

    def discard(self, page_ids: Sequence[int]) -> None:
        """Forget pages; unknown ids are ignored."""
        self._turns.discard(page_ids)

    def select(self, now: float, limit: int) -> Selection:
        """The pages whose turn it is; they are leased."""
        return self._turns.select(now, limit)

    def observe(self, observations: Sequence[Observation]) -> None:
        """Learn from polls, set the next turns of their pages and end the leases."""
        known = [o for o in observations if 0 <= o.page_id < len(self._pages)]
        items = [-1 if o.n_items is None else o.n_items for o in known]
        self._take_in(*observed(known, self._pages), np.array(items, np.int64))

    def defer(self, page_ids: Sequence[int], until: float) -> None:
        """Give leased pages back unpolled; they are not selected before `until`."""
        self._turns.defer(page_ids, until)

    def state_dict(self, page_ids: Sequence[int] | None = None) -> StateDict:
        """What was found, the intervals that followed, and the deadlines; see `Policy`."""
        learned = self._turns.state_dict(page_ids)
        ids = learned["page_ids"].astype(np.int64)
        learned["page.wait"] = self._turns.state.pages["interval"][ids]
        learned.update({f"page.{n}": self._pages[n][ids] for n in self._pages.dtype.names or ()})
        learned.update({f"{self.name}.{n}": self._shared[n].copy() for n in self._learned})
        return learned

    def load_state_dict(self, state: StateDict) -> None:
        """Put what was learned back; `StateError` if it does not fit or cannot be.

        Pages that it knows nothing of stay as they are.
        """
        check_state(state, self.state_dict([]))
        waits = state["page.wait"].astype(np.float64)
        clock = float(state[f"{self.name}.clock"].item())
        if not (waits > 0.0).all() or not math.isfinite(clock):
            raise StateError(
                f"the learned state of {self.name} is damaged: an interval or the clock is no"
                " time that can be; go back to a copy of it"
            )
        ids = state["page_ids"].astype(np.int64)
        known = np.isin(ids, all_watched(self._turns.state.pages))
        for name in self._learned:
            self._shared[name] = state[f"{self.name}.{name}"]
        for name in self._pages.dtype.names or ():
            self._pages[name][ids[known]] = state[f"page.{name}"][known]
        set_intervals(self._turns.state, watched(ids, self._turns.state.pages), waits[known])
        self._turns.load_state_dict({name: state[name] for name in self._turns.state_dict([])})
