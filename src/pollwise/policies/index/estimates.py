"""What a learning index policy thinks of pages, for people: compiled functions on its state."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pollwise.kernel_cache import kernel
from pollwise.policies.arrays import LEASED
from pollwise.policies.index.belief import form_belief
from pollwise.policies.index.clock_share import clock_lift
from pollwise.policies.index.fields import span_of, tick_of
from pollwise.policies.index.page_index import (
    by_clock,
    floor_time,
    index_of,
    own_price,
    time_to_reach,
)
from pollwise.policies.index.prior import steady_model
from pollwise.policies.index.state import IndexState
from pollwise.rates.lattice import CELL, RATE_COUNT, RATES
from pollwise.units import DAY

__all__ = ["ESTIMATE", "estimates_of"]

ESTIMATE = np.dtype(
    [
        ("change_rate", "f8"),
        ("rate_low", "f8"),
        ("rate_high", "f8"),
        ("index", "f8"),
        ("price", "f8"),
        ("due_at", "f8"),
        ("polls", "i8"),
        ("leased", "?"),
        ("signal", "f8"),  # NaN: nobody signalled a change
        ("signalled_at", "f8"),
        ("daily_from", "f8"),  # NaN: not by the clock
        ("daily_until", "f8"),
    ]
)
"""The fields are those of `PageEstimate`."""

_LOW, _HIGH = 0.05, 0.95


@kernel(forceinline=True, allocates=False)
def _daily(rate: float) -> float:
    """The rate at which a page by the clock changes: once a day at most."""
    return -math.expm1(-rate * DAY) / DAY


@kernel
def _rates(state: IndexState, page: int) -> tuple[float, float, float]:
    """The mean of the posterior of a rate over the long run, and its 5 % and 95 % quantiles."""
    posterior, common = steady_model(state, page), state.shared[0]
    common.clock_lift = clock_lift(state, page)
    is_daily = by_clock(state.pages[page], common)
    total = 0.0
    for j in range(RATE_COUNT):
        total += posterior[j]
    mean, mass = 0.0, 0.0
    low = high = RATE_COUNT - 1
    for j in range(RATE_COUNT):
        share = posterior[j] / total
        mean += share * (_daily(RATES[j]) if is_daily else RATES[j])
        if mass < _LOW <= mass + share:
            low = j
        if mass < _HIGH <= mass + share:
            high = j
        mass += share
    lowest, highest = RATES[low] / CELL, RATES[high] * CELL
    if is_daily:
        lowest, highest = _daily(lowest), _daily(highest)
    return mean, lowest, highest


@kernel
def estimates_of(
    state: Any, page_ids: NDArray[np.int64], now: float, estimates: NDArray[Any]
) -> None:
    """Fill in the estimates (of ESTIMATE) of some pages; it changes nothing of them."""
    for i, page in enumerate(page_ids):
        told = estimates[i]
        told.change_rate, told.rate_low, told.rate_high = _rates(state, page)
        form_belief(state, page)
        own = state.pages[page]
        has_copy = not math.isnan(own.seen_at)
        told.index = index_of(state.pages, state.shared, page, now)
        told.price = state.shared[0].price * own_price(state, page)
        told.due_at = now
        if has_copy:
            wait = time_to_reach(state.pages, state.shared, page, told.price)
            told.due_at = own.seen_at + min(wait, floor_time(state.pages, state.shared, page))
        told.daily_from = told.daily_until = math.nan
        if by_clock(own, state.shared[0]):
            told.daily_until = tick_of(own)
            told.daily_from = (told.daily_until - span_of(own)) % DAY
        told.polls = own.polls
        told.leased = own.where == LEASED
        told.signal = told.signalled_at = math.nan
        if own.signalled:
            pending = state.apart[page]
            told.signal, told.signalled_at = pending.signal, pending.signalled_at
