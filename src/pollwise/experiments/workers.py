"""Processes that do trials side by side."""

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from pollwise.child_processes import end_with_parent, without_interrupts
from pollwise.errors import PollwiseError

__all__ = ["workers"]

Run = Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]]


@contextmanager
def workers(cores: int) -> Iterator[Run]:
    """A `map` that runs on so many cores and gives results in any order."""
    if cores == 1:
        yield map
        return
    # Spawned, since a process forked while another thread holds a lock may hang.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(cores, mp_context=context, initializer=end_with_parent)
    others = set(multiprocessing.active_children())

    def run(function: Callable[[Any], Any], arguments: Sequence[Any]) -> Iterator[Any]:
        with without_interrupts():  # the workers start here
            futures = [pool.submit(function, each) for each in arguments]
        for future in as_completed(futures):
            yield future.result()

    try:
        yield run
    except BrokenProcessPool as error:
        raise PollwiseError(
            "a process that did trials has ended before they were done (is there enough memory?);"
            " try again, with fewer --trials perhaps"
        ) from error
    except BaseException:
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
