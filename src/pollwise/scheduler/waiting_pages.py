"""Pages that wait, and their lines: a million that come together take little memory."""

import heapq
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from pollwise.array_growth import long_enough
from pollwise.page_columns import Coded, PageColumns
from pollwise.types import Page
from pollwise.watched_pages import packed

__all__ = ["Place", "Places", "WaitingLine", "WaitingPages", "places_by_scope"]

Place = tuple[float, int, int]
"""Of a page in a line: its rank, the smallest first, its turn, its id."""

_MANY = 100
"""Pages that come together are kept as columns if there are so many."""
_LEFT = 128
"""Of a batch of which one in so many is left, these are kept alone."""
_NOWHERE = -1
_BATCH = 1 << 32


class WaitingPages:
    """Pages by id; those of many that came together are made when they are asked for."""

    def __init__(self) -> None:
        self._single: dict[int, Page] = {}
        self._batches: list[Sequence[Page] | None] = []
        """None: all its pages are gone."""
        self._ids: list[NDArray[np.int64]] = []
        """Those of the pages of each batch: their other columns would take four times as much."""
        self._left: list[int] = []
        """How many pages of each batch are left."""
        self._in_batches = 0
        self._where = np.zeros(0, np.int64)
        """By page id, its batch and its place within it."""

    def __contains__(self, page_id: int) -> bool:
        return page_id in self._single or self._place(page_id) is not None

    def __len__(self) -> int:
        return len(self._single) + self._in_batches

    def __getitem__(self, page_id: int) -> Page:
        if (page := self._single.get(page_id)) is not None:
            return page
        place = self._place(page_id)
        batch = None if place is None else self._batches[place[0]]
        if place is None or batch is None:
            raise KeyError(page_id)
        return batch[place[1]]

    def __setitem__(self, page_id: int, page: Page) -> None:
        self._drop(page_id)
        self._single[page_id] = page

    def add(self, pages: PageColumns) -> None:
        """Take in pages that are new."""
        if len(pages) < _MANY:
            self._single.update((page.id, page) for page in pages)
            return
        self._where = long_enough(self._where, int(pages.ids.max()) + 1, _NOWHERE)
        self._where[pages.ids] = len(self._batches) * _BATCH + np.arange(len(pages))
        self._batches.append(packed(pages).pages)
        self._ids.append(pages.ids)
        self._left.append(len(pages))
        self._in_batches += len(pages)

    def pop(self, page_id: int) -> Page | None:
        """Take a page out; None: it is not there."""
        if len(self) == 0 or page_id not in self:  # as a rule none is left
            return None
        page = self[page_id]
        self._drop(page_id)
        return page

    def _place(self, page_id: int) -> tuple[int, int] | None:
        if not 0 <= page_id < len(self._where) or self._where[page_id] == _NOWHERE:
            return None
        return divmod(self._where.item(page_id), _BATCH)

    def _drop(self, page_id: int) -> None:
        self._single.pop(page_id, None)
        if (place := self._place(page_id)) is not None:
            number, _ = place
            self._where[page_id] = _NOWHERE
            self._left[number] -= 1
            self._in_batches -= 1
            batch = self._batches[number]
            if batch is not None and self._left[number] * _LEFT <= len(batch):
                self._split(number, batch)

    def _split(self, number: int, batch: Sequence[Page]) -> None:
        """Keep what is left of a batch without what the others had."""
        begin, ids = number * _BATCH, self._ids[number]
        left = np.flatnonzero(self._where[ids] == begin + np.arange(len(batch)))
        self._single.update((page.id, page) for page in map(batch.__getitem__, left.tolist()))
        self._where[ids[left]] = _NOWHERE
        self._batches[number], self._ids[number] = None, ids[:0].copy()
        self._in_batches -= self._left[number]
        self._left[number] = 0


class Places:
    """Many places by columns, and their order."""

    def __init__(
        self,
        ranks: NDArray[np.float64],
        turns: NDArray[np.int64],
        page_ids: NDArray[np.int64],
        order: NDArray[np.int64],
    ) -> None:
        self._columns = ranks, turns, page_ids
        self._order = order

    def __getitem__(self, at: int) -> Place:
        own = self._order.item(at)
        ranks, turns, page_ids = self._columns
        return ranks.item(own), turns.item(own), page_ids.item(own)


def places_by_scope(
    scopes: Coded[str],
    ranks: NDArray[np.float64],
    turns: NDArray[np.int64],
    page_ids: NDArray[np.int64],
) -> Iterator[tuple[str, Places, int, int]]:
    """The places of pages: for each scope where its own begin and end among all."""
    # Short integers are sorted without comparing any.
    numbers = scopes.numbers.astype(np.min_scalar_type(len(scopes.distinct)))
    order = np.lexsort((page_ids, turns, ranks, numbers))
    places = Places(ranks, turns, page_ids, order)
    counts = np.bincount(numbers, minlength=len(scopes.distinct))
    ends = np.cumsum(counts)
    for number in np.flatnonzero(counts).tolist():
        end = ends.item(number)
        yield scopes.distinct[number], places, end - counts.item(number), end


class WaitingLine:
    """The places of pages that wait for the same, the smallest first.

    >>> line = WaitingLine()
    >>> line.push((2.0, 0, 5))
    >>> columns = np.array([1.0, 3.0]), np.array([1, 2]), np.array([7, 8])
    >>> line.put(Places(*columns, order=np.arange(2)), 0, 2)
    >>> line.first, [line.pop() for _ in range(3)], line.first
    ((1.0, 1, 7), [(1.0, 1, 7), (2.0, 0, 5), (3.0, 2, 8)], None)
    """

    def __init__(self) -> None:
        self._heap: list[Place] = []
        self._places: Places | None = None
        self._next = self._end = 0
        self._from_places: Place | None = None

    @property
    def first(self) -> Place | None:
        """The smallest place; None: there is none."""
        own = self._from_places
        if self._heap and (own is None or self._heap[0] < own):
            return self._heap[0]
        return own

    def push(self, place: Place) -> None:
        """Take in a place."""
        heapq.heappush(self._heap, place)

    def put(self, places: Places, begin: int, end: int) -> None:
        """Take in places that are in order: those from `begin` to before `end`."""
        if end - begin < self._end - self._next:
            for at in range(begin, end):
                self.push(places[at])
            return
        while self._from_places is not None:
            self.push(self._from_places)
            self._look(self._next + 1)
        self._places, self._end = places, end
        self._look(begin)

    def pop(self) -> Place:
        """Take out the smallest place; `IndexError` if there is none."""
        own = self._from_places
        if own is None or (self._heap and self._heap[0] < own):
            return heapq.heappop(self._heap)
        self._look(self._next + 1)
        return own

    def _look(self, at: int) -> None:
        self._next = at
        if self._places is not None and at < self._end:
            self._from_places = self._places[at]
        else:
            self._places = self._from_places = None
