"""A binary tree of twofold resource allocation automata (TRAA), and polls by the shares they learn.

A TRAA divides what it is given between a left and a right part. Of resolution N, it is in one of
the states s = 1..N and gives the left part the share r = s / (N + 1), the right part 1 - r. A poll
that finds a change is a reward for the part polled. With probability 1 minus its share, that part
is given 1 / (N + 1) more after a reward, or 1 / (N + 1) less where there was none, within 1..N.
Left is polled with frequency r and finds a change with probability p, right with 1 - r and p'. So
either rule alone makes r drift, per poll, by r (1 - r) / (N + 1) times

    reward:  p - p'              no reward:  (1 - p') - (1 - p) = p - p'

which vanishes where p = p', as at the optimum of the nonlinear knapsack. (With probability r in
the place of 1 - r after no reward, it would vanish where r² (1 - p) = (1 - r)² (1 - p').) By the
same account inner nodes need no more: given that a poll goes to a part, it rewards with the mean
of p_i(x_i) over that part, weighted by amounts.

The tree is an array: node 1 is the root, nodes 2i and 2i + 1 are the parts of node i, and the last
half are the slots for pages. A node with pages on one side only is in the state N + 1 (left) or 0
(right): it passes everything on and never moves, because the other side has no share. So the tree
is padded to the next power of two; pages that come and go then change one path, while a tree split
evenly at every node (the other way to have any number of pages) would have to be built anew.

All amounts change with every move near the root, so no queue can hold deadlines in order. Instead
each node polls the part whose deadline is earlier. Either part has a credit that grows by its
share whenever the node is visited, and pays 1 when it is polled: its next deadline is
(1 - credit) / share visits away. Both credits add up to the same at all times, here 0, so one
number c is kept, the left credit, and left is earlier where (1 - c) / r <= (1 + c) / (1 - r), that
is c >= 1 - 2 r. c then stays between -r and 1 - r: after any number of visits, either part has had
its share of them to within one. Everything counts in units of 1 / (N + 1), in integers, so nothing
is ever rounded. Deadlines must follow the amounts: those set for good at the latest poll starve a
page whose amount was once very small.

The functions are compiled; a decision takes time logarithmic in the number of pages.
"""

import math
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from pollwise.policies.heap import heap_push, heap_remove
from pollwise.types import Outcome

__all__ = [
    "NODE",
    "PAGE",
    "SHARED",
    "HTRAAState",
    "add_pages",
    "amount_htraa",
    "amounts_htraa",
    "defer_pages",
    "doubled",
    "empty_tree",
    "observe_htraa",
    "observe_pages",
    "remove_pages",
    "select_htraa",
    "select_pages",
    "settle_all",
    "wake_htraa",
]

ABSENT, READY, HELD, LEASED = range(4)
"""Where a page is."""

PAGE = np.dtype(
    [
        ("polled_at", "f8"),  # time of the latest poll or of the copy at hand; NaN: neither
        ("key", "f8"),  # held: when to come back
        ("place", "i8"),  # in held
        ("slot", "i8"),
        ("where", "i8"),
    ]
)
"""What is kept of each page."""

NODE = np.dtype(
    [
        ("state", "i4"),  # the left share, in units of 1 / whole
        ("credit", "i4"),  # of the left part, in the same units
        ("pages", "i4"),  # below
        ("ready", "i4"),  # pages below that are neither leased nor held
    ]
)
"""A node of the tree; a slot is one without state and credit."""

SHARED = np.dtype(
    [
        ("whole", "i8"),  # N + 1
        ("moves_on_reward", "i8"),  # 1 or 0, as the next two
        ("moves_on_penalty", "i8"),
        ("by_deadline", "i8"),
        ("capacity", "f8"),
    ]
)
"""What all pages share."""

_CHANGED, _UNCHANGED = int(Outcome.CHANGED), int(Outcome.UNCHANGED)
_GOLDEN_RATIO = (math.sqrt(5.0) - 1.0) / 2.0

Nodes = NDArray[Any]


class HTRAAState(NamedTuple):
    """The state of a tree of automata. Ids of pages are indices of `pages`."""

    pages: NDArray[Any]  # of PAGE
    shared: NDArray[Any]  # of SHARED, one element
    nodes: Nodes  # of NODE, twice as many as slots
    occupants: NDArray[np.int64]  # the page in each slot; -1: none
    held: NDArray[np.int64]  # heap by the time to come back
    generator: np.random.Generator


def empty_tree(slots: int, whole: int) -> tuple[Nodes, NDArray[np.int64]]:
    """The nodes and occupants of a tree without pages; `slots` is a power of two."""
    nodes = np.zeros(2 * slots, NODE)
    nodes["state"][:slots] = whole
    return nodes, np.full(slots, -1, np.int64)


def doubled(state: HTRAAState) -> HTRAAState:
    """The same with twice the slots: the tree becomes the left part of a new root."""
    slots = len(state.occupants)
    nodes, occupants = empty_tree(2 * slots, int(state.shared["whole"][0]))
    first = 1
    while first <= slots:  # level by level
        nodes[2 * first : 3 * first] = state.nodes[first : 2 * first]
        first *= 2
    for count in ("pages", "ready"):
        nodes[count][1] = state.nodes[count][1]
    occupants[:slots] = state.occupants
    return state._replace(nodes=nodes, occupants=occupants)


@numba.njit(cache=True)
def _settle(nodes: Nodes, node: int, whole: int) -> None:
    """Let a node divide if it has pages on both sides, and pass on if it has not.

    A node that begins to divide does so by the numbers of pages. Its credit, which says when in
    the cycle of the node each part is polled, is a multiple of the golden ratio, of which any
    number in sequence are spread evenly (Knuth, The Art of Computer Programming, volume 3, section
    6.4): nodes that begin together do not poll their smaller parts together, in bursts.
    """
    own, left, right = nodes[node], nodes[2 * node].pages, nodes[2 * node + 1].pages
    if left == 0 or right == 0:
        own.state = whole if right == 0 else 0
        own.credit = 0
    elif own.state == 0 or own.state == whole:
        nearest = math.floor(whole * (left / (left + right)) + 0.5)
        own.state = min(max(nearest, 1), whole - 1)
        own.credit = int(node * _GOLDEN_RATIO % 1.0 * whole) - own.state


@numba.njit(cache=True)
def settle_all(state: HTRAAState) -> None:
    """Settle every node, whatever its state was."""
    for node in range(1, len(state.occupants)):
        _settle(state.nodes, node, state.shared[0].whole)


@numba.njit(cache=True)
def _settle_path(state: HTRAAState, slot: int) -> None:
    node = (len(state.occupants) + slot) >> 1
    while node > 0:
        _settle(state.nodes, node, state.shared[0].whole)
        node >>= 1


@numba.njit(cache=True)
def _count(state: HTRAAState, slot: int, pages: int, ready: int) -> None:
    """Add to the counts on the path from a slot to the root."""
    node = len(state.occupants) + slot
    while node > 0:
        state.nodes[node].pages += pages
        state.nodes[node].ready += ready
        node >>= 1


@numba.njit(cache=True)
def _emptiest_slot(state: HTRAAState) -> int:
    """A free slot, in the part with fewer pages at each node; there must be one."""
    node, slots = 1, len(state.occupants)
    while node < slots:
        node *= 2
        if state.nodes[node + 1].pages < state.nodes[node].pages:
            node += 1
    return node - slots


@numba.njit(cache=True)
def add_pages(state: HTRAAState, pages: NDArray[np.int64], slots: NDArray[np.int64]) -> None:
    """Put pages into free slots; -1: into the emptiest part of the tree."""
    for n in range(len(pages)):
        own = state.pages[pages[n]]
        own.slot = slots[n] if slots[n] >= 0 else _emptiest_slot(state)
        own.where = READY
        state.occupants[own.slot] = pages[n]
        _count(state, own.slot, 1, 1)
    for page in pages:
        _settle_path(state, state.pages[page].slot)


@numba.njit(cache=True)
def remove_pages(state: HTRAAState, pages: NDArray[np.int64]) -> None:
    """Forget pages, wherever they are."""
    for page in pages:
        own = state.pages[page]
        if own.where == ABSENT:
            continue
        if own.where == HELD:
            heap_remove(state.held, state.pages, page)
        state.occupants[own.slot] = -1
        _count(state, own.slot, -1, -1 if own.where == READY else 0)
        _settle_path(state, own.slot)
        own.where = ABSENT


@numba.njit(cache=True)
def _is_left_next(state: HTRAAState, node: int) -> bool:
    """Which part of a node is polled next; one without pages to poll is passed over."""
    own, common = state.nodes[node], state.shared[0]
    if state.nodes[2 * node].ready == 0:
        return False
    if state.nodes[2 * node + 1].ready == 0:
        return True
    if common.by_deadline:
        return own.credit >= common.whole - 2 * own.state
    return state.generator.random() * common.whole < own.state


@numba.njit(cache=True)
def _visit(nodes: Nodes, node: int, whole: int, is_left: bool, visits: int) -> None:
    """Keep account of visits to a part (-1: of one that is taken back).

    A part that was passed over is owed one poll when it is back, not all that it missed.
    """
    own = nodes[node]
    credit = own.credit + visits * (own.state - (whole if is_left else 0))
    own.credit = min(max(credit, -whole), whole)


@numba.njit(cache=True)
def select_htraa(state: HTRAAState, now: float) -> int:
    """Lease the next page and give its id; -1: there is none to poll."""
    pages, nodes, whole = state.pages, state.nodes, state.shared[0].whole
    while state.held[0] > 0 and pages[state.held[1]].key <= now:
        back = state.held[1]
        heap_remove(state.held, pages, back)
        pages[back].where = READY
        _count(state, pages[back].slot, 0, 1)
    if nodes[1].ready == 0:
        return -1
    node, slots = 1, len(state.occupants)
    while node < slots:
        is_left = _is_left_next(state, node)
        _visit(nodes, node, whole, is_left, 1)
        nodes[node].ready -= 1
        node = 2 * node if is_left else 2 * node + 1
    nodes[node].ready = 0
    page = state.occupants[node - slots]
    pages[page].where = LEASED
    return int(page)


@numba.njit(cache=True)
def select_pages(state: HTRAAState, now: float, limit: int) -> NDArray[np.int64]:
    """Lease up to `limit` pages."""
    selected = np.empty(min(limit, state.nodes[1].pages), np.int64)
    count = 0
    while count < len(selected):
        page = select_htraa(state, now)
        if page < 0:
            break
        selected[count] = page
        count += 1
    return selected[:count]


@numba.njit(cache=True)
def wake_htraa(state: HTRAAState) -> float:
    """When a page can be selected again, if there is none now; infinite: not by time alone."""
    return state.pages[state.held[1]].key if state.held[0] > 0 else math.inf


@numba.njit(cache=True)
def _teach(state: HTRAAState, slot: int, changed: bool) -> None:
    """Let the automata on the path from a slot to the root take in a poll."""
    whole = state.shared[0].whole
    part = len(state.occupants) + slot
    while part > 1:
        node = state.nodes[part >> 1]
        is_left = part & 1 == 0
        other_share = whole - node.state if is_left else node.state
        moved = node.state + (1 if is_left == changed else -1)
        if 0 < moved < whole and state.generator.random() * whole < other_share:
            node.state = moved
        part >>= 1


@numba.njit(cache=True)
def observe_htraa(
    state: HTRAAState, page: int, polled_at: float, outcome: int, last_changed_at: float
) -> None:
    """Take in one observation and end the lease.

    The first poll of a page without a copy says nothing of change. `last_changed_at` is taken so
    that all policies are told in the same way.
    """
    own, common = state.pages[page], state.shared[0]
    if own.where == ABSENT:
        return
    if outcome == _CHANGED or outcome == _UNCHANGED:  # noqa: SIM109 (tuples are slow here)
        changed = outcome == _CHANGED
        moves = common.moves_on_reward if changed else common.moves_on_penalty
        if moves and polled_at > own.polled_at:
            _teach(state, own.slot, changed)
        if not polled_at <= own.polled_at:
            own.polled_at = polled_at
    if own.where == LEASED:
        own.where = READY
        _count(state, own.slot, 0, 1)


@numba.njit(cache=True)
def observe_pages(
    state: HTRAAState,
    pages: NDArray[np.int64],
    polled_at: NDArray[np.float64],
    outcome: NDArray[np.int64],
    last_changed_at: NDArray[np.float64],
) -> None:
    """Take in observations, in the order given."""
    for n in range(len(pages)):
        observe_htraa(state, pages[n], polled_at[n], outcome[n], last_changed_at[n])


@numba.njit(cache=True)
def defer_pages(state: HTRAAState, pages: NDArray[np.int64], until: float) -> None:
    """Give leased pages back unpolled, as if they had not been selected; they stay away."""
    whole = state.shared[0].whole
    for page in pages:
        own = state.pages[page]
        if own.where != LEASED:
            continue
        own.where = HELD
        heap_push(state.held, state.pages, page, until)
        part = len(state.occupants) + own.slot
        while part > 1:
            _visit(state.nodes, part >> 1, whole, part & 1 == 0, -1)
            part >>= 1


@numba.njit(cache=True)
def amount_htraa(state: HTRAAState, page: int) -> float:
    """The amount of a page: the capacity times the shares on its path; 0 where there is none."""
    if not 0 <= page < len(state.pages) or state.pages[page].where == ABSENT:
        return 0.0
    whole = state.shared[0].whole
    # Numbers of whole and parts, divided once.
    units, parts = 1.0, 1.0
    part = len(state.occupants) + state.pages[page].slot
    while part > 1:
        left_share = state.nodes[part >> 1].state
        units *= left_share if part & 1 == 0 else whole - left_share
        parts *= whole
        part >>= 1
    return state.shared[0].capacity * units / parts


@numba.njit(cache=True)
def amounts_htraa(state: HTRAAState) -> NDArray[np.float64]:
    """The amounts by page id."""
    return np.array([amount_htraa(state, page) for page in range(len(state.pages))])
