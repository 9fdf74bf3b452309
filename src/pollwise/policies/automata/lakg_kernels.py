"""The automata of the Learning Automata Knapsack Game and the turns of pages: compiled kernels.

Turns are as in `pollwise.policies.deadline.kernels`: tags of start-time fair queueing, which move
on by 1/amount at each poll; the clock is the tag of the page given last. Only the polled page's
amount changes, so deadlines follow the present amounts. Pages without a copy come first, in the
order of adding, and the first interval of a page is cut to a fraction.

Turns at random need no other queue. If a tag is put ahead of the clock by a random distance,
exponential with the mean 1/amount, then the page of the earliest deadline is page i with
probability amount_i / Σ amounts over the pages there are to choose from: competing exponential
clocks, which have no memory. A page whose turn the world put off (`defer`) keeps that turn.

With periods the clock counts polls instead, and the next turn of a page is 1/amount from the poll,
even if that came late.

The published figures are means over hundreds of millions of polls, so a tournament is used instead
of the heap of the other queues, with which a poll took nearly twice as long.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pollwise.kernel_cache import kernel
from pollwise.policies.arrays import ABSENT, LEASED, READY, tells, typed_once
from pollwise.policies.compiled import Kernels, register
from pollwise.policies.deadline.kernels import FIRST_ARRIVAL
from pollwise.policies.structures.spreading import spread
from pollwise.policies.structures.tournament import Tournament, least_key, set_key, winner
from pollwise.types import Outcome

__all__ = [
    "LAKG_PAGE",
    "LAKG_SHARED",
    "LAKGState",
    "add_pages",
    "amount_lakg",
    "amount_table",
    "observe_lakg",
    "remove_pages",
    "restore_pages",
    "select_lakg",
]

LAKG_PAGE = np.dtype(
    [
        ("where", "i8"),
        ("state", "i8"),  # of the automaton: 1 to the resolution; 0: there is no such page
        ("seen_at", "f8"),  # time of the copy at hand; NaN: there is none
        ("deadline", "f8"),  # below 0: never given yet, in the order of arrival
        ("start", "f8"),  # leased: the clock when the page was given
    ]
)
"""What is kept of each page."""

LAKG_SHARED = np.dtype(
    [
        ("clock", "f8"),  # of the tags
        ("step", "f8"),  # by which a poll moves the clock; 0: to the tag of its page
        ("load", "f8"),  # the sum of all amounts
        ("full", "f8"),  # the load from which on the knapsack is full
        ("pages", "i8"),
        ("arrivals", "i8"),  # pages ever added
    ]
)
"""What all pages share."""

_GRAIN = 2.0**-40
_CHANGED = int(Outcome.CHANGED)


@typed_once
class LAKGState(NamedTuple):
    """The state of a Learning Automata Knapsack Game. Ids of pages are indices of `pages`."""

    pages: NDArray[Any]  # of LAKG_PAGE
    shared: NDArray[Any]  # of LAKG_SHARED, one element
    amounts: NDArray[np.float64]  # by state of an automaton
    queue: Tournament  # by deadline
    held: Tournament  # by the time to come back
    generator: np.random.Generator | None  # None: turns are not random


def amount_table(resolution: int, exponent: float) -> NDArray[np.float64]:
    """(s/resolution)^exponent for the states s of an automaton, 0 for state 0 (no page).

    In multiples of 2^-40, and at least one: floats add up such numbers exactly as long as the sum
    is below 8192, so that a load kept up to date poll by poll is what a sum over all pages gives.
    """
    shares = (np.arange(resolution + 1) / resolution) ** exponent
    amounts = np.maximum(np.round(shares / _GRAIN), 1.0) * _GRAIN
    amounts[0] = 0.0
    return amounts


@kernel
def _next_turn(
    generator: np.random.Generator | None, page: int, amount: float, first: bool, start: float,
    clock: float,
) -> float:  # fmt: skip
    """The next deadline of a page that was given at the tag `start`; `first`: never before."""
    if generator is None:
        return start + (spread(page) if first else 1.0) / amount
    return clock + generator.standard_exponential() / amount


@kernel
def _set_state(state: LAKGState, page: int, to: int) -> None:
    """Put the automaton of a page into another state, and update the load."""
    own = state.pages[page]
    state.shared[0].load += state.amounts[to] - state.amounts[own.state]
    own.state = to


@kernel
def _enqueue(state: LAKGState, page: int) -> None:
    own = state.pages[page]
    own.where = READY
    set_key(state.queue, page, own.deadline)


@kernel
def add_pages(
    state: LAKGState, pages: NDArray[np.int64], seen_at: NDArray[np.float64], start: int
) -> None:
    """Take up pages, their automata in the state `start`; `seen_at` NaN: there is no copy."""
    common = state.shared[0]
    for n in range(len(pages)):
        page = pages[n]
        own = state.pages[page]
        own.seen_at = seen_at[n]
        own.deadline = FIRST_ARRIVAL + common.arrivals
        if not math.isnan(seen_at[n]):
            clock, amount = common.clock, state.amounts[start]
            own.deadline = _next_turn(state.generator, page, amount, True, clock, clock)
        common.arrivals += 1
        common.pages += 1
        _set_state(state, page, start)
        _enqueue(state, page)


@kernel
def remove_pages(state: LAKGState, pages: NDArray[np.int64]) -> None:
    """Forget pages, wherever they are."""
    for page in pages:
        own = state.pages[page]
        if own.where != ABSENT:
            own.where = ABSENT
            state.shared[0].pages -= 1
            _set_state(state, page, 0)
            set_key(state.queue, page, math.inf)
            set_key(state.held, page, math.inf)


@kernel(forceinline=True)
def select_lakg(state: LAKGState, now: float) -> int:
    """Lease the page whose turn it is and give its id; -1: there is none to poll."""
    while least_key(state.held) <= now and least_key(state.held) < math.inf:
        back = winner(state.held)
        set_key(state.held, back, math.inf)
        _enqueue(state, back)
    if least_key(state.queue) == math.inf:
        return -1
    page = winner(state.queue)
    set_key(state.queue, page, math.inf)
    common, own = state.shared[0], state.pages[page]
    common.clock = common.clock + common.step if common.step else max(common.clock, own.deadline)
    own.start = common.clock
    own.where = LEASED
    return page


@kernel
def _wake(state: LAKGState) -> float:
    """When a page can be selected again, if there is none now; infinite: not by time alone."""
    return least_key(state.held)


@kernel(forceinline=True)
def amount_lakg(state: LAKGState, page: int) -> float:
    """The amount of a page in the knapsack; 0 if there is no such page."""
    if not 0 <= page < len(state.pages):
        return 0.0
    return state.amounts[state.pages[page].state]


@kernel
def _learn(state: LAKGState, page: int, changed: bool) -> None:
    """Move the automaton of a page: up on a reward, down on none, as the load calls for it."""
    common, before = state.shared[0], state.pages[page].state
    full = common.load >= common.full
    if changed and not full:
        _set_state(state, page, min(before + 1, len(state.amounts) - 1))
    elif full and not changed:
        _set_state(state, page, max(before - 1, 1))


@kernel(forceinline=True)
def observe_lakg(state: LAKGState, observation: Any) -> None:
    """Take in one observation: it moves the automaton, ends the lease and sets the next turn.

    The observation of a page that is not leased sets no turn.
    """
    page = observation.page
    own = state.pages[page]
    if tells(observation, own.seen_at):
        if not math.isnan(own.seen_at):
            _learn(state, page, observation.outcome == _CHANGED)
        own.seen_at = observation.polled_at
    if own.where == LEASED:
        own.deadline = _next_turn(
            state.generator,
            page,
            state.amounts[own.state],
            own.deadline < 0.0,
            own.start,
            state.shared[0].clock,
        )
        _enqueue(state, page)


@kernel
def _defer(state: LAKGState, page: int, until: float) -> None:
    """It keeps its turn, and was no poll."""
    set_key(state.held, page, until)
    state.shared[0].clock -= state.shared[0].step


@kernel
def restore_pages(
    state: LAKGState,
    pages: NDArray[np.int64],
    states: NDArray[np.int64],
    seen_at: NDArray[np.float64],
    deadlines: NDArray[np.float64],
    clock: float,
) -> None:
    """Set the clock, and what was learned of pages; others keep their distance to the clock.

    Pages never given (deadline NaN) keep their turns, too.
    """
    common = state.shared[0]
    ahead = clock - common.clock
    common.clock = clock
    for page in range(len(state.pages)):
        own = state.pages[page]
        own.start += ahead
        if own.deadline >= 0.0:
            own.deadline += ahead
    for n in range(len(pages)):
        own = state.pages[pages[n]]
        own.seen_at = seen_at[n]
        if not math.isnan(deadlines[n]):
            own.deadline = deadlines[n]
        _set_state(state, pages[n], states[n])
    for page in range(len(state.pages)):
        if state.pages[page].where == READY:
            _enqueue(state, page)


register(LAKGState, Kernels(select_lakg, observe_lakg, _wake, _defer, amount_lakg))
