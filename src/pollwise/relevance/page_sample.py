"""A fair sample of the pages seen, and the floor of relevance that it shows."""

import heapq
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from pollwise.relevance.packing import pack_terms
from pollwise.relevance.parsed_text import ParsedText

__all__ = ["PageSample", "floor", "matched_weight"]

_MATCHED_SHARE = 1 / 30
"""Relevant pages weigh, all together, at most this share of the others."""

_PAGES = 4096
_DEVIATIONS = 2.5


class PageSample:
    """The packed terms of up to 4,096 pages: those whose content has the lowest hashes.

    So every page has the same chance, in whatever order they come; but for those without a word,
    which tell nothing and have one hash: they would take all places.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[int, str, bytes]] = []

    def offer(self, host: str, page: ParsedText, counts: NDArray[np.float64]) -> None:
        """Take the page in if its hash is low enough; `counts` are those of its terms."""
        if not len(page.blocks):
            return
        key = int(np.bitwise_xor.reduce(page.blocks, initial=0))
        packed = pack_terms(page.hashes, counts, page.language)
        if len(self._heap) < _PAGES:
            heapq.heappush(self._heap, (-key, host, packed))
        elif key < -self._heap[0][0]:
            heapq.heapreplace(self._heap, (-key, host, packed))

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
        rows = zip(keys, hosts, parts, strict=False)
        # Earlier versions took pages without a word, whose key is 0.
        self._heap = [row for row in rows if row[0] != 0]
        heapq.heapify(self._heap)


def floor(cosines: NDArray[np.float64]) -> float:
    """The cosine that tells pages about the topic from the others.

    It lies in the gap between the two groups: where it parts the cosines so that the variance
    between the groups is largest (Otsu, "A threshold selection method from gray-level histograms",
    IEEE Transactions on Systems, Man, and Cybernetics 9(1), 1979). Any cosines can be parted so,
    with a gap or without; so it is at least the lower group's mean + 2.5 standard deviations.
    """
    ordered = np.sort(cosines)
    below = np.arange(1, len(ordered))
    if not len(below):
        return 0.0
    sums = np.cumsum(ordered)
    apart = (sums[-1] - sums[:-1]) / below[::-1] - sums[:-1] / below
    last = int(np.argmax(below * below[::-1] * np.square(apart)))
    lower = ordered[: last + 1]
    middle = (ordered[last] + ordered[last + 1]) / 2
    return float(max(middle, lower.mean() + _DEVIATIONS * lower.std()))


def matched_weight(matched: float, pages: float) -> float:
    """What a relevant page weighs, where `matched` of the `pages` are relevant."""
    return min(1.0, _MATCHED_SHARE * (pages - matched + 1) / matched) if matched > 0 else 1.0
