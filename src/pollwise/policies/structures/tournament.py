"""A tournament of pages by key, whose winner has the smallest: compiled kernels.

A binary tree in an array: the second half are the pages, and every other node k >= 1 has the key
and the page of the smaller of the nodes 2k and 2k + 1, so that node 1 is the smallest of all. A
page that takes no part has the key infinity. Of equal keys, that of the smallest page id wins.

Where nearly every decision changes a key by much, this is faster than a heap: the way from leaf to
root has no branch that a processor could mispredict, and no load from memory waits for another.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pollwise.kernel_cache import kernel

__all__ = [
    "TOURNAMENT_NODE",
    "Tournament",
    "empty_tournament",
    "grown_tournament",
    "least_key",
    "set_key",
    "winner",
]

TOURNAMENT_NODE = np.dtype([("key", "f8"), ("page", "i8")])

Tournament = NDArray[Any]
"""Of TOURNAMENT_NODE."""


@kernel(forceinline=True)
def set_key(tree: Tournament, page: int, key: float) -> None:
    """Give a page a key; infinity: it takes no part."""
    node = len(tree) // 2 + page
    tree[node].key = key
    while node > 1:
        other = tree[node ^ 1]
        is_other = (other.key < key) | ((other.key == key) & (node & 1 == 1))
        # A conditional expression would be compiled to a branch.
        page += is_other * (other.page - page)
        key = min(key, other.key)
        node >>= 1
        tree[node].key = key
        tree[node].page = page


@kernel
def least_key(tree: Tournament) -> float:
    """The smallest key; infinity: no page takes part."""
    return tree[1].key


@kernel
def winner(tree: Tournament) -> int:
    """The page of the smallest key; any id if that is infinite."""
    return tree[1].page


def empty_tournament(room: int) -> Tournament:
    """A tournament for the page ids below `room`, a power of two, none of which takes part."""
    tree = np.zeros(2 * room, TOURNAMENT_NODE)
    tree["key"] = math.inf
    tree["page"][room:] = np.arange(room)
    return tree


def grown_tournament(tree: Tournament, pages: int) -> Tournament:
    """The tournament with room for all page ids below `pages`, and at least twice the room."""
    old = len(tree) // 2
    room = 1 << (max(pages, 2 * old, 2) - 1).bit_length()
    grown = empty_tournament(room)
    grown["key"][room : room + old] = tree["key"][old:]
    level = room
    while level > 1:
        level //= 2
        left, right = grown[2 * level : 4 * level].reshape(level, 2).T
        grown[level : 2 * level] = np.where(right["key"] < left["key"], right, left)
    return grown
