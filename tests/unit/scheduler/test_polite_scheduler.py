"""The scheduler leaves hosts alone as long as they are due to be."""

import math

from pollwise.events import Added, HostBlocked, HostFreed, HostPaced, Poll, Removed, Tick
from pollwise.policies.deadline.uniform import Uniform
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.scheduler.scheduler import Scheduler
from pollwise.types import Budget, Page

from .round_robin import (
    CHANGED,
    UNCHANGED,
    World,
    at_once,
    never,
    pages,
    policy_of,
    polled,
    scheduler,
    started,
    times_of,
    wake_at,
)


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

    def test_a_host_that_asks_for_a_shorter_delay_gets_it_at_once(self):
        world = World(scheduler(rate=100.0, crawl_delay=1.0), at_once)
        world.send(HostPaced(0.0, "h", 30.0))
        world.send(Added(0.0, pages(2, scope="h")))
        world.run(until=22.0)
        world.send(HostPaced(22.0, "h", 5.0))
        assert world.polls == [(0.0, 0), (22.0, 1)]

    def test_so_do_pages_that_are_overdue_and_not_in_line(self):
        world = World(scheduler(rate=100.0, crawl_delay=1.0), at_once)
        world.send(HostPaced(0.0, "h", 30.0))
        overdue = Page(99, scope="h", longest_interval=20.0)
        world.send(Added(0.0, (*pages(99, scope="h"), overdue)))
        world.run(until=22.0)
        world.send(HostPaced(22.0, "h", 5.0))
        assert world.polls == [(0.0, 0), (22.0, 99)]

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

    def test_a_budget_beyond_what_a_host_takes_starves_none_of_its_pages(self):
        policy = BayesianIndex(objective="freshness")
        some = Scheduler(policy, Budget(5.0), line=16, crawl_delay=0.8, first_copies=Budget(2.0))
        changes = (UNCHANGED, CHANGED)
        world = World(some, lambda page_id, now: (0.2, changes[page_id % 4 == 0]))
        world.send(Added(0.0, pages(200, scope="h")))
        world.run(until=2000.0)
        assert len(world.polls) > 1900
        counts = [len(times_of(world, page_id)) for page_id in range(200)]
        always = counts[::4]
        never_changed = [count for page_id, count in enumerate(counts) if page_id % 4]
        assert max(always) <= 3 * min(always)
        assert 2 <= min(never_changed) <= max(never_changed) <= 3

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


def test_the_more_time_has_passed_the_more_pages_are_passed_over():
    polled = []
    for pause in (0.01, 0.1):
        scheduler = Scheduler(Uniform(), Budget(1_000.0, burst=1_000.0))
        busy = [Page(n, scope="busy") for n in range(400)]
        scheduler.restore([*busy, Page(400, scope="free")], None)
        scheduler.handle(HostBlocked(1.0, "busy", 1e6))
        commands = scheduler.handle(Tick(1.0 + pause))
        polled.append([command.page_id for command in commands if isinstance(command, Poll)])
    assert polled == [[], [400]]


class TestLooks:
    """Polls that have their answer, wait, and fetch their page again."""

    def test_others_have_the_host_meanwhile_after_the_delay(self):
        some = scheduler(rate=100.0, burst=100.0, crawl_delay=0.5)
        assert started(some.handle(Added(0.0, pages(3, scope="h")))) == [0]
        freed = some.handle(HostFreed(1.0, 0, 1.1))
        assert (started(freed), wake_at(freed)) == ([], 1.5)
        assert started(some.handle(Tick(1.5))) == [1]
        assert started(some.handle(polled(2.0, 0, cost=3.0))) == []
        assert started(some.handle(polled(2.1, 1))) == []
        assert started(some.handle(Tick(2.6))) == [2]

    def test_the_look_ends_with_a_delay_as_well(self):
        some = scheduler(rate=100.0, burst=100.0, crawl_delay=0.5)
        some.handle(Added(0.0, pages(1, scope="h")))
        some.handle(HostFreed(1.0, 0, 1.1))
        assert started(some.handle(polled(3.0, 0, cost=3.0))) == []
        assert some.host_free_at("h", 3.0) == 3.5
        assert started(some.handle(Tick(3.5))) == [0]

    def test_a_page_is_not_polled_while_it_is_looked_at(self):
        some = scheduler(rate=100.0, burst=100.0, crawl_delay=0.5)
        some.handle(Added(0.0, pages(1, scope="h")))
        some.handle(HostFreed(1.0, 0, 1.1))
        assert started(some.handle(Tick(2.0))) == []

    def test_no_more_look_at_a_time_than_leave_others_a_turn(self):
        some = scheduler(rate=100.0, burst=100.0, crawl_delay=0.5)
        some.handle(Added(0.0, pages(9, scope="h")))
        begun, now = [0], 0.0
        while begun:
            some.handle(HostFreed(now, begun[-1], 1.1))
            now += 0.5
            begun = started(some.handle(Tick(now)))
        assert some.in_flight == 3
        assert started(some.handle(polled(now, 2, cost=3.0))) == []
        assert started(some.handle(Tick(now + 0.5))) == [3]

    def test_a_host_that_wants_longer_delays_waits_for_the_look(self):
        some = scheduler(rate=100.0, burst=100.0, crawl_delay=2.0)
        some.handle(Added(0.0, pages(2, scope="h")))
        some.handle(HostFreed(1.0, 0, 1.1))
        assert started(some.handle(Tick(4.0))) == []

    def test_a_look_that_is_lost_leaves_the_poll_of_another_alone(self):
        some = scheduler(rate=100.0, burst=100.0, crawl_delay=0.5, lease=10.0)
        some.handle(Added(0.0, pages(3, scope="h")))
        some.handle(HostFreed(1.0, 0, 1.1))
        assert started(some.handle(Tick(8.0))) == [1]
        assert started(some.handle(Tick(12.0))) == []
        assert some.in_flight == 1
        assert some.host_is_polled("h")

    def test_what_was_not_begun_frees_nothing(self):
        some = scheduler(rate=100.0, burst=100.0, crawl_delay=0.5)
        some.handle(Added(0.0, pages(2, scope="h")))
        some.handle(HostFreed(1.0, 1, 1.1))
        some.handle(HostFreed(1.0, 99, 1.1))
        assert started(some.handle(Tick(3.0))) == []
