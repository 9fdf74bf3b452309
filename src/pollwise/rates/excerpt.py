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

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from pollwise.kernel_cache import kernel
from pollwise.rates.lattice import RATE_COUNT
from pollwise.rates.packed import (
    LANES,
    NUMBERS,
    fill_eight,
    number_of,
    numbers_at,
    pack,
    place_of,
)

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

_BETWEEN = (RATE_COUNT - SIDE_BY_SIDE) // _APART
_numba: Any = cgutils


def _eight_apart(context: Any, codes: Any, code: Any, likelihood: Any, rate: Any) -> Any:
    """Fill in the likelihoods of rates from `rate` on by codes from `code` on, and between them."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        codes, code, likelihood, rate = arguments
        roots = ir.FunctionType(NUMBERS, [NUMBERS])
        root = _numba.get_or_insert_function(builder.module, roots, f"llvm.sqrt.v{LANES}f32")
        after = builder.add(code, ir.Constant(code.type, 1))
        first, last = (
            numbers_at(context, builder, signature.args[0], codes, at) for at in (code, after)
        )
        square = builder.call(root, [builder.fdiv(last, first)])
        ratio = builder.call(root, [square])
        middle = builder.fmul(first, square)
        rows = (first, builder.fmul(first, ratio), middle, builder.fmul(middle, ratio))
        count = ir.VectorType(ir.IntType(32), 2 * LANES)
        side_by_side = ir.Constant(count, [*range(2 * LANES)])
        halves = (builder.shuffle_vector(*rows[n : n + 2], side_by_side) for n in (0, 2))
        order = [row * LANES + n for n in range(LANES) for row in range(_APART)]
        mixed = ir.Constant(ir.VectorType(ir.IntType(32), len(order)), order)
        values = builder.shuffle_vector(*halves, mixed)
        target = place_of(context, builder, signature.args[2], likelihood, rate, values.type)
        builder.store(values, target, align=1)
        return context.get_dummy_value()

    return types.none(codes, types.int64, likelihood, types.int64), build


_fill_between_eight: Any = intrinsic(_eight_apart)


@kernel(allocates=False)
def likelihood_of(codes: Codes, first: int, likelihood: Floats) -> None:
    """Fill in the likelihood of each rate from an excerpt whose neighbours begin with `first`.

    Slower and faster rates are filled in by eight codes at a time, from the ends inwards; what that
    is too much is among the neighbours, which come last.
    """
    begin: Any = np.int64(first)
    slower = begin // _APART
    if slower > 0:
        _fill_between_eight(codes, 0, likelihood, 0)
    if slower > LANES:
        _fill_between_eight(codes, LANES, likelihood, LANES * _APART)
    code: Any = np.int64(EXCERPT_COUNT - 1 - LANES)
    rate: Any = np.int64(RATE_COUNT - 1 - LANES * _APART)
    if slower < _BETWEEN:
        _fill_between_eight(codes, code, likelihood, rate)
    if slower < _BETWEEN - LANES:
        _fill_between_eight(codes, code - LANES, likelihood, rate - LANES * _APART)
    for n in range(0, SIDE_BY_SIDE, LANES):
        fill_eight(codes, slower + n, likelihood, begin + n)
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
