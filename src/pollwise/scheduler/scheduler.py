"""Which polls may start now: the budget, politeness, leases and back-off around a policy.

The policy says which page is worth a poll; the scheduler says whether it may be polled. Events go
in, commands come out (`pollwise.events`). It reads no clock, opens no socket and draws no random
numbers, so the same events always give the same commands.
"""

import math
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from pollwise.checks import require, require_object
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
    Polled,
    Removed,
    Rescored,
    SavedUp,
    Signalled,
    Staffed,
    Together,
    Unanswered,
    Updated,
    WakeAt,
)
from pollwise.page_columns import PageColumns, as_columns
from pollwise.policies.awaited import AwaitedPolicy
from pollwise.policies.base import HostPriced, Policy, Priced
from pollwise.scheduler.abilities import is_chooser, is_collecting, is_sharing
from pollwise.scheduler.back_offs import BackOffs
from pollwise.scheduler.bounds import BoundedPages, Bounds
from pollwise.scheduler.capacity import Shortfall, WantedPage, look_for_shortfall, shortfall_of
from pollwise.scheduler.cell_rate import CellRate
from pollwise.scheduler.dispatch import Dispatch
from pollwise.scheduler.event_checks import check_event, check_fit, check_pages
from pollwise.scheduler.first_copies import FirstCopies
from pollwise.scheduler.hosts import Hosts
from pollwise.scheduler.leases import Leases
from pollwise.scheduler.politeness import Turn
from pollwise.scheduler.saved_state import read_state, state_text
from pollwise.types import Budget, Page
from pollwise.units import HOUR, WEEK

__all__ = ["Scheduler"]

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
    `retry_ceiling` (seconds; default: a week); see `BackOffs`. It is never given up for good. If
    its poll was `Unanswered`, the rest ends once its host answers, or any host if the network was
    away.

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
        self._cell_rate = CellRate(budget)
        self._first_copies = FirstCopies(first_copies, self._cell_rate)
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
        self._leases = Leases(lease, self._hosts)
        self._dispatch = Dispatch(
            policy,
            budget=self._cell_rate,
            hosts=self._hosts,
            back_offs=self._back_offs,
            bounds=self._bounds,
            first_copies=self._first_copies,
            leases=self._leases,
        )
        self._now = -math.inf
        self.saved_at = -math.inf
        """When the loaded state was saved; -inf: none was loaded."""
        self._signalled: dict[int, float] = {}
        """As they were loaded, until the pages are known."""
        # As they were loaded, until the policy has some.
        self._group_prices: dict[str, float] = {}

    @property
    def policy(self) -> Policy:
        """The policy; another one must know of the same pages."""
        return self._dispatch.policy

    @policy.setter
    def policy(self, policy: Policy) -> None:
        self._dispatch.policy = policy

    @property
    def polls_begun(self) -> int:
        """Those of this scheduler, not of the one whose state was loaded."""
        return self._leases.begun

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
        return len(self._leases.by_page)

    def handle(self, event: Event) -> list[Command]:
        """Take in an event; the polls to start now, and last when to send a `Tick`.

        An event with an earlier time than the one before counts as simultaneous with it. Ids that
        are unknown, pages that are watched already and repeated observations are ignored; so is an
        observation of a poll before the one under way, which compares with the same copy and tells
        more. `InputError`, with nothing taken in but the time, for a time, cost or weight that is
        not finite, a page whose polls cost nothing, an id or weight below 0 of a new page, a
        relevance that is not from 0 to 1, or links or shares that the policy cannot take.
        """
        check_event(event)
        together = event.events if isinstance(event, Together) else (event,)
        for one in together:
            check_fit(one, self._dispatch.policy)
        if self._now == -math.inf:
            self.begin(event.now)
        self._now = now = max(self._now, event.now)
        for one in together:
            self._note(one, now)
        polls, wake_at = self._dispatch.start_polls(now)
        return [*polls, WakeAt(wake_at)]

    def begin(self, now: float) -> None:
        """Let the run begin at `now`, at the latest with the first event.

        Nothing was saved up before. See also `set_back`.
        """
        self._now = now
        self.set_back(now)
        self._cell_rate.begin(now)
        if self._first_copies.own_rate is not None:
            self._first_copies.own_rate.begin(now)
        self._bounds.begin(now, self._back_offs.rests())

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
        self._dispatch.set_back(ahead)
        self.saved_at = now
        return True

    def leave_hosts_alone(self, since: float) -> None:
        """Leave each host alone for its delay from a time on: any may have been asked until then.

        For after a run that was killed, as what is loaded does not know of its latest polls; before
        the first event.
        """
        self._hosts.leave_alone(since)

    def state(self) -> str:
        """What must survive a restart, as JSON: the budget's position, hosts, back-offs, prices.

        Leases and pages are not part of it. Takes time in proportion to busy hosts, and once a
        minute at most to all.
        """
        return state_text(
            rate=self.budget.rate,
            saved_at=self._now if math.isfinite(self._now) else self.saved_at,
            next_at=self._cell_rate.next_at,
            hosts=self._hosts,
            now=self._now,
            back_offs=self._back_offs,
            signalled=self._dispatch.pending_signals() or self._signalled,
            group_prices=self._told_group_prices() or self._group_prices,
            host_prices=self._told_host_prices(),
        )

    @property
    def budget_free_at(self) -> float:
        """From when on the budget allows the next poll; -inf: at once."""
        return self._cell_rate.next_at

    @property
    def pages_known(self) -> int:
        """The number of pages that are watched."""
        return len(self._dispatch.pages)

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
        return len(self._first_copies)

    @property
    def first_copies_wait_for_budget(self) -> bool:
        """Whether the budget holds for first copies, too, as it is the higher rate."""
        return self._first_copies.wait_for_budget

    @property
    def first_copy_at(self) -> float:
        """When the next first copy may be asked for; infinite: none waits."""
        return self._first_copies.first_poll_at

    @property
    def next_free_at(self) -> float:
        """When the first host is expected to be free for a page in line, or for a first copy."""
        return min(self._hosts.first_free, self.first_copy_at)

    def scope_of(self, page_id: int) -> str:
        """The politeness scope of a page; `LookupError` if it is not known."""
        return self._dispatch.pages[page_id].scope

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
        for page_id, terms in self._dispatch.pages.items():
            if not self._bounds.is_paused(page_id):
                apart, _ = self._bounds.intervals(page_id, rate)
                yield WantedPage(terms.scope, terms.cost, apart)

    def restore(self, pages: Sequence[Page], state: str | None) -> None:
        """Take up the pages of an earlier run, and its `state` if any, before the first event.

        No poll starts yet; what the policy learned can then be loaded into it. What the state says
        of pages that are not among them is dropped: they were removed since. Errors as for
        `load_state` and `Added`.
        """
        check_pages("Added", pages)
        if state is not None:
            self.load_state(state)
        self._dispatch.add(self._scoped(pages), self._now)
        self._dispatch.load_signals(self._signalled)
        self._signalled = {}
        self._back_offs.keep_only(self._dispatch.pages, self.scope_of)

    def leave_out(self, page_ids: Iterable[int]) -> None:
        """Poll no such page in this run; before the first event.

        What the policy learned from them stays, and so does what they have to wait for in a later
        run. Unknown ids are ignored.
        """
        for page_id in page_ids:
            self._dispatch.leave_out(page_id)

    def poll_first(self, page_ids: Iterable[int]) -> None:
        """Poll these pages once ahead of all others, in this order; before the first event.

        It is for pages of which the policy knows. Those that rest when their turn comes are left to
        it. Unknown ids are ignored.
        """
        self._dispatch.poll_first(page_ids)

    def load_state(self, text: str) -> None:
        """Put `state` back, before the first event; `StateError` if `text` is no state.

        The position in the budget is only kept if the budget has the same rate. See also `begin`.
        """
        saved = read_state(text, self.budget.rate)
        self._back_offs.load(saved.back_offs)
        self._hosts.load(saved.hosts, saved.limits, saved.answers_in)
        if saved.asked_until > -math.inf:
            self.leave_hosts_alone(saved.asked_until)
        if saved.rate == self.budget.rate:
            self._cell_rate.next_at = saved.next_at
        self.saved_at = saved.saved_at
        self._group_prices = saved.group_prices
        self._signalled = saved.signalled
        if is_sharing(self.policy):
            self.policy.load_group_prices(saved.group_prices)
        if isinstance(self.policy, HostPriced):
            self.policy.load_host_prices(saved.host_prices)

    def _told_group_prices(self) -> dict[str, float]:
        return self.policy.group_prices() if is_sharing(self.policy) else {}

    def _told_host_prices(self) -> dict[str, float]:
        return self.policy.host_prices() if isinstance(self.policy, HostPriced) else {}

    def _note(self, event: Event, now: float) -> None:
        match event:
            case Polled():
                self._dispatch.observe(event.observations, now)
            case Added():
                self._dispatch.add(self._scoped(event.pages), now)
            case Removed():
                self._dispatch.remove(event.page_ids)
            case Updated():
                self._dispatch.update(event.pages, now)
            case Budgeted():
                self._dispatch.share_out(event.shares)
                self.change_budget(Budget(event.rate, event.burst))
            case Signalled():
                self._dispatch.signal(event.page_ids, min(event.at, now))
            case SavedUp():
                self._cell_rate.save_up(event.seconds)
                self._bounds.each_once(now)
            case HostBlocked():
                self._hosts.block(self._shared(event.scope), event.until)
            case HostFreed():
                self._dispatch.look(event.page_id, event.seconds, now)
            case HostPaced():
                scope = self._shared(event.scope)
                self._hosts.pace(scope, event.delay, now)
                self._dispatch.host_freed(scope, now)
            case Unanswered():
                self._dispatch.unanswered(event.page_id)
            case Linked() if is_collecting(self.policy):
                self.policy.link(event.page_id, event.links)
            case Rescored() if is_collecting(self.policy):
                self.policy.rescore(event.page_ids, event.relevances)
            case Aimed() if is_collecting(self.policy):
                self.policy.aim(dict(event.terms))
            case Staffed():
                self._dispatch.staff = event.polls
            case PolicyReady():
                if isinstance(self.policy, AwaitedPolicy):
                    self.policy = self.policy.arrived()

    def _scoped(self, pages: Sequence[Page]) -> PageColumns:
        """Pages with the scopes that they share."""
        return as_columns(pages).with_scopes(self._shared)

    def _shared(self, scope: str) -> str:
        return self._groups.get(scope, scope)

    def _best(self, page_ids: Sequence[int], now: float) -> int:
        """Of the pages in line for a host, the one to poll."""
        policy = self._dispatch.policy
        return policy.best(page_ids, now) if is_chooser(policy) else page_ids[0]
