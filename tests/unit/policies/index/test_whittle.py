"""Whittle polls the page whose index, by the formulas of the objectives, is the largest."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pollwise.errors import InputError
from pollwise.objectives import Age, Delay, Detection, Ephemeral, Freshness
from pollwise.policies.index.whittle import Whittle
from pollwise.types import Observation, Outcome, Page

OBJECTIVES = [Detection(), Freshness(), Delay(), Age(), Ephemeral(decay=0.05, value=3.0)]

LATTICE = 0.04
"""Times and products of the lattice are 1 % apart, and age grows with the third power of both."""

by_name = pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda one: one.name)

drawn_pages = st.lists(
    st.tuples(
        st.floats(-6, 0.3),  # decimal logarithm of the rate
        st.floats(0.1, 10.0),  # weight
        st.floats(0.5, 4.0),  # cost
        st.floats(0.5, 1e5),  # age of the copy
    ),
    min_size=1,
    max_size=90,
)


@by_name
@settings(max_examples=40)
@given(drawn=drawn_pages)
def test_pages_come_in_the_order_of_their_indices(objective, drawn):
    rates, weights, costs, ages = np.array(drawn).T
    rates = 10**rates
    now = 1e5
    policy = Whittle(rates=dict(enumerate(rates.tolist())), objective=objective)
    policy.add(
        [
            Page(n, weight=weight, cost=cost, seen_at=now - age)
            for n, (_, weight, cost, age) in enumerate(drawn)
        ]
    )
    index = objective.index(rates, ages, weights, costs)
    chosen = policy.select(now, 5).page_ids
    best = np.sort(index)[::-1]
    assert len(chosen) == min(5, len(drawn))
    assert index[chosen] == pytest.approx(best[: len(chosen)], rel=LATTICE, abs=1e-30)


def test_a_page_without_a_copy_comes_before_all_others():
    policy = Whittle(rates={0: 1.0, 1: 1e-6, 2: 0.0})
    policy.add([Page(0, seen_at=0.0), Page(1), Page(2, weight=0.5)])
    assert policy.select(1e6, 3).page_ids.tolist() == [1, 2, 0]


def test_pages_that_never_change_are_polled_only_where_nothing_else_is_left():
    policy = Whittle(rates={0: 0.0, 1: 0.5})
    policy.add([Page(0, seen_at=0.0), Page(1, seen_at=0.0)])
    order = []
    for now in range(1, 50):
        page_ids = policy.select(float(now), 1).page_ids.tolist()
        policy.observe([Observation(page_id, now, Outcome.UNCHANGED) for page_id in page_ids])
        order += page_ids
    assert set(order) == {1}


@pytest.mark.parametrize(
    ("rates", "message"),
    [
        ({}, "whittle: no change rate given for page 0; pass one for every page"),
        ({0: -1.0}, r"whittle: rates\[0\] = -1.0 must be a finite number of at least 0"),
        ({0: np.inf}, r"whittle: rates\[0\] = inf must be"),
        ({0: np.nan}, r"whittle: rates\[0\] = nan must be"),
    ],
)
def test_every_page_needs_a_rate(rates, message):
    policy = Whittle(rates=rates)
    with pytest.raises(InputError, match=message):
        policy.add([Page(0)])
    assert policy.select(0.0, 1).page_ids.size == 0
