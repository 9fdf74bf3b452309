"""`pollwise watch`: from a user's words to a running watch."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from pollwise.errors import InputError, StoreInUseError
from pollwise.fetch_settings import HeaderLine
from pollwise.insight.words import moment
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
from pollwise.live.loop import Progress, Watched
from pollwise.live.named_scopes import NamedScopes
from pollwise.live.opening import opened
from pollwise.live.recalling import recalling
from pollwise.live.reloading import ReadAgain, Reloading
from pollwise.live.requests import ChangeSettings, described
from pollwise.live.run_figures import BesideRun
from pollwise.live.session import Besides, Run, Session, fetching, run_until_stopped
from pollwise.live.shortfalls import ShortfallTeller
from pollwise.live.taking_requests import RequestTaker
from pollwise.live.unwatched_hosts import unwatched_hosts_told
from pollwise.policies.awaited import AwaitedPolicy
from pollwise.policies.base import LookingAhead
from pollwise.quiet_hours import QuietHours
from pollwise.scheduler.scheduler import Scheduler
from pollwise.settings import WatchSettings, latest_settings, told_alone
from pollwise.store import Place, Store
from pollwise.store.place import db_option
from pollwise.store.records import NewPage
from pollwise.types import Outcome, Page
from pollwise.web.descriptors import make_room, most_polls
from pollwise.web.hubs import Hubs
from pollwise.web.own_headers import OwnHeaders, read_own_headers
from pollwise.web.rendering.browser import require_renderable
from pollwise.web.traffic import Traffic
from pollwise.web.wishes import wished_page

if TYPE_CHECKING:
    from pollwise.live.listening.listener import Listener
    from pollwise.live.listening.subscriber import Subscriber
    from pollwise.live.shards import SharedBudget, WatchedShard
    from pollwise.notify.receivers import Receiver

_FEW = 20
"""Polls at a time that are fewer than people expect."""

__all__ = [
    "Ahead",
    "MakeDisplay",
    "NextPoll",
    "WatchRun",
    "WatchingDisplay",
    "ahead",
    "named_pages",
    "watch_pages",
]


@dataclass(frozen=True, slots=True)
class NextPoll:
    """The page that will most likely be polled next, and in how many seconds.

    `host_is_polled`: its host has a poll under way, and `wait` is an estimate.
    """

    page_id: int
    wait: float
    host_is_polled: bool = False


@dataclass(frozen=True, slots=True)
class Ahead:
    """What a watch is about to do.

    `next_poll` is None while polls under way or rests after failures come first. So many
    `first_copies` are still to come. While it is `compiling`, nothing but these is polled.
    """

    next_poll: NextPoll | None
    first_copies: int = 0
    compiling: bool = False


class WatchingDisplay(Protocol):
    """Shows people what a watch finds."""

    def begin(
        self,
        *,
        first_copies: int,
        in_trouble: Iterable[int],
        ahead: Callable[[], Ahead],
        end: Callable[[], None],
    ) -> None:
        """A run begins, which `end` ends, from any thread; of so many pages there is no copy yet.

        `in_trouble` are the ids of those whose latest poll failed or found them gone. `ahead`,
        called while nothing else happens, tells what comes next.
        """

    def show(self, progress: Progress, watched: Mapping[int, Watched]) -> None:
        """Show what came of a turn; `watched` are all pages by id."""


@dataclass(frozen=True, slots=True)
class WatchRun:
    """What a run came to: the `changes` found, and how many of the `polls` had their page.

    That a page is gone, or back, is among the changes. Postponed polls do not count.
    """

    changes: int
    polls: int
    had: int


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
    read_again: ReadAgain | None = None,
    shard: "WatchedShard | None" = None,
) -> WatchRun:
    """Watch these pages and those of the database, until SIGINT or SIGTERM; what came of it.

    `told` are settings by name; the others stay as they were. The pages of `followed` lists come
    and go with their lines. `once`: until what the budget allows is spent, see `Once`. `secret` are
    headers that are not stored. `receivers` are told of changes, and so are those of the settings.
    `read_again` gives what the watch is told when SIGHUP asks for it: see `Reloading`.
    `may_be_empty`: pages may come later, and `say` is told if there was no database. `beside` gives
    contexts for the run, from what gives its figures. `shard` is what `db` is, if it is one; its
    budget holds instead of one that is told. `say`: see `Session`. `InputError` and `StoreError`
    come before anything is changed, but for requests that waited; later, a `StoreError` ends the
    run.
    """
    first = WatchSettings(**told_alone(told, db))
    reach = partial(_reach_outside, secret=secret, receivers=receivers, once=once)
    with ExitStack() as undo:
        # What was told is checked first; what it names may be out of reach, so before there is a
        # file.
        is_new = not Store.exists(db)
        outside = reach(first, undo=undo) if is_new else None
        listed = [page for one in followed for page in one.pages]
        empty = [one.path for one in followed if not one.pages]
        if not (pages or listed or may_be_empty) and is_new:
            if empty:
                raise InputError(f"{empty[0]} names no page: write one URL on each line")
            raise InputError(
                f"nothing to watch: no URL was given and there is no database {db};"
                " name pages, or a list of them with --file"
            )
        require_renderable([*pages, *listed])
        store = undo.enter_context(_opened(db, say) if shard is None else shard.open(say))
        if is_new and may_be_empty:  # its name may be a slip of the pen
            say(f"there was no database {db}: this is a new one, which watches pages")
        require_watch(store)
        if shard is not None:
            told = {name: value for name, value in told.items() if name != "budget"}
        settings = replace(watch_settings(store), **told)
        outside = outside or reach(settings, undo=undo)
        if shard is not None:
            store.change_settings({"budget": shard.budget.fair(store.totals().pages)})
        for carried in carry_out_waiting(store, time.time(), polls=False):
            say(described(carried.request, carried.effect))
        before = latest_settings(store)
        settings = replace(watch_settings(store), **told)  # a request may be for another budget
        for change in changes_of(before, settings):
            say(change)
        if not (pages or listed or may_be_empty) and store.totals().pages == 0:
            raise InputError(f"nothing to watch: {db} has no pages; name some")
        store.change_settings(settings.recorded())
        if changed := _add(store, [*pages, *listed]):
            say(changed)
        for path in empty:
            say(f"{path} names no page; its pages are watched as before")
        for one in followed:
            for carried in one.remove_missing(store, time.time(), followed):
                say(described(carried.request, carried.effect))
        for line in unused_shares(store):
            say(line)
        _forget_failures(store, outside.receivers)
        count = store.totals().pages
        if outside.listener is not None:
            say(f"listening for signals at {outside.listener.address}")
        make_room()
        if (polls := most_polls()) < _FEW:
            say(f"the limit on open files is low: {polls} polls at a time (see `ulimit -n`)")
        reloading = Reloading(read_again, say)
        with make_display(settings, count) as display:

            def begin(clock: LiveClock) -> Run[WatchRun]:
                settings = watch_settings(store)
                session = Session(store, settings, clock=clock, say=say, once=once)
                scopes = (own.page.scope for own in session.watched.values())
                for line in unwatched_hosts_told(settings, outside.own_headers, scopes):
                    say(line)
                if told_of_first := first_copies_told(session.watched.values(), settings):
                    say(told_of_first)
                return partial(
                    _watch,
                    session,
                    settings,
                    outside,
                    followed,
                    reloading,
                    display,
                    say,
                    beside,
                    None if shard is None else shard.budget,
                )

            return run_until_stopped(begin, say, reloading.ask)


def _opened(db: Place, say: Callable[[str], None]) -> Store:
    """`opened`; who is refused hears what can be done beside the process that has the database."""
    try:
        return opened(db, say)
    except StoreInUseError as error:
        raise StoreInUseError(
            f"{error}; beside a watch `pollwise add URL {db_option(db)}` gives it more pages,"
            f" `pollwise status {db_option(db)}` tells how it stands, and"
            f" `pollwise serve --no-polling {db_option(db)}` shows it"
        ) from error


async def _watch(
    session: Session,
    settings: WatchSettings,
    outside: "_Outside",
    followed: Sequence[FollowedList],
    reloading: Reloading,
    display: WatchingDisplay,
    say: Callable[[str], None],
    beside: Sequence[BesideRun],
    shared: "SharedBudget | None",
    stop: asyncio.Event,
) -> WatchRun:
    scopes = NamedScopes(own.page for own in session.watched.values())
    first_copies = sum(own.page.seen_at is None for own in session.watched.values())
    in_trouble = [
        page_id
        for page_id, own in session.watched.items()
        if own.outcome in (Outcome.FAILED, Outcome.GONE)
    ]
    incoming, listed = Incoming(), ListedPages()
    bell = Bell(session.store.path, incoming)
    traffic = Traffic()
    staffing = _Staffing(settings.quiet_hours(), session.clock, say)
    requests = RequestTaker(
        session.store,
        session.clock,
        bell=bell,
        incoming=incoming,
        scopes=scopes,
        say=say,
        followed=followed,
        reloading=reloading,
        listed=listed,
        on_settings=staffing.heed,
    )
    shortfalls = ShortfallTeller(
        session.scheduler,
        session.clock,
        budget=lambda: watch_settings(session.store).budget,
        say=say,
    )
    changes = polls = had = 0

    def show(progress: Progress, watched: Mapping[int, Watched]) -> None:
        nonlocal changes, polls, had
        seen = [report.result.observation for report in progress.reports]
        changes += sum(progress.happened(one) is not None for one in seen)
        outcomes = [one.outcome for one in seen]
        polls += sum(outcome is not Outcome.POSTPONED for outcome in outcomes)
        had += sum(outcome in (Outcome.CHANGED, Outcome.UNCHANGED) for outcome in outcomes)
        listed.note(progress, watched)
        if subscriber is not None:
            subscriber.note(progress, watched)
        display.show(progress, watched)
        shortfalls.note(progress)

    async with (
        recalling(session.store.path) as recall,
        fetching(settings, outside.own_headers)(
            session.clock,
            not_modified_cost=settings.not_modified_cost,
            given=scopes.given,
            given_plain=scopes.plain,
            allow_private=settings.allow_private,
            shared_scopes=scopes.shared,
            blocked_until=session.scheduler.host_blocked_until,
            recall=recall,
            freed=lambda event: incoming.put([event]),
            traffic=traffic,
        ) as poller,
    ):
        subscriber = _subscriber(session, settings, outside.listener, poller.hubs, incoming)
        loop = asyncio.get_running_loop()

        def end() -> None:
            with suppress(RuntimeError):  # the loop is closed: the run has ended
                loop.call_soon_threadsafe(stop.set)

        display.begin(
            first_copies=first_copies,
            in_trouble=in_trouble,
            ahead=lambda: ahead(session.scheduler, session.clock()),
            end=end,
        )
        await session.run(
            poller,
            stop,
            on_progress=show,
            staff=staffing,
            beside=[
                bell.beside,
                requests.beside,
                *_notices(session, outside.receivers, incoming, say),
                *_listening(session, outside.listener, subscriber, incoming),
                *_sharing(session, shared, incoming, bell),
            ],
            incoming=incoming,
            traffic=traffic,
            told_figures=beside,
        )
    return WatchRun(changes, polls, had)


class _Staffing:
    """How many polls may be under way now; `say` is told of quiet hours that begin or end."""

    def __init__(self, quiet: QuietHours, clock: Clock, say: Callable[[str], None]) -> None:
        self._quiet = quiet
        self._clock = clock
        self._say = say
        self._until: float | None = None

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
            self._quiet = QuietHours(request.quiet)


@dataclass(frozen=True, slots=True)
class _Outside:
    """What settings name that is outside of the database: own headers, all who are told of
    changes, and where others may tell of them.
    """

    own_headers: OwnHeaders
    receivers: Sequence["Receiver"] = ()
    listener: "Listener | None" = None


def _reach_outside(
    settings: WatchSettings,
    *,
    secret: Sequence[HeaderLine],
    receivers: Sequence["Receiver"],
    once: bool,
    undo: ExitStack,
) -> _Outside:
    """Read the files and variables that the settings name, and begin to listen.

    `undo` ends that. A run that is but `once` listens to nobody.
    """
    own_headers = read_own_headers(settings, secret)
    all_receivers: list[Receiver] = []
    if settings.notify or receivers:
        # Here, as few need what sends mail and the like.
        from pollwise.notify.receivers import receiver_of, require_own_names

        all_receivers = [*map(receiver_of, settings.notify), *receivers]
        require_own_names(all_receivers)
    listener = None
    if settings.listen and not once:
        # Here, as few need a server.
        from pollwise.live.listening.listener import open_listener

        listener = open_listener(settings)
        undo.callback(listener.socket.close)
    return _Outside(own_headers, all_receivers, listener)


def _forget_failures(store: Store, receivers: Sequence["Receiver"]) -> None:
    """Whoever is told of nothing any more does not fail any more."""
    names = {receiver.name for receiver in receivers}
    for stored in store.receivers():
        if stored.failures and stored.name not in names:
            store.save_receiver(replace(stored, failures=0, error=None))


def _notices(
    session: Session,
    receivers: Sequence["Receiver"],
    incoming: Incoming,
    say: Callable[[str], None],
) -> list[Besides]:
    """What tells receivers of changes beside a run; nothing if there are none."""
    if not receivers:
        return []
    from pollwise.live.notifying import notifying

    return [notifying(session.store, receivers, clock=session.clock, say=say, incoming=incoming)]


def _sharing(
    session: Session, shared: "SharedBudget | None", incoming: Incoming, bell: Bell
) -> list[Besides]:
    """What has a run keep to a budget that others share; nothing if it has its own."""
    if shared is None:
        return []
    return [shared.keeping(session.scheduler, incoming, session.clock, bell)]


def _subscriber(
    session: Session,
    settings: WatchSettings,
    listener: "Listener | None",
    hubs: Hubs | None,
    incoming: Incoming,
) -> "Subscriber | None":
    """What keeps feeds subscribed at their hubs; None: no hub could reach it."""
    if listener is None or hubs is None or not settings.public_url:
        return None
    from pollwise.live.listening.subscriber import Subscriber

    return Subscriber(
        session.store,
        session.clock,
        hubs=hubs,
        public_url=settings.public_url,
        incoming=incoming,
    )


def _listening(
    session: Session,
    listener: "Listener | None",
    subscriber: "Subscriber | None",
    incoming: Incoming,
) -> list[Besides]:
    """What lets others tell of changes beside a run; nothing if nobody may."""
    if listener is None:
        return []
    from pollwise.live.listening.listener import listening

    return [
        listening(listener, session.store, session.clock, incoming=incoming, subscriber=subscriber)
    ]


def ahead(scheduler: Scheduler, now: float) -> Ahead:
    """What comes next: a page in line for its host, or the one that the policy would name."""
    at = max(scheduler.budget_free_at, now)
    in_line = scheduler.next_in_line()
    first: tuple[float, int] | None = None
    policy = scheduler.policy
    page_id = policy.likely_next(at) if isinstance(policy, LookingAhead) else None
    if page_id is not None:
        first = scheduler.host_free_at(scheduler.scope_of(page_id), at), page_id
    if in_line is not None and (first is None or in_line[0] <= max(first[0], at)):
        first = max(in_line[0], at), in_line[1]
    next_poll = None
    if first is not None:
        is_polled = scheduler.host_is_polled(scheduler.scope_of(first[1]))
        next_poll = NextPoll(first[1], first[0] - now, is_polled)
    return Ahead(
        next_poll,
        scheduler.first_copies_left,
        isinstance(policy, AwaitedPolicy),
    )


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


def named_pages(urls: Sequence[str], *, render: bool | None = None) -> list[NewPage]:
    """The pages of a command line, whose lists do not take them away; `InputError` for no URL.

    `render`: see `Page`; None: not told.
    """
    return [replace(wished_page(url, render=render), listed_in="") for url in urls]
