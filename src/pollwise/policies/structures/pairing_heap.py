"""A heap of pages by value for each host: compiled kernels.

Pairing heaps (M. L. Fredman, R. Sedgewick, D. D. Sleator, R. E. Tarjan, Algorithmica 1, 1986),
whose links stand in the fields `child`, `sibling` and `before` of the pages (-1: none), so any
number of hosts and pages needs no space of its own. The root is the page of the highest `value`.
"""

from typing import Any

from numpy.typing import NDArray

from pollwise.kernel_cache import kernel

__all__ = ["meld", "taken_out"]

Pages = NDArray[Any]


@kernel(allocates=False)
def meld(pages: Pages, one: int, two: int) -> int:
    """The root of two heaps put together; -1 is an empty heap."""
    if one < 0:
        return two
    if two < 0:
        return one
    if pages[two].value > pages[one].value:
        one, two = two, one
    pages[two].before = one
    pages[two].sibling = pages[one].child
    if pages[one].child >= 0:
        pages[pages[one].child].before = two
    pages[one].child = two
    return one


@kernel(allocates=False)
def _in_pairs(pages: Pages, first: int) -> int:
    """The root of the heaps of a page and its siblings put together."""
    done = -1
    while first >= 0:
        second = pages[first].sibling
        rest = -1
        if second >= 0:
            rest = pages[second].sibling
            pages[second].sibling = pages[second].before = -1
        pages[first].sibling = pages[first].before = -1
        root = meld(pages, first, second)
        pages[root].sibling = done
        done, first = root, rest
    root = -1
    while done >= 0:
        rest = pages[done].sibling
        pages[done].sibling = -1
        root = meld(pages, root, done)
        done = rest
    return root


@kernel(allocates=False)
def taken_out(pages: Pages, root: int, page: int) -> int:
    """The root of the heap without one of its pages."""
    below = _in_pairs(pages, pages[page].child)
    before, sibling = pages[page].before, pages[page].sibling
    if before >= 0:
        if pages[before].child == page:
            pages[before].child = sibling
        else:
            pages[before].sibling = sibling
        if sibling >= 0:
            pages[sibling].before = before
        below = meld(pages, root, below)
    pages[page].child = pages[page].sibling = pages[page].before = -1
    return below
