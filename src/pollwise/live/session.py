"""One run over one store, for watch, collect and the demonstration alike.

A session takes the pages and what was learned of them from the store, restores the scheduler's
state of the last run, and then runs the loop and records everything.
"""

import asyncio
import gc
import math
import signal
import sys
from collections.abc import (
    AsyncIterator,
    Callable,
    Collection,
    Coroutine,
    Mapping,
    Sequence,
)
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, TypeVar

import uvloop

from pollwise.errors import StateError, StoreDiskError, StoreError
from pollwise.insight.words import duration, moment
from pollwise.kernel_folder import what_compiles
from pollwise.live.clock import Clock, LiveClock, wait_until_set
from pollwise.live.compiling import has_compiled, preparing, rehearse
from pollwise.live.garbage import short_searches
from pollwise.live.hangups import NOTHING_TO_RELOAD, heed_hangups
from pollwise.live.incoming import Incoming
from pollwise.live.journal import InitialState, Journal, was_killed
from pollwise.live.loop import run
from pollwise.live.once import Once
from pollwise.live.progress import Progress
from pollwise.live.run_figures import BesideRun, RunMeter
from pollwise.live.service_manager import service_manager
from pollwise.policies.awaited import AwaitedPolicy
from pollwise.policies.base import Policy
from pollwise.policies.collecting.request_controller import RequestController
from pollwise.scheduler.bounds import MOST_DEMANDED
from pollwise.scheduler.scheduler import Scheduler
from pollwise.settings import Settings, WatchSettings, damaged_run
from pollwise.slow_work import told_if_slow
from pollwise.store import Store
from pollwise.store.records import Batch
from pollwise.store.retention import parse_retention
from pollwise.texts import plain
from pollwise.types import Observation, Outcome, StateDict
from pollwise.units import DAY
from pollwise.watched_pages import Watched, WatchedPages
from pollwise.web.poller import Poller
from pollwise.web.traffic import Traffic

__all__ = [
    "Besides",
    "Run",
    "Session",
    "run_until_stopped",
    "signals_as_now",
]

T = TypeVar("T")

_HURRY = 3.0
"""Seconds that the end of a run may take before people may hurry."""
_SILENT = 3.0
"""Seconds after which people are told why nothing happens yet, if it was not clear before."""

Run = Callable[[asyncio.Event], Coroutine[Any, Any, T]]
"""Runs until the event is set that it is given."""

Besides = Callable[[Journal], AbstractAsyncContextManager[None]]
"""Gives a context for a run, whose journal writes what is to be kept."""

_ENDS = (signal.SIGINT, signal.SIGTERM)
_SWITCH = 0.0005
"""Seconds."""


class Session:
    """A run over a store that has all its pages already.

    `scheduler`, with its policy, must be new, and what the policy needs compiled; None: the one
    that the settings make. `say` is told what people should know, in words: that it has to compile,
    or that what another kind of policy, or an earlier version of this one, learned is forgotten.

    The first run on a machine compiles. A watch polls meanwhile what needs no policy: first copies,
    and pages that are overdue. A collection compiles here, before an event loop minds signals, so
    that Ctrl-C ends it at once: its pages cannot be put in order without the policy. So does a
    watch that polls but `once`, see `Once`: it would be over before.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        *,
        clock: Clock,
        say: Callable[[str], None],
        scheduler: Scheduler | None = None,
        once: bool = False,
    ) -> None:
        self.store = store
        self.settings = settings
        self.clock = clock
        self.say = say
        self._once = once
        self._begun_at = clock()  # what is compiled first may take half a minute
        if (ahead := store.set_back_times(clock())) is not None:
            say(
                f"the clock of this machine was {duration(ahead.ahead)} ahead: what was stored then"
                " counts as of now, and nothing of the budget was saved up since"
            )
        retention = parse_retention(settings.keep)
        store.keep_versions(retention)
        if retention.age is not None and store.ages_count_from > clock():
            say(
                "nothing was stored for long, or the clock of this machine is ahead: no version is"
                f" dropped for its age before {moment(store.ages_count_from)} (UTC)"
            )
        self._learned: StateDict | None = None
        self._awaited: AwaitedPolicy | None = None
        is_sure = scheduler is None and not has_compiled(settings)
        if isinstance(settings, WatchSettings) and is_sure and not once:
            is_any_missing = bool(self.watched.count_by_scope(polled=False))
            meanwhile = "; first copies are fetched meanwhile, and" if is_any_missing else ";"
            goes_on = store.has_learned()
            say(
                f"{what_compiles()} compiles, which takes about half a minute{meanwhile} learning"
                f" {'goes on' if goes_on else 'starts'} after it"
            )
            self._awaited = AwaitedPolicy()
            self.scheduler = settings.scheduler(len(self.watched), self._awaited)
            if goes_on:
                self._take_up(settings.policy(len(self.watched)))
        else:
            # What was compiled may be of no use any more, as on another processor.
            why = f"{what_compiles()} compiles for about half a minute"
            if not is_sure:
                why = "what was compiled is loaded, or compiled anew for about half a minute"
            with told_if_slow(say, f"getting ready: {why}", after=0.0 if is_sure else _SILENT):
                self._prepare(scheduler)

    def _prepare(self, scheduler: Scheduler | None) -> None:
        pages = len(self.watched)
        self.scheduler = self.settings.scheduler(pages) if scheduler is None else scheduler
        self._take_up(self.scheduler.policy)
        if scheduler is None:
            # Before the first poll: polls under way would run out of time meanwhile, and their
            # answers would wait to be written down.
            rehearse(self.settings, pages)

    def _take_up(self, policy: Policy) -> None:
        """Read what a policy of this kind has learned."""
        # Here, because they load numba, which takes as long as a few polls.
        from pollwise.insight.learned import learned_by
        from pollwise.policies.arrays import not_after

        store = self.store
        learned = learned_by(store, policy)
        if learned is not None:
            self._learned = not_after(learned.state, self.clock())
            if self._learned is not learned.state or not learned.is_stored:
                # Kept now, or what is learned of pages that are not polled soon is set back again
                # at every start, and never due; nor can rows of two versions be read together.
                store.commit(Batch(learned=self._learned))
        elif store.has_learned():
            self.say(f"what {store.path.name} has learned is of an earlier version: learning anew")
            store.forget_learned()

    @cached_property
    def watched(self) -> WatchedPages:
        """The pages by id, which the run keeps up to date."""
        return self.store.watched_pages()

    async def run(
        self,
        poller: Poller,
        stop: asyncio.Event,
        *,
        on_progress: Callable[[Progress, Mapping[int, Watched]], None],
        staff: Callable[[], int] | None = None,
        states: Mapping[str, Callable[[], bytes]] = MappingProxyType({}),
        beside: Sequence[Besides] = (),
        incoming: Incoming | None = None,
        traffic: Traffic | None = None,
        told_figures: Sequence[BesideRun] = (),
        topic: Mapping[str, float] = MappingProxyType({}),
        left_out: Collection[int] = (),
        first: Sequence[int] = (),
    ) -> None:
        """Poll until `stop` is set, from where the last run left off; call it once.

        `on_progress` is told of every turn after its commit, with all pages by id. `staff`: see
        `loop.run`. `states`: see `Journal`. `beside` gives contexts in which to poll, such as one
        that sends notices; `told_figures` gives more, from what gives the figures of the run, in
        which `traffic` counts. `incoming`: see `loop.run`. `topic` has the terms of the topic of a
        collection, as known so far: without them, what was collected before says nothing of how
        much they tell. `left_out` are the ids of pages that are not polled, and of which the others
        only learn; `first` those of pages that are polled ahead of all others, once. A `StoreError`
        ends the run; so does what the last run left, if it is damaged.
        """
        watched = self.watched
        initial, packed = self._begun(first)
        incoming = Incoming() if incoming is None else incoming
        limit = None
        if self._once:
            limit = Once(self.scheduler, initial.pages, self.clock, self.say, staff)
            incoming.put([limit.event])
        if told := _too_much_demanded(self.scheduler.bounds.demanded(), self.scheduler.budget.rate):
            self.say(told)
        collected = self._recall(watched, topic)
        # Only now, as they may teach something.
        self.scheduler.leave_out(left_out)
        for page_id in left_out:
            del watched[page_id]

        def shown(progress: Progress) -> None:
            meter.note(progress)
            on_progress(progress, watched)

        journal = Journal(
            self.store,
            self.scheduler,
            # What a collection begins with is in the store already, and the events of one that
            # leaves pages out cannot be re-run.
            None if collected or left_out else packed,
            settings=self.settings.recorded(),
            clock=self.clock,
            stop=stop,
            incoming=incoming,
            on_progress=shown,
            say=self.say,
            states=states,
            begun_at=self._begun_at,
        )
        del initial, packed  # they are as large as what the run itself holds
        async with journal:
            meter = RunMeter(
                self.scheduler,
                self.clock,
                watched,
                Traffic() if traffic is None else traffic,
                commit_seconds=lambda: journal.commit_seconds,
                is_quiet=lambda: staff is not None and staff() == 0,
            )
            async with self._besides(journal, meter, beside, told_figures) as policy_ready:
                await run(
                    self.scheduler,
                    poller,
                    watched=watched,
                    clock=self.clock,
                    record=journal.record if limit is None else limit.recording(journal.record),
                    stop=stop,
                    staff=staff if limit is None else limit.staff,
                    is_over=None if limit is None else limit.is_over,
                    policy_ready=policy_ready,
                    incoming=incoming,
                )

    @asynccontextmanager
    async def _besides(
        self,
        journal: Journal,
        meter: RunMeter,
        beside: Sequence[Besides],
        told_figures: Sequence[BesideRun],
    ) -> AsyncIterator[asyncio.Future[None] | None]:
        """All that goes on beside the polls, but for the journal.

        Gives what is done when the policy is ready; None: it is.
        """
        async with AsyncExitStack() as stack:
            for context in beside:
                await stack.enter_async_context(context(journal))
            if told_figures:
                await stack.enter_async_context(meter.minding())
            for told_of in told_figures:
                await stack.enter_async_context(told_of(meter.figures))
            policy_ready = None
            if self._awaited is not None:
                policy_ready = await stack.enter_async_context(
                    preparing(self._awaited, self.settings, len(self.watched), self.say)
                )
            service_manager().ready()
            await stack.enter_async_context(service_manager().beside(meter.in_words))
            yield policy_ready

    def _begun(self, first: Sequence[int]) -> tuple[InitialState, Callable[[], bytes]]:
        """What the run begins with, and what packs it: the scheduler is in that state."""
        pages = self.watched.columns()
        learned, self._learned = self._learned, None
        is_awaited = self._awaited is not None
        initial = InitialState(pages, learned, self.store.scheduler_state(), is_awaited, first)
        if isinstance(self.scheduler.policy, RequestController):
            begun = self._begin(initial)
            return begun, begun.pack  # with the URLs of the pages, by which it discovers others
        # Packing is mostly done by zlib, and beginning by compiled code, which both let others run.
        with ThreadPoolExecutor(1, thread_name_prefix="packing") as beside:
            packing = beside.submit(initial.pack, texts=False)
            begun = self._begin(initial)
        return begun, packing.result if begun is initial else partial(begun.pack, texts=False)

    def _begin(self, initial: InitialState) -> InitialState:
        """Bring the scheduler into this state; gives that in which it is then."""
        try:
            initial.begin(self.scheduler)
            is_other = self.scheduler.set_back(self.clock())
            if was_killed(self.store):
                self.scheduler.leave_hosts_alone(self._begun_at)
                is_other = True
            if is_other:
                return replace(initial, scheduler=self.scheduler.state())
        except StateError as error:
            raise damaged_run(self.store.path) from error
        return initial

    def _recall(self, watched: Mapping[int, Watched], topic: Mapping[str, float]) -> bool:
        """Tell a policy that collects the topic and what was collected; whether there was any.

        That is the latest copies, whatever later polls failed or found the page gone.
        """
        policy = self.scheduler.policy
        if not isinstance(policy, RequestController):
            return False
        collected = False
        for fetched in self.store.history():
            page_id, relevance = fetched.page_id, fetched.relevance
            at = watched[page_id].page.seen_at
            if at is not None:
                if not collected:
                    policy.aim(topic)
                policy.observe([Observation(page_id, at, Outcome.CHANGED, relevance=relevance)])
                policy.link(page_id, fetched.links)
                collected = True
        return collected


def _too_much_demanded(demanded: float, rate: float) -> str | None:
    """A line that says that at-least bounds cannot be kept; both in cost units a second.

    >>> _too_much_demanded(10 / 86_400, 5 / 86_400).partition(" get ")[0]
    'at-least bounds need 200% of the budget (10 a day of 5) and'
    """
    if demanded <= MOST_DEMANDED * rate:
        return None
    asked, allowed = (
        f"{per_day:,.0f}" if per_day >= 100 else plain(per_day, 3)
        for per_day in (demanded * DAY, rate * DAY)
    )
    enough = math.ceil(demanded / MOST_DEMANDED * DAY)
    return (
        f"at-least bounds need {demanded / rate:.0%} of the budget ({asked} a day of"
        f" {allowed}) and get {MOST_DEMANDED:.0%}: pages are polled in the order of"
        f" their deadlines, later than asked for; a budget of {enough}/day would do"
    )


def run_until_stopped(
    begin: Callable[[LiveClock], Run[T]],
    say: Callable[[str], None],
    reload: Callable[[], None] | None = None,
    latest_time: Callable[[], float] = lambda: 0.0,
) -> T:
    """Do the run that `begin` gives for a clock, on an event loop, until SIGINT or SIGTERM.

    An end that takes long, as somebody gives no answer, is told; another signal then ends the
    process, and what was not committed is polled again by the next one.

    SIGHUP calls `reload` (None: nothing can be taken in, which `say` is told) or, at a terminal,
    which is hung up then, ends the run; see `NotedHangup` for one that comes before. The service
    manager hears of all that.

    `latest_time` gives the latest time that is stored: see `wait_until_set`.

    When the machine's clock has been set for good the run ends, and another one begins by a new
    clock, which `say` is told. The answer is that of the last run. `StoreDiskError` if the disk
    took no more while it was to go on.
    """
    is_over = False
    heed_as_before = signals_as_now()

    async def started(run: Run[T], clock: LiveClock) -> T:
        stop = asyncio.Event()

        def end() -> None:
            nonlocal is_over
            if not is_over:
                loop.call_later(_HURRY, hurry)
            is_over = True
            service_manager().stopping()
            stop.set()

        def hurry() -> None:
            for one in _ENDS:
                loop.remove_signal_handler(one)
                signal.signal(one, signal.SIG_DFL)
            say("the end waits for the database or a receiver of notices: another Ctrl-C does not")

        # The loop is to wait no longer than this for a thread that computes.
        sys.setswitchinterval(_SWITCH)
        loop = asyncio.get_running_loop()
        for one in _ENDS:
            loop.add_signal_handler(one, end)
        heed_hangups(loop, end=end, reload=reload or partial(_nothing_taken_in, say))
        minding = asyncio.ensure_future(clock.mind(stop))
        try:
            with short_searches():
                async with service_manager().watched():
                    return await run(stop)
        finally:
            minding.cancel()

    while True:
        wait_until_set(latest_time(), say)
        clock = LiveClock()
        try:
            result = uvloop.run(started(begin(clock), clock))
        except StoreDiskError as error:
            if is_over:  # there is nothing to go on with
                raise StoreError(str(error)) from error
            heed_as_before()
            raise
        goes_on = clock.is_apart and not is_over
        if goes_on:
            heed_as_before()
        gc.collect()  # asyncio then tells of errors in tasks for which nobody has waited
        if not goes_on:
            return result
        say(f"the clock of this machine was set by {clock.moved:+,.0f} s: going on by it")


def signals_as_now() -> Callable[[], None]:
    """What has Ctrl-C, SIGTERM and SIGHUP heeded as they are now, after an event loop that did so.

    A loop of uvloop that is closed keeps its handlers, which do nothing any more: no signal would
    end what comes next.
    """
    handlers = {one: signal.getsignal(one) for one in (*_ENDS, signal.SIGHUP)}

    def heed() -> None:
        for one, handler in handlers.items():
            signal.signal(one, handler)

    return heed


def _nothing_taken_in(say: Callable[[str], None]) -> None:
    service_manager().reloading()
    say(NOTHING_TO_RELOAD)
    service_manager().ready()
