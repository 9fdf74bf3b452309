"""What the index policies learn from polls: compiled functions on their state."""

import math

import numba
import numpy as np

from pollwise.policies.index_state import (
    ABSENT,
    CHANGED_TABLE,
    TILTS,
    UNCHANGED_TABLE,
    IndexState,
    Shared,
)
from pollwise.rates.lattice import RATE_COUNT
from pollwise.rates.posterior import (
    fit_prior,
    forget,
    learn_last_change,
    learn_poll,
    log_uniform,
)

__all__ = ["learn", "refresh_prior"]

_FIT_PAGES = 2048
"""Pages that the prior is fitted to, at most."""


@numba.njit(cache=True)
def refresh_prior(shared: Shared) -> None:
    """Put a new prior to use."""
    common = shared[0]
    for n in range(TILTS):
        for j in range(RATE_COUNT):
            common.tilted[n, j] = common.prior[j] * common.tilt[n, j]


@numba.njit(cache=True)
def _fit(state: IndexState) -> None:
    """Fit the prior anew to the observed pages, or to an evenly spaced part of them."""
    common = state.shared[0]
    stride = max(1, common.pages // _FIT_PAGES)
    sample = np.empty(len(state.pages) // stride + 1, np.int64)
    size = 0
    for page in range(common.fits % stride, len(state.pages), stride):
        if state.pages[page].where != ABSENT and state.pages[page].polls > 0:
            sample[size] = page
            size += 1
    base = log_uniform(4.0 / common.gap if common.gap > 0.0 else math.inf)
    fit_prior(common.prior, base, state.pages, sample[:size], common.learned / common.pages)
    refresh_prior(state.shared)
    common.fits += 1
    common.next_fit = common.learned + max(1, min(common.learned // 10, common.pages // 2))


@numba.njit(cache=True)
def learn(
    state: IndexState, page: int, polled_at: float, changed: bool, last_changed_at: float
) -> None:
    """Let the likelihood of a page take in a poll that is newer than its copy."""
    own, common = state.pages[page], state.shared[0]
    first = math.isnan(own.seen_at)
    dated = (changed or first) and last_changed_at <= polled_at
    dated = dated and not last_changed_at <= own.seen_at
    if first and not dated:
        return
    forget(own.likelihood)
    if dated:
        learn_last_change(
            own.likelihood, polled_at - last_changed_at, common.tables[UNCHANGED_TABLE]
        )
    else:
        table = common.tables[CHANGED_TABLE if changed else UNCHANGED_TABLE]
        learn_poll(own.likelihood, polled_at - own.seen_at, table)
    own.polls += 1
    common.learned += 1
    if common.learned >= common.next_fit:
        _fit(state)
