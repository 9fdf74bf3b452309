"""Runs that are ended, by people or by a clock that was set."""

import asyncio
import gc
import os
import signal
import time

import numpy as np
import pytest

from pollwise.live.clock import LiveClock
from pollwise.live.hangups import NotedHangup, has_terminal
from pollwise.live.session import Run, Session, run_until_stopped
from pollwise.policies.collecting.oracles import RandomOrder
from pollwise.relevance.topic import topic
from pollwise.scheduler.scheduler import Scheduler
from pollwise.settings import CollectSettings, WatchSettings
from pollwise.store import Store
from pollwise.store.records import Batch, Collected, Discoveries, NewPage, PollResult
from pollwise.testing.fake_clock import FakeClock
from pollwise.types import Budget, Links, Observation, Outcome, PageMemory
from pollwise.web.poll_reports import PollReport


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


def test_who_ends_it_between_two_runs_is_heard():
    heard: list[int] = []
    runs = 0

    def begin(clock: LiveClock) -> Run[None]:
        nonlocal runs
        runs += 1
        if runs == 2:  # to read a long list of pages takes a while
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGINT)

        async def run(stop: asyncio.Event) -> None:
            clock.is_apart = runs == 1

        return run

    ends = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(one, lambda number, frame: heard.append(number)) for one in ends]
    try:
        run_until_stopped(begin, print)
    finally:
        for one, handler in zip(ends, before, strict=True):
            signal.signal(one, handler)
    assert (runs, sorted(heard)) == (2, sorted(ends))


@pytest.mark.skipif(has_terminal(), reason="a hangup of the terminal ends a run")
@pytest.mark.parametrize("hung_up_in", [1, 2])
def test_a_hangup_before_a_run_or_between_two_is_taken_in_by_the_next(hung_up_in: int):
    told: list[int] = []
    runs = 0

    def begin(clock: LiveClock) -> Run[None]:
        nonlocal runs
        runs += 1
        if runs == hung_up_in:  # to compile takes a while
            os.kill(os.getpid(), signal.SIGHUP)

        async def run(stop: asyncio.Event) -> None:
            clock.is_apart = runs < 3

        return run

    before = signal.signal(signal.SIGHUP, NotedHangup())
    try:
        run_until_stopped(begin, print, lambda: told.append(runs))
    finally:
        signal.signal(signal.SIGHUP, before)
    assert (runs, told) == (3, [hung_up_in])


def test_who_ends_it_while_garbage_is_searched_between_two_runs_is_heard():
    heard: list[int] = []
    runs = 0

    def end(phase: str, _: object) -> None:
        if phase == "start" and runs == 1 and asyncio._get_running_loop() is None:
            os.kill(os.getpid(), signal.SIGTERM)

    def begin(clock: LiveClock) -> Run[None]:
        nonlocal runs
        runs += 1

        async def run(stop: asyncio.Event) -> None:
            clock.is_apart = runs == 1
            gc.callbacks.append(end)

        return run

    before = signal.signal(signal.SIGTERM, lambda number, frame: heard.append(number))
    try:
        run_until_stopped(begin, print)
    finally:
        signal.signal(signal.SIGTERM, before)
        while end in gc.callbacks:
            gc.callbacks.remove(end)
    assert runs == 2
    assert signal.SIGTERM in heard


@pytest.mark.parametrize("outcome", [None, Outcome.FAILED])
def test_first_copies_are_said_to_be_fetched_only_if_any_are_missing(
    tmp_path, monkeypatch, outcome
):
    monkeypatch.setattr("pollwise.live.session.has_compiled", lambda settings: False)
    said: list[str] = []
    with Store.open(tmp_path / "pages.db") as store:
        store.add_pages([NewPage("http://a.example/", "a.example")], now=0.0)
        if outcome is not None:
            poll = PollResult(Observation(0, 1.0, outcome), PageMemory(), None)
            store.commit(Batch(polls=(poll,)))
        Session(store, WatchSettings(), clock=LiveClock(), say=said.append)
    [line] = said
    assert line.startswith("the first run compiles, which takes about half a minute; ")
    assert ("first copies" in line) == (outcome is None)


def test_each_run_compiles_where_nothing_can_be_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("pollwise.kernel_folder.kernel_folder", str)
    monkeypatch.setattr("pollwise.live.session.has_compiled", lambda settings: False)
    said: list[str] = []
    with Store.open(tmp_path / "pages.db") as store:
        Session(store, WatchSettings(), clock=LiveClock(), say=said.append)
    [line] = said
    assert line.startswith("every run, as nothing compiled can be kept")
    assert "XDG_CACHE_HOME" in line


def test_a_slow_start_of_what_was_compiled_is_not_said_to_compile(tmp_path, monkeypatch):
    monkeypatch.setattr("pollwise.live.session._SILENT", 0.0)
    monkeypatch.setattr("pollwise.live.session.has_compiled", lambda settings: True)
    monkeypatch.setattr("pollwise.live.session.rehearse", lambda settings, pages: time.sleep(0.5))
    said: list[str] = []
    with Store.open(tmp_path / "pages.db") as store:
        Session(store, WatchSettings(), clock=LiveClock(), say=said.append)
    assert said == [
        "getting ready: what was compiled is loaded, or compiled anew for about half a minute"
    ]


class Unchanged:
    """A poller whose pages never change."""

    def __init__(self, clock: FakeClock):
        self.clock = clock
        self.polled = []

    async def poll(self, page, memory):
        self.polled.append(page.id)
        observation = Observation(page.id, self.clock(), Outcome.UNCHANGED)
        return PollReport(PollResult(observation, memory))


def test_what_was_learned_by_a_clock_that_was_ahead_is_set_back_for_good(tmp_path):
    said: list[str] = []

    async def call(at: float) -> list[int]:
        clock = FakeClock(now=at)
        poller = Unchanged(clock)
        with Store.open(tmp_path / "pages.db") as store:
            session = Session(
                store, WatchSettings(), clock=clock, say=said.append, scheduler=None, once=True
            )
            await session.run(poller, asyncio.Event(), on_progress=lambda *_: None)
        return sorted(poller.polled)

    def learned_at() -> np.ndarray:
        with Store.open_readonly(tmp_path / "pages.db") as store:
            return store.load_learned()["page.seen_at"]

    now, hour, day = 1.7e9, 3600.0, 86_400.0
    with Store.open(tmp_path / "pages.db") as store:
        pages = [NewPage(f"http://{n}.example/", f"{n}.example") for n in range(3)]
        store.add_pages(pages, now=now)
    assert asyncio.run(call(now + 10 * day)) == [0, 1, 2]
    assert asyncio.run(call(now + 10 * day + hour)) == [0, 1, 2]
    said.clear()
    assert len(asyncio.run(call(now))) <= 1
    assert said[0].startswith("the clock of this machine was 10 days ahead: ")
    assert learned_at().max() < now + hour
    known = learned_at()
    asyncio.run(call(now + 1.0))
    assert learned_at().min() == known.min(), "it is not set back again"
    assert asyncio.run(call(now + hour)) == [0, 1, 2]


def test_it_says_until_when_no_version_is_dropped_for_its_age(tmp_path):
    day = 86_400.0
    told = []
    for at in (31 * day, 32 * day, 39 * day):
        said: list[str] = []
        with Store.open(tmp_path / "pages.db") as store:
            if not told:
                store.add_pages([NewPage("http://a.example/", "a.example")], now=1.7e9)
        with Store.open(tmp_path / "pages.db") as store:
            clock = FakeClock(now=1.7e9 + at)
            Session(store, WatchSettings(keep="90d"), clock=clock, say=said.append, once=True)
            store.add_pages([NewPage("http://b.example/", "b.example")], now=clock())
        told.append([line.rpartition("before ")[2] for line in said if "dropped" in line])
    assert told == [["2023-12-22 22:13:20 (UTC)"]] * 2 + [[]]


def test_a_run_begins_when_its_process_does_and_not_when_all_is_compiled(tmp_path):
    clock = FakeClock(now=1.7e9)
    with Store.open(tmp_path / "pages.db") as store:
        store.add_pages([NewPage("http://a.example/", "a.example")], now=1.7e9)
        session = Session(store, WatchSettings(), clock=clock, say=print, once=True)

        async def begin_late() -> None:
            await clock.wait([], until=1.7e9 + 30.0)
            await session.run(Unchanged(clock), asyncio.Event(), on_progress=lambda *_: None)

        asyncio.run(begin_late())
        assert [run.started_at for run in store.runs()] == [1.7e9]


class Told(RandomOrder):
    """Notes the order in which it is told the topic and what was collected."""

    def __init__(self):
        super().__init__(generator=np.random.default_rng(0))
        self.told = []

    def aim(self, weights):
        self.told.append(dict(weights))

    def observe(self, observations):
        self.told += [one.page_id for one in observations]


class NoPolls:
    async def poll(self, *_):
        raise AssertionError("nothing is to be polled")


@pytest.mark.parametrize("is_begun", [True, False])
async def test_a_robot_is_told_the_topic_before_what_was_collected(tmp_path, is_begun):
    settings, policy, stop = CollectSettings(topic=topic("whale")), Told(), asyncio.Event()
    stop.set()
    with Store.open(tmp_path / "pages.db") as store:
        store.add_pages([NewPage("http://a.example/", "a.example")], now=0.0)
        if is_begun:
            poll = PollResult(Observation(0, 1.0, Outcome.CHANGED), PageMemory(), None)
            links = Links(np.array([], np.int64), ())
            found = Discoveries(collected=Collected(0, 0.5, "Whales", "A whale."), links=links)
            store.commit(Batch(polls=(poll,), discovered=(found,)))
        scheduler = Scheduler(policy, Budget(1.0))
        session = Session(store, settings, clock=LiveClock(), say=print, scheduler=scheduler)
        await session.run(NoPolls(), stop, on_progress=lambda *_: None, topic={"whale": 1.0})
    assert policy.told == ([{"whale": 1.0}, 0] if is_begun else [])
