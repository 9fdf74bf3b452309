"""How a tree of automata decides which page is next, and how it learns from a poll.

A twofold resource allocation automaton (TRAA) in the state s gives the left part the share r, in
the linear case s / (N + 1). A poll that finds a change is a reward for the part polled. With
probability 1 minus its share, the state moves by 1 towards that part after a reward, or away from
it where there was none, as long as s stays in 1..N. Left is polled with frequency r and finds a
change with probability p, right with 1 - r and p'. So per poll either rule makes s drift by
r (1 - r) times

    reward:  p - p'              no reward:  (1 - p') - (1 - p) = p - p'

which vanishes where p = p', as at the optimum of the nonlinear knapsack. (A move after no reward
with the probability of the share itself would settle where r² (1 - p) = (1 - r)² (1 - p').) The
same holds for inner nodes: a poll of a part pays the mean of its p_i(x_i), weighted by amounts. If
an automaton that has not moved keeps a poll from those above it, these hear the less, the more
lopsided it is, and settle where what they hear of their two parts is alike.

All amounts change with every move near the root, so no queue can keep deadlines in order. Instead
each node polls the part whose deadline is earlier. Each part has a credit that grows by its share
whenever the node is visited, and pays 1 when it is polled: its next deadline is
(1 - credit) / share visits away. The two credits always add up to 0, so only the left credit c is
kept, and left is earlier where (1 - c) / r <= (1 + c) / (1 - r), that is c >= 1 - 2 r. Then c stays
between -r and 1 - r: after any number of visits, each part has had its share of them to within one.
So deadlines follow the amounts. If each were fixed at the latest poll, a page whose amount was tiny
just then would starve; on the web, where a page goes on changing while it waits, moves after no
reward alone bring nearly all pages to that.

The functions are compiled; a decision takes time logarithmic in the number of pages.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pollwise.kernel_cache import kernel
from pollwise.policies.arrays import ABSENT, LEASED, READY, tells
from pollwise.policies.automata.share_tree import (
    HTRAAState,
    Nodes,
    count_path,
    left_units,
    units,
)
from pollwise.policies.compiled import Kernels, register
from pollwise.policies.structures.heap import (
    first_page,
    first_time,
    heap_push,
    heap_remove,
    heap_size,
)
from pollwise.types import Outcome

__all__ = [
    "amount_htraa",
    "amounts_of",
    "observe_htraa",
    "select_htraa",
]

_CHANGED = int(Outcome.CHANGED)


@kernel
def _is_left_next(state: HTRAAState, node: int) -> bool:
    """Whether the left part of a node is polled next; one without pages to poll is passed over."""
    own, common = state.nodes[node], state.shared[0]
    if state.nodes[2 * node].ready == 0:
        return False
    if state.nodes[2 * node + 1].ready == 0:
        return True
    whole, left = units(own, common.exponent), left_units(own, common.exponent)
    if common.by_deadline:
        return own.credit >= whole - 2 * left
    return state.generator.random() * whole < left


@kernel
def _visit(nodes: Nodes, node: int, exponent: float, is_left: bool, visits: int) -> None:
    """Account for visits to a part (-1: for one that is taken back).

    A part that was passed over is owed one poll when it is back, not all that it missed.
    """
    own = nodes[node]
    whole = units(own, exponent)
    credit = own.credit + visits * (left_units(own, exponent) - (whole if is_left else 0))
    own.credit = min(max(credit, -whole), whole)


@kernel(forceinline=True)
def select_htraa(state: HTRAAState, now: float) -> int:
    """Lease the next page and give its id; -1: there is none to poll."""
    pages, nodes, exponent = state.pages, state.nodes, state.shared[0].exponent
    while heap_size(state.held) > 0 and first_time(state.held) <= now:
        back = first_page(state.held)
        heap_remove(state.held, pages, back)
        pages[back].where = READY
        count_path(nodes, pages[back].slot, 0, 1)
    if nodes[1].ready == 0:
        return -1
    node, slots = 1, len(state.occupants)
    while 0 < node < slots:  # that no index is below 0 spares checks of it
        is_left = _is_left_next(state, node)
        _visit(nodes, node, exponent, is_left, 1)
        nodes[node].ready -= 1
        node = 2 * node if is_left else 2 * node + 1
    nodes[node].ready = 0
    page = state.occupants[node - slots]
    pages[page].where = LEASED
    return int(page)


@kernel
def _wake(state: HTRAAState) -> float:
    """When a page can be selected again, if there is none now; infinite: not by time alone."""
    return first_time(state.held) if heap_size(state.held) > 0 else math.inf


@kernel
def _teach(state: HTRAAState, slot: int, changed: bool) -> None:
    """Let the automata on the path from a slot to the root take in a poll."""
    common = state.shared[0]
    part = len(state.occupants) + slot
    while part > 1:
        node = state.nodes[part >> 1]
        is_left = part & 1 == 0
        whole, left = units(node, common.exponent), left_units(node, common.exponent)
        moved = node.state + (1 if is_left == changed else -1)
        within = 0 < moved < node.whole
        if within and state.generator.random() * whole < (whole - left if is_left else left):
            node.state = moved
        elif 0 < node.state < node.whole and not common.climbs_always:
            return
        part >>= 1


@kernel(forceinline=True)
def observe_htraa(state: HTRAAState, observation: Any) -> None:
    """Take in one observation and end the lease.

    The first poll of a page without a copy says nothing of change.
    """
    own, common = state.pages[observation.page], state.shared[0]
    if tells(observation, own.polled_at):
        changed = observation.outcome == _CHANGED
        moves = common.moves_on_reward if changed else common.moves_on_penalty
        if moves and not math.isnan(own.polled_at):
            _teach(state, own.slot, changed)
        own.polled_at = observation.polled_at
    if own.where == LEASED:
        own.where = READY
        count_path(state.nodes, own.slot, 0, 1)


@kernel
def _defer(state: HTRAAState, page: int, until: float) -> None:
    """As if it had not been selected."""
    heap_push(state.held, state.pages, page, until)
    part = len(state.occupants) + state.pages[page].slot
    while part > 1:
        _visit(state.nodes, part >> 1, state.shared[0].exponent, part & 1 == 0, -1)
        part >>= 1


@kernel(forceinline=True)
def amount_htraa(state: HTRAAState, page: int) -> float:
    """The amount of a page: the capacity times the shares on its path; 0 for ids without a page."""
    pages, nodes, exponent = state.pages, state.nodes, state.shared[0].exponent
    if not 0 <= page < len(pages) or pages[page].where == ABSENT:
        return 0.0
    # One division at the end instead of one at each node.
    share, parts = 1.0, 1.0
    part = len(nodes) // 2 + pages[page].slot
    while part > 1:
        node = nodes[part >> 1]
        whole, left = units(node, exponent), left_units(node, exponent)
        share *= left if part & 1 == 0 else whole - left
        parts *= whole
        part >>= 1
    return state.shared[0].capacity * (share / parts)


@kernel
def amounts_of(state: HTRAAState) -> NDArray[np.float64]:
    """The amounts by page id, with room for more."""
    return np.array([amount_htraa(state, page) for page in range(len(state.pages))])


register(HTRAAState, Kernels(select_htraa, observe_htraa, _wake, _defer, amount_htraa))
