"""The estimator polls in turn, estimates, and then keeps to its estimates."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pollwise.errors import InputError, StateError
from pollwise.policies.arrays import blank_observation, write_observation
from pollwise.policies.deadline.kernels import select_adaptive, wake_adaptive
from pollwise.policies.estimating.estimator import Estimator
from pollwise.policies.estimating.estimator_kernels import amount_estimator, observe_estimator
from pollwise.types import Observation, Outcome, Page


def poll(policy: Estimator, now: float, changed=lambda page_id: False) -> int:
    (page_id,) = policy.select(now, 1).page_ids.tolist()
    policy.observe([Observation(page_id, now, Outcome(int(changed(page_id))))])
    return page_id


def with_pages(count: int, phase_polls: int) -> Estimator:
    """Pages whose copies are as old as if they had been polled in turn, once a second."""
    policy = Estimator(phase_polls=phase_polls)
    policy.add([Page(n, seen_at=float(n - count)) for n in range(count)])
    return policy


def change_probability(polls: int, changes: int, seconds: float) -> float:
    changes = changes or 0.5
    rate = -math.log((polls - changes + 0.5) / (polls + 0.5)) / (seconds / polls)
    return 1 - math.exp(-rate)


def test_the_first_phase_polls_in_turn():
    policy = Estimator(phase_polls=30)
    order = [3, 0, 4, 1]
    policy.add([Page(page_id) for page_id in order])
    assert [poll(policy, float(now)) for now in range(30)] == (order * 8)[:30]
    assert policy.state.shared["polled"][0] == 30


@settings(max_examples=30)
@given(changes=st.lists(st.integers(0, 8), min_size=1, max_size=5))
def test_estimates_are_those_of_the_formula_and_shares_are_in_proportion(changes):
    count = len(changes)
    policy = with_pages(count, 8 * count)
    left = list(changes)

    def changed(page_id):
        left[page_id] -= 1
        return left[page_id] >= 0

    for now in range(8 * count):
        assert policy.amounts().tolist() == [1 / count] * count
        poll(policy, float(now), changed)
    expected = np.array([change_probability(8, n, 8.0 * count) for n in changes])
    assert policy.amounts() == pytest.approx(expected / expected.sum())
    polls = 400
    counts = np.bincount([poll(policy, 1000.0 + n) for n in range(polls)], minlength=count)
    assert np.abs(counts - polls * policy.amounts()).max() <= 2.0 + 1e-9


def test_after_the_first_phase_estimates_stay():
    policy = with_pages(3, 12)
    for now in range(12):
        poll(policy, float(now), lambda page_id: page_id == 1)
    amounts = policy.amounts()
    for now in range(12, 200):
        poll(policy, float(now), lambda page_id: page_id == 2)
    assert np.array_equal(policy.amounts(), amounts)
    assert amounts.argmax() == 1


def test_failed_polls_and_first_copies_are_polls_of_the_phase_but_tell_nothing():
    policy = Estimator(phase_polls=6)
    policy.add([Page(0), Page(1, seen_at=-10.0)])
    for now in range(3):
        poll(policy, 2.0 * now, lambda page_id: True)
        (page_id,) = policy.select(2.0 * now + 1, 1).page_ids.tolist()
        policy.observe([Observation(page_id, 2.0 * now + 1, Outcome.FAILED)])
    assert policy.state.pages["polls"][:2].tolist() == [2, 0]
    # Of page 1 nothing is known, so it has the mean frequency, that of page 0.
    assert policy.amounts().tolist() == [0.5, 0.5]


def test_polls_that_were_not_asked_for_are_no_polls_of_the_phase_but_tell():
    policy = with_pages(2, 100)
    policy.observe([Observation(0, 5.0, Outcome.CHANGED), Observation(0, 5.0, Outcome.CHANGED)])
    assert policy.state.shared["polled"][0] == 0
    assert policy.state.pages[0].tolist() == (5.0, 1, 1, 7.0, 1.0)


def test_where_nothing_was_told_pages_are_polled_equally_often():
    policy = with_pages(3, 5)
    for now in range(5):
        (page_id,) = policy.select(float(now), 1).page_ids.tolist()
        policy.observe([Observation(page_id, float(now), Outcome.FAILED)])
    counts = np.bincount([poll(policy, 10.0 + n) for n in range(300)])
    assert counts == pytest.approx([100, 100, 100], abs=1)


def test_a_page_added_later_has_the_mean_frequency_of_the_others():
    policy = with_pages(3, 30)
    for now in range(30):
        poll(policy, float(now), lambda page_id: page_id == 0)
    before = policy.amounts()
    policy.add([Page(3)])
    assert poll(policy, 30.0) == 3
    assert policy.amounts() == pytest.approx([*(0.75 * before), 0.25])
    counts = np.bincount([poll(policy, 31.0 + n) for n in range(400)], minlength=4)
    assert counts == pytest.approx(400 * policy.amounts(), abs=2)
    policy.discard([3, 3, 9])
    assert policy.amounts() == pytest.approx(before)


def test_pages_leased_and_held_when_the_phase_ends_are_scheduled_too():
    policy = with_pages(3, 4)
    assert policy.select(0.0, 3).page_ids.tolist() == [0, 1, 2]
    policy.defer([2], until=50.0)
    policy.observe([Observation(1, 1.0, Outcome.CHANGED)])
    for now in (2.0, 3.0, 4.0):
        poll(policy, now)
    assert wake_adaptive(policy.state) == 50.0
    policy.observe([Observation(0, 5.0, Outcome.UNCHANGED)])
    assert {poll(policy, 5.0 + n) for n in range(30)} == {0, 1}
    assert poll(policy, 50.0) == 2
    counts = np.bincount([poll(policy, 51.0 + n) for n in range(600)], minlength=3)
    assert counts == pytest.approx(600 * policy.amounts(), abs=3)


def test_calls_and_kernels_give_the_same_polls():
    called, compiled, observations = with_pages(7, 60), with_pages(7, 60), blank_observation()
    rng = np.random.default_rng(1)
    for now in range(400):
        outcome = int(rng.random() < 0.4)
        page_id = poll(called, float(now), lambda page_id, outcome=outcome: outcome)
        assert select_adaptive(compiled.state, float(now)) == page_id
        write_observation(observations[0], page_id, float(now), outcome)
        observe_estimator(compiled.state, observations[0])
    amounts = [amount_estimator(compiled.state, page_id) for page_id in range(7)]
    assert amounts == called.amounts().tolist()
    assert amount_estimator(compiled.state, 100) == 0.0
    assert amount_estimator(with_pages(16, 1).state, -1) == 0.0  # there is no room to spare


@pytest.mark.parametrize("polls", [10, 100], ids=["in the first phase", "after it"])
def test_a_restored_policy_goes_on_as_the_old_one(polls):
    policy = with_pages(5, 40)
    for now in range(polls):
        poll(policy, float(now), lambda page_id: page_id % 2 == 0)
    restored = with_pages(6, 40)
    restored.load_state_dict(policy.state_dict())
    restored.discard([5])
    assert restored.amounts() == pytest.approx(policy.amounts())
    for now in range(polls, polls + 100):
        changed = now % 3 == 0
        assert poll(restored, float(now), lambda _, c=changed: c) == poll(
            policy, float(now), lambda _, c=changed: c
        )


@pytest.mark.parametrize("polls", [10, 100], ids=["in the first phase", "after it"])
@pytest.mark.parametrize("other_phase", [5, 60], ids=["shorter", "longer"])
def test_the_length_of_the_first_phase_is_restored_too(polls, other_phase):
    """As it must be where it follows from the number of pages, and that has changed."""
    policy = with_pages(5, 40)
    for now in range(polls):
        poll(policy, float(now), lambda page_id: page_id % 2 == 0)
    restored = with_pages(5, other_phase)
    restored.load_state_dict(policy.state_dict())
    for now in range(polls, 150):
        assert poll(restored, float(now), bool) == poll(policy, float(now), bool)
    assert restored.amounts() == pytest.approx(policy.amounts())
    assert len(set(restored.amounts().tolist())) > 1


@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        ("estimator.polled", -1, "phase"),
        ("estimator.polled", 41, "phase"),
        ("estimator.phase_polls", 2**62, "phase"),
        ("estimator.frequency", 0.0, "frequency"),
        ("estimator.clock", math.nan, "clock"),
        ("page.frequency", math.inf, "frequency"),
        ("page.frequency", -1.0, "frequency"),
        ("page.frequency", math.nan, "frequency"),
        ("page.changes", -1, "count of changes"),
        ("page.changes", 10**6, "count of changes"),
        ("page.waited", 0.0, "time between polls"),
        ("page.waited", math.nan, "time between polls"),
        ("page.deadline", math.nan, "deadline"),
    ],
)
def test_damaged_state_is_refused_and_changes_nothing(name, value, what):
    policy = with_pages(5, 40)
    for now in range(20):
        poll(policy, float(now), lambda page_id: page_id == 0)
    learned, before = policy.state_dict(), policy.state_dict()
    learned["page.polls"][1] = 8
    learned[name][0] = value
    with pytest.raises(StateError, match=f"state of the estimator is damaged: a {what} is"):
        policy.load_state_dict(learned)
    after = policy.state_dict()
    assert all(after[key].tobytes() == before[key].tobytes() for key in before)


def test_learned_state_is_named_after_the_policy():
    assert {key.partition(".")[0] for key in with_pages(2, 9).state_dict()} == {
        "page_ids",
        "page",
        "estimator",
    }


def test_shares_stay_exact_when_pages_of_large_ones_go():
    policy = with_pages(40, 400)
    for now in range(400):
        poll(policy, float(now), lambda page_id: page_id > 0)
    for page_id in range(39, 0, -1):
        policy.discard([page_id])
    assert policy.amounts().tolist() == [1.0]
    policy.discard([0])
    assert policy.amounts().tolist() == []
    assert policy.state.shared["total"][0] == 0.0


@pytest.mark.parametrize("phase_polls", [0, -1, 1.5, "x", True, None, 10**15 + 1])
def test_refuses_a_phase_that_is_none(phase_polls):
    with pytest.raises(
        InputError, match=rf"^estimator: phase_polls={phase_polls!r} must be a whole"
    ):
        Estimator(phase_polls=phase_polls)


def test_refuses_an_id_that_is_taken_and_changes_nothing():
    policy = with_pages(2, 10)
    with pytest.raises(InputError, match="watched already"):
        policy.add([Page(5), Page(1)])
    assert policy.amounts().tolist() == [0.5, 0.5]
