"""Pages never polled: at their own rate beside the budget, as far as hosts allow."""

import itertools
import math
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.events import Added, HostBlocked, Removed, Tick
from pollwise.scheduler import first_copies
from pollwise.scheduler.cell_rate import CellRate
from pollwise.scheduler.first_copies import FirstCopies
from pollwise.scheduler.scheduler import Scheduler
from pollwise.types import Budget, Outcome, Page

from .round_robin import (
    FAILED,
    GONE,
    UNCHANGED,
    RoundRobin,
    World,
    assert_within_budget,
    at_once,
    policy_of,
    polled,
    started,
    steady,
    wake_at,
)


def scheduler(budget: float = 1e-3, first: float = 1.0, **options: float) -> Scheduler:
    return Scheduler(RoundRobin(), Budget(budget), first_copies=Budget(first), **options)


def waiting(*pages: Page) -> FirstCopies:
    some = FirstCopies(Budget(1.0), CellRate(Budget(1e-3)))
    some.add(pages)
    return some


def always_free(scope: str, now: float) -> float:
    return now


class TestQueue:
    @steady
    @given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0.1, 10)), max_size=30))
    def test_each_page_is_given_once_in_the_order_of_weight(self, drawn):
        some = waiting(*(Page(n, scope=s, weight=w) for n, (s, w) in enumerate(drawn)))
        given_out = [some.take(0.0, always_free) for _ in drawn]
        best_first = sorted(range(len(drawn)), key=lambda n: (-drawn[n][1], n))
        assert given_out == best_first
        assert some.take(0.0, always_free) is None
        assert some.next_at == math.inf
        assert len(some) == len(drawn)

    @steady
    @given(
        st.lists(
            st.tuples(
                st.sampled_from(["add", "end", "put back", "take", "update"]),
                st.integers(0, 7),
                st.floats(0.0, 3.0),
            ),
            max_size=80,
        )
    )
    def test_whatever_happens_no_page_is_given_twice_or_forgotten(self, steps):
        some, now = waiting(), 0.0
        ready: set[int] = set()
        taken: set[int] = set()
        for what, page_id, seconds in steps:
            now += seconds / 10
            if what == "add" and page_id not in some:
                some.add([Page(page_id, scope="ab"[page_id % 2], weight=1 + seconds)])
                ready.add(page_id)
            elif what == "end":
                some.end(page_id)
                ready.discard(page_id)
                taken.discard(page_id)
            elif what == "put back" and page_id in taken:
                taken.discard(page_id)
                some.put_back(page_id, now + seconds)
                ready.add(page_id)
            elif what == "update" and page_id in some:
                some.update(Page(page_id, scope="ab"[page_id % 2], weight=1 + seconds), now)
            elif what == "take":
                page = some.take(now, always_free)
                if page is not None:
                    assert page in ready
                    ready.discard(page)
                    taken.add(page)
        while (page := some.take(now + 10.0, always_free)) is not None:
            ready.remove(page)
        assert not ready

    @steady
    @given(
        st.lists(
            st.tuples(st.sampled_from("abc"), st.sampled_from([1.0, 2.0]), st.booleans()),
            max_size=12,
        )
    )
    def test_whether_few_come_or_many_does_not_matter(self, drawn):
        pages = [Page(n, scope=s, weight=w, paused=p) for n, (s, w, p) in enumerate(drawn)]

        def busy_at_first(scope: str, now: float) -> float:
            return max(now, 3.0) if scope == "b" else now

        orders = []
        for few in (0, 100):
            with mock.patch.object(first_copies, "_FEW", few):
                some = waiting(*pages)
            orders.append([some.take(now, busy_at_first) for now in (0.0, 3.0) for _ in pages])
            assert some.next_at == math.inf
        assert orders[0] == orders[1]

    def test_a_page_waits_for_its_host_and_others_go_first(self):
        some = waiting(Page(0, scope="a", weight=9.0), Page(1, scope="b"))
        busy = {"a": 7.0}
        assert some.take(1.0, lambda scope, now: busy.get(scope, now)) == 1
        assert some.take(1.0, lambda scope, now: busy.get(scope, now)) is None
        assert some.next_at == 7.0
        assert some.take(7.0, always_free) == 0


class TestRate:
    def test_first_copies_do_not_wait_for_the_budget(self):
        some = scheduler(budget=20 / 3600)
        commands = some.handle(Added(0.0, (Page(0, scope="a"), Page(1, scope="b"))))
        assert (started(commands), wake_at(commands)) == ([0], 1.0)
        assert policy_of(some).turns == {}
        assert started(some.handle(polled(0.5, 0, Outcome.CHANGED))) == []
        assert started(some.handle(Tick(1.0))) == [1]
        # The first of them took what the budget had left.
        commands = some.handle(polled(1.5, 1, Outcome.CHANGED))
        assert (started(commands), wake_at(commands)) == ([], 180.0)

    def test_pages_with_a_copy_have_the_budget_for_themselves_meanwhile(self):
        some = World(scheduler(budget=0.1, first=1.0), at_once)
        known = tuple(Page(n, seen_at=-1.0) for n in range(100, 103))
        some.send(Added(0.0, known + tuple(Page(n) for n in range(50))))
        some.run(45.0)
        seen = {page.id for page in known}
        others = [time for time, page_id in some.polls if page_id in seen or seen.add(page_id)]
        assert others == [0.0, 10.0, 20.0, 30.0, 40.0]
        assert len(seen) == len(known) + 46

    @steady
    @given(
        budget=st.floats(0.01, 2.0),
        first=st.floats(0.01, 2.0),
        hosts=st.integers(1, 40),
        count=st.integers(1, 40),
    )
    def test_neither_rate_is_exceeded(self, budget, first, hosts, count):
        some = World(scheduler(budget, first, crawl_delay=0.1), at_once)
        some.send(Added(0.0, tuple(Page(n, scope=str(n % hosts)) for n in range(count))))
        some.run(200.0)
        first_polls: dict[int, float] = {}
        others = []
        for time, page_id in some.polls:
            if page_id in first_polls:
                others.append(time)
            else:
                first_polls[page_id] = time
        times = sorted(first_polls.values())
        if first > budget:
            assert_within_budget(times, first, 1.0)
            assert_within_budget(others, budget, 1.0)
        else:
            assert_within_budget([time for time, _ in some.polls], budget, 1.0)

    def test_a_real_cost_corrects_what_it_was_counted_in(self):
        some = scheduler(first=1.0)
        some.handle(Added(0.0, (Page(0), Page(1), Page(2, seen_at=-1.0))))
        commands = some.handle(polled(0.5, 0, cost=3.0))
        assert (started(commands), wake_at(commands)) == ([], 3.0)
        assert started(some.handle(Tick(3.0))) == [1]

    def test_a_host_is_left_alone_between_first_copies(self):
        some = World(scheduler(first=100.0, crawl_delay=2.0), at_once)
        some.send(Added(0.0, tuple(Page(n, scope="one") for n in range(5))))
        some.run(100.0)
        times = [time for time, _ in some.polls]
        assert len(times) >= 5
        assert all(later - time >= 2.0 for time, later in itertools.pairwise(times))

    def test_a_host_that_is_free_sooner_than_expected_has_first_copies_first(self):
        """Nobody knows how soon an answer comes: the policy must not get in before them."""
        some = scheduler(budget=2.0, first=2.0, crawl_delay=1.0)
        world = World(some, lambda page_id, now: (0.6, UNCHANGED))
        world.send(Added(0.0, tuple(Page(n, scope="h") for n in range(3))))
        world.run(10.0)
        assert [page_id for _, page_id in world.polls[:3]] == [0, 1, 2]

    def test_a_blocked_host_is_not_asked(self):
        some = scheduler()
        some.handle(HostBlocked(0.0, "a", 50.0))
        commands = some.handle(Added(0.0, (Page(0, scope="a"),)))
        assert (started(commands), wake_at(commands)) == ([], 50.0)
        assert started(some.handle(Tick(50.0))) == [0]


class TestFates:
    @pytest.mark.parametrize("outcome", [FAILED, GONE])
    def test_a_page_that_failed_comes_again_within_the_budget(self, outcome):
        some = scheduler(budget=1e-2, retry_after=10.0)
        some.handle(Added(0.0, (Page(0),)))
        some.handle(polled(0.5, 0, outcome))
        assert policy_of(some).turns.keys() == {0}
        assert started(some.handle(Tick(99.0))) == []
        assert started(some.handle(Tick(100.0))) == [0]
        assert wake_at(some.handle(polled(100.5, 0))) == 200.0

    def test_a_page_that_was_postponed_comes_again_beside_the_budget(self):
        some = scheduler(retry_after=10.0)
        some.handle(Added(0.0, (Page(0), Page(1, seen_at=-1.0))))
        some.handle(polled(0.5, 0, Outcome.POSTPONED))
        assert policy_of(some).turns.keys() == {1}
        again_at = wake_at(some.handle(Tick(1.0)))
        assert 9.0 <= again_at - 0.5 <= 11.0
        assert started(some.handle(Tick(again_at))) == [0]

    def test_a_lost_poll_counts_as_failed(self):
        some = scheduler(lease=5.0, retry_after=10.0)
        some.handle(Added(0.0, (Page(0),)))
        some.handle(Tick(5.0))
        assert policy_of(some).turns.keys() == {0}
        assert some.rests_until(0) is not None

    def test_a_page_removed_while_it_waits_is_not_polled(self):
        some = scheduler()
        some.handle(Added(0.0, (Page(0), Page(1))))
        some.handle(Removed(0.1, (1,)))
        assert started(some.handle(Tick(1.0))) == []

    def test_a_page_removed_and_added_again_is_polled_once_at_a_time(self):
        some = scheduler(budget=1e-2)
        some.handle(Added(0.0, (Page(0),)))
        some.handle(Removed(0.1, (0,)))
        assert started(some.handle(Added(2.0, (Page(0),)))) == []
        some.handle(polled(3.0, 0))
        assert some.in_flight == 0
        assert started(some.handle(Tick(100.0))) == [0]

    def test_after_a_restart_only_pages_without_an_answer_are_first_copies(self):
        before = scheduler(retry_after=10.0)
        before.handle(Added(0.0, (Page(0), Page(1), Page(2))))
        before.handle(polled(0.5, 0))
        before.handle(Tick(1.0))
        before.handle(polled(1.5, 1, FAILED))
        again = scheduler(retry_after=10.0)
        again.restore([Page(0, seen_at=0.5), Page(1), Page(2)], before.state())
        assert policy_of(again).turns.keys() == {0, 1}
        assert 2 in started(again.handle(Tick(2.0)))
