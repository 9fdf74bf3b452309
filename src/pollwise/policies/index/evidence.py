"""What the polls of a page have told of its rate: in full, or as a summary.

In full it is an excerpt of the likelihood of each rate (`pollwise.rates.excerpt`) and the page's
spells. There is room in full for a bounded number of pages, `IN_FULL`. Of very many pages those
have it that have been seen to change most often: a page that finds no room of its own looks at one
place, drawn at random, and takes it if the page there has changed less often. All others are summed
up in a sixth of the bytes (`pollwise.rates.summary`). The functions are compiled.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pollwise.kernel_cache import kernel
from pollwise.policies.index.state import (
    NEW,
    RATES_TOGETHER,
    SPELL_COUNT,
    SUMMED_SPELLS,
    IndexState,
)
from pollwise.policies.structures.prefetch import prefetch
from pollwise.rates.excerpt import keep_excerpt, likelihood_of
from pollwise.rates.lattice import RATE_COUNT
from pollwise.rates.packed import LANES, chance_of, fill_eight, number_of, pack
from pollwise.rates.summary import (
    NEAREST,
    chance_to_round_up,
    likelihood_of_summary,
    round_root,
    square_of,
    summarise,
)

__all__ = [
    "IN_FULL",
    "fetch_evidence",
    "forget_evidence",
    "keep_likelihood",
    "keep_spells",
    "leave_spot",
    "likelihood_of_page",
    "make_room",
    "spells_of_page",
    "take_evidence",
    "tell_evidence",
]

IN_FULL = 1 << 16
"""Pages whose evidence is kept in full, at most: 10 MB."""
_MOST_SPELLS = 160.0
"""In a part of a summary; of more the proportions are kept."""
_TOGETHER = SPELL_COUNT // SUMMED_SPELLS
_RATES_SUMMED = RATES_TOGETHER * _TOGETHER
_NEVER_NONE = np.float32(1e-30)
_SPELLS_SEED = 0x5BD1E995

Bytes = NDArray[np.uint8]
Codes = NDArray[np.uint16]
Floats = NDArray[np.float32]


@kernel(forceinline=True, allocates=False)
def _spot_of(state: IndexState, page: int) -> int:
    """Where the evidence of a page is kept in full; -1: nowhere."""
    own = state.pages[page]
    return -1 if own.where == NEW else int(own.spot)


@kernel(forceinline=True, allocates=False)
def _clear_summary(state: IndexState, page: int) -> None:
    if page < len(state.summaries):
        state.summaries[page].depths[:] = 0
        state.summaries[page].spells[:] = 0


@kernel(forceinline=True, allocates=False)
def leave_spot(state: IndexState, page: int) -> None:
    """Give the room for evidence in full back; nothing is known of the page then."""
    own = state.pages[page]
    if own.spot >= 0:
        state.evidence[own.spot].holder = -1
        own.spot = -1
        _clear_summary(state, page)  # one from before it had that room


@kernel(nogil=True, allocates=False)
def forget_evidence(state: IndexState, pages: NDArray[np.int64]) -> None:
    """Forget what the polls of pages have told; none of them stands in line."""
    for page in pages:
        leave_spot(state, page)
        _clear_summary(state, page)


@kernel(forceinline=True, allocates=False)
def likelihood_of_page(state: IndexState, page: int, likelihood: Floats) -> None:
    """Fill in the likelihood of each rate, given all polls of a page."""
    own, spot = state.pages[page], _spot_of(state, page)
    if spot >= 0:
        likelihood_of(state.evidence[spot].likelihood, own.first_rate, likelihood)
    elif page < len(state.summaries):
        likelihood_of_summary(state.summaries[page].depths, own.first_rate, likelihood)
    else:
        for j in range(RATE_COUNT):
            likelihood[j] = np.float32(1.0)


@kernel(allocates=False)
def _spread_spells(state: IndexState, page: int, spells: Floats) -> None:
    """Fill in the spells of a summary: within its parts they are spread like those of all pages."""
    common = state.shared[0]
    for n in range(SUMMED_SPELLS):
        total = _NEVER_NONE
        for j in range(n * _RATES_SUMMED, (n + 1) * _RATES_SUMMED):
            total += np.float32(common.spells[j])
        scale = square_of(state.summaries[page].spells[n], _MOST_SPELLS) / total
        for m in range(n * _TOGETHER, (n + 1) * _TOGETHER):
            part = np.float32(0.0)
            for j in range(m * RATES_TOGETHER, (m + 1) * RATES_TOGETHER):
                part += np.float32(common.spells[j])
            spells[m] = scale * part


@kernel(forceinline=True, allocates=False)
def spells_of_page(state: IndexState, page: int, spells: Floats) -> None:
    """Fill in how many times between changes of a page passed at these rates."""
    spot = _spot_of(state, page)
    if spot >= 0:
        codes = state.evidence[spot].spells
        for n in range(0, SPELL_COUNT, LANES):
            fill_eight(codes, n, spells, n)
    elif page < len(state.summaries):
        _spread_spells(state, page, spells)
    else:
        for n in range(SPELL_COUNT):
            spells[n] = np.float32(0.0)


@kernel(allocates=False)
def keep_likelihood(state: IndexState, page: int, likelihood: Floats, seed: int) -> None:
    """Keep the likelihood of a page that has room for it, rounded at random by this seed."""
    own = state.pages[page]
    if own.spot >= 0:
        own.first_rate = keep_excerpt(likelihood, state.evidence[own.spot].likelihood, seed)
    else:
        own.first_rate = summarise(likelihood, state.summaries[page].depths, seed)


@kernel(forceinline=True, allocates=False)
def _summed(spells: Floats, part: int) -> Any:
    """The spells in one part of a summary."""
    total = np.float32(0.0)
    for n in range(part * _TOGETHER, (part + 1) * _TOGETHER):
        total += spells[n]
    return total


@kernel(allocates=False)
def keep_spells(state: IndexState, page: int, spells: Floats, seed: int) -> None:
    """The same for its spells."""
    spot = state.pages[page].spot
    if spot >= 0:
        pack(spells, state.evidence[spot].spells, seed)
        return
    most = np.float32(_MOST_SPELLS)
    for n in range(SUMMED_SPELLS):
        most = max(most, _summed(spells, n))
    scale = _MOST_SPELLS / most
    for n in range(SUMMED_SPELLS):
        part, chance = float(_summed(spells, n) * scale), chance_to_round_up(seed, n)
        state.summaries[page].spells[n] = round_root(part, _MOST_SPELLS, chance)


@kernel(allocates=False)
def _move(state: IndexState, page: int, spot: int, seed: int) -> None:
    """Keep the evidence of a page at another place: in full, or (-1) as a summary."""
    common = state.shared[0]
    likelihood, spells = common.likely, common.own_spells
    likelihood_of_page(state, page, likelihood)
    spells_of_page(state, page, spells)
    leave_spot(state, page)
    state.pages[page].spot = spot
    if spot >= 0:
        state.evidence[spot].holder = page
    keep_likelihood(state, page, likelihood, seed)
    keep_spells(state, page, spells, seed ^ _SPELLS_SEED)


@kernel(allocates=False)
def make_room(state: IndexState, page: int, seed: int) -> None:
    """See that there is room for the evidence of a page, in full if it has changed often."""
    own = state.pages[page]
    if own.spot >= 0:
        return
    spot: Any = np.int64(page)
    if page >= len(state.evidence) or state.evidence[page].holder >= 0:
        spot = np.int64(chance_of(seed, page) * len(state.evidence))
    holder = state.evidence[spot].holder
    if holder >= 0:
        if state.pages[holder].changes >= own.changes:
            return
        _move(state, holder, -1, seed)
    _move(state, page, spot, seed)


@kernel(forceinline=True, allocates=False)
def _copy(codes: Codes, target: Codes) -> None:
    for n in range(len(codes)):
        target[n] = codes[n]


@kernel(nogil=True, allocates=False)
def tell_evidence(
    state: IndexState, pages: NDArray[np.int64], codes: Codes, first: Bytes, spells: Codes
) -> None:
    """Fill in the excerpts of pages, their first rates and the spells, packed."""
    common = state.shared[0]
    for i, page in enumerate(pages):
        spot = _spot_of(state, page)
        if spot >= 0:
            full = state.evidence[spot]
            first[i] = state.pages[page].first_rate
            _copy(full.likelihood, codes[i])
            _copy(full.spells, spells[i])
        else:
            likelihood_of_page(state, page, common.likely)
            first[i] = keep_excerpt(common.likely, codes[i], page)
            spells_of_page(state, page, common.own_spells)
            pack(common.own_spells, spells[i], page)


@kernel(nogil=True, allocates=False)
def take_evidence(
    state: IndexState, pages: NDArray[np.int64], codes: Codes, first: Bytes, spells: Codes
) -> None:
    """Keep what was told in the same form."""
    common = state.shared[0]
    for i, page in enumerate(pages):
        make_room(state, page, page)
        own = state.pages[page]
        if own.spot >= 0:
            full = state.evidence[own.spot]
            own.first_rate = first[i]
            _copy(codes[i], full.likelihood)
            _copy(spells[i], full.spells)
        else:
            likelihood_of(codes[i], first[i], common.likely)
            own.first_rate = summarise(common.likely, state.summaries[page].depths, NEAREST)
            for n in range(SPELL_COUNT):
                common.own_spells[n] = number_of(spells[i, n])
            keep_spells(state, page, common.own_spells, NEAREST)


@kernel(forceinline=True, allocates=False)
def fetch_evidence(state: IndexState, page: int) -> None:
    """Fetch the evidence of a page from memory, as it will be needed soon."""
    if page < len(state.evidence):
        prefetch(state.evidence, page)  # most likely there
    else:
        prefetch(state.summaries, page)
