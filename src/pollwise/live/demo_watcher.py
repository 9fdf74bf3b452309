"""A watcher of the demonstration: a process that watches the time-lapse in virtual time.

It serves the time-lapse to itself over HTTP. So watchers do not wait for each other, and what one
does never depends on another.
"""

import asyncio
import errno
import os
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from pollwise.child_processes import end_with_parent
from pollwise.errors import PollwiseError
from pollwise.live.progress import Progress
from pollwise.live.session import Session
from pollwise.live.virtual_clock import VirtualClock, VirtualTime
from pollwise.live.web_polling import web_poller
from pollwise.objectives import objective
from pollwise.policies.base import Policy
from pollwise.policies.catalogue import WATCHING, Setting
from pollwise.policies.rehearsal import rehearsal
from pollwise.scheduler.budgets import parse_budget
from pollwise.settings import WatchSettings
from pollwise.store import Store
from pollwise.store.records import NewPage
from pollwise.testing.timelapse import TimeLapse, TimeLapseServer
from pollwise.types import Outcome, PageMemory
from pollwise.web.fetcher import Asking, Exchanges, FetchResult
from pollwise.web.urls import scope_of

__all__ = ["BUDGET", "Ended", "News", "Polled", "Watch", "watch_apart"]

BUDGET = "0.1/day/page"
"""First copies come besides, as in every watch."""
_LITTLE = 100_000
"""Bytes that are too few to write into a database."""
_NEWS_PERIOD = 0.1
"""Real seconds between two tellings."""


@dataclass(frozen=True, slots=True)
class Watch:
    """What a watcher is to do: poll `timelapse` by the policy of this name.

    `folder` is for its database. `speed`: virtual seconds in a real one, at the most (None: as many
    as can).
    """

    policy: str
    timelapse: TimeLapse
    folder: Path
    speed: float | None


@dataclass(frozen=True, slots=True)
class Polled:
    """A poll of the page with this number, in the order of the time-lapse's names.

    `has_answer`: the page was there; `found`: it had changed since its copy.
    """

    page: int
    at: float
    has_answer: bool
    found: bool


@dataclass(frozen=True, slots=True)
class News:
    """The polls since the last news, until `now` (UTC seconds of the time-lapse)."""

    now: float
    polls: Sequence[Polled]


@dataclass(frozen=True, slots=True)
class Ended:
    """The time-lapse is over; `requests` were made, robots.txt and redirects included."""

    requests: int


def watch_apart(watch: Watch, told: Connection) -> None:
    """The process: sends `News`, and at the end `Ended`, or the error that ended it."""
    end_with_parent()
    try:
        watcher = _Watcher(watch, told.send)
        for _ in rehearsal(watcher.policy(2)):
            pass
        with asyncio.Runner(loop_factory=lambda: VirtualTime(watch.speed)) as runner:
            told.send(Ended(runner.run(watcher.watch())))
    except (PollwiseError, OSError) as error:
        # A database that does not wait for the disk may only find itself damaged.
        told.send(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) if _is_full(watch) else error)


def _is_full(watch: Watch) -> bool:
    try:
        return shutil.disk_usage(watch.folder).free < _LITTLE
    except OSError:  # there is no such folder any more
        return False


class _Held:
    """Exchanges during which no virtual time passes, but for what a server sleeps."""

    def __init__(self, exchanges: Exchanges, time: VirtualTime) -> None:
        self._exchanges = exchanges
        self._time = time

    async def fetch(
        self, url: str, memory: PageMemory, *, asking: Asking | None = None
    ) -> FetchResult:
        with self._time.held():
            return await self._exchanges.fetch(url, memory, asking=asking)


class _Watcher:
    """Watches, and tells of it now and then."""

    def __init__(self, watch: Watch, tell: Callable[[News], None]) -> None:
        self._watch = watch
        self._tell = tell
        self._numbers: dict[int, int] = {}
        self._polls: list[Polled] = []
        self._told_at = time.monotonic()

    async def watch(self) -> int:
        """Watch to the end of the time-lapse; how many requests it took."""
        timelapse = self._watch.timelapse
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTime)
        clock = VirtualClock(timelapse.start, loop)
        stop = asyncio.Event()
        async with TimeLapseServer(
            timelapse, clock, real_clock=loop.time, sleep=loop.sleep
        ) as server:
            loop.call_at(timelapse.end - timelapse.start, stop.set)
            db = self._watch.folder / f"{self._watch.policy}.db"
            with Store.open(db, durable=False) as store:
                await self._poll(server, store, clock, loop, stop)
            self._tell_now(clock())
            return server.requests.total()

    async def _poll(
        self,
        server: TimeLapseServer,
        store: Store,
        clock: VirtualClock,
        loop: VirtualTime,
        stop: asyncio.Event,
    ) -> None:
        new = [NewPage(url, scope_of(url)) for url in server.urls.values()]
        pages = store.add_pages(new, now=clock())
        self._numbers = {page.id: number for number, page in enumerate(pages)}
        settings = WatchSettings(budget=BUDGET)
        scheduler = settings.scheduler(len(pages), self.policy(len(pages)))
        session = Session(store, settings, clock=clock, say=lambda line: None, scheduler=scheduler)

        def note(progress: Progress, _: object) -> None:
            self._note(progress)
            if time.monotonic() - self._told_at >= _NEWS_PERIOD:
                self._tell_now(clock())

        async with web_poller(
            clock,
            seconds=clock,
            exchanging=lambda exchanges: _Held(exchanges, loop),
            given={page.scope for page in pages},
        ) as poller:
            await session.run(poller, stop, on_progress=note)

    def policy(self, pages: int) -> Policy:
        """A new policy for so many pages."""
        aim = objective(WatchSettings().objective)
        setting = Setting(aim, parse_budget(BUDGET).total(pages), pages)
        return WATCHING.choose(self._watch.policy).make(setting)

    def _note(self, progress: Progress) -> None:
        for report in progress.reports:
            seen = report.result.observation
            self._polls.append(
                Polled(
                    page=self._numbers[seen.page_id],
                    at=seen.polled_at,
                    has_answer=seen.outcome in (Outcome.CHANGED, Outcome.UNCHANGED),
                    found=seen.outcome is Outcome.CHANGED
                    and seen.page_id not in progress.first_copies,
                )
            )

    def _tell_now(self, now: float) -> None:
        self._tell(News(now, self._polls))
        self._polls = []
        self._told_at = time.monotonic()
