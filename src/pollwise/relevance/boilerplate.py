"""What a site repeats on its pages: its frame, which is not to be taken for content.

There are two kinds of evidence, gathered host by host. A *block* that stands word for word on
several pages of a host is part of the frame: menus, footers, licences. This is the better evidence,
and takes few pages. A *term* that stands outside such blocks in many pages of a host belongs to a
frame that varies a little; that takes more pages, so that the topic of a small host is not lost.
"""

from collections.abc import Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from pollwise.relevance.parsed_text import ParsedText

__all__ = ["Boilerplate", "FrequentItems"]

Hashes = NDArray[np.uint32]
Mask = NDArray[np.bool_]
Ints = TypeVar("Ints", NDArray[np.uint32], NDArray[np.int32])

# A block is boilerplate on more than this many pages, and this share of the host's pages.
_BLOCK_PAGES = 3
_BLOCK_SHARE = 0.05
# A term on more than this share of the host's pages, and this many pages more.
_TERM_SHARE = 0.3
_TERM_PAGES = 6

_BLOCKS_KEPT = 1024
_TERMS_KEPT = 512
_MAX_HOSTS = 10_000


class FrequentItems:
    """How often each item came, exact for those that come often, in bounded memory.

    Keeps the items that may be the most frequent ones, at least `capacity` of them and at most a
    quarter more (the Space-Saving summary of Metwally et al. 2005, in batches). What counts is how
    often an item came since it was last taken in: never too much, and exact for an item that was
    never dropped. Any item with a share of more than 1 / `capacity` of all that came is kept.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._dropped = 0
        self._items: Hashes = np.empty(0, np.uint32)
        self._counts: NDArray[np.int32] = np.empty(0, np.int32)
        # What may have been counted before the item was taken in: as much as any dropped item had.
        self._missed: NDArray[np.int32] = np.empty(0, np.int32)

    def __len__(self) -> int:
        return len(self._items)

    def add(self, items: Hashes) -> None:
        """Count each of these items (sorted) once more."""
        places, found = self._find(items)
        self._counts[places[found]] += 1
        new = items[~found]
        if not len(new):
            return
        at = places[~found] + np.arange(len(new))
        old = np.ones(len(self._items) + len(new), bool)
        old[at] = False
        self._items = _merged(self._items, old, at, new)
        self._counts = _merged(self._counts, old, at, 1)
        self._missed = _merged(self._missed, old, at, self._dropped)
        if len(self._items) > self._capacity + self._capacity // 4:
            self._drop()

    def came_more_often(self, items: Hashes, times: float) -> Mask:
        """Which of these items came more than so many times (not less than 0)."""
        # They are few: to look all items up takes several times as long.
        frequent = self._items[self._counts > times]
        return _contained(frequent, np.searchsorted(frequent, items), items)

    def state(self) -> NDArray[np.uint32]:
        """All of it as rows of numbers, for `from_state`."""
        rows = np.empty((len(self) + 1, 3), np.uint32)
        rows[0] = len(self), self._dropped, self._capacity
        rows[1:, 0], rows[1:, 1], rows[1:, 2] = self._items, self._counts, self._missed
        return rows

    @classmethod
    def from_state(cls, rows: NDArray[np.int64]) -> "FrequentItems":
        """Back from the rows of `state`."""
        summary = cls(int(rows[0, 2]))
        summary._dropped = int(rows[0, 1])
        summary._items = rows[1:, 0].astype(np.uint32)
        summary._counts = rows[1:, 1].astype(np.int32)
        summary._missed = rows[1:, 2].astype(np.int32)
        return summary

    def _find(self, items: Hashes) -> tuple[NDArray[np.intp], Mask]:
        places = np.searchsorted(self._items, items)
        return places, _contained(self._items, places, items)

    def _drop(self) -> None:
        """Keep the items that may be the most frequent; the others had at most `_dropped`."""
        most = self._counts + self._missed
        order = np.argsort(most, kind="stable")
        kept = np.sort(order[-self._capacity :])
        self._dropped = int(most[order[-self._capacity - 1]])
        self._items = self._items[kept]
        self._counts = self._counts[kept]
        self._missed = self._missed[kept]


def _contained(known: Hashes, places: NDArray[np.intp], items: Hashes) -> Mask:
    """Which items are `known`, among which they would be inserted at `places`."""
    if not len(known):
        return np.zeros(len(items), bool)
    found: Mask = known[np.minimum(places, len(known) - 1)] == items
    return found


def _merged(array: Ints, old: Mask, at: NDArray[np.intp], new: Ints | int) -> Ints:
    """The `array` at the places of `old`, and `new` values `at` the others."""
    merged = np.empty(len(old), array.dtype)
    merged[old] = array
    merged[at] = new
    return merged


class _Frame:
    """What the pages of one host have in common, as far as known."""

    __slots__ = ("blocks", "pages", "terms")

    def __init__(self) -> None:
        self.pages = 0
        self.blocks = FrequentItems(_BLOCKS_KEPT)
        self.terms = FrequentItems(_TERMS_KEPT)


class Boilerplate:
    """The frames of the 10,000 hosts seen last; one of a host with many pages takes up to 25 kB."""

    def __init__(self) -> None:
        self._hosts: dict[str, _Frame] = {}

    def observe(self, host: str, page: ParsedText) -> NDArray[np.float64]:
        """Learn from a page not seen before; what `counts` says of it then."""
        known = self._hosts.pop(host, None) or _Frame()
        self._hosts[host] = known
        if len(self._hosts) > _MAX_HOSTS:
            del self._hosts[next(iter(self._hosts))]
        known.pages += 1
        known.blocks.add(np.sort(page.blocks))
        counts = self.counts(host, page)
        known.terms.add(np.sort(page.hashes[counts > 0]))
        return counts

    def counts(self, host: str, page: ParsedText) -> NDArray[np.float64]:
        """How often each term of a page occurs outside the blocks that its host repeats."""
        known = self._hosts.get(host)
        if known is None or known.pages <= _BLOCK_PAGES:
            return page.term_counts()
        most = max(_BLOCK_PAGES, _BLOCK_SHARE * known.pages)
        return page.term_counts(~known.blocks.came_more_often(page.blocks, most))

    def common(self, host: str, terms: Hashes) -> Mask:
        """Which terms stand in so many pages of the host that they tell nothing of one page."""
        known = self._hosts.get(host)
        if known is None or known.pages <= _TERM_PAGES:
            return np.zeros(len(terms), bool)
        return known.terms.came_more_often(terms, _TERM_SHARE * known.pages + _TERM_PAGES)

    def state_dict(self) -> dict[str, NDArray[np.generic]]:
        """All of it as flat arrays by name."""
        hosts = list(self._hosts.values())
        summaries = [rows for host in hosts for rows in (host.blocks.state(), host.terms.state())]
        return {
            "host_names": np.frombuffer("\n".join(self._hosts).encode(), np.uint8),
            "host_pages": np.array([host.pages for host in hosts], np.int64),
            "host_items": np.concatenate([np.empty((0, 3), np.uint32), *summaries]),
        }

    def load_state_dict(self, state: Mapping[str, NDArray[np.generic]]) -> None:
        """Put back what `state_dict` gave."""
        self._hosts = {}
        names = state["host_names"].tobytes().decode().split("\n")
        rows, at = state["host_items"].astype(np.int64), 0
        for name, pages in zip(names, state["host_pages"].tolist(), strict=False):
            host = self._hosts[name] = _Frame()
            host.pages = pages
            for part in ("blocks", "terms"):
                end = at + 1 + int(rows[at, 0])
                setattr(host, part, FrequentItems.from_state(rows[at:end]))
                at = end
