"""What a run needs of very many pages, read by several processes: it is mostly work for Python."""

from collections import deque
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from functools import cache

from pollwise.process_pool import process_pool
from pollwise.store.place import Place
from pollwise.store.store import Store
from pollwise.watched_pages import WatchedPart

__all__ = ["read_side_by_side"]

_AT_ONCE = 20_000
"""Ids of pages that one process reads at a time."""


def read_side_by_side(store: Store, processes: int) -> Iterator[WatchedPart]:
    """`StoreReader.watched_parts` of all pages, which nobody may change meanwhile.

    What a process does not read, as one that gets no memory, is read here.
    """
    end = store.next_page_id()
    tasks = [(store.path, first, first + _AT_ONCE) for first in range(0, end, _AT_ONCE)]
    with process_pool(processes) as begin:
        reading = deque(begin(_read, tasks))
        for _, first, behind in tasks:
            try:
                yield from reading.popleft().result()
            except BrokenProcessPool:
                yield from store.watched_parts(first, behind)


def _read(task: tuple[Place, int, int]) -> list[WatchedPart]:
    place, first, behind = task
    return list(_reader(place).watched_parts(first, behind))


@cache
def _reader(place: Place) -> Store:
    """Closed when the process ends."""
    return Store.open_readonly(place)
