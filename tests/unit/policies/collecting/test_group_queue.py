"""The fringe by priority and chance, then what was polled longest ago."""

import math

import numpy as np
import pytest

from pollwise.errors import InputError
from pollwise.policies.collecting.group_queue import Frontier
from pollwise.policies.collecting.oracles import FringeGreedy, RandomOrder
from pollwise.types import Observation, Outcome, Page


def frontier(groups: dict[int, float], seed: int = 0) -> Frontier:
    made = Frontier(np.random.default_rng(seed))
    made.add([Page(page_id) for page_id in groups], groups.values())
    return made


def all_of(made: Frontier) -> list[int]:
    return made.take(1.0, 100).page_ids.tolist()


def polled(page_id: int, time: float) -> Observation:
    return Observation(page_id, time, Outcome.UNCHANGED)


def test_groups_come_by_priority():
    made = frontier({0: 7, 1: 8, 2: 9, 3: 8})
    made.prioritise(8, 0.5)
    made.prioritise(9, -1.0)
    order = all_of(made)
    assert (set(order[:2]), order[2:]) == ({1, 3}, [0, 2])


def test_a_priority_may_change_while_pages_wait():
    made = frontier({0: 7, 1: 8, 2: 7})
    made.prioritise(7, 2.0)
    made.prioritise(7, 1.0)
    made.prioritise(8, 1.5)
    assert made.take(0.0, 1).page_ids.tolist() == [1]
    made.add([Page(3)], [8])
    assert made.take(0.0, 1).page_ids.tolist() == [3]


def test_ties_are_broken_by_chance_whatever_the_group():
    first = [all_of(frontier({0: 1, 1: 2, 2: 2, 3: 2}, seed))[0] for seed in range(400)]
    shares = np.bincount(first) / len(first)
    assert np.abs(shares - 0.25).max() < 0.07


def test_a_page_may_change_its_group():
    made = frontier({0: 1, 1: 1})
    made.prioritise(2, 1.0)
    made.regroup(1, 2)
    assert all_of(made) == [1, 0]


def test_a_leased_page_that_changes_its_group_stays_leased():
    made = frontier({0: 1})
    assert all_of(made) == [0]
    made.regroup(0, 2)
    assert all_of(made) == []


def test_polled_pages_come_after_the_fringe_longest_ago_first():
    made = frontier(dict.fromkeys(range(4), 1))
    all_of(made)
    for page_id, time in ((2, 3.0), (0, 1.0), (1, 2.0)):
        assert made.observe(polled(page_id, time))
    made.add([Page(9)], [1])
    assert all_of(made) == [9, 0, 1, 2]


def test_what_is_not_newer_is_no_news():
    made = frontier({0: 1})
    assert made.observe(polled(0, 5.0))
    assert not made.observe(polled(0, 5.0))
    assert not made.observe(polled(0, 4.0))
    assert not made.observe(polled(1, 9.0))


def test_held_pages_come_back_and_late_news_does_not_bring_them_sooner():
    made = frontier({0: 1, 1: 1})
    all_of(made)
    made.defer([0, 1], 10.0)
    made.observe(polled(1, 2.0))
    selection = made.take(9.0, 5)
    assert (selection.page_ids.tolist(), selection.wake_at) == ([], 10.0)
    selection = made.take(10.0, 5)
    assert (selection.page_ids.tolist(), selection.wake_at) == ([0, 1], math.inf)


@pytest.mark.parametrize("ids", [[-1], [3, 3], [0]], ids=["negative", "twice", "known"])
def test_ids_that_cannot_be(ids):
    with pytest.raises(InputError, match="give every page an id of its own"):
        frontier({0: 1}).add([Page(page_id) for page_id in ids], [1.0] * len(ids))


def test_random_order_is_any_order():
    made = set()
    for seed in range(200):
        policy = RandomOrder(generator=np.random.default_rng(seed))
        policy.add([Page(0), Page(1), Page(2)])
        made.add(tuple(policy.select(0.0, 3).page_ids.tolist()))
    assert len(made) == 6
    with pytest.raises(InputError, match="random: generator=None"):
        RandomOrder(generator=None)


def test_fringe_greedy_goes_by_relevance():
    policy = FringeGreedy(relevance=[0.0, 0.3, 0.9, 0.3], generator=np.random.default_rng(0))
    policy.add([Page(page_id) for page_id in (7, 0, 1)])
    policy.add([Page(2), Page(3)])
    order = policy.select(0.0, 9).page_ids.tolist()
    assert (order[0], set(order[1:3]), set(order[3:])) == (2, {1, 3}, {0, 7})
