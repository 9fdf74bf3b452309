"""Watching a shard of a split database: one that nobody polls, within a budget that all share."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

import uvloop

from pollwise.errors import InputError, StateError, StoreBusyError, StoreError, StoreInUseError
from pollwise.events import Budgeted
from pollwise.live.bell import Bell
from pollwise.live.clock import Clock
from pollwise.live.compiling import has_compiled, rehearse
from pollwise.live.control import ask, watch_settings
from pollwise.live.followed_list import FollowedList
from pollwise.live.incoming import Incoming
from pollwise.live.journal import Journal
from pollwise.live.opening import opened, waited_for
from pollwise.live.requests import AddPages, ChangeSettings, described
from pollwise.live.service_manager import service_manager
from pollwise.live.session import Besides
from pollwise.scheduler.budgets import BudgetText, parse_budget
from pollwise.scheduler.ledgers import (
    LEASE,
    confirm_allotment,
    leave_ledger,
    new_ledger,
    read_ledger,
    take_report,
)
from pollwise.scheduler.prices import Allotment, ShardReport
from pollwise.scheduler.scheduler import Scheduler
from pollwise.settings import WatchSettings, told_alone
from pollwise.store import Place, Store, split_database
from pollwise.store.place import PostgresDatabase, db_option
from pollwise.store.records import NewPage
from pollwise.store.store import require_postgres
from pollwise.units import DAY

if TYPE_CHECKING:
    from pollwise.store.postgres.shards import LedgerKeeper, SplitDatabase

__all__ = ["SharedBudget", "WatchedShard", "split_anew", "watched_shard"]

T = TypeVar("T")

_LOOK_EVERY = 1.0
"""Seconds between two looks for a shard that nobody polls."""
_REPORT_EVERY = 10.0
_ASK_EVERY = 1.0
"""Seconds between two reports at least, and of one who waits."""
_HELD_TO = 0.5
"""Seconds after which a run surely holds to a smaller budget."""
_SILENT = 3.0
_REHEARSED = 1000
"""Pages of a rehearsal."""
_IDLE = 1.0 / DAY
"""The rate of a shard without pages: that of a scheduler is above 0."""
_NEARLY = 0.99
"""Of its share by pages, which a shard has had then."""
_WORTH_A_CHANGE = 1.002
"""By this factor a rate has to rise for the scheduler to be told."""


class WatchedShard:
    """A shard that this process polls: the `place` of its store, and its `budget`."""

    def __init__(self, store: Store, budget: "SharedBudget") -> None:
        self.place = store.path
        self.budget = budget
        self._store: Store | None = store

    def open(self, say: Callable[[str], None]) -> Store:
        """The store for a run, which closes it; what was opened to have the shard comes first."""
        store, self._store = self._store, None
        return opened(self.place, say) if store is None else store

    def close(self) -> None:
        """Leave the shard to others, if no run began."""
        if self._store is not None:
            self._store.close()


@contextmanager
def watched_shard(
    db: Place,
    pages: Sequence[NewPage],
    followed: Sequence[FollowedList],
    told: Mapping[str, Any],
    *,
    once: bool = False,
    say: Callable[[str], None],
) -> Iterator[WatchedShard | None]:
    """A context with a shard of a split database for this process alone; None: `db` is not split.

    While all are polled it waits until one is not, which `say` is told, so that it takes over from
    a process that dies. The others are as for `watch_pages`: the pages go to their shards, and a
    budget is what all share from now on. `InputError` for what shards cannot do.
    """
    split = split_database(db)
    if split is None:
        yield None
        return
    if split.named is not None:
        raise InputError(
            f"{db} is shard {split.named} of a split database, of which each process takes a free"
            f" one by itself: name the whole, {db_option(split.place)}"
        )
    WatchSettings(**told_alone(told, db))
    if followed:
        raise InputError(
            f"{followed[0].name} cannot be followed, as {db} is split: `pollwise add --file` gives"
            " its pages to the shards"
        )
    if once:
        raise InputError(f"--once is for one process, and {db} is split: leave it out")
    if told.get("shares"):
        raise InputError(f"tags have no shares of the budget where a database is split, as {db} is")
    if pages:
        request = AddPages(tuple(pages))
        say(described(request, ask(db, request, make=True, say=say)))
    if (budget := told.get("budget")) is not None and budget != split.shared()[0]:
        ask(db, ChangeSettings(budget=budget), make=True, say=say)
        say(f"the budget of all shards is {budget} now")
    claimed = _claimed(split, split.free())
    if claimed is None:
        say(f"all {len(split.schemas)} shards of {db} are polled: waiting to take one over")
        claimed = uvloop.run(_waited(split))
    from pollwise.store.postgres.shards import LedgerKeeper

    number, store = claimed
    with (
        closing(LedgerKeeper(split)) as keeper,
        closing(WatchedShard(store, SharedBudget(number, keeper, say))) as own,
    ):
        with suppress(StoreBusyError):  # a server that is away: the part of the budget waits
            own.budget.begin()
        say(f"polling shard {number} of {len(split.schemas)}: {own.place}")
        yield own


def split_anew(db: Place, shards: int, budget: str | None) -> None:
    """Split a PostgreSQL database that holds nothing yet; `InputError` if that cannot be done.

    `budget` is what all shards share; None: that of a watch to which none is told.
    """
    if not isinstance(db, PostgresDatabase):
        raise InputError(f"{db} is a file: --db postgresql://USER@HOST/NAME can be split")
    told = WatchSettings().budget if budget is None else budget
    parse_budget(told)
    require_postgres()
    from pollwise.store.postgres.shards import SplitDatabase

    SplitDatabase.make(db, shards, budget=told, ledger=new_ledger())


def _claimed(split: "SplitDatabase", free: Iterable[int]) -> tuple[int, Store] | None:
    """The first of these shards that is still free, with its store; None: none is."""
    for number in sorted(free):
        with suppress(StoreInUseError):  # another process was faster
            return number, Store.open(split.shards[number])
    return None


async def _waited(split: "SplitDatabase") -> tuple[int, Store]:
    """The first shard that its process leaves, with its store."""
    manager = service_manager()
    async with manager.watched():
        manager.ready()
        manager.status("waiting to take a shard over")
        with _put_off_while_away():
            await asyncio.to_thread(_get_ready, split)
        free: set[int] = set()
        while True:
            await asyncio.sleep(_LOOK_EVERY)
            before, free = free, set()
            with _put_off_while_away():
                seen = split.free()
                # At the second look only: all are free for a moment when the server was restarted.
                if (claimed := _claimed(split, before & seen)) is not None:
                    return claimed
                free = seen


@contextmanager
def _put_off_while_away() -> Iterator[None]:
    """Give up what needs the server if that is away; it may be back at the next look.

    Who opens a store is told so by a `StoreError`, as that is not waited for elsewhere.
    """
    try:
        yield
    except StoreError as error:
        if not any(isinstance(one, StoreBusyError) for one in (error, error.__cause__)):
            raise


def _get_ready(split: "SplitDatabase") -> None:
    """Load what was compiled, which takes some seconds of those in which a shard is not polled."""
    with Store.open_readonly(split.shards[0]) as store:
        settings = watch_settings(store)
    if has_compiled(settings):
        rehearse(settings, _REHEARSED)


class SharedBudget:
    """What a shard may spend of the budget of all, by reports to their ledger (`ShardedBudget`).

    `say` is told what people should know. `StoreError` as ever.
    """

    def __init__(self, number: int, keeper: "LedgerKeeper", say: Callable[[str], None]) -> None:
        self._number = number
        self._keeper = keeper
        self._say = say
        self._rate = 0.0
        self._alone = 0.0
        self._until = 0.0
        self._has_had_its_share = False

    def begin(self) -> None:
        """Have the others spend what the process had that polled the shard before.

        It has ended, and this one will report once it can poll.
        """

        def change(ledger: str, budget: str, now: float) -> tuple[str, None]:
            return leave_ledger(ledger, budget, str(self._number)), None

        self._settle(change)
        self._keeper.announce()

    def fair(self, pages: int) -> str:
        """About what a shard with so many pages will have of the budget.

        Waits for the server, which people are told.
        """

        def change(ledger: str, budget: str, now: float) -> tuple[str, float]:
            return ledger, read_ledger(ledger, budget).fair(str(self._number), pages)

        share = waited_for(lambda: self._settle(change), self._say)
        return str(BudgetText(share, per_page=False))

    def keeping(
        self,
        scheduler: Scheduler,
        incoming: Incoming,
        clock: Clock,
        bell: Bell,
    ) -> Besides:
        """What has a run keep to it: reports, and the budget that each brings."""

        @asynccontextmanager
        async def context(journal: Journal) -> AsyncIterator[None]:
            self._tell(incoming, clock)  # the settings of a run have about what it will be
            keeping = incoming.begin(self._keep(scheduler, incoming, clock, bell))
            try:
                yield
            finally:
                keeping.cancel()
                await asyncio.wait([keeping])

        return context

    async def _keep(
        self, scheduler: Scheduler, incoming: Incoming, clock: Clock, bell: Bell
    ) -> None:
        begun_at, is_told, polls = time.monotonic(), False, scheduler.polls_begun
        while True:
            before, since, polls = self._rate, polls, scheduler.polls_begun
            try:
                await asyncio.to_thread(
                    self._hold_to, scheduler.price, scheduler.pages_known, polls - since
                )
            except StoreBusyError:  # its server is away, so soon nothing can be kept either
                if time.monotonic() > self._until:
                    self._rate = self._alone
            if before < self._rate <= before * _WORTH_A_CHANGE:
                self._rate = before
            self._tell(incoming, clock)  # also if it stays: settings may have changed it
            is_waiting = self._waits(scheduler.pages_known)
            if is_waiting and not is_told and time.monotonic() > begun_at + _SILENT:
                is_told = True
                self._say("waiting for its part of the budget, which the others have")
            if self._rate * _WORTH_A_CHANGE < before:
                # Others may have it only when they know that this one holds to less.
                await asyncio.sleep(_HELD_TO)
                with suppress(StoreBusyError):
                    await asyncio.to_thread(self._confirm)
            await asyncio.sleep(_ASK_EVERY)
            if not is_waiting:
                await bell.wait("budget", _REPORT_EVERY - _ASK_EVERY)

    def _tell(self, incoming: Incoming, clock: Clock) -> None:
        budget = BudgetText(max(self._rate, _IDLE), per_page=False).budget(1)
        incoming.put([Budgeted(clock(), budget.rate, budget.burst)])

    def _hold_to(self, price: float | None, pages: int, polls: int) -> None:
        """Report how the shard stands, and hold to what that brings."""
        report = ShardReport(
            str(self._number),
            price or None if self._has_had_its_share else None,
            capacity=float("inf"),
            pages=pages,
            rate=self._rate,
            alone=self._alone,
            polls=polls,
        )

        def change(ledger: str, budget: str, now: float) -> tuple[str, Allotment]:
            return take_report(ledger, budget, report, now)

        sent_at = time.monotonic()
        allotment = self._settle(change)
        self._rate, self._alone = allotment.rate, allotment.alone
        self._until = sent_at + allotment.seconds
        if pages and allotment.rate >= _NEARLY * allotment.fair:
            self._has_had_its_share = True
        if self._waits(pages):
            self._keeper.announce()

    def _confirm(self) -> None:
        """Tell that it holds to its allotment by now."""
        shard, rate, alone = str(self._number), self._rate, self._alone

        def change(ledger: str, budget: str, now: float) -> tuple[str, None]:
            return confirm_allotment(ledger, budget, shard, rate, alone), None

        self._settle(change)

    def _waits(self, pages: int) -> bool:
        """Whether a shard of so many pages has not had its share yet, which the others have."""
        return pages > 0 and not self._has_had_its_share

    def _settle(self, change: Callable[[str, str, float], tuple[str, T]]) -> T:
        """`LedgerKeeper.settle`; a ledger that is damaged begins anew."""

        def settled(ledger: str, budget: str, now: float) -> tuple[str, T]:
            try:
                return change(ledger, budget, now)
            except StateError as error:
                self._say(f"{error}: it begins anew, and nobody gets more for {LEASE:.0f} seconds")
                return change(new_ledger(now), budget, now)

        return self._keeper.settle(settled)
