"""Watching the pages of a store: `serve`, with everything that happens kept in the store.

A run begins from an initial state, which is kept with the log of its events: `rerun` gives the
commands of the run again.
"""

import asyncio
import io
import json
import math
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from pollwise.events import Command, Event
from pollwise.live.loop import Clock, Progress, Watched, serve
from pollwise.policies.collecting.request_controller import RequestController
from pollwise.scheduler.scheduler import Scheduler
from pollwise.store import Batch, PollResult, Store
from pollwise.types import Observation, Outcome, Page, StateDict
from pollwise.web.poller import Poller

__all__ = ["InitialState", "rerun", "watch"]

_STATE_SHARE = 0.01
"""The share of the time that goes, at most, into each thing that is written down now and then."""
_RUNS_KEPT = 10
_MOST_EVENTS = 30_000
"""Events that are kept of a run that collects. The links of a page take ten kilobytes of the log,
so it is some hundred megabytes. The first events lead to the same commands without the others."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class InitialState:
    """What a run begins with: the pages, what was learned of them, the scheduler's state.

    `learned` and `scheduler` are None where nothing was kept yet.
    """

    pages: tuple[Page, ...]
    learned: StateDict | None
    scheduler: str | None

    def begin(self, scheduler: Scheduler) -> None:
        """Bring a new scheduler, with a new policy, into this state."""
        scheduler.restore(self.pages, self.scheduler)
        if self.learned is not None:
            scheduler.policy.load_state_dict(self.learned)

    def pack(self) -> bytes:
        """As bytes, which `unpack` reads."""
        head = json.dumps([[astuple(page) for page in self.pages], self.scheduler])
        arrays: dict[str, Any] = {f"={k}": v for k, v in (self.learned or {}).items()}
        file = io.BytesIO()
        np.savez_compressed(file, head=np.array(head), **arrays)
        return file.getvalue()

    @classmethod
    def unpack(cls, data: bytes) -> "InitialState":
        """What `pack` packed."""
        with np.load(io.BytesIO(data)) as arrays:
            pages, scheduler = json.loads(str(arrays["head"]))
            learned = {name[1:]: arrays[name] for name in arrays.files if name.startswith("=")}
        return cls(tuple(Page(*page) for page in pages), learned or None, scheduler)


async def watch(
    store: Store,
    scheduler: Scheduler,
    poller: Poller,
    *,
    clock: Clock,
    stop: asyncio.Event,
    settings: Mapping[str, object],
    on_progress: Callable[[Progress, Mapping[int, Watched]], None] = lambda progress, watched: None,
    staff: Callable[[], int] | None = None,
    states: Callable[[], Mapping[str, bytes]] = dict,
) -> None:
    """Watch all pages of the store until `stop` is set, from where the last run left off.

    `settings` are kept with the run, for whoever looks at it. `on_progress` is told of every turn,
    after it was committed, with all that is watched. `staff`: see `serve`. `states` gives what the
    caller wants to be kept now and then, by name. `StoreError` ends it.
    """
    watched = {r.page.id: Watched(r.page, r.memory) for r in store.pages()}
    pages = tuple(own.page for own in watched.values())
    initial = InitialState(pages, store.load_learned(), store.scheduler_state())
    initial.begin(scheduler)
    collected = _recall(store, scheduler, watched)
    # Without an initial state there is nothing to run the events from again.
    log_room = 0.0 if collected else math.inf
    if isinstance(scheduler.policy, RequestController):
        log_room = min(log_room, _MOST_EVENTS)
    begun_at = clock()
    scheduler_state = _Seldom(scheduler.state, clock, stop)
    other_states = _Seldom(states, clock, stop)

    def begin_run() -> None:
        store.prune_events(keep_runs=_RUNS_KEPT - 1)
        # What a collection begins with is what earlier runs collected: nobody keeps that twice.
        store.start_run(begun_at, settings, None if collected else initial.pack())

    def batch(progress: Progress) -> Batch:
        nonlocal log_room
        reports = progress.reports
        polled = {report.observation.page_id for report in reports}
        events = progress.events if log_room > 0 else ()
        log_room -= len(events)
        return Batch(
            events=events,
            polls=tuple(PollResult(r.observation, r.memory, r.version, r.error) for r in reports),
            learned=scheduler.policy.state_dict(sorted(polled)) if polled else None,
            scheduler=scheduler_state(),
            new_pages=tuple(found for r in reports for found in r.new_pages),
            collected=tuple(r.collected for r in reports if r.collected is not None),
            rescored={page: score for r in reports for page, score in r.rescored.items()},
            states=other_states() or {},
        )

    # One thread for all writes: a slow disk holds up the turn after the next, not the fetches.
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(1, thread_name_prefix="store") as writer:
        committed: asyncio.Future[None] = loop.run_in_executor(writer, begin_run)

        async def commit(kept: Batch, progress: Progress) -> None:
            await loop.run_in_executor(writer, store.commit, kept)
            on_progress(progress, watched)

        async def record(progress: Progress) -> None:
            """Have a turn committed while the next one goes on, but never two at a time."""
            nonlocal committed
            kept = batch(progress)
            await committed
            committed = asyncio.ensure_future(commit(kept, progress))

        try:
            await serve(
                scheduler,
                poller,
                watched=watched,
                clock=clock,
                record=record,
                stop=stop,
                staff=staff,
            )
        finally:
            await committed


def _recall(store: Store, scheduler: Scheduler, watched: Mapping[int, Watched]) -> bool:
    """Tell a policy that collects of what was collected; whether there was any.

    As of the latest copies: polls that failed since, or found the page gone, tell nothing of that.
    """
    policy = scheduler.policy
    if not isinstance(policy, RequestController):
        return False
    collected = False
    for fetched in store.history():
        page_id, relevance = fetched.page_id, fetched.relevance
        at = watched[page_id].page.seen_at
        if at is not None:
            policy.observe([Observation(page_id, at, Outcome.CHANGED, relevance=relevance)])
            policy.link(page_id, fetched.links)
            collected = True
    return collected


class _Seldom(Generic[T]):
    """Something to write down, but not so often that it takes much of the time."""

    def __init__(self, make: Callable[[], T], clock: Clock, stop: asyncio.Event) -> None:
        self._make = make
        self._clock = clock
        self._stop = stop
        self._due = -np.inf

    def __call__(self) -> T | None:
        """What there is to write down; None: not now. At the end it always is."""
        asked_at = self._clock()
        if asked_at < self._due and not self._stop.is_set():
            return None
        made = self._make()
        self._due = asked_at + (self._clock() - asked_at) / _STATE_SHARE
        return made


def rerun(
    scheduler: Scheduler, initial_state: bytes, events: Iterable[Event]
) -> list[list[Command]]:
    """The commands that each event of a run led to, from its initial state and its log.

    `scheduler` and its policy must be new, made with the settings of the run. The same on the same
    kind of machine: sums of floats may be rounded differently on another.
    """
    InitialState.unpack(initial_state).begin(scheduler)
    return [scheduler.handle(event) for event in events]
