"""The likelihoods of all rates in a few bytes: a summary, for pages of which little is known.

As long as a page was seldom polled its likelihood bends gently, and with each change that was seen
it becomes narrower. So only every fourth rate has a *knot*, or every second one or each where the
likelihood is narrow enough for that; and only as many knots are kept as there are bytes, those
where it rises and falls. At each it is known by how many bits it lies below its maximum, the
*depth*; near the maximum steps are small, far below they are wide. Between knots the depth is a
cubic through the four beside it (Catmull and Rom, "A class of local interpolating splines", 1974).
At slower rates than theirs it goes on in a straight line, if it deepens, as the likelihood of a
page that has changed is a power of the rate there; at faster ones it stays the same. Knots are at
the same rates whichever are kept, so a poll errs by the rounding of a depth only. That is random,
for many small steps to add up (`pollwise.rates.packed`). All bytes are 0 where nothing is known.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pollwise.kernel_cache import kernel
from pollwise.rates.lattice import RATE_COUNT
from pollwise.rates.packed import bits_of_float, chance_of, float_of_bits

__all__ = [
    "KNOT_COUNT",
    "NEAREST",
    "chance_to_round_up",
    "likelihood_of_summary",
    "round_root",
    "square_of",
    "summarise",
]

KNOT_COUNT = 12
NEAREST = -1
"""The seed of what is rounded to the nearest code, not at random."""
_APART = (4, 2, 1)
"""How many rates there may be from one knot to the next."""
_HOPELESS = np.float32(2.0**-16)
"""Rates whose likelihood is below this part of the largest one do not count as likely."""
_WIDEST = (RATE_COUNT, 20, 10)
"""How far apart the likely rates are at most where knots are that near to one another."""
_FIRST_CODES = (0, 13, 50)
"""Codes of the first knot from which on they are."""
_DEEPEST = 24.0
"""Bits below the maximum; it takes many polls to tell more."""
_LAST = 255
_WHOLE = np.float32(1.5 * 2**23)
"""Added to a small number, it leaves nothing behind the point: its last bits are the whole part."""

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]


@kernel(forceinline=True, allocates=False)
def square_of(root: Any, largest: float) -> Any:
    """The number of a code for 0 to `largest`, whose root it is."""
    part = np.float32(root) * np.float32(math.sqrt(largest) / _LAST)
    return part * part


@kernel(forceinline=True, allocates=False)
def chance_to_round_up(seed: int, number: int) -> float:
    """The chance for `round_root`: a random one by a seed and a number; half for `NEAREST`."""
    return 0.5 if seed == NEAREST else chance_of(seed, number)


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
    """2 to this power, of -100 to 0, as a 32-bit float, to one part in 10,000."""
    shifted = exponent + _WHOLE
    part = exponent - (shifted - _WHOLE)
    whole = float_of_bits(np.uint32((bits_of_float(shifted) + np.uint32(127)) << np.uint32(23)))
    cubic = np.float32(0.69301) + part * (np.float32(0.24147) + part * np.float32(0.05550))
    return whole * (np.float32(1.0) + part * cubic)


@kernel(fastmath={"nnan"}, allocates=False)
def likelihood_of_summary(depths: Bytes, code: int, likelihood: Floats) -> None:
    """Fill in the likelihood of each rate from the depths at its knots, and the code of the first.

    A code tells the rate, and how far the knots are apart.
    """
    level = (code >= _FIRST_CODES[1]) + (code >= _FIRST_CODES[2])
    apart: Any = np.int64(_APART[level])
    begin = (code - _FIRST_CODES[level]) * apart
    step = np.float32(1.0) / np.float32(apart)
    here = square_of(depths[0], _DEEPEST)
    after = square_of(depths[1], _DEEPEST)
    rise = max(here - after, np.float32(0.0)) * step
    for j in range(begin):
        likelihood[j] = here + rise * np.float32(begin - j)
    before = here + here - after
    for n in range(KNOT_COUNT - 1):
        beyond = after + after - here
        if n + 2 < KNOT_COUNT:
            beyond = square_of(depths[n + 2], _DEEPEST)
        slope = np.float32(0.5) * (after - before)
        square = before - np.float32(2.5) * here + np.float32(2.0) * after
        square -= np.float32(0.5) * beyond
        cubic = np.float32(0.5) * (beyond - before) + np.float32(1.5) * (here - after)
        for j in range(apart):
            t = np.float32(j) * step
            likelihood[begin + n * apart + j] = here + t * (slope + t * (square + t * cubic))
        before, here, after = here, after, beyond
    last = begin + (KNOT_COUNT - 1) * apart
    for j in range(last, RATE_COUNT):
        likelihood[j] = here
    for j in range(RATE_COUNT):
        depth = min(max(likelihood[j], np.float32(0.0)), np.float32(_DEEPEST))
        likelihood[j] = _power_of_two(-depth)


@kernel(allocates=False)
def summarise(likelihood: Floats, depths: Bytes, seed: int) -> int:
    """Fill in the depths of a likelihood, rounded by this seed.

    Gives the code of the first knot.
    """
    largest = likelihood[0]
    moved, moment = np.float32(0.0), np.float32(0.0)
    for j in range(1, RATE_COUNT):
        largest = max(largest, likelihood[j])
        change = abs(likelihood[j] - likelihood[j - 1])
        moved += change
        moment += change * (np.float32(j) - np.float32(0.5))
    slowest, fastest = RATE_COUNT, 0
    for j in range(RATE_COUNT):
        if likelihood[j] >= _HOPELESS * largest:
            slowest, fastest = min(slowest, j), j
    wide = fastest - slowest
    level = (wide <= _WIDEST[1]) + (wide <= _WIDEST[2])
    apart = _APART[level]
    centre = moment / moved if moved > np.float32(0.0) else np.float32(RATE_COUNT // 2)
    if level > 0:
        centre = np.float32(slowest + fastest) * np.float32(0.5)
    knot = int(centre) // apart - (KNOT_COUNT - 1) // 2
    knot = min(max(knot, 0), (RATE_COUNT - 1) // apart - (KNOT_COUNT - 1))
    for n in range(KNOT_COUNT):
        depth = -math.log2(likelihood[(knot + n) * apart] / largest)
        depths[n] = round_root(depth, _DEEPEST, chance_to_round_up(seed, n))
    return int(_FIRST_CODES[level] + knot)
