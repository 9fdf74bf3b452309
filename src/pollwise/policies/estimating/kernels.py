"""Estimate change rates and share out the polls by them, again and again: compiled kernels.

The pages are polled by deadlines, equally often at first. After as many polls as there are pages,
an epoch ends: the rates of the pages polled in it are estimated anew, and the budget is shared out
anew among all pages. So the cost of a poll is constant on average, however many pages there are.
The budget is what was spent in the epoch, because the queue never waits.

A share `exploration` of the budget goes to all pages equally, whatever their rates. Without it a
page once thought too fast to keep up with would never be polled again. Pages of which nothing is
known yet are polled at the average frequency.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pollwise.kernel_cache import kernel
from pollwise.policies.arrays import LEASED, tells
from pollwise.policies.compiled import Kernels, register
from pollwise.policies.deadline.kernels import (
    DeadlineState,
    all_pages,
    observe_due,
    select_adaptive,
    set_intervals,
    wake_adaptive,
)
from pollwise.policies.estimating.change_statistics import (
    STATISTICS,
    likeliest_rate,
    reduced_rate,
    take_interval,
)
from pollwise.policies.estimating.price_search import WORTH, spread_budget
from pollwise.types import Outcome
from pollwise.units import DAY

__all__ = [
    "NAIVE",
    "REALLOCATION_PAGE",
    "REALLOCATION_SHARED",
    "REDUCED",
    "SMOOTHED",
    "ReallocationState",
]

NAIVE, REDUCED, SMOOTHED = range(3)
"""The estimators: changes by time, of little bias, and that of Kolobov et al."""

REALLOCATION_PAGE = np.dtype(
    [
        ("seen_at", "f8"),  # time of the latest copy; NaN: there is none
        ("weight", "f8"),
        ("cost", "f8"),
        ("rate", "f8"),  # as estimated, per second
        ("stale", "i8"),  # 1: the rate is to be estimated anew
        *STATISTICS,
    ]
)
"""What is kept of each page, besides its deadline."""

REALLOCATION_SHARED = np.dtype(
    [
        ("estimator", "i8"),
        ("exploration", "f8"),  # share of the budget
        ("first_interval", "f8"),  # of new pages
        ("price", "f8"),  # of the latest sharing out
        ("pages", "i8"),
        ("polls", "i8"),  # of this epoch
        ("spent", "f8"),  # cost units, in this epoch
        ("began", "f8"),  # the time of the first poll of this epoch; NaN: there is none yet
        ("latest", "f8"),  # time of the latest poll
        ("worth", WORTH, (1,)),
    ]
)
"""What all pages share."""

_SHORTEST_EPOCH = 8
_SMOOTHING = 0.5 * DAY
_LEAST_RATE, _MOST_RATE = 0.0005 / DAY, 7.0 / DAY
_CHANGED = int(Outcome.CHANGED)


class ReallocationState(NamedTuple):
    """The state of such a policy. Ids of pages are indices of `pages` and of `deadlines.pages`."""

    deadlines: DeadlineState
    pages: NDArray[Any]  # of REALLOCATION_PAGE
    shared: NDArray[Any]  # of REALLOCATION_SHARED, one element


@kernel
def _smoothed_rate(own: Any) -> float:
    """The rate as if half a day with a change and half a day without one had been seen as well.

    Where all changes are told with their times, they are counted, and half a change in half a day
    is added. At least one change in 2000 days, at most seven a day.
    """
    if own.changes > 0 and own.exact == own.changes:
        rate = (own.exact + 0.5) / (own.quiet + _SMOOTHING)
    else:
        rate = likeliest_rate(own, _SMOOTHING, 1.0, _SMOOTHING)
    return min(max(rate, _LEAST_RATE), _MOST_RATE)


@kernel
def _estimate(estimator: int, own: Any) -> float:
    if estimator == NAIVE:
        # Without any change, half a change counts as seen.
        return max(float(own.changes), 0.5) / own.waited
    if estimator == REDUCED:
        return reduced_rate(own)
    return _smoothed_rate(own)


@kernel
def _reallocate(state: ReallocationState) -> None:
    """End the epoch: estimate, and share the budget out."""
    common, known = state.shared[0], state.pages
    budget = common.spent / (common.latest - common.began)
    pages = all_pages(state.deadlines.pages)
    common.pages = len(pages)
    equal = budget / known["cost"][pages].sum()
    share = np.full(len(pages), equal)
    seen = np.empty(len(pages), np.bool_)
    for n in range(len(pages)):
        own = known[pages[n]]
        seen[n] = own.polls > 0
        if own.stale:
            own.rate = _estimate(common.estimator, own)
            own.stale = 0
    those = pages[seen]
    if len(those) > 0:
        left = equal * known["cost"][those].sum()
        best, common.price = spread_budget(
            common.worth, left, known["rate"][those], known["weight"][those],
            known["cost"][those], common.price,
        )  # fmt: skip
        if best.max() > 0.0:
            share[seen] = common.exploration * equal + (1.0 - common.exploration) * best
    set_intervals(state.deadlines, pages, 1.0 / share)
    common.first_interval = 1.0 / equal
    common.polls = 0
    common.spent = 0.0
    common.began = common.latest


@kernel
def _observe(state: ReallocationState, observation: Any) -> None:
    """Take in one observation; that of the last poll of an epoch ends it."""
    leased = state.deadlines.pages[observation.page].where == LEASED
    own, common, polled_at = state.pages[observation.page], state.shared[0], observation.polled_at
    if tells(observation, own.seen_at):
        if not math.isnan(own.seen_at):
            changed = observation.outcome == _CHANGED
            since_change = polled_at - observation.last_changed_at
            take_interval(own, polled_at - own.seen_at, changed, since_change)
            own.stale = 1
        own.seen_at = polled_at
    observe_due(state.deadlines, observation)
    if not leased:
        return
    if math.isnan(common.began):
        common.began = common.latest = polled_at
    else:
        common.polls += 1
        common.spent += own.cost
        common.latest = max(common.latest, polled_at)
    if common.polls >= max(common.pages, _SHORTEST_EPOCH) and common.latest > common.began:
        _reallocate(state)


register(ReallocationState, Kernels(select_adaptive, _observe, wake_adaptive))
