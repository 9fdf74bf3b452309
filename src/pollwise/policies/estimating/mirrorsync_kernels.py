"""Poll rates by mirror descent on what polls find: compiled kernels. See `mirrorsync`.

Rates are in polls per unit of the queue's clock, in which a page is polled `MEAN_RATE` times on
average. A *cycle* of a page is the time from one regular poll to the next; now and then there is a
probe in it.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pollwise.kernel_cache import kernel
from pollwise.policies.arrays import LEASED, tells, typed_once
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
    "MEAN_RATE",
    "MIRROR_PAGE",
    "MIRROR_SHARED",
    "MirrorState",
    "stepped_rates",
]

MEAN_RATE = 0.4
_LEAST_RATE, _MOST_RATE = 0.025, 6.0
_ROUND = 8.0
"""Units of the clock between two steps."""
_HALVINGS = 60

_START, _REGULAR, _PROBE, _PROBED = range(4)
"""What a page is waiting for: its first cycle; a regular poll; a probe; the poll after a probe."""

MIRROR_PAGE = np.dtype(
    [
        ("seen_at", "f8"),  # time of the latest copy; NaN: there is none
        ("weight", "f8"),
        ("cost", "f8"),
        ("rate", "f8"),  # of regular polls
        ("waits_for", "i8"),
        ("part", "f8"),  # of the cycle, that is before the probe
        ("found", "i8"),  # 1: the probe found a change
        ("cycles", "i8"),  # since the latest step
        ("gradient", "f8"),  # the sum of its estimates from these cycles
    ]
)
"""What is kept of each page, besides its deadline."""

MIRROR_SHARED = np.dtype(
    [
        ("first_interval", "f8"),  # of new pages
        ("probing", "f8"),  # the chance of a probe in a cycle
        ("step", "f8"),  # the learning rate
        ("polls", "i8"),  # since the latest step
        ("until", "f8"),  # polls from one step to the next
    ]
)
"""What all pages share."""

_CHANGED = int(Outcome.CHANGED)


@typed_once
class MirrorState(NamedTuple):
    """The state of MirrorSync. Ids of pages are indices of `pages` and of `deadlines.pages`."""

    deadlines: DeadlineState
    pages: NDArray[Any]  # of MIRROR_PAGE
    shared: NDArray[Any]  # of MIRROR_SHARED, one element
    generator: np.random.Generator


@kernel
def _stepped(
    rates: NDArray[np.float64],
    slopes: NDArray[np.float64],
    costs: NDArray[np.float64],
    multiplier: float,
) -> NDArray[np.float64]:
    inverse = 1.0 / rates + slopes + multiplier * costs
    return 1.0 / np.minimum(np.maximum(inverse, 1.0 / _MOST_RATE), 1.0 / _LEAST_RATE)


@kernel
def stepped_rates(
    rates: NDArray[np.float64],
    slopes: NDArray[np.float64],
    costs: NDArray[np.float64],
    budget: float,
) -> NDArray[np.float64]:
    """The rates r' that minimise slopes·r' + Σ (r'/r - 1 - ln(r'/r)) and use up the budget.

    1/r' = 1/r + slope + multiplier × cost, within the bounds of rates; the multiplier is found by
    halving. `slopes` are the learning rate times the gradient, the budget is in cost units.
    """
    low, high = 0.0, 0.0
    for n in range(len(rates)):
        # Between these, every page goes from its highest to its lowest rate.
        base = 1.0 / rates[n] + slopes[n]
        low = min(low, (1.0 / _MOST_RATE - base) / costs[n])
        high = max(high, (1.0 / _LEAST_RATE - base) / costs[n])
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        if (costs * _stepped(rates, slopes, costs, middle)).sum() > budget:
            low = middle
        else:
            high = middle
    return _stepped(rates, slopes, costs, high)


@kernel
def _step(state: MirrorState) -> None:
    """Move the rates of the pages with whole cycles, which together keep their budget."""
    common, known = state.shared[0], state.pages
    pages = all_pages(state.deadlines.pages)
    costs = known["cost"][pages]
    before = known["rate"][pages]
    # Pages that came and went have changed the mean.
    rates = before * (costs.sum() / common.first_interval / (costs * before).sum())
    those = known["cycles"][pages] > 0
    if those.any():
        moving = pages[those]
        scale = known["weight"][pages].mean()
        gradients = known["gradient"][moving] / known["cycles"][moving]
        slopes = gradients * (common.step / scale if scale > 0.0 else 0.0)
        budget = (costs * rates)[those].sum()
        rates[those] = stepped_rates(rates[those], slopes, costs[those], budget)
    waits = state.deadlines.pages["interval"][pages] * (before / rates)
    set_intervals(state.deadlines, pages, waits)
    for n in range(len(pages)):
        own = known[pages[n]]
        own.rate = rates[n]
        own.cycles = 0
        own.gradient = 0.0
    common.polls = 0
    common.until = _ROUND * MEAN_RATE * len(pages)


@kernel
def _begin_cycle(own: Any, common: Any, generator: np.random.Generator) -> float:
    """The wait for the next poll: a probe at any moment of the cycle, by chance, or its end."""
    if generator.random() < common.probing:
        own.waits_for = _PROBE
        own.part = generator.random()
        return own.part / own.rate
    own.waits_for = _REGULAR
    return 1.0 / own.rate


@kernel
def _learn(own: Any, common: Any, changed: bool, generator: np.random.Generator) -> float:
    """Take in what a poll found; gives the wait for the next."""
    if own.waits_for == _PROBE:
        own.found = changed
        own.waits_for = _PROBED
        return (1.0 - own.part) / own.rate
    if own.waits_for == _PROBED:
        # The cost c is 1 while the copy is stale: c(probe) - c(end of the cycle).
        cost = 1.0 if changed and not own.found else 0.0
        own.gradient -= own.weight * cost / (common.probing * own.rate)
    own.cycles += own.waits_for != _START
    return _begin_cycle(own, common, generator)


@kernel
def _observe(state: MirrorState, observation: Any) -> None:
    """Take in one observation; now and then all rates make a step."""
    turn = state.deadlines.pages[observation.page]
    leased = turn.where == LEASED
    own, common = state.pages[observation.page], state.shared[0]
    if tells(observation, own.seen_at):
        if not math.isnan(own.seen_at):
            changed = observation.outcome == _CHANGED
            turn.interval = _learn(own, common, changed, state.generator)
        own.seen_at = observation.polled_at
    observe_due(state.deadlines, observation)
    if leased:
        common.polls += 1
        if common.polls >= common.until:
            _step(state)


register(MirrorState, Kernels(select_adaptive, _observe, wake_adaptive))
