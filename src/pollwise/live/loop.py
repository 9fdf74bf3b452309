"""The loop of the live web: carries out what the scheduler commands and tells it what comes of it.

`run` is to the web what `pollwise.simulation.loop.simulate` is to a world. All its time comes from
a `Clock`, so it runs just as well in a test, where the time is made up and pages are simulated.
"""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from pollwise.events import Added, Event, Tick
from pollwise.live.clock import Clock
from pollwise.live.incoming import Incoming
from pollwise.live.news import News
from pollwise.live.progress import Progress, progress_of
from pollwise.live.turn_pace import TurnPace
from pollwise.live.under_way import MANY, UnderWay
from pollwise.scheduler.scheduler import Scheduler
from pollwise.watched_pages import Watched
from pollwise.web.poller import Poller

__all__ = ["run"]


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
    under_way = UnderWay(poller, watched)
    stopping = asyncio.ensure_future(stop.wait())
    incoming = Incoming() if incoming is None else incoming
    news = News(under_way, watched, clock, incoming, staff=staff, policy_ready=policy_ready)
    pace = TurnPace()
    try:
        while not stop.is_set():
            events: list[Event] = []
            wake_at = 0.0
            for event in news.take():
                events.append(event)
                wake_at = under_way.obey(scheduler.handle(event))
            # Only now, as a poll that has ended may be of a page of which something else is wanted.
            turn = progress_of(under_way.ended(), watched, clock())
            pace.turned(len(turn.reports), clock())
            for event in turn.events if events or turn.events else (Tick(clock()),):
                events.append(event)
                wake_at = under_way.obey(scheduler.handle(event))
                if isinstance(event, Added):  # of many, others follow: see `progress_of`
                    await asyncio.sleep(0)
            # By the time that the scheduler went by: to begin its polls may take as long as the
            # budget needs for the next one.
            is_spent = scheduler.budget_free_at > events[-1].now
            await record(news.told(turn, events))
            # The loop holds no content while it waits: it may be all that there is room for.
            turn = Progress((), ())
            if under_way.error is not None:
                break
            if is_over is not None and not under_way.polls and is_over(wake_at):
                stop.set()
            while not (stop.is_set() or under_way.news().done() or clock() >= wake_at):
                if news.has_come():
                    break
                polled = [under_way.news()] if under_way.polls else []
                await clock.wait([*polled, *news.awaited(), stopping], news.look_at(wake_at))
            ends_early: list[asyncio.Future[Any]] = [stopping]
            put_off = pace.next_at
            if not is_spent:  # else a free host, or a free place on the staff, waits for the turn
                ends_early.append(under_way.many())
                if under_way.awaited <= MANY:
                    ends_early.append(incoming.arrived())
                if under_way.awaited == 0:  # nothing would end that could be taken in, too
                    put_off = min(put_off, scheduler.next_free_at)
            while clock() < put_off and not any(one.done() for one in ends_early):
                await clock.wait(ends_early, put_off)
        # The scheduler takes in what arrived at the last moment before it is recorded.
        events = list(news.take())
        turn = progress_of(await under_way.cut_short(), watched, clock())
        events += turn.events
        for event in events:
            scheduler.handle(event)
        await record(news.told(turn, events))
        if under_way.error is not None:
            raise under_way.error
    finally:
        ending: list[asyncio.Future[Any]] = [stopping, *under_way.polls]
        for waiting in ending:
            waiting.cancel()
        await asyncio.gather(*ending, return_exceptions=True)
