"""A binary tree of twofold resource allocation automata (TRAA) with the pages below.

An automaton of resolution N divides what it is given between a left and a right part: in the state
s = 1..N, the left part has the share s / (N + 1), the right part the rest. What is left to a page
in the end is its amount. How states move is in `automata_tree`.

The tree is an array: node 1 is the root, nodes 2i and 2i + 1 are the parts of node i, and the last
half are the slots for pages. A node with pages on one side only is in the state N + 1 (left) or 0
(right) and passes everything on. So the tree is padded to the next power of two, and a page that
comes or goes changes one path; a tree whose nodes divide their pages evenly, the other way to have
any number of pages, would have to be built anew.

Everything counts in units of 1 / (N + 1), in integers. The functions are compiled.
"""

import math
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from pollwise.policies.heap import heap_remove

__all__ = [
    "ABSENT",
    "HELD",
    "LEASED",
    "NODE",
    "PAGE",
    "READY",
    "SHARED",
    "Nodes",
    "Pages",
    "ShareTree",
    "Shared",
    "add_pages",
    "amount_of",
    "amounts_of",
    "count_path",
    "doubled",
    "empty_tree",
    "remove_pages",
    "settle_all",
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

_GOLDEN_RATIO = (math.sqrt(5.0) - 1.0) / 2.0

Pages = NDArray[Any]
Shared = NDArray[Any]
Nodes = NDArray[Any]


class ShareTree(NamedTuple):
    """A tree of automata. Ids of pages are indices of `pages`."""

    pages: Pages  # of PAGE
    shared: Shared  # of SHARED, one element
    nodes: Nodes  # of NODE, twice as many as slots
    occupants: NDArray[np.int64]  # the page in each slot; -1: none
    held: NDArray[np.int64]  # heap by the time to come back


def empty_tree(slots: int, whole: int) -> tuple[Nodes, NDArray[np.int64]]:
    """The nodes and occupants of a tree without pages; `slots` is a power of two."""
    nodes = np.zeros(2 * slots, NODE)
    nodes["state"][:slots] = whole
    return nodes, np.full(slots, -1, np.int64)


def doubled(tree: ShareTree) -> ShareTree:
    """The same with twice the slots: the tree becomes the left part of a new root."""
    slots = len(tree.occupants)
    nodes, occupants = empty_tree(2 * slots, int(tree.shared["whole"][0]))
    first = 1
    while first <= slots:  # level by level
        nodes[2 * first : 3 * first] = tree.nodes[first : 2 * first]
        first *= 2
    for count in ("pages", "ready"):
        nodes[count][1] = tree.nodes[count][1]
    occupants[:slots] = tree.occupants
    return tree._replace(nodes=nodes, occupants=occupants)


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
def settle_all(tree: ShareTree) -> None:
    """Settle every node, whatever its state was."""
    for node in range(1, len(tree.occupants)):
        _settle(tree.nodes, node, tree.shared[0].whole)


@numba.njit(cache=True)
def _settle_path(tree: ShareTree, slot: int) -> None:
    node = (len(tree.occupants) + slot) >> 1
    while node > 0:
        _settle(tree.nodes, node, tree.shared[0].whole)
        node >>= 1


@numba.njit(cache=True)
def count_path(nodes: Nodes, slot: int, pages: int, ready: int) -> None:
    """Add to the counts on the path from a slot to the root."""
    node = len(nodes) // 2 + slot
    while node > 0:
        nodes[node].pages += pages
        nodes[node].ready += ready
        node >>= 1


@numba.njit(cache=True)
def _emptiest_slot(tree: ShareTree) -> int:
    """A free slot, in the part with fewer pages at each node; there must be one."""
    node, slots = 1, len(tree.occupants)
    while node < slots:
        node *= 2
        if tree.nodes[node + 1].pages < tree.nodes[node].pages:
            node += 1
    return node - slots


@numba.njit(cache=True)
def add_pages(tree: ShareTree, pages: NDArray[np.int64], slots: NDArray[np.int64]) -> None:
    """Put pages into free slots; -1: into the emptiest part of the tree."""
    for n in range(len(pages)):
        own = tree.pages[pages[n]]
        own.slot = slots[n] if slots[n] >= 0 else _emptiest_slot(tree)
        own.where = READY
        tree.occupants[own.slot] = pages[n]
        count_path(tree.nodes, own.slot, 1, 1)
    for page in pages:
        _settle_path(tree, tree.pages[page].slot)


@numba.njit(cache=True)
def remove_pages(tree: ShareTree, pages: NDArray[np.int64]) -> None:
    """Forget pages, wherever they are."""
    for page in pages:
        own = tree.pages[page]
        if own.where == ABSENT:
            continue
        if own.where == HELD:
            heap_remove(tree.held, tree.pages, page)
        tree.occupants[own.slot] = -1
        count_path(tree.nodes, own.slot, -1, -1 if own.where == READY else 0)
        _settle_path(tree, own.slot)
        own.where = ABSENT


@numba.njit(cache=True)
def amount_of(pages: Pages, shared: Shared, nodes: Nodes, page: int) -> float:
    """The amount of a page: the capacity times the shares on its path; 0 for ids without a page."""
    if not 0 <= page < len(pages) or pages[page].where == ABSENT:
        return 0.0
    whole = shared[0].whole
    # Numbers of whole and parts, divided once.
    units, parts = 1.0, 1.0
    part = len(nodes) // 2 + pages[page].slot
    while part > 1:
        left_share = nodes[part >> 1].state
        units *= left_share if part & 1 == 0 else whole - left_share
        parts *= whole
        part >>= 1
    return shared[0].capacity * (units / parts)


@numba.njit(cache=True)
def amounts_of(tree: ShareTree) -> NDArray[np.float64]:
    """The amounts by page id."""
    pages = tree.pages
    return np.array([amount_of(pages, tree.shared, tree.nodes, page) for page in range(len(pages))])
