"""Sums over all rates, in eight lanes: many numbers are added at once, always in the same order.

Sums of floating-point numbers depend on the order. numba adds one number after the other, or with
`fastmath` in an order that suits the caller that they are compiled for. So these are written as
instructions on vectors of eight numbers, which LLVM turns into what the machine has.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from pollwise.kernel_cache import kernel
from pollwise.rates.lattice import RATE_COUNT

__all__ = ["mean_over", "normalise", "total_of"]

_LANES = 8
_KINDS = {types.float32: ir.FloatType(), types.float64: ir.DoubleType()}


def _build_sum(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """The sum of the elements of an array, or of the products of those of several."""
    lanes = ir.VectorType(_KINDS[signature.return_type], _LANES)
    pointers = [
        builder.bitcast(context.make_array(kind)(context, builder, array).data, lanes.as_pointer())
        for kind, array in zip(signature.args, arguments, strict=True)
    ]
    total: Any = ir.Constant(lanes, [0.0] * _LANES)
    for n in range(RATE_COUNT // _LANES):
        place = [ir.Constant(ir.IntType(32), n)]
        term, *factors = (builder.load(builder.gep(at, place), align=1) for at in pointers)
        for factor in factors:
            term = builder.fmul(term, factor)
        total = builder.fadd(total, term)
    width = _LANES
    while width > 1:
        width //= 2
        halves = (
            ir.Constant(ir.VectorType(ir.IntType(32), width), [*range(begin, begin + width)])
            for begin in (0, width)
        )
        total = builder.fadd(*(builder.shuffle_vector(total, total, half) for half in halves))
    return builder.extract_element(total, ir.Constant(ir.IntType(32), 0))


def _are_summed(*arrays: Any) -> bool:
    """Whether these are arrays of floats side by side, all of one kind."""
    return (
        all(
            isinstance(array, types.Array)
            and array.layout == "C"
            and array.dtype == arrays[0].dtype
            for array in arrays
        )
        and arrays[0].dtype in _KINDS
    )


def _sum_of_rates(context: Any, weights: Any) -> Any:
    """The sum of the weights of all rates."""
    return (weights.dtype(weights), _build_sum) if _are_summed(weights) else None


def _sum_of_products(context: Any, weights: Any, values: Any) -> Any:
    """The sum of the values of all rates, each times its weight."""
    same = _are_summed(weights, values)
    return (weights.dtype(weights, values), _build_sum) if same else None


_sum_of: Any = intrinsic(_sum_of_rates)
_product_sum_of: Any = intrinsic(_sum_of_products)


@kernel(forceinline=True, allocates=False)
def mean_over(weights: NDArray[np.float32], values: NDArray[np.float32]) -> float:
    """The sum of the values of all rates, each times its weight."""
    return float(_product_sum_of(weights, values))


@kernel(forceinline=True, allocates=False)
def total_of(weights: NDArray[Any]) -> Any:
    """The sum of the weights of all rates."""
    return _sum_of(weights)


@kernel(forceinline=True, allocates=False)
def normalise(weights: NDArray[Any]) -> None:
    """Scale weights of the rates so that their sum, which must be above 0, becomes 1 (in place)."""
    scale = np.float32(1.0) / total_of(weights)
    for j in range(RATE_COUNT):
        weights[j] *= scale
