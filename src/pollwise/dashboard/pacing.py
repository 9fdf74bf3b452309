"""How long to rest between two turns of the same work, so that it leaves the machine to others."""

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

__all__ = ["Pacing"]

_SHARE = 0.2
"""The greatest share of one core."""

T = TypeVar("T")


class Pacing:
    """Does turns of some work in a thread, and tells how long to rest until the next one.

    The work takes a fifth of one core at most, and half of the time: on a busy machine it lasts
    longer without costing more. The first turn counts for nothing, as it loads and compiles what
    the others need as well.
    """

    def __init__(self) -> None:
        self._turns = 0
        self._ended_at = 0.0
        self._lasted = 0.0
        self._worked = 0.0

    async def work(self, call: Callable[[], T]) -> T:
        """What a call gives, in a thread: one turn."""
        begun_at = time.monotonic()
        worked = 0.0

        def timed() -> T:
            nonlocal worked
            begun_at = time.thread_time()
            try:
                return call()
            finally:
                worked = time.thread_time() - begun_at

        try:
            return await asyncio.to_thread(timed)
        finally:
            self._turns += 1
            self._ended_at = time.monotonic()
            self._lasted = self._ended_at - begun_at
            self._worked = worked

    def rest(self, *, hurried: bool = False) -> float:
        """Seconds to wait still; if it is `hurried`, nothing but half of the time is left free."""
        if self._turns < 2:
            return 0.0
        rest = self._lasted if hurried else max(self._worked / _SHARE - self._worked, self._lasted)
        return max(self._ended_at + rest - time.monotonic(), 0.0)
