"""The order in which to fetch a known web so that the relevance comes early.

Where a page can be fetched only after its parent in a tree, the order that maximises the integral
of recall over time is known (W. A. Horn, SIAM Journal on Applied Mathematics 23, 1972; J. B.
Sidney, Operations Research 23, 1975): always fetch next that part of a subtree, starting at its
root, which has the most relevance per fetch. This highest density is the Gittins index of the root
of the subtree, as an arm that brings new arms.

On the Web a page waits for *any* of those that link to it. Finding the best tree is a Steiner
problem. We begin with cheap paths, on which irrelevant pages cost most, and then alternate: find
the best order of the tree, then the tree in which the parent of every page is the first in that
order that links to it. The order fits the new tree, so no turn makes it worse. It ends where
nothing is gained: at the optimum on a tree, at a local one on other graphs (of 6,000 random webs of
up to 7 pages 99.7 % were solved, and the others reached at least 80 % of the optimum).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pollwise.kernel_cache import kernel
from pollwise.policies.structures.heap import (
    HEAP,
    first_page,
    first_time,
    heap_push,
    heap_remove,
    heap_size,
    heap_update,
    time_of,
)

__all__ = ["HornIndex", "horn_index"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_NODE = np.dtype([("place", np.int32)])
_ROOT, _UNREACHED = -1, -2
_FREE_ABOVE = 0.5
"""Pages with this share of the highest relevance cost nothing on the way to others."""
_EVERY_PAGE = 1e-3
"""What every page costs on the way, so that of equal paths the shortest is taken."""
_LEAST_GAIN = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class HornIndex:
    """How to fetch a known web.

    `order` has the ids of the pages that can be reached, first to last. By page id: `rank`, the
    place in that order (the number of pages for those that cannot be reached), and `density`, the
    relevance per fetch of the part that the page is fetched with (0 for those out of reach). Along
    the order the density never rises.
    """

    order: Ints
    rank: Ints
    density: Floats


def horn_index(relevance: Floats, offsets: Ints, targets: Ints, starts: Ints) -> HornIndex:
    """The order of fetching that brings the most relevance early, from what is known of a web.

    `relevance` by page id; the links of page i lead to `targets[offsets[i]:offsets[i + 1]]`;
    the pages `starts` can be fetched at once. Tens of millions of links take about a second.

    >>> relevance = np.array([0.0, 0.2, 0.0, 0.9])
    >>> offsets, targets = np.array([0, 2, 2, 3, 3]), np.array([1, 2, 3])
    >>> horn_index(relevance, offsets, targets, np.array([0])).order
    array([0, 2, 3, 1])
    """
    pages = len(relevance)
    worth = relevance / (_FREE_ABOVE * max(float(relevance.max(initial=0.0)), np.finfo(float).tiny))
    costs = np.maximum(1.0 - worth, 0.0) + _EVERY_PAGE
    order, parents = _cheapest_tree(costs, offsets, targets, starts)
    order, density = _decompose(relevance, parents, order)
    value = _value(relevance, order)
    while True:
        parents = _first_parents(order, offsets, targets, starts)
        better, densities = _decompose(relevance, parents, order)
        gained = _value(relevance, better) - value
        if not gained > _LEAST_GAIN * value:
            break
        order, density, value = better, densities, value + gained
    rank = np.full(pages, pages)
    rank[order] = np.arange(len(order))
    return HornIndex(order, rank, density)


def _value(relevance: Floats, order: Ints) -> float:
    """The integral of the sum of relevance over time."""
    return float(relevance[order] @ np.arange(len(order), 0, -1.0))


@kernel
def _cheapest_tree(costs: Floats, offsets: Ints, targets: Ints, starts: Ints) -> tuple[Ints, Ints]:
    """The pages by the cost of the cheapest path to them, and the parent of each on that path."""
    pages = len(costs)
    parents = np.full(pages, _UNREACHED)
    nodes = np.zeros(pages, _NODE)
    heap = np.zeros(pages + 1, HEAP)
    done = np.zeros(pages, np.bool_)
    order = np.empty(pages, np.int64)
    reached = 0
    for page in starts:
        if parents[page] == _UNREACHED:
            parents[page] = _ROOT
            heap_push(heap, nodes, page, costs[page])
    while heap_size(heap) > 0:
        page, cost = first_page(heap), first_time(heap)
        heap_remove(heap, nodes, page)
        done[page] = True
        order[reached] = page
        reached += 1
        for target in targets[offsets[page] : offsets[page + 1]]:
            if done[target]:
                continue
            if parents[target] == _UNREACHED:
                parents[target] = page
                heap_push(heap, nodes, target, cost + costs[target])
            elif cost + costs[target] < time_of(heap, nodes, target):
                parents[target] = page
                heap_update(heap, nodes, target, cost + costs[target])
    return order[:reached].copy(), parents


@kernel
def _first_parents(order: Ints, offsets: Ints, targets: Ints, starts: Ints) -> Ints:
    """The first page in the order that links to each page."""
    parents = np.full(len(offsets) - 1, _UNREACHED)
    parents[starts] = _ROOT
    for page in order:
        for target in targets[offsets[page] : offsets[page + 1]]:
            if parents[target] == _UNREACHED:
                parents[target] = page
    return parents


@kernel
def _block_of(blocks: Ints, page: int) -> int:
    """The first page of the block that a page is in."""
    while blocks[page] != page:
        blocks[page] = blocks[blocks[page]]
        page = blocks[page]
    return page


@kernel
def _decompose(relevance: Floats, parents: Ints, earlier: Ints) -> tuple[Ints, Floats]:
    """The best order for a tree, and the density by page.

    The densest block of all is either free to be fetched, and then comes next, or directly follows
    the block of its parent in some best order, and so is joined to it (Horn 1972). Pages that lead
    to no relevant one come last, in the order of `earlier`, which fits the tree.
    """
    pages = len(relevance)
    nodes = np.zeros(pages, _NODE)
    heap = np.zeros(pages + 1, HEAP)
    blocks, last = np.arange(pages), np.arange(pages)
    following = np.full(pages, -1)
    sums, sizes = relevance.copy(), np.ones(pages)
    queued, fetched = np.zeros(pages, np.bool_), np.zeros(pages, np.bool_)
    density = np.zeros(pages)
    order = np.empty(len(earlier), np.int64)
    count = 0
    for page in earlier:
        if relevance[page] > 0:
            queued[page] = True
            heap_push(heap, nodes, page, -relevance[page])
    while heap_size(heap) > 0:
        block, worth = first_page(heap), -first_time(heap)
        heap_remove(heap, nodes, block)
        parent = parents[block]
        if parent == _ROOT or fetched[parent]:
            page = block
            while page >= 0:
                fetched[page] = True
                density[page] = worth
                order[count] = page
                count += 1
                page = following[page]
            continue
        onto = _block_of(blocks, parent)
        blocks[block] = onto
        following[last[onto]] = block
        last[onto] = last[block]
        sums[onto] += sums[block]
        sizes[onto] += sizes[block]
        if queued[onto]:
            heap_update(heap, nodes, onto, -sums[onto] / sizes[onto])
        else:
            queued[onto] = True
            heap_push(heap, nodes, onto, -sums[onto] / sizes[onto])
    for page in earlier:
        if not fetched[page]:
            order[count] = page
            count += 1
    return order, density
