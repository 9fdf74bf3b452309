"""Which polls may start now: the budget, politeness, leases and back-off around a policy.

The policy says which page is worth a poll; the scheduler says whether it may be polled. Events go
in, commands come out (`pollwise.events`). It reads no clock, opens no socket and draws no random
numbers, so the same events always give the same commands.
"""

import json
import math
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from types import MappingProxyType
from typing import NamedTuple, cast

from pollwise.checks import require, require_object
from pollwise.errors import InputError
from pollwise.events import (
    Added,
    Aimed,
    Budgeted,
    Command,
    Event,
    HostBlocked,
    HostFreed,
    HostPaced,
    Linked,
    PolicyReady,
    Poll,
    Polled,
    Removed,
    Rescored,
    SavedUp,
    Signalled,
    Staffed,
    Tick,
    Together,
    Updated,
    WakeAt,
)
from pollwise.policies.awaited import AwaitedPolicy, renew
from pollwise.policies.base import Chooser, HostPriced, Pausing, Policy, Priced, Sharing, Signalling
from pollwise.policies.collecting.request_controller import RequestController
from pollwise.scheduler.back_offs import BackOffs
from pollwise.scheduler.bounds import BoundedPages, Bounds
from pollwise.scheduler.capacity import Shortfall, WantedPage, look_for_shortfall, shortfall_of
from pollwise.scheduler.cell_rate import CellRate
from pollwise.scheduler.event_checks import check_event, check_page
from pollwise.scheduler.first_copies import FirstCopies
from pollwise.scheduler.hosts import Hosts
from pollwise.scheduler.overdue import OverduePages
from pollwise.scheduler.politeness import Turn
from pollwise.scheduler.saved_state import read_state
from pollwise.types import Budget, Observation, Outcome, Page
from pollwise.units import HOUR, WEEK

__all__ = ["Scheduler"]

_MOST_PASSED_OVER = 16
"""Pages that a call passes over, because they cannot be polled now, for each `_PAUSE` that has
passed since the call before."""
_MOST_HELD = 256
"""Pages that one call holds back because they were polled too lately."""
_MOST_PAUSES = 16.0
"""Pauses that count at most; one counts always."""
_AWAITED = HOUR
"""Seconds after which an overdue page that waits for its first copy anyway is looked at again."""
_PAUSE = 0.01
"""Seconds after which to go on when one call passed over so many pages: time must move, or a
caller that obeys `WakeAt` would do nothing else."""


class _Terms(NamedTuple):
    """What the scheduler needs of a page."""

    scope: str
    cost: float
    weight: float
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Lease:
    """A poll under way, of a page as it was when the poll began."""

    page: _Terms
    rates: tuple[CellRate, ...]
    """What it was counted in."""
    started_at: float
    expires_at: float
    looks: bool = False
    """It has its answer and looks for noise, while others have its host."""


_NO_BOUNDS = Bounds()


class Scheduler:
    """Carries out a policy under a budget: events in, commands out.

    *Budget.* See `CellRate`. The real cost, known when the poll ends, corrects the position. At the
    start nothing has been saved up: the first poll starts with the first event, then one every
    1/rate seconds.

    *First copies.* With `first_copies`, pages without a copy are polled once at this rate, those of
    the largest weight first, before the policy is told of them. If the rate is above that of the
    budget they do not wait for the budget, and count in it only while there are no other pages;
    else it is that of the budget which holds for them, and they come before all others.

    *Politeness.* Each scope (`Page.scope`; pages without one are free) gets one poll at a time, and
    between the end of one and the start of the next at least `crawl_delay` seconds pass, or as many
    as the host asked for (`HostPaced`, at most `longest_pace`); none starts before a `HostBlocked`
    has ended. A poll that waits before it fetches its page again (`HostFreed`) lets others have the
    host meanwhile, as far as there is time. Pages that are selected while their host is busy wait
    in line for it; when it is free a policy that is a `Chooser` says which one is polled, else it
    is the first. Once `line` pages wait, the others go back to the policy. With a short line chance
    decides which page finds room, and some hardly ever do, unless the policy itself chooses among
    the pages of a host.

    *Groups and limits.* Hosts that `groups` names share the scope that it gives them. `limits` has,
    by scope, the most polls a second: those of one scope are that far apart, whatever they cost.
    One that took more than it was to cost, as its page was fetched again, counts as so many more. A
    limit is no promise that there will be as many.

    *Staffing.* `Staffed` bounds the polls under way; before the first there is no bound.

    *Leases.* A poll that was not observed within `lease` seconds counts as failed. A late
    observation is still taken in.

    *Postponed polls.* A page whose poll was POSTPONED may be selected again after `retry_after`
    seconds, and after twice as long each time that it is postponed again, up to an hour. That
    counts neither against it nor against its host, but the poll takes its cost from the budget:
    free ones could be tried without end.

    *Failures.* A page that FAILED or is GONE rests, first for `retry_after` seconds, at most for
    `retry_ceiling` (seconds; default: a week); see `BackOffs`. It is never given up for good.

    *A policy that is not ready.* With an `AwaitedPolicy` only first copies and pages that are
    overdue are polled, until `PolicyReady`.

    *Bounds.* No page is polled sooner after its latest poll than its bounds allow; one that is
    overdue is polled ahead of the policy's choice, as far as budget, politeness and back-off allow;
    see `Bounds` and `BoundedPages`. One that is paused is not polled; what was learned of it stays.

    `policy` must be without pages: they come as `Added`. `Linked`, `Rescored` and `Aimed` need
    a `RequestController`. `InputError` for a budget or an option out of its range.
    """

    def __init__(
        self,
        policy: Policy,
        budget: Budget,
        *,
        lease: float = 300.0,
        crawl_delay: float = 1.0,
        longest_pace: float = HOUR,
        retry_after: float = 60.0,
        retry_ceiling: float = WEEK,
        line: int = 64,
        first_copies: Budget | None = None,
        bounds: Bounds = _NO_BOUNDS,
        groups: Mapping[str, str] = MappingProxyType({}),
        limits: Mapping[str, float] = MappingProxyType({}),
    ) -> None:
        require_object("Scheduler: policy", policy, Policy, "a policy, such as BayesianIndex()")
        demand = "a Budget, such as Budget(rate=0.1): cost units a second"
        require_object("Scheduler: budget", budget, Budget, demand)
        require("Scheduler: lease", lease, lease > 0, "above 0")
        fits = 0 <= crawl_delay < math.inf
        require("Scheduler: crawl_delay", crawl_delay, fits, "finite and at least 0")
        require("Scheduler: longest_pace", longest_pace, longest_pace >= 0, "at least 0")
        fits = 0 < retry_after < math.inf
        require("Scheduler: retry_after", retry_after, fits, "finite and above 0")
        fits = retry_after <= retry_ceiling < math.inf
        demand = f"finite and at least retry_after ({retry_after})"
        require("Scheduler: retry_ceiling", retry_ceiling, fits, demand)
        require("Scheduler: line", line, line >= 0, "at least 0")
        self.policy: Policy = policy
        self._cell_rate = CellRate(budget)
        self._first_copies = None if first_copies is None else FirstCopies(first_copies)
        self._hosts = Hosts(
            crawl_delay=crawl_delay,
            longest_pace=longest_pace,
            line=line,
            limits=limits,
            choose=self._best,
        )
        self._groups = groups
        self._back_offs = BackOffs(retry_after, retry_ceiling)
        self._bounds = BoundedPages(bounds, budget.rate)
        self._named = OverduePages()
        self._lease = lease
        self._now = -math.inf
        self._asked_at = -math.inf
        self.saved_at = -math.inf
        """When the loaded state was saved; -inf: none was loaded."""
        self.polls_begun = 0
        """Those of this scheduler, not of the one whose state was loaded."""
        self._pages: dict[int, _Terms] = {}
        # All leases are equally long, and time never falls: the first one expires first.
        self._leases: OrderedDict[int, _Lease] = OrderedDict()
        # Those of pages that the policy has not leased, as they were overdue.
        self._unselected: set[int] = set()
        # When pages were signalled, since their latest answer.
        self._signalled: dict[int, float] = {}
        # Those told last; None: none was told yet.
        self._shares: tuple[tuple[str, float], ...] | None = None
        # As they were loaded, until the policy has some.
        self._group_prices: dict[str, float] = {}
        self._staff = math.inf

    @property
    def budget(self) -> Budget:
        """The budget; a new one holds from the next poll on."""
        return self._cell_rate.budget

    @budget.setter
    def budget(self, budget: Budget) -> None:
        self._cell_rate.budget = budget
        self._bounds.rate = budget.rate

    def change_budget(self, budget: Budget) -> None:
        """Set a budget that holds from now on: after a raise, nobody waits at the old rate."""
        if math.isfinite(self._now):
            self._cell_rate.change(budget, self._now)
        self.budget = budget

    @property
    def bounds(self) -> BoundedPages:
        """The bounds of the pages, to be read."""
        return self._bounds

    @property
    def in_flight(self) -> int:
        """The number of polls under way, those of pages removed meanwhile included."""
        return len(self._leases)

    def handle(self, event: Event) -> list[Command]:
        """Take in an event; the polls to start now, and last when to send a `Tick`.

        An event with an earlier time than the one before counts as simultaneous with it. Ids that
        are unknown, pages that are watched already and repeated observations are ignored; so is an
        observation of a poll before the one under way, which compares with the same copy and tells
        more. `InputError`, with nothing taken in but the time, for a time or cost that is not
        finite, a page whose polls cost nothing, a relevance that is not from 0 to 1, or links or
        shares that the policy cannot take.
        """
        check_event(event)
        together = event.events if isinstance(event, Together) else (event,)
        for one in together:
            self._require_fitting_policy(one)
        if self._now == -math.inf:
            self.begin(event.now)
        self._now = now = max(self._now, event.now)
        for one in together:
            self._note(one, now)
        self._expire(now)
        if rested := self._back_offs.rested(now, self._pages):
            self.policy.observe(rested)
        self._release(now)
        polls, ask_at = self._start_polls(now)
        ends = (self._first_expiry(), self._back_offs.first_end, self._bounds.first_release)
        return [*polls, WakeAt(min(ask_at, *ends))]

    def begin(self, now: float) -> None:
        """Let the run begin at `now`, at the latest with the first event.

        Nothing was saved up before. See also `set_back`.
        """
        self._now = now
        self.set_back(now)
        self._cell_rate.begin(now)
        if self._first_copies is not None:
            self._first_copies.rate.begin(now)
        self._bounds.begin(now, self._back_offs.rest)

    def set_back(self, now: float) -> bool:
        """If what was loaded was saved later than `now`, by a clock that was ahead, set it back.

        It is as if no time had passed since. Whether it was so; for before the first event, which
        does the same.
        """
        ahead = self.saved_at - now
        if ahead <= 0:
            return False
        self._cell_rate.next_at -= ahead
        self._hosts.set_back(ahead)
        self._back_offs.set_back(ahead)
        self.saved_at = now
        return True

    def state(self) -> str:
        """What must survive a restart, as JSON: the budget's position, hosts, back-offs, prices.

        Leases and pages are not part of it. Takes time in proportion to hosts and pages.
        """
        next_at = self._cell_rate.next_at
        now = self._now if math.isfinite(self._now) else self.saved_at
        return json.dumps(
            {
                "rate": self.budget.rate,
                "now": now if math.isfinite(now) else None,
                "next_at": next_at if math.isfinite(next_at) else None,
                "hosts": self._hosts.state(self._now),
                "limits": self._hosts.limits_state(),
                "answers_in": self._hosts.answers_state(),
                "back_offs": self._back_offs.state(),
                "group_prices": self._told_group_prices() or self._group_prices,
                "host_prices": self._told_host_prices(),
            }
        )

    @property
    def budget_free_at(self) -> float:
        """From when on the budget allows the next poll; -inf: at once."""
        return self._cell_rate.next_at

    @property
    def pages_known(self) -> int:
        """The number of pages that are watched."""
        return len(self._pages)

    @property
    def price(self) -> float | None:
        """The price by which the policy selects; None: it has none."""
        price = self.policy.price if isinstance(self.policy, Priced) else math.nan
        return price if math.isfinite(price) else None

    def count_hosts(self) -> tuple[int, int]:
        """How many politeness scopes are known, and at how many of them pages wait in line."""
        return self._hosts.count()

    def next_in_line(self) -> tuple[float, int] | None:
        """When the first host with pages in line is free, and its first page; None: none waits."""
        return self._hosts.next_in_line()

    @property
    def first_copies_left(self) -> int:
        """The pages that wait for the first answer of all, those that are being polled included."""
        return 0 if self._first_copies is None else len(self._first_copies)

    @property
    def first_copies_wait_for_budget(self) -> bool:
        """Whether the budget holds for first copies, too, as it is the higher rate."""
        waiting = self._first_copies
        return waiting is None or waiting.rate.budget.rate <= self.budget.rate

    @property
    def first_copy_at(self) -> float:
        """When the next first copy may be asked for; infinite: none waits."""
        if not self._first_copies:
            return math.inf
        rate = self._cell_rate if self.first_copies_wait_for_budget else self._first_copies.rate
        return max(rate.next_at, self._first_copies.ready_at)

    @property
    def next_free_at(self) -> float:
        """When the first host is expected to be free for a page in line, or for a first copy."""
        return min(self._hosts.first_free, self.first_copy_at)

    def scope_of(self, page_id: int) -> str:
        """The politeness scope of a page; `LookupError` if it is not known."""
        return self._pages[page_id].scope

    def rests_until(self, page_id: int) -> float | None:
        """When a page whose latest poll failed is tried again at the earliest; None: any time."""
        return self._back_offs.until(page_id)

    def host_free_at(self, scope: str, now: float) -> float:
        """From when on pages of a scope may be polled; `now`: already."""
        return max(self._hosts.free_at(self._shared(scope), now), now)

    def host_is_polled(self, scope: str) -> bool:
        """Whether a poll of a scope is under way: when it is free is an estimate."""
        return self._hosts.is_polled(self._shared(scope))

    def host_limited_until(self, scope: str) -> float:
        """Until when the limit of a scope allows no other poll; -inf: it has none."""
        return self._hosts.limited_until(self._shared(scope))

    def host_blocked_until(self, scope: str) -> float:
        """Until when a scope wants to be left alone, also by the poll that is under way."""
        return self._hosts.blocked_until(self._shared(scope))

    def host_pace(self, scope: str) -> float:
        """The seconds between polls that a scope asked for; 0: it did not, as far as is known."""
        return self._hosts.pace_of(self._shared(scope))

    def host_turn(self, scope: str) -> Turn:
        """What a poll takes of the time of a scope."""
        return self._hosts.turn_of(self._shared(scope))

    def shortfall(self, budget: float | None = None) -> Shortfall | None:
        """What the hosts cannot take of a budget (cost units a second; None: the present one).

        None: they take it. Takes time in proportion to the pages.
        """
        rate = self.budget.rate if budget is None else budget
        return shortfall_of(self._wanted_pages(rate), self._hosts.turn_of, rate)

    def look_for_shortfall(self) -> Generator[None, None, Shortfall | None]:
        """What `shortfall()` returns, a few milliseconds at a time; events may come in between."""
        rate = self.budget.rate
        return look_for_shortfall(self._wanted_pages(rate), self._hosts.turn_of, rate)

    def _wanted_pages(self, rate: float) -> Iterator[WantedPage]:
        """The pages that are not paused; those that are removed meanwhile are passed over."""
        for page_id in list(self._pages):
            terms = self._pages.get(page_id)
            if terms is not None and not self._bounds.is_paused(page_id):
                apart, _ = self._bounds.intervals(page_id, rate)
                yield WantedPage(terms.scope, terms.cost, apart)

    def restore(self, pages: Iterable[Page], state: str | None) -> None:
        """Take up the pages of an earlier run, and its `state` if any, before the first event.

        No poll starts yet; what the policy learned can then be loaded into it. What the state says
        of pages that are not among them is dropped: they were removed since. Errors as for
        `load_state` and `Added`.
        """
        pages = list(pages)
        for page in pages:
            check_page("Added", page)
        if state is not None:
            self.load_state(state)
        self._add(pages)
        self._back_offs.keep_only(self._pages)

    def leave_out(self, page_ids: Iterable[int]) -> None:
        """Poll no such page in this run; before the first event.

        What the policy learned from them stays, and so does what they have to wait for in a later
        run. Unknown ids are ignored.
        """
        for page_id in page_ids:
            self._forget(page_id)

    def poll_first(self, page_ids: Iterable[int]) -> None:
        """Poll these pages once ahead of all others, in this order; before the first event.

        It is for pages of which the policy knows. Those that rest when their turn comes are left to
        it. Unknown ids are ignored.
        """
        for turn, page_id in enumerate(page_ids):
            if page_id in self._pages:
                self._named.add(self._pages[page_id].scope, turn, page_id)

    def load_state(self, text: str) -> None:
        """Put `state` back, before the first event; `StateError` if `text` is no state.

        The position in the budget is only kept if the budget has the same rate. See also `begin`.
        """
        saved = read_state(text, self.budget.rate)
        self._back_offs.load(saved.back_offs)
        self._hosts.load(saved.hosts, saved.limits, saved.answers_in)
        if saved.rate == self.budget.rate:
            self._cell_rate.next_at = saved.next_at
        self.saved_at = saved.saved_at
        self._group_prices = saved.group_prices
        if _is_sharing(type(self.policy)):
            self._sharing.load_group_prices(saved.group_prices)
        if isinstance(self.policy, HostPriced):
            self.policy.load_host_prices(saved.host_prices)

    def _told_group_prices(self) -> dict[str, float]:
        return self._sharing.group_prices() if _is_sharing(type(self.policy)) else {}

    def _told_host_prices(self) -> dict[str, float]:
        return self.policy.host_prices() if isinstance(self.policy, HostPriced) else {}

    def _add(self, pages: Iterable[Page]) -> None:
        new = {page.id: page for page in pages if page.id not in self._pages}
        for page in new.values():
            if (scope := self._shared(page.scope)) != page.scope:
                new[page.id] = replace(page, scope=scope)
        first = set()
        if self._first_copies is not None:
            first = {page.id for page in new.values() if self._is_never_polled(page)}
        # The policy comes first, as it may refuse them.
        self.policy.add([page for page in new.values() if page.id not in first])
        for page in new.values():
            self._pages[page.id] = _Terms(page.scope, page.cost, page.weight, page.tags)
            self._bounds.add(page, self._now)
            if self._first_copies is not None and page.id in first:
                self._first_copies.add(page)
                if page.paused:
                    self._first_copies.put_back(page.id, math.inf)

    def _update(self, pages: Sequence[Page], now: float) -> None:
        """Users want something else of pages; unknown ones are ignored."""
        known = {page.id: page for page in pages if page.id in self._pages}  # the last one holds
        others, retagged = [], {}
        paused: list[int] = []
        resumed: list[int] = []
        for page in known.values():
            before = self._pages[page.id]
            terms = before._replace(cost=page.cost, weight=page.weight)
            self._pages[page.id] = terms._replace(tags=page.tags)
            if page.tags != before.tags:
                retagged[page.id] = page.tags
            page = replace(page, scope=terms.scope)
            was_paused = self._bounds.is_paused(page.id)
            self._bounds.update(page, now)
            if self._first_copies is not None and page.id in self._first_copies:
                self._first_copies.update(page)
                # Otherwise it keeps waiting for as long as its latest poll was postponed.
                if page.paused != was_paused and page.id not in self._leases:
                    self._first_copies.put_back(page.id, math.inf if page.paused else now)
                continue
            if page.paused != was_paused:
                (paused if page.paused else resumed).append(page.id)
            if self._hosts.waits(page.id) and (page.paused or terms != before):
                self._hosts.leave(terms.scope, page.id)
                if page.paused:
                    self._bounds.hold(page.id, now)
            if terms != before:
                others.append(page)
        if retagged and _is_sharing(type(self.policy)):
            self._sharing.retag(retagged)
        if others:
            renew(self.policy, others)
        if (paused or resumed) and isinstance(self.policy, Pausing):
            self.policy.pause(paused)
            self.policy.resume(resumed)

    @property
    def _sharing(self) -> Sharing:
        """The policy, known to share the budget out."""
        return cast(Sharing, self.policy)

    def _share_out(self, shares: tuple[tuple[str, float], ...]) -> None:
        if shares == self._shares:
            return
        self._shares = shares
        if _is_sharing(type(self.policy)):
            tags = {page_id: terms.tags for page_id, terms in self._pages.items() if terms.tags}
            self._sharing.share_out(dict(shares), tags)

    def _is_never_polled(self, page: Page) -> bool:
        is_known = page.id in self._leases or self._back_offs.until(page.id) is not None
        return page.seen_at is None and not is_known

    def _hand_over(self, page_id: int) -> None:
        """Tell the policy of a page that was polled, if it was not told before."""
        page = None if self._first_copies is None else self._first_copies.end(page_id)
        if page is not None:
            self.policy.add([page])

    def _note(self, event: Event, now: float) -> None:
        match event:
            case Polled():
                self._observe(event.observations, now)
            case Added():
                self._add(event.pages)
            case Removed():
                self._remove(event.page_ids)
            case Updated():
                self._update(event.pages, now)
            case Budgeted():
                self._share_out(event.shares)
                self.change_budget(Budget(event.rate, event.burst))
            case Signalled():
                at = min(event.at, now)
                self._signalled |= {one: at for one in event.page_ids if one in self._pages}
                if isinstance(self.policy, Signalling):
                    self.policy.signal(event.page_ids, at)
            case SavedUp():
                self._cell_rate.save_up(event.seconds)
                self._bounds.each_once(now)
            case HostBlocked():
                self._hosts.block(self._shared(event.scope), event.until)
            case HostFreed():
                self._free_host(event.page_id, event.seconds, now)
            case HostPaced():
                scope = self._shared(event.scope)
                self._hosts.pace(scope, event.delay, now)
                self._host_freed(scope, now)
            case Linked():
                self._collecting.link(event.page_id, event.links)
            case Rescored():
                self._collecting.rescore(event.page_ids, event.relevances)
            case Aimed():
                self._collecting.aim(dict(event.terms))
            case Staffed():
                self._staff = event.polls
            case PolicyReady():
                if isinstance(self.policy, AwaitedPolicy):
                    self.policy = self.policy.arrived()
            case Tick() | Together():
                pass

    def _shared(self, scope: str) -> str:
        return self._groups.get(scope, scope)

    def _best(self, page_ids: Sequence[int], now: float) -> int:
        """Of the pages in line for a host, the one to poll."""
        policy = self.policy
        if not _is_chooser(type(policy)):
            return page_ids[0]
        return cast(Chooser, policy).best(page_ids, now)

    @property
    def _collecting(self) -> RequestController:
        """The policy, known to discover pages."""
        return cast(RequestController, self.policy)

    def _require_fitting_policy(self, event: Event) -> None:
        """`InputError` for an event that the policy cannot take."""
        kind = type(self.policy)
        if isinstance(event, Linked | Rescored | Aimed) and not _is_collecting(kind):
            raise InputError(
                f"{type(event).__name__}: {kind.__name__} discovers no pages;"
                " give the scheduler a policy that collects, such as Robot"
            )
        if isinstance(event, Budgeted) and event.shares and not _is_sharing(kind):
            raise InputError(
                f"Budgeted: {kind.__name__} gives no shares of the budget; leave them"
                " out, or give the scheduler a policy that does, such as BayesianIndex"
            )

    def _remove(self, page_ids: Iterable[int]) -> None:
        """Forget pages; a poll under way stays, as it keeps its host busy."""
        for page_id in page_ids:
            self._back_offs.end(page_id)
            self._forget(page_id)

    def _forget(self, page_id: int) -> None:
        if (terms := self._pages.pop(page_id, None)) is None:
            return
        if self._hosts.waits(page_id):
            self._hosts.leave(terms.scope, page_id)
        if self._first_copies is not None:
            self._first_copies.end(page_id)
        self._bounds.remove(page_id)
        self._unselected.discard(page_id)
        self._signalled.pop(page_id, None)
        self.policy.discard([page_id])

    def _observe(self, observations: Iterable[Observation], now: float) -> None:
        told = [observation for observation in observations if self._take_in(observation, now)]
        if told:
            self.policy.observe(told)

    def _take_in(self, observation: Observation, now: float) -> bool:
        """Take in an observation; whether the policy is to be told of it now."""
        page_id = observation.page_id
        lease = self._leases.get(page_id)
        if lease is not None:
            if observation.polled_at < lease.started_at:
                return False
            del self._leases[page_id]
            more = observation.cost / lease.page.cost - 1.0
            self._hosts.fetched_more(lease.page.scope, max(more, 0.0), now)
            self._end(lease, partial(self._hosts.poll_ended, again=more > 0), now)
            for rate in lease.rates:
                rate.correct(observation.cost - lease.page.cost, now)
            self._charge(page_id, lease, observation.cost)
        if page_id not in self._pages:
            return False
        if observation.outcome is Outcome.POSTPONED:
            if lease is not None:
                self._postpone(page_id, now + self._back_offs.postponed(page_id))
            return False
        self._hand_over(page_id)
        self._unselected.discard(page_id)
        if observation.outcome in (Outcome.FAILED, Outcome.GONE):
            if lease is not None:
                self._fail(observation, lease.started_at, now)
            elif not self._is_known_failure(observation):
                if self._hosts.waits(page_id):
                    self._hosts.leave(self._pages[page_id].scope, page_id)
                self._fail(observation, observation.polled_at, now)
            return False
        if self._back_offs.is_outdated(observation):
            return False
        self._back_offs.end(page_id)
        # That a page has changed as somebody said does not mean that it changes all the time.
        is_told = self._signalled.get(page_id, math.inf) <= observation.polled_at
        self._bounds.answered(page_id, observation.outcome, now, counts=not is_told)
        if is_told:
            del self._signalled[page_id]
        return True

    def _postpone(self, page_id: int, until: float) -> None:
        self._bounds.postponed(page_id, until)
        if self._first_copies is not None and page_id in self._first_copies:
            is_paused = self._bounds.is_paused(page_id)
            self._first_copies.put_back(page_id, math.inf if is_paused else until)
        elif page_id not in self._unselected:
            self.policy.defer([page_id], until)
        self._unselected.discard(page_id)

    def _is_known_failure(self, failure: Observation) -> bool:
        """Whether a failure of a poll that was not asked for tells nothing new.

        It may be told again, or late: when its lease ran out, it was counted already.
        """
        until = self._back_offs.until(failure.page_id)
        return until is not None and failure.polled_at < until

    def _fail(self, failure: Observation, started_at: float, now: float) -> None:
        until = self._back_offs.failed(failure, started_at, now)
        self._bounds.failed(failure.page_id, now, until)

    def _free_host(self, page_id: int, seconds: float, now: float) -> None:
        """Let others have the host of a page whose poll waits for so many seconds."""
        lease = self._leases.get(page_id)
        if lease is None or lease.looks:
            return
        if self._hosts.look_begun(lease.page.scope, seconds, now):
            self._leases[page_id] = replace(lease, looks=True)
            self._host_freed(lease.page.scope, now)

    def _end(self, lease: _Lease, tell: Callable[[str, float], None], now: float) -> None:
        """Tell the host that its poll was answered or lost."""
        scope = lease.page.scope
        (self._hosts.look_ended if lease.looks else tell)(scope, now)
        self._host_freed(scope, now)

    def _host_freed(self, scope: str, now: float) -> None:
        free_at = self._hosts.free_at(scope, now)
        self._bounds.host_freed(scope, free_at)
        self._named.look_again(scope, free_at)
        if self._first_copies is not None:
            self._first_copies.look_again(scope, free_at)

    def _charge(self, page_id: int, lease: _Lease, cost: float) -> None:
        """Tell a policy that shares the budget out what a poll took of it."""
        if self._cell_rate in lease.rates and _is_sharing(type(self.policy)):
            self._sharing.spend(page_id, cost)

    def _expire(self, now: float) -> None:
        """Count the polls whose leases have run out as failed."""
        while self._first_expiry() <= now:
            page_id, lease = self._leases.popitem(last=False)
            self._end(lease, self._hosts.poll_lost, now)
            self._charge(page_id, lease, lease.page.cost)
            if page_id in self._pages:
                self._hand_over(page_id)
                self._unselected.discard(page_id)
                failure = Observation(page_id, now, Outcome.FAILED, cost=lease.page.cost)
                self._fail(failure, lease.started_at, now)

    def _release(self, now: float) -> None:
        """Let the policy have the pages again that it selected too soon."""
        for page_id, polled_at in self._bounds.released(now):
            if page_id not in self._leases:
                # To defer it would say that its host is busy.
                self.policy.observe([Observation(page_id, polled_at, Outcome.FAILED)])

    def _start_polls(self, now: float) -> tuple[list[Poll], float]:
        """Start as many polls as the budget allows; also when to ask the policy again."""
        pauses = min(max((now - self._asked_at) / _PAUSE, 1.0), _MOST_PAUSES)
        self._asked_at = now
        polls, first_copy_at = self._start_first_copies(now)
        passed_over = held = 0
        while now >= self._cell_rate.next_at:
            if len(self._leases) >= self._staff:
                return polls, math.inf
            page_id = self._unchosen(now, spare=False)
            if page_id is None:
                page_id = self._hosts.next_page(now)
            if page_id is None:
                if passed_over >= _MOST_PASSED_OVER * pauses or held == _MOST_HELD:
                    return polls, min(now + _PAUSE, first_copy_at)
                selection = self.policy.select(now, 1)
                if len(selection.page_ids) == 0:
                    page_id = self._unchosen(now, spare=True)
                    if page_id is None:
                        ask_at = min(
                            selection.wake_at,
                            self._hosts.first_free,
                            self._bounds.first_overdue,
                            self._named.first_free,
                        )
                        # With a time that has come, the caller would go round in circles.
                        ask_at = ask_at if ask_at > now else now + _PAUSE
                        return polls, min(ask_at, first_copy_at)
                else:
                    page_id = int(selection.page_ids[0])
                    if self._hold(page_id, now):
                        held += 1
                        continue
                    if not self._may_start(page_id, now):
                        passed_over += 1
                        continue
            if page_id in self._pages:
                self._start(page_id, now, (self._cell_rate,))
                polls.append(Poll(page_id))
        return polls, min(self._cell_rate.next_at, first_copy_at)

    def _start_first_copies(self, now: float) -> tuple[list[Poll], float]:
        """Start polls of pages never polled; also when to go on with these."""
        polls: list[Poll] = []
        waiting = self._first_copies
        if waiting is None:
            return polls, math.inf
        is_within_budget = self.first_copies_wait_for_budget
        rate = self._cell_rate if is_within_budget else waiting.rate
        while now >= rate.next_at:
            if len(self._leases) >= self._staff:
                return polls, math.inf
            page_id = waiting.take(now, self._hosts.free_at)
            if page_id is None:
                return polls, waiting.next_at
            rates: tuple[CellRate, ...] = (rate,)
            # Else the budget would be spent on a page that was polled a moment ago.
            has_no_other_page = len(waiting) == len(self._pages)
            if not is_within_budget and has_no_other_page and now >= self._cell_rate.next_at:
                rates = (rate, self._cell_rate)
            self._start(page_id, now, rates)
            polls.append(Poll(page_id))
        return polls, rate.next_at if waiting else math.inf

    def _ahead(self, now: float, *, spare: bool) -> int | None:
        """A page that was named, or else one that is overdue; see `BoundedPages.take_overdue`."""

        def free_at(scope: str) -> float:
            return self._hosts.free_at(scope, now)

        while (page_id := self._named.take(now, free_at)) is not None:
            rests_until = self._back_offs.until(page_id)
            if page_id in self._pages and (rests_until is None or rests_until <= now):
                return page_id
        return self._bounds.take_overdue(now, free_at, spare=spare)

    def _unchosen(self, now: float, *, spare: bool) -> int | None:
        """A page to poll ahead of the policy's choice, which may not know of that."""
        while True:
            page_id = self._ahead(now, spare=spare)
            if page_id is None:
                return None
            if page_id in self._leases:
                self._bounds.postponed(page_id, self._leases[page_id].expires_at)
                continue
            if self._first_copies is not None and page_id in self._first_copies:
                self._bounds.postponed(page_id, now + _AWAITED)
                continue
            waits = self._hosts.waits(page_id)
            if waits:
                self._hosts.leave(self._pages[page_id].scope, page_id)
            if not waits and not self._bounds.is_held(page_id):
                self._unselected.add(page_id)
            return page_id

    def _hold(self, page_id: int, now: float) -> bool:
        """Hold a selected page back if it was polled too lately; whether it was."""
        known = page_id in self._pages and page_id not in self._leases
        if not known or self._bounds.earliest(page_id) <= now:
            return False
        self._bounds.hold(page_id, now)
        return True

    def _may_start(self, page_id: int, now: float) -> bool:
        """Whether a selected page can be polled now; if not, it waits in line or is deferred."""
        page = self._pages.get(page_id)
        if page is None:
            raise InputError(
                f"the policy selected page {page_id}, which the scheduler does not know;"
                " hand over a policy without pages, and send the pages as Added"
            )
        self._unselected.discard(page_id)
        rests_until = self._back_offs.until(page_id)
        waits = page_id in self._leases or self._hosts.waits(page_id)
        if waits or (rests_until is not None and rests_until > now):
            # After a restart, or if it was removed and added again. The policy treats it as leased
            # until the poll or the rest ends.
            return False
        free = self._hosts.free_at(page.scope, now)
        if free <= now:
            return True
        if not self._hosts.join(page.scope, page_id, free):
            self.policy.defer([page_id], self._hosts.turn_away(page.scope, now))
        return False

    def _start(self, page_id: int, now: float, rates: tuple[CellRate, ...]) -> None:
        """Lease a page to a poll, which is counted in these rates."""
        self.polls_begun += 1
        page = self._pages[page_id]
        for rate in rates:
            rate.spend(page.cost, now)
        self._leases[page_id] = _Lease(page, rates, now, now + self._lease)
        self._hosts.poll_begun(page.scope, now)
        if self._cell_rate in rates:
            self._bounds.started(page_id)

    def _first_expiry(self) -> float:
        return next(iter(self._leases.values())).expires_at if self._leases else math.inf


@cache
def _is_sharing(kind: type[Policy]) -> bool:
    """Whether policies of a class give shares of the budget; it takes long to find out."""
    return issubclass(kind, Sharing)


@cache
def _is_collecting(kind: type[Policy]) -> bool:
    """Whether policies of a class discover pages; it takes long to find out."""
    return issubclass(kind, RequestController)


@cache
def _is_chooser(kind: type[Policy]) -> bool:
    """Whether policies of a class choose among pages; it takes long to find out."""
    return issubclass(kind, Chooser)
