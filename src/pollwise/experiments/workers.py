"""Processes that do trials side by side."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

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
    pool = ProcessPoolExecutor(cores, mp_context=context, initializer=_end_with_parent)
    others = set(multiprocessing.active_children())

    def run(function: Callable[[Any], Any], arguments: Sequence[Any]) -> Iterator[Any]:
        # Ctrl-C reaches all processes of a terminal. The workers, which start here and inherit
        # what is blocked, never see it: this process ends them.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            futures = [pool.submit(function, each) for each in arguments]
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
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


def _end_with_parent() -> None:
    """End this worker when the process that started it is killed: nobody else would."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
