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
from typing import Self, TypeVar

from pollwise.dashboard.stopped import Stopped
from pollwise.errors import PollwiseError
from pollwise.insight.changes import VersionDiff, read_diff
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
_SHARE = 0.2
"""The greatest share of the time to spend on reading snapshots."""
_UNUSED = 60.0
"""Seconds after which nobody seems to look any more."""
_LONGEST = 300.0
"""Seconds after which a snapshot is read anew though nothing was written: what is due depends on
the time."""
_PATIENCE = 0.2
"""Seconds that a view waits for a snapshot of now, where another one is at hand."""
_PATIENCE_AFTER_ASKING = 2.0
_JUST = 3.0
"""Seconds for which whoever asked for something waits for a snapshot that has it."""
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


class Answers:
    """What is known of one database; use it with `async with`.

    While somebody looks, a snapshot is read whenever the database has changed, in a thread and in
    at most a fifth of the time. `beside_run`: what was learned is read once the run has compiled
    what that needs. `figures` are what the process that polls told last; None: no process does, as
    far as is known; `stopped` says why, if it is to go on. Nothing but a defect ends the task
    `reading`. `StoreError` if the database cannot be read.
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
        self._snapshot: Snapshot | None = None
        self._status: Status | None = None
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
        return self

    async def __aexit__(self, *_: object) -> None:
        self.reading.cancel()
        await asyncio.wait([self.reading])
        for readers in (self._readers, self._looker):
            readers.close()
        for threads in (self._askers, self._comparer):
            threads.shutdown(wait=False, cancel_futures=True)

    async def snapshot(self) -> Snapshot:
        """What is known of the database; of a while ago, where reading it all takes long.

        `GettingReadyError` as long as it is read for the first time, and the error of reading it if
        it could never be read.
        """
        self._used_at = time.monotonic()
        if self._snapshot is None or await self._written_now() != self._written:
            renewed = self._renewed
            self._wanted.set()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._patience()):
                    await renewed.wait()
        if self._snapshot is None:
            if self._is_ending:
                raise OverloadedError("the server is about to end")
            raise self._error or GettingReadyError(
                f"{self.db} is being read for the first time: ask again in some seconds"
            )
        return self._snapshot

    async def status(self) -> Status:
        """How the pages of the snapshot stand; without the forecast, which takes long."""
        await self.snapshot()
        assert self._status is not None
        return self._status

    def _patience(self) -> float:
        """Seconds to wait for a snapshot of now: whoever changed something wants to see it."""
        if self._snapshot is None:
            return _FIRST_PATIENCE
        was_just_asked = time.monotonic() < self._asked_at + _JUST
        patience = _PATIENCE_AFTER_ASKING if was_just_asked else _PATIENCE
        return patience if self._snapshot.seconds < patience else 0.0  # it would be in vain

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
        known = self._snapshot
        return News(self._count, 0 if known is None else known.latest_change)

    async def wait_for_news(self, seconds: float) -> bool:
        """Wait so long, or until there is something to look at anew; False: this is about to end.

        Who waits is taken to look.
        """
        self._used_at = time.monotonic()
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
            try:
                seconds = await self._renew()
            except PollwiseError as error:
                _log.warning("answers stay as they were: %s", error)
                self._error = error
                self._tell()
                seconds = _LOOK_EVERY
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds / _SHARE - seconds):
                    await self._is_changed_here.wait()
            self._is_changed_here.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_EVERY):
                    await self._wanted.wait()

    async def _renew(self) -> float:
        """Read a snapshot if there is another one to be read; the seconds that it took."""
        is_used = self._wanted.is_set() or time.monotonic() < self._used_at + _UNUSED
        self._wanted.clear()
        if not is_used:
            return 0.0
        written = await self._written_now()
        is_learned = not self._beside_run or has_compiled(WatchSettings())
        state = written, is_learned
        begun_at = time.monotonic()
        is_old = begun_at > self._read_at + _LONGEST
        if not is_old and state == (self._written, self._is_learned):
            return 0.0
        prepared = await asyncio.to_thread(_prepared, self.db, learned=is_learned)
        (self._snapshot, self._status), (self._written, self._is_learned) = prepared, state
        self._read_at = time.monotonic()
        self.tell()
        return self._read_at - begun_at

    def tell(self) -> None:
        """Say that there is something to look at anew."""
        self._count += 1
        self._tell()

    def _tell(self) -> None:
        renewed, self._renewed = self._renewed, asyncio.Event()
        renewed.set()


def _prepared(db: Place, *, learned: bool) -> tuple[Snapshot, Status]:
    """A snapshot of which views are made at once, however many pages there are."""
    with Store.open_readonly(db) as store, store.snapshot():
        snapshot = snapshot_of(store, db, learned=learned)
        status = status_of(snapshot, store, foreseen=False)
    snapshot.table.rows(limit=1)
    if snapshot.known is not None:
        snapshot.hosts.rows(limit=1)
    return snapshot, status
