"""Whether a hash may be among millions, in two to four bytes for each."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

__all__ = ["HashFilter"]

_BITS = 16
"""Bits for each hash there is room for."""
_PROBES = 4
"""Bits that a hash sets: with 16 bits for each, one in 400 others is taken for one of them."""
_LEAST = 1024


class HashFilter:
    """A Bloom filter of 64-bit hashes: what is in it is found, and hardly anything else.

    The places of a hash are those of double hashing. B. H. Bloom, Space/time trade-offs in hash
    coding with allowable errors, CACM 13(7), 1970; A. Kirsch and M. Mitzenmacher, Less hashing,
    same performance: building a better Bloom filter, ESA 2006.

    >>> some = HashFilter()
    >>> some.add([3, -5])
    >>> some.may_have(3), some.may_have(-5), some.may_have(4)
    (True, True, False)
    """

    def __init__(self, room: int = _LEAST) -> None:
        self._room = max(room, _LEAST)
        self._count = 0
        self._bits = np.zeros(self._room * _BITS // 8, np.uint8)

    @property
    def is_full(self) -> bool:
        """Whether more hashes would make it tell less; who has all of them makes a larger one."""
        return self._count > self._room

    def add(self, hashes: "NDArray[np.int64] | Iterable[int]") -> None:
        """Put hashes in; one that is put again takes up room, too."""
        added = np.asarray(hashes, np.int64)
        self._count += len(added)
        for places in self._places(added):
            np.bitwise_or.at(self._bits, places >> 3, (1 << (places & 7)).astype(np.uint8))

    def may_have(self, one: int) -> bool:
        """Whether a hash is in it, or is taken for one that is."""
        return all(
            self._bits[places[0] >> 3] >> (places[0] & 7) & 1
            for places in self._places(np.array([one], np.int64))
        )

    def _places(self, hashes: NDArray[np.int64]) -> Iterable[NDArray[np.int64]]:
        """Of each hash one place after the other."""
        told = hashes.view(np.uint64)
        # Small numbers are their own hashes in Python: they are spread first (Fibonacci hashing,
        # Knuth, TAOCP 6.4).
        first = told * np.uint64(0x9E3779B97F4A7C15)
        step = (first >> np.uint64(32)) | np.uint64(1)
        size = np.uint64(8 * len(self._bits))
        for probe in range(_PROBES):
            yield ((first + np.uint64(probe) * step) % size).astype(np.int64)
