"""The belief in a page's change rate: what a poll now is expected to find.

Two models of a page are kept side by side. In the first it has one rate that at most drifts: all
its polls together make the likelihood of the rate (`pollwise.rates.posterior`). In the second it
changes in bursts: every time between two changes, a *spell*, has a rate of its own, drawn from
those of the page's earlier spells and of all pages (a Dirichlet process with two pseudo-spells of
all pages). So a page that has just changed is expected to change again soon, and ever less the
longer it has not. Each page has log-odds of the second model against the first, by how well each
has predicted its polls. The belief is the mixture of the two, a distribution over the rates of the
lattice, so the index is still an expectation.

Pages that were added later than the first may be new ones, and new pages change most at first.
Until a change of such a page was seen it is *young*: its spell is taken to have begun when it was
added, and for its first four polls odds are added, which are learned from all young pages. The
functions are compiled.
"""

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from pollwise.kernel_cache import kernel
from pollwise.policies.index.clock_share import clock_lift
from pollwise.policies.index.evidence import spells_of_page
from pollwise.policies.index.prior import burst_share, weigh_rates
from pollwise.policies.index.sites import look_at_site
from pollwise.policies.index.state import (
    RATES_TOGETHER,
    SPELL_COUNT,
    UNCHANGED_TABLE,
    IndexState,
)
from pollwise.rates.lattice import RATE_COUNT, lattice_row, put, time_step
from pollwise.rates.packed import LANES, NUMBERS, place_of
from pollwise.rates.sums import normalise, total_of

__all__ = ["form_belief", "judge_bursts", "note_copy", "refresh_belief", "refresh_models"]

_COMMON_SPELLS = 2.0
"""Pseudo-spells of all pages that those of a page are added to."""
_NEVER_NONE = 1e-30
_MOST_ODDS = 8.0
_MOST_EVIDENCE = 3.0
"""How much one poll may move the odds: one that neither model would have expected is no proof."""
_YOUNG_ODDS = (-3.0, 5.0)
_YOUNG_SHARE = 0.5
"""How much a poll counts for all young pages, compared with its own one."""

Floats = NDArray[np.float32]


def _spread_spells(
    context: Any, own: Any, together: Any, pseudo: Any, spells: Any, survived: Any, weights: Any
) -> Any:
    """Fill in weights of (own / together + pseudo) * spells * survived.

    The first two are of rates taken together, the others of all rates.
    """

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds = signature.args

        def place(number: int, at: int) -> Any:
            start = ir.Constant(ir.IntType(64), at)
            return place_of(context, builder, kinds[number], arguments[number], start, NUMBERS)

        def load(number: int, at: int) -> Any:
            return builder.load(place(number, at), align=1)

        single = ir.Constant(NUMBERS, ir.Undefined)
        single = builder.insert_element(single, arguments[2], ir.Constant(ir.IntType(32), 0))
        order = ir.VectorType(ir.IntType(32), LANES)
        pseudo = builder.shuffle_vector(single, single, ir.Constant(order, [0] * LANES))
        for n in range(0, SPELL_COUNT, LANES):
            factors = builder.fadd(builder.fdiv(load(0, n), load(1, n)), pseudo)
            for part in range(RATES_TOGETHER):
                begin = part * LANES
                taken = [(begin + lane) // RATES_TOGETHER for lane in range(LANES)]
                factor = builder.shuffle_vector(factors, factors, ir.Constant(order, taken))
                at = n * RATES_TOGETHER + begin
                weight = builder.fmul(builder.fmul(factor, load(3, at)), load(4, at))
                builder.store(weight, place(5, at), align=1)
        return context.get_dummy_value()

    return types.none(own, together, types.float32, spells, survived, weights), build


_spread: Any = intrinsic(_spread_spells)


@kernel(allocates=False)
def _weigh_all_spells(common: Any) -> None:
    """Work out what beliefs need of the spells of all pages, once until these change."""
    put(common.all_spells, common.spells)
    common.pseudo = np.float32(_COMMON_SPELLS / total_of(common.spells))
    for n in range(SPELL_COUNT):
        together = np.float32(_NEVER_NONE)
        for j in range(n * RATES_TOGETHER, (n + 1) * RATES_TOGETHER):
            together += common.all_spells[j]
        common.together[n] = together


@kernel(forceinline=True, allocates=False)
def _weigh_spells(state: IndexState, page: int, weights: Floats) -> None:
    """Fill in the probability of each rate of the present spell."""
    own, common = state.pages[page], state.shared[0]
    lasted = time_step(max(own.spell, 1e-6))
    survived = lattice_row(common.tables[UNCHANGED_TABLE], lasted)
    if common.pseudo == 0.0:
        _weigh_all_spells(common)
    spells_of_page(state, page, common.own_spells)
    _spread(common.own_spells, common.together, common.pseudo, common.all_spells, survived, weights)
    normalise(weights)


@kernel(allocates=False)
def note_copy(own: Any, time: float) -> None:
    """Make a time that of the copy of a page; its spell goes on."""
    if not math.isnan(own.seen_at):
        own.spell = max(own.spell + time - own.seen_at, 0.0)
    else:
        own.spell = 0.0 if math.isnan(own.spell) else max(time - own.spell, 0.0)
    own.seen_at = time


@kernel(allocates=False)
def judge_bursts(state: IndexState, page: int, better: float) -> None:
    """Learn from a poll, which bursts predicted better by this logarithm of a ratio."""
    own, common = state.pages[page], state.shared[0]
    better = min(max(better, -_MOST_EVIDENCE), _MOST_EVIDENCE)
    own.burst_odds = min(max(own.burst_odds + better, -_MOST_ODDS), _MOST_ODDS)
    if own.young:
        least, most = _YOUNG_ODDS
        common.young_odds = min(max(common.young_odds + _YOUNG_SHARE * better, least), most)


@kernel(allocates=False)
def _believe(state: IndexState, page: int) -> None:
    """Work out both models of a page that has a copy, and the belief."""
    common = state.shared[0]
    weigh_rates(state, page, common.steady)
    _weigh_spells(state, page, common.bursts)
    share = np.float32(burst_share(state, page))
    for j in range(RATE_COUNT):
        common.belief[j] = common.steady[j] + share * (common.bursts[j] - common.steady[j])
    common.believed = common.modelled = page


@kernel(forceinline=True, allocates=False)
def refresh_belief(state: IndexState, page: int) -> None:
    """Make the belief that of this page, and take in what others have taught about it since.

    Nothing is believed of a page without a copy.
    """
    own, common = state.pages[page], state.shared[0]
    if not common.learning:
        common.rate = state.apart[page].rate
        return
    if math.isnan(own.seen_at):
        return
    if common.believed != page:
        _believe(state, page)
    common.clock_lift = clock_lift(state, page)
    common.signal = np.float32(0.0)
    if own.signalled:
        told = state.apart[page]
        common.signal, common.signalled = told.signal, told.signalled_at - own.seen_at
    look_at_site(state, page)


@kernel(forceinline=True, allocates=False)
def form_belief(state: IndexState, page: int) -> None:
    """The same for a page of which more is known than at its last look."""
    state.shared[0].believed = -1
    refresh_belief(state, page)


@kernel(forceinline=True, allocates=False)
def refresh_models(state: IndexState, page: int) -> None:
    """The same as `refresh_belief`, with both models at hand."""
    refresh_belief(state, page)
    if state.shared[0].modelled != page:
        _believe(state, page)
