"""Pages that fail rest for longer and longer, and always come back."""

import copy
import itertools
import json
import math
import random
from dataclasses import astuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.events import Added, Polled, Removed, Tick, Together, Unanswered
from pollwise.scheduler.back_offs import BackOffs, back_offs_of
from pollwise.scheduler.scheduler import Scheduler
from pollwise.types import Item, Observation, Outcome, Page

from .round_robin import (
    FAILED,
    GONE,
    UNCHANGED,
    World,
    observed,
    pages,
    policy_of,
    polled,
    scheduler,
    started,
    steady,
    times_of,
    wake_at,
)


def test_a_state_has_all_that_failures_tell_and_copies_none_of_it_in_depth(monkeypatch):
    told = [
        Observation(3, 1.0, FAILED),
        Observation(4, 2.0, GONE, 0.5, 7, cost=3.0, reverted=True, relevance=0.25),
    ]
    with_items = Observation(5, 3.0, FAILED, items=(Item(2.0, 0.5),))
    expected = [astuple(one) for one in (*told, with_items)]
    some = BackOffs(60.0, 3600.0)
    for failure in told:
        some.failed(failure, 0.25, 5.0)
    with monkeypatch.context() as patch:
        patch.setattr(copy, "deepcopy", None)
        rows = some.state()
    some.failed(with_items, 0.25, 5.0)
    assert [row[0] for row in rows] == expected[:2]
    assert [row[0] for row in some.state()] == expected
    assert rows[0][1:] == (0.25, 60.0, some.until(3))
    again = BackOffs(60.0, 3600.0)
    again.load(back_offs_of(json.loads(json.dumps(some.state()))))
    assert json.dumps(again.state()) == json.dumps(some.state())


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


class TestPostponed:
    """A poll that was not made tells nothing of its page or host."""

    def test_the_page_comes_again_ever_later_but_within_an_hour_or_so(self):
        some = World(scheduler(retry_after=60.0), lambda page_id, now: (0.0, Outcome.POSTPONED))
        some.send(Added(0.0, pages(1)))
        some.run(86_400.0)
        times = times_of(some, 0)
        rests = [later - earlier for earlier, later in itertools.pairwise(times)]
        spread = rests[0] / 60.0
        assert 0.9 <= spread <= 1.1
        doubled = [60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, *[3600.0] * 50]
        assert rests == pytest.approx([spread * rest for rest in doubled[: len(rests)]])
        assert len(rests) > 20

    def test_an_answer_makes_the_next_postponement_short_again(self):
        def answer(page_id: int, now: float) -> tuple[float, Outcome]:
            return 0.0, Outcome.POSTPONED if now < 300.0 or now > 2000.0 else UNCHANGED

        some = World(scheduler(rate=0.01, retry_after=60.0), answer)
        some.send(Added(0.0, pages(1)))
        some.run(4000.0)
        late = [time for time in times_of(some, 0) if time > 2000.0]
        assert late[1] - late[0] < 130.0

    def test_pages_that_are_always_postponed_leave_the_budget_to_others(self):
        def answer(page_id: int, now: float) -> tuple[float, Outcome]:
            return 0.0, Outcome.POSTPONED if page_id < 2 else UNCHANGED

        some = World(scheduler(rate=1 / 60.0, retry_after=60.0), answer)
        some.send(Added(0.0, pages(20)))
        some.run(6 * 3600.0)
        postponed = sum(page_id < 2 for _, page_id in some.polls)
        assert len(some.polls) > 350
        assert postponed < 40

    def test_the_policy_is_told_nothing_and_a_failing_page_stays_where_it_was(self):
        some = scheduler()
        some.handle(Added(0.0, pages(1)))
        some.handle(polled(0.5, 0, FAILED))
        rest = some.rests_until(0)
        assert rest is not None
        some.handle(Tick(rest))
        told = list(policy_of(some).told)
        some.handle(polled(rest + 1.0, 0, Outcome.POSTPONED))
        assert policy_of(some).told == told
        assert some.rests_until(0) == rest


def unanswered(now: float, *page_ids: int, outcome: Outcome = FAILED) -> Together:
    """Polls that had no answer."""
    told = tuple(observed(one, now, outcome) for one in page_ids)
    return Together(now, (*(Unanswered(now, one) for one in page_ids), Polled(now, told)))


HOSTS = tuple(Page(n, scope="abc"[n % 3]) for n in range(9))


class TestUnanswered:
    def resting(self) -> Scheduler:
        """Pages that have failed again and again."""
        some = scheduler(rate=100.0, burst=100.0, crawl_delay=0.0)
        some.handle(Added(0.0, HOSTS))
        for n in range(8):
            some.handle(Polled(1e4 * n, tuple(observed(one, 1e4 * n, FAILED) for one in (2, 5))))
        return some

    def test_rests_end_when_the_host_answers(self):
        some = self.resting()
        some.handle(polled(1e5, 5, FAILED))
        some.handle(unanswered(1e5, 2))
        some.handle(polled(1e5 + 1, 0))
        assert some.rests_until(2) > 1e5 + 1000
        some.handle(polled(1e5 + 2, 8))
        assert some.rests_until(2) == 1e5 + 2
        assert some.rests_until(5) > 1e5 + 60  # its host had answered, and told that it fails

    def test_all_end_when_any_host_answers_after_several_gave_no_answer(self):
        some = self.resting()
        some.handle(unanswered(1e5, 1, 2))
        some.handle(unanswered(2e5, 1, 2))
        told = len(policy_of(some).told)
        some.handle(polled(2e5 + 1, 0))
        assert {some.rests_until(1), some.rests_until(2)} == {2e5 + 1}
        assert {one.page_id for one in policy_of(some).told[told:]} == {0, 1, 2}

    def test_none_ends_for_others_if_a_host_answered_while_no_answer_was_waited_for(self):
        some = scheduler(rate=100.0, burst=100.0, crawl_delay=0.0)
        some.handle(Added(0.0, HOSTS))
        begun = [one for at in (1.0, 2.0) for one in started(some.handle(Tick(at)))]
        assert {1, 2} <= set(begun)
        some.handle(polled(5.0, 0))
        some.handle(unanswered(10.0, 1, 2))  # begun before that answer
        rests = some.rests_until(1), some.rests_until(2)
        some.handle(polled(11.0, 3))
        assert (some.rests_until(1), some.rests_until(2)) == rests

    def test_each_page_is_let_off_once_until_it_is_answered(self):
        some = self.resting()
        some.handle(unanswered(1e5, 1, 2))
        some.handle(polled(1e5 + 1, 0))
        some.handle(unanswered(2e5, 1, 2))
        for page_id in (0, 8):
            some.handle(polled(2e5 + 1, page_id))
        assert some.rests_until(2) > 2e5 + 60
        some.handle(polled(2e5 + 2, 2))
        some.handle(unanswered(3e5, 2))
        some.handle(polled(3e5 + 1, 8))
        assert some.rests_until(2) == 3e5 + 1

    def test_they_end_early_after_a_restart_too(self):
        before = self.resting()
        before.handle(unanswered(1e5, 1, 2))
        some = scheduler(rate=100.0, burst=100.0, crawl_delay=0.0)
        some.restore(HOSTS, before.state())
        some.handle(Tick(1e5 + 5))
        some.handle(polled(1e5 + 6, 0))
        assert {some.rests_until(1), some.rests_until(2)} == {1e5 + 6}

    def test_each_page_is_let_off_once_over_restarts_too(self):
        before = self.resting()
        before.handle(unanswered(1e5, 1, 2))
        before.handle(polled(1e5 + 1, 0))
        before.handle(unanswered(2e5, 1, 2))
        some = scheduler(rate=100.0, burst=100.0, crawl_delay=0.0)
        some.restore(HOSTS, before.state())
        some.handle(Tick(2e5 + 1))
        some.handle(unanswered(3e5, 1, 2))
        some.handle(polled(3e5 + 1, 0))
        assert some.rests_until(2) > 3e5 + 60
        some.handle(polled(3e5 + 2, 2))
        some.handle(unanswered(4e5, 2))
        some.handle(polled(4e5 + 1, 8))
        assert some.rests_until(2) == 4e5 + 1

    def test_without_a_network_pages_wait_some_minutes_at_most(self):
        some = BackOffs(60.0, 1e6)
        waits = [some.postponed(1, had_answer=False) for _ in range(9)]
        assert max(waits) <= 330.0
        assert some.postponed(2) <= 66.0
