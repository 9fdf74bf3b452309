"""`pollwise watch`: from a user's words to a running watch."""

import asyncio
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from pollwise.errors import InputError, StoreInUseError
from pollwise.fetch_settings import HeaderLine
from pollwise.insight.words import count, moment
from pollwise.live.ahead import Ahead, ahead
from pollwise.live.bell import Bell
from pollwise.live.changed_settings import changes_of
from pollwise.live.clock import Clock, LiveClock
from pollwise.live.control import (
    carry_out_waiting,
    require_watch,
    unused_shares,
    watch_settings,
)
from pollwise.live.first_copies import first_copies_told
from pollwise.live.followed_list import FollowedList
from pollwise.live.incoming import Incoming
from pollwise.live.listed_pages import ListedPages
from pollwise.live.named_scopes import NamedScopes
from pollwise.live.opening import opened
from pollwise.live.outside import Outside, reach_outside
from pollwise.live.progress import Progress
from pollwise.live.recalling import recalling
from pollwise.live.reloading import Reloading
from pollwise.live.requests import ChangeSettings, described
from pollwise.live.run_figures import BesideRun
from pollwise.live.session import Run, Session, run_until_stopped
from pollwise.live.shortfalls import ShortfallTeller
from pollwise.live.taking_requests import RequestTaker
from pollwise.live.unwatched_hosts import unwatched_hosts_told
from pollwise.live.web_polling import fetching
from pollwise.quiet_hours import QuietHours
from pollwise.settings import WatchSettings, latest_settings, told_alone
from pollwise.store import Place, Store
from pollwise.store.place import command
from pollwise.store.records import NewPage
from pollwise.types import Outcome, Page
from pollwise.watched_pages import Watched
from pollwise.web.descriptors import make_room, most_polls
from pollwise.web.own_network import OwnNetwork
from pollwise.web.rendering.browser import require_renderable
from pollwise.web.traffic import Traffic

if TYPE_CHECKING:
    from pollwise.live.shards import SharedBudget, WatchedShard
    from pollwise.notify.receivers import Receiver

_FEW = 20
"""Polls at a time that are fewer than people expect."""
_FAILING_OR_GONE = (Outcome.FAILED, Outcome.GONE)
_MOST_ERRORS = 10_000
"""Pages whose latest errors are looked up at a start, which takes a fraction of a second."""

__all__ = [
    "MakeDisplay",
    "WatchRun",
    "WatchingDisplay",
    "watch_pages",
]


class WatchingDisplay(Protocol):
    """Shows people what a watch finds."""

    def begin(
        self,
        *,
        first_copies: int,
        failing_or_gone: Mapping[int, str | None],
        gave_none: Collection[int],
        ahead: Callable[[], Ahead],
        end: Callable[[], None],
        network_is_away: Callable[[], bool],
    ) -> None:
        """A run begins, which `end` ends, from any thread; of so many pages there is no copy yet.

        `failing_or_gone` are the ids of those whose latest poll failed or found them gone, with the
        error of that poll (None: gone; empty: not looked up); `gave_none` those of which there is
        no copy. `ahead`, called while nothing else happens, tells what comes next. See
        `OwnNetwork.is_away`.
        """

    def show(self, progress: Progress, watched: Mapping[int, Watched]) -> None:
        """Show what came of a turn; `watched` are all pages by id."""


@dataclass(slots=True)
class WatchRun:
    """What a run came to: the `changes` found, and how many of the `polls` had their page.

    That a page is gone, or back, is among the changes. Postponed polls do not count.
    """

    changes: int = 0
    polls: int = 0
    had: int = 0

    def note(self, progress: Progress) -> None:
        """Count a turn of the loop."""
        seen, outcomes = progress.observations, progress.outcomes
        if outcomes[Outcome.CHANGED] or progress.gone_or_back:  # else nothing happened
            self.changes += sum([progress.happened(one) is not None for one in seen])
        self.polls += len(seen) - outcomes[Outcome.POSTPONED]
        self.had += outcomes[Outcome.CHANGED] + outcomes[Outcome.UNCHANGED]


MakeDisplay = Callable[[WatchSettings, int], AbstractContextManager[WatchingDisplay]]
"""Makes the display of a watch with these settings, of so many pages."""


def watch_pages(
    pages: Sequence[NewPage],
    followed: Sequence[FollowedList],
    told: Mapping[str, Any],
    db: Place,
    *,
    make_display: MakeDisplay,
    say: Callable[[str], None],
    once: bool = False,
    secret: Sequence[HeaderLine] = (),
    receivers: Sequence["Receiver"] = (),
    may_be_empty: bool = False,
    beside: Sequence[BesideRun] = (),
    reloading: Reloading | None = None,
    shard: "WatchedShard | None" = None,
) -> WatchRun:
    """Watch these pages and those of the database, until SIGINT or SIGTERM; what came of it.

    `told` are settings by name; the others stay as they were. The pages of `followed` lists come
    and go with their lines. `once`: until what the budget allows is spent, see `Once`. `secret` are
    headers that are not stored. `receivers` are told of changes, and so are those of the settings.
    `reloading` takes in what the watch is told when SIGHUP asks for it.
    `may_be_empty`: pages may come later, and `say` is told if there was no database. `beside` gives
    contexts for the run, from what gives its figures. `shard` is what `db` is, if it is one; its
    budget holds instead of one that is told. `say`: see `Session`. `InputError` and `StoreError`
    come before anything is changed, but for requests that waited; later, a `StoreError` ends the
    run.
    """
    make_room()
    first = WatchSettings(**told_alone(told, db))
    reach = partial(reach_outside, secret=secret, receivers=receivers, once=once)
    all_pages = [*pages, *(page for one in followed for page in one.pages)]
    with ExitStack() as undo:
        # What was told is checked first; what it names may be out of reach, so before there is a
        # file.
        is_new = not Store.exists(db)
        outside = reach(first, undo=undo) if is_new else None
        if is_new and not (all_pages or may_be_empty):
            raise _nothing_to_watch(db, followed)
        require_renderable(all_pages)
        store = undo.enter_context(_opened(db, say) if shard is None else shard.open(say))
        if is_new and may_be_empty:  # its name may be a slip of the pen
            say(f"there was no database {db}: this is a new one, which watches pages")
        require_watch(store)
        if shard is not None:
            told = {name: value for name, value in told.items() if name != "budget"}
        outside = outside or reach(replace(watch_settings(store), **told), undo=undo)
        if shard is not None:
            store.change_settings({"budget": shard.budget.fair(store.count_pages())})
        settings = _agreed(store, told, say)
        # Of ten million that takes a second, so it is done once if no page comes or goes here.
        total = 0 if all_pages else store.count_pages()
        if not (all_pages or may_be_empty or total):
            raise InputError(f"nothing to watch: {db} has no pages; name some")
        store.change_settings(settings.recorded())
        _take_in(store, all_pages, followed, say)
        outside.forget_failures(store)
        total = store.count_pages() if all_pages else total
        if outside.listener is not None:
            say(f"listening for signals at {outside.listener.address}")
        if (polls := most_polls()) < _FEW:
            say(
                f"the limit on open files is low: {count(polls, 'poll')} at a time"
                " (see `ulimit -n`)"
            )
        with make_display(settings, total) as display:
            watch = _Watch(
                store,
                outside,
                display,
                say,
                followed=followed,
                reloading=reloading or Reloading(None, say),
                once=once,
                beside=beside,
                shared=None if shard is None else shard.budget,
            )
            return run_until_stopped(watch.begin, say, watch.reloading.ask, store.latest_time)


def _nothing_to_watch(db: Place, followed: Sequence[FollowedList]) -> InputError:
    if followed:
        return InputError(f"{followed[0].name} names no page: write one URL on each line")
    return InputError(
        f"nothing to watch: no URL was given and there is no database {db};"
        " name pages, or a list of them with --file"
    )


def _opened(db: Place, say: Callable[[str], None]) -> Store:
    """`opened`; who is refused hears what can be done beside the process that has the database."""
    try:
        return opened(db, say)
    except StoreInUseError as error:
        raise StoreInUseError(
            f"{error}; beside a watch `{command(db, 'add', 'URL')}` gives it more pages,"
            f" `{command(db, 'status')}` tells how it stands, and"
            f" `{command(db, 'serve', '--no-polling')}` shows it"
        ) from error


def _agreed(store: Store, told: Mapping[str, Any], say: Callable[[str], None]) -> WatchSettings:
    """The settings of the store with those that were told, after the requests that waited."""
    for carried in carry_out_waiting(store, time.time(), polls=False):
        say(described(carried.request, carried.effect))
    before = latest_settings(store)
    settings = replace(watch_settings(store), **told)
    for change in changes_of(before, settings):
        say(change)
    return settings


def _take_in(
    store: Store,
    pages: Sequence[NewPage],
    followed: Sequence[FollowedList],
    say: Callable[[str], None],
) -> None:
    """Watch these pages, too, but none that its list names no more."""
    if changed := _add(store, pages):
        say(changed)
    for one in followed:
        one.tell(say)
        if not one.pages:
            say(f"{one.name} names no page; its pages are watched as before")
    for one in followed:
        for carried in one.remove_missing(store, time.time(), followed):
            say(described(carried.request, carried.effect))
    for line in unused_shares(store):
        say(line)


@dataclass(frozen=True, slots=True)
class _Watch:
    """A watch that has all it needs; each time that its clock was set, it begins anew."""

    store: Store
    outside: Outside
    display: WatchingDisplay
    say: Callable[[str], None]
    followed: Sequence[FollowedList]
    reloading: Reloading
    once: bool
    beside: Sequence[BesideRun]
    shared: "SharedBudget | None"

    def begin(self, clock: LiveClock) -> Run[WatchRun]:
        """A run by this clock."""
        settings = watch_settings(self.store)
        session = Session(self.store, settings, clock=clock, say=self.say, once=self.once)
        watched = session.watched
        scopes = watched.count_by_scope()
        for line in unwatched_hosts_told(settings, self.outside.own_headers, scopes):
            self.say(line)
        never_polled = watched.count_by_scope(polled=False)
        if told_of_first := first_copies_told(len(watched), never_polled, settings):
            self.say(told_of_first)
        return partial(self._run, session, settings)

    async def _run(
        self, session: Session, settings: WatchSettings, stop: asyncio.Event
    ) -> WatchRun:
        watched = session.watched
        scopes = NamedScopes(
            plain=watched.count_by_scope(plain=True), secure=watched.count_by_scope(plain=False)
        )
        incoming, listed, traffic = Incoming(), ListedPages(), Traffic()
        bell = Bell(self.store.path, incoming)
        staffing = _Staffing(settings.quiet_hours(), session.clock, self.say)
        requests = RequestTaker(
            self.store,
            session.clock,
            bell=bell,
            incoming=incoming,
            scopes=scopes,
            say=self.say,
            followed=self.followed,
            reloading=self.reloading,
            listed=listed,
            on_settings=staffing.heed,
        )
        shortfalls = ShortfallTeller(
            session.scheduler,
            session.clock,
            budget=lambda: watch_settings(self.store).budget,
            say=self.say,
        )
        sharing = []
        if self.shared is not None:
            sharing = [self.shared.keeping(session.scheduler, incoming, session.clock, bell)]
        outcome = WatchRun()

        def show(progress: Progress, watched: Mapping[int, Watched]) -> None:
            outcome.note(progress)
            listed.note(progress, watched)
            if subscriber is not None:
                subscriber.note(progress, watched)
            self.display.show(progress, watched)
            shortfalls.note(progress)

        async with (
            recalling(self.store.path) as recall,
            fetching(settings, self.outside.own_headers)(
                session.clock,
                not_modified_cost=settings.not_modified_cost,
                given=scopes.given,
                given_plain=scopes.plain,
                allow_private=settings.allow_private,
                several_origins=scopes.several_origins,
                blocked_until=session.scheduler.host_blocked_until,
                recall=recall,
                freed=lambda event: incoming.put([event]),
                traffic=traffic,
            ) as poller,
        ):
            subscriber = self.outside.subscriber(session, settings, poller.hubs, incoming)
            self._begin_display(session, stop, poller.network)
            await session.run(
                poller,
                stop,
                on_progress=show,
                staff=staffing,
                beside=[
                    bell.beside,
                    requests.beside,
                    *self.outside.beside(session, subscriber, incoming),
                    *sharing,
                ],
                incoming=incoming,
                traffic=traffic,
                told_figures=self.beside,
            )
        return outcome

    def _begin_display(self, session: Session, stop: asyncio.Event, network: OwnNetwork) -> None:
        loop = asyncio.get_running_loop()

        def end() -> None:
            with suppress(RuntimeError):  # the loop is closed: the run has ended
                loop.call_soon_threadsafe(stop.set)

        watched = session.watched
        failing_or_gone = watched.with_outcome(_FAILING_OR_GONE)
        urls = [watched[page_id].page.url for page_id in failing_or_gone[:_MOST_ERRORS]]
        errors = {
            record.page.id: None if record.outcome is Outcome.GONE else record.error or ""
            for record in self.store.find_pages(urls).values()
        }
        self.display.begin(
            first_copies=watched.count_without_copy(),
            failing_or_gone=dict.fromkeys(failing_or_gone, "") | errors,
            gave_none=watched.with_outcome(_FAILING_OR_GONE, without_copy=True),
            ahead=lambda: ahead(session.scheduler, session.clock()),
            end=end,
            network_is_away=lambda: network.is_away,
        )


class _Staffing:
    """How many polls may be under way now; `say` is told of quiet hours that begin or end."""

    def __init__(self, quiet: QuietHours, clock: Clock, say: Callable[[str], None]) -> None:
        self._clock = clock
        self._say = say
        self._until: float | None = None
        self._take(quiet)

    def __call__(self) -> int:
        until = self._quiet.end(self._clock())
        if until != self._until:
            self._until = until
            self._say(
                "quiet hours are over"
                if until is None
                else f"quiet hours: no poll begins until {moment(until)} (UTC)"
            )
        return most_polls() if until is None else 0

    def heed(self, request: ChangeSettings) -> None:
        """Go by other quiet hours from now on, if they were asked for."""
        if request.quiet is not None:
            self._take(QuietHours(request.quiet))

    def _take(self, quiet: QuietHours) -> None:
        self._quiet = quiet
        if quiet.doubt is not None:
            self._say(quiet.doubt)


def _add(store: Store, pages: Sequence[NewPage]) -> str | None:
    """Watch these pages, too; a line that says of which watched ones something is changed."""
    anew = store.told_anew(pages)
    before = store.find_pages([page.url for page in anew])
    changed = [
        page.url
        for page in store.add_pages(anew, now=time.time())
        if page.url in before and _terms(before[page.url].page) != _terms(page)
    ]
    more = f" and {len(changed) - 1:,d} more" if len(changed) > 1 else ""
    told = "weight, cost or bounds are other ones than before, as was told now"
    return f"{changed[0]}{more}: {told}" if changed else None


def _terms(page: Page) -> tuple[float | None, ...]:
    return page.weight, page.cost, page.longest_interval, page.shortest_interval
