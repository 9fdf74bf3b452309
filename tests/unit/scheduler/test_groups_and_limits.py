"""Hosts that share a scope, and hosts that get no more polls than they are allowed."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.events import Added, HostBlocked, HostPaced, Tick
from pollwise.shared_scopes import DomainScopes
from pollwise.types import Page

from .round_robin import World, at_once, pages, polled, scheduler, steady, times_of

DAY = 86_400.0


def both(first: str = "a", second: str = "b") -> list[Page]:
    return [Page(0, scope=first), Page(1, scope=second)]


GROUP = {"a": "@x", "b": "@x"}


class TestGroups:
    @pytest.mark.parametrize(
        ("groups", "hosts"),
        [(GROUP, ("a", "b")), (DomainScopes({}), ("a.example.org", "b.example.org"))],
        ids=["group", "domain"],
    )
    def test_hosts_of_a_group_share_one_delay(self, groups, hosts):
        world = World(scheduler(rate=10.0, crawl_delay=3.0, groups=groups), at_once)
        world.send(Added(0.0, [*both(*hosts), Page(2, scope="localhost")]))
        world.run(until=60.0)
        assert len(times_of(world, 2)) > 15
        times = sorted(times_of(world, 0) + times_of(world, 1))
        assert len(times) > 15
        assert all(later - earlier >= 3.0 for earlier, later in pairwise(times))

    def test_what_one_host_asks_for_holds_for_all_of_its_group(self):
        some = scheduler(rate=10.0, crawl_delay=1.0, groups=GROUP)
        world = World(some, at_once)
        world.send(HostPaced(0.0, "a", 7.0))
        world.send(HostBlocked(0.0, "a", 20.0))
        world.send(Added(0.0, both()))
        world.run(until=30.0)
        assert sorted(time for time, _ in world.polls) == [20.0, 27.0]
        assert some.host_blocked_until("b") == some.host_blocked_until("@x") == 20.0
        assert some.host_free_at("b", 28.0) == 34.0

    def test_it_survives_a_restart(self):
        some = scheduler(rate=10.0, groups=GROUP)
        some.handle(Added(0.0, both()))
        some.handle(HostBlocked(1.0, "a", 50.0))
        again = scheduler(rate=10.0, groups=GROUP)
        again.restore(both(), some.state())
        assert again.host_free_at("b", 2.0) == 50.0


class TestLimits:
    @steady
    @given(st.integers(1, 30), st.floats(1.0, 200.0))
    def test_no_day_has_more_polls_than_the_limit(self, count, per_day):
        some = scheduler(rate=1.0, crawl_delay=1.0, limits={"a": per_day / DAY})
        world = World(some, at_once)
        world.send(Added(0.0, pages(count, scope="a")))
        world.run(until=2 * DAY)
        times = [time for time, _ in world.polls]
        # As many as there may be: neither more nor fewer.
        for begin in (0.0, DAY / 2, DAY):
            # A poll at the end of the day, but for rounding, is one of the next day.
            within = sum(begin <= time < begin + DAY - 1e-6 for time in times)
            assert math.floor(per_day) - 1 <= within <= math.ceil(per_day)

    def test_a_poll_that_fetched_its_page_three_times_counts_as_three(self):
        some = scheduler(rate=1.0, crawl_delay=1.0, limits={"a": 0.1})
        some.handle(Added(0.0, [Page(0, scope="a", cost=2.0), Page(1, scope="a", cost=2.0)]))
        some.handle(polled(3.0, 0, cost=6.0))
        assert some.host_limited_until("a") == pytest.approx(30.0)
        world = World(some, at_once)
        world.send(Tick(4.0))
        world.run(until=45.0)
        # One that was cheaper than others, as nothing was new, still is a poll.
        assert [time for time, _ in world.polls] == pytest.approx([30.0, 40.0])

    def test_other_hosts_go_on_meanwhile(self):
        some = scheduler(rate=1.0, crawl_delay=0.0, limits={"a": 1 / 3600})
        world = World(some, at_once)
        world.send(Added(0.0, [*both(), *(Page(n, scope="a") for n in range(2, 10))]))
        world.run(until=3000.0)
        assert len(world.polls) - 1 == len(times_of(world, 1)) > 100

    def test_a_group_has_one_limit(self):
        some = scheduler(rate=1.0, crawl_delay=0.0, groups=GROUP, limits={"@x": 0.01})
        world = World(some, at_once)
        world.send(Added(0.0, both()))
        world.run(until=999.0)
        assert len(world.polls) == 10
        assert some.host_limited_until("a") == some.host_limited_until("b")

    def test_what_was_used_up_survives_a_restart_and_what_is_unlimited_is_free(self):
        limits = {"a": 1 / 3600}
        some = scheduler(rate=1.0, limits=limits)
        some.handle(Added(0.0, both()))
        assert some.host_limited_until("a") == 3600.0
        assert some.host_limited_until("b") == -math.inf
        again = scheduler(rate=1.0, limits=limits)
        again.restore(both(), some.state())
        assert again.host_limited_until("a") == 3600.0
        assert again.host_free_at("a", 10.0) == 3600.0
        # A host may be asked for its robots.txt all the same.
        assert again.host_blocked_until("a") <= 2.0
        without = scheduler(rate=1.0)
        without.restore(both(), some.state())
        assert without.host_free_at("a", 10.0) == 10.0

    def test_a_clock_that_was_ahead_holds_no_host_back(self):
        some = scheduler(rate=1.0, limits={"a": 1 / 3600})
        some.handle(Added(1e6, both()))
        again = scheduler(rate=1.0, limits={"a": 1 / 3600})
        again.restore(both(), some.state())
        again.begin(0.0)
        assert again.host_limited_until("a") == pytest.approx(3600.0)
