"""A binary tree of twofold resource allocation automata (TRAA) with pages as its leaves.

An automaton of resolution N divides what it is given between a left and a right part: in the state
s = 1..N, the shares of the two parts are as s^λ to (N + 1 - s)^λ. Linear ones (λ = 1) are
s / (N + 1) and the rest; larger λ have finer steps near 0 and 1. What is left to a page in the end
is its amount. How states move is in `htraa_kernels`. Automata may be the finer, the higher they
are: each has `growth` times the resolution of its children.

The tree is an array: node 1 is the root, nodes 2i and 2i + 1 are the parts of node i, and the last
half are the slots for pages. A node with pages on one side only is in the state N + 1 (left) or 0
(right) and passes everything on. So the tree is padded to the next power of two, and a page that
comes or goes changes one path; a tree whose nodes divide their pages evenly would have to be built
anew.

An untaught automaton divides by the numbers of pages in its parts. What the automaton has learned
is a factor on these odds, which stays when pages come or go: so an untaught tree stays uniform, new
pages begin with the mean of their part, and what removed pages had goes to all others in
proportion. This is exact to N states: a part has at least the share of state 1.

Shares count in whole units: of 1 / (N + 1) if they are linear, which is exact, else of 2^-30. The
functions are compiled.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pollwise.kernel_cache import kernel
from pollwise.policies.arrays import ABSENT, HELD, READY, typed_once
from pollwise.policies.structures.heap import heap_remove
from pollwise.policies.structures.spreading import spread

__all__ = [
    "FINE_UNITS",
    "HTRAA_PAGE",
    "HTRAA_SHARED",
    "HTRAAState",
    "Nodes",
    "add_pages",
    "count_path",
    "doubled",
    "empty_tree",
    "left_units",
    "put_back",
    "remove_pages",
    "units",
]

FINE_UNITS = 2**30
"""How many units shares that are not linear add up to."""
_LARGEST_WHOLE = 10**9 + 1

HTRAA_PAGE = np.dtype(
    [
        ("polled_at", "f8"),  # time of the latest poll or of the copy at hand; NaN: neither
        ("place", "i4"),  # in held
        ("slot", "i8"),
        ("where", "i8"),
    ]
)
"""What is kept of each page."""

HTRAA_NODE = np.dtype(
    [
        ("state", "i4"),
        ("whole", "i4"),  # N + 1
        ("credit", "i4"),  # of the left part, in the units of shares
        ("pages", "i4"),  # below
        ("ready", "i4"),  # pages below that are neither leased nor held
    ]
)
"""A node of the tree; a slot is one without an automaton."""

HTRAA_SHARED = np.dtype(
    [
        ("whole", "i8"),  # N + 1 of the automata above pages
        ("growth", "f8"),  # N of an automaton by that of its children
        ("exponent", "f8"),  # λ
        ("moves_on_reward", "i8"),  # 1 or 0, as the next three
        ("moves_on_penalty", "i8"),
        ("climbs_always", "i8"),
        ("by_deadline", "i8"),
        ("capacity", "f8"),
    ]
)
"""What all pages share."""

Nodes = NDArray[Any]
"""Of HTRAA_NODE."""


@typed_once
class HTRAAState(NamedTuple):
    """The state of H-TRAA: a tree of automata. Ids of pages are indices of `pages`."""

    pages: NDArray[Any]  # of HTRAA_PAGE
    shared: NDArray[Any]  # of HTRAA_SHARED, one element
    nodes: Nodes  # twice as many as slots
    occupants: NDArray[np.int64]  # the page in each slot; -1: none
    held: NDArray[Any]  # heap by the time to come back
    generator: np.random.Generator


def empty_tree(slots: int, shared: NDArray[Any]) -> tuple[Nodes, NDArray[np.int64]]:
    """The nodes and occupants of a tree without pages; `slots` is a power of two.

    Of `shared` (see HTRAA_SHARED) it takes the resolution of the lowest automata and the growth.
    """
    nodes = np.zeros(2 * slots, HTRAA_NODE)
    (common,) = shared
    first, resolution = slots // 2, float(common["whole"] - 1)
    while first > 0:  # level by level, from the lowest
        nodes["whole"][first : 2 * first] = min(round(resolution) + 1, _LARGEST_WHOLE)
        resolution = min(resolution * common["growth"], float(_LARGEST_WHOLE))
        first //= 2
    nodes["state"][:slots] = nodes["whole"][:slots]
    return nodes, np.full(slots, -1, np.int64)


@kernel
def units(own: Any, exponent: float) -> int:
    """How many units the shares of a node add up to."""
    return own.whole if exponent == 1.0 else FINE_UNITS


@kernel
def left_units(own: Any, exponent: float) -> int:
    """The share of the left part of a node, in units."""
    if exponent == 1.0:
        return own.state
    left, right = float(own.state) ** exponent, float(own.whole - own.state) ** exponent
    share = int(FINE_UNITS * (left / (left + right)) + 0.5)
    if 0 < own.state < own.whole:
        return min(max(share, 1), FINE_UNITS - 1)
    return share


def doubled(state: HTRAAState) -> HTRAAState:
    """The same with twice the slots: the tree becomes the left part of a new root."""
    slots = len(state.occupants)
    nodes, occupants = empty_tree(2 * slots, state.shared)
    first = 1
    while first <= slots:  # level by level
        nodes[2 * first : 3 * first] = state.nodes[first : 2 * first]
        first *= 2
    for count in ("pages", "ready"):
        nodes[count][1] = state.nodes[count][1]
    occupants[:slots] = state.occupants
    return state._replace(nodes=nodes, occupants=occupants)


@kernel
def _untaught(left: float, right: float, whole: int, exponent: float) -> int:
    """The state nearest to the ratio of the numbers of pages."""
    if exponent != 1.0:
        left, right = left ** (1.0 / exponent), right ** (1.0 / exponent)
    return min(max(int(whole * (left / (left + right)) + 0.5), 1), whole - 1)


@kernel
def _settle(nodes: Nodes, node: int, exponent: float, left_before: int, right_before: int) -> None:
    """Let a node divide if it has pages on both sides, else pass everything on.

    If it divided before, its odds keep their ratio to those of an untaught node; the latter are
    rounded to states, so that an untaught node stays untaught. The credit of a node that begins to
    divide says when in its cycle each part is polled. It is spread, so that nodes that begin
    together do not poll their smaller parts in bursts.
    """
    own, left, right = nodes[node], nodes[2 * node].pages, nodes[2 * node + 1].pages
    whole = own.whole
    if left == 0 or right == 0:
        own.state = whole if right == 0 else 0
        own.credit = 0
        return
    after = _untaught(float(left), float(right), whole, exponent)
    if own.state == 0 or own.state == whole:
        own.state = after
        own.credit = int(spread(node - 1) * units(own, exponent)) - left_units(own, exponent)
        return
    before = _untaught(float(left_before), float(right_before), whole, exponent)
    if after != before:
        odds_for = float(own.state) * after * (whole - before)
        odds_against = float(whole - own.state) * (whole - after) * before
        share = odds_for / (odds_for + odds_against)
        own.state = min(max(int(whole * share + 0.5), 1), whole - 1)


@kernel
def _settle_paths(state: HTRAAState, slots: NDArray[np.int64], count: int) -> None:
    """Settle the nodes above slots, in rising order, each of which got `count` pages (1 or -1)."""
    nodes, exponent = state.nodes, state.shared[0].exponent
    parts = slots + len(state.occupants)
    while parts[0] > 1:  # level by level
        n = 0
        while n < len(parts):
            node = parts[n] >> 1
            left, right = nodes[2 * node].pages, nodes[2 * node + 1].pages
            while n < len(parts) and parts[n] >> 1 == node:
                if parts[n] & 1 == 0:
                    left -= count
                else:
                    right -= count
                n += 1
            _settle(nodes, node, exponent, left, right)
        parts >>= 1


@kernel
def _settle_all(state: HTRAAState) -> None:
    """Settle every node whose state does not fit its pages."""
    for node in range(1, len(state.occupants)):
        left, right = state.nodes[2 * node].pages, state.nodes[2 * node + 1].pages
        _settle(state.nodes, node, state.shared[0].exponent, left, right)


@kernel
def count_path(nodes: Nodes, slot: int, pages: int, ready: int) -> None:
    """Add to the counts on the path from a slot to the root."""
    node = len(nodes) // 2 + slot
    while node > 0:
        nodes[node].pages += pages
        nodes[node].ready += ready
        node >>= 1


@kernel
def _emptiest_slot(state: HTRAAState) -> int:
    """A free slot, in the part with fewer pages at each node; there must be one."""
    node, slots = 1, len(state.occupants)
    while node < slots:
        node *= 2
        if state.nodes[node + 1].pages < state.nodes[node].pages:
            node += 1
    return node - slots


@kernel
def _place(state: HTRAAState, pages: NDArray[np.int64], slots: NDArray[np.int64]) -> None:
    for n in range(len(pages)):
        own = state.pages[pages[n]]
        own.slot = slots[n] if slots[n] >= 0 else _emptiest_slot(state)
        state.occupants[own.slot] = pages[n]
        count_path(state.nodes, own.slot, 1, 1 if own.where == READY else 0)


@kernel
def _displace(state: HTRAAState, pages: NDArray[np.int64]) -> None:
    for page in pages:
        own = state.pages[page]
        if own.where == HELD:
            heap_remove(state.held, state.pages, page)
        state.occupants[own.slot] = -1
        count_path(state.nodes, own.slot, -1, -1 if own.where == READY else 0)
        own.where = ABSENT


def add_pages(state: HTRAAState, pages: NDArray[np.int64], slots: NDArray[np.int64]) -> None:
    """Take up pages, at least one, into free slots; -1: into the emptiest part of the tree."""
    state.pages["where"][pages] = READY
    _place(state, pages, slots)
    _settle_paths(state, np.sort(state.pages["slot"][pages]), 1)


def put_back(state: HTRAAState, pages: NDArray[np.int64], slots: NDArray[np.int64]) -> None:
    """Put all pages, wherever they are, into an empty tree whose nodes have learned.

    `slots` are as in `add_pages`. What was learned of a node holds if it has pages on both sides.
    """
    _place(state, pages, slots)
    _settle_all(state)


def remove_pages(state: HTRAAState, pages: NDArray[np.int64]) -> None:
    """Forget pages that are there; each may be given several times."""
    if len(pages) > 0:
        pages = np.unique(pages)
        _displace(state, pages)
        _settle_paths(state, np.sort(state.pages["slot"][pages]), -1)
