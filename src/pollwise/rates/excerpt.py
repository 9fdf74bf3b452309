"""The likelihoods of all rates, kept in few bytes: an excerpt.

The polls of a page tell apart rates of some octaves only. With far slower ones it would hardly ever
have changed, with far faster ones always, whichever they are: there the likelihood is level, or
falls in proportion to a power of the rate. So only the likelihoods of `SIDE_BY_SIDE` neighbouring
rates are all kept. In their middle is the centre of all that the likelihood rises and falls. Beyond
either end every fourth one is kept, up to the slowest and the fastest rate; between two of them the
likelihood is taken to be a power of the rate. So it may have a second peak far from the first: a
time that was told may be that of a change, or of the answer (`pollwise.policies.index.dates`).
The likelihoods are packed (`pollwise.rates.packed`), in the order of the rates; the number of the
first of the neighbours is kept as well.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pollwise.kernel_cache import kernel
from pollwise.rates.lattice import RATE_COUNT
from pollwise.rates.packed import number_of, pack

__all__ = [
    "EXCERPT_COUNT",
    "SIDE_BY_SIDE",
    "can_be_first",
    "excerpts_of",
    "keep_excerpt",
    "likelihood_of",
    "likelihoods_of",
]

SIDE_BY_SIDE = 40
"""How many neighbouring rates are all kept."""
_APART = 4
"""Beyond them one rate in so many is kept; the first neighbour is a multiple of it, too."""
EXCERPT_COUNT = SIDE_BY_SIDE + (RATE_COUNT - SIDE_BY_SIDE) // _APART

Codes = NDArray[np.uint16]
Floats = NDArray[np.float32]


@kernel(forceinline=True, allocates=False)
def _fill_between(likelihood: Floats, begin: int, code: Any, next_code: Any) -> None:
    """Fill in the likelihood of the rate `begin`, and those up to the one `_APART` rates after."""
    a = number_of(code)
    square = math.sqrt(number_of(next_code) / a)
    ratio = math.sqrt(square)
    likelihood[begin] = a
    likelihood[begin + 1] = a * ratio
    likelihood[begin + 2] = a * square
    likelihood[begin + 3] = a * square * ratio


@kernel(allocates=False)
def likelihood_of(codes: Codes, first: int, likelihood: Floats) -> None:
    """Fill in the likelihood of each rate from an excerpt whose neighbours begin with `first`."""
    begin: Any = np.int64(first)
    end: Any = begin + SIDE_BY_SIDE - 1
    slower = begin // _APART
    last = slower + SIDE_BY_SIDE - 1
    for n in range(slower):
        _fill_between(likelihood, n * _APART, codes[n], codes[n + 1])
    for j in range(SIDE_BY_SIDE):
        likelihood[begin + j] = number_of(codes[slower + j])
    for n in range((RATE_COUNT - 1 - end) // _APART):
        _fill_between(likelihood, end + n * _APART, codes[last + n], codes[last + n + 1])
    likelihood[RATE_COUNT - 1] = number_of(codes[EXCERPT_COUNT - 1])


@kernel(allocates=False)
def keep_excerpt(likelihood: Floats, codes: Codes, seed: int) -> int:
    """Fill in the excerpt of a likelihood, rounded at random by this seed.

    Gives the first of the neighbouring rates.
    """
    moved, moment = np.float32(0.0), np.float32(0.0)
    for j in range(1, RATE_COUNT):
        change = abs(likelihood[j] - likelihood[j - 1])
        moved += change
        moment += change * np.float32(j)
    centre = moment / moved if moved > np.float32(0.0) else np.float32(RATE_COUNT // 2)
    first = (int(centre) - SIDE_BY_SIDE // 2) // _APART * _APART
    first = min(max(first, 0), RATE_COUNT - SIDE_BY_SIDE)
    slower, end = first // _APART, first + SIDE_BY_SIDE
    faster = slower + SIDE_BY_SIDE
    pack(likelihood[:first:_APART], codes[:slower], seed + 1)
    pack(likelihood[first:end], codes[slower:faster], seed)
    pack(likelihood[end + _APART - 1 :: _APART], codes[faster:], seed + 2)
    return first


def can_be_first(first: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Whether these may be the first of the neighbouring rates."""
    return (first <= RATE_COUNT - SIDE_BY_SIDE) & (first % _APART == 0)


def excerpts_of(likelihoods: Any) -> tuple[Codes, NDArray[np.uint8]]:
    """The excerpts of likelihoods of all rates, one a row, and the first neighbour of each."""
    rows = np.asarray(likelihoods, np.float32)
    codes = np.zeros((len(rows), EXCERPT_COUNT), np.uint16)
    first = [keep_excerpt(row, own, 0) for row, own in zip(rows, codes, strict=True)]
    return codes, np.array(first, np.uint8)


def likelihoods_of(codes: Any, first: Any) -> Floats:
    """The likelihoods of all rates of excerpts, one a row."""
    likelihoods = np.zeros((len(codes), RATE_COUNT), np.float32)
    for own, begin, likelihood in zip(codes, first, likelihoods, strict=True):
        likelihood_of(own, begin, likelihood)
    return likelihoods
