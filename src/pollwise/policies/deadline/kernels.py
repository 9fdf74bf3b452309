"""Every page has a deadline, and the page of the earliest is polled: earliest deadline first.

Queues are of two kinds (`DEADLINE_SHARED.paced`).

A *paced* queue has deadlines in time: a page is due its interval after its latest poll, and is not
given before.

The others never wait: they share out whatever polls there are. Their deadlines are tags of
start-time fair queueing (Goyal, Vin and Cheng 1996): after each poll the tag of a page moves on by
its interval, and the clock is the tag of the page given last. So only the proportions of intervals
matter, and frequencies keep to them with any budget. Deadlines in time would all lie in the past
if the budget were a little smaller than planned, and pages would be polled in turn. A page that
comes late (its host was busy, say) starts at the clock: polls that it missed are not made up for.

A tag also says *when* in its interval a page is polled. Pages that begin together would stay
together, a burst in every interval in which fast pages starve. So the first interval of each page
is cut to a fraction (`pollwise.policies.structures.spreading`).

The functions are compiled; a decision takes time logarithmic in the number of pages.
"""

import math
import sys
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pollwise.kernel_cache import kernel
from pollwise.policies.arrays import ABSENT, HELD, LEASED, READY, all_watched
from pollwise.policies.compiled import Kernels, register
from pollwise.policies.structures.heap import (
    first_page,
    first_time,
    heap_push,
    heap_remove,
    heap_size,
    heap_update,
)
from pollwise.policies.structures.spreading import spread

__all__ = [
    "DEADLINE_PAGE",
    "DEADLINE_SHARED",
    "FIRST_ARRIVAL",
    "DeadlineState",
    "add_pages",
    "all_pages",
    "observe_due",
    "remove_pages",
    "restore_pages",
    "select_adaptive",
    "set_intervals",
    "wake_adaptive",
]

DEADLINE_PAGE = np.dtype(
    [
        ("interval", "f8"),  # infinite: polled once, for a copy
        ("polled_at", "f8"),  # time of the latest poll or of the copy at hand; NaN: neither
        ("deadline", "f8"),
        ("leased_at", "f8"),  # on the clock
        ("place", "i4"),  # in queue or held
        ("where", "i4"),
    ]
)
"""What is kept of each page."""

DEADLINE_SHARED = np.dtype(
    [
        ("paced", "i8"),  # 1: deadlines are times, 0: they are tags
        ("clock", "f8"),  # of the tags
        ("tick", "f8"),  # how far each selection moves the clock on
        ("arrivals", "i8"),  # pages ever added
    ]
)
"""What all pages share."""

FIRST_ARRIVAL = -(2.0**53)
"""The deadline of the first page; pages never polled come before all others, in turn."""
_LATEST = sys.float_info.max


class DeadlineState(NamedTuple):
    """The state of a policy of deadlines. Ids of pages are indices of `pages`."""

    pages: NDArray[Any]  # of DEADLINE_PAGE
    shared: NDArray[Any]  # of DEADLINE_SHARED, one element
    queue: NDArray[Any]  # heap by deadline; reversed: of held pages by when they come back


all_pages = kernel(all_watched)
"""`all_watched` for kernels."""


@kernel
def _first_wait(state: DeadlineState, page: int) -> float:
    """How far after the clock the second poll of a page, or the first of its copy, is."""
    return state.pages[page].interval * spread(page)


@kernel
def _enqueue(state: DeadlineState, page: int) -> None:
    own = state.pages[page]
    own.where = READY
    heap_push(state.queue, state.pages, page, own.deadline)


@kernel
def add_pages(
    state: DeadlineState, pages: NDArray[np.int64], polled_at: NDArray[np.float64]
) -> None:
    """Take up pages, whose copies are of the times `polled_at` (NaN: there is no copy).

    Call `set_intervals` before their turn comes.
    """
    common = state.shared[0]
    for n in range(len(pages)):
        own = state.pages[pages[n]]
        own.interval = math.inf
        own.polled_at = polled_at[n]
        own.deadline = FIRST_ARRIVAL + common.arrivals
        common.arrivals += 1
        _enqueue(state, pages[n])


@kernel
def set_intervals(
    state: DeadlineState, pages: NDArray[np.int64], intervals: NDArray[np.float64]
) -> None:
    """Give pages intervals, and deadlines to fit; what has passed of an interval stays passed.

    An interval of 0 leaves the deadline: it says that pages come in the order of their arrival.
    """
    common = state.shared[0]
    for n in range(len(pages)):
        page, interval = pages[n], intervals[n]
        own = state.pages[page]
        before = own.interval
        own.interval = interval
        if math.isnan(own.polled_at) or own.where == LEASED or interval == 0.0:
            continue
        if common.paced:
            own.deadline = own.polled_at + interval
        elif math.isinf(interval):
            own.deadline = math.inf
        elif math.isinf(before):
            own.deadline = common.clock + _first_wait(state, page)
        else:
            ahead = max(own.deadline - common.clock, 0.0)
            own.deadline = common.clock + ahead * (interval / before)
        if own.where == READY:
            heap_update(state.queue, state.pages, page, own.deadline)


@kernel
def remove_pages(state: DeadlineState, pages: NDArray[np.int64]) -> None:
    """Forget pages, wherever they are."""
    for page in pages:
        own = state.pages[page]
        if own.where == READY:
            heap_remove(state.queue, state.pages, page)
        elif own.where == HELD:
            heap_remove(state.queue[::-1], state.pages, page)
        own.where = ABSENT


@kernel
def _select_due(state: DeadlineState, now: float) -> int:
    """Lease the page of the earliest deadline and give its id; -1: there is none to poll."""
    common, pages, held = state.shared[0], state.pages, state.queue[::-1]
    while heap_size(held) > 0 and first_time(held) <= now:
        back = first_page(held)
        heap_remove(held, pages, back)
        _enqueue(state, back)
    if heap_size(state.queue) == 0:
        return -1
    page = first_page(state.queue)
    own = pages[page]
    if own.deadline > (now if common.paced else _LATEST):
        return -1
    heap_remove(state.queue, pages, page)
    own.where = LEASED
    if not common.paced:
        common.clock = max(common.clock, own.deadline) + common.tick
    own.leased_at = common.clock
    return page


@kernel
def _next_due(state: DeadlineState) -> float:
    """When a page can be selected again, if there is none now; infinite: not by time alone."""
    time = math.inf
    if heap_size(state.queue[::-1]) > 0:
        time = first_time(state.queue[::-1])
    if state.shared[0].paced and heap_size(state.queue) > 0:
        time = min(time, first_time(state.queue))
    return time


@kernel
def observe_due(state: DeadlineState, observation: Any) -> None:
    """Take in one observation: it sets the next deadline and ends the lease.

    What was found makes no difference.
    """
    page, polled_at = observation.page, observation.polled_at
    own, common = state.pages[page], state.shared[0]
    first = math.isnan(own.polled_at)
    newer = first or polled_at > own.polled_at
    leased = own.where == LEASED
    if not (newer or leased):
        return
    if newer:
        own.polled_at = polled_at
    if common.paced:
        own.deadline = own.polled_at + own.interval
    else:
        wait = _first_wait(state, page) if first else own.interval
        own.deadline = (own.leased_at if leased else common.clock) + wait
    if leased:
        _enqueue(state, page)
    elif own.where == READY:
        heap_update(state.queue, state.pages, page, own.deadline)


@kernel
def _defer(state: DeadlineState, page: int, until: float) -> None:
    """It keeps its deadline."""
    heap_push(state.queue[::-1], state.pages, page, until)


@kernel
def restore_pages(
    state: DeadlineState,
    pages: NDArray[np.int64],
    polled_at: NDArray[np.float64],
    deadlines: NDArray[np.float64],
    clock: float,
) -> None:
    """Set the clock, and the latest polls and deadlines of pages; others keep their distance to it.

    Pages never polled (NaN) are left as they are.
    """
    common = state.shared[0]
    ahead = clock - common.clock
    common.clock = clock
    for page in range(len(state.pages)):
        own = state.pages[page]
        if own.where == ABSENT or own.deadline < 0.0:  # in the order of arrival
            continue
        own.deadline += ahead
        if own.where == READY:
            heap_update(state.queue, state.pages, page, own.deadline)
    for n in range(len(pages)):
        own = state.pages[pages[n]]
        if math.isnan(polled_at[n]):
            continue
        own.polled_at = polled_at[n]
        if own.interval < math.inf and deadlines[n] < math.inf:
            own.deadline = deadlines[n]
        elif math.isinf(own.interval):
            own.deadline = math.inf
        else:
            own.deadline = clock + _first_wait(state, pages[n])
        if own.where == READY:
            heap_update(state.queue, state.pages, pages[n], own.deadline)


@kernel
def select_adaptive(state: Any, now: float) -> int:
    """`_select_due` for a state with the queue in its field `deadlines`."""
    return _select_due(state.deadlines, now)


@kernel
def wake_adaptive(state: Any) -> float:
    """`_next_due` for such a state."""
    return _next_due(state.deadlines)


register(DeadlineState, Kernels(_select_due, observe_due, _next_due, _defer))
