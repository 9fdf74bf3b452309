"""Which polls start now, and what their answers mean for the polls to come.

The policy says which page is worth a poll. Ahead of its choice come first copies, pages that were
named, and overdue ones; behind it, a page may have to wait for its host, to rest after a failure,
or to be held back as it was polled too lately.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from pollwise.errors import InputError
from pollwise.events import Poll
from pollwise.page_columns import PageColumns
from pollwise.policies.awaited import renew
from pollwise.policies.base import Pausing, Policy, Signalling
from pollwise.policies.selections import selected_ids
from pollwise.scheduler.abilities import is_sharing
from pollwise.scheduler.back_offs import BackOffs
from pollwise.scheduler.bounds import BoundedPages
from pollwise.scheduler.cell_rate import CellRate
from pollwise.scheduler.first_copies import FirstCopies
from pollwise.scheduler.hosts import Hosts
from pollwise.scheduler.known_pages import KnownPages
from pollwise.scheduler.leases import Lease, Leases
from pollwise.scheduler.overdue import OverduePages
from pollwise.types import Observation, Outcome, Page
from pollwise.units import HOUR

__all__ = ["Dispatch"]

_MOST_PASSED_OVER = 16
"""Pages that a call passes over, because they cannot be polled now, for each `_STEP` that has
passed since the call before."""
_MOST_HELD = 256
"""Pages that one call holds back because they were polled too lately."""
_MOST_SELECTED = 16
"""Pages that are selected at once; by then others may be worth more."""
_MOST_STEPS = 16.0
"""Steps that count at most; one counts always."""
_MOST_SIGNALS_TOLD = 1000
"""Signals that outlast a run here: their text is made with every answer that is written down."""
_AWAITED = HOUR
"""Seconds after which an overdue page that waits for its first copy anyway is looked at again."""
_STEP = 0.01
"""Seconds after which to go on when one call passed over so many pages: time must move, or a
caller that obeys `WakeAt` would do nothing else."""


class Dispatch:
    """Puts a policy's choice to what budget, hosts, back-offs and bounds allow.

    All times are those of the caller, and never fall. The scopes of pages are those that their
    hosts go by. The rules are those of `Scheduler`, which takes in all else.
    """

    def __init__(
        self,
        policy: Policy,
        *,
        budget: CellRate,
        hosts: Hosts,
        back_offs: BackOffs,
        bounds: BoundedPages,
        first_copies: FirstCopies,
        leases: Leases,
    ) -> None:
        self.policy = policy
        self.staff = math.inf
        """The most polls under way."""
        self._budget = budget
        self._hosts = hosts
        self._back_offs = back_offs
        self._bounds = bounds
        self._first_copies = first_copies
        self._leases = leases
        self._under_way: Mapping[int, Lease] = leases.by_page
        self.pages = KnownPages()
        """Those that are watched, by id; to be read."""
        self._named = OverduePages()
        self._awaited = (*bounds.awaited, self._named.awaited, first_copies.awaited)
        """The scopes for which pages ahead of the policy's choice wait to be free."""
        # Pages polled now that the policy has not leased, as they were overdue.
        self._unselected: set[int] = set()
        # When pages were signalled, since their latest answer.
        self._signalled: dict[int, float] = {}
        # Those told last; None: none was told yet.
        self._shares: tuple[tuple[str, float], ...] | None = None
        self._no_answer: set[int] = set()
        """The pages whose polls, told next, had no answer."""
        self._asked_at = -math.inf
        self._at_once = 0
        """The most pages of the latest selection, since one was given back as its host was busy."""
        self._largest_cost = 1.0
        """That of the polls of all pages so far, or more."""

    def add(self, pages: PageColumns, now: float) -> None:
        """Pages to watch; known ones are ignored. `now` is -inf before the run begins."""
        pages = self._unknown(pages)
        needs_first = self._need_first_copies(pages)
        # The policy comes first, as it may refuse them.
        self.policy.add(pages.only(~needs_first))
        self.pages.add(pages)
        self._largest_cost = max(self._largest_cost, float(pages.costs.max(initial=0.0)))
        self._bounds.add(pages, now)
        if needs_first.any():
            self._first_copies.add(pages.only(needs_first))

    def _unknown(self, pages: PageColumns) -> PageColumns:
        """Those that are not watched yet, each once: of those with the same id the last one."""
        if not self.pages and (pages.ids[1:] > pages.ids[:-1]).all():
            return pages  # as at the start, where there may be a million
        last = {page_id: place for place, page_id in enumerate(pages.ids.tolist())}
        places = [place for page_id, place in last.items() if page_id not in self.pages]
        return pages if len(places) == len(pages) else pages.at(np.array(places, np.int64))

    def _need_first_copies(self, pages: PageColumns) -> NDArray[np.bool_]:
        if self._first_copies.own_rate is None:
            return np.zeros(len(pages), np.bool_)
        needs: NDArray[np.bool_] = np.isnan(pages.seen_at)
        for polled in (self._under_way.keys(), self._back_offs.page_ids):
            if polled:
                needs[needs] = ~np.isin(pages.ids[needs], [*polled])
        return needs

    def update(self, pages: Sequence[Page], now: float) -> None:
        """Users want something else of pages; unknown ones are ignored."""
        known = {page.id: page for page in pages if page.id in self.pages}  # the last one holds
        others, retagged = [], {}
        paused: list[int] = []
        resumed: list[int] = []
        for page in known.values():
            before = self.pages[page.id]
            terms = before._replace(cost=page.cost, weight=page.weight)
            self._largest_cost = max(self._largest_cost, page.cost)
            self.pages.put(page.id, terms._replace(tags=page.tags))
            if page.tags != before.tags:
                retagged[page.id] = page.tags
            page = replace(page, scope=terms.scope)
            was_paused = self._bounds.is_paused(page.id)
            self._bounds.update(page, now)
            if page.id in self._first_copies:
                self._first_copies.update(page, now)
                continue
            if page.paused != was_paused:
                (paused if page.paused else resumed).append(page.id)
            is_other = page.paused or terms != before
            if is_other and self._hosts.leave(terms.scope, page.id) and page.paused:
                self._bounds.hold(page.id, now)
            if terms != before:
                others.append(page)
        if retagged and is_sharing(self.policy):
            self.policy.retag(retagged)
        if others:
            renew(self.policy, others)
        if (paused or resumed) and isinstance(self.policy, Pausing):
            self.policy.pause(paused)
            self.policy.resume(resumed)

    def remove(self, page_ids: Iterable[int]) -> None:
        """Forget pages; a poll under way stays, as it keeps its host busy."""
        for page_id in page_ids:
            self._back_offs.end(page_id)
            self._signalled.pop(page_id, None)
            self.leave_out(page_id)

    def leave_out(self, page_id: int) -> None:
        """Watch a page no longer, but keep what later runs need of it; unknown ones are ignored."""
        if (terms := self.pages.take_out(page_id)) is None:
            return
        self._hosts.leave(terms.scope, page_id)
        self._first_copies.end(page_id)
        self._bounds.remove(page_id)
        self._unselected.discard(page_id)
        self.policy.discard([page_id])

    def poll_first(self, page_ids: Iterable[int]) -> None:
        """Let these pages come ahead of all others once, in this order; unknown ids are ignored."""
        for turn, page_id in enumerate(page_ids):
            if page_id in self.pages:
                self._named.add(self.pages[page_id].scope, turn, page_id)

    def signal(self, page_ids: Sequence[int], at: float) -> None:
        """Somebody knew at a time that pages had changed; unknown ids are ignored."""
        for one in page_ids:
            if one in self.pages:
                self._signalled.pop(one, None)  # so that the latest ones are the last
                self._signalled[one] = at
        if isinstance(self.policy, Signalling):
            self.policy.signal(page_ids, at)

    def pending_signals(self) -> dict[int, float]:
        """When pages were signalled that had no answer since, of the latest thousand."""
        latest = [*islice(reversed(self._signalled.items()), _MOST_SIGNALS_TOLD)]
        return dict(reversed(latest))

    def load_signals(self, at: Mapping[int, float]) -> None:
        """Put `pending_signals` of an earlier run back; unknown ids are ignored."""
        self._signalled = {one: time for one, time in at.items() if one in self.pages}

    def set_back(self, seconds: float) -> None:
        """Set the times of signals back by so much."""
        self._signalled = {one: at - seconds for one, at in self._signalled.items()}

    def unanswered(self, page_id: int) -> None:
        """The poll of a page that is told next had no answer."""
        self._no_answer.add(page_id)

    def share_out(self, shares: tuple[tuple[str, float], ...]) -> None:
        """Give pages by their tags shares of the budget, as far as the policy can."""
        if shares == self._shares:
            return
        self._shares = shares
        if is_sharing(self.policy):
            known = self.pages.items() if shares else ()  # as a rule nothing is shared
            tags = {page_id: terms.tags for page_id, terms in known if terms.tags}
            self.policy.share_out(dict(shares), tags)

    def look(self, page_id: int, seconds: float, now: float) -> None:
        """Let others have the host of a page whose poll waits for so many seconds, if they can."""
        if self._leases.look(page_id, seconds, now):
            self.host_freed(self._under_way[page_id].page.scope, now)

    def host_freed(self, scope: str, now: float) -> None:
        """A host may be free sooner than the pages expect that are ahead of the policy's choice."""
        for awaited in self._awaited:
            if scope in awaited:
                break
        else:
            return  # as a rule
        free_at = self._hosts.free_at(scope, now)
        self._bounds.host_freed(scope, free_at)
        self._named.look_again(scope, free_at)
        self._first_copies.look_again(scope, free_at)

    def observe(self, observations: Iterable[Observation], now: float) -> None:
        """Take in what polls found."""
        told = [observation for observation in observations if self._take_in(observation, now)]
        if told:
            self.policy.observe(told)

    def _take_in(self, observation: Observation, now: float) -> bool:
        """Take in an observation; whether the policy is to be told of it now."""
        page_id = observation.page_id
        had_answer = True
        if self._no_answer:  # hardly ever
            had_answer = page_id not in self._no_answer
            self._no_answer.discard(page_id)
        lease = self._under_way.get(page_id)
        if lease is not None:
            if observation.polled_at < lease.started_at:
                return False
            self._leases.end(observation, now)
            self._poll_over(page_id, lease, observation.cost, now)
        if page_id not in self.pages:
            return False
        if observation.outcome is Outcome.POSTPONED:
            if lease is not None:
                wait = self._back_offs.postponed(page_id, had_answer=had_answer)
                self._postpone(page_id, now + wait)
            return False
        if observation.outcome is not Outcome.FAILED:
            self._back_offs.answered_at = now
            if self._back_offs.any_ends_early:
                self._end_rests(self.pages[page_id].scope, now)
        self._hand_over(page_id)
        self._unselected.discard(page_id)
        if observation.outcome in (Outcome.FAILED, Outcome.GONE):
            if lease is not None:
                self._fail(observation, lease.started_at, now)
            elif not self._is_known_failure(observation):
                self._hosts.leave(self.pages[page_id].scope, page_id)
                self._fail(observation, observation.polled_at, now)
            if not had_answer:
                self._back_offs.may_end(page_id, self.pages[page_id].scope)
            return False
        if not self._back_offs.answered(observation):
            return False
        # That a page has changed as somebody said does not mean that it changes all the time.
        is_told = self._signalled.get(page_id, math.inf) <= observation.polled_at
        self._bounds.answered(page_id, observation.outcome, now, counts=not is_told)
        if is_told:
            del self._signalled[page_id]
        return True

    def _end_rests(self, scope: str, now: float) -> None:
        """A host answered: pages need not rest any more that do as it, or the network, was away."""
        for page_id in self._back_offs.end_rests(scope, now):
            self._bounds.postponed(page_id, now)

    def _hand_over(self, page_id: int) -> None:
        """Tell the policy of a page that was polled, if it was not told before."""
        if (page := self._first_copies.end(page_id)) is not None:
            self.policy.add([page])

    def _postpone(self, page_id: int, until: float) -> None:
        self._bounds.postponed(page_id, until)
        if page_id in self._first_copies:
            self._first_copies.put_back(page_id, until)
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

    def _poll_over(self, page_id: int, lease: Lease, cost: float, now: float) -> None:
        """A poll was answered or given up, and took so much of the budget."""
        self.host_freed(lease.page.scope, now)
        if self._budget in lease.rates and is_sharing(self.policy):
            self.policy.spend(page_id, cost)

    def start_polls(self, now: float) -> tuple[list[Poll], float]:
        """Start the polls that may start now; also when to come again, if nothing happens."""
        while self._leases.first_expiry <= now:
            self._give_up_first(now)
        if rested := self._back_offs.rested(now, self.pages):
            self.policy.observe(rested)
        for page_id, polled_at in self._bounds.released(now):
            if page_id not in self._under_way:
                # The policy selected it too soon. To defer it would say that its host is busy.
                self.policy.observe([Observation(page_id, polled_at, Outcome.FAILED)])
        polls, ask_at = self._start_within_budget(now)
        ends = (self._leases.first_expiry, self._back_offs.first_end, self._bounds.first_release)
        return polls, min(ask_at, *ends)

    def _give_up_first(self, now: float) -> None:
        """Count the poll that is under way for the longest time as failed."""
        page_id, lease = self._leases.give_up_first(now)
        self._poll_over(page_id, lease, lease.page.cost, now)
        if page_id in self.pages:
            self._hand_over(page_id)
            self._unselected.discard(page_id)
            failure = Observation(page_id, now, Outcome.FAILED, cost=lease.page.cost)
            self._fail(failure, lease.started_at, now)

    def _start_within_budget(self, now: float) -> tuple[list[Poll], float]:
        """Start as many polls as the budget allows; also when to ask the policy again."""
        steps = min(max((now - self._asked_at) / _STEP, 1.0), _MOST_STEPS)
        self._asked_at = now
        polls, first_copy_at = self._start_first_copies(now)
        may_pass, may_hold = math.ceil(_MOST_PASSED_OVER * steps), _MOST_HELD
        while now >= self._budget.next_at:
            if len(self._under_way) >= self.staff:
                return polls, math.inf
            page_id = self._unchosen(now, spare=False)
            if page_id is None:
                page_id = self._hosts.next_page(now)
            if page_id is None:
                left = min(may_pass, may_hold)
                if not left:
                    return polls, min(now + _STEP, first_copy_at)
                selection = self.policy.select(now, min(self._most_selected(now), left))
                selected = selected_ids(selection)
                if not selected:
                    page_id = self._unchosen(now, spare=True)
                    if page_id is None:
                        ask_at = min(
                            selection.wake_at,
                            self._hosts.first_free,
                            self._bounds.first_overdue,
                            self._named.first_free,
                        )
                        # With a time that has come, the caller would go round in circles.
                        ask_at = ask_at if ask_at > now else now + _STEP
                        return polls, min(ask_at, first_copy_at)
                else:
                    for page_id in selected:
                        if self._hold(page_id, now):
                            may_hold -= 1
                        elif not self._may_start(page_id, now):
                            may_pass -= 1
                        else:
                            self._start(page_id, now, (self._budget,))
                            polls.append(Poll(page_id))
                    continue
            if page_id in self.pages:
                self._start(page_id, now, (self._budget,))
                polls.append(Poll(page_id))
        return polls, min(self._budget.next_at, first_copy_at)

    def _most_selected(self, now: float) -> int:
        """How many pages the policy may select at once: to ask it takes as long as a decision.

        All of them have to have their polls, if their hosts are free, and nothing comes between:
        neither other pages nor that a page is given back, by which the policy learns of its host.
        """
        if self._bounds.is_any_overdue or self._named:
            return 1
        self._at_once = max(1, min(2 * self._at_once, _MOST_SELECTED))
        by_budget = self._budget.allows(self._largest_cost, now)
        return int(max(min(by_budget, self.staff - len(self._under_way), self._at_once), 1))

    def _start_first_copies(self, now: float) -> tuple[list[Poll], float]:
        """Start polls of pages never polled; also when to go on with these."""
        polls: list[Poll] = []
        waiting = self._first_copies
        if waiting.own_rate is None:
            return polls, math.inf
        rate = waiting.rate
        while now >= rate.next_at:
            if len(self._under_way) >= self.staff:
                return polls, math.inf
            page_id = waiting.take(now, self._hosts.free_at)
            if page_id is None:
                return polls, waiting.next_at
            rates: tuple[CellRate, ...] = (rate,)
            # Else the budget would be spent on a page that was polled a moment ago.
            has_no_other_page = len(waiting) == len(self.pages)
            if rate is not self._budget and has_no_other_page and now >= self._budget.next_at:
                rates = (rate, self._budget)
            self._start(page_id, now, rates)
            polls.append(Poll(page_id))
        return polls, rate.next_at if waiting else math.inf

    def _ahead(self, now: float, *, spare: bool) -> int | None:
        """A page that was named, or else one that is overdue; see `BoundedPages.take_overdue`."""

        def free_at(scope: str) -> float:
            return self._hosts.free_at(scope, now)

        while (page_id := self._named.take(now, free_at)) is not None:
            rests_until = self._back_offs.until(page_id)
            if page_id in self.pages and (rests_until is None or rests_until <= now):
                return page_id
        return self._bounds.take_overdue(now, free_at, spare=spare)

    def _unchosen(self, now: float, *, spare: bool) -> int | None:
        """A page to poll ahead of the policy's choice, which may not know of that."""
        while True:
            page_id = self._ahead(now, spare=spare)
            if page_id is None:
                return None
            if page_id in self._under_way:
                self._bounds.postponed(page_id, self._under_way[page_id].expires_at)
                continue
            if page_id in self._first_copies:
                self._bounds.postponed(page_id, now + _AWAITED)
                continue
            waited = self._hosts.leave(self.pages[page_id].scope, page_id)
            if not waited and not self._bounds.is_held(page_id):
                self._unselected.add(page_id)
            return page_id

    def _hold(self, page_id: int, now: float) -> bool:
        """Hold a selected page back if it was polled too lately; whether it was."""
        known = page_id in self.pages and page_id not in self._under_way
        if not known or self._bounds.earliest(page_id) <= now:
            return False
        self._bounds.hold(page_id, now)
        return True

    def _may_start(self, page_id: int, now: float) -> bool:
        """Whether a selected page can be polled now; if not, it waits in line or is deferred."""
        page = self.pages.get(page_id)
        if page is None:
            raise InputError(
                f"the policy selected page {page_id}, which the scheduler does not know;"
                " hand over a policy without pages, and send the pages as Added"
            )
        self._unselected.discard(page_id)
        rests_until = self._back_offs.until(page_id)
        waits = page_id in self._under_way or self._hosts.waits(page_id)
        if waits or (rests_until is not None and rests_until > now):
            # After a restart, or if it was removed and added again. The policy treats it as leased
            # until the poll or the rest ends.
            return False
        free = self._hosts.free_at(page.scope, now)
        if free <= now:
            return True
        if not self._hosts.join(page.scope, page_id, free):
            self._at_once = 0
            self.policy.defer([page_id], self._hosts.turn_away(page.scope, now))
        return False

    def _start(self, page_id: int, now: float, rates: tuple[CellRate, ...]) -> None:
        """Lease a page to a poll, which is counted in these rates."""
        self._leases.begin(page_id, self.pages[page_id], rates, now)
        if self._budget in rates:
            self._bounds.started(page_id)
