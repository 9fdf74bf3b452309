"""Term vectors as bytes, from which a stored page can be scored anew.

A packed vector is n hashes of four bytes (little-endian), then n counts of one byte each.
"""

import numpy as np
from numpy.typing import NDArray

from pollwise.errors import InputError

__all__ = ["pack_terms", "unpack_terms"]


def pack_terms(hashes: NDArray[np.uint32], counts: NDArray[np.float64]) -> bytes:
    """Five bytes for each term of count above 0; counts above 255 become 255."""
    there = counts > 0
    small = np.minimum(counts[there], 255).astype(np.uint8)
    return hashes[there].astype("<u4").tobytes() + small.tobytes()


def unpack_terms(packed: bytes) -> tuple[NDArray[np.uint32], NDArray[np.float64]]:
    """The hashes and counts that were packed; `InputError` for bytes that cannot be such."""
    n, rest = divmod(len(packed), 5)
    if rest:
        raise InputError(
            f"packed terms: {len(packed)} bytes are not five for each term; is the row damaged?"
        )
    hashes = np.frombuffer(packed, "<u4", n).astype(np.uint32)
    return hashes, np.frombuffer(packed, np.uint8, n, 4 * n).astype(np.float64)
