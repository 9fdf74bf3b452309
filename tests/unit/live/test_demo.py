"""The demonstration without its servers: its clock, what it counts, and its figures."""

import asyncio
import math
from collections.abc import Iterator

import pytest

from pollwise.errors import StoreError
from pollwise.events import HostBlocked, HostPaced
from pollwise.live import demo
from pollwise.live.demo import DemoResult, Watcher
from pollwise.live.loop import Progress
from pollwise.store.records import PollResult
from pollwise.testing.timelapse import Revision, TimeLapse
from pollwise.types import Observation, Outcome, Page, PageMemory
from pollwise.web.poller import PollReport

DAY = 86_400.0


@pytest.fixture
def watcher() -> Watcher:
    """Its pages 7 and 9 are the pages 0 and 1 of the time-lapse."""
    return Watcher("uniform", numbers={7: 0, 9: 1})


def turn(*observations: Observation) -> Progress:
    return Progress((), tuple(PollReport(PollResult(one, PageMemory())) for one in observations))


def test_the_first_copy_of_a_page_is_no_change_found(watcher):
    copies: set[int] = set()
    watcher.note(turn(Observation(7, 1.0, Outcome.CHANGED)), copies)
    assert (watcher.polls, watcher.found, copies) == (1, 0, {7})
    watcher.note(turn(Observation(7, 2.0, Outcome.CHANGED)), copies)
    watcher.note(turn(Observation(7, 3.0, Outcome.UNCHANGED)), copies)
    assert (watcher.polls, watcher.found) == (3, 1)
    assert watcher.answered == [(0, 1.0), (0, 2.0), (0, 3.0)]


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.GONE])
def test_a_poll_without_the_page_counts_but_finds_nothing(watcher, outcome):
    copies: set[int] = set()
    watcher.note(turn(Observation(9, 1.0, outcome), Observation(7, 1.0, Outcome.CHANGED)), copies)
    assert (watcher.polls, watcher.found, copies) == (2, 0, {7})
    assert watcher.answered == [(0, 1.0)]


class OnePoller:
    """Gives the same report for every poll."""

    def __init__(self, report: PollReport) -> None:
        self.report = report

    async def poll(self, page: Page, memory: PageMemory) -> PollReport:
        return self.report


async def test_what_hosts_ask_for_is_stretched_like_time():
    notices = (HostPaced(100.0, "h", 0.5), HostBlocked(100.0, "h", 103.0))
    report = PollReport(
        PollResult(Observation(0, 100.0, Outcome.FAILED), PageMemory(), error="status 429"),
        notices=notices,
    )
    stretched = await demo._StretchedPoller(OnePoller(report), speed=10.0).poll(
        Page(0), PageMemory()
    )
    assert stretched.notices == (HostPaced(100.0, "h", 5.0), HostBlocked(100.0, "h", 130.0))
    assert (stretched.result.observation, stretched.result.error) == (
        report.result.observation,
        "status 429",
    )


async def test_the_clock_waits_for_a_time_of_the_time_lapse_and_for_polls():
    clock = demo._DemoClock(start=1000.0, speed=1e6)
    never: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    until = clock() + 1e4
    await clock.wait([never], until)
    assert clock() >= until
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    done.set_result(None)
    await clock.wait([never, done], math.inf)


def test_the_figures_compare_the_polls_with_the_history(watcher):
    timelapse = TimeLapse(
        {
            "a": [Revision(-50.0, "one"), Revision(4 * DAY, "two")],
            "b": [Revision(5 * DAY, "new"), Revision(7 * DAY, "newer")],
        },
        start=0.0,
        end=10 * DAY,
    )
    watcher.polls, watcher.found = 5, 2
    # a is fresh but for the day from 4 to 5; b is missed in its first day, later fresh but for two.
    watcher.answered = [(0, 0.0), (0, 5 * DAY), (1, 6 * DAY), (1, 9 * DAY)]
    result = demo._result(watcher, timelapse, demo._changes(timelapse), requests=8)
    assert result == DemoResult(
        policy="uniform",
        polls=5,
        requests=8,
        found=2,
        changes=2,
        freshness=pytest.approx((9 + 2) / 15),
        delay_days=pytest.approx((1 + 2) / 2),
    )


def test_nobody_who_got_no_answer_has_a_fresh_copy(watcher):
    timelapse = TimeLapse({"a": [Revision(0.0, "one")], "b": [Revision(0.0, "")]}, start=0, end=1)
    result = demo._result(watcher, timelapse, demo._changes(timelapse), requests=0)
    assert (result.polls, result.changes, result.freshness) == (0, 0, 0.0)


async def test_where_one_watcher_fails_the_other_ends_and_the_error_is_told_alone():
    ended = []

    async def fail() -> None:
        await asyncio.sleep(0)
        raise StoreError("the disk is full")

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("the other")

    def watches() -> Iterator:
        yield wait()
        yield fail()

    with pytest.raises(StoreError, match="the disk is full"):
        await demo._together(watches())
    assert ended == ["the other"]


def test_the_settings_tell_the_budget():
    assert demo.SETTINGS.startswith(f"{demo._POLLS_PER_DAY:g} polls a day")
    assert "\n" not in demo.SETTINGS
