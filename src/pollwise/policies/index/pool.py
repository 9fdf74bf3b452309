"""The pool of the queue: the pages that are about due, and what each of them competes with.

The index of a page is worked out once in a step of the lattice of times (1 %), its belief, and the
shares of the rates in its index, once in a round of the prior, and all anew when what is known of
the page changes. The functions are compiled.
"""

import math
from typing import Any

from pollwise.kernel_cache import kernel
from pollwise.policies.index.belief import refresh_belief
from pollwise.policies.index.fields import site_of
from pollwise.policies.index.page_index import by_clock, index_of, mean_index, own_price
from pollwise.policies.index.state import POOL, IndexState
from pollwise.rates.lattice import put, time_step, time_until

__all__ = ["bid_of", "enter_pool", "forget_index", "leave_pool", "pool_bid"]


@kernel(forceinline=True, allocates=False)
def _believe_kept(state: IndexState, page: int) -> None:
    """Make the belief that of a page: the one that is kept, if it is in the pool."""
    own, common = state.pages[page], state.shared[0]
    if own.where != POOL:
        refresh_belief(state, page)
        return
    kept = common.kept[own.place]
    is_kept = kept.round == common.round
    if is_kept:
        put(common.belief, kept.belief)
        common.believed = page
    refresh_belief(state, page)
    if not is_kept:
        put(kept.belief, common.belief)
        kept.round, kept.only_ages = common.round, 0


@kernel(allocates=False)
def bid_of(state: IndexState, page: int, now: float) -> float:
    """What a page competes with: its index, at its own price."""
    _believe_kept(state, page)
    return index_of(state.pages, state.shared, page, now) / own_price(state, page)


@kernel(allocates=False)
def _look_at(state: IndexState, spot: int, now: float) -> None:
    """Work out the index of a page of the pool, and for how long it stays that."""
    common = state.shared[0]
    kept, page = common.kept[spot], common.pool[spot]
    own = state.pages[page]
    _believe_kept(state, page)
    kept.index, kept.since, kept.until = index_of(state.pages, state.shared, page, now), now, now
    # What moves by another clock is looked at each time.
    moves = own.signalled or common.overlap > 0.0 or common.surge > 0.0 or by_clock(own, common)
    kept.only_ages = 0
    if common.learning and now > own.seen_at and not moves and kept.index < math.inf:
        kept.until = own.seen_at + time_until(common.step)
        # What the clocks of other pages say of a dated one counts from its next look on.
        kept.only_ages = own.dates <= 0 or not common.late
        put(kept.shares, common.shares)
        kept.weight = common.weight


@kernel(forceinline=True, allocates=False)
def _move_on(kept: Any, common: Any, own: Any, now: float) -> None:
    """Work out the index of a page of the pool that has only aged since it was looked at."""
    step = time_step(now - own.seen_at)
    kept.index = mean_index(common, kept.shares, step) * kept.weight
    kept.since, kept.until = now, own.seen_at + time_until(step)


@kernel(forceinline=True, allocates=False)
def pool_bid(state: IndexState, spot: int, now: float, patience: float) -> float:
    """The bid of a page of the pool; pages that wait longer than `patience` are looked at anew."""
    common = state.shared[0]
    kept, own = common.kept[spot], state.pages[common.pool[spot]]
    elapsed, number = now - own.seen_at, site_of(state.kinds, own)
    surged = number >= 0 and kept.surges != state.sites[number].surges
    if surged or elapsed >= patience or not kept.since <= now < kept.until:
        is_known = kept.only_ages and kept.round == common.round and not surged
        if is_known and 0.0 < elapsed < patience:
            _move_on(kept, common, own, now)
        else:
            _look_at(state, spot, now)
    return kept.index / own_price(state, common.pool[spot])


@kernel(forceinline=True, allocates=False)
def forget_index(state: IndexState, page: int) -> None:
    """Have a page looked at anew, if it is in the pool."""
    if state.pages[page].where == POOL:
        kept = state.shared[0].kept[state.pages[page].place]
        kept.until, kept.round, kept.surges = -math.inf, -1, -1


@kernel(forceinline=True, allocates=False)
def enter_pool(state: IndexState, page: int) -> None:
    """Put a page that is nowhere into the pool, which must have room."""
    own, common = state.pages[page], state.shared[0]
    common.pool[common.pool_size] = page
    own.place = common.pool_size
    own.where = POOL
    common.pool_size += 1
    forget_index(state, page)


@kernel(forceinline=True, allocates=False)
def leave_pool(state: IndexState, page: int) -> None:
    """Take a page out of the pool."""
    common = state.shared[0]
    common.pool_size -= 1
    last = common.pool[common.pool_size]
    spot = state.pages[page].place
    common.pool[spot] = last
    common.kept[spot] = common.kept[common.pool_size]
    state.pages[last].place = spot
