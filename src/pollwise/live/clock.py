"""The time of a run.

The machine's clock may be wrong and set right at any moment, forwards or backwards. A run looks at
it once, at its start; from then on it counts seconds by a clock that nobody sets. So its time never
falls, and no deadline moves when the machine's clock is set. If that lasts, the run ends, and goes
on as a new one by the machine's clock: what is stored is fit for that (`Scheduler.begin`).
"""

import asyncio
import select
import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any, Protocol

from pollwise.boot_clock import seconds_since_boot
from pollwise.insight.words import moment

__all__ = ["Clock", "LiveClock", "wait_until_set"]

_LONGEST_WAIT = 300.0
"""Seconds after which a wait ends in any case: a machine may sleep meanwhile, which the timers of
the event loop do not count."""
_BEAT = 10.0
"""Seconds after which a wait looks at the clock, whatever has become of those timers."""


_APART, _LOOKS = 60.0, 60
"""How far apart, in seconds, and at how many beats in a row that must be seen."""


_SET = 1_704_067_200.0
"""2024-01-01, in UTC seconds: a machine's clock that tells an earlier time was not set yet."""
_LOOK_EVERY = 1.0


class Clock(Protocol):
    """Tells the time and waits."""

    def __call__(self) -> float:
        """The time in UTC seconds since 1970; it never falls."""

    async def wait(self, tasks: Collection[asyncio.Future[Any]], until: float) -> None:
        """Return when one of the tasks is done, at the time `until` (UTC seconds), or before."""


def wait_until_set(
    latest: float, say: Callable[[str], None], machine_clock: Callable[[], float] = time.time
) -> None:
    """Wait while the machine's clock was clearly not set since the machine was started.

    Many small machines have no battery for it and begin in 1970, until the network tells the time.
    `latest` is the latest time that is stored (UTC seconds): if that was of a clock that was set, a
    run by this one would set all times back to 1970. Where none was ever set, none is waited for.
    """
    if not machine_clock() < _SET <= latest:
        return
    now = moment(machine_clock())
    say(f"the clock of this machine says {now} (UTC), as it is not set yet: polls wait until it is")
    while machine_clock() < _SET:
        time.sleep(_LOOK_EVERY)


class LiveClock:
    """The time of this machine at the start of the run, and the seconds since.

    `machine_clock` gives UTC seconds, `seconds` the seconds since any moment.
    """

    def __init__(
        self,
        machine_clock: Callable[[], float] = time.time,
        seconds: Callable[[], float] = seconds_since_boot,
    ) -> None:
        self._machine_clock = machine_clock
        self._seconds = seconds
        self._begun_at = machine_clock()
        self._begun_count = self._counted = seconds()
        self._pulse = _Pulse()
        self.is_apart = False
        self._fell = False

    def __call__(self) -> float:
        """The time in UTC seconds since 1970; it never falls."""
        counted = self._seconds()
        if counted < self._counted:  # it goes on from where it was
            self._begun_at += self._counted - self._begun_count
            self._begun_count = counted
            self._fell = True
        self._counted = counted
        # Not a sum of steps: each would be rounded, and many looks a second would add that up.
        return self._begun_at + (counted - self._begun_count)

    @property
    def moved(self) -> float:
        """By how many seconds the machine's clock was set forwards (below 0: backwards) since."""
        now = self()
        return self._machine_clock() - now

    async def mind(self, stop: asyncio.Event) -> None:
        """Set `stop` when the machine's clock has been apart for so long that it is to be believed.

        `is_apart` tells so from then on: a new clock would have another time. So it is if even the
        count of seconds fell: then the timers of this event loop stand still.
        """
        looks = 0
        while looks < _LOOKS and not self._fell:
            await asyncio.wait([self._pulse.next()])
            looks = looks + 1 if abs(self.moved) > _APART else 0
        self.is_apart = True
        stop.set()

    async def wait(self, tasks: Collection[asyncio.Future[Any]], until: float) -> None:
        """Return when one of the tasks is done, at the time `until` (UTC seconds), or before."""
        end = min(until, self() + _LONGEST_WAIT)
        done: set[asyncio.Future[Any]] = set()
        while not done:
            beat = self._pulse.next()
            done, _ = await asyncio.wait(
                [*tasks, beat],
                timeout=max(end - self(), 0.0),
                return_when=asyncio.FIRST_COMPLETED,
            )
            done.discard(beat)
            if self() >= end:
                return


class _Pulse:
    """Wakes an event loop every few seconds, by a thread.

    The timers of the loop stand still where the clock that they go by is set back, as it happens to
    virtual machines that are moved.
    """

    def __init__(self) -> None:
        self._next: asyncio.Future[None] | None = None

    def next(self) -> asyncio.Future[None]:
        """What is done at the next beat."""
        if self._next is None:
            loop = asyncio.get_running_loop()
            self._next = loop.create_future()
            threading.Thread(target=self._go_on, args=(loop,), daemon=True, name="pulse").start()
        elif self._next.done():
            self._next = asyncio.get_running_loop().create_future()
        return self._next

    def _go_on(self, loop: asyncio.AbstractEventLoop) -> None:
        with suppress(RuntimeError):  # the loop is closed
            while True:
                select.select([], [], [], _BEAT)
                loop.call_soon_threadsafe(self._beat)

    def _beat(self) -> None:
        if self._next is not None and not self._next.done():
            self._next.set_result(None)
