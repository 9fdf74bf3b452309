"""A policy that comes late ends up as if it had been there all along."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pollwise.events import Added, PolicyReady, Polled, Removed, Tick
from pollwise.policies.awaited import AwaitedPolicy
from pollwise.scheduler.scheduler import Scheduler
from pollwise.types import Budget, Observation, Outcome, Page

from ..scheduler.round_robin import RoundRobin, started

steady = settings(derandomize=True, deadline=None, max_examples=60)

calls = st.one_of(
    st.tuples(st.just("add"), st.integers(0, 9)),
    st.tuples(st.just("discard"), st.integers(0, 9)),
    st.tuples(st.just("observe"), st.integers(0, 9)),
)


def tell(policy, what: str, page_id: int, now: float) -> None:
    if what == "add":
        policy.add([Page(page_id)])
    elif what == "discard":
        policy.discard([page_id])
    else:
        policy.observe([Observation(page_id, now, Outcome.CHANGED)])


@steady
@given(st.lists(calls, max_size=30), st.integers(0, 30))
def test_it_is_told_the_same_in_the_same_order(told, prepared_after):
    there: set[int] = set()
    kept = []
    for what, page_id in told:
        if (what == "add") == (page_id in there):
            continue
        there.symmetric_difference_update({page_id} if what != "observe" else ())
        kept.append((what, page_id))
    awaited, late, present = AwaitedPolicy(), RoundRobin(), RoundRobin()
    for now, (what, page_id) in enumerate(kept):
        if now == prepared_after:
            awaited.prepare(late)
        tell(awaited, what, page_id, now)
        tell(present, what, page_id, now)
        assert len(awaited.select(now, 5).page_ids) == 0
    if prepared_after >= len(kept):
        awaited.prepare(late)
    assert awaited.arrived() is late
    assert (late.turns, late.waiting, late.told) == (present.turns, present.waiting, present.told)


@pytest.mark.parametrize("is_there", [False, True])
def test_only_first_copies_are_polled_until_it_is_ready(is_there):
    policy = RoundRobin()
    awaited = AwaitedPolicy(policy if is_there else None)
    scheduler = Scheduler(awaited, Budget(1.0), first_copies=Budget(1.0))
    known = Page(0, seen_at=-1.0)
    assert started(scheduler.handle(Added(0.0, (known, Page(1), Page(2))))) == [1]
    scheduler.handle(Polled(0.5, (Observation(1, 0.5, Outcome.CHANGED),)))
    assert started(scheduler.handle(Tick(1.0))) == [2]
    scheduler.handle(Removed(1.2, (2,)))
    assert started(scheduler.handle(Tick(2.0))) == []
    if not is_there:
        awaited.prepare(policy)
    assert started(scheduler.handle(PolicyReady(3.0))) == [0]
    assert scheduler.policy is policy
    assert started(scheduler.handle(Tick(4.0))) == [1]


def test_a_policy_that_is_there_does_not_mind():
    scheduler = Scheduler(RoundRobin(), Budget(1.0))
    scheduler.handle(PolicyReady(0.0))
    assert started(scheduler.handle(Added(1.0, (Page(0),)))) == [0]
