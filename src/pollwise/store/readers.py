"""Threads that read a database, for an event loop that others may not hold up."""

import asyncio
import queue
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from pollwise.store import Place, Store

__all__ = ["Readers"]

T = TypeVar("T")


class Readers:
    """So many threads, each with a `Store` of its own that only reads.

    `StoreError` if the database cannot be read.
    """

    def __init__(self, db: Place, threads: int) -> None:
        self._stores = [Store.open_readonly(db) for _ in range(threads)]
        self._idle: queue.SimpleQueue[Store] = queue.SimpleQueue()
        for store in self._stores:
            self._idle.put(store)
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="reader")

    def close(self) -> None:
        """End the threads, after what they read now."""
        self._threads.shutdown(cancel_futures=True)
        for store in self._stores:
            store.close()

    async def read(self, call: Callable[[Store], T]) -> T:
        """What the call gives for a store that it may read meanwhile, in one of the threads."""

        def run() -> T:
            store = self._idle.get_nowait()  # there is one for each thread
            try:
                return call(store)
            finally:
                self._idle.put(store)

        return await asyncio.get_running_loop().run_in_executor(self._threads, run)
