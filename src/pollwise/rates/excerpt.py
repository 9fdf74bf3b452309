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

from collections.abc import Iterable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from pollwise.kernel_cache import kernel
from pollwise.rates.lattice import RATE_COUNT
from pollwise.rates.packed import FIRST_BITS, SHIFT, number_of, pack

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
_GAPS = (RATE_COUNT - SIDE_BY_SIDE) // _APART
EXCERPT_COUNT = SIDE_BY_SIDE + _GAPS

_numba: Any = cgutils
_LANES = 16
_WORD = ir.IntType(32)

Codes = NDArray[np.uint16]
Floats = NDArray[np.float32]


def _fill_gaps(context: Any, codes: Any, slower: Any, likelihood: Any) -> Any:
    """Fill in the likelihoods of all rates but the neighbours and the last one.

    They are those of `_GAPS` times `_APART` rates, of which the first `slower` lie before the
    neighbours. All are worked out at once, in the lanes of vectors.
    """

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        of_codes, _, of_likelihood = signature.args
        first_code = context.make_array(of_codes)(context, builder, arguments[0]).data
        first_rate = context.make_array(of_likelihood)(context, builder, arguments[2]).data

        def load(begin: int) -> Any:
            place = builder.gep(first_code, [ir.Constant(_WORD, begin)])
            lanes = ir.VectorType(ir.IntType(16), _LANES)
            return builder.load(builder.bitcast(place, lanes.as_pointer()), align=1)

        def chosen(vector: Any, other: Any, lanes: Iterable[int]) -> Any:
            lanes = [*lanes]
            kind = ir.VectorType(_WORD, len(lanes))
            return builder.shuffle_vector(vector, other, ir.Constant(kind, lanes))

        def all_of(number: int) -> Any:
            return ir.Constant(words, [number] * _GAPS)

        words, floats = ir.VectorType(_WORD, _GAPS), ir.VectorType(ir.FloatType(), _GAPS)
        count = builder.trunc(arguments[1], _WORD)
        counts = builder.insert_element(ir.Constant(words, ir.Undefined), count, _WORD(0))
        counts = chosen(counts, counts, [0] * _GAPS)
        is_slower = builder.icmp_unsigned("<", ir.Constant(words, [*range(_GAPS)]), counts)
        slowest, fastest = load(0), load(EXCERPT_COUNT - _LANES)

        def numbers(after: int) -> Any:
            """Those at the begin (0) or the end (1) of each gap."""
            before = chosen(slowest, slowest, range(after, after + _GAPS))
            ahead = _LANES - _GAPS - 1 + after
            beyond = chosen(fastest, fastest, range(ahead, ahead + _GAPS))
            code = builder.zext(builder.select(is_slower, before, beyond), words)
            bits = builder.shl(builder.add(code, all_of(FIRST_BITS)), all_of(SHIFT))
            return builder.bitcast(bits, floats)

        told = ir.FunctionType(floats, [floats])
        root = _numba.get_or_insert_function(builder.module, told, f"llvm.sqrt.v{_GAPS}f32")
        here = numbers(0)
        square = builder.call(root, [builder.fdiv(numbers(1), here)])
        ratio = builder.call(root, [square])
        middle = builder.fmul(here, square)
        slow = chosen(here, builder.fmul(here, ratio), range(2 * _GAPS))
        fast = chosen(middle, builder.fmul(middle, ratio), range(2 * _GAPS))
        together = ir.VectorType(ir.FloatType(), _APART).as_pointer()
        for n in range(_GAPS):
            rates = chosen(slow, fast, range(n, 4 * _GAPS, _GAPS))
            before = builder.icmp_unsigned("<", _WORD(n), count)
            begin = builder.select(before, _WORD(_APART * n), _WORD(_APART * n + SIDE_BY_SIDE - 1))
            place = builder.bitcast(builder.gep(first_rate, [begin]), together)
            builder.store(rates, place, align=1)
        return context.get_dummy_value()

    return types.none(codes, types.int64, likelihood), build


_filled: Any = intrinsic(_fill_gaps)


@kernel(allocates=False)
def likelihood_of(codes: Codes, first: int, likelihood: Floats) -> None:
    """Fill in the likelihood of each rate from an excerpt whose neighbours begin with `first`."""
    slower = first // _APART
    _filled(codes, slower, likelihood)
    # Parts from 0 on, not from `first`: else numba asks whether an index counts from the end.
    neighbours, excerpt = likelihood[first:], codes[slower:]
    for j in range(SIDE_BY_SIDE):
        neighbours[j] = number_of(excerpt[j])
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
