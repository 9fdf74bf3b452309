"""The scheduler spends no more than the budget, and saves no more up than the burst."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.errors import InputError
from pollwise.events import Added, Removed, Tick
from pollwise.types import Budget, Page

from .round_robin import (
    assert_within_budget,
    pages,
    policy_of,
    polled,
    scheduler,
    started,
    steady,
    wake_at,
)


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
