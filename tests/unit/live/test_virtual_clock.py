"""The virtual time: it steps over waits, and stands still while anything is under way."""

import asyncio
import math
import socket
import threading
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

from pollwise.live.virtual_clock import VirtualClock, VirtualTime

T = TypeVar("T")

DAY = 86_400.0
NEAR = {"abs": 1e-3}


def run(main: Coroutine[Any, Any, T], speed: float | None = None) -> T:
    with asyncio.Runner(loop_factory=lambda: VirtualTime(speed)) as runner:
        return runner.run(main)


def virtual() -> VirtualTime:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualTime)
    return loop


def test_a_wait_takes_virtual_time_only():
    async def main() -> float:
        await asyncio.sleep(365 * DAY)
        return virtual().time()

    begun = time.monotonic()
    assert run(main()) == pytest.approx(365 * DAY, **NEAR)
    assert time.monotonic() - begun < 60.0


def test_those_who_wait_are_woken_in_the_order_of_time():
    woken = []

    async def wait(seconds: float) -> None:
        await asyncio.sleep(seconds)
        woken.append((seconds, round(virtual().time(), 3)))

    async def main() -> None:
        await asyncio.gather(wait(3.0), wait(1.0), wait(2.0))

    run(main())
    assert woken == [(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)]


def test_a_call_by_a_thread_takes_no_time():
    let_go = threading.Event()

    async def main() -> float:
        loop = virtual()
        sleeping = asyncio.ensure_future(asyncio.sleep(10.0))
        called = loop.run_in_executor(None, let_go.wait, 60.0)
        for _ in range(3):
            await asyncio.sleep(0)
        assert not sleeping.done()
        let_go.set()
        assert await called
        assert not sleeping.done()
        return loop.time()

    assert run(main()) == 0.0


def test_an_exchange_that_holds_the_time_takes_none_however_long_the_bytes_need():
    async def main() -> float:
        loop = virtual()
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        late = threading.Timer(0.2, theirs.send, [b"answer"])
        waiting = asyncio.ensure_future(asyncio.sleep(0.001))
        with loop.held(), ours, theirs:
            late.start()
            assert await loop.sock_recv(ours, 100) == b"answer"
            assert not waiting.done()
        return loop.time()

    assert run(main()) == 0.0


def test_a_server_that_sleeps_lets_the_time_go_on():
    async def main() -> float:
        loop = virtual()
        with loop.held():
            await loop.sleep(5.0)
        return loop.time()

    assert run(main()) == pytest.approx(5.0, **NEAR)


def test_a_time_out_is_one_of_virtual_time():
    async def main() -> None:
        async with asyncio.timeout(30.0):
            await asyncio.sleep(31.0)

    with pytest.raises(TimeoutError):
        run(main())


def test_no_timer_is_passed_over_when_the_time_is_large():
    async def main() -> int:
        await asyncio.sleep(40 * 365 * DAY)
        for _ in range(1000):
            await asyncio.sleep(0.1)
        return round(virtual().time() - 40 * 365 * DAY)

    assert run(main()) == 100


def test_the_clock_tells_utc_and_waits_for_tasks_or_a_time():
    async def main() -> None:
        clock = VirtualClock(1_000.0, virtual())
        never: asyncio.Future[None] = virtual().create_future()
        await clock.wait([never], 1_500.0)
        assert clock() == pytest.approx(1_500.0, **NEAR)
        soon = asyncio.ensure_future(asyncio.sleep(7.0))
        await clock.wait([never, soon], math.inf)
        assert clock() == pytest.approx(1_507.0, **NEAR)
        await clock.wait([never], 0.0)
        assert clock() == pytest.approx(1_507.0, **NEAR)

    run(main())


def test_a_wait_ends_when_nothing_is_left_to_be_done_at_that_moment():
    async def main() -> None:
        loop = virtual()
        clock = VirtualClock(0.0, loop)
        let_go = threading.Event()

        async def by_thread() -> None:
            await loop.run_in_executor(None, let_go.wait, 60.0)
            await asyncio.sleep(0)

        quick = asyncio.ensure_future(asyncio.sleep(0))
        slow = asyncio.ensure_future(by_thread())
        threading.Timer(0.1, let_go.set).start()
        await clock.wait([quick, slow], 100.0)
        assert quick.done()
        assert slow.done()
        assert clock() == 0.0

    run(main())


def test_a_speed_is_the_greatest_there_is():
    async def main() -> None:
        for _ in range(4):
            await asyncio.sleep(10.0)

    begun = time.monotonic()
    run(main(), speed=100.0)
    assert time.monotonic() - begun >= 0.4
