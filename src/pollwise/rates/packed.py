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
    "bits_of_float",
    "chance_of",
    "float_of_bits",
    "number_of",
    "pack",
    "packed",
    "unpacked",
]

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


float_of_bits: Any = intrinsic(_float_of_bits)
"""The 32-bit float of these 32 bits."""
bits_of_float: Any = intrinsic(_bits_of_float)
"""The reverse."""


@kernel(forceinline=True, allocates=False)
def number_of(code: Any) -> Any:
    """The number of one code."""
    return float_of_bits(np.uint32((np.uint32(code) + np.uint32(_FIRST)) << np.uint32(_SHIFT)))


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
