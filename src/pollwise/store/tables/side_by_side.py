"""What a run needs of very many pages, read by several processes: it is mostly work for Python."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from typing import Any, TypeVar

from pollwise.process_pool import process_pool
from pollwise.store.place import Place
from pollwise.store.store import Store
from pollwise.store.tables.reader import TableReader

__all__ = ["read_side_by_side"]

T = TypeVar("T")
Read = Callable[[TableReader, int, int], Iterable[T]]

_AT_ONCE = 20_000
"""Ids of pages that one process reads at a time."""


def read_side_by_side(
    store: TableReader, read: Read[T], behind: int, processes: int
) -> Iterator[T]:
    """What `read` gives for the pages from one id on and below another: of all below `behind`.

    Nobody may change pages meanwhile. What a process does not read, as one that gets no memory, is
    read here.
    """
    bounds = [(first, first + _AT_ONCE) for first in range(0, behind, _AT_ONCE)]
    with process_pool(processes) as begin:
        reading = deque(begin(_read, [(read, store.path, *each) for each in bounds]))
        for first, last in bounds:
            try:
                yield from reading.popleft().result()
            except BrokenProcessPool:
                yield from read(store, first, last)


def _read(task: tuple[Read[Any], Place, int, int]) -> list[Any]:
    read, place, first, behind = task
    return list(read(_reader(place), first, behind))


@cache
def _reader(place: Place) -> Any:
    """Closed when the process ends."""
    return Store.open_readonly(place)
