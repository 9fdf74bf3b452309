"""The record of a run: its initial state and everything that happens, turn by turn.

With the initial state and the log of events, `rerun` gives the commands of the run again.
"""

import asyncio
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import monotonic
from types import MappingProxyType
from typing import Generic, Self, TypeVar

from pollwise.errors import StoreBusyError
from pollwise.events import Command, Event, Signalled, page_of_row
from pollwise.live.clock import Clock
from pollwise.live.incoming import Incoming
from pollwise.live.progress import Progress
from pollwise.page_columns import as_columns, from_plain, to_plain
from pollwise.policies.awaited import AwaitedPolicy
from pollwise.policies.collecting.request_controller import RequestController
from pollwise.scheduler.packing import pack, unpack
from pollwise.scheduler.scheduler import Scheduler
from pollwise.store.base import StoreJournal, StoreReader
from pollwise.store.records import Batch
from pollwise.types import Page, StateDict

__all__ = ["InitialState", "Journal", "rerun", "was_killed"]

_SHARE = 0.01
"""The greatest share of the time to spend on each thing that is written now and then."""
_SCHEDULER_SHARE = 0.005
"""That for the scheduler's state, which even of thousands of hosts is made in a millisecond."""
_SCHEDULER_PERIOD = 0.5
"""The most seconds between two of it: hosts polled since would be asked too early after a kill. On
a busy machine one may seem to take long."""
_MOST_SHARE = 0.05
"""The share of the time that such a period may take, as with a hundred thousand busy hosts."""
_BYTES_A_SECOND = 50e6
"""How fast such a thing is written if it is large: all of it goes into the database anew, and
before that into its log."""
_LARGEST_STATE = 900_000_000
"""Bytes of what a run begins with, if it is kept: a database takes no larger value."""
_OF_PAGES = "of pages: "
"""Before the names of arrays that are not of what was learned."""
_UNDER_WAY = "run under way"
"""The state that says, unless it is empty, that a run did not end: it goes on, or was killed."""
_RUNS_KEPT = 10
_TRIES_AT_THE_END = 3
"""How often a run that is to end tries to write into a store that another program has locked. Each
try takes as long as the store waits for the lock."""
_SILENT = 30.0
"""Seconds after which people are told that the store does not answer."""
_MOST_EVENTS = 15_000
"""Events that are kept of a run that collects: a log of about 150 megabytes, as the links of a
page take ten kilobytes. They can be re-run without the later ones."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class InitialState:
    """What a run begins with: the pages, what was learned of them, the scheduler's state.

    `learned` and `scheduler` are None if nothing was stored yet. `awaited`: the policy is not ready
    before the event `PolicyReady`. `first` are the ids of pages that are polled ahead of all
    others.
    """

    pages: Sequence[Page]
    learned: StateDict | None
    scheduler: str | None
    awaited: bool = False
    first: Sequence[int] = ()

    def begin(self, scheduler: Scheduler) -> None:
        """Bring a new scheduler, with a new policy, into this state."""
        if self.awaited and not isinstance(scheduler.policy, AwaitedPolicy):
            scheduler.policy = AwaitedPolicy(scheduler.policy)
        scheduler.restore(self.pages, self.scheduler)
        if self.learned is not None:
            scheduler.policy.load_state_dict(self.learned)
        scheduler.poll_first(self.first)

    def pack(self, *, texts: bool = True) -> bytes:
        """The state as bytes for `unpack`; `texts`: with the URLs and names of the pages."""
        lists, arrays = to_plain(as_columns(self.pages), texts=texts)
        of_pages = {f"{_OF_PAGES}{name}": array for name, array in arrays.items()}
        head = [lists, self.scheduler, self.awaited, self.first]
        return pack(head, {**of_pages, **(self.learned or {})})

    @classmethod
    def unpack(cls, data: bytes) -> Self:
        """What `pack` packed."""
        # Heads of earlier versions have the pages by rows, and end after the scheduler, or after
        # what follows it.
        (told, scheduler, *later), learned = unpack(data)
        arrays = {
            name.removeprefix(_OF_PAGES): learned.pop(name)
            for name in list(learned)
            if name.startswith(_OF_PAGES)
        }
        is_by_rows = not isinstance(told, dict)
        pages = tuple(map(page_of_row, told)) if is_by_rows else from_plain(told, arrays)
        return cls(pages, learned or None, scheduler, *later)


def rerun(
    scheduler: Scheduler, initial_state: bytes, events: Iterable[Event]
) -> list[list[Command]]:
    """The commands that each event of a run led to, from its initial state and its log.

    `scheduler` and its policy must be new, made with the settings of the run. Another kind of
    machine may round sums of floats differently, and so give other commands.
    """
    InitialState.unpack(initial_state).begin(scheduler)
    return [scheduler.handle(event) for event in events]


def was_killed(store: StoreReader) -> bool:
    """Whether the latest run did not come to its end, and so its latest polls are not stored.

    For who alone may write.
    """
    return bool(store.state(_UNDER_WAY))


class Journal:
    """Writes a run into a store, each turn in one transaction, from `async with` on.

    A turn is committed during the next one, but never two at a time: a slow disk holds up the turn
    after the next, not the fetches. `initial` gives what the run begins with, see
    `InitialState.pack`, when that is written; without it the events cannot be re-run and are not
    kept. A commit that fails ends the loop that takes what is `incoming`, at once. `settings` are
    kept with the run, which began at `begun_at` (UTC seconds; None: now). `states` has, by name,
    what makes the bytes of all else that is kept now and then, the more seldom the more there are.
    `on_progress` is told of every turn after its commit. While another program has the store locked
    it waits, which `say` is told. `StoreError` if the store cannot be written.
    """

    def __init__(
        self,
        store: StoreJournal,
        scheduler: Scheduler,
        initial: Callable[[], bytes] | None,
        *,
        settings: Mapping[str, object],
        clock: Clock,
        stop: asyncio.Event,
        incoming: Incoming,
        on_progress: Callable[[Progress], None],
        say: Callable[[str], None],
        states: Mapping[str, Callable[[], bytes]] = MappingProxyType({}),
        begun_at: float | None = None,
    ) -> None:
        self._store = store
        self._scheduler = scheduler
        self._initial = initial
        self._settings = settings
        self._begun_at = clock() if begun_at is None else begun_at
        self._stop = stop
        self._incoming = incoming
        self._on_progress = on_progress
        self._say = say
        self._log_room: float = math.inf
        if initial is None:
            self._log_room = 0
        elif isinstance(scheduler.policy, RequestController):
            self._log_room = _MOST_EVENTS
        self._untold: set[int] = set()
        """Pages that were polled, of which nothing learned is written yet."""
        self._scheduler_state = _Seldom(
            scheduler.state, clock, stop, share=_SCHEDULER_SHARE, period=_SCHEDULER_PERIOD
        )
        self._other_states = {
            name: _Seldom(make, clock, stop, size=len) for name, make in states.items()
        }
        # One thread for all writes.
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="store")
        self._committed: asyncio.Future[None]
        self.commit_seconds = 0.0
        """What the latest commit took, with the wait for the writer and for locks."""

    async def __aenter__(self) -> Self:
        # Before the first poll, whose answer would wait for it.
        try:
            await self.write(self._begin_run)
        except BaseException:
            self._writer.shutdown()
            raise
        self._committed = asyncio.get_running_loop().create_future()
        self._committed.set_result(None)
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            await self._committed
        finally:
            self._writer.shutdown()

    async def record(self, turn: Progress) -> None:
        """Start to write a turn, with what was learned so far, after the one before is written."""
        batch = self._batch(turn)
        await self._committed
        self._committed = self._incoming.begin(self._commit(batch, turn))

    async def told(self) -> None:
        """Wait until all turns that were recorded are in the store, and were told."""
        await self._committed

    async def _commit(self, batch: Batch, turn: Progress) -> None:
        begun_at = monotonic()
        await self.write(self._store.commit, batch)
        self.commit_seconds = monotonic() - begun_at
        self._on_progress(turn)
        for report in turn.reports:
            report.release()

    async def write(self, call: Callable[..., T], *arguments: object) -> T:
        """What a method of the store gives, called by the one thread that writes.

        Waits while the store is locked, and as long as it gives no answer.
        """
        loop = asyncio.get_running_loop()
        tries_at_the_end = _TRIES_AT_THE_END
        waits = False

        def tell() -> None:
            nonlocal waits
            if not waits:
                waits = True
                self._say(f"the database has not answered for {_SILENT:g} s: polls wait for it")

        while True:
            slow = loop.call_later(_SILENT, tell)
            try:
                given = await loop.run_in_executor(self._writer, call, *arguments)
            except StoreBusyError as error:
                tries_at_the_end -= self._stop.is_set()
                if tries_at_the_end == 0:
                    raise
                if not waits:
                    waits = True
                    self._say(f"{error}; waiting for it")
            else:
                if waits:
                    self._say("the database is free again: going on")
                return given
            finally:
                slow.cancel()

    def _begin_run(self) -> None:
        self._store.prune_events(keep_runs=_RUNS_KEPT - 1)
        initial = None
        if self._initial is not None:
            initial = self._initial()
            if len(initial) > _LARGEST_STATE:
                initial, self._log_room = None, 0
        with self._store.together():
            self._store.start_run(self._begun_at, self._settings, initial)
            self._store.commit(Batch(states={_UNDER_WAY: b"yes"}))
        self._initial = None  # it is as large as what the run itself holds

    def _batch(self, turn: Progress) -> Batch:
        self._untold.update([one.page_id for one in turn.observations])
        for event in turn.events:
            if isinstance(event, Signalled):  # it counts until the page is polled
                self._untold.update(event.page_ids)
        learned = self._scheduler.policy.state_dict(sorted(self._untold)) if self._untold else None
        if learned:  # an awaited policy gives nothing yet
            self._untold.clear()
        states = {
            name: made
            for name, seldom in self._other_states.items()
            if (made := seldom()) is not None
        }
        if self._stop.is_set():
            states[_UNDER_WAY] = b""
        events = turn.events if self._log_room > 0 else ()
        self._log_room -= len(events)
        return Batch(
            events=events,
            polls=tuple([report.result for report in turn.reports]),
            learned=learned or None,
            scheduler=self._scheduler_state(),
            discovered=tuple(r.discovered for r in turn.reports if r.discovered is not None),
            states=states,
            remembered=turn.remembered,
        )


class _Seldom(Generic[T]):
    """Something to write, but not so often that it takes much time.

    `size` gives the bytes of what is large, `share` is the greatest one of the time, but no two are
    more than a `period` (seconds) apart if something is written and that does not take too much.
    """

    def __init__(
        self,
        make: Callable[[], T],
        clock: Clock,
        stop: asyncio.Event,
        *,
        size: Callable[[T], int] = lambda made: 0,
        share: float = _SHARE,
        period: float = math.inf,
    ) -> None:
        self._make = make
        self._share = share
        self._period = period
        self._size = size
        self._clock = clock
        self._stop = stop
        self._due = -math.inf

    def __call__(self) -> T | None:
        """What to write; None: not now, which is never so at the end."""
        asked_at = self._clock()
        if asked_at < self._due and not self._stop.is_set():
            return None
        made = self._make()
        takes = self._clock() - asked_at + self._size(made) / _BYTES_A_SECOND
        period = max(self._period, takes / _MOST_SHARE)
        self._due = asked_at + min(takes / self._share, period)
        return made
