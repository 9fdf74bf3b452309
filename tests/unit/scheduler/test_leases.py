"""A poll is under way until it is observed, or its lease ends."""

import pytest

from pollwise.events import Added, Polled, Removed, Tick
from pollwise.types import Outcome

from .round_robin import (
    CHANGED,
    FAILED,
    World,
    never,
    observed,
    pages,
    policy_of,
    polled,
    scheduler,
    started,
    times_of,
    wake_at,
)


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

    @pytest.mark.parametrize("outcome", [FAILED, Outcome.POSTPONED])
    def test_a_poll_that_waited_in_vain_tells_nothing_of_what_answers_take(self, outcome):
        def silent_from_50_to_100(page_id: int, now: float) -> tuple[float, Outcome]:
            return (10.0, outcome) if 50.0 <= now < 100.0 else (2.0, CHANGED)

        world = World(scheduler(rate=1.0), silent_from_50_to_100)
        world.send(Added(0.0, pages(9, scope="h")))
        world.run(until=150.0)
        assert world.scheduler.host_turn("h").answers_in == pytest.approx(2.0)

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
