"""When first copies of other pages can wait for a second poll, for detection."""

import math

import numpy as np
import pytest

from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.policies.index.first_copies import copy_can_wait
from pollwise.rates.lattice import RATE_COUNT, RATES
from pollwise.types import Observation, Outcome, Page

DAY = 86_400.0
PLACE = 38  # a change in two days


def profit(rate: float, price: float) -> float:
    """What the best poll frequency brings a second above the price of its polls, by search."""
    times = np.geomspace(1e-3, 1e4, 200_001) / rate
    return float(np.max((-np.expm1(-rate * times) - price) / times))


def policy_of(passed: float, objective: str = "detection") -> BayesianIndex:
    """Page 0 has a copy of two days ago, page 1 none; all pages change once in two days."""
    policy = BayesianIndex(objective=objective)
    policy.add([Page(0, "http://a/", "a", seen_at=0.0), Page(1, "http://b/", "b")])
    shared = policy.state.shared[0]
    shared["began_at"], shared["gap"] = 2 * DAY - passed, 60.0
    shared["prior"] = np.eye(RATE_COUNT)[PLACE] + 1e-12
    return policy


@pytest.mark.parametrize("passed", [0.1, 0.5, 1.0, 2.0, 3.0, 5.0, 50.0])
def test_a_copy_is_worth_what_the_best_polls_bring_in_as_long_as_has_passed(passed):
    a = RATES[PLACE] * 2 * DAY
    price = 1 - math.exp(-a) * (1 + a)
    worth = passed * DAY * profit(RATES[PLACE], price)
    waits = copy_can_wait(policy_of(passed * DAY).state, 1, 0, 2 * DAY)
    assert waits == (worth < price)


def test_both_happen():
    waits = [copy_can_wait(policy_of(days * DAY).state, 1, 0, 2 * DAY) for days in (0.1, 50.0)]
    assert waits == [True, False]


def test_prices_and_weights_count():
    policy = policy_of(0.1 * DAY)
    assert copy_can_wait(policy.state, 1, 0, 2 * DAY)
    policy.state.hosts["price"][policy.state.pages["scope"][0]] = 1e4
    assert not copy_can_wait(policy.state, 1, 0, 2 * DAY)
    policy = policy_of(0.1 * DAY)
    policy.state.pages["weight"][1] = 1e4
    assert not copy_can_wait(policy.state, 1, 0, 2 * DAY)


def test_a_copy_of_now_does_not_compete():
    policy = policy_of(0.1 * DAY)
    policy.state.pages["seen_at"][0] = 2 * DAY
    assert not copy_can_wait(policy.state, 1, 0, 2 * DAY)


@pytest.mark.parametrize("objective", ["freshness", "delay", "age"])
def test_first_copies_come_first_where_a_page_without_one_is_stale(objective):
    assert not copy_can_wait(policy_of(0.1 * DAY, objective).state, 1, 0, 2 * DAY)


def order(objective: str, days_ago: float | None) -> list[int]:
    """Which pages are polled, hourly, where the first of 50 was told to have changed lately."""
    policy = BayesianIndex(objective=objective)
    policy.add([Page(page) for page in range(50)])
    polled = []
    for hour in range(60):
        now = 1_000 * DAY + hour * 3_600.0
        likely = policy.likely_next(now)
        [page] = policy.select(now, 1).page_ids.tolist()
        if hour < 40:  # while there are first copies
            assert likely == page
        polled.append(page)
        told = None if days_ago is None else now - (500.0 if page else days_ago) * DAY
        policy.observe([Observation(page, now, Outcome.CHANGED, told)])
    return polled


def test_a_page_that_changed_lately_gets_its_second_poll_before_others_their_first():
    assert 0 in order("detection", 0.1)[1:50]


def test_without_such_a_date_all_first_copies_come_first():
    assert order("detection", None)[:50] == list(range(50))
    assert order("detection", 500.0)[:50] == list(range(50))
    assert order("freshness", 0.1)[:50] == list(range(50))


def test_a_page_that_always_changes_keeps_no_first_copy_out():
    policy = BayesianIndex()
    policy.add([Page(0)])
    seen = set()
    for minute in range(400):
        now = 60.0 * minute
        if minute == 100:
            policy.add([Page(page, weight=1.0 if page > 1 else 0.0) for page in range(1, 101)])
        for page in policy.select(now, 1).page_ids.tolist():
            seen.add(page)
            policy.observe([Observation(page, now, Outcome.CHANGED)])
    assert seen == set(range(101))
