"""Work leaves the machine to others, by what it costs and by how long it lasts."""

from types import SimpleNamespace

import pytest

from pollwise.dashboard import pacing as pacing_module
from pollwise.dashboard.pacing import Pacing


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """Clocks that only work and rest move: those of the machine tell how busy others keep it."""
    clock = SimpleNamespace(now=100.0, cpu=5.0)
    clocks = SimpleNamespace(monotonic=lambda: clock.now, thread_time=lambda: clock.cpu)
    monkeypatch.setattr(pacing_module, "time", clocks)

    def work(*, lasts: float, costs: float) -> None:
        clock.now += lasts
        clock.cpu += costs

    clock.work = work
    return clock


async def after_two_turns(clock, *, lasts: float, costs: float) -> Pacing:
    pacing = Pacing()
    for _ in range(2):
        assert pacing.rest() == 0.0  # before the first one, and after it: it loads what is needed
        await pacing.work(lambda: clock.work(lasts=lasts, costs=costs))
    return pacing


async def test_it_takes_a_fifth_of_a_core(clock) -> None:
    pacing = await after_two_turns(clock, lasts=0.15, costs=0.1)
    assert pacing.rest() == pytest.approx(0.4)
    clock.now += 0.3
    assert pacing.rest() == pytest.approx(0.1)
    clock.now += 0.3
    assert pacing.rest() == 0.0


async def test_what_waits_for_others_costs_less(clock) -> None:
    pacing = await after_two_turns(clock, lasts=0.15, costs=0.0)
    assert pacing.rest() == pytest.approx(0.15)


async def test_what_is_urgent_may_take_half_of_the_time(clock) -> None:
    pacing = await after_two_turns(clock, lasts=0.15, costs=0.1)
    assert pacing.rest(hurried=True) == pytest.approx(0.15)


async def test_what_failed_counts_too(clock) -> None:
    pacing = Pacing()
    await pacing.work(lambda: None)
    with pytest.raises(ZeroDivisionError):
        await pacing.work(lambda: (clock.work(lasts=0.1, costs=0.0), 1 // 0))
    assert pacing.rest() == pytest.approx(0.1)
