"""Proportional shares the polls out in proportion to the probability of a change in a second."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pollwise.errors import InputError
from pollwise.policies.deadline.proportional import Proportional
from pollwise.types import Observation, Outcome, Page

steady = settings(derandomize=True, deadline=None, max_examples=40)

some_rates = st.lists(st.floats(-6, 1).map(lambda x: float(10**x)), min_size=2, max_size=12)


def run(policy: Proportional, polls: int, under_way: int = 1) -> list[int]:
    """Poll once a second, each poll taking `under_way` seconds."""
    order: list[int] = []
    for now in range(polls):
        order += policy.select(now, 1).page_ids.tolist()
        if now + 1 >= under_way:
            polled = order[now + 1 - under_way]
            policy.observe([Observation(polled, now, Outcome.UNCHANGED)])
    return order


@steady
@given(rates=some_rates, seen=st.booleans())
def test_no_page_is_ever_more_than_two_polls_from_its_share(rates, seen):
    policy = Proportional(rates=dict(enumerate(rates)))
    policy.add([Page(n, seen_at=0.0 if seen else None) for n in range(len(rates))])
    frequencies = -np.expm1(-np.array(rates))
    order = np.array(run(policy, 1000))
    counts = np.bincount(order, minlength=len(rates))
    clock = policy.state.shared["clock"][0]
    assert np.all(np.abs(counts - frequencies * clock) <= 2 + 1e-6)


def test_many_pages_alike_leave_the_fast_ones_their_polls():
    slow = 100
    rates = dict.fromkeys(range(slow), 1e-4) | {slow: 1e-2}
    policy = Proportional(rates=rates)
    policy.add([Page(n) for n in rates])
    order = np.array(run(policy, 2000))[slow + 1 :]
    between = np.diff(np.flatnonzero(order == slow))
    assert between.mean() == pytest.approx(2.0, rel=0.05)
    assert between.max() <= 5


def test_shares_hold_while_polls_take_their_time():
    rates = {n: 0.001 * (1 + n % 4) for n in range(40)}
    policy = Proportional(rates=rates)
    policy.add([Page(n, seen_at=0.0) for n in rates])
    counts = np.bincount(run(policy, 4000, under_way=5), minlength=40)
    assert counts == pytest.approx(4000 * np.array(list(rates.values())) / 0.1, abs=2)


def test_a_page_that_never_changes_is_polled_once_for_a_copy():
    policy = Proportional(rates={0: 0.0, 1: 0.5, 2: 0.0})
    policy.add([Page(0), Page(1), Page(2, seen_at=0.0)])
    order = run(policy, 50)
    assert order == [0] + 49 * [1]


def test_without_pages_that_change_nothing_is_selected():
    policy = Proportional(rates={0: 0.0})
    policy.add([Page(0, seen_at=0.0)])
    selection = policy.select(1e12, 1)
    assert (selection.page_ids.size, selection.wake_at) == (0, np.inf)


def test_a_page_that_was_away_makes_up_for_nothing():
    policy = Proportional(rates={0: 0.3, 1: 0.3})
    policy.add([Page(0), Page(1)])
    assert policy.select(0.0, 1).page_ids.tolist() == [0]
    policy.defer([0], until=500.0)
    run(policy, 500)
    after = []
    for now in range(500, 520):
        after += policy.select(now, 1).page_ids.tolist()
        policy.observe([Observation(after[-1], now, Outcome.UNCHANGED)])
    assert abs(after.count(0) - after.count(1)) <= 2


def test_shares_hold_across_a_restart():
    rates = {0: 0.1, 1: 0.2, 2: 0.7}
    policy = Proportional(rates=rates)
    pages = [Page(n, seen_at=0.0) for n in rates]
    policy.add(pages)
    run(policy, 100)
    restored = Proportional(rates=rates)
    restored.add(pages)
    restored.load_state_dict(policy.state_dict())
    assert run(restored, 200) == run(policy, 200)


def test_a_page_that_is_new_after_a_restart_waits_its_first_interval():
    rates = {0: 0.5, 1: 0.5, 2: 0.001}
    policy = Proportional(rates=rates)
    policy.add([Page(0, seen_at=0.0), Page(1, seen_at=0.0)])
    run(policy, 2000)
    restored = Proportional(rates=rates)
    restored.add([Page(n, seen_at=0.0) for n in rates])
    restored.load_state_dict(policy.state_dict())
    assert 2 not in run(restored, 400)
    assert 2 in run(restored, 400)


@pytest.mark.parametrize(
    ("rates", "message"),
    [
        ({}, "proportional: no change rate given for page 0; pass one"),
        ({0: -1.0}, r"proportional: rates\[0\] = -1.0 must be"),
        ({0: np.nan}, r"rates\[0\] = nan must be a finite number"),
    ],
)
def test_every_page_needs_a_rate(rates, message):
    policy = Proportional(rates=rates)
    with pytest.raises(InputError, match=message):
        policy.add([Page(0)])
    assert policy.select(0.0, 1).page_ids.size == 0
