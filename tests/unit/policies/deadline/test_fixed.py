"""Fixed polls a page when its interval has passed, and not before."""

import math

import pytest

from pollwise.errors import InputError
from pollwise.policies.arrays import not_after
from pollwise.policies.deadline.fixed import Fixed
from pollwise.types import Observation, Outcome, Page


def test_a_page_waits_its_interval_after_each_poll():
    policy = Fixed(interval=10.0)
    policy.add([Page(0), Page(1, seen_at=3.0)])
    polled, now = [], 0.0
    while now < 50.0:
        selection = policy.select(now, 5)
        for page_id in selection.page_ids.tolist():
            polled.append((now, page_id))
            policy.observe([Observation(page_id, now + 1.0, Outcome.UNCHANGED)])
        now = max(now + 1.0, policy.select(now, 0).wake_at)
    assert polled == [
        (0.0, 0), (11.0, 0), (13.0, 1), (22.0, 0), (24.0, 1), (33.0, 0), (35.0, 1), (44.0, 0),
        (46.0, 1),
    ]  # fmt: skip


def test_those_due_longest_come_first():
    policy = Fixed(interval=10.0)
    policy.add([Page(0, seen_at=5.0), Page(1, seen_at=1.0), Page(2), Page(3, seen_at=40.0)])
    selection = policy.select(30.0, 2)
    assert selection.page_ids.tolist() == [2, 1]
    assert policy.select(30.0, 2).page_ids.tolist() == [0]
    assert policy.select(30.0, 2).wake_at == 50.0


def test_nothing_to_wait_for_while_all_is_leased():
    policy = Fixed(interval=10.0)
    policy.add([Page(0)])
    assert policy.select(0.0, 2).wake_at == math.inf


@pytest.mark.parametrize("outcome", list(Outcome))
def test_a_failed_poll_is_not_repeated_at_once(outcome):
    policy = Fixed(interval=10.0)
    policy.add([Page(0)])
    policy.select(0.0, 1)
    policy.observe([Observation(0, 2.0, outcome)])
    selection = policy.select(11.0, 1)
    assert selection.page_ids.size == 0
    assert selection.wake_at == 12.0


def test_polls_out_of_order_the_latest_counts():
    policy = Fixed(interval=10.0)
    policy.add([Page(0, seen_at=0.0)])
    for polled_at in (7.0, 4.0, 7.0, 9.0, 2.0):
        policy.observe([Observation(0, polled_at, Outcome.UNCHANGED)])
    assert policy.select(18.0, 1).wake_at == 19.0


def test_a_late_answer_ends_the_lease_and_leaves_the_deadline():
    policy = Fixed(interval=10.0)
    policy.add([Page(0, seen_at=0.0)])
    policy.observe([Observation(0, 7.0, Outcome.UNCHANGED)])
    assert policy.select(17.0, 1).page_ids.tolist() == [0]
    policy.observe([Observation(0, 4.0, Outcome.CHANGED), Observation(0, 5.0, Outcome.GONE)])
    assert policy.select(17.0, 0).wake_at == 17.0


def test_a_deferred_page_keeps_its_deadline():
    policy = Fixed(interval=10.0)
    policy.add([Page(0, seen_at=0.0), Page(1, seen_at=2.0)])
    assert policy.select(11.0, 1).page_ids.tolist() == [0]
    policy.defer([0], until=15.0)
    assert policy.select(11.5, 1).wake_at == 12.0
    assert policy.select(20.0, 2).page_ids.tolist() == [0, 1]


def test_it_goes_on_after_a_restart():
    policy = Fixed(interval=10.0)
    policy.add([Page(0), Page(1)])
    policy.select(5.0, 1)
    policy.observe([Observation(0, 5.0, Outcome.UNCHANGED)])
    restored = Fixed(interval=10.0)
    restored.add([Page(0), Page(1)])
    restored.load_state_dict(policy.state_dict())
    selection = restored.select(6.0, 2)
    assert (selection.page_ids.tolist(), selection.wake_at) == ([1], 15.0)


def test_a_page_polled_by_a_clock_that_was_ahead_is_due_its_interval_after_now():
    policy = Fixed(interval=10.0)
    policy.add([Page(0)])
    policy.observe([Observation(0, 1000.0, Outcome.UNCHANGED)])
    restored = Fixed(interval=10.0)
    restored.add([Page(0)])
    restored.load_state_dict(not_after(policy.state_dict(), 100.0))
    assert restored.select(101.0, 1).wake_at == 110.0


@pytest.mark.parametrize("interval", [0.0, -1.0, math.inf, math.nan])
def test_an_interval_is_a_finite_number_of_seconds(interval):
    with pytest.raises(InputError, match=r"fixed: interval=.* above 0"):
        Fixed(interval=interval)
