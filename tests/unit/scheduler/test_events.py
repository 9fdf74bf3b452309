"""What the scheduler makes of single events, and of what it cannot take."""

import math

import numpy as np
import pytest

from pollwise.errors import InputError
from pollwise.events import (
    Added,
    Aimed,
    Budgeted,
    HostBlocked,
    Linked,
    Polled,
    Removed,
    Rescored,
    Staffed,
    Tick,
    Together,
    Updated,
    WakeAt,
)
from pollwise.policies.base import Policy
from pollwise.scheduler.scheduler import Scheduler
from pollwise.simulation.worlds.stochastic_knapsack import StochasticKnapsack, play
from pollwise.types import Budget, Links, Observation, Outcome, Page, Selection

from .round_robin import RoundRobin, observed, pages, policy_of, polled, scheduler, started, wake_at


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
            Added(0.0, (Page(1, weight=math.nan),)),
            Updated(0.0, (Page(0, weight=math.inf),)),
            Polled(0.0, (observed(0, 0.0, cost=math.inf),)),
            Polled(0.0, (observed(0, 0.0), observed(0, 0.0, cost=-1.0))),
        ],
    )
    def test_numbers_that_are_none_are_refused_before_anything_is_taken_in(self, event):
        some = scheduler()
        some.handle(Added(0.0, pages(1)))
        before = some.state()
        with pytest.raises(
            InputError, match=r"^(Tick|Added|Updated|Polled): .+=\S+ must be finite"
        ):
            some.handle(event)
        assert some.state() == before
        assert some.in_flight == 1

    @pytest.mark.parametrize(
        "other",
        [
            Added(1.0, (Page(1, cost=0.0),)),
            Added(1.0, (Page(1), Page(-1))),
            Together(1.0, (Added(1.0, (Page(1),)), Budgeted(1.0, 1.0, 1.0, (("shop", 2.0),)))),
            Updated(1.0, (Page(0, cost=math.inf),)),
            Linked(1.0, 0, Links(np.array([1], np.int64), ("one",))),
            Rescored(1.0, (0,), (0.5,)),
            Rescored(1.0, (0,), (1.5,)),
            Aimed(1.0, (("word", 1.0),)),
            Budgeted(1.0, 0.0, 1.0),
            Budgeted(1.0, 1.0, 1.0, (("shop", 0.5),)),
            Staffed(1.0, -1),
        ],
    )
    def test_of_events_together_none_is_taken_in_if_one_cannot_be(self, other):
        some = scheduler()
        assert started(some.handle(Added(0.0, pages(1)))) == [0]
        with pytest.raises(InputError):
            some.handle(Together(1.0, (polled(1.0, 0), other)))
        assert (some.in_flight, policy_of(some).told) == (1, [])
        some.handle(Together(1.0, (polled(1.0, 0), Added(1.0, pages(2)))))
        assert len(policy_of(some).told) == 1

    def test_a_policy_with_pages_of_its_own_is_refused(self):
        policy = RoundRobin()
        policy.add(pages(1))
        with pytest.raises(InputError, match=r"page 0, which the scheduler does not know; .+Added"):
            Scheduler(policy, Budget(1.0)).handle(Tick(0.0))

    @pytest.mark.parametrize(
        ("given", "told"),
        [
            (Selection([0]), r"policy's page_ids are \[0\]: it must give Selection\(.+int64\)"),
            (Selection(None), r"select gave Selection\(page_ids=None.+: it must give Selection"),
            (None, r"select gave None: it must give Selection\(.+int64\)"),
            (0, r"select gave 0: it must give Selection"),
        ],
    )
    def test_what_a_policy_selects_is_an_array(self, given, told):
        class Wrong(RoundRobin):
            def select(self, now: float, limit: int) -> Selection:
                return given

        some = Scheduler(Wrong(), Budget(1.0))
        with pytest.raises(InputError, match=told):
            some.handle(Added(0.0, pages(1)))
        knapsack = StochasticKnapsack([0.5, 0.5])
        with pytest.raises(InputError, match=told):
            play(Wrong(), knapsack, polls=3, seed=0)

    def test_the_policy_of_these_tests_is_one(self):
        assert isinstance(RoundRobin(), Policy)

    @pytest.mark.parametrize(
        ("event", "words"),
        [
            (Tick("2024-05-01"), "Tick: now='2024-05-01' must be finite, a number of UTC seconds"),
            (Tick(1714564800000), "divide milliseconds by 1000"),
            (Tick, "the class Tick; give an object, such as Tick"),
            (Polled(0.0, (observed(0, "noon"),)), "page 0: polled_at='noon' must be finite"),
            (Polled(0.0, (observed(0, 1e18),)), "divide nanoseconds by 1e9"),
            (
                Polled(0.0, (Observation(0, 0.0, Outcome.CHANGED, 1e12),)),
                "last_changed_at=.* by 1000",
            ),
            (Added(0.0, (Page(1, seen_at=1e15),)), "page 1: seen_at=.* divide microseconds"),
            ("Tick", "event='Tick' must be an event, such as Tick"),
        ],
    )
    def test_what_is_no_event_or_no_time_is_refused_in_a_line(self, event, words):
        some = scheduler()
        with pytest.raises(InputError, match=words):
            some.handle(event)

    def test_a_class_for_a_policy_and_text_for_a_budget_are_refused(self):
        with pytest.raises(InputError, match="policy is the class RoundRobin; give an object"):
            Scheduler(RoundRobin, Budget(1.0))
        with pytest.raises(InputError, match=r"budget='5/hour' must be a Budget, such as Budget"):
            Scheduler(RoundRobin(), "5/hour")
