"""What an index policy that learns expects of a poll: compiled functions on its state."""

import math
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from pollwise.policies.index_state import CHANGED_TABLE, IndexState
from pollwise.rates.lattice import time_step
from pollwise.rates.posterior import expectation
from pollwise.rates.recalibration import recalibrated, take_in_outcome

__all__ = ["chance_of", "chances_of", "note_outcome"]


@numba.njit(cache=True)
def _modelled(state: IndexState, page: int, now: float) -> float:
    """The posterior mean of 1 - e^(-λτ); NaN without a copy, 0 for one not older than now."""
    own, common = state.pages[page], state.shared[0]
    elapsed = now - own.seen_at
    if math.isnan(elapsed):
        return math.nan
    if elapsed <= 0.0:
        return 0.0
    prior = common.prior.astype(np.float32)
    return expectation(own.likelihood, prior, common.tables[CHANGED_TABLE], time_step(elapsed))


@numba.njit(cache=True)
def chance_of(state: IndexState, page: int, now: float) -> float:
    """The probability that a poll of a page at `now` finds a change.

    That of the model, recalibrated. NaN without a copy, 0 for a copy that is not older than now.
    """
    return recalibrated(state.shared[0].recalibration, _modelled(state, page, now))


@numba.njit(cache=True)
def chances_of(state: Any, page_ids: NDArray[np.int64], now: float) -> NDArray[np.float64]:
    """`chance_of` of some pages."""
    chances = np.empty(len(page_ids))
    for i, page in enumerate(page_ids):
        chances[i] = chance_of(state, page, now)
    return chances


@numba.njit(cache=True)
def note_outcome(state: IndexState, page: int, now: float, changed: bool) -> None:
    """Compare what a poll found with what the model said, before it learns from it."""
    modelled = _modelled(state, page, now)
    if modelled > 0.0:
        take_in_outcome(state.shared[0].recalibration, modelled, changed)
