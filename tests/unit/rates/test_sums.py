"""Sums over all rates are right, and always in the same order."""

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.rates.lattice import RATE_COUNT, RATES, lattice_row, tabulate, time_at
from pollwise.rates.sums import mean_over, normalise, total_of


def in_lanes(terms):
    """The sum in the order of the lanes, number by number."""
    a, b, c, d, e, f, g, h = (sum(terms[n::8], terms.dtype.type(0.0)) for n in range(8))
    return ((a + e) + (c + g)) + ((b + f) + (d + h))


@given(
    step=st.integers(0, 2559),
    seed=st.integers(0, 10_000),
    function=st.sampled_from([lambda a: -np.expm1(-a), lambda a: np.exp(-a), np.sqrt]),
)
def test_the_mean_over_a_row_is_that_over_the_rates(step, seed, function):
    weights = np.random.default_rng(seed).random(RATE_COUNT).astype(np.float32)
    exact = weights.astype(float) @ function(RATES * time_at(step))
    assert mean_over(weights, lattice_row(tabulate(function), step)) == pytest.approx(
        exact, rel=1e-4
    )


@given(seed=st.integers(0, 10_000), kind=st.sampled_from([np.float32, np.float64]))
def test_a_sum_is_that_of_the_lanes_to_the_bit(seed, kind):
    weights = (10.0 ** np.random.default_rng(seed).uniform(-30, 3, RATE_COUNT)).astype(kind)
    assert total_of(weights) == in_lanes(weights)


@given(seed=st.integers(0, 10_000))
def test_a_mean_is_that_of_the_lanes_to_the_bit(seed):
    rng = np.random.default_rng(seed)
    weights, values = (10.0 ** rng.uniform(-15, 3, (2, RATE_COUNT))).astype(np.float32)
    assert mean_over(weights, values) == in_lanes(weights * values)


def test_arrays_that_are_not_side_by_side_are_refused():
    with pytest.raises(numba.TypingError):
        total_of(np.ones(2 * RATE_COUNT)[::2])


def test_weights_are_scaled_to_a_sum_of_one():
    weights = np.arange(RATE_COUNT, dtype=np.float32)
    normalise(weights)
    assert total_of(weights) == pytest.approx(1.0, abs=1e-6)
    assert weights[10] == pytest.approx(10 * weights[1])
