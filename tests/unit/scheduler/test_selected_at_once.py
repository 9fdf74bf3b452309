"""Where the budget allows several polls, their pages are selected at once, with the same polls."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.events import Added, HostBlocked, Polled, Staffed, Tick
from pollwise.scheduler.cell_rate import CellRate
from pollwise.scheduler.scheduler import Scheduler
from pollwise.types import Budget, Observation, Outcome, Page

from .round_robin import RoundRobin, policy_of, started, steady


class OneByOne(RoundRobin):
    """Selects one page each time, whatever is asked for."""

    def select(self, now, limit):
        return super().select(now, min(limit, 1))


def saved_up(policy, costs, burst, staff=math.inf):
    """A scheduler that has saved up what it may, and the time."""
    some = Scheduler(policy, Budget(rate=1.0, burst=burst), crawl_delay=0.0)
    some.handle(Staffed(0.0, 0))
    hosts = [f"h{n % 7}" for n in range(len(costs))]
    some.handle(
        Added(
            0.0,
            tuple(Page(n, scope=hosts[n], cost=cost) for n, cost in enumerate(costs)),
        )
    )
    some.handle(Staffed(1e4, staff))
    return some


def test_many_polls_take_few_selections():
    some = saved_up(RoundRobin(), [1.0] * 7, burst=7.0)
    assert some.in_flight == 7
    assert policy_of(some).asked <= 4


def test_no_more_are_selected_than_the_staff_can_poll():
    some = saved_up(RoundRobin(), [1.0] * 7, burst=7.0, staff=3)
    assert some.in_flight == len(policy_of(some).leased) == 3


@steady
@given(
    st.lists(st.sampled_from([0.3, 1.0, 2.5, 7.0]), min_size=1, max_size=20),
    st.floats(1.0, 40.0),
    st.lists(st.floats(0.0, 9.0), max_size=6),
)
def test_the_polls_are_the_same_as_one_by_one(costs, burst, waits):
    both = [saved_up(kind(), costs, burst) for kind in (RoundRobin, OneByOne)]
    now = 1e4
    for wait in waits:
        under_way = [sorted(some._leases.by_page) for some in both]
        assert under_way[0] == under_way[1]
        now += wait
        seen = tuple(Observation(n, now, Outcome.UNCHANGED, cost=costs[n]) for n in under_way[0])
        told = [some.handle(Polled(now, seen)) for some in both]
        assert started(told[0]) == started(told[1])
        told = [some.handle(Tick(now + 0.5)) for some in both]
        assert started(told[0]) == started(told[1])


@steady
@given(
    st.floats(1e-3, 1e3), st.floats(1.0, 1e3), st.floats(0.1, 9.0), st.floats(0.0, 1e4), st.data()
)
def test_as_many_polls_as_are_allowed_may_start(rate, burst, cost, idle, data):
    some = CellRate(Budget(rate, burst))
    now = data.draw(st.floats(0.0, 2e9))
    some.begin(now)
    now += idle
    for _ in range(some.allows(cost, now)):
        assert some.next_at <= now
        some.spend(cost, now)


@pytest.mark.parametrize("burst", [1.0, 40.0])
@pytest.mark.parametrize(
    ("scope", "shortest", "most"), [("host {}", 1e9, 256), ("blocked", None, 256)]
)
def test_no_more_are_held_back_or_passed_over_by_a_call(burst, scope, shortest, most):
    some = Scheduler(RoundRobin(), Budget(rate=1.0, burst=burst), line=0)
    some.handle(Staffed(0.0, 0))
    pages = [
        Page(n, scope=scope.format(n), seen_at=0.0, shortest_interval=shortest) for n in range(1000)
    ]
    some.handle(Added(0.0, tuple(pages)))
    some.handle(Polled(1.0, tuple(Observation(page.id, 1.0, Outcome.UNCHANGED) for page in pages)))
    some.handle(HostBlocked(1.0, "blocked", 1e9))
    waiting = len(policy_of(some).waiting)
    some.handle(Staffed(1e6, math.inf))  # by then it has saved up what it may
    assert some.in_flight == 0
    assert waiting - len(policy_of(some).waiting) == most


def test_once_a_page_is_given_back_the_policy_is_asked_for_one_at_a_time():
    """From that it learns that a host is busy, and may select pages of others."""
    limits = []

    class Noting(RoundRobin):
        def select(self, now, limit):
            limits.append(limit)
            return super().select(now, limit)

    some = Scheduler(Noting(), Budget(rate=1.0, burst=40.0), crawl_delay=5.0, line=0)
    some.handle(Staffed(0.0, 0))
    some.handle(Added(0.0, tuple(Page(n, scope="a") for n in range(20))))
    some.handle(Staffed(1e4, math.inf))
    assert some.in_flight == 1
    assert limits[:2] == [1, 2]
    assert set(limits[2:]) == {1}
