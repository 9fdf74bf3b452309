"""Optimal keeps to the frequencies that the knapsack solver finds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pollwise.errors import InputError
from pollwise.knapsack import allocate
from pollwise.objectives import Age, Delay, Detection, Ephemeral, Freshness, Objective
from pollwise.policies.deadline.optimal import Optimal
from pollwise.types import Observation, Outcome, Page

OBJECTIVES = [Detection(), Freshness(), Delay(), Age(), Ephemeral(decay=0.5)]

steady = settings(derandomize=True, deadline=None, max_examples=10)

by_name = pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda one: one.name)


def run(policy: Optimal, polls: int, begin: int = 0) -> list[int]:
    order: list[int] = []
    for now in range(begin, begin + polls):
        page_ids = policy.select(now, 1).page_ids.tolist()
        policy.observe([Observation(page_id, now, Outcome.UNCHANGED) for page_id in page_ids])
        order += page_ids
    return order


def per_second(objective: Objective, rates, intervals) -> float:
    """What all pages together bring or cost a second."""
    intervals = np.minimum(intervals, 1e9)
    return float((objective.gain(rates, intervals) / intervals).sum())


@by_name
@steady
@given(
    drawn=st.lists(
        st.tuples(st.floats(-3, 1), st.sampled_from([0.5, 1.0, 4.0]), st.sampled_from([1.0, 3.0])),
        min_size=2,
        max_size=8,
    ),
    budget=st.sampled_from([0.05, 1.0, 10.0]),
)
def test_polls_are_shared_out_as_the_solver_says(objective, drawn, budget):
    rates, weights, costs = np.array(drawn).T
    rates = 10**rates
    policy = Optimal(rates=dict(enumerate(rates.tolist())), budget=budget, objective=objective)
    policy.add([Page(n, weight=w, cost=c, seen_at=0.0) for n, (_, w, c) in enumerate(drawn)])
    best = allocate(objective, rates, budget, weights, costs).frequencies
    counts = np.bincount(run(policy, 500), minlength=len(drawn))
    assert counts == pytest.approx(500 * best / best.sum(), abs=3)


def test_pages_that_come_and_go_change_the_shares():
    rates = {0: 0.1, 1: 0.2, 2: 0.1, 3: 0.0}
    policy = Optimal(rates=rates, budget=1.0)
    pages = [Page(n, seen_at=0.0) for n in rates]
    policy.add(pages[:2])
    assert np.bincount(run(policy, 300)) == pytest.approx([100, 200], abs=2)
    policy.add(pages[2:])
    assert np.bincount(run(policy, 400, 300)) == pytest.approx([100, 200, 100], abs=2)
    policy.discard([1, 77])
    assert np.bincount(run(policy, 200, 700)) == pytest.approx([100, 0, 100], abs=2)
    policy.discard([0, 2])
    assert run(policy, 5, 900) == []


@by_name
def test_few_new_pages_among_many_are_polled_at_the_price_of_the_others(objective):
    rates = np.random.default_rng(5).lognormal(-2.0, 1.0, 400)
    policy = Optimal(rates=dict(enumerate(rates.tolist())), budget=20.0, objective=objective)
    policy.add([Page(n, seen_at=0.0) for n in range(397)])
    run(policy, 1)
    policy.add([Page(n, seen_at=0.0) for n in range(397, 400)])
    intervals = policy.state.pages["interval"][:400]
    price = allocate(objective, rates[:397], 20.0).price
    assert intervals[397:] == pytest.approx(objective.due(price, rates[397:]))
    with np.errstate(divide="ignore"):
        best = 1.0 / allocate(objective, rates, 20.0).frequencies
    shared_out = intervals * ((1.0 / intervals).sum() / 20.0)
    assert per_second(objective, rates, shared_out) == pytest.approx(
        per_second(objective, rates, best), rel=1e-4
    )


def test_new_frequencies_do_not_call_all_pages_at_once():
    rates = dict.fromkeys(range(120), 1e-4) | {120: 1e-2}
    policy = Optimal(rates=rates, budget=1.0)
    policy.add([Page(n, seen_at=0.0) for n in range(20, 121)])
    before = run(policy, 500)
    policy.add([Page(n, seen_at=0.0) for n in range(20)])
    order = np.array(before + run(policy, 500, 500))
    assert np.diff(np.flatnonzero(order == 120)).max() <= 5


def test_a_page_not_worth_a_poll_is_polled_once_for_a_copy():
    policy = Optimal(rates={0: 50.0, 1: 0.1}, budget=0.1, objective=Freshness())
    policy.add([Page(0), Page(1)])
    assert run(policy, 6) == [0, 1, 1, 1, 1, 1]


@pytest.mark.parametrize("budget", [0.0, -1.0, np.inf, np.nan])
def test_a_budget_is_above_zero(budget):
    with pytest.raises(InputError, match=r"optimal: budget=.* above 0"):
        Optimal(rates={}, budget=budget)


def test_every_page_needs_a_rate():
    policy = Optimal(rates={0: 1.0}, budget=1.0)
    with pytest.raises(InputError, match="optimal: no change rate given for page 1"):
        policy.add([Page(0), Page(1)])
    assert policy.select(0.0, 2).page_ids.size == 0


def test_pages_that_were_given_back_are_scheduled_as_the_others_are():
    """The frequencies follow discarded pages before a page is given back, not after."""

    def order(scheduled_before: bool) -> list[int]:
        policy = Optimal(rates={n: 0.02 * (n + 1) for n in range(8)}, budget=1.0)
        policy.add([Page(n, seen_at=0.0) for n in range(8)])
        run(policy, 30)
        [page_id] = policy.select(30.0, 1).page_ids.tolist()
        policy.discard([(page_id + 1) % 8])
        if scheduled_before:
            _ = policy.deadlines  # what `defer` must ask for by itself
        policy.defer([page_id], 33.0)
        return run(policy, 30, begin=31)

    assert order(scheduled_before=False) == order(scheduled_before=True)
