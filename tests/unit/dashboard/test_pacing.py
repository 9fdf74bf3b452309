"""Work leaves the machine to others, by what it costs and by how long it lasts."""

import time

import pytest

from pollwise.dashboard.pacing import Pacing


def busy(seconds: float) -> None:
    """Work for so many seconds of the processor, however long that lasts."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


async def rest_after(call: object, seconds: float, *, hurried: bool = False) -> float:
    """How long to rest after the second turn of such work."""
    pacing = Pacing()
    for _ in range(2):
        assert pacing.rest() == 0.0  # before the first one, and after it: it loads what is needed
        await pacing.work(lambda: call(seconds))
    return pacing.rest(hurried=hurried)


async def test_it_takes_a_fifth_of_a_core() -> None:
    assert await rest_after(busy, 0.1) > 0.35


async def test_what_waits_for_others_costs_less() -> None:
    assert 0.05 < await rest_after(time.sleep, 0.1) < 0.3


async def test_what_is_urgent_may_take_half_of_the_time() -> None:
    assert await rest_after(time.sleep, 0.1, hurried=True) > 0.05
    pacing = Pacing()
    await pacing.work(lambda: None)
    await pacing.work(lambda: busy(0.1))
    assert pacing.rest(hurried=True) < pacing.rest() - 0.1


async def test_what_failed_counts_too() -> None:
    pacing = Pacing()
    await pacing.work(lambda: None)
    with pytest.raises(ZeroDivisionError):
        await pacing.work(lambda: (time.sleep(0.1), 1 // 0))
    assert pacing.rest() > 0.0
