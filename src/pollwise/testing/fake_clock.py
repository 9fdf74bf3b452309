"""A clock for tests: time passes only when somebody waits for it."""

import asyncio
import math
from collections.abc import Collection
from typing import Any

__all__ = ["FakeClock"]


class FakeClock:
    """A `pollwise.live.clock.Clock` that jumps to the time waited for, at once.

    Tasks come first: while one is about to end, no time passes.

    >>> clock = FakeClock(now=10.0)
    >>> asyncio.run(clock.wait([], until=12.5))
    >>> clock()
    12.5
    """

    def __init__(self, now: float = 0.0) -> None:
        self._now = now
        self._end = math.inf
        self._stop: asyncio.Event | None = None
        self._passed = asyncio.Event()

    def __call__(self) -> float:
        """The time in UTC seconds since 1970."""
        return self._now

    def stop_at(self, end: float, stop: asyncio.Event) -> None:
        """Set `stop` when the time would pass `end` (UTC seconds)."""
        self._end = end
        self._stop = stop

    async def wait(self, tasks: Collection[asyncio.Future[Any]], until: float) -> None:
        """Let tasks run; if none of them ends, jump to the time `until`."""
        for _ in range(_TURNS):
            if any(task.done() for task in tasks):
                return
            await asyncio.sleep(0)
        if until >= self._end and self._stop is not None:
            self._now = max(self._now, self._end)
            self._stop.set()
        elif math.isfinite(until):
            self._now = max(self._now, until)
        self._passed.set()
        self._passed.clear()

    async def sleep(self, seconds: float) -> None:
        """Wait while others let so much time pass."""
        end = self._now + seconds
        while self._now < end:
            await self._passed.wait()


_TURNS = 5
"""Turns of the event loop after which a task that waits for nothing real has ended."""
