"""The line of pages never observed: compiled functions on a ring with gaps."""

import numpy as np
from numpy.typing import NDArray

from pollwise.kernel_cache import kernel
from pollwise.policies.index.state import NEW, IndexState

__all__ = ["head_of_line", "join_line", "straighten_line"]


@kernel
def straighten_line(state: IndexState, line: NDArray[np.int64]) -> None:
    """Move the line, without its gaps, to the start of another ring."""
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


@kernel
def join_line(state: IndexState, page: int) -> None:
    """Put a page that is nowhere at the end of the line."""
    common = state.shared[0]
    if common.new_size == len(state.line):
        line = np.full(len(state.line), -1, np.int64)
        straighten_line(state, line)
        for n in range(len(line)):
            state.line[n] = line[n]
    spot = (common.first_new + common.new_size) % len(state.line)
    state.line[spot] = page
    state.pages[page].place = spot
    state.pages[page].where = NEW
    common.new_size += 1


@kernel(allocates=False)
def head_of_line(state: IndexState) -> int:
    """The next page in line; -1: none. Drops those that have left the line."""
    common = state.shared[0]
    while common.new_size > 0:
        page = state.line[common.first_new]
        if page >= 0:
            return int(page)
        common.first_new = (common.first_new + 1) % len(state.line)
        common.new_size -= 1
    return -1
