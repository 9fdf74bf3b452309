"""The loop of the live web: what the scheduler commands is carried out, what comes of it told.

`serve` is to the web what `pollwise.simulation.simulate` is to a world. All its time comes from a
`Clock`, so it runs just as well in a test, where the time is made up and pages are simulated.
"""

import asyncio
import time
from collections.abc import (
    Awaitable,
    Callable,
    Collection,
    Iterator,
    MutableMapping,
    Sequence,
)
from dataclasses import dataclass, replace
from typing import Any, Protocol

from pollwise.events import (
    Added,
    Event,
    Linked,
    Poll,
    Polled,
    Rescored,
    Staffed,
    Tick,
    Together,
    WakeAt,
)
from pollwise.scheduler.scheduler import Scheduler
from pollwise.types import Outcome, Page, PageMemory
from pollwise.web.poller import Poller, PollReport

__all__ = ["Clock", "Progress", "WallClock", "Watched", "serve"]

_NOTHING = PageMemory()  # one for the million pages of a fringe


class Clock(Protocol):
    """Tells the time and waits."""

    def __call__(self) -> float:
        """The time in UTC seconds since 1970."""

    async def wait(self, tasks: Collection[asyncio.Future[Any]], until: float) -> None:
        """Return when one of the tasks is done, or at the time `until` (UTC seconds)."""


class WallClock:
    """The time of this machine."""

    def __call__(self) -> float:
        """The time in UTC seconds since 1970."""
        return time.time()

    async def wait(self, tasks: Collection[asyncio.Future[Any]], until: float) -> None:
        """Return when one of the tasks is done, or at the time `until` (UTC seconds)."""
        # At least an hourly look at the clock, should somebody set it.
        await asyncio.wait(
            tasks,
            timeout=min(max(until - self(), 0.0), 3600.0),
            return_when=asyncio.FIRST_COMPLETED,
        )


@dataclass(frozen=True, slots=True)
class Watched:
    """A page, and what is remembered of it for the next poll."""

    page: Page
    memory: PageMemory


@dataclass(frozen=True, slots=True)
class Progress:
    """What came of a turn of the loop: the events that the scheduler was told, in order, and the
    reports of the polls among them.

    `first_copies`: the ids of the pages of which these polls brought the first copy, so that their
    outcome CHANGED is no change.
    """

    events: tuple[Event, ...]
    reports: tuple[PollReport, ...]
    first_copies: frozenset[int] = frozenset()


async def serve(
    scheduler: Scheduler,
    poller: Poller,
    *,
    watched: MutableMapping[int, Watched],
    clock: Clock,
    record: Callable[[Progress], Awaitable[None]],
    stop: asyncio.Event,
    first_events: Sequence[Event] = (),
    staff: Callable[[], int] | None = None,
) -> None:
    """Poll the pages that the scheduler names until `stop` is set.

    `watched` holds the pages by id; it is kept up to date with what the polls find. `record` is
    awaited with what happened in each turn before the next, and once more at the end: whoever
    writes down what it is given, together with the state of scheduler and policy at that moment,
    loses nothing that was observed. `first_events` are told to the scheduler at the begin (the
    pages as `Added`, say). `staff` is asked in each turn how many polls may be under way (None:
    any number). Polls under way at the end are dropped. What `record` or a poll raises ends the
    loop.
    """
    polls: list[asyncio.Task[PollReport]] = []  # in the order of their start
    stopping = asyncio.ensure_future(stop.wait())
    events: list[Event] = [*first_events]
    reports: list[PollReport] = []
    first_copies: frozenset[int] = frozenset()
    staffed: int | None = None
    try:
        while not stop.is_set():
            if staff is not None and (wanted := staff()) != staffed:
                staffed = wanted
                events.insert(0, Staffed(clock(), wanted))
            events = events or [Tick(clock())]
            wake_at = 0.0
            for event in events:
                for command in scheduler.handle(event):
                    if isinstance(command, Poll):
                        own = watched[command.page_id]
                        polls.append(asyncio.ensure_future(poller.poll(own.page, own.memory)))
                    elif isinstance(command, WakeAt):
                        wake_at = command.time
            await record(Progress(tuple(events), tuple(reports), first_copies))
            await clock.wait([*polls, stopping], wake_at)
            reports = [poll.result() for poll in polls if poll.done()]
            polls = [poll for poll in polls if not poll.done()]
            first_copies = _remember(watched, reports)
            events = _told(reports, clock())
        # What has arrived in the last moment is known to the scheduler too before it is kept.
        for event in events:
            scheduler.handle(event)
        await record(Progress(tuple(events), tuple(reports), first_copies))
    finally:
        for waiting in (stopping, *polls):
            waiting.cancel()
        await asyncio.gather(stopping, *polls, return_exceptions=True)


def _told(reports: Sequence[PollReport], now: float) -> list[Event]:
    """The events that reports amount to; what hosts asked for comes before the next poll."""
    if not reports:
        return []
    notices = [replace(notice, now=now) for report in reports for notice in report.notices]
    polled = Polled(now, tuple(report.observation for report in reports))
    discovered = tuple(_discovered(reports, now))
    # What a poll discovered may be worth more than what its host would be polled for next.
    return [*notices, Together(now, (polled, *discovered)) if discovered else polled]


def _discovered(reports: Sequence[PollReport], now: float) -> Iterator[Event]:
    """The pages that polls brought to light, then the links that may lead to them, new scores.

    In the order of their ids: reports are not in the order in which pages were found.
    """
    found = sorted((found.page for r in reports for found in r.new_pages), key=lambda page: page.id)
    if found:
        yield Added(now, tuple(found))
    for report in reports:
        links = report.links
        if links is not None:
            yield Linked(
                now,
                report.observation.page_id,
                tuple(links.targets.tolist()),
                tuple(links.anchors),
                tuple(links.places),
            )
        if report.rescored:
            yield Rescored(now, tuple(report.rescored), tuple(report.rescored.values()))


def _remember(
    watched: MutableMapping[int, Watched], reports: Sequence[PollReport]
) -> frozenset[int]:
    """Keep what reports tell for the next polls of their pages; the pages now first seen."""
    first_copies = set()
    for report in reports:
        watched.update({f.page.id: Watched(f.page, _NOTHING) for f in report.new_pages})
        observation = report.observation
        own = watched.get(observation.page_id)
        if own is None:  # removed while it was polled
            continue
        page = own.page
        if observation.outcome in (Outcome.CHANGED, Outcome.UNCHANGED):
            if page.seen_at is None:
                first_copies.add(page.id)
            page = replace(page, seen_at=observation.polled_at)
        watched[page.id] = Watched(page, report.memory)
    return frozenset(first_copies)
