"""The compiled allocation is that of `pollwise.knapsack.allocate`."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pollwise.errors import InputError
from pollwise.knapsack import allocate
from pollwise.objectives import Age, Delay, Detection, Ephemeral, Freshness, Objective
from pollwise.policies.estimating.lambdacrawl import Harmonic
from pollwise.policies.estimating.price_search import spread_budget, worth_of

OBJECTIVES = [Detection(), Freshness(), Delay(), Age(), Ephemeral(1e-4, 3.0), Harmonic()]
every_objective = pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda one: one.name)
numbers = st.floats(0.1, 10.0)
pages = st.lists(st.tuples(st.floats(-8.0, -2.0), numbers, numbers), min_size=1, max_size=12)


def found(objective, rates, budget, weights, costs, price=1.0):
    arrays = (np.asarray(array, np.float64) for array in (rates, weights, costs))
    rates, weights, costs = arrays
    return spread_budget(worth_of("test", objective), budget, rates, weights, costs, price)


@every_objective
@settings(max_examples=40)
@given(pages=pages, each=st.floats(-7.0, -3.0), start=st.floats(-20.0, 20.0))
def test_it_is_the_exact_allocation(objective, pages, each, start):
    logs, weights, costs = np.array(pages).T
    rates, budget = 10.0**logs, len(pages) * 10.0**each
    got, price = found(objective, rates, budget, weights, costs, np.exp(start))
    assert costs @ got == pytest.approx(budget, rel=1e-4)
    best = allocate(objective, rates, budget, weights, costs)
    assert price == pytest.approx(best.price, rel=1e-4)
    # Near saturation the frequencies may differ where their worth does not.
    gain = [brought(objective, rates, f, weights) for f in (got, best.frequencies)]
    assert gain[0] == pytest.approx(gain[1], rel=1e-6)


def brought(objective, rates, frequencies, weights) -> float:
    polled = frequencies > 0
    each = objective.gain(rates[polled], 1 / frequencies[polled], weights[polled])
    return float(each @ frequencies[polled])


def test_the_rates_of_lambdacrawl_are_those_of_its_formula():
    rates, weights = np.array([1.0, 4.0, 0.2]), np.array([1.0, 2.0, 1.0])
    got, price = found(Harmonic(), rates, 3.0, weights, np.ones(3))
    expected = (-rates + np.sqrt(rates**2 + 4 * weights * rates / price)) / 2
    assert got == pytest.approx(expected)
    assert got.sum() == pytest.approx(3.0)


def test_pages_that_never_change_or_weigh_nothing_get_no_poll():
    got, _ = found(Freshness(), [1.0, 0.0, 1.0], 1.0, [1.0, 1.0, 0.0], [1.0, 1.0, 1.0])
    assert got == pytest.approx([1.0, 0.0, 0.0])
    got, price = found(Freshness(), [0.0], 1.0, [1.0], [1.0], price=3.0)
    assert (got.tolist(), price) == ([0.0], 3.0)


def test_an_unknown_objective_is_refused():
    class Strange(Objective):
        name = "strange"

    with pytest.raises(InputError, match="cho-mle: no objective 'strange' here; choose one of"):
        worth_of("cho-mle", Strange())
