"""Term vectors as bytes, from which a stored page can be scored anew.

A packed vector is n hashes of four bytes (little-endian), then n counts of one byte each, then the
two letters of the language of the page, if it is clear.
"""

import numpy as np
from numpy.typing import NDArray

from pollwise.errors import InputError

__all__ = ["pack_terms", "unpack_terms"]


def pack_terms(
    hashes: NDArray[np.uint32], counts: NDArray[np.float64], language: str = ""
) -> bytes:
    """Five bytes for each term of count above 0; counts above 255 become 255."""
    there = counts > 0
    small = np.minimum(counts[there], 255).astype(np.uint8)
    return hashes[there].astype("<u4").tobytes() + small.tobytes() + language.encode()


def unpack_terms(packed: bytes) -> tuple[NDArray[np.uint32], NDArray[np.float64], str]:
    """The hashes, counts and language that were packed; `InputError` for other bytes."""
    n, rest = divmod(len(packed), 5)
    language = packed[5 * n :].decode("ascii", "replace")
    if rest and not (rest == 2 and language.isalpha()):
        raise InputError(
            f"packed terms: {len(packed)} bytes are not five for each term and two of a language;"
            " is the row damaged?"
        )
    hashes = np.frombuffer(packed, "<u4", n).astype(np.uint32)
    counts = np.frombuffer(packed, np.uint8, n, 4 * n).astype(np.float64)
    return hashes, counts, language
