"""Which polls may start now: the budget, politeness, leases and back-off around a policy.

The policy says which page is worth a poll; the scheduler says whether it may be polled. Events go
in, commands come out (`pollwise.events`); it reads no clock, opens no socket and draws no random
number, so the same events always give the same commands.
"""

import heapq
import json
import math
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass
from typing import Any

from pollwise.errors import InputError, StateError
from pollwise.events import (
    Added,
    Command,
    Event,
    HostBlocked,
    HostPaced,
    Linked,
    Poll,
    Polled,
    Removed,
    Rescored,
    Staffed,
    Tick,
    Together,
    WakeAt,
)
from pollwise.policies.base import Policy
from pollwise.policies.collecting.request_controller import RequestController
from pollwise.scheduler import politeness
from pollwise.scheduler.host_queues import HostQueues
from pollwise.scheduler.politeness import Host
from pollwise.types import Budget, Observation, Outcome, Page

__all__ = ["Scheduler"]

_MOST_PASSED_OVER = 16
"""Pages that one call passes over because they cannot be polled now."""
_PAUSE = 0.01
"""Seconds after which a call that passed over so many pages goes on: time must move, or a caller
that obeys `WakeAt` would never come to anything else."""
_NEW_HOST = Host()
_SPREAD = 0.1
"""The share of its length by which a rest may be shorter or longer."""


@dataclass(frozen=True, slots=True)
class _Lease:
    """A poll under way."""

    page: Page
    started_at: float
    expires_at: float


@dataclass(frozen=True, slots=True)
class _BackOff:
    """A page whose latest poll, begun at `started_at`, failed.

    It rests until `until`, about `pause` seconds in all; the policy, which meanwhile believes that
    the poll is under way, is told the `failure` then.
    """

    failure: Observation
    started_at: float
    pause: float
    until: float


class Scheduler:
    """Carries out a policy under a budget: events in, commands out.

    *Budget.* The generic cell rate algorithm (ITU-T I.371, virtual scheduling) in cost units: a
    poll of cost c may start at the time `t` or later, and then t = max(t, now - (burst - 1)/rate)
    + c/rate. The real cost, known when the poll ends, corrects t. At the start nothing has been
    saved up: the first poll starts with the first event, then one every 1/rate seconds, so that
    neither a start nor a restart brings a burst. With a burst of 1 and unit costs the times are
    sums of 1/rate exactly, as floats.

    *Politeness.* Of each scope (`Page.scope`; those without one are free) one poll at a time is
    under way, and between the end of one and the start of the next at least `crawl_delay` seconds
    pass, or as many as the host asked for (`HostPaced`, at most `longest_pace`); none starts before
    a `HostBlocked` has ended. Pages that are selected at the wrong time wait in line for their
    host; when `line` do so, the others go back to the policy. Where the line is short, chance
    decides who comes when there is room, and some pages hardly ever do, unless the policy itself
    chooses among the pages of a host.

    *Staffing.* At most as many polls are under way as `Staffed` said last (at first any number).

    *Leases.* A poll that was not observed within `lease` seconds counts as failed. The observation
    is welcome later all the same.

    *Failures.* A page that FAILED or is GONE rests for `retry_after` seconds, after every further
    failure twice as long, up to `retry_ceiling` (seconds; default: a week), give or take a tenth
    by the page's id, so that the pages of a host that was down do not come back all at once. It
    is never given up for good. Any answer ends the rest and makes the next one short again.

    `policy` must be without pages: they come as `Added`. Where `Linked` or `Rescored`
    comes, it is a `RequestController`. `InputError` for a budget or an option out of its range.
    """

    def __init__(
        self,
        policy: Policy,
        budget: Budget,
        *,
        lease: float = 300.0,
        crawl_delay: float = 1.0,
        longest_pace: float = 3600.0,
        retry_after: float = 60.0,
        retry_ceiling: float = 7 * 86400.0,
        line: int = 64,
    ) -> None:
        _require("Scheduler: lease", lease, lease > 0, "above 0")
        fits = 0 <= crawl_delay < math.inf
        _require("Scheduler: crawl_delay", crawl_delay, fits, "finite and at least 0")
        _require("Scheduler: longest_pace", longest_pace, longest_pace >= 0, "at least 0")
        fits = 0 < retry_after < math.inf
        _require("Scheduler: retry_after", retry_after, fits, "finite and above 0")
        fits = retry_after <= retry_ceiling < math.inf
        demand = f"finite and at least retry_after ({retry_after})"
        _require("Scheduler: retry_ceiling", retry_ceiling, fits, demand)
        _require("Scheduler: line", line, line >= 0, "at least 0")
        self.policy = policy
        self.budget = budget
        self._lease = lease
        self._crawl_delay = crawl_delay
        self._longest_pace = longest_pace
        self._retry_after = retry_after
        self._retry_ceiling = retry_ceiling
        self._now = -math.inf
        self._next_at = -math.inf
        self._pages: dict[int, Page] = {}
        self._hosts: dict[str, Host] = {}
        # All leases are equally long, and time never falls: the first one expires first.
        self._leases: OrderedDict[int, _Lease] = OrderedDict()
        self._staff = math.inf
        self._queues = HostQueues(places=line)
        self._back_offs: dict[int, _BackOff] = {}
        # A heap of (until, page id), in which the rests that ended early are dropped late.
        self._resting: list[tuple[float, int]] = []

    @property
    def budget(self) -> Budget:
        """The budget; a new one holds from the next poll on."""
        return self._budget

    @budget.setter
    def budget(self, budget: Budget) -> None:
        rate, burst = budget.rate, budget.burst
        _require("Budget: rate", rate, 0 < rate < math.inf, "finite and above 0")
        _require("Budget: burst", burst, 1 <= burst < math.inf, "finite and at least 1")
        self._budget = budget
        self._tolerance = (burst - 1) / rate

    @property
    def in_flight(self) -> int:
        """The number of polls under way, those of pages removed meanwhile included."""
        return len(self._leases)

    def handle(self, event: Event) -> list[Command]:
        """Take in an event; the polls to start now, and last when to send a `Tick`.

        An event that is earlier than one before counts as if it came with that one. Ids that are
        unknown, pages that are watched already and observations told twice are ignored; so is an
        observation of a poll before the one under way: the latter, which compares with the same
        copy, tells more. `InputError`, with nothing taken in but the time, for a time or cost that
        is no finite number, a page whose polls cost nothing, or links that the policy cannot take.
        """
        _check(event)
        if self._now == -math.inf:
            self._next_at = max(self._next_at, event.now)
        self._now = now = max(self._now, event.now)
        for one in event.events if isinstance(event, Together) else (event,):
            self._note(one, now)
        self._expire(now)
        self._end_rests(now)
        polls, ask_at = self._start_polls(now)
        return [*polls, WakeAt(min(ask_at, self._first_expiry(), self._first_rest_end()))]

    def state(self) -> str:
        """What must survive a restart, as JSON: the budget's position, hosts and back-offs.

        Leases and pages are not part of it. Takes time in proportion to the hosts.
        """
        hosts = []
        for scope, host in self._hosts.items():
            free = politeness.free_at(host, self._now, self._crawl_delay)
            if host.pace > 0 or free > self._now:
                hosts.append((scope, host.pace, free))
        return json.dumps(
            {
                "rate": self.budget.rate,
                "next_at": self._next_at if math.isfinite(self._next_at) else None,
                "hosts": hosts,
                "back_offs": [astuple(back_off) for back_off in self._back_offs.values()],
            }
        )

    def rests_until(self, page_id: int) -> float | None:
        """When a page whose latest poll failed is tried again at the earliest; None: any time."""
        back_off = self._back_offs.get(page_id)
        return None if back_off is None else back_off.until

    def host_free_at(self, scope: str, now: float) -> float:
        """From when on pages of a scope may be polled; `now`: already."""
        return max(self._free_at(scope, now), now)

    def restore(self, pages: Iterable[Page], state: str | None) -> None:
        """Take up the pages of an earlier run without polling any yet, and its `state` if any.

        Before the first event; what the policy learned can then be loaded into it. Errors as of
        `load_state` and of `Added`.
        """
        if state is not None:
            self.load_state(state)
        self._add(pages)

    def load_state(self, text: str) -> None:
        """Put `state` back, before the first event; `StateError` if `text` is none.

        The position in the budget is only taken over if the budget has the same rate.
        """
        try:
            state = json.loads(text)
            fits = state["rate"] == self.budget.rate and state["next_at"] is not None
            next_at = float(state["next_at"]) if fits else -math.inf
            hosts = {
                str(scope): Host(pace=float(pace), blocked_until=float(free))
                for scope, pace, free in state["hosts"]
            }
            back_offs = dict(_restored(*row) for row in state["back_offs"])
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            raise StateError(
                f"not a scheduler's state: {text[:80]!r} ({error!r});"
                " load what Scheduler.state() gave, or start without it"
            ) from error
        self._next_at = next_at
        self._hosts = hosts
        self._back_offs = back_offs
        self._resting = [(back_off.until, page_id) for page_id, back_off in back_offs.items()]
        heapq.heapify(self._resting)

    def _add(self, pages: Iterable[Page]) -> None:
        new = {page.id: page for page in pages if page.id not in self._pages}
        for page in new.values():
            fits = 0 < page.cost < math.inf
            _require(f"Added: page {page.id}: cost", page.cost, fits, "finite and above 0")
        self._pages.update(new)
        self.policy.add(list(new.values()))

    def _note(self, event: Event, now: float) -> None:
        match event:
            case Polled():
                self._observe(event.observations, now)
            case Added():
                self._add(event.pages)
            case Removed():
                self._remove(event.page_ids)
            case HostBlocked():
                self._hosts[event.scope] = politeness.blocked(self._host(event.scope), event.until)
            case HostPaced():
                delay = min(event.delay, self._longest_pace)
                self._hosts[event.scope] = politeness.paced(self._host(event.scope), delay)
            case Linked():
                self._collecting(event).link(event.page_id, event.links)
            case Rescored():
                self._collecting(event).rescore(event.page_ids, event.relevances)
            case Staffed():
                self._staff = event.polls
            case Tick() | Together():
                pass

    def _collecting(self, event: Event) -> RequestController:
        if not isinstance(self.policy, RequestController):
            raise InputError(
                f"{type(event).__name__}: {type(self.policy).__name__} discovers no pages;"
                " give the scheduler a policy that collects, such as Robot"
            )
        return self.policy

    def _remove(self, page_ids: Iterable[int]) -> None:
        """Forget pages; a poll under way stays, for its host is busy with it until it ends."""
        for page_id in page_ids:
            self._back_offs.pop(page_id, None)
            if self._pages.pop(page_id, None) is not None:
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
            self._end_poll(lease, politeness.poll_ended, now)
            real = self._next_at + (observation.cost - lease.page.cost) / self.budget.rate
            self._next_at = max(real, now - self._tolerance)
        if page_id not in self._pages:
            return False
        if observation.outcome in (Outcome.FAILED, Outcome.GONE):
            if lease is not None:
                self._back_off(observation, lease.started_at, now)
            return False
        back_off = self._back_offs.get(page_id)
        if back_off is not None and observation.polled_at < back_off.started_at:
            return False
        self._back_offs.pop(page_id, None)
        return True

    def _end_poll(self, lease: _Lease, end: Callable[[Host, float], Host], now: float) -> None:
        scope = lease.page.scope
        del self._leases[lease.page.id]
        if scope:
            self._hosts[scope] = end(self._host(scope), now)
            self._queues.expect(scope, self._free_at(scope, now))

    def _back_off(self, failure: Observation, started_at: float, now: float) -> None:
        page_id = failure.page_id
        before = self._back_offs.get(page_id)
        pause = self._retry_after
        if before is not None:
            pause = min(2 * before.pause, self._retry_ceiling)
        until = now + pause * (1 - _SPREAD + 2 * _SPREAD * _evenly_spread(page_id))
        self._back_offs[page_id] = _BackOff(failure, started_at, pause, until)
        heapq.heappush(self._resting, (until, page_id))

    def _expire(self, now: float) -> None:
        """Count the polls whose leases have run out as failed."""
        while self._first_expiry() <= now:
            lease = next(iter(self._leases.values()))
            self._end_poll(lease, politeness.poll_lost, now)
            page = lease.page
            if page.id in self._pages:
                failure = Observation(page.id, now, Outcome.FAILED, cost=page.cost)
                self._back_off(failure, lease.started_at, now)

    def _end_rests(self, now: float) -> None:
        """Tell the policy of the failures whose pages have rested."""
        failures = []
        while self._first_rest_end() <= now:
            _, page_id = heapq.heappop(self._resting)
            if page_id in self._pages:
                failures.append(self._back_offs[page_id].failure)
        if failures:
            self.policy.observe(failures)

    def _start_polls(self, now: float) -> tuple[list[Poll], float]:
        """Start as many polls as the budget allows; also when to ask the policy again."""
        polls: list[Poll] = []
        passed_over = 0
        while now >= self._next_at:
            if len(self._leases) >= self._staff:
                return polls, math.inf
            page_id = self._queues.next_page(now, lambda scope: self._free_at(scope, now))
            if page_id is None:
                if passed_over == _MOST_PASSED_OVER:
                    return polls, now + _PAUSE
                selection = self.policy.select(now, 1)
                if len(selection.page_ids) == 0:
                    ask_at = min(selection.wake_at, self._queues.first_free)
                    # A time that has come already would have the caller go round in circles.
                    return polls, ask_at if ask_at > now else now + _PAUSE
                page_id = int(selection.page_ids[0])
                if not self._may_start(page_id, now):
                    passed_over += 1
                    continue
            if page_id in self._pages:
                self._start(self._pages[page_id], now)
                polls.append(Poll(page_id))
        return polls, self._next_at

    def _may_start(self, page_id: int, now: float) -> bool:
        """Whether a page that the policy selected can be polled now; if not, see to it later."""
        page = self._pages.get(page_id)
        if page is None:
            raise InputError(
                f"the policy selected page {page_id}, which the scheduler does not know;"
                " hand over a policy without pages, and send the pages as Added"
            )
        back_off = self._back_offs.get(page_id)
        waits = page_id in self._leases or page_id in self._queues
        if waits or (back_off is not None and back_off.until > now):
            # After a restart, or if it was removed and added again. The policy holds it leased,
            # as it would have, until the poll or the rest ends.
            return False
        scope, free = page.scope, self._free_at(page.scope, now)
        if free <= now:
            return True
        if not self._queues.join(scope, page_id, free):
            host = self._host(scope)
            self._hosts[scope], until = politeness.turned_away(host, now, self._crawl_delay)
            self.policy.defer([page_id], until)
        return False

    def _start(self, page: Page, now: float) -> None:
        self._next_at = max(self._next_at, now - self._tolerance) + page.cost / self.budget.rate
        self._leases[page.id] = _Lease(page, now, now + self._lease)
        if page.scope:
            self._hosts[page.scope] = politeness.poll_begun(self._host(page.scope), now)
            self._queues.expect(page.scope, self._free_at(page.scope, now))

    def _first_expiry(self) -> float:
        return next(iter(self._leases.values())).expires_at if self._leases else math.inf

    def _first_rest_end(self) -> float:
        while self._resting:
            until, page_id = self._resting[0]
            back_off = self._back_offs.get(page_id)
            if back_off is not None and back_off.until == until:
                return until
            heapq.heappop(self._resting)
        return math.inf

    def _free_at(self, scope: str, now: float) -> float:
        """From when on pages of a scope may be polled; those without a scope always."""
        return politeness.free_at(self._host(scope), now, self._crawl_delay) if scope else now

    def _host(self, scope: str) -> Host:
        return self._hosts.get(scope, _NEW_HOST)


def _require(name: str, value: float, holds: bool, demand: str) -> None:
    if not holds:
        raise InputError(f"{name}={value!r} must be {demand}")


def _check(event: Event) -> None:
    """`InputError` for numbers that the arithmetic of time and budget cannot bear."""
    _require(f"{type(event).__name__}: now", event.now, math.isfinite(event.now), "finite")
    if isinstance(event, Polled):
        for one in event.observations:
            fits = 0 <= one.cost < math.inf
            _require(f"Polled: page {one.page_id}: cost", one.cost, fits, "finite and at least 0")
    if isinstance(event, Together):
        for each in event.events:
            _check(each)
    if isinstance(event, Staffed):
        _require("Staffed: polls", event.polls, event.polls >= 0, "at least 0")


def _restored(
    failure: Sequence[Any], started_at: float, pause: float, until: float
) -> tuple[int, _BackOff]:
    """The back-off of a page, from the JSON of its fields."""
    page_id, polled_at, outcome, *rest = failure
    observation = Observation(int(page_id), float(polled_at), Outcome(outcome), *rest)
    return int(page_id), _BackOff(observation, float(started_at), float(pause), float(until))


def _evenly_spread(page_id: int) -> float:
    """A number in [0, 1): multiples of the golden ratio fall evenly (Knuth, TAOCP 6.4)."""
    return (page_id * 0x9E3779B97F4A7C15 % 2**64) / 2**64
