import asyncio
import math

import pytest

from pollwise.testing.fake_clock import FakeClock


async def after(turns: int) -> int:
    for _ in range(turns):
        await asyncio.sleep(0)
    return turns


async def test_time_passes_only_where_nothing_else_happens():
    clock = FakeClock(now=5.0)
    task = asyncio.ensure_future(after(3))
    await clock.wait([task], until=9.0)
    assert (task.done(), clock()) == (True, 5.0)
    await clock.wait([task], until=9.0)
    assert clock() == 5.0
    await clock.wait([asyncio.Future()], until=9.0)
    assert clock() == 9.0


@pytest.mark.parametrize("until", [1.0, math.inf])
async def test_time_does_not_run_back_nor_to_the_end_of_all_days(until):
    clock = FakeClock(now=5.0)
    await clock.wait([], until=until)
    assert clock() == 5.0


@pytest.mark.parametrize("until", [7.0, 99.0, math.inf])
async def test_it_stops_at_the_end(until):
    clock, stop = FakeClock(now=5.0), asyncio.Event()
    clock.stop_at(7.0, stop)
    await clock.wait([], until=6.0)
    assert (clock(), stop.is_set()) == (6.0, False)
    await clock.wait([], until=until)
    assert (clock(), stop.is_set()) == (7.0, True)


async def test_who_sleeps_lets_others_wait():
    clock = FakeClock(now=5.0)
    asleep = [asyncio.ensure_future(clock.sleep(seconds)) for seconds in (0.0, 2.0, 3.0)]
    done = []
    for until in (6.0, 7.0, 7.5, 9.0):
        await clock.wait([], until=until)
        await asyncio.sleep(0)
        done.append([one.done() for one in asleep])
    assert done == [[True, False, False], [True, True, False], [True, True, False], 3 * [True]]
