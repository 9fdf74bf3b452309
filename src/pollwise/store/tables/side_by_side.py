"""What a run needs of very many pages, read by several processes: it is mostly work for Python."""

import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from pollwise.child_processes import without_interrupts
from pollwise.store.place import Place
from pollwise.store.sqlite.one_thread import lock_no_threads
from pollwise.store.store import Store
from pollwise.store.tables.reader import TableReader

__all__ = ["read_side_by_side"]

T = TypeVar("T")
Read = Callable[[TableReader, int, int], Iterable[T]]
Bounds = Sequence[tuple[int, int]]

_AT_ONCE = 20_000
"""Ids of pages that one process reads at a time."""


def read_side_by_side(
    store: TableReader, read: Read[T], behind: int, processes: int
) -> Iterator[T]:
    """What `read` gives for the pages from one id on and below another: of all below `behind`.

    Nobody may change pages meanwhile. What a process does not read, as one that gets no memory or
    finds damage, is read here.
    """
    bounds = [(first, first + _AT_ONCE) for first in range(0, behind, _AT_ONCE)]
    with ExitStack() as stack:
        # In turns, so that nothing is kept that has yet to wait for what comes before.
        connections = [
            stack.enter_context(_reading(read, store.path, bounds[turn::processes]))
            for turn in range(processes)
        ]
        for number, (first, last) in enumerate(bounds):
            try:
                parts: Iterable[T] = connections[number % processes].recv()
            except (EOFError, OSError):  # it died before an answer, or within one
                parts = read(store, first, last)
            yield from parts


@contextmanager
def _reading(read: Read[Any], place: Place, bounds: Bounds) -> Iterator[Connection]:
    """A context with a process that tells what it reads, one answer for each of the bounds."""
    # Spawned, since a process forked while another thread holds a lock may hang.
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_tell, args=(theirs, read, place, bounds), daemon=True)
    with ours:
        # Closed here, the pipe breaks when the process dies, or if there may be no more of them.
        with theirs, without_interrupts(), suppress(OSError):
            process.start()
        try:
            yield ours
        finally:
            if process.pid is not None:
                process.kill()
                process.join()


def _tell(connection: Connection, read: Read[Any], place: Place, bounds: Bounds) -> None:
    """The other process, which ends at once if it cannot go on: the one that asks finds out why.

    It takes a twelfth less while it has no other thread: so none waits for the end of the one that
    asks, after which nothing can be told any more.
    """
    lock_no_threads()
    with suppress(Exception), Store.open_readonly(place) as store:
        assert isinstance(store, TableReader)
        for first, behind in bounds:
            connection.send(list(read(store, first, behind)))
