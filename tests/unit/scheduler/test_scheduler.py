"""The scheduler around a policy that takes the pages in turn."""

import heapq
import itertools
import json
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
from pollwise.policies.base import Policy, StateDict
from pollwise.scheduler.scheduler import Scheduler
from pollwise.types import Budget, Links, Observation, Outcome, Page, Selection

steady = settings(derandomize=True, deadline=None, max_examples=60)

UNCHANGED, CHANGED, GONE, FAILED = (
    Outcome.UNCHANGED,
    Outcome.CHANGED,
    Outcome.GONE,
    Outcome.FAILED,
)


class RoundRobin:
    """Polls the pages in turn, and minds that the scheduler keeps to the contract."""

    def __init__(self) -> None:
        self.turns: dict[int, int] = {}
        self.turn = itertools.count()
        self.waiting: set[int] = set()
        self.held: dict[int, float] = {}
        self.leased: set[int] = set()
        self.told: list[Observation] = []
        self.asked = 0
        self.deferred = 0
        self.latest = -math.inf

    def add(self, pages: Sequence[Page]) -> None:
        for page in pages:
            assert page.id not in {*self.waiting, *self.held, *self.leased}
            self.turns[page.id] = next(self.turn)
            self.waiting.add(page.id)

    def discard(self, page_ids: Sequence[int]) -> None:
        for page_id in page_ids:
            self.waiting.discard(page_id)
            self.leased.discard(page_id)
            self.held.pop(page_id, None)

    def select(self, now: float, limit: int) -> Selection:
        assert now >= self.latest
        self.latest = now
        self.asked += 1
        for page_id in [page_id for page_id, until in self.held.items() if until <= now]:
            del self.held[page_id]
            self.waiting.add(page_id)
        chosen = heapq.nsmallest(limit, self.waiting, key=self.turns.__getitem__)
        self.waiting.difference_update(chosen)
        self.leased.update(chosen)
        return Selection(np.array(chosen, np.int64), min(self.held.values(), default=math.inf))

    def observe(self, observations: Sequence[Observation]) -> None:
        for observation in observations:
            self.told.append(observation)
            if observation.page_id in self.leased:
                self.leased.remove(observation.page_id)
                self.turns[observation.page_id] = next(self.turn)
                self.waiting.add(observation.page_id)

    def defer(self, page_ids: Sequence[int], until: float) -> None:
        for page_id in page_ids:
            self.leased.remove(page_id)
            self.held[page_id] = until
            self.deferred += 1

    def state_dict(self, page_ids: Sequence[int] | None = None) -> StateDict:
        return {}

    def load_state_dict(self, state: StateDict) -> None:
        assert not state


def pages(count: int, *, scope: str = "", cost: float = 1.0) -> tuple[Page, ...]:
    return tuple(Page(n, scope=scope, cost=cost) for n in range(count))


def observed(
    page_id: int, polled_at: float, outcome: Outcome = UNCHANGED, cost: float = 1.0
) -> Observation:
    return Observation(page_id, polled_at, outcome, cost=cost)


def polled(now: float, page_id: int, outcome: Outcome = UNCHANGED, cost: float = 1.0) -> Polled:
    return Polled(now, (observed(page_id, now, outcome, cost),))


def started(commands: list[Command]) -> list[int]:
    """The pages of the polls that start; checks the form of the commands."""
    *polls, last = commands
    assert isinstance(last, WakeAt)
    assert all(isinstance(poll, Poll) for poll in polls)
    return [poll.page_id for poll in polls if isinstance(poll, Poll)]


def wake_at(commands: list[Command]) -> float:
    last = commands[-1]
    assert isinstance(last, WakeAt)
    return last.time


def scheduler(rate: float = 1.0, burst: float = 1.0, **options: float) -> Scheduler:
    return Scheduler(RoundRobin(), Budget(rate, burst), **options)


def policy_of(some: Scheduler) -> RoundRobin:
    assert isinstance(some.policy, RoundRobin)
    return some.policy


@dataclass
class World:
    """Obeys a scheduler: answers polls after a while, or never, and sends the ticks asked for."""

    scheduler: Scheduler
    answer: Callable[[int, float], tuple[float, Outcome] | None]
    """Seconds and outcome of a poll of this page begun now; None: it is lost."""
    events: list[Event] = field(default_factory=list)
    commands: list[list[Command]] = field(default_factory=list)
    polls: list[tuple[float, int]] = field(default_factory=list)
    order: itertools.count = field(default_factory=itertools.count)
    coming: list[tuple[float, int, int, Outcome]] = field(default_factory=list)

    def send(self, event: Event) -> None:
        commands = self.scheduler.handle(event)
        self.events.append(event)
        self.commands.append(commands)
        for page_id in started(commands):
            self.polls.append((event.now, page_id))
            answer = self.answer(page_id, event.now)
            if answer is not None:
                seconds, outcome = answer
                entry = event.now + seconds, next(self.order), page_id, outcome
                heapq.heappush(self.coming, entry)

    def run(self, until: float, most_events: int = 20_000) -> None:
        for _ in range(most_events):
            wake = wake_at(self.commands[-1])
            end = self.coming[0][0] if self.coming else math.inf
            if min(wake, end) > until:
                return
            if end <= wake:
                _, _, page_id, outcome = heapq.heappop(self.coming)
                self.send(polled(end, page_id, outcome))
            else:
                assert wake > self.events[-1].now, "the scheduler goes round in circles"
                self.send(Tick(wake))
        raise AssertionError("too many events")


def assert_within_budget(times: Sequence[float], rate: float, burst: float) -> None:
    """No window of time holds more polls than its share and a burst."""
    for first, begin in enumerate(times):
        for count, end in enumerate(times[first:], start=1):
            assert count <= rate * (end - begin) + burst + 1e-9


def at_once(page_id: int, now: float) -> tuple[float, Outcome]:
    return 0.0, UNCHANGED


def never(page_id: int, now: float) -> None:
    return None


def times_of(world: World, page_id: int) -> list[float]:
    return [time for time, polled_id in world.polls if polled_id == page_id]


class TestBudget:
    @steady
    @given(
        rate=st.floats(1e-6, 1e4),
        start=st.floats(0, 2e9),
        count=st.integers(1, 50),
    )
    def test_unit_polls_come_at_exact_sums_of_the_interval(self, rate, start, count):
        some = scheduler(rate)
        times = [start]
        for _ in range(count):
            times.append(times[-1] + 1.0 / rate)
        commands = some.handle(Added(start, pages(1)))
        for now, later in itertools.pairwise(times):
            assert started(commands) == [0]
            commands = some.handle(polled(now, 0))
            assert started(commands) == []
            assert wake_at(commands) == later
            commands = some.handle(Tick(later))

    def test_the_policy_is_not_asked_before_the_budget_allows_a_poll(self):
        some = scheduler()
        some.handle(Added(0.0, pages(3)))
        asked = policy_of(some).asked
        for n in range(1, 10):
            assert wake_at(some.handle(Tick(n / 10))) == 1.0
        assert policy_of(some).asked == asked

    def test_nothing_is_saved_up_at_the_start(self):
        some = scheduler(rate=2.0, burst=5.0)
        assert started(some.handle(Added(1e9, pages(20)))) == [0]
        assert started(some.handle(Tick(1e9 + 0.25))) == []
        assert started(some.handle(Tick(1e9 + 0.5))) == [1]

    def test_what_was_not_used_is_saved_up_to_the_burst(self):
        some = scheduler(rate=2.0, burst=5.0)
        some.handle(Tick(0.0))
        assert len(started(some.handle(Added(1.0, pages(20))))) == 3
        assert len(started(some.handle(Tick(1000.0)))) == 5

    def test_a_dear_page_takes_more_from_the_budget(self):
        some = scheduler(rate=2.0)
        assert wake_at(some.handle(Added(0.0, pages(2, cost=6.0)))) == 3.0

    def test_the_real_cost_replaces_the_charge(self):
        some = scheduler(rate=1.0)
        some.handle(Added(0.0, pages(2, cost=10.0)))
        assert wake_at(some.handle(polled(1.0, 0, cost=4.0))) == 4.0
        assert started(some.handle(Tick(4.0))) == [1]
        assert wake_at(some.handle(polled(5.0, 1, cost=12.0))) == 16.0

    def test_cheap_polls_save_up_no_more_than_the_burst(self):
        some = scheduler(rate=1.0, burst=3.0)
        some.handle(Added(0.0, pages(1, cost=1000.0)))
        some.handle(polled(1.0, 0, cost=0.0))
        some.handle(Removed(1.0, (0,)))
        assert len(started(some.handle(Added(1.0, tuple(Page(n) for n in range(1, 20)))))) <= 3

    def test_a_late_observation_is_not_paid_back(self):
        some = scheduler(rate=1.0, lease=5.0)
        some.handle(Added(0.0, pages(1, cost=100.0)))
        some.handle(Tick(5.0))
        assert some.in_flight == 0
        some.handle(polled(6.0, 0, cost=0.0))
        assert started(some.handle(Tick(99.0))) == []
        assert started(some.handle(Tick(100.0))) == [0]

    def test_a_new_budget_holds_from_the_next_poll_on(self):
        some = scheduler(rate=1.0)
        some.handle(Added(0.0, pages(50)))
        some.budget = Budget(0.1, burst=4.0)
        assert wake_at(some.handle(Tick(0.5))) == 1.0
        assert wake_at(some.handle(Tick(1.0))) == 11.0
        assert len(started(some.handle(Tick(500.0)))) == 4
        with pytest.raises(InputError, match=r"^Budget: rate=0\.0 must be finite and above 0$"):
            some.budget = Budget(0.0)

    @steady
    @given(
        rate=st.sampled_from([0.25, 1.0, 8.0]),
        burst=st.sampled_from([1.0, 2.5, 7.0]),
        gaps=st.lists(st.floats(0, 10), min_size=1, max_size=60),
    )
    def test_no_window_sees_more_than_its_share_and_a_burst(self, rate, burst, gaps):
        some = scheduler(rate, burst)
        now, times = 0.0, []
        some.handle(Added(now, pages(500)))
        times.append(now)
        for gap in gaps:
            now += gap
            times += [now] * len(started(some.handle(Tick(now))))
        assert_within_budget(times, rate, burst)

    @pytest.mark.parametrize(
        ("rate", "burst"),
        [(0.0, 1.0), (-1.0, 1.0), (math.inf, 1.0), (math.nan, 1.0), (1.0, 0.5), (1.0, math.nan)],
    )
    def test_a_budget_out_of_range_is_refused(self, rate, burst):
        with pytest.raises(InputError, match=r"^Budget: (rate|burst)=\S+ must be finite and .+$"):
            scheduler(rate, burst)


@pytest.mark.parametrize(
    "options",
    [
        {"lease": 0.0},
        {"lease": math.nan},
        {"crawl_delay": -1.0},
        {"crawl_delay": math.inf},
        {"longest_pace": -1.0},
        {"retry_after": 0.0},
        {"retry_after": 10.0, "retry_ceiling": 9.0},
        {"retry_ceiling": math.inf},
    ],
)
def test_an_option_out_of_range_is_refused(options):
    with pytest.raises(InputError, match=rf"^Scheduler: {list(options)[-1]}=\S+ must be .+$"):
        scheduler(**options)


class TestPoliteness:
    def test_one_poll_at_a_time_and_a_delay_after_its_end(self):
        some = scheduler(rate=100.0, crawl_delay=2.0)
        assert started(some.handle(Added(0.0, pages(3, scope="h")))) == [0]
        assert started(some.handle(Tick(5.0))) == []
        assert started(some.handle(polled(7.0, 0))) == []
        world = World(some, never)
        world.send(Tick(7.5))
        world.run(until=100.0)
        assert world.polls[0][0] == 9.0

    def test_a_host_that_cannot_keep_up_is_used_fully_and_few_pages_are_turned_away(self):
        count, seconds = 200, 1000.0
        some = scheduler(rate=50.0, crawl_delay=1.0)
        world = World(some, lambda page_id, now: (0.25, UNCHANGED))
        world.send(Added(0.0, pages(count, scope="h")))
        world.run(until=seconds)
        possible = seconds / 1.25
        assert len(world.polls) > 0.95 * possible
        assert policy_of(some).deferred < 1.5 * possible * math.sqrt(2 * count)

    def test_pages_without_a_scope_need_no_politeness(self):
        some = scheduler(rate=100.0, burst=50.0)
        some.handle(Tick(0.0))
        assert len(started(some.handle(Added(10.0, pages(20))))) == 20

    def test_a_host_gets_the_delay_that_it_asked_for(self):
        some = scheduler(rate=100.0, crawl_delay=1.0)
        world = World(some, at_once)
        world.send(HostPaced(0.0, "h", 30.0))
        world.send(Added(0.0, pages(3, scope="h")))
        world.run(until=65.0)
        assert world.polls == [(0.0, 0), (30.0, 1), (60.0, 2)]

    def test_no_host_can_ask_for_a_longer_delay_than_agreed(self):
        some = scheduler(rate=100.0, crawl_delay=1.0, longest_pace=20.0)
        world = World(some, at_once)
        world.send(HostPaced(0.0, "h", 1e9))
        world.send(Added(0.0, pages(3, scope="h")))
        world.run(until=45.0)
        assert world.polls == [(0.0, 0), (20.0, 1), (40.0, 2)]

    def test_a_blocked_host_is_left_alone(self):
        some = scheduler(rate=100.0)
        world = World(some, at_once)
        world.send(HostBlocked(0.0, "h", 50.0))
        world.send(Added(0.0, pages(1, scope="h")))
        world.run(until=49.0)
        assert world.polls == []
        world.run(until=50.0)
        assert world.polls == [(50.0, 0)]

    def test_a_busy_host_does_not_keep_the_others_from_their_polls(self):
        some = scheduler(rate=100.0)
        crowd = pages(100, scope="h")
        other = Page(100, scope="other")
        world = World(some, never)
        world.send(Added(0.0, (*crowd, other)))
        world.run(until=0.2)
        assert [page_id for _, page_id in world.polls] == [0, 100]

    def test_few_pages_are_given_back_in_one_call(self):
        some = scheduler(rate=1e6)
        some.handle(Added(0.0, pages(1, scope="h")))
        crowd = tuple(Page(n, scope="h") for n in range(1, 500))
        some.handle(Added(0.001, crowd))
        for _ in range(64 // 16 - 1):  # 64 wait in line
            some.handle(Tick(0.001))
        assert policy_of(some).deferred == 0
        commands = some.handle(Tick(0.001))
        assert policy_of(some).deferred == 16
        assert 0.001 < wake_at(commands) < 0.1

    def test_pages_that_wait_or_are_given_back_take_nothing_from_the_budget(self):
        some = scheduler(rate=1.0)
        some.handle(HostBlocked(0.0, "h", 1e6))
        some.handle(Added(0.0, pages(70, scope="h")))
        for _ in range(70 // 16):
            some.handle(Tick(0.0))
        assert policy_of(some).deferred == 70 - 64
        assert started(some.handle(Added(0.0, (Page(70, scope="other"),)))) == [70]

    def test_every_page_of_a_host_in_demand_gets_its_turn(self):
        # One poll a second for 40 pages, each of which would be polled five times as often.
        some = scheduler(rate=10.0, crawl_delay=0.8)
        world = World(some, lambda page_id, now: (0.2, UNCHANGED))
        others = tuple(Page(n, scope=f"other {n}") for n in range(40, 80))
        world.send(Added(0.0, (*pages(40, scope="h"), *others)))
        world.run(until=400.0)
        counts = [len(times_of(world, page_id)) for page_id in range(40)]
        assert min(counts) >= 9
        assert max(counts) <= 11

    def test_a_page_turned_away_is_the_next_of_its_host(self):
        some = scheduler(rate=100.0)
        assert started(some.handle(Added(0.0, pages(3, scope="h")))) == [0]
        assert wake_at(some.handle(polled(0.5, 0))) == 1.5
        assert started(some.handle(Tick(1.5))) == [1]
        some.handle(polled(1.6, 1))
        assert started(some.handle(Tick(2.6))) == [2]

    def test_a_removed_page_leaves_the_line_of_its_host(self):
        some = scheduler(rate=100.0)
        some.handle(Added(0.0, pages(3, scope="h")))
        some.handle(Removed(0.1, (1,)))
        some.handle(polled(0.5, 0))
        assert started(some.handle(Tick(1.5))) == [2]

    def test_a_removed_page_keeps_its_host_busy_until_its_poll_ends(self):
        some = scheduler(rate=100.0)
        some.handle(Added(0.0, pages(2, scope="h")))
        some.handle(Removed(0.1, (0,)))
        assert some.in_flight == 1
        assert started(some.handle(Tick(10.0))) == []
        some.handle(polled(20.0, 0))
        assert some.in_flight == 0
        assert started(some.handle(Tick(40.0))) == [1]
        assert policy_of(some).told == []


class TestLeases:
    def test_a_poll_without_an_answer_ends_with_its_lease(self):
        some = scheduler(lease=30.0, crawl_delay=5.0, retry_after=100.0)
        assert wake_at(some.handle(Added(0.0, pages(1, scope="h")))) == 1.0
        assert wake_at(some.handle(Tick(1.0))) == 30.0
        commands = some.handle(Tick(30.0))
        assert some.in_flight == 0
        assert policy_of(some).told == []
        assert 120.0 <= wake_at(commands) <= 140.0
        assert started(some.handle(Tick(wake_at(commands)))) == [0]
        assert policy_of(some).told == [observed(0, 30.0, FAILED)]

    def test_the_host_of_an_expired_lease_is_free_after_its_delay(self):
        some = scheduler(rate=100.0, lease=30.0, crawl_delay=5.0)
        world = World(some, never)
        world.send(Added(0.0, pages(2, scope="h")))
        world.run(until=60.0)
        assert times_of(world, 0) == [0.0]
        assert times_of(world, 1) == [pytest.approx(35.0, abs=40.0)]
        assert times_of(world, 1)[0] >= 35.0

    def test_a_late_answer_still_teaches_and_ends_the_rest(self):
        some = scheduler(lease=30.0)
        some.handle(Added(0.0, pages(1)))
        some.handle(Tick(30.0))
        late = observed(0, 29.0, CHANGED)
        assert started(some.handle(Polled(35.0, (late,)))) == [0]
        assert policy_of(some).told == [late]

    def test_a_late_failure_does_not_count_twice(self):
        some = scheduler(lease=30.0)
        some.handle(Added(0.0, pages(1)))
        commands = some.handle(Tick(30.0))
        assert some.handle(polled(31.0, 0, FAILED)) == commands

    def test_an_answer_in_the_event_at_which_the_lease_ends_counts(self):
        some = scheduler(lease=30.0)
        some.handle(Added(0.0, pages(1)))
        assert started(some.handle(polled(30.0, 0))) == [0]

    def test_an_observation_told_twice_does_not_end_the_next_poll(self):
        some = scheduler(crawl_delay=0.0)
        some.handle(Added(0.0, pages(1)))
        first = Polled(0.5, (observed(0, 0.5),))
        some.handle(first)
        assert started(some.handle(Tick(1.0))) == [0]
        assert some.handle(first) == some.handle(first)
        assert some.in_flight == 1
        assert len(policy_of(some).told) == 1

    def test_a_page_added_again_while_its_poll_is_under_way_is_not_polled_twice(self):
        some = scheduler(rate=100.0)
        some.handle(Added(0.0, pages(1)))
        some.handle(Removed(0.1, (0,)))
        assert started(some.handle(Added(0.2, pages(1)))) == []
        assert started(some.handle(polled(9.0, 0))) == [0]


class TestFailures:
    def failing(self, until: float, **options: float) -> list[float]:
        """When a page that always fails is polled."""
        world = World(scheduler(**options), lambda page_id, now: (0.0, FAILED))
        world.send(Added(0.0, pages(1)))
        world.run(until)
        return times_of(world, 0)

    def test_rests_double_up_to_the_ceiling_and_never_end(self):
        times = self.failing(1e5, retry_after=60.0, retry_ceiling=1000.0)
        rests = [later - earlier for earlier, later in itertools.pairwise(times)]
        spread = rests[0] / 60.0
        assert 0.9 <= spread <= 1.1
        expected = [60.0, 120.0, 240.0, 480.0, 960.0, *[1000.0] * 20]
        assert rests[:25] == pytest.approx([spread * rest for rest in expected])
        assert times[-1] > 1e5 - 1200.0

    def test_by_default_the_rest_is_a_week_at_most(self):
        times = self.failing(86400.0 * 365)
        assert times[-1] - times[-2] == pytest.approx(7 * 86400.0, rel=0.101)

    @pytest.mark.parametrize("outcome", [FAILED, GONE])
    def test_the_policy_is_told_when_the_rest_ends(self, outcome):
        some = scheduler()
        some.handle(Added(0.0, pages(1)))
        commands = some.handle(polled(0.5, 0, outcome))
        some.handle(Tick(50.0))
        assert policy_of(some).told == []
        some.handle(Tick(wake_at(commands)))
        some.handle(Tick(70.0))
        assert policy_of(some).told == [observed(0, 0.5, outcome)]

    def test_an_answer_makes_the_next_rest_short_again(self):
        outcomes = iter([FAILED] * 5 + [UNCHANGED] + [FAILED] * 2)
        world = World(scheduler(), lambda page_id, now: (0.0, next(outcomes, UNCHANGED)))
        world.send(Added(0.0, pages(1)))
        world.run(until=3000.0)
        times = times_of(world, 0)
        assert times[5] - times[4] >= 16 * 54
        assert times[6] - times[5] == 1.0
        assert times[7] - times[6] == pytest.approx(60.0, rel=0.101)

    def test_it_says_what_holds_a_page_back(self):
        some = scheduler(crawl_delay=5.0)
        some.handle(Added(0.0, (Page(0, scope="a"),)))
        assert (some.rests_until(0), some.host_free_at("b", 1.0)) == (None, 1.0)
        some.handle(polled(2.0, 0, FAILED))
        assert some.rests_until(0) == pytest.approx(62.0, abs=6.0)
        assert some.host_free_at("a", 3.0) == 7.0
        assert some.host_free_at("a", 9.0) == 9.0
        assert some.host_free_at("", 3.0) == 3.0

    def test_pages_that_fail_together_come_back_apart(self):
        some = scheduler(rate=100.0, burst=100.0)
        some.handle(Tick(0.0))
        some.handle(Added(10.0, pages(50)))
        failures = tuple(observed(n, 10.0, FAILED) for n in range(50))
        some.handle(Polled(10.0, failures))
        rows = json.loads(some.state())["back_offs"]
        ends = sorted(row[-1] for row in rows)
        assert ends[0] >= 10.0 + 54.0
        assert ends[-1] <= 10.0 + 66.0
        assert max(later - earlier for earlier, later in itertools.pairwise(ends)) < 1.0

    def test_a_removed_page_leaves_no_rest_behind(self):
        some = scheduler()
        some.handle(Added(0.0, pages(1)))
        some.handle(polled(0.5, 0, FAILED))
        assert wake_at(some.handle(Removed(2.0, (0,)))) == math.inf
        assert json.loads(some.state())["back_offs"] == []

    @steady
    @given(
        seed=st.integers(0, 2**32),
        count=st.integers(1, 12),
        bad=st.floats(0, 0.9),
    )
    def test_every_page_is_polled_again_after_failures(self, seed, count, bad):
        dice = random.Random(seed)

        def answer(page_id: int, now: float) -> tuple[float, Outcome] | None:
            if now > 600.0 or dice.random() >= bad:
                return dice.random(), UNCHANGED
            return dice.choice([None, (dice.random(), FAILED), (dice.random(), GONE)])

        some = scheduler(lease=20.0, retry_after=5.0, retry_ceiling=100.0)
        world = World(some, answer)
        world.send(Added(0.0, tuple(Page(n, scope=f"h{n % 3}") for n in range(count))))
        world.run(until=800.0)
        for n in range(count):
            assert max(times_of(world, n)) > 800.0 - 2 * count - 10.0


class TestEvents:
    def test_without_pages_there_is_nothing_to_wake_for(self):
        assert scheduler().handle(Tick(5.0)) == [WakeAt(math.inf)]

    def test_the_wake_up_of_the_policy_is_passed_on(self):
        some = scheduler(rate=100.0, lease=math.inf)
        some.handle(HostBlocked(0.0, "h", 777.0))
        assert wake_at(some.handle(Added(0.0, pages(1, scope="h")))) == 777.0

    def test_a_policy_that_wants_to_be_asked_at_once_is_asked_a_little_later(self):
        class Restless(RoundRobin):
            def select(self, now: float, limit: int) -> Selection:
                return Selection(np.empty(0, np.int64), now)

        some = Scheduler(Restless(), Budget(1.0))
        assert 5.0 < wake_at(some.handle(Tick(5.0))) < 5.1

    def test_time_does_not_run_backwards(self):
        some = scheduler()
        some.handle(Added(100.0, pages(3)))
        assert wake_at(some.handle(Tick(50.0))) == 101.0
        assert started(some.handle(Tick(101.0))) == [1]

    def test_a_page_added_twice_is_there_once(self):
        some = scheduler(rate=100.0, burst=10.0)
        some.handle(Tick(0.0))
        assert started(some.handle(Added(1.0, pages(2) + pages(2)))) == [0, 1]
        assert started(some.handle(Added(2.0, pages(3)))) == [2]

    def test_unknown_ids_are_ignored(self):
        some = scheduler()
        some.handle(Removed(0.0, (5,)))
        for outcome in Outcome:
            assert some.handle(polled(1.0, 5, outcome)) == [WakeAt(math.inf)]
        assert policy_of(some).told == []

    @pytest.mark.parametrize(
        "event",
        [
            Tick(math.nan),
            Tick(math.inf),
            Added(0.0, (Page(1, cost=0.0),)),
            Added(0.0, (Page(1, cost=math.nan),)),
            Polled(0.0, (observed(0, 0.0, cost=math.inf),)),
            Polled(0.0, (observed(0, 0.0), observed(0, 0.0, cost=-1.0))),
        ],
    )
    def test_numbers_that_are_none_are_refused_before_anything_is_taken_in(self, event):
        some = scheduler()
        some.handle(Added(0.0, pages(1)))
        before = some.state()
        with pytest.raises(InputError, match=r"^(Tick|Added|Polled): .+=\S+ must be finite"):
            some.handle(event)
        assert some.state() == before
        assert some.in_flight == 1

    def test_a_policy_with_pages_of_its_own_is_refused(self):
        policy = RoundRobin()
        policy.add(pages(1))
        with pytest.raises(InputError, match=r"page 0, which the scheduler does not know; .+Added"):
            Scheduler(policy, Budget(1.0)).handle(Tick(0.0))

    def test_the_policy_of_these_tests_is_one(self):
        assert isinstance(RoundRobin(), Policy)


class TestState:
    def test_the_position_in_the_budget_survives(self):
        before = scheduler(rate=0.01)
        before.handle(Added(0.0, pages(1)))
        after = scheduler(rate=0.01)
        after.load_state(before.state())
        assert started(after.handle(Added(5.0, pages(1)))) == []
        assert started(after.handle(Tick(100.0))) == [0]

    def test_the_budget_of_the_time_in_between_is_not_saved_up(self):
        before = scheduler(rate=1.0, burst=10.0)
        before.handle(Added(0.0, pages(1)))
        after = scheduler(rate=1.0, burst=10.0)
        after.load_state(before.state())
        assert len(started(after.handle(Added(1e6, pages(20))))) == 1

    def test_a_new_rate_starts_afresh(self):
        before = scheduler(rate=1e-6)
        before.handle(Added(0.0, pages(1)))
        after = scheduler(rate=1.0)
        after.load_state(before.state())
        assert started(after.handle(Added(5.0, pages(1)))) == [0]

    def test_hosts_keep_their_delays_and_blocks(self):
        before = scheduler(rate=100.0)
        before.handle(Tick(0.0))
        before.handle(HostPaced(0.0, "paced", 30.0))
        before.handle(HostBlocked(0.0, "blocked", 50.0))
        before.handle(Added(0.0, (Page(0, scope="paced"),)))
        before.handle(polled(1.0, 0))
        world = World(scheduler(rate=100.0), at_once)
        world.scheduler.load_state(before.state())
        world.send(Added(2.0, (Page(0, scope="paced"), Page(1, scope="blocked"))))
        world.run(until=70.0)
        # At 61 s page 1 may be polled too, and the budget allows one poll every 0.01 s.
        assert times_of(world, 0) == [31.0, pytest.approx(61.0, abs=0.02)]
        assert times_of(world, 1)[0] == 50.0

    def test_hosts_that_are_free_are_not_kept(self):
        some = scheduler(rate=100.0)
        some.handle(Added(0.0, pages(1, scope="h")))
        some.handle(polled(1.0, 0, FAILED))
        assert len(json.loads(some.state())["hosts"]) == 1
        some.handle(Tick(3.0))
        assert json.loads(some.state())["hosts"] == []

    def test_resting_pages_go_on_resting(self):
        def failing_until_100(page_id: int, now: float) -> tuple[float, Outcome]:
            return 0.0, FAILED if page_id < 40 and now < 100.0 else UNCHANGED

        before = World(scheduler(rate=10.0), failing_until_100)
        before.send(Added(0.0, pages(40)))
        before.run(until=30.0)
        assert len(before.polls) == 40
        after = World(scheduler(rate=10.0), failing_until_100)
        after.scheduler.load_state(before.scheduler.state())
        after.send(Added(31.0, pages(41)))
        after.run(until=53.0)
        assert {page_id for _, page_id in after.polls} == {40}
        after.run(until=75.0)
        assert {page_id for _, page_id in after.polls} == set(range(41))
        # The second failure in a row: the rest is twice as long, as without the restart.
        rows = json.loads(after.scheduler.state())["back_offs"]
        assert [pause for _, _, pause, _ in rows] == [120.0] * 40
        after.run(until=300.0)
        assert json.loads(after.scheduler.state())["back_offs"] == []

    def test_restored_pages_are_not_polled_before_the_first_event(self):
        before = scheduler()
        before.handle(Added(0.0, pages(2)))
        before.handle(polled(0.5, 0, FAILED))
        after = scheduler()
        after.restore(pages(2), before.state())
        assert policy_of(after).asked == after.in_flight == 0
        assert started(after.handle(Tick(0.9))) == []
        assert started(after.handle(Tick(1.0))) == [1]

    def test_pages_can_be_restored_without_a_state(self):
        some = scheduler()
        some.restore(pages(1), None)
        assert started(some.handle(Tick(7.0))) == [0]
        with pytest.raises(InputError, match=r"page 1: cost=0\.0 must be finite and above 0"):
            some.restore((Page(1, cost=0.0),), None)

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "[]",
            "{}",
            "7",
            '{"rate": 1.0, "next_at": "soon", "hosts": [], "back_offs": []}',
            '{"rate": 1.0, "next_at": 0.0, "hosts": [["h", 1.0]], "back_offs": []}',
            '{"rate": 1.0, "next_at": 0.0, "hosts": [], "back_offs": [[[0, 1.0, 9], 1, 60, 70]]}',
            '{"rate": 1.0, "next_at": 0.0, "hosts": [], "back_offs": [[[[]], 1, 60, 70]]}',
        ],
    )
    def test_what_is_no_state_is_refused_and_changes_nothing(self, text):
        some = scheduler()
        some.handle(HostPaced(0.0, "h", 30.0))
        before = some.state()
        with pytest.raises(StateError, match=r"^not a scheduler's state: .+; load what .+$"):
            some.load_state(text)
        assert some.state() == before

    def test_the_state_before_the_first_event_is_no_state_at_all(self):
        some = scheduler()
        some.load_state(scheduler().state())
        assert some.state() == scheduler().state()
        assert started(some.handle(Added(-5.0, pages(1)))) == [0]


outcomes = st.sampled_from(Outcome)
small_times = st.floats(0, 500)
page_ids = st.integers(-1, 6)
scopes = st.sampled_from(["", "a", "b"])
garbage = st.lists(
    st.one_of(
        st.builds(Tick, small_times),
        st.builds(
            Polled,
            small_times,
            st.lists(
                st.builds(Observation, page_ids, small_times, outcomes, cost=st.floats(0, 3)),
                max_size=3,
            ).map(tuple),
        ),
        st.builds(
            Added,
            small_times,
            st.lists(
                st.builds(Page, page_ids, scope=scopes, cost=st.floats(0.1, 3)), max_size=5
            ).map(tuple),
        ),
        st.builds(Removed, small_times, st.lists(page_ids, max_size=3).map(tuple)),
        st.builds(HostBlocked, small_times, scopes, st.floats()),
        st.builds(HostPaced, small_times, scopes, st.floats()),
    ),
    max_size=60,
)


@settings(steady, max_examples=200)
@given(events=garbage, rate=st.sampled_from([0.05, 1.0, 50.0]), burst=st.sampled_from([1.0, 4.0]))
def test_no_order_of_events_does_harm(events, rate, burst):
    def fresh() -> Scheduler:
        return scheduler(rate, burst, lease=20.0, retry_after=10.0, retry_ceiling=100.0)

    some, again = fresh(), fresh()
    watched: set[int] = set()
    since: dict[int, float] = {}
    now = -math.inf
    for event in events:
        now = max(now, event.now)
        match event:
            case Added():
                watched |= {page.id for page in event.pages}
            case Removed():
                watched -= set(event.page_ids)
            case Polled():
                for observation in event.observations:
                    since.pop(observation.page_id, None)
        commands = some.handle(event)
        assert commands == again.handle(event), "the same events, other commands"
        assert wake_at(commands) > now
        for page_id in started(commands):
            assert page_id in watched
            assert now >= since.get(page_id, -math.inf) + 20.0, "polled twice at a time"
            since[page_id] = now
        restored = fresh()
        restored.load_state(some.state())
        assert restored.state() == some.state()


@steady
@given(
    seed=st.integers(0, 2**32),
    rate=st.sampled_from([0.5, 2.0, 20.0]),
    burst=st.sampled_from([1.0, 3.0]),
    crawl_delay=st.sampled_from([0.0, 1.0, 7.0]),
    lost=st.sampled_from([0.0, 0.2]),
)
def test_in_a_world_of_delays_and_losses_all_promises_hold(seed, rate, burst, crawl_delay, lost):
    dice = random.Random(seed)
    lease = 15.0
    ends: list[tuple[float, float, int]] = []

    def answer(page_id: int, now: float) -> tuple[float, Outcome] | None:
        if dice.random() < lost:
            ends.append((now, now + lease, page_id))
            return None
        seconds = dice.choice([0.0, dice.random(), 14.0 * dice.random()])
        ends.append((now, now + seconds, page_id))
        return seconds, dice.choice([UNCHANGED, CHANGED, CHANGED, FAILED])

    def fresh() -> Scheduler:
        return scheduler(rate, burst, lease=lease, crawl_delay=crawl_delay, retry_after=3.0)

    world = World(fresh(), answer)
    world.send(HostPaced(0.0, "h1", 4.0))
    world.send(Added(0.0, tuple(Page(n, scope=f"h{n % 4}" if n % 4 else "") for n in range(14))))
    world.run(until=120.0)

    assert_within_budget([time for time, _ in world.polls], rate, burst)
    for page_id in range(14):
        spans = [(begin, end) for begin, end, polled_id in ends if polled_id == page_id]
        for (_, end), (begin, _) in itertools.pairwise(spans):
            assert begin >= end, f"page {page_id} is polled twice at a time"
    for host in (1, 2, 3):
        delay = max(crawl_delay, 4.0 if host == 1 else 0.0)
        spans = [(begin, end) for begin, end, page_id in ends if page_id % 4 == host]
        for (_, end), (begin, _) in itertools.pairwise(spans):
            assert begin >= end + delay, f"host {host} is not left alone for {delay} seconds"

    again = fresh()
    assert [again.handle(event) for event in world.events] == world.commands


class Collecting(RoundRobin):
    """Takes links too."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[tuple[int, list[int], Sequence[str], Sequence[str]]] = []

    def link(self, page_id: int, links: Links) -> None:
        self.links.append((page_id, links.targets.tolist(), links.anchors, links.places))

    def rescore(self, page_ids: Sequence[int], relevances: Sequence[float]) -> None:
        self.rescored = list(zip(page_ids, relevances, strict=True))

    def begin_traversal(self) -> None:
        raise AssertionError("a scheduler never begins a traversal")


class TestCollecting:
    def test_no_more_polls_are_under_way_than_the_staff_allows(self):
        some = scheduler(rate=100.0, burst=10.0)
        some.handle(Staffed(0.0, 2))
        commands = some.handle(Added(1.0, pages(5)))
        assert started(commands) == [0, 1]
        assert wake_at(commands) > 100.0, "only the end of a poll or of a lease makes room"
        assert started(some.handle(polled(3.0, 0))) == [2]
        assert started(some.handle(Staffed(4.0, 4))) == [3, 4]

    def test_a_smaller_staff_ends_no_poll(self):
        some = scheduler(rate=100.0, burst=10.0)
        some.handle(Added(0.0, pages(5)))
        some.handle(Tick(1.0))
        some.handle(Staffed(1.0, 1))
        assert some.in_flight == 5
        assert started(some.handle(polled(2.0, 0))) == []

    def test_links_go_to_a_policy_that_takes_them(self):
        some = Scheduler(Collecting(), Budget(1.0))
        some.handle(Added(0.0, pages(3)))
        some.handle(Linked(1.0, 0, Links(np.array([1, 2]), ("next", "up"), ("body/a", "body/a"))))
        assert some.policy.links == [(0, [1, 2], ("next", "up"), ("body/a", "body/a"))]

    def test_new_scores_go_to_the_policy(self):
        some = Scheduler(Collecting(), Budget(1.0))
        some.handle(Rescored(1.0, (0, 2), (0.5, 0.0)))
        assert some.policy.rescored == [(0, 0.5), (2, 0.0)]

    def test_nothing_starts_before_all_that_happened_together_is_known(self):
        some = Scheduler(Collecting(), Budget(1e6))
        (first, *later) = pages(3)
        assert started(some.handle(Added(0.0, (first,)))) == [0]
        together = Together(
            1.0,
            (
                polled(1.0, 0),
                Added(1.0, tuple(later)),
                Linked(1.0, 0, Links(np.array([1, 2]), ("a", "b"))),
            ),
        )
        assert started(some.handle(together))[0] == 0, "the first in turn"
        assert some.policy.links[0][1] == [1, 2]
        assert len(some.policy.leased) == some.in_flight

    def test_what_is_wrong_in_one_of_them_is_told(self):
        with pytest.raises(InputError, match="Staffed: polls"):
            scheduler().handle(Together(0.0, (Tick(0.0), Staffed(0.0, -1))))

    def test_links_for_another_policy_are_refused(self):
        with pytest.raises(InputError, match="RoundRobin discovers no pages"):
            scheduler().handle(Linked(0.0, 0, Links(np.array([1]), ("next",))))

    def test_the_line_before_a_host_can_be_short(self):
        some = scheduler(rate=1e6, line=1)
        some.handle(Added(0.0, pages(1, scope="h")))
        some.handle(Added(0.001, tuple(Page(n, scope="h") for n in range(1, 5))))
        assert policy_of(some).deferred == 3

    def test_a_line_of_a_negative_length_is_refused(self):
        with pytest.raises(InputError, match="line=-1 must be at least 0"):
            scheduler(line=-1)

    def test_a_negative_staff_is_refused(self):
        with pytest.raises(InputError, match="polls=-1 must be at least 0"):
            scheduler().handle(Staffed(0.0, -1))
