"""The scheduler as a state machine: any events, restarts, and a clock that is set in between.

The model goes by real time. The machine's clock is ahead of it or behind by `error`, which changes
at restarts only: within a run, time is counted.
"""

import dataclasses
import math

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from pollwise.events import Added, Event, HostBlocked, HostPaced, Polled, Removed, Staffed, Tick
from pollwise.types import Outcome, Page

from .round_robin import observed, scheduler, started, steady, wake_at

LEASE, DELAY, RETRY = 60.0, 2.0, 8.0
BEGIN = 1e6
SLACK = 1e-3
HOSTS = ("", "a", "b", "c")
BOUNDS = ((None, None), (None, None), (20.0, None), (None, 7.0), (15.0, 15.0), (600.0, 3.0))
"""Of pages: the most and the least seconds between two polls."""


class Restarts(RuleBasedStateMachine):
    @initialize(rate=st.sampled_from([0.2, 1.0, 5.0]), burst=st.sampled_from([1.0, 4.0]))
    def begin(self, rate: float, burst: float) -> None:
        self.rate, self.burst = rate, burst
        self.real, self.error = BEGIN, 0.0
        self.pages: dict[int, Page] = {}
        self.next_id = 0
        self.under_way: dict[int, tuple[str, float]] = {}
        self.blocked_until = dict.fromkeys(HOSTS, -math.inf)
        self.ended_at = dict.fromkeys(HOSTS, -math.inf)
        self.paces = dict.fromkeys(HOSTS, 0.0)
        self.level, self.levelled_at = 0.0, BEGIN
        self.staff = math.inf
        # When the latest poll of each page that was made began and ended.
        self.polled: dict[int, tuple[float, float]] = {}
        self.some = self.fresh()
        self.wake_at = 0.0
        self.send(Tick(self.now))

    def fresh(self):
        options = {"lease": LEASE, "crawl_delay": DELAY, "retry_after": RETRY}
        return scheduler(self.rate, self.burst, **options)

    @property
    def now(self) -> float:
        return self.real + self.error

    def send(self, event: Event) -> None:
        for page_id in [page_id for page_id in self.under_way if self.is_lost(page_id)]:
            self.end(page_id)
        commands = self.some.handle(event)
        for page_id in started(commands):
            self.start(page_id)
        self.wake_at = wake_at(commands) - self.error
        assert wake_at(commands) > self.now, "it goes round in circles"
        self.assert_none_is_overdue()

    def assert_none_is_overdue(self) -> None:
        """Nothing but budget, staff, hosts and polls under way holds an overdue page back."""
        if self.some._cell_rate.next_at > self.now or len(self.under_way) >= self.staff:
            return
        for page_id, page in self.pages.items():
            if page_id not in self.under_way and self.some.bounds.deadline(page_id) <= self.now:
                free_at = self.some.host_free_at(page.scope, self.now)
                assert free_at > self.now, "a page is overdue"

    def start(self, page_id: int) -> None:
        scope = self.pages[page_id].scope
        assert page_id not in self.under_way, "polled twice at a time"
        if scope:
            assert scope not in [s for s, _ in self.under_way.values()], "a host polled twice"
            assert self.real >= self.free_at(scope) - SLACK, "a host is not left alone"
        self.under_way[page_id] = scope, self.real
        if page_id in self.polled and (shortest := self.pages[page_id].shortest_interval):
            assert self.real >= self.polled[page_id][1] + shortest - SLACK, "polled too soon"
        assert len(self.under_way) <= self.staff
        passed = self.real - self.levelled_at
        self.level, self.levelled_at = max(self.level - self.rate * passed, 0.0) + 1.0, self.real
        assert self.level <= self.burst + SLACK, "more than the burst"

    def end(self, page_id: int, *, counts: bool = True) -> None:
        scope, started_at = self.under_way.pop(page_id)
        self.ended_at[scope] = self.real
        if counts:
            self.polled[page_id] = started_at, self.real

    def is_lost(self, page_id: int) -> bool:
        """Whether the lease of a poll has run out, to the last bit as the scheduler counts it: both
        must agree on which polls are under way.
        """
        _, started_at = self.under_way[page_id]
        return self.now >= started_at + self.error + LEASE

    def free_at(self, host: str) -> float:
        """When a host may be polled, if no poll is under way."""
        delay = max(DELAY, self.paces[host])
        return max(self.blocked_until[host], self.ended_at[host] + delay)

    @rule(
        kinds=st.lists(
            st.tuples(st.sampled_from(HOSTS), st.sampled_from(BOUNDS)), min_size=1, max_size=6
        )
    )
    def add(self, kinds: list[tuple[str, tuple[float | None, float | None]]]) -> None:
        new = [
            Page(self.next_id + n, scope=host, longest_interval=most, shortest_interval=least)
            for n, (host, (most, least)) in enumerate(kinds)
        ]
        self.next_id += len(new)
        self.pages |= {page.id: page for page in new}
        self.send(Added(self.now, tuple(new)))

    @rule(seconds=st.floats(0.001, 30.0))
    def wait(self, seconds: float) -> None:
        """As long as the scheduler wants, at most."""
        self.real += min(seconds, max(self.wake_at - self.real, 0.001))
        self.send(Tick(self.now))

    @rule(count=st.integers(1, 20))
    def obey(self, count: int) -> None:
        """Wait until it wants to be asked, several times."""
        for _ in range(count):
            leased = min((at + LEASE for _, at in self.under_way.values()), default=math.inf)
            if min(self.wake_at, leased) == math.inf:
                return
            self.real = max(min(self.wake_at, leased), self.real)
            self.send(Tick(self.now))

    @precondition(lambda self: self.under_way)
    @rule(data=st.data(), outcome=st.sampled_from(Outcome), seconds=st.floats(0.0, 20.0))
    def answer(self, data: st.DataObject, outcome: Outcome, seconds: float) -> None:
        page_id = data.draw(st.sampled_from(sorted(self.under_way)))
        self.real += seconds
        if self.is_lost(page_id):
            return
        self.end(page_id, counts=outcome is not Outcome.POSTPONED)
        if page_id in self.pages and outcome in (Outcome.CHANGED, Outcome.UNCHANGED):
            self.pages[page_id] = dataclasses.replace(self.pages[page_id], seen_at=self.now)
        self.send(Polled(self.now, (observed(page_id, self.now, outcome),)))

    @rule(host=st.sampled_from(HOSTS[1:]), seconds=st.floats(0.0, 100.0))
    def block(self, host: str, seconds: float) -> None:
        self.blocked_until[host] = max(self.blocked_until[host], self.real + seconds)
        self.send(HostBlocked(self.now, host, self.now + seconds))

    @rule(host=st.sampled_from(HOSTS[1:]), delay=st.floats(0.0, 30.0))
    def pace(self, host: str, delay: float) -> None:
        self.paces[host] = delay
        self.send(HostPaced(self.now, host, delay))

    @rule(staff=st.integers(0, 5))
    def staffed(self, staff: int) -> None:
        # Those that are under way already stay so.
        self.staff = max(staff, len(self.under_way))
        self.send(Staffed(self.now, self.staff))

    @precondition(lambda self: self.pages)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        page_id = data.draw(st.sampled_from(sorted(self.pages)))
        del self.pages[page_id]
        self.send(Removed(self.now, (page_id,)))

    @rule(
        down=st.floats(0.0, 500.0),
        jump=st.sampled_from([0.0, -1.0, -3600.0, -2.6e6]) | st.floats(-1e6, 0.0),
    )
    def restart(self, down: float, jump: float) -> None:
        """Killed right after its state was saved, and started when the clock was set back."""
        state = self.some.state()
        for page_id in list(self.under_way):
            # Whatever becomes of its request, its host was asked before this moment.
            self.end(page_id, counts=False)
        # A failure is kept with its begin.
        self.polled = {
            page_id: (begun, ended if self.pages[page_id].seen_at == ended + self.error else begun)
            for page_id, (begun, ended) in self.polled.items()
            if page_id in self.pages
        }
        for host in HOSTS[1:]:
            self.blocked_until[host] = self.free_at(host)
            self.ended_at[host] = -math.inf
        self.real += down
        self.error += jump
        self.some = self.fresh()
        self.staff = math.inf
        self.some.restore(tuple(self.pages.values()), state)
        # Nothing that was stored may stop polling for longer than it said.
        self.some.begin(self.now)
        for host in HOSTS[1:]:
            free = self.some.host_free_at(host, self.now) - self.error
            longest = max(self.blocked_until[host], self.real) + down + 2 * LEASE
            assert free <= longest, "a host is blocked for too long"
        self.send(Tick(self.now))

    @invariant()
    def it_is_not_idle(self) -> None:
        """If a page may be polled and the budget allows it, it asks to be asked at once."""
        if not hasattr(self, "some") or len(self.under_way) >= self.staff:
            return
        passed = self.real - self.levelled_at
        if max(self.level - self.rate * passed, 0.0) > 0.0:
            return
        policy = self.some.policy
        ready = [
            page_id
            for page_id in policy.waiting
            if self.some.host_free_at(self.pages[page_id].scope, self.now) <= self.now
            and not self.some._hosts.waits(page_id)
            and (self.some.rests_until(page_id) or -math.inf) <= self.now
            and self.some.bounds.earliest(page_id) <= self.now
        ]
        if ready:
            assert self.wake_at <= self.real + 1.0 / self.rate + 0.05


TestRestarts = Restarts.TestCase
TestRestarts.settings = settings(steady, stateful_step_count=40)


def test_a_poll_keeps_its_place_until_the_very_end_of_its_lease() -> None:
    machine = Restarts()
    machine.begin(rate=5.0, burst=1.0)
    machine.add([("", (20.0, None)), ("", (20.0, None))])
    machine.staffed(1)
    machine.obey(1)
    machine.wait(30.0)
    machine.wait(BEGIN + LEASE - SLACK / 2 - machine.real)
    assert list(machine.under_way) == [0], "the other page is overdue, but nobody is there to poll"
    machine.obey(1)
    assert list(machine.under_way) == [1]
