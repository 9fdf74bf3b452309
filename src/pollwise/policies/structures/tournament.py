"""A tournament of pages by key, whose winner has the smallest: compiled kernels.

A binary tree in an array: the second half has the pages' keys, and every other node k >= 1 is the
smaller of the nodes 2k and 2k + 1, so that node 1 is the smallest of all. A page that takes no part
has the key infinity. Of equal keys, that of the smallest page id wins.

Where nearly every decision changes a key by much, this is faster than a heap: the ways from leaf to
root and back have no branch that a processor could mispredict. The functions are compiled into
their callers (`inline`), because passing arrays between compiled functions costs more than all the
rest.
"""

import math

import numpy as np
from numpy.typing import NDArray

from pollwise.kernel_cache import kernel

__all__ = ["Tournament", "grown_tournament", "set_key", "winner"]

Tournament = NDArray[np.float64]


@kernel(inline="always")
def set_key(tree: Tournament, page: int, key: float) -> None:
    """Give a page a key; infinity: it takes no part."""
    node = len(tree) // 2 + page
    tree[node] = key
    least = key
    while node > 1:
        other = tree[node ^ 1]
        least = other if other < least else least
        node >>= 1
        tree[node] = least


@kernel(inline="always")
def winner(tree: Tournament) -> int:
    """The page of the smallest key, which is `tree[1]`; any id if that is infinite."""
    least = tree[1]
    node, leaves = 1, len(tree) // 2
    while node < leaves:
        node *= 2
        node += tree[node] != least
    return node - leaves


def grown_tournament(tree: Tournament, pages: int) -> Tournament:
    """The tournament with room for all page ids below `pages`, and at least twice the room."""
    old = len(tree) // 2
    room = 1 << (max(pages, 2 * old, 2) - 1).bit_length()
    grown = np.full(2 * room, math.inf)
    grown[room : room + old] = tree[old:]
    level = room
    while level > 1:
        level //= 2
        grown[level : 2 * level] = grown[2 * level : 4 * level].reshape(level, 2).min(axis=1)
    return grown
