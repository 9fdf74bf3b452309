"""Estimates of change probabilities from polls in turn, and polls in proportion: compiled kernels.

In the first phase all pages are polled in turn, as `Uniform` does. Of a page of n such polls at a
mean interval of T seconds, X of which found a change, the change rate is estimated as::

    λ = -ln((n - X + 1/2)/(n + 1/2)) / T

(Cho and Garcia-Molina, "Estimating frequency of change", ACM Transactions on Internet Technology
3(3), 2003), which is finite for X = n. It would be 0 for X = 0, so X counts as 1/2 there: the page
is polled rarely, but polled. Pages that change at every poll cannot be told apart, however fast
they are; with many pages, and so long times between turns, these may be most of them.

The frequency of a page in the second phase is in proportion to its change probability in a step of
one second, 1 - e^-λ.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pollwise.kernel_cache import kernel
from pollwise.policies.arrays import ABSENT, LEASED, tells
from pollwise.policies.compiled import Kernels, register
from pollwise.policies.deadline.kernels import (
    DeadlineState,
    all_pages,
    observe_due,
    select_adaptive,
    set_intervals,
    wake_adaptive,
)
from pollwise.types import Outcome

__all__ = [
    "ESTIMATOR_PAGE",
    "ESTIMATOR_SHARED",
    "EstimatorState",
    "amount_estimator",
    "apply_frequencies",
    "observe_estimator",
]

ESTIMATOR_PAGE = np.dtype(
    [
        ("seen_at", "f8"),  # time of the latest copy; NaN: there is none
        ("polls", "i8"),  # those of the first phase that told something
        ("changes", "i8"),  # how many of them found a change
        ("waited", "f8"),  # the sum of the seconds before each of them
        ("frequency", "f8"),  # in the unit of `ESTIMATOR_SHARED.frequency`
    ]
)
"""What is kept of each page, besides its deadline."""

ESTIMATOR_SHARED = np.dtype(
    [
        ("phase_polls", "i8"),  # the length of the first phase
        ("polled", "i8"),  # how many polls of it have ended
        ("frequency", "f8"),  # of a page of which nothing is known: 1, then the mean of the others
        ("total", "f8"),  # of the frequencies of all pages
    ]
)
"""What all pages share."""

_CHANGED = int(Outcome.CHANGED)


class EstimatorState(NamedTuple):
    """The state of the estimator. Ids of pages are indices of `pages` and of `deadlines.pages`."""

    deadlines: DeadlineState
    pages: NDArray[Any]  # of ESTIMATOR_PAGE
    shared: NDArray[Any]  # of ESTIMATOR_SHARED, one element


@kernel
def apply_frequencies(state: EstimatorState) -> None:
    """Have all pages polled in turn in the first phase, and then at their frequencies."""
    common, deadlines = state.shared[0], state.deadlines
    pages = all_pages(deadlines.pages)
    common.total = state.pages["frequency"][pages].sum()
    if common.polled < common.phase_polls:
        deadlines.shared[0].tick = 1.0
        set_intervals(deadlines, pages, np.zeros(len(pages)))
        return
    deadlines.shared[0].tick = 0.0
    # Turns have no length from which deadlines could be scaled: these are spread anew.
    set_intervals(deadlines, pages, np.full(len(pages), math.inf))
    set_intervals(deadlines, pages, 1.0 / state.pages["frequency"][pages])


@kernel
def _estimate(state: EstimatorState) -> None:
    """End the first phase."""
    common, pages = state.shared[0], all_pages(state.deadlines.pages)
    total, count = 0.0, 0
    for page in pages:
        own = state.pages[page]
        if own.polls > 0:
            changes = max(float(own.changes), 0.5)
            rate = -math.log((own.polls - changes + 0.5) / (own.polls + 0.5))
            own.frequency = -math.expm1(-rate * own.polls / own.waited)
            total += own.frequency
            count += 1
    if count > 0:
        common.frequency = total / count
    for page in pages:
        if state.pages[page].polls == 0:
            state.pages[page].frequency = common.frequency
    apply_frequencies(state)


@kernel
def observe_estimator(state: EstimatorState, observation: Any) -> None:
    """Take in one observation; that of the last poll of the first phase ends it."""
    leased = state.deadlines.pages[observation.page].where == LEASED
    own, common = state.pages[observation.page], state.shared[0]
    in_phase = common.polled < common.phase_polls
    if tells(observation, own.seen_at):
        if in_phase and not math.isnan(own.seen_at):
            own.polls += 1
            own.changes += observation.outcome == _CHANGED
            own.waited += observation.polled_at - own.seen_at
        own.seen_at = observation.polled_at
    observe_due(state.deadlines, observation)
    if in_phase and leased:
        common.polled += 1
        if common.polled == common.phase_polls:
            _estimate(state)


@kernel
def amount_estimator(state: EstimatorState, page: int) -> float:
    """The share of polls of a page."""
    there = 0 <= page < len(state.pages)
    if not there or state.deadlines.pages[page].where == ABSENT:
        return 0.0
    return state.pages[page].frequency / state.shared[0].total


register(
    EstimatorState,
    Kernels(select_adaptive, observe_estimator, wake_adaptive, amount=amount_estimator),
)
