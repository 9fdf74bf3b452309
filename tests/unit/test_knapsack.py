"""The allocation meets its budget, equalises margins, and is beaten by no other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pollwise.errors import InputError
from pollwise.knapsack import allocate
from pollwise.objectives import Age, Delay, Detection, Ephemeral, Freshness, Objective

OBJECTIVES = [Detection(), Freshness(), Delay(), Age(), Ephemeral(decay=0.5, value=3.0)]

# The same examples at every run, however long they take.
steady = settings(derandomize=True, deadline=None, max_examples=40)

by_name = pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda one: one.name)


def log_uniform(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(np.log(low), np.log(high)).map(lambda x: float(np.exp(x)))


pages = st.lists(
    st.tuples(log_uniform(1e-6, 1e2), log_uniform(1e-2, 1e2), log_uniform(0.1, 10.0)),
    min_size=1,
    max_size=12,
).map(lambda rows: np.array(rows).T)


def per_second(objective: Objective, rates, frequencies, weights) -> float:
    """What an allocation brings a second; a cost counts as a loss."""
    polled = frequencies > 0
    elapsed = 1 / np.where(polled, frequencies, 1e-12)
    gain = objective.gain(rates, elapsed, weights) / elapsed
    return float(-gain.sum() if objective.minimise else gain.sum())


@by_name
@steady
@given(pages=pages, budget=log_uniform(1e-3, 1e4))
def test_the_budget_is_used_up_and_margins_are_equal(objective, pages, budget):
    rates, weights, costs = pages
    allocation = allocate(objective, rates, budget, weights, costs)
    frequencies, price = allocation.frequencies, allocation.price
    assert costs @ frequencies == pytest.approx(budget, rel=1e-9)
    polled = frequencies > 0
    margins = objective.index(
        rates[polled], 1 / frequencies[polled], weights[polled], costs[polled]
    )
    assert margins == pytest.approx(price, rel=1e-9)
    limits = objective.index(rates[~polled], np.inf, weights[~polled], costs[~polled])
    assert np.all(limits <= price * (1 + 1e-9))


@by_name
@steady
@given(pages=pages, budget=log_uniform(1e-2, 1e3), seed=st.integers(0, 2**32 - 1))
def test_no_other_allocation_brings_more(objective, pages, budget, seed):
    rates, weights, costs = pages
    best = allocate(objective, rates, budget, weights, costs).frequencies
    most = per_second(objective, rates, best, weights)
    shares = np.random.default_rng(seed).dirichlet(np.ones(rates.size), 20)
    for share in [*shares, np.full(rates.size, 1 / rates.size), rates / rates.sum()]:
        other = per_second(objective, rates, share * budget / costs, weights)
        assert other <= most + 1e-9 * abs(most)


@steady
@given(
    unchanged=st.lists(st.floats(0.01, 0.99), min_size=1, max_size=20),
    budget=st.floats(0.01, 100.0),
)
def test_detection_polls_in_proportion_to_the_logarithm_of_no_change(unchanged, budget):
    """For d(x) = 1 - q^(1/x), equal derivatives mean x ∝ -ln q."""
    rates = -np.log(unchanged)
    frequencies = allocate(Detection(), rates, budget).frequencies
    # Where pages are polled so rarely that all have surely changed, any allocation is best.
    if rates.sum() / budget < 12:
        assert frequencies == pytest.approx(budget * rates / rates.sum(), rel=1e-6)
    assert frequencies.sum() == pytest.approx(budget)


def test_delay_polls_in_proportion_to_the_square_root_of_the_rate():
    rates, weights, costs = np.array([[1.0, 4.0, 9.0], [1.0, 2.0, 1.0], [1.0, 1.0, 4.0]])
    expected = np.sqrt(rates * weights / costs)
    frequencies = allocate(Delay(), rates, 6.0, weights, costs).frequencies
    assert frequencies == pytest.approx(6.0 * expected / (costs @ expected))


def test_freshness_gives_up_pages_that_change_too_often():
    allocation = allocate(Freshness(), [0.1, 0.1, 50.0], 0.2)
    assert allocation.frequencies == pytest.approx([0.1, 0.1, 0.0])
    assert allocation.frequencies[2] == 0
    assert np.all(allocate(Freshness(), [0.1, 0.1, 50.0], 100.0).frequencies > 0)


@by_name
def test_pages_without_changes_or_weight_get_nothing(objective):
    allocation = allocate(objective, [1.0, 0.0, 2.0], 3.0, [1.0, 1.0, 0.0])
    assert allocation.frequencies == pytest.approx([3.0, 0.0, 0.0])


@by_name
@pytest.mark.parametrize("budget", [1e-6, 1e-3, 1.0, 1e6, 1e9])
def test_scarce_and_plentiful_budgets(objective, budget):
    rates = np.array([1e-7, 1e-3, 1.0, 1.0, 30.0])
    allocation = allocate(objective, rates, budget)
    assert allocation.frequencies.sum() == pytest.approx(budget, rel=1e-12)
    assert allocation.frequencies[2] == pytest.approx(allocation.frequencies[3], rel=1e-9)
    assert allocation.price > 0


def test_plenty_of_detection_is_shared_like_the_rates():
    frequencies = allocate(Detection(), [1.0, 3.0], 1e12).frequencies
    assert frequencies == pytest.approx([2.5e11, 7.5e11])


@by_name
def test_the_price_falls_with_the_budget(objective):
    rates = np.geomspace(1e-3, 10.0, 9)
    prices = [allocate(objective, rates, budget).price for budget in np.geomspace(2.0, 99.0, 9)]
    assert np.all(np.diff(prices) < 0)


def test_a_hundred_thousand_pages():
    rng = np.random.default_rng(1)
    rates = np.exp(rng.normal(-12.0, 3.0, 100_000))
    allocation = allocate(Freshness(), rates, 10.0)
    assert allocation.frequencies.sum() == pytest.approx(10.0)


@pytest.mark.parametrize("budget", [0.0, -1.0, np.inf, np.nan])
def test_refuses_a_budget_that_is_none(budget):
    with pytest.raises(InputError, match=r"budget=.*above 0"):
        allocate(Detection(), [1.0], budget)


@pytest.mark.parametrize(("budget", "extreme"), [(1e-300, "small"), (1e300, "large")])
def test_refuses_a_budget_beyond_floating_point(budget, extreme):
    with pytest.raises(InputError, match=f"so {extreme}"):
        allocate(Delay(), [1.0, 2.0], budget)


@pytest.mark.parametrize("rates", [[], [0.0], [0.0, 0.0]])
def test_refuses_pages_that_are_not_worth_a_poll(rates):
    with pytest.raises(InputError, match=f"none of {len(rates)} pages"):
        allocate(Detection(), rates, 1.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rates": 1.0}, "rates has shape"),
        ({"rates": [1.0, -2.0]}, r"rates\[1\] = -2.0"),
        ({"rates": [np.nan]}, r"rates\[0\] = nan"),
        ({"rates": [1.0, 2.0], "weights": [1.0]}, "weights has shape"),
        ({"rates": [1.0], "weights": -1.0}, r"weights\[0\] = -1.0"),
        ({"rates": [1.0, 2.0], "costs": [1.0, 0.0]}, r"costs\[1\] = 0.0 .* above 0"),
    ],
)
def test_refuses_bad_values_and_says_where(arguments, message):
    with pytest.raises(InputError, match=message):
        allocate(Detection(), **arguments, budget=1.0)
