"""The loop of the live web: carries out what the scheduler commands and tells it what comes of it.

`run` is to the web what `pollwise.simulation.loop.simulate` is to a world. All its time comes from
a `Clock`, so it runs just as well in a test, where the time is made up and pages are simulated.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pollwise.events import (
    Added,
    Aimed,
    Command,
    Event,
    HostFreed,
    Linked,
    PolicyReady,
    Poll,
    Polled,
    Removed,
    Rescored,
    Staffed,
    Tick,
    Together,
    Updated,
    WakeAt,
)
from pollwise.live.clock import Clock
from pollwise.live.incoming import Incoming
from pollwise.scheduler.cell_rate import CellRate
from pollwise.scheduler.scheduler import Scheduler
from pollwise.store.records import ChangeKind, Discoveries, PollResult
from pollwise.types import Budget, Observation, Outcome, Page, PageMemory, has_same_parts
from pollwise.web.noise.by_hand import MaskChange
from pollwise.web.poller import Poller, PollReport

__all__ = ["Progress", "Watched", "run"]

_TURNS = Budget(rate=20.0, burst=10.0)
"""Turns of the loop a second, and at once, that need not wait: each costs a commit and more,
however few polls have ended in it. Others wait for their time where nothing hangs on it: if the
budget is spent, or most polls are still under way."""
_SHARED = 4
"""A turn in which so many polls end counts twice: there are many of them, and half as many turns
cost less than that each waits 50 ms longer."""
_MANY = 8
"""A turn is not put off once one in so many of the polls under way has ended, or looks for noise.
Those that look do not count: they take long, and their hosts are free meanwhile."""
_STAFF_PERIOD = 1.0
"""Seconds after which the staff is asked for again, though nothing has happened."""
_OTHER_PARTS = "other parts of the page count than when it was asked for"
_NOTHING = PageMemory()  # one for the million pages of a fringe


@dataclass(frozen=True, slots=True)
class Watched:
    """A page, and what is remembered of it for the next poll: the one copy that a run holds.

    `gone`: the latest poll that did not fail found it so. `outcome` is that of the latest poll that
    was made; None: none was.
    """

    page: Page
    memory: PageMemory
    gone: bool = False
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """What came of a turn of the loop: the events for the scheduler, in order, and the reports of
    the polls among them.

    `first_copies`: the ids of the pages whose first copy these polls brought. Their outcome is
    CHANGED, but no change was seen. `gone_or_back`: the ids of pages with a copy that were there
    and are gone, or were gone and are back. `remembered` has the memories of pages, by id, whose
    masks somebody has changed.
    """

    events: tuple[Event, ...]
    reports: tuple[PollReport, ...]
    first_copies: frozenset[int] = frozenset()
    gone_or_back: frozenset[int] = frozenset()
    remembered: Mapping[int, PageMemory] = field(default_factory=dict)

    @property
    def changes(self) -> int:
        """The polls that found a change."""
        seen = [report.result.observation for report in self.reports]
        return sum(
            one.outcome is Outcome.CHANGED and one.page_id not in self.first_copies for one in seen
        )

    def happened(self, observation: Observation) -> ChangeKind | None:
        """What one of these polls found that changes tell of; None: nothing."""
        page_id, outcome = observation.page_id, observation.outcome
        if outcome is Outcome.CHANGED and page_id not in self.first_copies:
            return ChangeKind.BACK_CHANGED if page_id in self.gone_or_back else ChangeKind.CHANGED
        if page_id not in self.gone_or_back:
            return None
        return ChangeKind.GONE if outcome is Outcome.GONE else ChangeKind.BACK


async def run(
    scheduler: Scheduler,
    poller: Poller,
    *,
    watched: MutableMapping[int, Watched],
    clock: Clock,
    record: Callable[[Progress], Awaitable[None]],
    stop: asyncio.Event,
    staff: Callable[[], int] | None = None,
    policy_ready: asyncio.Future[None] | None = None,
    incoming: Incoming | None = None,
    is_over: Callable[[float], bool] | None = None,
) -> None:
    """Poll the pages that the scheduler names until `stop` is set.

    `watched` holds the pages by id; it is kept up to date with what the polls find. `record` is
    awaited with what happened in each turn before the next, and once more at the end: keeping that,
    with the state of scheduler and policy at that moment, loses nothing that was observed. `staff`
    is asked in each turn how many polls may be under way (None: any number). When `policy_ready`
    is done the scheduler is told so (None: the policy is ready). What users do meanwhile comes as
    `incoming` events and changes of masks. `is_over` is asked while no poll is under way, with the
    time at which the scheduler wants to be asked again; if it is, `stop` is set here. Polls under
    way at the end are cut short: those that have no answer yet are dropped. What `record`, a poll,
    `policy_ready` or `incoming` raises ends the loop; before what a poll raises does, the reports
    of the others are recorded.
    """
    under_way = _UnderWay(poller, watched)
    stopping = asyncio.ensure_future(stop.wait())
    incoming = Incoming() if incoming is None else incoming
    staffed: int | None = None
    awaited = [] if policy_ready is None else [policy_ready]
    remasked: set[int] = set()
    turns = CellRate(_TURNS)

    def news() -> Iterator[Event]:
        """What has happened besides the polls, each heeded when it is asked for."""
        nonlocal staffed
        if staff is not None and (wanted := staff()) != staffed:
            staffed = wanted
            yield Staffed(clock(), wanted)
        if awaited and awaited[0].done():
            awaited.pop().result()
            yield PolicyReady(clock())
        for event in _heeded(incoming.take(), watched, clock()):
            if isinstance(event, HostFreed):
                under_way.looks(event.page_id)
            yield event
        for change in incoming.take_remasked():
            if change.page_id in watched:
                _remask(watched, change)
                under_way.remask(change)
                remasked.add(change.page_id)

    def told(turn: Progress, events: Sequence[Event]) -> Progress:
        """A turn with its events, and what is remembered of pages with other masks."""
        memories = {one: watched[one].memory for one in remasked if one in watched}
        remasked.clear()
        return replace(turn, events=tuple(events), remembered=memories)

    try:
        while not stop.is_set():
            events: list[Event] = []
            wake_at = 0.0
            for event in news():
                events.append(event)
                wake_at = under_way.obey(scheduler.handle(event))
            # Only now, as a poll that has ended may be of a page of which something else is wanted.
            turn = _turn(under_way.ended(), watched, clock())
            turns.next_at = min(turns.next_at, clock())  # one that could not wait owes nothing
            turns.spend(2.0 if len(turn.reports) >= _SHARED else 1.0, clock())
            for event in turn.events if events or turn.events else (Tick(clock()),):
                events.append(event)
                wake_at = under_way.obey(scheduler.handle(event))
            is_spent = scheduler.budget_free_at > clock()
            await record(told(turn, events))
            # The loop holds no content while it waits: it may be all that there is room for.
            turn = Progress((), ())
            if under_way.error is not None:
                break
            if is_over is not None and not under_way.polls and is_over(wake_at):
                stop.set()
            while not (stop.is_set() or under_way.news().done() or clock() >= wake_at):
                if staff is not None and staff() != staffed:
                    break
                if (awaited and awaited[0].done()) or incoming.arrived().done():
                    break
                look_at = wake_at if staff is None else min(wake_at, clock() + _STAFF_PERIOD)
                waits_for: list[asyncio.Future[Any]] = [
                    *([under_way.news()] if under_way.polls else []),
                    *awaited,
                    incoming.arrived(),
                    stopping,
                ]
                await clock.wait(waits_for, look_at)
            ends_early: list[asyncio.Future[Any]] = [stopping]
            put_off = turns.next_at
            if not is_spent:  # else a free host, or a free place on the staff, waits for the turn
                ends_early.append(under_way.many())
                if under_way.awaited <= _MANY:
                    ends_early.append(incoming.arrived())
                if under_way.awaited == 0:  # nothing would end that could be taken in, too
                    put_off = min(put_off, scheduler.next_free_at)
            while clock() < put_off and not any(one.done() for one in ends_early):
                await clock.wait(ends_early, put_off)
        # The scheduler takes in what arrived at the last moment before it is recorded.
        events = list(news())
        turn = _turn(await under_way.cut_short(), watched, clock())
        events += turn.events
        for event in events:
            scheduler.handle(event)
        await record(told(turn, events))
        if under_way.error is not None:
            raise under_way.error
    finally:
        for waiting in (stopping, *under_way.polls):
            waiting.cancel()
        await asyncio.gather(stopping, *under_way.polls, return_exceptions=True)


class _UnderWay:
    """The polls that were begun and not yet reported, in the order of their start."""

    def __init__(self, poller: Poller, watched: MutableMapping[int, Watched]) -> None:
        self._poller = poller
        self._watched = watched
        self.polls: list[asyncio.Task[PollReport]] = []
        self.error: BaseException | None = None
        """What the first poll raised that did not report."""
        self._asked: dict[asyncio.Task[PollReport], Page] = {}
        """The pages as they were when their polls began."""
        self._looking: set[asyncio.Task[PollReport]] = set()
        self._remasked: dict[int, list[MaskChange]] = {}
        """What was changed of the masks of pages while they were polled, by id."""
        self._ended = 0
        self._news: asyncio.Future[None]
        self._many: asyncio.Future[None]
        self._look_anew()

    def obey(self, commands: Sequence[Command]) -> float:
        """Begin the polls that are commanded; the time at which the scheduler wants a `Tick`.

        None begins any more once there is an `error`.
        """
        wake_at = 0.0
        for command in commands:
            match command:
                case Poll(page_id) if self.error is None:
                    own = self._watched[page_id]
                    poll = asyncio.ensure_future(self._poller.poll(own.page, own.memory))
                    poll.add_done_callback(self._note_end)
                    self.polls.append(poll)
                    self._asked[poll] = own.page
                case WakeAt(time):
                    wake_at = time
        return wake_at

    def remask(self, change: MaskChange) -> None:
        """Note what somebody has changed of the masks of a page, which a poll does not know of."""
        if any(page.id == change.page_id for page in self._asked.values()):
            self._remasked.setdefault(change.page_id, []).append(change)

    def looks(self, page_id: int) -> None:
        """Note that the poll of a page has its answer, and goes on to look for noise."""
        self._looking |= {poll for poll, page in self._asked.items() if page.id == page_id}

    @property
    def awaited(self) -> int:
        """The polls that were not taken out yet, but for those that look for noise."""
        return len(self.polls) - len(self._looking)

    def _look_anew(self) -> None:
        loop = asyncio.get_running_loop()
        self._ended, self._news, self._many = 0, loop.create_future(), loop.create_future()

    def _note_end(self, poll: asyncio.Task[PollReport]) -> None:
        if poll not in self._asked:  # it was taken out already
            return
        self._ended += 1
        if not self._news.done():
            self._news.set_result(None)
        if self._ended * _MANY >= self.awaited and not self._many.done():
            self._many.set_result(None)

    def news(self) -> asyncio.Future[None]:
        """What is done when a poll has ended since those that ended were taken out."""
        return self._news

    def many(self) -> asyncio.Future[None]:
        """What is done when many have."""
        return self._many

    def ended(self) -> tuple[PollReport, ...]:
        """Take out the polls that have ended; the reports of those that raised no error."""
        self._look_anew()
        done = [poll for poll in self.polls if poll.done()]
        self.polls = [poll for poll in self.polls if not poll.done()]
        return tuple(report for poll in done if (report := self._report(poll)) is not None)

    async def cut_short(self) -> tuple[PollReport, ...]:
        """End all polls now; the reports of those that had their answer already."""
        for poll in self.polls:
            poll.cancel()
        await asyncio.gather(*self.polls, return_exceptions=True)
        self.polls = [poll for poll in self.polls if not poll.cancelled()]
        return self.ended()

    def _report(self, poll: asyncio.Task[PollReport]) -> PollReport | None:
        """The report of a poll; as of a postponed one if other parts of the page count by now.

        None if it raised an error, which is kept if it is the first.
        """
        asked = self._asked.pop(poll)
        self._looking.discard(poll)
        try:
            report = poll.result()
        except BaseException as error:
            self.error = self.error or error
            return None
        own = self._watched.get(asked.id)
        changes = self._remasked.pop(asked.id, ())
        if own is None or has_same_parts(asked, own.page):
            if not changes:
                return report
            memory = report.result.memory
            for change in changes:
                memory = change.applied(memory)
            return replace(report, result=replace(report.result, memory=memory))
        observation = replace(report.result.observation, outcome=Outcome.POSTPONED)
        return replace(report, result=PollResult(observation, own.memory, error=_OTHER_PARTS))


def _heeded(
    events: Sequence[Event], watched: MutableMapping[int, Watched], now: float
) -> Iterator[Event]:
    """What users want from now on, as the events for the scheduler.

    Each is noted in `watched` when it is asked for: until the scheduler hears of it, it may command
    polls of pages that a later one takes away.
    """
    for event in events:
        match event:
            case Added(pages=pages):
                watched.update({page.id: Watched(page, _NOTHING) for page in pages})
            case Removed(page_ids=page_ids):
                for page_id in page_ids:
                    watched.pop(page_id, None)
            case Updated(pages=pages):
                known = tuple(page for page in pages if page.id in watched)
                for page in known:
                    watched[page.id] = _updated(watched[page.id], page)
                event = Updated(now, tuple(watched[page.id].page for page in known))
        yield replace(event, now=now)


def _remask(watched: MutableMapping[int, Watched], change: MaskChange) -> None:
    """Remember what somebody has changed of the masks of a page."""
    own = watched[change.page_id]
    watched[change.page_id] = replace(own, memory=change.applied(own.memory))


def _updated(own: Watched, wanted: Page) -> Watched:
    """A page as it is wanted now, with what its polls told, which the store may not have yet."""
    page = replace(wanted, seen_at=own.page.seen_at, changes_in_a_row=own.page.changes_in_a_row)
    if has_same_parts(own.page, page):
        return replace(own, page=page)
    return replace(own, page=replace(page, changes_in_a_row=0), memory=_NOTHING)


def _turn(
    reports: tuple[PollReport, ...], watched: MutableMapping[int, Watched], now: float
) -> Progress:
    """What came of the polls that have ended."""
    first_copies, gone_or_back = _remember(watched, reports)
    return Progress(_told(reports, now), reports, first_copies, gone_or_back)


def _told(reports: Sequence[PollReport], now: float) -> tuple[Event, ...]:
    """The events of some reports; what hosts ask for comes first, to hold for the next poll."""
    if not reports:
        return ()
    notices = [replace(notice, now=now) for report in reports for notice in report.notices]
    polled = Polled(now, tuple(report.result.observation for report in reports))
    discovered = tuple(_discovered(reports, now))
    # A page just discovered may be worth more than the one that its host would be polled for next.
    return (*notices, Together(now, (polled, *discovered)) if discovered else polled)


def _discovered(reports: Sequence[PollReport], now: float) -> Iterator[Event]:
    """The pages that polls discovered, the topic, the links that may lead to them, and new scores.

    Pages are in the order of their ids, in which they were found; the reports are not.
    """
    found = [new.page for _, discoveries in _discoveries(reports) for new in discoveries.new_pages]
    if found:
        yield Added(now, tuple(sorted(found, key=lambda page: page.id)))
    for _, discoveries in _discoveries(reports):
        if discoveries.aimed:
            yield Aimed(now, discoveries.aimed)
    for report, discoveries in _discoveries(reports):
        if discoveries.links is not None:
            yield Linked(now, report.result.observation.page_id, discoveries.links)
        if rescored := discoveries.rescored:
            yield Rescored(now, tuple(rescored), tuple(rescored.values()))


def _discoveries(reports: Sequence[PollReport]) -> Iterator[tuple[PollReport, Discoveries]]:
    return ((report, report.discovered) for report in reports if report.discovered is not None)


def _remember(
    watched: MutableMapping[int, Watched], reports: Sequence[PollReport]
) -> tuple[frozenset[int], frozenset[int]]:
    """Keep what reports tell for the next polls of their pages.

    Gives the ids of pages seen first now, and of those that are gone now or are back.
    """
    for _, discoveries in _discoveries(reports):
        watched.update({f.page.id: Watched(f.page, _NOTHING) for f in discoveries.new_pages})
    first_copies, gone_or_back = set(), set()
    for report in reports:
        observation = report.result.observation
        own = watched.get(observation.page_id)
        if own is None:  # removed while it was polled
            continue
        page, gone, outcome = own.page, own.gone, own.outcome
        if observation.outcome is not Outcome.POSTPONED:
            outcome = observation.outcome
        if observation.outcome in (Outcome.CHANGED, Outcome.UNCHANGED, Outcome.GONE):
            gone = observation.outcome is Outcome.GONE
            if gone != own.gone and page.seen_at is not None:
                gone_or_back.add(page.id)
        if observation.outcome in (Outcome.CHANGED, Outcome.UNCHANGED):
            if page.seen_at is None:
                first_copies.add(page.id)
            in_a_row = report.result.memory.noise.changes_in_a_row
            page = replace(page, seen_at=observation.polled_at, changes_in_a_row=in_a_row)
        watched[page.id] = Watched(page, report.result.memory, gone, outcome)
    return frozenset(first_copies), frozenset(gone_or_back)
