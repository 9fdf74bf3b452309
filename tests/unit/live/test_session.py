"""Runs that are ended, by people or by a clock that was set."""

import asyncio
import os
import signal
import time

from pollwise.live.clock import LiveClock
from pollwise.live.session import Run, run_until_stopped


def test_a_run_begins_anew_by_a_clock_that_was_set():
    said: list[str] = []
    clocks: list[LiveClock] = []

    def begin(clock: LiveClock) -> Run[int]:
        clocks.append(clock)

        async def run(stop: asyncio.Event) -> int:
            clock.is_apart = len(clocks) < 3
            return len(clocks)

        return run

    assert run_until_stopped(begin, said.append) == 3
    assert said == ["the clock of this machine was set by +0 s: going on by it"] * 2
    assert len(set(map(id, clocks))) == 3


def test_who_ends_a_run_while_it_ends_by_the_clock_ends_it_for_good():
    runs = 0

    def begin(clock: LiveClock) -> Run[None]:
        async def run(stop: asyncio.Event) -> None:
            nonlocal runs
            runs += 1
            clock.is_apart = True
            os.kill(os.getpid(), signal.SIGTERM)
            end = time.monotonic() + 20.0
            while not stop.is_set() and time.monotonic() < end:
                await asyncio.sleep(0.01)

        return run

    run_until_stopped(begin, print)
    assert runs == 1
