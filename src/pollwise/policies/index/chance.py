"""What a learning index policy expects of a poll: compiled functions on its state."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pollwise.kernel_cache import kernel
from pollwise.policies.index.belief import refresh_belief
from pollwise.policies.index.learning import operational_time
from pollwise.policies.index.page_index import chance_after
from pollwise.policies.index.prior import prior_of, steady_model
from pollwise.policies.index.state import IndexState
from pollwise.rates.lattice import RATE_COUNT
from pollwise.rates.recalibration import recalibrated, take_in_outcome

__all__ = ["beliefs_of", "chance_of", "chances_of", "note_outcome", "posteriors_of", "priors_of"]

_TELLS_BURSTS = 2
"""With fewer polls nothing tells a burst of changes from a high rate."""


@kernel(allocates=False)
def _modelled(state: IndexState, page: int, now: float) -> float:
    """The mean of 1 - e^(-λτ) over the belief, in operational time, or a pending signal is true.

    NaN without a copy, 0 for a copy that is not older than now.
    """
    own = state.pages[page]
    if math.isnan(own.seen_at):
        return math.nan
    if now <= own.seen_at:
        return 0.0
    refresh_belief(state, page)
    chance = chance_after(state.shared, operational_time(state, page, now))
    return 1.0 - (1.0 - chance) * (1.0 - state.shared[0].signal)


@kernel(allocates=False)
def chance_of(state: IndexState, page: int, now: float) -> float:
    """The probability that a poll of a page at `now` finds a change: `_modelled`, recalibrated."""
    return recalibrated(state.shared[0].recalibration, _modelled(state, page, now))


@kernel
def chances_of(state: Any, page_ids: NDArray[np.int64], now: float) -> NDArray[np.float64]:
    """The same of some pages, before recalibration."""
    chances = np.empty(len(page_ids))
    for i, page in enumerate(page_ids):
        chances[i] = _modelled(state, page, now)
    return chances


@kernel
def posteriors_of(state: Any, page_ids: NDArray[np.int64]) -> NDArray[np.float64]:
    """The probability of each rate over the long run, for some pages."""
    posteriors = np.empty((len(page_ids), RATE_COUNT))
    for i, page in enumerate(page_ids):
        posteriors[i] = steady_model(state, page)
        posteriors[i] /= posteriors[i].sum()
    return posteriors


@kernel
def beliefs_of(state: Any, page_ids: NDArray[np.int64]) -> NDArray[np.float64]:
    """The probability of each rate until the next poll, for some pages (see `rate_beliefs`)."""
    beliefs = np.empty((len(page_ids), RATE_COUNT))
    for i, page in enumerate(page_ids):
        if state.pages[page].polls < _TELLS_BURSTS:
            beliefs[i] = steady_model(state, page)
        else:
            refresh_belief(state, page)
            beliefs[i] = state.shared[0].belief
        beliefs[i] /= beliefs[i].sum()
    return beliefs


@kernel
def priors_of(state: Any, page_ids: NDArray[np.int64]) -> NDArray[np.float64]:
    """The probability of each rate for some pages, before their own polls are looked at."""
    priors = np.empty((len(page_ids), RATE_COUNT))
    for i, page in enumerate(page_ids):
        priors[i] = prior_of(state, page)
        priors[i] /= priors[i].sum()
    return priors


@kernel(forceinline=True, allocates=False)
def note_outcome(state: IndexState, page: int, now: float, changed: bool) -> None:
    """Compare what a poll found with what the model said, before it learns from it."""
    modelled = _modelled(state, page, now)
    if modelled > 0.0:
        take_in_outcome(state.shared[0].recalibration, modelled, changed)
