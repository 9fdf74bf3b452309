"""Processes that work side by side."""

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any

from pollwise.child_processes import end_with_parent, without_interrupts

__all__ = ["process_pool", "usable_cores"]

Begin = Callable[[Callable[[Any], Any], Iterable[Any]], list[Future[Any]]]


def usable_cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def process_pool(processes: int) -> Iterator[Begin]:
    """What has a function called with each of some arguments, by so many processes.

    After an error they are ended at once. `BrokenProcessPool` comes from what is not done yet when
    one of them dies.
    """
    # Spawned, since a process forked while another thread holds a lock may hang.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(processes, mp_context=context, initializer=end_with_parent)
    others = set(multiprocessing.active_children())

    def begin(function: Callable[[Any], Any], arguments: Iterable[Any]) -> list[Future[Any]]:
        with without_interrupts():  # the processes start here
            return [pool.submit(function, each) for each in arguments]

    try:
        yield begin
    except BaseException:
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
