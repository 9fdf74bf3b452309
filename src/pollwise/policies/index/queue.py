"""The queue of the index policies: finds the largest index without looking at all pages.

Every page waits in a *calendar* until shortly before its index is expected to reach the current
price; then it stands in a small *pool*, of which the page of the largest index now is polled. The
price is the mean of the second largest indices, those that just lost. So a decision looks at a few
dozen pages however many there are, and unlike with polling in the order of due times, a wrong price
costs little: if it is too low the pool is fuller, if it is too high the page that is due next is
taken.

Five details keep that true while the price and the knowledge of pages change:

- In each decision the *sweep* moves one more page of the calendar to where it belongs now, or
  several in a *quick round* after the price has moved by a tenth.
- A pool that overflows raises the price to what its best pages are worth and sends the rest back.
- Pages never observed all look alike, so they wait in a line; only its head competes.
- Where groups of pages have shares of the budget, each has its *group price* (`groups`).
- Pages of a host that is too busy are *held* until it has time, and its *host price* rises, at most
  once between two of its polls. Its pages compete and become due at that multiple of the price,
  until about as many are due as it can take. Every poll that the host answers lowers it again.
  What does not answer to the price does not move it: polls for first copies, and pages ahead of
  their time.

The functions are compiled.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pollwise.kernel_cache import kernel
from pollwise.policies.arrays import ABSENT, HELD, LEASED, tells
from pollwise.policies.compiled import Kernels, register
from pollwise.policies.index.belief import form_belief, note_copy, refresh_belief
from pollwise.policies.index.chance import note_outcome
from pollwise.policies.index.clock_share import count_clock, spoken_for_clock
from pollwise.policies.index.evidence import fetch_evidence
from pollwise.policies.index.first_copies import copy_can_wait
from pollwise.policies.index.groups import count_page, have_moved, note_swept
from pollwise.policies.index.learning import learn
from pollwise.policies.index.line import head_of_line, join_line, leave_line
from pollwise.policies.index.page_index import (
    floor_time,
    has_told,
    own_price,
    shortest_round,
    time_to_reach,
)
from pollwise.policies.index.pool import bid_of, enter_pool, forget_index, leave_pool, pool_bid
from pollwise.policies.index.signals import is_signalled_later, note_signal, note_signalled_poll
from pollwise.policies.index.sites import join_site, leave_site
from pollwise.policies.index.state import CALENDAR, NEW, POOL, POOL_CAPACITY, IndexState, Shared
from pollwise.policies.structures.heap import (
    first_page,
    first_time,
    heap_expect,
    heap_push,
    heap_remove,
    heap_size,
    heap_update,
    time_of,
)
from pollwise.policies.structures.prefetch import prefetch
from pollwise.types import Outcome

__all__ = [
    "add_pages",
    "best_of",
    "best_page",
    "copy_page",
    "head_wins",
    "lease_page",
    "observe_page",
    "remove_pages",
    "select_page",
    "signal_page",
    "weigh_page",
]

_POOL_TARGET = 24
"""Pages come into the pool this many polls before they are due."""
_MEMORY = 16.0
"""Polls over which the price is averaged; the gap is averaged over at least as many."""
_LONELY = 0.9
"""This share of the price counts as the bid that lost if the pool has no second page."""
_FAR_TOO_HIGH = 0.25
"""A winner without a rival whose bid is below this share of the price shows it to be too high."""
_LONELY_MEMORY = 4.0
_MOST_ENTERING = 64
"""Pages that come back, and pages that enter the pool, in one decision: else it would take long
where all are due."""
_PRICE_MOVE = 1.1
_QUICK_SWEEP = 16
_FIRST_POLLS = 3
_FEW_PAGES, _PAGES_A_POLL = 1024, 32
"""Once pages have been polled that often, a quick round begins by a mean price: of more pages than
the first number, over as many polls as there are others of the second. A round of many pages takes
long; by the price itself, which chance moves by a tenth, one round would follow the other."""
_AHEAD = 4
"""So many pages before the sweep comes to a page, what it needs is fetched from memory."""
_ALERTED = 16
_MOST_PASSED = 16
"""Pages of busy hosts that one decision keeps from coming ahead of their time."""
_HOST_PRICE_UP = 1.05
_HOST_PRICE_DOWN = 0.98
_HIGHEST_HOST_PRICE = 1e6

_CHANGED, _UNCHANGED = int(Outcome.CHANGED), int(Outcome.UNCHANGED)


@kernel(allocates=False)
def _entry(state: IndexState, page: int, near: float) -> float:
    """When a page with a copy is to enter the pool.

    It is found sooner if it will be due about `near` seconds after its copy (0: nobody knows).
    """
    common, own = state.shared[0], state.pages[page]
    price = common.price * own_price(state, page)
    refresh_belief(state, page)
    wait = time_to_reach(state.pages, state.shared, page, price, near) if price > 0.0 else 0.0
    floor = floor_time(state.pages, state.shared, page)
    return own.seen_at + min(wait, floor) - _POOL_TARGET * common.gap


@kernel(allocates=False)
def _enter_calendar(state: IndexState, page: int, time: float) -> None:
    state.pages[page].where = CALENDAR
    heap_push(state.calendar, state.pages, page, time)


@kernel(allocates=False)
def _move(state: IndexState, page: int) -> None:
    """Put a page of the calendar where it belongs now."""
    ahead = _POOL_TARGET * state.shared[0].gap
    near = time_of(state.calendar, state.pages, page) + ahead - state.pages[page].seen_at
    heap_update(state.calendar, state.pages, page, _entry(state, page, near))


@kernel(allocates=False)
def _wait(state: IndexState, page: int, near: float) -> None:
    """Let a page that is nowhere wait for its time: in line, or in the calendar."""
    own = state.pages[page]
    nothing_known = state.shared[0].learning and not has_told(own) and own.kind == -1
    if math.isnan(own.seen_at) or nothing_known:
        join_line(state, page)
    else:
        _enter_calendar(state, page, _entry(state, page, near))


@kernel(allocates=False)
def _leave(state: IndexState, page: int) -> None:
    """Take a page from where it is."""
    where = state.pages[page].where
    if where == CALENDAR:
        heap_remove(state.calendar, state.pages, page)
    elif where == HELD:
        heap_remove(state.calendar[::-1], state.pages, page)
    elif where == POOL:
        leave_pool(state, page)
    elif where == NEW:
        leave_line(state, page)


@kernel(nogil=True, allocates=False)
def add_pages(state: IndexState, pages: NDArray[np.int64]) -> None:
    """Take up pages whose fields (weight, seen_at ...) have been set."""
    for page in pages:
        state.shared[0].pages += 1
        count_page(state.shared, state.pages[page].group, 1, 1)
        join_site(state, page)
        refresh_belief(state, page)
        _wait(state, page, 0.0)


@kernel(allocates=False)
def weigh_page(state: IndexState, page: int, weight: float) -> None:
    """Give a page another weight."""
    if state.pages[page].where != ABSENT and state.pages[page].weight != weight:
        state.pages[page].weight = weight
        if state.pages[page].where == CALENDAR:
            _move(state, page)
        forget_index(state, page)


@kernel(nogil=True, allocates=False)
def remove_pages(state: IndexState, pages: NDArray[np.int64]) -> None:
    """Forget pages, wherever they are."""
    for page in pages:
        if state.pages[page].where != ABSENT:
            state.shared[0].pages -= 1
            offered = state.pages[page].where != LEASED and state.pages[page].where != HELD
            count_page(state.shared, state.pages[page].group, -1, -1 if offered else 0)
            _leave(state, page)
            leave_site(state, page)
            count_clock(state, page, spoken_for_clock(state.pages[page]), -1.0)
            state.pages[page].where = ABSENT


@kernel(forceinline=True, allocates=False)
def _free_at(state: IndexState, page: int) -> float:
    """Until when the host of a page is blocked."""
    return float(state.hosts[state.pages[page].scope].blocked_until)


@kernel
def _shrink_pool(state: IndexState, now: float) -> None:
    """Keep the best _POOL_TARGET pages of a full pool, at the price of the least of them.

    Pages of hosts that are blocked leave first, until that is over: they would shut out others.
    """
    common = state.shared[0]
    pages, bids = common.pool.copy(), np.empty(POOL_CAPACITY)
    for n in range(POOL_CAPACITY):  # the highest bids first; `argsort` takes seconds to compile
        page, spot = common.pool[n], n
        bid = -1.0 if _free_at(state, page) > now else bid_of(state, page, now)
        while spot > 0 and bids[spot - 1] < bid:
            pages[spot], bids[spot] = pages[spot - 1], bids[spot - 1]
            spot -= 1
        pages[spot], bids[spot] = page, bid
    least = bids[_POOL_TARGET - 1]
    if least < math.inf:
        common.price = max(common.price, least)
    soon = now + max(common.gap, 1e-6)
    for page in pages[_POOL_TARGET:]:
        entry = max(_entry(state, page, 0.0), soon, _free_at(state, page))
        leave_pool(state, page)
        _enter_calendar(state, page, entry)


@kernel(allocates=False)
def _hold(state: IndexState, page: int, until: float) -> None:
    """Keep a page that is nowhere away until then."""
    state.pages[page].where = HELD
    heap_push(state.calendar[::-1], state.pages, page, until)


@kernel(allocates=False)
def _next_return(state: IndexState) -> float:
    """When the next page that is held comes back; infinite: there is none."""
    held = state.calendar[::-1]
    return first_time(held) if heap_size(held) > 0 else math.inf


@kernel(allocates=False)
def _take_ahead(state: IndexState, now: float) -> None:
    """Let the page that is due next into the pool, ahead of its time.

    One whose host has sent others away does not come before these: it is kept away as well.
    """
    for _ in range(_MOST_PASSED):
        if heap_size(state.calendar) == 0:
            return
        page = first_page(state.calendar)
        due_at, back_at = first_time(state.calendar), state.hosts[state.pages[page].scope].back_at
        _leave(state, page)
        if back_at <= now:
            enter_pool(state, page)
            return
        count_page(state.shared, state.pages[page].group, 0, -1)
        _hold(state, page, min(due_at, back_at))


@kernel(allocates=False)
def _fill_pool(state: IndexState, now: float) -> None:
    """Let the pages whose time has come into the pool; of very many, the first ones."""
    common = state.shared[0]
    for _ in range(_MOST_ENTERING):
        if _next_return(state) > now:
            break
        page = first_page(state.calendar[::-1])
        _leave(state, page)
        count_page(state.shared, state.pages[page].group, 0, 1)
        _wait(state, page, 0.0)
    for _ in range(_MOST_ENTERING):
        if heap_size(state.calendar) == 0 or first_time(state.calendar) > now:
            break
        page = first_page(state.calendar)
        _leave(state, page)
        enter_pool(state, page)
        if common.pool_size == POOL_CAPACITY:
            _shrink_pool(state, now)
    if common.pool_size == 0:
        _take_ahead(state, now)
    if heap_size(state.calendar) > 0:
        prefetch(state.pages, first_page(state.calendar))
        fetch_evidence(state, first_page(state.calendar))


@kernel(forceinline=True, allocates=False)
def _average_price(common: Any, places: int) -> None:
    """Take the price of now into the mean price by which quick rounds begin."""
    memory = 1.0
    if common.learned > _FIRST_POLLS * common.pages and common.mean_price > 0.0:
        memory = max((places - _FEW_PAGES) / _PAGES_A_POLL, 1.0)
    common.mean_price += (common.price - common.mean_price) / memory


@kernel(allocates=False)
def _sweep(state: IndexState) -> None:
    """Put the next pages of the calendar, in the order of ids, where they belong by now."""
    common = state.shared[0]
    _average_price(common, len(state.pages))
    price, swept = common.mean_price, common.swept_price
    if common.sweep_left <= 0 and (
        not swept / _PRICE_MOVE <= price <= swept * _PRICE_MOVE
        or have_moved(state.shared, _PRICE_MOVE)
    ):
        common.swept_price = price
        note_swept(state.shared)
        common.sweep_left = len(state.pages)
    count = _QUICK_SWEEP if common.sweep_left > 0 else 1
    common.sweep_left = max(common.sweep_left - count, 0)
    for _ in range(count):
        common.sweep = (common.sweep + 1) % len(state.pages)
        page = common.sweep
        prefetch(state.pages, page + 2 * _AHEAD)
        fetch_evidence(state, page + 2 * _AHEAD)
        heap_expect(state.calendar, state.pages, min(page + _AHEAD, len(state.pages) - 1))
        if state.pages[page].where == CALENDAR:
            _move(state, page)


@kernel(forceinline=True, allocates=False)
def _note_poll(shared: Shared, now: float, largest: float, second: float) -> None:
    """Average the price and the time between polls; `second` is the largest bid that lost.

    Below 0: no page lost. Then the winner may have come long before it was due, and its bid may
    show that the price is too high (infinite: its host has a price of its own).
    """
    common = shared[0]
    common.polls += 1
    memory = min(float(common.polls), _MEMORY)
    if second < 0.0:
        second = _LONELY * common.price
        if largest < _FAR_TOO_HIGH * common.price:
            second, memory = largest, min(memory, _LONELY_MEMORY)
    if second < math.inf:
        common.price += (second - common.price) / memory
    if math.isnan(common.began_at):
        common.began_at = now
    if not math.isnan(common.latest):
        common.gaps += 1
        memory = max(_MEMORY, float(common.pages))  # polls come in bursts: look at a whole round
        passed = max(now - common.latest, 0.0)  # clocks may go back
        common.gap += (passed - common.gap) / min(float(common.gaps), memory)
    common.latest = common.selected_at = now


@kernel(forceinline=True, allocates=False)
def head_wins(
    state: IndexState, head: int, bid: float, chosen: int, largest: float, now: float
) -> bool:
    """Whether the head of the line is polled before the best page elsewhere (-1: there is none)."""
    if chosen < 0:
        return True
    if math.isnan(state.pages[head].seen_at):
        # Never twice in a row: else a page that always changes would keep all others out.
        return state.shared[0].copy_waited == 1 or not copy_can_wait(state, head, chosen, now)
    return bid >= largest


@kernel(forceinline=True, allocates=False)
def best_page(state: IndexState, now: float) -> tuple[int, float, float]:
    """The page of the largest index, its bid, and the largest that loses (below 0: none does).

    -1: there is no page to poll. Pages of hosts that are blocked are passed over.
    """
    _fill_pool(state, now)
    common = state.shared[0]
    chosen: Any = np.int64(-1)  # as the pages are: for -1 itself all is compiled once more
    largest, second = -1.0, -1.0
    patience = common.patience * shortest_round(state.shared)
    for n in range(common.pool_size):
        page = common.pool[n]
        if _free_at(state, page) > now:
            continue
        bid = pool_bid(state, n, now, patience)
        if bid > largest:
            chosen, largest, second = page, bid, largest
        elif bid > second:
            second = bid
    new = head_of_line(state)
    if new < 0:
        return chosen, largest, second
    bid = bid_of(state, new, now)
    if head_wins(state, new, bid, chosen, largest, now):
        # The next in line is worth about as much.
        return new, bid, bid if common.new_size > 1 else largest
    return chosen, largest, max(second, bid) if bid < math.inf else second


@kernel(allocates=False)
def best_of(state: IndexState, pages: NDArray[np.int64], now: float) -> int:
    """The page of the largest index, of the pages given; the first of several."""
    chosen, largest = pages[0], -1.0
    for page in pages:
        bid = bid_of(state, page, now)
        if bid > largest:
            chosen, largest = page, bid
    return int(chosen)


@kernel(forceinline=True, allocates=False)
def lease_page(state: IndexState, page: int, now: float, largest: float, second: float) -> None:
    """Lease the page that `best_page` gave, with these bids, at the same time."""
    state.shared[0].copy_waited = state.pages[page].where != NEW
    _leave(state, page)
    count_page(state.shared, state.pages[page].group, 0, -1)
    state.pages[page].where = LEASED
    at_host_price = state.hosts[state.pages[page].scope].price > 1.0
    _note_poll(state.shared, now, math.inf if at_host_price else largest, second)
    _sweep(state)


@kernel(allocates=False)
def select_page(state: IndexState, now: float) -> int:
    """Lease the page of the largest index and give its id; -1: there is none to poll."""
    page, largest, second = best_page(state, now)
    if page >= 0:
        lease_page(state, page, now, largest, second)
    return int(page)


@kernel(allocates=False)
def _defer(state: IndexState, page: int, until: float) -> None:
    """Its host is busy until then."""
    common, host = state.shared[0], state.hosts[state.pages[page].scope]
    # A page that came ahead of its time does not say that too many are due.
    if not host.raised and bid_of(state, page, common.latest) >= common.price:
        host.price = min(host.price * _HOST_PRICE_UP, _HIGHEST_HOST_PRICE)
        host.raised = 1
    host.back_at = max(host.back_at, until)
    _hold(state, page, until)


@kernel(allocates=False)
def _alert_siblings(state: IndexState, page: int) -> None:
    """Put some siblings of a changed page where they belong now; the sweep moves the others."""
    sibling: Any = np.int64(state.pages[page].after)  # as pages are elsewhere
    for _ in range(_ALERTED):
        if sibling == page:
            return
        if state.pages[sibling].where == CALENDAR:
            _move(state, sibling)
        sibling = np.int64(state.pages[sibling].after)


@kernel(allocates=False)
def observe_page(state: IndexState, observation: Any) -> None:
    """Take in one observation and end the lease."""
    page, outcome = observation.page, observation.outcome
    own = state.pages[page]
    where, host = own.where, state.hosts[own.scope]
    waited = observation.polled_at - own.seen_at
    if not math.isnan(own.seen_at):  # first copies do not answer to the price
        host.raised = 0
        if outcome == _CHANGED or outcome == _UNCHANGED:  # noqa: SIM109 (tuples are slow here)
            host.price = max(1.0, host.price * _HOST_PRICE_DOWN)
    if tells(observation, own.seen_at):
        if where == NEW:  # in line there is no room for what it learns
            _leave(state, page)
        if state.shared[0].learning:
            is_later = is_signalled_later(state, page, observation.polled_at)
            own.signalled = own.signalled and not is_later
            note_outcome(state, page, observation.polled_at, outcome == _CHANGED)
            note_signalled_poll(state, page, observation.polled_at, outcome == _CHANGED)
            learn(state, observation)
            own.signalled = is_later
            if outcome == _CHANGED:
                _alert_siblings(state, page)
        own.seen_at = observation.polled_at
        forget_index(state, page)
        if where == CALENDAR:
            _leave(state, page)
        if where in (CALENDAR, NEW):
            _wait(state, page, waited)
    if where == LEASED:
        count_page(state.shared, own.group, 0, 1)
        _wait(state, page, waited)


@kernel(allocates=False)
def copy_page(state: IndexState, page: int, time: float) -> None:
    """A copy of a page was made, and nobody knows whether it has changed since the one before."""
    own = state.pages[page]
    if own.where != ABSENT and not own.seen_at >= time:
        note_copy(own, time)
        if state.shared[0].learning:
            form_belief(state, page)
        forget_index(state, page)
        if own.where in (CALENDAR, NEW):
            _leave(state, page)
            _wait(state, page, 0.0)


@kernel(allocates=False)
def signal_page(state: IndexState, page: int, time: float) -> None:
    """Somebody said at a time that a page has changed."""
    if note_signal(state, page, time) and state.pages[page].where == CALENDAR:
        _move(state, page)
    forget_index(state, page)


register(IndexState, Kernels(select_page, observe_page, _next_return, _defer))
