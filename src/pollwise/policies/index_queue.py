"""Whose index is the largest, without looking at all pages: the queue of the index policies.

Every page waits in a *calendar* until shortly before its index is expected to reach the current
price; then it stands in a small *pool*, whose largest index, computed anew each time, is polled.
The price is the mean of the second largest indices, which just lost. So a decision looks at a few
dozen pages however many there are, and in contrast to polling in the order of due times, a wrong
price costs little: if it is too low the pool is fuller, if it is too high the page that is due
next is taken.

Four details keep that true when the price and what is known of pages move on:

- In each decision the *sweep* puts one more page of the calendar where it belongs by now, or
  several in a round after the price has moved by a tenth.
- A pool that overflows raises the price to what its best pages are worth and sends the rest back.
- Pages never observed all look alike, so they wait in a line; only its head competes.
- Pages of a host that is too busy are *held* until it has time, and its *host price* rises, once
  between two of its polls: its pages compete, and are due, at that multiple of the price, until
  about as many are due as it can take. It falls again with every poll of the host that is answered.

The functions are compiled; they take the state of a policy as a NamedTuple of a few arrays (few,
because handing over an array costs more than an index). Ids of pages are indices of the arrays.
"""

import math
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from pollwise.policies.heap import heap_push, heap_remove, heap_update
from pollwise.rates.lattice import (
    COLUMNS,
    RATE_COUNT,
    SUBSTEPS,
    TIME_COUNT,
    interpolate,
    time_at,
    time_step,
)
from pollwise.rates.posterior import (
    expectation,
    fit_prior,
    forget,
    learn_last_change,
    learn_poll,
    log_uniform,
)
from pollwise.types import Outcome

__all__ = [
    "ABSENT",
    "HOST",
    "LEASED",
    "PAGE",
    "SHARED",
    "TILTS",
    "IndexState",
    "add_pages",
    "defer_pages",
    "index_of",
    "observe_page",
    "observe_pages",
    "refresh_prior",
    "remove_pages",
    "select_page",
    "select_pages",
    "straighten_line",
    "time_to_reach",
]

ABSENT, NEW, CALENDAR, HELD, POOL, LEASED = range(6)
"""Where a page is."""

POOL_CAPACITY = 64
POOL_TARGET = 24
"""Pages come into the pool this many polls before they are due."""
TILTS = 128

PAGE = np.dtype(
    [
        ("seen_at", "f8"),  # time of the copy; NaN: there is none
        ("weight", "f8"),  # weight / cost
        ("rate", "f8"),  # where it is known
        ("key", "f8"),  # calendar: when to enter the pool; held: when to come back
        ("place", "i8"),  # in calendar, held, pool or line
        ("polls", "i8"),  # that told something
        ("scope", "i4"),
        ("where", "i4"),
        ("likelihood", "f4", (RATE_COUNT,)),  # of each lattice rate, where it is learned
    ]
)
"""What is kept of each page."""

HOST = np.dtype(
    [
        ("price", "f8"),  # what the price of its polls is multiplied with
        ("raised", "i8"),  # 1: the price was raised since its latest poll
    ]
)
"""What is kept of each politeness scope."""

INDEX_TABLE, DECAY_TABLE, CHANGED_TABLE, UNCHANGED_TABLE = range(4)
"""shape(a) / a^power for a = rate * time; shape(a) for a = decay * time, and 1 where there is no
decay; 1 - e^-a; e^-a."""

SHARED = np.dtype(
    [
        ("learning", "i8"),  # 1: rates are learned, 0: they are known
        ("patience", "f8"),  # polls per page after which any page is polled, where they are learned
        ("power", "f8"),  # of the objective
        ("decay", "f8"),  # of the objective; 0: none
        ("price", "f8"),
        ("gap", "f8"),  # mean seconds between polls
        ("gaps", "i8"),  # how many were averaged
        ("latest", "f8"),  # time of the latest selection; NaN: none since the start
        ("pages", "i8"),
        ("polls", "i8"),  # selected
        ("learned", "i8"),  # polls that told something
        ("next_fit", "i8"),  # the number of such polls at which the prior is fitted again
        ("fits", "i8"),
        ("pool_size", "i8"),
        ("first_new", "i8"),
        ("new_size", "i8"),
        ("sweep", "i8"),  # the page swept last
        ("sweep_left", "i8"),  # pages of a quick round
        ("swept_price", "f8"),  # the price at the begin of the latest quick round
        ("pool", "i8", (POOL_CAPACITY,)),
        ("prior", "f8", (RATE_COUNT,)),
        ("tilt", "f4", (TILTS, RATE_COUNT)),  # optimism: powers of the rates, by number of polls
        ("tilted", "f4", (TILTS, RATE_COUNT)),  # prior * tilt
        ("tables", "f4", (4, SUBSTEPS, COLUMNS)),
    ]
)
"""What all pages share."""

_MEMORY = 16.0
"""Polls over which the price is averaged, and at least the gap."""
_LONELY = 0.9
"""What the price is multiplied with, as a loser's bid, if the pool has no second page."""
_FIT_PAGES = 2048
_PRICE_MOVE = 1.1
_QUICK_SWEEP = 16
_HOST_PRICE_UP = 1.05
_HOST_PRICE_DOWN = 0.98
_HIGHEST_HOST_PRICE = 1e6

_CHANGED = int(Outcome.CHANGED)
_UNCHANGED = int(Outcome.UNCHANGED)

Pages = NDArray[Any]
Shared = NDArray[Any]


class IndexState(NamedTuple):
    """The state of an index policy."""

    pages: Pages  # of PAGE
    shared: Shared  # of SHARED, one element
    calendar: NDArray[np.int64]
    held: NDArray[np.int64]
    line: NDArray[np.int64]  # ring; -1: has left
    hosts: NDArray[Any]  # of HOST, one for each scope


@numba.njit(cache=True)
def _index_at(pages: Pages, shared: Shared, page: int, step: int) -> float:
    """The index of a page as of the lattice time `step` after its copy was made."""
    own, common = pages[page], shared[0]
    time = time_at(step)
    if common.learning:
        weights = common.tilted[min(own.polls, TILTS - 1)]
        mean = expectation(own.likelihood, weights, common.tables[INDEX_TABLE], step)
    else:
        rated = own.rate * time
        mean = interpolate(common.tables[INDEX_TABLE], rated) if rated > 0.0 else 0.0
    if common.power != 0.0:
        mean *= time**common.power
    if common.decay > 0.0:
        mean *= interpolate(common.tables[DECAY_TABLE], common.decay * time)
    return mean * own.weight


@numba.njit(cache=True)
def _floor_time(shared: Shared) -> float:
    """The elapsed time at which any page is polled whatever its index is."""
    common = shared[0]
    if common.learning and common.gap > 0.0:
        return common.patience * common.pages * common.gap
    return math.inf


@numba.njit(cache=True)
def index_of(pages: Pages, shared: Shared, page: int, now: float) -> float:
    """The index of a page now: infinite without a copy, 0 for a copy that is not older than now."""
    elapsed = now - pages[page].seen_at
    if math.isnan(elapsed) or elapsed >= _floor_time(shared):
        return math.inf
    if elapsed <= 0.0:
        return 0.0
    return _index_at(pages, shared, page, time_step(elapsed))


@numba.njit(cache=True)
def time_to_reach(pages: Pages, shared: Shared, page: int, price: float) -> float:
    """Seconds after its copy was made at which the index of a page reaches `price`.

    To a lattice step (1 %); infinite where it never does.
    """
    low, high = -1, TIME_COUNT
    while high - low > 1:
        middle = (low + high) // 2
        if _index_at(pages, shared, page, middle) >= price:
            high = middle
        else:
            low = middle
    return time_at(high) if high < TIME_COUNT else math.inf


@numba.njit(cache=True)
def _entry(state: IndexState, page: int) -> float:
    """When a page with a copy belongs into the pool."""
    common, own = state.shared[0], state.pages[page]
    price = common.price * state.hosts[own.scope].price
    wait = time_to_reach(state.pages, state.shared, page, price) if price > 0.0 else 0.0
    return own.seen_at + min(wait, _floor_time(state.shared)) - POOL_TARGET * common.gap


@numba.njit(cache=True)
def _bid(state: IndexState, page: int, now: float) -> float:
    """What a page competes with: its index, at the price of its host."""
    host = state.hosts[state.pages[page].scope]
    return index_of(state.pages, state.shared, page, now) / host.price


@numba.njit(cache=True)
def _enter_calendar(state: IndexState, page: int, time: float) -> None:
    state.pages[page].where = CALENDAR
    heap_push(state.calendar, state.pages, page, time)


@numba.njit(cache=True)
def _enter_pool(state: IndexState, page: int) -> None:
    own, common = state.pages[page], state.shared[0]
    common.pool[common.pool_size] = page
    own.place = common.pool_size
    own.where = POOL
    common.pool_size += 1


@numba.njit(cache=True)
def _leave_pool(state: IndexState, page: int) -> None:
    common = state.shared[0]
    common.pool_size -= 1
    last = common.pool[common.pool_size]
    spot = state.pages[page].place
    common.pool[spot] = last
    state.pages[last].place = spot


@numba.njit(cache=True)
def straighten_line(state: IndexState, line: NDArray[np.int64]) -> None:
    """Move the line, without its gaps, to the begin of another ring."""
    common = state.shared[0]
    size = 0
    for n in range(common.new_size):
        page = state.line[(common.first_new + n) % len(state.line)]
        if page >= 0:
            line[size] = page
            state.pages[page].place = size
            size += 1
    common.first_new = 0
    common.new_size = size


@numba.njit(cache=True)
def _join_line(state: IndexState, page: int) -> None:
    common = state.shared[0]
    if common.new_size == len(state.line):
        line = np.full(len(state.line), -1, np.int64)
        straighten_line(state, line)
        state.line[:] = line
    spot = (common.first_new + common.new_size) % len(state.line)
    state.line[spot] = page
    state.pages[page].place = spot
    state.pages[page].where = NEW
    common.new_size += 1


@numba.njit(cache=True)
def _head_of_line(state: IndexState) -> int:
    """The page never observed that is next; -1: none. Drops those that have left the line."""
    common = state.shared[0]
    while common.new_size > 0:
        page = state.line[common.first_new]
        if page >= 0:
            return int(page)
        common.first_new = (common.first_new + 1) % len(state.line)
        common.new_size -= 1
    return -1


@numba.njit(cache=True)
def _wait(state: IndexState, page: int) -> None:
    """Let a page that is nowhere wait for its time: in line, or in the calendar."""
    own = state.pages[page]
    if math.isnan(own.seen_at) or (state.shared[0].learning and own.polls == 0):
        _join_line(state, page)
    else:
        _enter_calendar(state, page, _entry(state, page))


@numba.njit(cache=True)
def _leave(state: IndexState, page: int) -> None:
    """Take a page from where it is."""
    where = state.pages[page].where
    if where == CALENDAR:
        heap_remove(state.calendar, state.pages, page)
    elif where == HELD:
        heap_remove(state.held, state.pages, page)
    elif where == POOL:
        _leave_pool(state, page)
    elif where == NEW:
        state.line[state.pages[page].place] = -1


@numba.njit(cache=True)
def add_pages(state: IndexState, pages: NDArray[np.int64]) -> None:
    """Take up pages whose fields (weight, seen_at ...) have been set."""
    for page in pages:
        state.shared[0].pages += 1
        _wait(state, page)


@numba.njit(cache=True)
def remove_pages(state: IndexState, pages: NDArray[np.int64]) -> None:
    """Forget pages, wherever they are."""
    for page in pages:
        if state.pages[page].where != ABSENT:
            state.shared[0].pages -= 1
            _leave(state, page)
            state.pages[page].where = ABSENT


@numba.njit(cache=True)
def _shrink_pool(state: IndexState, now: float) -> None:
    """Keep the best POOL_TARGET pages of a full pool, at the price of the least of them."""
    common = state.shared[0]
    pages = common.pool.copy()
    bids = np.empty(len(pages))
    for n in range(len(pages)):
        bids[n] = _bid(state, pages[n], now)
    order = np.argsort(-bids)
    least = bids[order[POOL_TARGET - 1]]
    if least < math.inf:
        common.price = max(common.price, least)
    soon = now + max(common.gap, 1e-6)
    for n in order[POOL_TARGET:]:
        _leave_pool(state, pages[n])
        _enter_calendar(state, pages[n], max(_entry(state, pages[n]), soon))


@numba.njit(cache=True)
def _fill_pool(state: IndexState, now: float) -> None:
    """Let the pages whose time has come into the pool."""
    common, pages = state.shared[0], state.pages
    while state.held[0] > 0 and pages[state.held[1]].key <= now:
        page = state.held[1]
        _leave(state, page)
        _wait(state, page)
    while state.calendar[0] > 0 and pages[state.calendar[1]].key <= now:
        page = state.calendar[1]
        _leave(state, page)
        _enter_pool(state, page)
        if common.pool_size == POOL_CAPACITY:
            _shrink_pool(state, now)
    if common.pool_size == 0 and state.calendar[0] > 0:
        page = state.calendar[1]
        _leave(state, page)
        _enter_pool(state, page)


@numba.njit(cache=True)
def _sweep(state: IndexState) -> None:
    """Put the next pages of the calendar, in the order of ids, where they belong by now."""
    common = state.shared[0]
    if common.sweep_left <= 0 and not (
        common.swept_price / _PRICE_MOVE <= common.price <= common.swept_price * _PRICE_MOVE
    ):
        common.swept_price = common.price
        common.sweep_left = len(state.pages)
    count = _QUICK_SWEEP if common.sweep_left > 0 else 1
    common.sweep_left = max(common.sweep_left - count, 0)
    for _ in range(count):
        common.sweep = (common.sweep + 1) % len(state.pages)
        page = common.sweep
        if state.pages[page].where == CALENDAR:
            heap_update(state.calendar, state.pages, page, _entry(state, page))


@numba.njit(cache=True)
def _note_poll(shared: Shared, now: float, second: float) -> None:
    """Average the price and the time between polls; `second` is the largest bid that lost."""
    common = shared[0]
    common.polls += 1
    if second < 0.0:
        second = _LONELY * common.price
    if second < math.inf:
        common.price += (second - common.price) / min(float(common.polls), _MEMORY)
    if not math.isnan(common.latest):
        common.gaps += 1
        memory = max(_MEMORY, float(common.pages))  # polls come in bursts: look at a whole round
        common.gap += (now - common.latest - common.gap) / min(float(common.gaps), memory)
    common.latest = now


@numba.njit(cache=True)
def select_page(state: IndexState, now: float) -> int:
    """Lease the page of the largest index and give its id; -1: there is none to poll."""
    _fill_pool(state, now)
    common = state.shared[0]
    chosen, largest, second = _head_of_line(state), -1.0, -1.0
    if chosen >= 0:
        largest = _bid(state, chosen, now)
    for n in range(common.pool_size):
        bid = _bid(state, common.pool[n], now)
        if bid > largest:
            chosen, largest, second = common.pool[n], bid, largest
        elif bid > second:
            second = bid
    if chosen < 0:
        return -1
    if state.pages[chosen].where == NEW and common.new_size > 1:
        second = largest  # the next in line is worth about as much
    _leave(state, chosen)
    state.pages[chosen].where = LEASED
    _note_poll(state.shared, now, second)
    _sweep(state)
    return int(chosen)


@numba.njit(cache=True)
def select_pages(state: IndexState, now: float, limit: int) -> NDArray[np.int64]:
    """Lease at most `limit` pages, those of the largest indices."""
    pages = np.empty(min(limit, state.shared[0].pages), np.int64)
    for n in range(len(pages)):
        pages[n] = select_page(state, now)
        if pages[n] < 0:
            return pages[:n]
    return pages


@numba.njit(cache=True)
def defer_pages(state: IndexState, pages: NDArray[np.int64], until: float) -> None:
    """Give leased pages back unpolled, because their host is busy until then."""
    for page in pages:
        own = state.pages[page]
        if own.where == LEASED:
            host = state.hosts[own.scope]
            if not host.raised:
                host.price = min(host.price * _HOST_PRICE_UP, _HIGHEST_HOST_PRICE)
                host.raised = 1
            own.where = HELD
            heap_push(state.held, state.pages, page, until)


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
def _learn(
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


@numba.njit(cache=True)
def observe_page(
    state: IndexState, page: int, polled_at: float, outcome: int, last_changed_at: float
) -> None:
    """Take in one observation (`last_changed_at` NaN: not told) and end the lease."""
    own = state.pages[page]
    where = own.where
    if where == ABSENT:
        return
    host = state.hosts[own.scope]
    host.raised = 0
    if outcome == _CHANGED or outcome == _UNCHANGED:  # noqa: SIM109 (tuples are slow here)
        host.price = max(1.0, host.price * _HOST_PRICE_DOWN)
        if math.isnan(own.seen_at) or polled_at > own.seen_at:
            if state.shared[0].learning:
                _learn(state, page, polled_at, outcome == _CHANGED, last_changed_at)
            own.seen_at = polled_at
            if where in (CALENDAR, NEW):
                _leave(state, page)
                _wait(state, page)
    if where == LEASED:
        _wait(state, page)


@numba.njit(cache=True)
def observe_pages(
    state: IndexState,
    pages: NDArray[np.int64],
    polled_at: NDArray[np.float64],
    outcome: NDArray[np.int64],
    last_changed_at: NDArray[np.float64],
) -> None:
    """Take in observations, in the order given."""
    for n in range(len(pages)):
        observe_page(state, pages[n], polled_at[n], outcome[n], last_changed_at[n])
