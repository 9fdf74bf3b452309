"""The time of a run is that of its start and the seconds since, whatever is done to clocks."""

import asyncio
import time

from hypothesis import given
from hypothesis import strategies as st

from pollwise.live import clock as clock_module
from pollwise.live.clock import LiveClock, wait_until_set

_STEPS = st.lists(st.tuples(st.floats(-1e7, 1e7), st.floats(-1e6, 1e6)), max_size=20)


@given(_STEPS)
def test_setting_the_machines_clock_moves_nothing(steps: list[tuple[float, float]]):
    machine, counted = 1e9, 500.0
    clock = LiveClock(lambda: machine, lambda: counted)
    assert clock() == 1e9
    passed, latest = 0.0, counted
    for jump, seconds in steps:
        machine += jump
        counted += seconds
        passed += max(counted - latest, 0.0)
        latest = counted
        assert clock() - 1e9 == passed or abs(clock() - 1e9 - passed) < 1e-3


def test_looks_that_are_close_do_not_make_it_drift():
    counted = 500.0
    clock = LiveClock(lambda: 1.8e9, lambda: counted)
    for _ in range(100_000):
        counted += 1e-4
        clock()
    assert abs(clock() - (1.8e9 + 10.0)) < 1e-6


def test_it_tells_by_how_much_the_machines_clock_was_set():
    machine, counted = 1e9, 500.0
    clock = LiveClock(lambda: machine, lambda: counted)
    machine, counted = machine + 10.0, counted + 10.0
    assert clock.moved == 0.0
    machine += 30 * 86400.0
    assert clock.moved == 30 * 86400.0
    assert clock() == 1e9 + 10.0


async def test_it_waits_for_the_first_of_tasks_and_time():
    clock = LiveClock()
    done, never = asyncio.ensure_future(asyncio.sleep(0)), asyncio.Future[None]()
    await clock.wait([done, never], until=clock() + 1e9)
    assert done.done()
    begin = clock()
    await clock.wait([never], until=begin + 0.01)
    assert clock() >= begin + 0.01
    await clock.wait([never], until=begin - 99.0)
    await clock.wait([], until=begin + 0.02)
    assert not never.done()


async def test_a_wait_ends_though_the_timers_of_the_loop_stand_still(monkeypatch):
    monkeypatch.setattr(clock_module, "_BEAT", 0.05)
    asleep = 0.0
    clock = LiveClock(time.time, lambda: time.monotonic() + asleep)
    waiting = asyncio.ensure_future(clock.wait([asyncio.Future()], until=clock() + 250.0))
    await asyncio.sleep(0.01)
    asleep = 1000.0
    await asyncio.wait_for(waiting, timeout=20.0)


async def test_a_count_of_seconds_that_falls_ends_the_run(monkeypatch):
    monkeypatch.setattr(clock_module, "_BEAT", 0.005)
    back = 0.0
    clock = LiveClock(time.time, lambda: time.monotonic() - back)
    stop = asyncio.Event()
    minding = asyncio.ensure_future(clock.mind(stop))
    before = clock()
    back = 30 * 86400.0
    await asyncio.wait_for(stop.wait(), timeout=20.0)
    await minding
    assert clock.is_apart
    assert clock() >= before


async def test_a_clock_that_was_set_for_good_ends_the_run(monkeypatch):
    monkeypatch.setattr(clock_module, "_BEAT", 0.005)
    ahead = 0.0
    clock = LiveClock(lambda: time.time() + ahead)
    stop = asyncio.Event()
    minding = asyncio.ensure_future(clock.mind(stop))
    for jump in (30 * 86400.0, 0.0) * 3:
        ahead = jump
        await asyncio.sleep(0.02)  # too short to be believed
    assert not clock.is_apart
    ahead = -3600.0
    await asyncio.wait_for(stop.wait(), timeout=20.0)
    await minding
    assert clock.is_apart


def test_a_clock_that_is_not_set_yet_is_waited_for_if_it_was_before(monkeypatch):
    monkeypatch.setattr(clock_module, "_LOOK_EVERY", 0.0)
    times = iter([10.0, 10.0, 10.0, 11.0, 1.8e9])
    said: list[str] = []
    wait_until_set(1.7e9, said.append, times.__next__)
    assert said == []  # nothing stored is of a later time than such a clock may tell
    times = iter([10.0, 10.0, 10.0, 11.0, 1.8e9])
    wait_until_set(1.75e9, said.append, times.__next__)
    assert list(times) == []
    [line] = said
    assert "says 1970-01-01 00:00:10 (UTC), as it is not set yet: polls wait" in line
    wait_until_set(1.75e9, said.append, lambda: 1.74e9)
    assert len(said) == 1
