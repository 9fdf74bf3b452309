"""One poll of one page of the live web: robots.txt, fetch, and a look for noise.

What an answer means is told in `pollwise.web.poll_reports`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Container, Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

from pollwise.errors import InputError, NoNetworkError, PostponedError
from pollwise.events import HostBlocked, HostFreed, HostPaced, Unanswered
from pollwise.sources.reading import LARGE, takes_long
from pollwise.sources.view import Parts, UnreadableError
from pollwise.store.records import PollResult
from pollwise.types import (
    Observation,
    Outcome,
    Page,
    PageMemory,
)
from pollwise.web.beside import Beside
from pollwise.web.deadlines import time_limit
from pollwise.web.fetcher import Fetcher, FetchResult, Now, follow_none
from pollwise.web.hubs import Hubs
from pollwise.web.judging import judged
from pollwise.web.noise.looks import Copy, found_nothing, is_due
from pollwise.web.own_network import OwnNetwork
from pollwise.web.polite_fetcher import APART, BegunFetch, PoliteFetcher
from pollwise.web.poll_reports import (
    Notice,
    PollReport,
    at_cost,
    hub_links,
    report_of_answer,
    report_of_content,
    report_of_failure,
    unanswered,
)
from pollwise.web.robots_rules import Rules
from pollwise.web.robots_txt import RobotsTxt
from pollwise.web.seeing import (
    NOTHING,
    Seen,
    look,
    read_beside,
    say_the_same,
    see,
    see_plainly,
)
from pollwise.web.stops import OVERLOADED, of_robots
from pollwise.web.urls import divided, origin_of, scope_of

__all__ = ["LONGEST_POLL", "BegunPoll", "Poller", "Recall", "WebPoller"]

T = TypeVar("T")

Recall = Callable[[int], Awaitable[Copy | None]]
"""Gives the latest version of a page that was stored, if any, by the page's id."""

LONGEST_POLL = 240.0
"""Seconds of a poll with all that it redirects to: less than the lease of the scheduler."""

_LARGE_LOOK = 16 * 1024
"""Bytes from which on three bodies are searched for noise beside the loop."""
_MANY_SCOPES = 10_000


class Poller(Protocol):
    """Carries out a poll."""

    def poll(self, page: Page, memory: PageMemory) -> Awaitable[PollReport]:
        """Poll a page whose latest report gave `memory` (empty: there is no copy yet).

        What goes wrong on the web is a FAILED observation, never an exception; `InputError` if
        `page.url` is no http or https URL.
        """
        ...


class WebPoller:
    """Polls pages by a fetcher, as far as robots.txt allows; see `poll_reports`.

    When a robots.txt asks for a crawl delay, or no longer asks for one, the first report after each
    reading of it (once a day and origin, and once in a new process) has a `HostPaced`. A failed
    poll costs as much as any other, even if nothing was fetched: a free one would be tried forever.
    With `follow_redirects` redirects are followed where robots.txt allows; without, as in
    collections, each request is a poll of its own, and bodies are compared by their text or their
    bytes alone, whatever they are. `several_origins` are the scopes that are known to have pages of
    several origins, such as http and https; others become known as pages are polled. `groups`: see
    `PoliteFetcher`. `hubs` is for those that its pages name, and `network` is what the fetcher
    knows of that of this machine. What is large, or not plain to read, is compared `beside` the
    loop (None: by a process of its own).

    Pages that are to be rendered are fetched by `rendering` (None: as all others), and cost what
    that took: a unit a request.

    With `recall`, a poll that found a change now and then fetches its page up to two times more, to
    find what is noise: see `pollwise.web.noise.looks`. Each fetch costs as much as a poll. `freed`
    is told of each of these polls before, as others may have its host until then. A change of a
    page with conditions is compared with the copy that `recall` gives, see `pollwise.web.judging`.
    """

    def __init__(
        self,
        fetcher: Fetcher,
        robots_txt: RobotsTxt,
        *,
        clock: Now,
        beside: Beside | None = None,
        not_modified_cost: float = 1.0,
        follow_redirects: bool = True,
        several_origins: Container[str] = (),
        recall: Recall | None = None,
        freed: Callable[[HostFreed], None] = lambda event: None,
        groups: Mapping[str, str] = MappingProxyType({}),
        rendering: Fetcher | None = None,
        hubs: Hubs | None = None,
        network: OwnNetwork | None = None,
    ) -> None:
        self.fetcher = fetcher
        self._at_once = fetcher if isinstance(fetcher, PoliteFetcher) else None
        self.hubs = hubs
        self.network = OwnNetwork() if network is None else network
        self._rendering = fetcher if rendering is None else rendering
        self.robots_txt = robots_txt
        self._beside = Beside() if beside is None else beside
        self._clock = clock
        self._not_modified_cost = not_modified_cost
        self._reads = follow_redirects
        self._may_follow = robots_txt.refusal if follow_redirects else follow_none
        self._several_origins = several_origins
        self._recall = recall
        self._freed = freed
        self._groups = groups
        # By scope, then by origin: until when the robots.txt told of last holds, and its crawl
        # delay.
        self._told: dict[str, dict[str, tuple[float | None, float]]] = {}
        self._kept = _MANY_SCOPES

    @cached_property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop in which it polls, all its life; to ask for that is a system call."""
        return asyncio.get_running_loop()

    def fetcher_for(self, *, render: bool) -> Fetcher:
        """What fetches pages that are to be rendered, or those that are not."""
        return self._rendering if render else self.fetcher

    def poll(self, page: Page, memory: PageMemory) -> Awaitable[PollReport]:
        """See `Poller.poll`."""
        try:
            begun = self._begun(page, memory)
        except Exception as error:  # for who waits: who calls may have begun others
            failed = asyncio.get_running_loop().create_future()
            failed.set_exception(error)
            return failed
        return self._polled(page, memory) if begun is None else begun

    def _begun(self, page: Page, memory: PageMemory) -> "BegunPoll | None":
        """The poll, begun without a task of its own; None: it needs one.

        As a rule a page is polled again and again, and answered "304 Not Modified". Then nothing is
        to be waited for but that.
        """
        if self._at_once is None or page.render:
            return None
        parts = divided(page.url)
        rules = self.robots_txt.known(parts.origin)
        if rules is None or not rules.allows(page.url):
            return None
        poll = BegunPoll(self, page, parts.origin, memory, rules, self._at_once)
        poll.fetch = self._at_once.begin(page.url, parts, memory, poll.hear)
        return None if poll.fetch is None else poll

    async def _polled(
        self,
        page: Page,
        memory: PageMemory,
        rules: Rules | None = None,
        begun: BegunFetch | None = None,
    ) -> PollReport:
        """The report of a poll; if its fetch was `begun`, under the rules of its origin."""
        self._origins(page)
        begun_at, ahead = asyncio.get_running_loop().time(), None
        if begun is not None:
            begun_at, ahead = begun.exchange.begun_at, begun.exchange.ahead
        ends_at = begun_at + LONGEST_POLL
        try:
            async with time_limit(ends_at, ahead=ahead):
                if rules is not None and begun is not None and self._at_once is not None:
                    result = await self._at_once.go_on(begun, memory, self._may_follow)
                else:
                    rules = await self.robots_txt.rules(page.url)
                    if not await self.robots_txt.decide(rules, page.url):
                        return self._refused(page, memory, rules)
                    fetcher = self.fetcher_for(render=page.render)
                    result = await fetcher.fetch(page.url, memory, may_follow=self._may_follow)
        except PostponedError as error:
            return self.postponed(page, memory, rules, error)
        except TimeoutError:
            return self.timed_out(page, memory)
        page = at_cost(page, result)
        with ExitStack() as place:
            place.callback(result.release)
            seen = NOTHING
            try:
                if result.error is None and result.status in (200, 203):
                    async with time_limit(ends_at):
                        seen = await self._seen(page, memory, result)
            except PostponedError as error:
                return self.postponed(page, memory, rules, error)
            except TimeoutError:
                return self.timed_out(page, memory)
            except (UnreadableError, InputError) as error:
                return self._unreadable(page, memory, rules, str(error))
            report = self.answered(page, memory, rules, result, seen)
            looks = self._recall is not None and report.result.version is not None
            if looks and is_due(seen.compared):
                report = await self._looked(page, memory, result, seen, report, ends_at)
            if page.notify_when and report.result.observation.outcome is Outcome.CHANGED:
                report = await self._judged(page, result, report, ends_at)
            place.pop_all()  # the report releases it
        return report

    async def _seen(self, page: Page, memory: PageMemory, result: FetchResult) -> Seen:
        """What the body is to the latest copy, which takes up to a second for a large one."""
        body, content_type, parts = result.body, result.content_type, Parts.of(page)
        if not self._reads:
            return await self._read(body, False, see_plainly, memory, body, content_type)
        long = takes_long(body, content_type, parts)
        return await self._read(body, long, see, memory, body, content_type, parts)

    async def _read(
        self,
        body: bytes,
        long: bool,
        function: Callable[..., T],
        *arguments: object,
        large: int = LARGE,
    ) -> T:
        """What a function makes of a body like this; beside the loop if it is large or `long`."""
        if len(body) < large and not long:
            return function(*arguments)
        return await read_beside(self._beside, function, *arguments)

    async def _looked(
        self,
        page: Page,
        memory: PageMemory,
        result: FetchResult,
        seen: Seen,
        report: PollReport,
        ends_at: float,
    ) -> PollReport:
        """The report of a poll, after a look for noise; as it was if that cannot be had.

        So it is if the look is cancelled, which is then still due.
        """
        assert self._recall is not None  # asked for by who calls
        cost, notices, compared = 0.0, report.notices, seen.compared
        bodies, told, parts = [result.body], result.content_type, Parts.of(page)
        long = takes_long(result.body, told, parts)
        polled_at = report.result.observation.polled_at
        self._freed(HostFreed(self._clock(), page.id, APART))
        with ExitStack() as places:
            try:
                async with time_limit(ends_at):
                    while len(bodies) < 3:
                        again = await self.fetcher_for(render=page.render).fetch(
                            page.url, PageMemory(), may_follow=self._may_follow, again=True
                        )
                        places.callback(again.release)
                        cost += at_cost(page, again).cost
                        notices += self._blocked(page, again, self._clock())
                        usable = again.error is None and again.status in (200, 203)
                        if not usable or again.content_type != told:
                            raise PostponedError("the page cannot be had again")
                        if len(bodies) == 1 and (
                            again.body == result.body  # as mostly: nothing is to be read for that
                            or await self._read(
                                *(again.body, long, say_the_same),
                                *(compared.memory, [*bodies, again.body], told, parts),
                                large=_LARGE_LOOK,
                            )
                        ):
                            compared = found_nothing(compared)
                            break
                        bodies.append(again.body)
                    else:
                        latest = await self._recall(page.id)
                        compared = await self._read(
                            *(result.body, long, look),
                            *(memory, compared, bodies, told, parts, latest),
                            large=_LARGE_LOOK,
                        )
            except (PostponedError, TimeoutError, UnreadableError):
                compared = found_nothing(compared)
            except asyncio.CancelledError:
                compared = seen.compared  # the run ends: what the poll found counts all the same
        looked = report_of_content(
            page, memory, result, replace(seen, compared=compared), polled_at
        )
        observation = looked.result.observation
        observation = replace(observation, cost=observation.cost + cost)
        poll = replace(looked.result, observation=observation)
        return replace(report, result=poll, reread=looked.reread, notices=notices)

    async def _judged(
        self, page: Page, result: FetchResult, report: PollReport, ends_at: float
    ) -> PollReport:
        """The report of a change, held back from notices if it meets no condition of the page.

        As it was if that cannot be said: rather one notice too many.
        """
        body, told, poll = result.body, result.content_type, report.result
        long = takes_long(body, told, Parts.of(page))
        with suppress(PostponedError, TimeoutError, UnreadableError, InputError):
            async with time_limit(ends_at):
                before = None if self._recall is None else await self._recall(page.id)
                if before is not None:  # which may be of another kind, and large
                    large = len(before.body) >= _LARGE_LOOK
                    long = long or large or takes_long(before.body, before.content_type or None)
                memory = poll.memory
                found = await self._read(
                    *(body, long, judged, page, memory.noise.masks, body, told),
                    *(before, poll.items, memory.told_number),
                    large=_LARGE_LOOK,
                )
                memory = replace(memory, told_number=found.told_number)
                poll = replace(poll, memory=memory, held_back=found.held_back, items=found.items)
                return replace(report, result=poll)
        return report

    def answered(
        self,
        page: Page,
        memory: PageMemory,
        rules: Rules,
        result: FetchResult,
        seen: Seen = NOTHING,
        *,
        origin: str | None = None,
    ) -> PollReport:
        """The report of a poll that got this answer, under the rules of its `origin` (None: that
        has to be found out).

        `seen` is what its body is to the latest copy.
        """
        now = self._clock()
        notices = self._paced(page, rules, now, origin)
        if result.status in OVERLOADED:
            notices += self._blocked(page, result, now)
        if result.unanswered:
            notices += (Unanswered(now, page.id),)
        report = report_of_answer(
            page,
            memory,
            result,
            seen,
            now,
            not_modified_cost=self._not_modified_cost,
            follows=self._may_follow is not follow_none,
        )
        answered_by = result.final_url if result.final_url != page.url else None
        links, tag = hub_links(result, seen), result.robots_tag
        is_plain = result.status == 304 and seen is NOTHING  # there is no body to be released
        if is_plain and not (notices or answered_by or tag) and links is None:
            return report
        return replace(
            report,
            notices=notices,
            robots_tag=tag,
            answered_by=answered_by,
            hub_links=links,
            left_out=seen.left_out,
            release=result.release,
        )

    def _unreadable(self, page: Page, memory: PageMemory, rules: Rules, error: str) -> PollReport:
        """The report of a poll whose content cannot be compared.

        Nothing is known of changes, and what is remembered stays, for when it can be again.
        """
        now = self._clock()
        return report_of_failure(page, memory, now, error, self._paced(page, rules, now))

    def _blocked(self, page: Page, result: FetchResult, now: float) -> tuple[Notice, ...]:
        if result.status not in OVERLOADED or not result.retry_after:
            return ()
        asks = scope_of(result.final_url)
        scope = page.scope if asks == scope_of(page.url) else asks
        return (HostBlocked(now, scope, now + result.retry_after),)

    def timed_out(self, page: Page, memory: PageMemory) -> PollReport:
        """The report of a poll that took longer than `LONGEST_POLL`."""
        why = f"no answer within {LONGEST_POLL:g} s, with all that is asked for besides"
        return report_of_failure(page, memory, self._clock(), why)

    def postponed(
        self, page: Page, memory: PageMemory, rules: Rules | None, why: PostponedError
    ) -> PollReport:
        """The report of a poll that could not be made.

        It costs as much as any other, as for a poll that failed. `rules`: None if not known.
        """
        now = self._clock()
        observation = Observation(page.id, now, Outcome.POSTPONED, cost=page.cost)
        notices = () if rules is None else self._paced(page, rules, now)
        report = PollReport(PollResult(observation, memory, error=str(why)), notices)
        return unanswered(report) if isinstance(why, NoNetworkError) else report

    def _refused(self, page: Page, memory: PageMemory, rules: Rules) -> PollReport:
        now = self._clock()
        origin = origin_of(page.url)
        if rules.unreachable is None:
            error = f"disallowed by {origin}/robots.txt"
            if rules.is_too_long(page.url):
                error = f"{origin}/robots.txt has too many rules for a URL as long as this"
            return report_of_failure(page, memory, now, error, self._paced(page, rules, now))
        error = of_robots(origin, rules.unreachable)
        # The rules are those of an origin, a block is that of a scope: another origin may answer.
        is_shared = page.scope in self._several_origins or page.scope in self._groups
        is_alone = not is_shared and len(self._origins(page)) == 1
        blocked = is_alone or rules.retry_after > 0
        until = HostBlocked(now, page.scope, rules.expires_at)
        report = report_of_failure(page, memory, now, error, (until,) if blocked else ())
        return unanswered(report) if rules.unanswered else report

    def _paced(
        self, page: Page, rules: Rules, now: float, origin: str | None = None
    ) -> tuple[Notice, ...]:
        origin = origin_of(page.url) if origin is None else origin
        origins = self._origins(page, origin)
        told, told_delay = origins[origin]
        if told == rules.expires_at:
            return ()
        origins[origin] = rules.expires_at, rules.crawl_delay
        if rules.crawl_delay == told_delay == 0:
            return ()
        # A scope has one pace: the longest delay that one of its origins (http, https) asks for.
        return (HostPaced(now, page.scope, max(delay for _, delay in origins.values())),)

    def _origins(
        self, page: Page, origin: str | None = None
    ) -> dict[str, tuple[float | None, float]]:
        """The row of `_told` for the scope of a page, with that of its origin."""
        scope = self._groups.get(page.scope, page.scope)
        origin = origin_of(page.url) if origin is None else origin
        origins = self._told.get(scope)
        if origins is None:
            if len(self._told) >= self._kept:
                self._forget_plain()
            origins = self._told[scope] = {}
        if origin not in origins:
            origins[origin] = (None, 0.0)
        return origins

    def _forget_plain(self) -> None:
        """Drop the scopes of one origin that wants no delay: nothing was told of them.

        Next time when twice as many as now are kept. Of the others a delay may have to be taken
        back, and another origin to be known of.
        """
        self._told = {
            scope: origins
            for scope, origins in self._told.items()
            if len(origins) > 1 or any(delay > 0 for _, delay in origins.values())
        }
        self._kept = max(_MANY_SCOPES, 2 * len(self._told))


class BegunPoll(asyncio.Future[PollReport]):
    """A poll whose fetch was begun at once: it ends with that, or goes on as a task.

    Cancelling it ends both.
    """

    __slots__ = (
        "_end_told",
        "_fetcher",
        "_memory",
        "_origin",
        "_page",
        "_poller",
        "_rules",
        "_task",
        "fetch",
    )

    def __init__(
        self,
        poller: WebPoller,
        page: Page,
        origin: str,
        memory: PageMemory,
        rules: Rules,
        fetcher: PoliteFetcher,
    ) -> None:
        super().__init__(loop=poller.loop)
        self._poller, self._fetcher = poller, fetcher
        self._page, self._origin, self._memory, self._rules = page, origin, memory, rules
        self.fetch: BegunFetch | None = None
        self._task: asyncio.Task[PollReport] | None = None
        self._end_told: Callable[[asyncio.Future[PollReport]], None] | None = None

    def tell_end(self, told: Callable[[asyncio.Future[PollReport]], None]) -> None:
        """Have this called as soon as the poll is over: a callback would wait for its turn in the
        event loop, which takes longer than all that is done with a plain answer.
        """
        self._end_told = told

    def _tell_end(self) -> None:
        if self._end_told is not None:
            self._end_told(self)

    def hear(self, result: FetchResult | None) -> None:
        """Make the report of a result; None: a task makes it."""
        poller, page, memory, rules = self._poller, self._page, self._memory, self._rules
        if result is None:
            rest = poller._polled(page, memory, rules, self.fetch)
            self._task = asyncio.ensure_future(rest)
            self._task.add_done_callback(self._take_over)
            return
        self.fetch = None  # it has this poll in turn
        try:
            report = poller.answered(page, memory, rules, result, origin=self._origin)
            self.set_result(report)
        except Exception as error:  # for who waits, as of any other poll
            self.set_exception(error)
        self._tell_end()

    def cancel(self, msg: Any = None) -> bool:
        """See `asyncio.Future`: what has its report already may still tell it."""
        if self._task is not None:
            return self._task.cancel(msg)
        self._end_fetch()
        if not super().cancel(msg):
            return False
        self._tell_end()
        return True

    def _take_over(self, task: asyncio.Task[PollReport]) -> None:
        if task.cancelled():
            self._end_fetch()
            super().cancel()
        elif (error := task.exception()) is not None:
            self.set_exception(error)
        else:
            self.set_result(task.result())
        self.fetch = None  # as in `hear`: the report may hold much
        self._tell_end()

    def _end_fetch(self) -> None:
        if self.fetch is not None and not self.done():
            self._fetcher.give_up(self.fetch)
            self.fetch = None
