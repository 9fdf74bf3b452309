"""Work that takes long, done by another process: the loop that fetches goes on meanwhile.

A thread would not do. Regular expressions hold Python's lock for as long as they run, and what they
are run on is up to strangers.
"""

import asyncio
import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Self, TypeVar

from pollwise.child_processes import end_with_parent, without_interrupts
from pollwise.errors import PostponedError

__all__ = ["Beside"]

T = TypeVar("T")


class Beside:
    """Another process, as an asynchronous context manager; it begins with the first call.

    It calls one function at a time, in the order in which they come.
    """

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._end()

    async def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """What the function gives there; it and all values must be fit for pickling.

        What the function raises is raised here. `PostponedError` if the process has died, as one
        does that gets no memory; the next call begins another.
        """
        if self._pool is None:
            self._pool = _pool()
        pool = self._pool
        with without_interrupts():  # it may start here
            answer = asyncio.get_running_loop().run_in_executor(pool, function, *arguments)
        try:
            return await answer
        except BrokenProcessPool as error:
            if self._pool is pool:
                self._end()
            raise PostponedError("the process that reads large pages has died") from error

    def _end(self) -> None:
        """End the process, whatever it is doing."""
        if self._pool is not None:
            processes = list((self._pool._processes or {}).values())
            self._pool.shutdown(wait=False, cancel_futures=True)
            for process in processes:
                process.kill()
            self._pool = None


def _pool() -> ProcessPoolExecutor:
    # Spawned, since a process forked while another thread holds a lock may hang.
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(1, mp_context=context, initializer=end_with_parent)
