"""The queue of sources whose index is given from outside and changes with every poll.

The index of ephemeral content, K [1 - e^(-κτ)(1 + κτ)], is that of detection for a page of change
rate κ and weight K: so the sources wait in the queue of the index policies.
"""

import math

import numpy as np
from numpy.typing import NDArray

from pollwise.objectives import Detection
from pollwise.policies.index.policy import IndexPolicy, narrowed
from pollwise.policies.index.queue import add_pages, remove_pages
from pollwise.policies.index.state import CALENDAR, POOL, POOL_CAPACITY
from pollwise.policies.structures.heap import entries

__all__ = ["LATER", "SourceQueue"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LATER = 4.0
"""The later of the two waits at which an index is set, as a multiple of the earlier."""

_FIRST_PATIENCE, _PATIENCE_GROWTH, _PATIENCE = 2.0, 4.0, 16.0
_FEW = POOL_CAPACITY // 2
_SMALLEST = 1e-200

# z, and shape(z) / shape(LATER z), which grows with z and so tells it.
_SCALED = np.geomspace(1e-4, 60.0, 512)
_SHARES = Detection().shape(_SCALED) / Detection().shape(LATER * _SCALED)


class SourceQueue(IndexPolicy):
    """Polls the source of the largest index, or one that has waited for very long.

    The mean index over many decays is approximated by the index of one decay, most closely near the
    times that it was set for. So it is set at each poll, and now and then while the source waits.
    """

    def __init__(self) -> None:
        super().__init__(objective=Detection())
        self._looked_at = -1

    def _known_rates(self, page_ids: Ints) -> Floats:
        return np.ones(len(page_ids))

    def set_exactly(self, ids: Ints, heights: Floats, decay: float) -> None:
        """Set the indices of sources whose items all fade at one decay: K and κ are known."""
        self.state.apart["rate"][ids] = decay
        self.state.pages["weight"][ids] = narrowed(np.maximum(heights, _SMALLEST))

    def set_indices(self, ids: Ints, times: Floats, index: Floats, index_later: Floats) -> None:
        """Set the indices of sources by their values after `times` and LATER * `times`."""
        share = np.clip(index / np.maximum(index_later, _SMALLEST), _SHARES[0], _SHARES[-1])
        scaled = np.interp(share, _SHARES, _SCALED)
        self.state.apart["rate"][ids] = scaled / times
        height = index_later / Detection().shape(LATER * times * self.state.apart["rate"][ids])
        self.state.pages["weight"][ids] = narrowed(np.maximum(height, _SMALLEST))

    def to_look_at(self, now: float) -> tuple[Ints, Floats]:
        """Sources whose index is to be set anew before a selection, and how long they have waited.

        All that wait, if they are few; else one more of them at each call.
        """
        state = self.state
        ids = np.empty(0, np.int64)
        if state.shared[0]["pages"] <= _FEW:
            ids = np.flatnonzero(np.isin(state.pages["where"], (CALENDAR, POOL)))
        elif len(state.pages):
            self._looked_at = (self._looked_at + 1) % len(state.pages)
            if state.pages[self._looked_at]["where"] in (CALENDAR, POOL):
                ids = np.array([self._looked_at], np.int64)
        elapsed = now - state.pages["seen_at"][ids]
        return ids[elapsed > 0], elapsed[elapsed > 0]

    def put_back(self, ids: Ints, elapsed: Floats, polls: Ints) -> None:
        """Let sources that were looked at wait for their time, or all compete, if they are few.

        One that has waited far longer than others is polled next: its index may never reach the
        price, but now and then it is to be seen whether the source is still as dull, and the sooner
        the fewer `polls` told something of it.
        """
        state, common = self.state, self.state.shared[0]
        rounds = np.minimum(_FIRST_PATIENCE * _PATIENCE_GROWTH ** np.minimum(polls, 9), _PATIENCE)
        longest = rounds * common["pages"] * common["gap"]
        if common["gap"] > 0:
            state.pages["weight"][ids[elapsed > longest]] = math.inf
        if common["pages"] <= _FEW:
            # With the same time for all, the calendar is in order, and all enter the pool.
            entries(state.calendar)["time"] = -math.inf
        elif len(ids):
            remove_pages(state, ids)
            add_pages(state, ids)
