"""The likelihoods of all rates, kept in few bytes: an excerpt.

The polls of a page tell apart rates of some octaves only. With far slower ones it would hardly ever
have changed, with far faster ones always, whichever they are: there the likelihood is level, or
falls in proportion to a power of the rate. So only the likelihoods of `_SIDE_BY_SIDE` neighbouring
rates are kept, packed (`pollwise.rates.packed`), and the number of the first of them. In their
middle is the centre of all that the likelihood rises and falls. Beyond either end it goes on as it
does there, down to that of the slowest or the fastest rate. These two are kept as well: by them a
page is followed whose rate is suddenly another one by far.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pollwise.kernel_cache import kernel
from pollwise.rates.lattice import RATE_COUNT
from pollwise.rates.packed import number_of, pack
from pollwise.rates.posterior import FLOOR

__all__ = ["EXCERPT_COUNT", "excerpts_of", "keep_excerpt", "likelihood_of", "likelihoods_of"]

_SIDE_BY_SIDE = 48
EXCERPT_COUNT = _SIDE_BY_SIDE + 2
_TOGETHER = 4
"""Excerpts begin at every fourth rate, so that what is beyond is filled in by so many at once."""
_LEVEL = np.float32(0.99)
"""What falls by less than this from one rate to the next is level: it may be due to packing."""

Codes = NDArray[np.uint16]
Floats = NDArray[np.float32]


@kernel(forceinline=True, allocates=False)
def _go_on(likelihood: Floats, last: int, step: int, count: int, least: Any) -> None:
    """Fill in the `count` likelihoods after the last one that is known, going on by -1 or by 1.

    None is below `least`, that of the last of them.
    """
    a = likelihood[last]
    ratio = a / max(likelihood[last - step], FLOOR)
    if ratio > _LEVEL:
        a = max(a, least)
        for n in range(1, count + 1):
            likelihood[last + n * step] = a
        return
    square = ratio * ratio
    b, c, d = max(a * ratio, least), max(a * square, least), max(a * square * ratio, least)
    power = square * square
    a = max(a * power, least)
    for n in range(0, count, _TOGETHER):
        likelihood[last + (n + 1) * step] = b
        likelihood[last + (n + 2) * step] = c
        likelihood[last + (n + 3) * step] = d
        likelihood[last + (n + 4) * step] = a
        a, b = max(a * power, least), max(b * power, least)
        c, d = max(c * power, least), max(d * power, least)


@kernel(allocates=False)
def likelihood_of(codes: Codes, first: int, likelihood: Floats) -> None:
    """Fill in the likelihood of each rate from an excerpt that begins with the rate `first`."""
    begin: Any = np.int64(first)
    end: Any = begin + _SIDE_BY_SIDE - 1
    for j in range(_SIDE_BY_SIDE):
        likelihood[begin + j] = number_of(codes[j])
    slowest, fastest = number_of(codes[_SIDE_BY_SIDE]), number_of(codes[_SIDE_BY_SIDE + 1])
    _go_on(likelihood, begin, -1, begin, slowest)
    _go_on(likelihood, end, 1, RATE_COUNT - 1 - end, fastest)


@kernel(allocates=False)
def keep_excerpt(likelihood: Floats, codes: Codes, seed: int) -> int:
    """Fill in the excerpt of a likelihood, rounded at random by this seed; gives its first rate."""
    moved, moment = np.float32(0.0), np.float32(0.0)
    for j in range(1, RATE_COUNT):
        change = abs(likelihood[j] - likelihood[j - 1])
        moved += change
        moment += change * np.float32(j)
    centre = moment / moved if moved > np.float32(0.0) else np.float32(RATE_COUNT // 2)
    first = (int(centre) - _SIDE_BY_SIDE // 2) // _TOGETHER * _TOGETHER
    first = min(max(first, 0), RATE_COUNT - _SIDE_BY_SIDE)
    pack(likelihood[first : first + _SIDE_BY_SIDE], codes[:_SIDE_BY_SIDE], seed)
    pack(likelihood[:1], codes[_SIDE_BY_SIDE : _SIDE_BY_SIDE + 1], seed + 1)
    pack(likelihood[RATE_COUNT - 1 :], codes[_SIDE_BY_SIDE + 1 :], seed + 2)
    return first


def excerpts_of(likelihoods: Any) -> tuple[Codes, NDArray[np.uint8]]:
    """The excerpts of likelihoods of all rates, one a row, and the first rate of each."""
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
