"""Uniform polls every page equally often, in turn."""

import math

import numpy as np
import pytest

from pollwise.errors import InputError, StateError
from pollwise.policies.deadline.fixed import Fixed
from pollwise.policies.deadline.uniform import Uniform
from pollwise.types import Observation, Outcome, Page


def poll(policy: Uniform, now: float, limit: int = 1) -> list[int]:
    """What is polled at a time, by polls without success."""
    page_ids = policy.select(now, limit).page_ids.tolist()
    policy.observe([Observation(page_id, now, Outcome.FAILED) for page_id in page_ids])
    return page_ids


@pytest.mark.parametrize("seen_at", [None, 3.0], ids=["without copies", "with copies"])
@pytest.mark.parametrize("limit", [1, 2, 6])
def test_all_pages_in_turn_in_the_order_of_adding(seen_at, limit):
    policy = Uniform()
    order = [4, 0, 7, 5, 1, 2]
    policy.add([Page(page_id, seen_at=seen_at) for page_id in order[:3]])
    policy.add([Page(page_id, seen_at=seen_at) for page_id in order[3:]])
    polled = [page_id for now in range(18 // limit) for page_id in poll(policy, now, limit)]
    assert polled == order * 3


def test_a_new_page_is_polled_next():
    policy = Uniform()
    policy.add([Page(0), Page(1)])
    polled = [page_id for now in range(5) for page_id in poll(policy, now)]
    policy.add([Page(2)])
    polled += [page_id for now in range(5, 10) for page_id in poll(policy, now)]
    assert polled == [0, 1, 0, 1, 0, 2, 1, 0, 2, 1]


def test_a_page_that_was_away_gets_one_poll_and_makes_up_for_none():
    policy = Uniform()
    policy.add([Page(0), Page(1), Page(2)])
    assert policy.select(0.0, 1).page_ids.tolist() == [0]
    policy.defer([0], until=100.0)
    assert policy.select(1.0, 0).wake_at == 100.0
    polled = [page_id for now in range(1, 100) for page_id in poll(policy, now)]
    assert set(polled) == {1, 2}
    assert [poll(policy, 100.0 + n) for n in range(4)] == [[0], [2], [1], [0]]


def test_a_poll_by_another_counts_as_one():
    policy = Uniform()
    policy.add([Page(0), Page(1), Page(2)])
    for now in range(3):
        poll(policy, now)
    policy.observe([Observation(0, 3.0, Outcome.CHANGED)])
    assert [poll(policy, now) for now in range(4, 7)] == [[1], [2], [0]]


def test_ids_can_be_far_apart_and_leases_outlive_growth():
    policy = Uniform()
    policy.add([Page(3)])
    assert policy.select(0.0, 1).page_ids.tolist() == [3]
    policy.add([Page(1000), Page(0)])
    policy.observe([Observation(3, 0.5, Outcome.UNCHANGED)])
    assert policy.select(1.0, 9).page_ids.tolist() == [1000, 0, 3]


def test_the_turn_goes_on_after_a_restart_also_for_pages_that_are_new_by_then():
    policy = Uniform()
    pages = [Page(page_id) for page_id in range(4)]
    policy.add(pages)
    for now in range(6):
        poll(policy, now)
    restored = Uniform()
    restored.add([*pages, Page(4)])
    restored.load_state_dict(policy.state_dict())
    assert [poll(restored, now) for now in range(6, 12)] == [[4], [2], [3], [0], [1], [4]]


@pytest.mark.parametrize("page_ids", [[0], [2, 2], [-1]], ids=["watched", "twice", "negative"])
def test_a_page_id_is_refused_before_anything_is_changed(page_ids):
    policy = Uniform()
    policy.add([Page(0)])
    with pytest.raises(InputError, match="page id is negative, given twice or watched"):
        policy.add([Page(1), *(Page(page_id) for page_id in page_ids)])
    assert policy.select(0.0, 9).page_ids.tolist() == [0]


@pytest.mark.parametrize("weight", [math.nan, math.inf, -1.0])
def test_a_weight_that_cannot_be_is_refused_before_anything_is_changed(weight):
    policy = Uniform()
    policy.add([Page(0)])
    with pytest.raises(
        InputError, match=r"^add: page 2: weight=\S+ must be finite and at least 0$"
    ):
        policy.add([Page(1), Page(2, weight=weight)])
    assert policy.select(0.0, 9).page_ids.tolist() == [0]


def test_state_of_another_class_is_refused():
    with pytest.raises(StateError, match=r"lacks uniform\.clock and holds fixed\.clock besides"):
        Uniform().load_state_dict(Fixed(interval=1.0).state_dict())


def test_state_of_another_type_is_refused():
    policy = Uniform()
    policy.add([Page(0)])
    state = policy.state_dict()
    state["page.deadline"] = state["page.deadline"].astype(np.float32)
    with pytest.raises(StateError, match=r"'page\.deadline' is float32 \(1,\), expected float64"):
        policy.load_state_dict(state)
