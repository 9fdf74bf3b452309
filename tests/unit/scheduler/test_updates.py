"""What users want otherwise while pages are polled: pauses, weights, bounds, another budget."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.events import Added, Budgeted, Polled, SavedUp, Tick, Updated
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.scheduler.bounds import Bounds
from pollwise.scheduler.scheduler import Scheduler
from pollwise.types import Budget, Observation, Outcome, Page

from .round_robin import (
    World,
    at_once,
    pages,
    policy_of,
    scheduler,
    started,
    steady,
    times_of,
    wake_at,
)

BOUNDED = Bounds(longest=20.0, automatic=True)


class TestPause:
    @pytest.mark.parametrize("options", [{}, {"bounds": BOUNDED}], ids=["free", "bounded"])
    @pytest.mark.parametrize("scope", ["", "a"], ids=["without a host", "in line for a host"])
    @pytest.mark.parametrize("copy", [None, 0.0], ids=["first copy", "known"])
    def test_a_paused_page_is_not_polled_until_it_goes_on(self, options, scope, copy):
        some = scheduler(rate=1.0, first_copies=Budget(2.0), **options)
        world = World(some, at_once)
        watched = [Page(n, scope=scope, seen_at=copy) for n in range(3)]
        world.send(Added(0.0, watched))
        world.run(until=10.0)
        world.send(Updated(10.5, [Page(1, scope=scope, seen_at=copy, paused=True)]))
        world.run(until=100.0)
        assert [time for time in times_of(world, 1) if time > 10.5] == []
        assert len(world.polls) > 90
        world.send(Updated(100.5, [Page(1, scope=scope, seen_at=copy)]))
        world.run(until=130.0)
        assert len([time for time in times_of(world, 1) if time > 100.5]) > 5

    def test_a_page_may_be_paused_from_the_beginning(self):
        for copy in (None, 0.0):
            world = World(scheduler(rate=1.0, first_copies=Budget(2.0)), at_once)
            world.send(Added(0.0, [Page(0, seen_at=0.0), Page(1, seen_at=copy, paused=True)]))
            world.run(until=50.0)
            assert times_of(world, 1) == []
            world.send(Updated(50.0, [Page(1, seen_at=copy)]))
            world.run(until=60.0)
            assert times_of(world, 1) != []

    def test_a_poll_under_way_is_still_taken_in(self):
        some = scheduler(rate=1.0)
        assert started(some.handle(Added(0.0, pages(1)))) == [0]
        some.handle(Updated(0.5, [Page(0, paused=True)]))
        some.handle(Polled(1.0, (Observation(0, 1.0, Outcome.CHANGED),)))
        assert [one.outcome for one in policy_of(some).told] == [Outcome.CHANGED]
        assert started(some.handle(Tick(50.0))) == []

    def test_one_that_was_postponed_waits_as_well(self):
        some = scheduler(rate=1.0, first_copies=Budget(2.0))
        assert started(some.handle(Added(0.0, pages(1)))) == [0]
        some.handle(Updated(0.5, [Page(0, paused=True)]))
        some.handle(Polled(1.0, (Observation(0, 1.0, Outcome.POSTPONED),)))
        assert started(some.handle(Tick(9_000.0))) == []
        assert started(some.handle(Updated(9_001.0, pages(1)))) == [0]

    def test_of_a_page_that_is_told_twice_at_once_the_last_word_holds(self):
        some = scheduler(rate=1.0)
        some.handle(Added(0.0, pages(2)))
        twice = [Page(0, weight=2.0), Page(0, weight=3.0, paused=True)]
        some.handle(Updated(0.5, twice))
        assert some.bounds.is_paused(0)

    @pytest.mark.parametrize("options", [{}, {"bounds": BOUNDED}], ids=["free", "bounded"])
    def test_one_with_a_copy_that_was_postponed_while_paused_goes_on(self, options):
        some = scheduler(rate=1.0, first_copies=Budget(2.0), **options)
        page = Page(0, seen_at=0.0)
        assert started(some.handle(Added(0.0, [page]))) == [0]
        some.handle(Updated(0.5, [replace(page, paused=True)]))
        some.handle(Polled(1.0, (Observation(0, 1.0, Outcome.POSTPONED),)))
        assert started(some.handle(Tick(9_000.0))) == []
        polls = started(some.handle(Updated(9_001.0, [page])))
        assert polls or started(some.handle(Tick(9_100.0))) == [0]


class TestTerms:
    def test_a_policy_keeps_what_it_learned_of_a_page_with_another_weight(self):
        some = Scheduler(BayesianIndex(objective="delay"), Budget(1.0))
        world = World(some, lambda page, now: (0.0, Outcome(page == 0 and int(now) % 7 < 3)))
        world.send(Added(0.0, pages(4)))
        world.run(until=200.0)
        before = some.policy.state_dict([0])
        polled = len(times_of(world, 0))
        world.send(Updated(200.0, [Page(0, weight=1e-6)]))
        after = some.policy.state_dict([0])
        for name, array in before.items():
            if "weight" not in name:
                np.testing.assert_array_equal(array, after[name], err_msg=name)
        world.run(until=400.0)
        assert len(times_of(world, 0)) - polled < polled / 2

    def test_another_cost_counts_from_the_next_poll_on(self):
        some = scheduler(rate=1.0)
        assert started(some.handle(Added(0.0, pages(2)))) == [0]
        some.handle(Updated(0.5, [Page(1, cost=5.0)]))
        commands = some.handle(Tick(1.0))
        assert (started(commands), wake_at(commands)) == ([1], 6.0)

    def test_another_bound_holds_at_once(self):
        world = World(scheduler(rate=1.0, bounds=BOUNDED), at_once)
        world.send(Added(0.0, pages(2)))
        world.run(until=10.0)
        world.send(Updated(10.0, [Page(0, shortest_interval=15.0, seen_at=9.0)]))
        world.run(until=60.0)
        assert np.diff([time for time in times_of(world, 0) if time > 9.0]).min() >= 15.0

    def test_unknown_pages_are_ignored_and_free_ones_refused(self):
        some = scheduler()
        assert started(some.handle(Updated(0.0, [Page(7, paused=True)]))) == []
        some.handle(Added(0.0, pages(1)))
        with pytest.raises(ValueError, match="Updated: page 0: cost"):
            some.handle(Updated(1.0, [Page(0, cost=0.0)]))


def test_what_was_saved_up_is_spent_on_each_page_once():
    world = World(scheduler(rate=0.1, bounds=BOUNDED), at_once)
    world.send(Added(0.0, [Page(n, seen_at=0.0) for n in range(3)]))
    world.run(until=30.0)
    world.send(SavedUp(30.5, 100.0))
    world.run(until=100.0)
    assert sorted(page for time, page in world.polls if time >= 30.5) == [0, 1, 2]


class TestBudgeted:
    @steady
    @given(st.floats(0.01, 10.0), st.floats(0.01, 10.0))
    def test_a_budget_holds_from_the_event_on(self, before, after):
        world = World(scheduler(rate=before), at_once)
        world.send(Added(0.0, pages(3)))
        world.run(until=100.0)
        world.send(Budgeted(100.0, after, 1.0))
        world.run(until=300.0)
        later = [time for time, _ in world.polls if time > 100.0]
        owed = 0.0 if after > before else 1.0 / before  # the last poll is paid at the old rate
        assert len(later) == pytest.approx((200.0 - owed) * after, abs=2.0)

    def test_none_is_no_budget(self):
        with pytest.raises(ValueError, match="Budget: rate"):
            scheduler().handle(Budgeted(0.0, math.nan, 1.0))
