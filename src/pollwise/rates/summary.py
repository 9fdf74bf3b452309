"""The likelihoods of all rates in a few bytes: a summary, for pages of which little is known.

Between the rates of a page that is seldom polled its likelihood bends gently. So only every fourth
rate has a *knot*, and only the knots of some octaves are kept, those where the likelihood rises and
falls. At each it is known by how many bits it lies below its maximum, the *depth*; near the maximum
steps are small, far below they are wide. Between knots the depth is a cubic through the four
beside it (Catmull and Rom, "A class of local interpolating splines", 1974); beyond them it goes on
in a straight line. The knots of the rates stay where they are when others are kept, so a poll errs
by the rounding of a depth only. That is random, for many small steps to add up
(`pollwise.rates.packed`). All bytes are 0 where nothing is known.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pollwise.kernel_cache import kernel
from pollwise.rates.lattice import RATE_COUNT
from pollwise.rates.packed import chance_of, float_of_bits

__all__ = ["KNOT_COUNT", "likelihood_of_summary", "round_root", "square_of", "summarise"]

KNOT_COUNT = 12
_APART = 4
_KNOTS = RATE_COUNT // _APART
_DEEPEST = 24.0
"""Bits below the maximum; it takes many polls to tell more."""
_LAST = 255

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]


@kernel(forceinline=True, allocates=False)
def square_of(root: Any, largest: float) -> Any:
    """The number of a code for 0 to `largest`, whose root it is."""
    part = np.float32(root) * np.float32(math.sqrt(largest) / _LAST)
    return part * part


@kernel(forceinline=True, allocates=False)
def round_root(number: float, largest: float, chance: float) -> int:
    """The code of a number: up with this chance where it lies between two, else the one below."""
    exact = math.sqrt(min(max(number, 0.0), largest)) * (_LAST / math.sqrt(largest))
    low = min(int(exact), _LAST - 1)
    # Between the squares, for the mean to be the number itself.
    below, above = float(low * low), float((low + 1) * (low + 1))
    return low + (exact * exact - below > (1.0 - chance) * (above - below))


@kernel(forceinline=True, allocates=False)
def _power_of_two(exponent: Any) -> Any:
    """2 to this power, of -120 to 0, as a 32-bit float to one part in 10,000."""
    whole = np.int32(exponent + np.float32(128.0)) - np.int32(128)
    part = exponent - np.float32(whole)
    bits = np.uint32(np.int32(whole + np.int32(127)) << np.int32(23))
    cubic = np.float32(0.69518) + part * (np.float32(0.22620) + part * np.float32(0.07862))
    return float_of_bits(bits) * (np.float32(1.0) + part * cubic)


@kernel(allocates=False)
def likelihood_of_summary(depths: Bytes, first_rate: int, likelihood: Floats) -> None:
    """Fill in the likelihood of each rate from the depths at the knots from this rate on."""
    begin: Any = np.int64(first_rate) // _APART
    last = begin + KNOT_COUNT - 1
    a = square_of(depths[0], _DEEPEST)
    c = square_of(depths[1], _DEEPEST)
    fall = (c - a) / np.float32(_APART)
    for j in range(begin * _APART):
        likelihood[j] = a + fall * np.float32(j - begin * _APART)
    before, here, after = a + a - c, a, c
    for n in range(KNOT_COUNT - 1):
        beyond = after + after - here
        if n + 2 < KNOT_COUNT:
            beyond = square_of(depths[n + 2], _DEEPEST)
        place = (begin + n) * _APART
        slope = np.float32(0.5) * (after - before)
        square = before - np.float32(2.5) * here + np.float32(2.0) * after
        square -= np.float32(0.5) * beyond
        cubic = np.float32(0.5) * (beyond - before) + np.float32(1.5) * (here - after)
        for j in range(_APART):
            t = np.float32(j) * np.float32(1.0 / _APART)
            likelihood[place + j] = here + t * (slope + t * (square + t * cubic))
        before, here, after = here, after, beyond
    fall = (here - before) / np.float32(_APART)
    for j in range(last * _APART, RATE_COUNT):
        likelihood[j] = here + fall * np.float32(j - last * _APART)
    for j in range(RATE_COUNT):
        depth = min(max(likelihood[j], np.float32(0.0)), np.float32(_DEEPEST))
        likelihood[j] = _power_of_two(-depth)


@kernel(allocates=False)
def summarise(likelihood: Floats, depths: Bytes, seed: int) -> int:
    """Fill in the depths of a likelihood, rounded by this seed (`pollwise.rates.packed`).

    Gives the rate of the first knot.
    """
    largest = likelihood[0]
    moved, moment = np.float32(0.0), np.float32(0.0)
    for n in range(1, _KNOTS):
        here = likelihood[n * _APART]
        change = abs(here - likelihood[(n - 1) * _APART])
        largest = max(largest, here)
        moved += change
        moment += change * (np.float32(n) - np.float32(0.5))
    centre = moment / moved if moved > np.float32(0.0) else np.float32(_KNOTS // 2)
    first = min(max(int(centre) - (KNOT_COUNT - 1) // 2, 0), _KNOTS - KNOT_COUNT)
    for n in range(KNOT_COUNT):
        depth = -math.log2(likelihood[(first + n) * _APART] / largest)
        depths[n] = round_root(depth, _DEEPEST, chance_of(seed, n))
    return first * _APART
