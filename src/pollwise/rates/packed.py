"""Positive numbers in 16 bits, for the many that are kept of each page.

A code is the middle of a 32-bit float: 7 bits of the exponent and 9 of the mantissa, from 2^-100 to
2^28, with steps of 0.2 to 0.1 %. What is learned in many small steps is rounded up or down at
random, in proportion to what is left over: to the nearest code, steps of less than half of 0.1 %
would never add up. The random numbers come from a hash, so the same polls always lead to the same
codes.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from pollwise.kernel_cache import kernel

__all__ = [
    "LANES",
    "NUMBERS",
    "bits_of_float",
    "chance_of",
    "fill_eight",
    "float_of_bits",
    "number_of",
    "numbers_at",
    "pack",
    "packed",
    "place_of",
    "unpacked",
]

_SHIFT = 14
"""Bits of a float that a code leaves out at its end."""
_FIRST = (127 - 100) << 9
"""2^-100 without its last 14 bits."""
_LAST = 0xFFFF

LANES = 8
"""So many codes are unpacked at once."""
_CODES = ir.VectorType(ir.IntType(16), LANES)
_BITS = ir.VectorType(ir.IntType(32), LANES)
NUMBERS = ir.VectorType(ir.FloatType(), LANES)

Codes = NDArray[np.uint16]
Floats = NDArray[np.float32]


def packed(values: Any) -> Codes:
    """The codes nearest to numbers, of any shape."""
    bits = np.asarray(values, np.float32).view(np.uint32).astype(np.int64)
    codes = ((bits + (1 << _SHIFT - 1)) >> _SHIFT) - _FIRST
    return np.clip(codes, 0, _LAST).astype(np.uint16)


def unpacked(codes: Any) -> Floats:
    """The numbers of codes, of any shape."""
    bits = (np.asarray(codes, np.uint32) + np.uint32(_FIRST)) << np.uint32(_SHIFT)
    return bits.view(np.float32)


def _float_of_bits(context: Any, bits: Any) -> Any:
    """The 32-bit float of these bits."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.uint32), build


def _bits_of_float(context: Any, number: Any) -> Any:
    """The bits of a 32-bit float."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(32))

    return types.uint32(types.float32), build


float_of_bits: Any = intrinsic(_float_of_bits)
"""The 32-bit float of these 32 bits."""
bits_of_float: Any = intrinsic(_bits_of_float)
"""The reverse."""


@kernel(forceinline=True, allocates=False)
def number_of(code: Any) -> Any:
    """The number of one code."""
    return float_of_bits(np.uint32((np.uint32(code) + np.uint32(_FIRST)) << np.uint32(_SHIFT)))


def place_of(context: Any, builder: Any, kind: Any, array: Any, number: Any, of: Any) -> Any:
    """For an intrinsic: a pointer to values from this number on, taken for this vector type."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [number]), of.as_pointer())


def numbers_at(context: Any, builder: Any, kind: Any, array: Any, number: Any) -> Any:
    """For an intrinsic: `number_of` the codes from this number on, as one vector."""
    codes = builder.load(place_of(context, builder, kind, array, number, _CODES), align=1)
    first, shift = (ir.Constant(_BITS, [bits] * LANES) for bits in (_FIRST, _SHIFT))
    bits = builder.shl(builder.add(builder.zext(codes, _BITS), first), shift)
    return builder.bitcast(bits, NUMBERS)


def _fill_eight(context: Any, codes: Any, code: Any, numbers: Any, number: Any) -> Any:
    """Fill in eight numbers, from `number` on, by the codes from `code` on."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        codes, code, numbers, number = arguments
        found = numbers_at(context, builder, signature.args[0], codes, code)
        target = place_of(context, builder, signature.args[2], numbers, number, NUMBERS)
        builder.store(found, target, align=1)
        return context.get_dummy_value()

    return types.none(codes, types.int64, numbers, types.int64), build


fill_eight: Any = intrinsic(_fill_eight)
"""Fill in eight numbers of an array, from one on, by the codes of another, from one on."""


@kernel(forceinline=True, allocates=False)
def _noise(seed: int, number: int) -> Any:
    """32 random bits: a hash of a seed and a number."""
    noise = np.uint32(np.uint32(seed) + np.uint32(np.uint32(number) * np.uint32(0x9E3779B1)))
    noise = np.uint32((noise ^ (noise >> np.uint32(16))) * np.uint32(0x85EBCA6B))
    return np.uint32((noise ^ (noise >> np.uint32(13))) * np.uint32(0xC2B2AE35))


@kernel(forceinline=True, allocates=False)
def chance_of(seed: int, number: int) -> float:
    """A random number from 0 to 1, by a hash of a seed and a number."""
    return float(_noise(seed, number)) * 2.0**-32


@kernel(forceinline=True, allocates=False)
def pack(numbers: Floats, codes: Codes, seed: int) -> None:
    """Fill in the codes of as many numbers, rounded at random by this seed."""
    for j in range(len(codes)):
        noise = _noise(seed, j)
        bits = np.uint32(bits_of_float(numbers[j]) + np.uint32(noise >> np.uint32(32 - _SHIFT)))
        code = np.int32(bits >> np.uint32(_SHIFT)) - np.int32(_FIRST)
        codes[j] = np.uint16(min(max(code, np.int32(0)), np.int32(_LAST)))
