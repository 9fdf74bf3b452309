"""A time that moves on only when nothing is under way: however fast or busy the machine is.

`VirtualTime` is an event loop with such a time. All timers of the loop go by it: those of asyncio,
and so the time-outs and kept connections of clients and servers as well. Work takes none of it;
where everybody waits, it steps to the earliest of the times waited for.

That nothing is under way cannot be seen from the sockets: what was sent to one end of a connection
may not have arrived at the other yet. So it is counted. An exchange holds the time (`held`) from
its request to the end of its answer, but for what the server sleeps (`sleep`); the calls that are
made by threads hold it, too.
"""

import asyncio
import selectors
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any, TypeVar

__all__ = ["VirtualClock", "VirtualTime"]

T = TypeVar("T")

_RESOLUTION = 1e-6
"""Seconds by which a step goes beyond the time waited for: a sum of floats may be a little less."""

_Events = list[tuple[selectors.SelectorKey, int]]


class VirtualTime(asyncio.SelectorEventLoop):
    """An event loop whose time begins at 0 and stands still while anything is under way.

    `speed` is how many seconds pass in a real one, at the most; None: as many as can.
    """

    def __init__(self, speed: float | None = None) -> None:
        self._now = 0.0
        self._holds = 0
        self._settled: list[asyncio.Future[None]] = []
        self._speed = speed
        self._began_at = time.monotonic()
        super().__init__(_SteppingSelector(self._step))

    def time(self) -> float:
        """The seconds of virtual time since the beginning."""
        return self._now

    @contextmanager
    def held(self) -> Iterator[None]:
        """A context in which the time stands still, unless a server sleeps."""
        self._holds += 1
        try:
            yield
        finally:
            self._holds -= 1

    async def sleep(self, seconds: float) -> None:
        """Sleep within an exchange that holds the time: it goes on meanwhile."""
        self._holds -= 1
        try:
            await asyncio.sleep(seconds)
        finally:
            self._holds += 1

    async def settled(self) -> None:
        """Return when nothing is left to be done at this moment."""
        settled = self.create_future()
        self._settled.append(settled)
        await settled

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        """See `asyncio`; the time stands still until the call has ended."""
        called: asyncio.Future[T] = super().run_in_executor(executor, func, *args)
        self._holds += 1
        called.add_done_callback(self._let_go)
        return called

    def _let_go(self, _: asyncio.Future[Any]) -> None:
        self._holds -= 1

    def _step(self, wait: Callable[[float | None], _Events], timeout: float | None) -> _Events:
        """What has happened, if anything has or is under way; else step by `timeout`."""
        if timeout is not None and timeout <= 0:
            return wait(0)
        if self._holds:
            return wait(None)
        if self._settled:
            settled, self._settled = self._settled, []
            for future in settled:
                if not future.done():
                    future.set_result(None)
            return wait(0)
        if timeout is None:
            return wait(None)
        events = wait(self._rest(timeout))
        if not events:
            self._now += timeout + _RESOLUTION
        return events

    def _rest(self, step: float) -> float:
        """Real seconds until a step may be made."""
        if self._speed is None:
            return 0.0
        return max(self._began_at + (self._now + step) / self._speed - time.monotonic(), 0.0)


class _SteppingSelector(selectors.DefaultSelector):
    """Asks before it waits; `step` is given what waits for real, and for how long it would."""

    def __init__(
        self,
        step: Callable[[Callable[[float | None], _Events], float | None], _Events],
    ) -> None:
        super().__init__()
        self._step = step

    def select(self, timeout: float | None = None) -> _Events:
        return self._step(super().select, timeout)


class VirtualClock:
    """The `Clock` of a run in virtual time, which is `start` (UTC seconds) at the loop's time 0.

    Its waits end only when nothing is left to be done at that moment, so that polls that end at the
    same time are seen together, in the order of their start.
    """

    def __init__(self, start: float, loop: VirtualTime) -> None:
        self._start = start
        self._loop = loop

    def __call__(self) -> float:
        """The time in UTC seconds since 1970; it never falls."""
        return self._start + self._loop.time()

    async def wait(self, tasks: Collection[asyncio.Future[Any]], until: float) -> None:
        """Return when one of the tasks is done, at the time `until` (UTC seconds), or before."""
        await asyncio.wait(
            tasks, timeout=max(until - self(), 0.0), return_when=asyncio.FIRST_COMPLETED
        )
        await self._loop.settled()
