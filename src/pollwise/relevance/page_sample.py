"""A fair sample of the pages seen, and the floor of relevance that it shows."""

import heapq
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from pollwise.relevance.packing import pack_terms
from pollwise.relevance.parsed_text import ParsedText

__all__ = ["MATCHED_SHARE", "PageSample", "floor"]

MATCHED_SHARE = 1 / 30
"""Pages that match count, all together, as at most this share of those that do not."""

_PAGES = 1024
_DEVIATIONS = 2.5
_ROUNDS = 10


class PageSample:
    """The packed terms of up to 1,024 pages: those whose content has the lowest hashes.

    So each page has the same chance, whatever the order in which they come.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[int, str, bytes]] = []

    def offer(self, host: str, page: ParsedText, counts: NDArray[np.float64]) -> None:
        """Take the page in if its hash is low enough; `counts` are those of its terms."""
        key = int(np.bitwise_xor.reduce(page.blocks, initial=0))
        if len(self._heap) < _PAGES:
            heapq.heappush(self._heap, (-key, host, pack_terms(page.hashes, counts)))
        elif key < -self._heap[0][0]:
            heapq.heapreplace(self._heap, (-key, host, pack_terms(page.hashes, counts)))

    def pages(self) -> list[tuple[str, bytes]]:
        """Host and packed terms of each page."""
        return [(host, packed) for _, host, packed in self._heap]

    def state_dict(self) -> dict[str, NDArray[np.generic]]:
        """All of it as flat arrays by name."""
        hosts = "\n".join(host for _, host, _ in self._heap)
        return {
            "sample_keys": np.array([-key for key, _, _ in self._heap], np.int64),
            "sample_hosts": np.frombuffer(hosts.encode(), np.uint8),
            "sample_sizes": np.array([len(packed) for *_, packed in self._heap], np.int64),
            "sample_terms": np.frombuffer(b"".join(p for *_, p in self._heap), np.uint8),
        }

    def load_state_dict(self, state: Mapping[str, NDArray[np.generic]]) -> None:
        """Put back what `state_dict` gave."""
        hosts = state["sample_hosts"].tobytes().decode().split("\n")
        ends = np.cumsum(state["sample_sizes"].astype(np.int64)).tolist()
        data = state["sample_terms"].tobytes()
        parts = [data[a:b] for a, b in zip([0, *ends], ends, strict=False)]
        keys = (-state["sample_keys"].astype(np.int64)).tolist()
        self._heap = list(zip(keys, hosts, parts, strict=False))


def floor(cosines: NDArray[np.float64]) -> float:
    """The mean + 2.5 standard deviations of pages at large, whatever share of them matches.

    A robot that looks for its topic sees more of it than there is; left to itself, the floor would
    rise against the very pages that it finds. So those above the floor count, all together, as at
    most a thirtieth of those below, and the floor is sought from the median upwards.
    """
    level = float(np.median(cosines))
    for _ in range(_ROUNDS):
        above = cosines > level
        n = int(above.sum())
        weights = np.where(above, min(1.0, MATCHED_SHARE * (len(cosines) - n) / max(n, 1)), 1.0)
        mean = float(np.average(cosines, weights=weights))
        variance = float(np.average(np.square(cosines - mean), weights=weights))
        level = mean + _DEVIATIONS * variance**0.5
    return level
