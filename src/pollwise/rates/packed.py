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

__all__ = ["number_of", "pack", "packed", "unpacked"]

_SHIFT = 14
_FIRST = (127 - 100) << 9
"""2^-100 without its last 14 bits."""
_LAST = 0xFFFF

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


_float_of: Any = intrinsic(_float_of_bits)
_bits_of: Any = intrinsic(_bits_of_float)


@kernel(forceinline=True, allocates=False)
def number_of(code: Any) -> Any:
    """The number of one code."""
    return _float_of(np.uint32((np.uint32(code) + np.uint32(_FIRST)) << np.uint32(_SHIFT)))


@kernel(forceinline=True, allocates=False)
def pack(numbers: Floats, codes: Codes, seed: int) -> None:
    """Fill in the codes of as many numbers, rounded at random by this seed."""
    begin = np.uint32(seed)
    for j in range(len(codes)):
        noise = np.uint32(begin + np.uint32(np.uint32(j) * np.uint32(0x9E3779B1)))
        noise = np.uint32((noise ^ (noise >> np.uint32(16))) * np.uint32(0x85EBCA6B))
        noise = np.uint32((noise ^ (noise >> np.uint32(13))) * np.uint32(0xC2B2AE35))
        bits = np.uint32(_bits_of(numbers[j]) + np.uint32(noise >> np.uint32(32 - _SHIFT)))
        code = np.int32(bits >> np.uint32(_SHIFT)) - np.int32(_FIRST)
        codes[j] = np.uint16(min(max(code, np.int32(0)), np.int32(_LAST)))
