"""What the views and the API answer from: a snapshot that is kept fresh, and readers beside it."""

import asyncio
import logging
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Self, TypeVar

from pollwise.dashboard.pacing import Pacing
from pollwise.dashboard.stopped import Stopped
from pollwise.errors import PollwiseError
from pollwise.insight.changes import VersionDiff, read_diff
from pollwise.insight.found import Found, found_of
from pollwise.insight.snapshot import Snapshot, snapshot_of
from pollwise.insight.status import Status, status_of
from pollwise.live.compiling import has_compiled
from pollwise.live.control import ask, signal_pages
from pollwise.live.requests import Effect, Request
from pollwise.live.run_figures import RunFigures
from pollwise.search.query_processor import OverloadedError
from pollwise.settings import WatchSettings
from pollwise.store import Place, Store
from pollwise.store.readers import Readers

__all__ = ["Answers", "GettingReadyError", "News"]

_THREADS = 4
_ASKERS = 4
_MOST_COMPARISONS = 8
_LARGEST_COMPARED = 2**19
"""Bytes."""
_LOOK_EVERY = 0.5
_AFTER_AN_ERROR = 2.0
_UNUSED = 60.0
"""Seconds after which nobody seems to look any more."""
_LONGEST = 300.0
"""Seconds after which a snapshot is read anew though nothing was written: what is due depends on
the time."""
_PATIENCE = 0.2
"""Seconds that a view waits for a snapshot of now, where another one is at hand."""
_PATIENCE_AFTER_ASKING = 2.0
"""Seconds after asking for something, up to which views wait for a snapshot that has it."""
_FIRST_PATIENCE = 3.0
"""Seconds that a view waits for the first snapshot."""

_log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class News:
    """Something to look at anew: `snapshot` counts the snapshots and what else was made of them,
    `latest_change` is the number of the latest change that is known.
    """

    snapshot: int
    latest_change: int


class GettingReadyError(PollwiseError):
    """The database was not read yet, which takes a while for very many pages."""


class _Read(NamedTuple):
    """A snapshot, what views tell of it, and the changes that the latest day brought up to it."""

    snapshot: Snapshot
    status: Status
    found: Found | None


class Answers:
    """What is known of one database; use it with `async with`.

    While somebody looks, a snapshot is read whenever the database has changed, as often as its
    `Pacing` allows. `beside_run`: what was learned is read once the run has compiled what that
    needs; until that is loaded, later snapshots go without. `figures` are what the process that
    polls told last; None: no process does, as far as is known; `stopped` says why, if it is to go
    on. Nothing but a defect ends the task `reading`: who asks for a snapshot gets that error then.
    `StoreError` if the database cannot be read.
    """

    def __init__(self, db: Place, *, beside_run: bool = False) -> None:
        self.db = db
        self._beside_run = beside_run
        self.figures: RunFigures | None = None
        self.stopped: Stopped | None = None
        self._readers = Readers(db, _THREADS)
        self._looker = Readers(db, 1)
        # Of its own: whoever asks may wait for ten seconds, and would hold up the views.
        self._askers = ThreadPoolExecutor(_ASKERS, thread_name_prefix="asker")
        self._comparer = ThreadPoolExecutor(1, thread_name_prefix="comparer")
        self._comparisons = 0
        self._newest: _Read | None = None
        self._pacing = Pacing()
        self._is_loaded = False
        self._loading: asyncio.Task[None] | None = None
        self._error: PollwiseError | None = None
        self._written = -1
        self._is_learned = False
        self._read_at = -math.inf
        self._asked_at = -math.inf
        self._is_ending = False
        self._count = 0
        self._renewed = asyncio.Event()
        self._wanted = asyncio.Event()
        self._is_changed_here = asyncio.Event()
        self._used_at = time.monotonic()
        self.reading: asyncio.Task[None]

    async def __aenter__(self) -> Self:
        self.reading = asyncio.create_task(self._keep_fresh())
        self.reading.add_done_callback(lambda _: self.end())
        return self

    async def __aexit__(self, *_: object) -> None:
        tasks = [self.reading, *([] if self._loading is None else [self._loading])]
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        for readers in (self._readers, self._looker):
            readers.close()
        for threads in (self._askers, self._comparer):
            threads.shutdown(wait=False, cancel_futures=True)

    async def snapshot(self, *, oldest: float = math.inf, patience: float = 0.0) -> Snapshot:
        """What is known of the database; of a while ago, where reading it all takes long.

        For one of now instead of one that is `oldest` seconds old it waits up to `patience`
        seconds. `GettingReadyError` as long as it is read for the first time, and the error of
        reading it if it could never be read.
        """
        return (await self._latest(oldest, patience)).snapshot

    async def status(self) -> Status:
        """How the pages of the snapshot stand; without the forecast, which takes long."""
        return (await self._latest()).status

    async def overview(self) -> tuple[Snapshot, Status, Found | None]:
        """A snapshot, its status, and the changes found in the day up to it (None: no copies)."""
        return await self._latest()

    async def _latest(self, oldest: float = math.inf, patience: float = 0.0) -> _Read:
        self._used_at = time.monotonic()
        if self._newest is None or await self._written_now() != self._written:
            before, error = self._newest, self._error
            self._wanted.set()
            with suppress(TimeoutError):
                async with asyncio.timeout(max(self._patience(), self._more(oldest, patience))):
                    # Others may have news, too.
                    while self._newest is before and self._error is error and not self._is_ending:
                        await self._renewed.wait()
        if self.reading.done():
            self.reading.result()
        if self._newest is None:
            if self._is_ending:
                raise OverloadedError("the server is about to end")
            raise self._error or GettingReadyError(
                f"{self.db} is being read for the first time: ask again in some seconds"
            )
        return self._newest

    def _patience(self) -> float:
        """Seconds to wait for a snapshot of now: whoever changed something wants to see it."""
        if self._newest is None:
            return _FIRST_PATIENCE
        left = self._asked_at + _PATIENCE_AFTER_ASKING - time.monotonic()
        patience = max(left, _PATIENCE)
        return patience if self._newest.snapshot.seconds < patience else 0.0  # it would be in vain

    def _more(self, oldest: float, patience: float) -> float:
        """The `patience`, if the snapshot is too old."""
        is_old = self._newest is None or time.time() - self._newest.snapshot.read_at > oldest
        return patience if is_old else 0.0

    @property
    def snapshots(self) -> int:
        """The number of the latest news; see `News`."""
        return self._count

    async def compare(self, url: str, before: int | None, after: int | None) -> VersionDiff:
        """What differs between two versions: see `read_diff`. One after the other, as each may take
        seconds; `OverloadedError` where many wait, `TooLargeError` for more than 512 KiB.
        """
        if self._comparisons >= _MOST_COMPARISONS:
            raise OverloadedError("too many comparisons at once: ask again in a moment")
        self._comparisons += 1
        comparing = partial(read_diff, self.db, url, before, after, largest=_LARGEST_COMPARED)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._comparer, comparing)
        finally:
            self._comparisons -= 1

    async def check(self) -> None:
        """`StoreError` if the database can no longer be read."""
        await self._written_now()

    async def read(self, call: Callable[[Store], T]) -> T:
        """What a call gives for a store that it may read, in a thread."""
        return await self._readers.read(call)

    async def think(self, call: Callable[[Snapshot], T]) -> T:
        """What a call gives for the snapshot, in a thread."""
        return await asyncio.to_thread(call, await self.snapshot())

    async def signal(self, urls: Sequence[str]) -> None:
        """Say that pages have changed; errors are those of `signal_pages`."""
        await asyncio.get_running_loop().run_in_executor(self._askers, signal_pages, self.db, urls)

    async def ask(self, request: Request) -> Effect:
        """Have a request carried out; errors are those of `pollwise.live.control.ask`."""
        asking = partial(ask, self.db, request, make=False, say=_log.info)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._askers, asking)
        finally:
            self._asked_at = time.monotonic()
            self._is_changed_here.set()

    @property
    def news(self) -> News:
        """What there is to look at."""
        known = 0 if self._newest is None else self._newest.snapshot.latest_change
        return News(self._count, known)

    async def wait_for_news(self, seconds: float) -> bool:
        """Wait so long, or until there is something to look at anew; False: this is about to end.

        Who waits is taken to look.
        """
        self._used_at = time.monotonic()
        if not self._is_ending:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._renewed.wait()
        return not self._is_ending

    def end(self) -> None:
        """Let nobody wait any longer."""
        self._is_ending = True
        self._tell()

    async def _written_now(self) -> int:
        return await self._looker.read(lambda store: store.written())

    async def _keep_fresh(self) -> None:
        """Read snapshots as long as they are used, as often as that may take time."""
        while True:
            rest = 0.0
            try:
                await self._renew()
            except PollwiseError as error:
                _log.warning("answers stay as they were: %s", error)
                self._error = error
                self._tell()
                rest = _AFTER_AN_ERROR
            with suppress(TimeoutError):
                async with asyncio.timeout(max(rest, self._pacing.rest())):
                    await self._is_changed_here.wait()
            self._is_changed_here.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_EVERY):
                    await self._wanted.wait()

    async def _renew(self) -> None:
        """Read a snapshot if there is another one to be read."""
        is_used = self._wanted.is_set() or time.monotonic() < self._used_at + _UNUSED
        self._wanted.clear()
        if not is_used:
            return
        written = await self._written_now()
        can_learn = not self._beside_run or has_compiled(WatchSettings())
        # Loading takes long: whoever asks for the first snapshot waits, others go without it.
        has_it = self._is_loaded or (self._is_learned and written == self._written)
        is_learned = can_learn and (has_it or self._newest is None)
        state = written, is_learned
        is_old = time.monotonic() > self._read_at + _LONGEST
        if is_old or state != (self._written, self._is_learned):
            self._newest = await self._pacing.work(partial(_read, self.db, learned=is_learned))
            self._written, self._is_learned = state
            self._read_at = time.monotonic()
            self.tell()
        if can_learn and not self._is_loaded:
            self._load()

    def _load(self) -> None:
        """Have loaded what it needs to read what was learned, beside what is read meanwhile."""
        assert self._newest is not None
        snapshot = self._newest.snapshot
        if snapshot.known is not None:
            self._is_loaded = True
        elif (
            self._loading is None
            and snapshot.records
            and isinstance(snapshot.settings, WatchSettings)
        ):
            self._loading = asyncio.create_task(self._loaded())

    async def _loaded(self) -> None:
        with suppress(Exception):  # it comes again where it is told: when it is read next
            await asyncio.to_thread(_read, self.db, learned=True)
        self._is_loaded = True
        self._wanted.set()

    def tell(self) -> None:
        """Say that there is something to look at anew."""
        self._count += 1
        self._tell()

    def _tell(self) -> None:
        renewed, self._renewed = self._renewed, asyncio.Event()
        renewed.set()


def _read(db: Place, *, learned: bool) -> _Read:
    """A snapshot of which views are made at once, however many pages there are."""
    with Store.open_readonly(db) as store, store.snapshot():
        snapshot = snapshot_of(store, db, learned=learned)
        status = status_of(snapshot, store, foreseen=False)
        now = snapshot.read_at if snapshot.known is None else snapshot.known.now
        found = found_of(snapshot.records, store, until=now, days=1.0)
    snapshot.table.rows(limit=1)
    if snapshot.known is not None:
        snapshot.hosts.rows(limit=1)
    return _Read(snapshot, status, found)
