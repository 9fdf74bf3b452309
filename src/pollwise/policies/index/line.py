"""The line of pages never observed: compiled functions on a list, linked both ways.

Pages in line have no evidence in full: where that would be is the link to the page after.
"""

from pollwise.kernel_cache import kernel
from pollwise.policies.arrays import LEASED
from pollwise.policies.index.evidence import leave_spot
from pollwise.policies.index.state import NEW, IndexState

__all__ = ["head_of_line", "join_line", "leave_line"]


@kernel(allocates=False)
def join_line(state: IndexState, page: int) -> None:
    """Put a page that is nowhere at the end of the line."""
    own, common = state.pages[page], state.shared[0]
    leave_spot(state, page)
    own.where = NEW
    if common.new_size > 0:
        own.place = common.last_new
        state.pages[common.last_new].spot = page
    else:
        own.place = -1
        common.first_new = page
    common.last_new = page
    common.new_size += 1


@kernel(allocates=False)
def leave_line(state: IndexState, page: int) -> None:
    """Take a page out of the line: it is leased."""
    own, common = state.pages[page], state.shared[0]
    if own.place >= 0:
        state.pages[own.place].spot = own.spot
    else:
        common.first_new = own.spot
    if own.spot >= 0:
        state.pages[own.spot].place = own.place
    else:
        common.last_new = own.place
    own.where, own.spot = LEASED, -1
    common.new_size -= 1


@kernel(forceinline=True, allocates=False)
def head_of_line(state: IndexState) -> int:
    """The next page in line; -1: none."""
    common = state.shared[0]
    return int(common.first_new) if common.new_size > 0 else -1
