"""What a fetch led to: the relevance per fetch of the best part of its discovery tree.

A page that brings links is an arm that brings arms. Its Gittins index is the highest relevance per
fetch that a part of its subtree, beginning with itself, can have (W. A. Horn, SIAM Journal on
Applied Mathematics 23, 1972; J. B. Sidney, Operations Research 23, 1975). Learned from past
fetches, it makes gates worth fetching that are not relevant themselves; J. Rennie, A. McCallum
(ICML 1999) learn a discounted return for the same purpose.
"""

import numpy as np
from numpy.typing import NDArray

from pollwise.kernel_cache import kernel

__all__ = ["subtree_densities"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@kernel
def _meld(density: Floats, left: Ints, right: Ints, one: int, two: int) -> int:
    """Two skew heaps as one; -1 is the empty heap."""
    if one < 0:
        return two
    if two < 0:
        return one
    if density[two] > density[one]:
        one, two = two, one
    top = one
    while True:
        below = right[one]
        right[one] = left[one]
        if below < 0:
            left[one] = two
            return top
        if density[two] > density[below]:
            below, two = two, below
        left[one] = below
        one = below


@kernel
def subtree_densities(relevance: Floats, parents: Ints) -> Floats:
    """The highest relevance per page of a part of each page's subtree that includes the page.

    `parents` has the place in these arrays of each page's discoverer, which comes before it; -1:
    none.

    >>> subtree_densities(np.array([0.0, 0.0, 0.9, 0.1]), np.array([-1, 0, 1, 1]))
    array([0.3 , 0.45, 0.9 , 0.1 ])
    """
    pages = len(relevance)
    density, sums, sizes = relevance.copy(), relevance.copy(), np.ones(pages)
    left, right, heap = np.full(pages, -1), np.full(pages, -1), np.full(pages, -1)
    for page in range(pages - 1, -1, -1):
        rest = heap[page]
        while rest >= 0 and density[rest] * sizes[page] > sums[page]:
            block = rest
            sums[page] += sums[block]
            sizes[page] += sizes[block]
            rest = _meld(density, left, right, left[block], right[block])
            rest = _meld(density, left, right, rest, heap[block])
        heap[page] = rest
        density[page] = sums[page] / sizes[page]
        left[page] = right[page] = -1
        if parents[page] >= 0:
            heap[parents[page]] = _meld(density, left, right, heap[parents[page]], page)
    return density
