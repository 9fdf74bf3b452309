"""The demonstration: a year of real pages in less than a minute, watched live by two policies.

Both watch the same local server over HTTP, under the same budget: one polls every page equally
often, as most tools do, the other learns. A time-lapse server plays the year, with hosts that are
slow, strict or flaky. Each watcher has a store, a fetcher and a scheduler, as in `pollwise watch`.
"""

import asyncio
import math
import tempfile
import time
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from pollwise.events import HostPaced
from pollwise.live.loop import Progress, Watched
from pollwise.live.session import Session, web_poller
from pollwise.metrics import Changes, Polls, score
from pollwise.objectives import Freshness
from pollwise.policies.base import Policy
from pollwise.policies.catalogue import WATCHING, Setting
from pollwise.policies.rehearsal import rehearsal
from pollwise.scheduler.scheduler import Scheduler
from pollwise.settings import WatchSettings
from pollwise.store import Store
from pollwise.store.records import NewPage
from pollwise.testing.timelapse import TimeLapse, TimeLapseServer, VirtualClock
from pollwise.types import Budget, Outcome, Page, PageMemory
from pollwise.web.poller import Notice, Poller, PollReport
from pollwise.web.urls import scope_of

__all__ = ["SETTINGS", "DemoResult", "Watcher", "run_demo"]

_DAY = 86_400.0
_SECONDS = 50.0
"""Real seconds that the year takes."""
_POLLS_PER_DAY = 16.0
_POLICIES = ("bayes-index", "uniform")
_LEASE, _CRAWL_DELAY, _LONGEST_PACE = 10.0, 0.01, 1.0
"""Real seconds."""

SETTINGS = (
    f"{_POLLS_PER_DAY:.0f} polls a day for each of the two, bayes-index with its usual objective"
    " (freshness); the same ten hosts, among them a slow, a strict and a failing one"
)
"""What the figures of the demonstration depend on, in words."""


@dataclass(slots=True)
class Watcher:
    """One of the two watchers, and what it has found so far."""

    name: str
    polls: int = 0
    found: int = 0
    numbers: dict[int, int] = field(default_factory=dict)
    """The place of each page in the time-lapse, by its id in the store."""
    answered: list[tuple[int, float]] = field(default_factory=list)
    """Page (by its place) and time of every poll that found the page."""

    @property
    def user_agent(self) -> str:
        """The User-Agent of its requests."""
        return f"pollwise-demo-{self.name}"

    def note(self, progress: Progress, copies: set[int]) -> None:
        """Count what came of a turn; `copies` are the pages with a copy."""
        for report in progress.reports:
            observation = report.result.observation
            self.polls += 1
            if observation.outcome in (Outcome.CHANGED, Outcome.UNCHANGED):
                if observation.outcome is Outcome.CHANGED and observation.page_id in copies:
                    self.found += 1
                copies.add(observation.page_id)
                number = self.numbers[observation.page_id]
                self.answered.append((number, observation.polled_at))


@dataclass(frozen=True, slots=True)
class DemoResult:
    """What a watcher made of its budget; `changes` happened in all.

    `freshness`: mean share of time in which a copy equalled the page; `delay_days`: mean time from
    a change to the poll that found it; `requests` on the wire include robots.txt and redirects.
    """

    policy: str
    polls: int
    requests: int
    found: int
    changes: int
    freshness: float
    delay_days: float


class _DemoClock:
    """The clock of the time-lapse, as the loop wants it."""

    def __init__(self, start: float, speed: float) -> None:
        self.speed = speed
        self._now = VirtualClock(start, speed, time.monotonic)

    def __call__(self) -> float:
        return self._now()

    async def wait(self, tasks: Collection[asyncio.Future[Any]], until: float) -> None:
        timeout = max(until - self(), 0.0) / self.speed
        await asyncio.wait(
            tasks,
            timeout=timeout if math.isfinite(timeout) else None,
            return_when=asyncio.FIRST_COMPLETED,
        )


class _StretchedPoller:
    """Turns the real seconds that hosts ask for into seconds of the time-lapse."""

    def __init__(self, poller: Poller, speed: float) -> None:
        self._poller = poller
        self._speed = speed

    async def poll(self, page: Page, memory: PageMemory) -> PollReport:
        report = await self._poller.poll(page, memory)
        return replace(report, notices=tuple(map(self._stretched, report.notices)))

    def _stretched(self, notice: Notice) -> Notice:
        if isinstance(notice, HostPaced):
            return replace(notice, delay=notice.delay * self._speed)
        return replace(notice, until=notice.now + (notice.until - notice.now) * self._speed)


async def run_demo(
    on_progress: Callable[[float, Mapping[str, Watcher]], None],
    *,
    seconds: float = _SECONDS,
    report: Callable[[str], None] = lambda text: None,
) -> list[DemoResult]:
    """Run the demonstration; `on_progress` is told the time in the time-lapse and the watchers.

    `seconds`: how long the year takes. `report` is told what happens before it begins.
    `PollwiseError` if no port can be served, or a database cannot be written.
    """
    timelapse = TimeLapse.bundled()
    speed = (timelapse.end - timelapse.start) / seconds
    watchers = {name: Watcher(name) for name in _POLICIES}
    report("compiling (first run only)")
    await _rehearse()
    clock = _DemoClock(timelapse.start, speed)
    stop = asyncio.Event()
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(TimeLapseServer(timelapse, clock))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pollwise-demo-")))
        ends = asyncio.get_running_loop().call_later(seconds, stop.set)
        stack.callback(ends.cancel)
        await _together(
            _watch(
                watcher,
                server,
                clock,
                stop,
                folder,
                on_turn=lambda: on_progress(clock(), watchers),
                say=report,
            )
            for watcher in watchers.values()
        )
        requests = server.requests
    changes = _changes(timelapse)
    return [
        _result(
            watcher,
            timelapse,
            changes,
            sum(count for (agent, _), count in requests.items() if agent == watcher.user_agent),
        )
        for watcher in watchers.values()
    ]


def _policy(name: str) -> Policy:
    setting = Setting(Freshness(), budget=_POLLS_PER_DAY / _DAY, pages=2)
    return WATCHING.choose(name).make(setting)


async def _rehearse() -> None:
    """Compile what the policies need before the clock runs."""
    for policy in map(_policy, _POLICIES):
        for _ in rehearsal(policy):
            await asyncio.sleep(0)  # a moment for Ctrl-C


async def _together(watches: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run all until they end; if one fails, the others are cancelled."""
    try:
        async with asyncio.TaskGroup() as group:
            for watching in watches:
                group.create_task(watching)
    except ExceptionGroup as errors:
        # What stops one, such as a full disk, stops all: one error is enough.
        raise errors.exceptions[0] from None


async def _watch(
    watcher: Watcher,
    server: TimeLapseServer,
    clock: _DemoClock,
    stop: asyncio.Event,
    folder: Path,
    *,
    on_turn: Callable[[], None],
    say: Callable[[str], None],
) -> None:
    new = [NewPage(url, scope_of(url)) for url in server.urls.values()]
    copies: set[int] = set()

    def note(progress: Progress, _: Mapping[int, Watched]) -> None:
        watcher.note(progress, copies)
        on_turn()

    with Store.open(folder / f"{watcher.name}.db") as store:
        pages = store.add_pages(new, now=clock())
        watcher.numbers = {page.id: number for number, page in enumerate(pages)}
        scheduler = Scheduler(
            _policy(watcher.name),
            # Polls are a hundredth of a second apart: a late one must not cost the next.
            Budget(_POLLS_PER_DAY / _DAY, burst=_POLLS_PER_DAY),
            lease=_LEASE * clock.speed,
            crawl_delay=_CRAWL_DELAY * clock.speed,
            longest_pace=_LONGEST_PACE * clock.speed,
            retry_after=_DAY,
        )
        settings = WatchSettings(budget=f"{_POLLS_PER_DAY:g}/day")
        session = Session(store, settings, clock=clock, say=say, scheduler=scheduler)
        # A robots.txt holds for a real day, not one of the time-lapse.
        async with web_poller(
            clock,
            crawl_delay=_CRAWL_DELAY,
            longest_pace=_LONGEST_PACE,
            robots_txt_clock=time.monotonic,
            user_agent=watcher.user_agent,
            given={page.scope for page in pages},
        ) as poller:
            await session.run(_StretchedPoller(poller, clock.speed), stop, on_progress=note)


def _changes(timelapse: TimeLapse) -> Changes:
    names = timelapse.page_names
    born = [max(timelapse.history(name)[0].time, timelapse.start) for name in names]
    times = [np.array(timelapse.change_times(name)) for name in names]
    return Changes.of(times, np.array(born), np.full(len(names), math.inf))


def _result(watcher: Watcher, timelapse: TimeLapse, changes: Changes, requests: int) -> DemoResult:
    answered = np.array(watcher.answered).reshape(-1, 2)
    polls = Polls(answered[:, 0].astype(np.int64), answered[:, 1])
    result = score(polls, changes, begin=timelapse.start, end=timelapse.end)
    return DemoResult(
        policy=watcher.name,
        polls=watcher.polls,
        requests=requests,
        found=watcher.found,
        changes=result.changes,
        freshness=result.freshness,
        delay_days=result.delay / _DAY,
    )
