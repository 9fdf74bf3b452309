"""Drawing values, dealing out the knapsack, and taking turns: compiled kernels of GPOKS.

Every selection draws anew, so a decision takes time in proportion to the pages and to the steps of
the knapsack. Values are computed only for the amounts at which the deal looks.

Turns are earliest deadline first. With every selection, one poll is shared out among the pages as
credit, in proportion to their amounts; the page that would first have credit for a whole poll if
amounts stayed as they are is polled and pays for it. Held pages get no credit, and leased ones only
up to one poll, so that nothing is to be made up for. A poll that is given back is the next to be
taken, and is not shared out twice.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pollwise.kernel_cache import kernel
from pollwise.policies.arrays import HELD, LEASED, READY, tells
from pollwise.policies.compiled import Kernels, register
from pollwise.policies.gpoks.state import (
    FUNCTION,
    LIMITED_FUNCTION,
    MEAN,
    POINTS,
    GPOKSState,
    draw_function,
    learn_reward,
)
from pollwise.policies.structures.spreading import spread
from pollwise.rates.gaussian_process import draw_weights, value_at
from pollwise.types import Outcome

__all__ = [
    "GPOKSState",
    "amount_gpoks",
    "observe_gpoks",
    "select_gpoks",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_CHANGED = int(Outcome.CHANGED)


@kernel
def _draw_functions(state: GPOKSState) -> None:
    """Draw the functions of all pages, if the variant draws functions."""
    common = state.shared[0]
    for n in range(common.pages):
        page = state.live[n]
        if common.drawing == FUNCTION:
            draw_weights(state.moments[page], state.generator, state.weights[page])
        elif common.drawing == LIMITED_FUNCTION:
            draw_function(state, page)


@kernel
def _value(state: GPOKSState, page: int, steps: int) -> float:
    """The value, as drawn, of a page in the amount of so many steps."""
    common = state.shared[0]
    # Looked up even if not used: under a condition, every value takes 0.1 µs more.
    mean = state.mean[page, min(steps, state.mean.shape[1]) - 1]
    if common.drawing == MEAN or common.drawing == POINTS:
        deviations = common.bonus
        if common.drawing == POINTS:
            deviations = state.generator.standard_normal()
            if common.optimistic:
                deviations = abs(deviations)
        if deviations == 0.0:  # where deviations are not used, they are not tabulated
            return mean
        return mean + deviations * state.deviation[page, steps - 1]
    return value_at(state.basis[steps - 1], state.weights[page])


@kernel
def _sink(bids: Floats, bidders: Ints, spot: int) -> None:
    """Move a bid to its place in a heap: the highest first, of equals the first bidder."""
    count = len(bids)
    bid, bidder = bids[spot], bidders[spot]
    while True:
        best = 2 * spot + 1
        if best >= count:
            break
        rival = best + 1
        if rival < count and (
            bids[rival] > bids[best]
            or (bids[rival] == bids[best] and bidders[rival] < bidders[best])
        ):
            best = rival
        if bid > bids[best] or (bid == bids[best] and bidder < bidders[best]):
            break
        bids[spot], bidders[spot] = bids[best], bidders[best]
        spot = best
    bids[spot], bidders[spot] = bid, bidder


@kernel
def _bid(printed: int, steps: int, value: float, before: float) -> float:
    """What a page bids for one step more than `steps`, by its values with and without that step."""
    return (steps + 1) * value - steps * before if printed else value


@kernel
def _deal(state: GPOKSState) -> None:
    """Draw, and deal the steps of the knapsack out: DET-KS, as `pollwise.knapsack.det_ks`.

    Every page has one step; each further one goes where the value of the next amount is highest, or
    as the pseudo-code is printed, where amount times value rises most.
    """
    _draw_functions(state)
    count, resolution, printed = state.shared[0].pages, len(state.basis), state.shared[0].printed
    values, bids, bidders = np.empty(count), np.empty(count), np.arange(count)
    for n in range(count):
        page = state.live[n]
        state.pages[page].steps = 1
        before = _value(state, page, 1) if printed else 0.0
        values[n] = _value(state, page, 2)
        bids[n] = _bid(printed, 1, values[n], before)
    for spot in range(count // 2 - 1, -1, -1):
        _sink(bids, bidders, spot)
    for _ in range(resolution - count):
        n = bidders[0]
        page = state.live[n]
        own = state.pages[page]
        own.steps += 1
        if own.steps < resolution:
            before = values[n]
            values[n] = _value(state, page, own.steps + 1)
            bids[0] = _bid(printed, own.steps, values[n], before)
            _sink(bids, bidders, 0)


@kernel
def _ready_pages(state: GPOKSState, now: float) -> int:
    """How many pages can be selected, those included whose time to come back has come."""
    ready = 0
    for n in range(state.shared[0].pages):
        own = state.pages[state.live[n]]
        if own.where == HELD and own.until <= now:
            own.where = READY
        if own.where == READY:
            ready += 1
    return ready


@kernel
def _share_out(state: GPOKSState) -> None:
    """Share out a poll, as a credit in proportion to amounts."""
    common = state.shared[0]
    total = 0
    for n in range(common.pages):
        own = state.pages[state.live[n]]
        if own.where == READY or (own.where == LEASED and own.credit < 1.0):
            total += own.steps
    for n in range(common.pages):
        own = state.pages[state.live[n]]
        if own.where == READY or (own.where == LEASED and own.credit < 1.0):
            own.credit += own.steps / total


@kernel
def _next_turn(state: GPOKSState) -> int:
    """Share out one more poll; gives the page that is the first to have a whole one."""
    common = state.shared[0]
    if common.returned > 0:
        common.returned -= 1
    else:
        _share_out(state)
    first, earliest = -1, math.inf
    for n in range(common.pages):
        page = state.live[n]
        own = state.pages[page]
        wait = (1.0 - own.credit) / own.steps
        if own.where == READY and wait < earliest:
            first, earliest = page, wait
    return first


@kernel
def select_gpoks(state: GPOKSState, now: float) -> int:
    """Deal the knapsack anew and lease the page whose turn it is; -1: there is none to poll."""
    if _ready_pages(state, now) == 0:
        return -1
    _deal(state)
    page = _next_turn(state)
    own = state.pages[page]
    own.credit = 0.0 if math.isinf(own.credit) else own.credit - 1.0
    own.offered = own.steps
    own.where = LEASED
    return page


@kernel
def _wake(state: GPOKSState) -> float:
    """When a page can be selected again, if there is none now; infinite: not by time alone."""
    time = math.inf
    for n in range(state.shared[0].pages):
        own = state.pages[state.live[n]]
        if own.where == HELD:
            time = min(time, own.until)
    return time


@kernel
def amount_gpoks(state: GPOKSState, page: int) -> float:
    """The amount in which a page is offered now; 0 if there is no such page."""
    if not 0 <= page < len(state.pages):
        return 0.0
    return state.pages[page].steps * state.shared[0].step


@kernel
def observe_gpoks(state: GPOKSState, observation: Any) -> None:
    """Take in one observation: what it paid teaches, and the lease ends."""
    page = observation.page
    own = state.pages[page]
    if own.where == LEASED:
        own.where = READY
    if not tells(observation, own.seen_at):
        return
    if math.isnan(own.seen_at):
        own.credit = spread(page)
    elif own.offered > 0:
        learn_reward(state, page, 1.0 if observation.outcome == _CHANGED else 0.0)
    own.seen_at = observation.polled_at


@kernel
def _defer(state: GPOKSState, page: int, until: float) -> None:
    """It gets its credit back."""
    own = state.pages[page]
    own.until = until
    own.credit = math.inf if math.isnan(own.seen_at) else own.credit + 1.0
    state.shared[0].returned += 1


register(GPOKSState, Kernels(select_gpoks, observe_gpoks, _wake, _defer, amount_gpoks))
