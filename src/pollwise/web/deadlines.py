"""Deadlines: one timer for all that is given the same time, and time that was slept away."""

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from pollwise.boot_clock import seconds_since_boot
from pollwise.errors import PostponedError

__all__ = ["Deadlines", "ahead_of_loop", "time_limit"]

_LATE = 5.0
"""Seconds by which even a busy machine seldom sees that time is over."""


class Deadlines:
    """Calls what was added once its time is over, unless it was taken out before.

    Each has `seconds`, so the first that was added comes first. A timer for each would be set and
    cancelled at every poll. All are added within one event loop.
    """

    _loop: asyncio.AbstractEventLoop

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._ends: dict[Callable[[], None], float] = {}
        self._timer: asyncio.TimerHandle | None = None

    def add(self, call: Callable[[], None]) -> float:
        """Have this called in time; the time of the event loop at which that is."""
        is_first = self._timer is None
        if is_first:  # to ask for the loop is a system call
            self._loop = asyncio.get_running_loop()
        ends_at = self._ends[call] = self._loop.time() + self.seconds
        if is_first:
            self._timer = self._loop.call_at(ends_at, self._look)
        return ends_at

    def take_out(self, call: Callable[[], None]) -> None:
        """Do not call it any more."""
        self._ends.pop(call, None)

    def close(self) -> None:
        """Call nothing any more."""
        self._ends.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        """Call the first if its time is over; before, as it may raise, set the timer for the next.

        Each has a turn of the loop, as it would with a timer of its own.
        """
        loop = self._loop
        call, ends_at = next(iter(self._ends.items()), (None, math.inf))
        due = call if ends_at <= loop.time() else None
        if due is not None:
            del self._ends[due]
        next_at = next(iter(self._ends.values()), None)
        self._timer = None if next_at is None else loop.call_at(next_at, self._look)
        if due is not None:
            due()


def ahead_of_loop(now: float) -> float:
    """How many seconds the boot clock is ahead of that of the event loop, which tells `now`: as
    many more as the machine has slept since.
    """
    return seconds_since_boot() - now


@asynccontextmanager
async def time_limit(
    ends_at: float, *, ahead: float | None = None
) -> AsyncIterator[asyncio.Timeout]:
    """`asyncio.timeout_at`, but `PostponedError` if the time passed while nothing could run here.

    So it is when a machine sleeps, or a process is stopped: what was waited for may have come.
    `ahead`: see `ahead_of_loop`, as what is waited for was begun; None: it begins now.
    """
    loop = asyncio.get_running_loop()
    if ahead is None:
        ahead = ahead_of_loop(loop.time())
    try:
        async with asyncio.timeout_at(ends_at) as limit:
            yield limit
    except TimeoutError as error:
        if ahead_of_loop(limit.when() or ends_at) > ahead + _LATE:
            raise PostponedError("this machine slept while the answer was awaited") from error
        raise
