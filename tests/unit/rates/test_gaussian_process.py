"""The posterior learned step by step is that of the plain regression."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pollwise.errors import InputError
from pollwise.rates.gaussian_process import (
    SquaredExponential,
    draw_weights,
    learn,
    low_rank_basis,
    prior_root,
    regress,
    solve,
    tabulate_deviation,
    tabulate_mean,
)


def learned(basis, at, values, noise_variance):
    """The posterior's moments after observations, one after the other."""
    root = prior_root(basis.shape[1])
    for j, value in zip(at, values, strict=True):
        learn(root, basis[j], value, math.sqrt(noise_variance))
    moments = np.empty_like(root)
    solve(root, moments)
    return moments


def tables(basis, moments):
    """Posterior means and standard deviations at all points."""
    columns = np.ascontiguousarray(basis.T)
    mean, deviation = np.empty(len(basis)), np.empty(len(basis))
    tabulate_mean(columns, moments, mean)
    tabulate_deviation(columns, moments, deviation)
    return mean, deviation


@pytest.mark.parametrize("count", [0, 1, 7, 500])
@pytest.mark.parametrize("points", [2, 100, 256])
def test_it_agrees_with_the_plain_regression(points, count):
    rng = np.random.default_rng(count)
    kernel, x = SquaredExponential(), np.arange(1, points + 1) / points
    at, values = rng.integers(0, points, count), rng.integers(0, 2, count).astype(float)
    expected_mean, expected = regress(kernel, 0.1, x[at], values, x)
    basis = low_rank_basis(kernel, x)
    moments = learned(basis, at, values, 0.1)
    mean, deviation = tables(basis, moments)
    assert mean == pytest.approx(expected_mean, abs=1e-8)
    assert deviation**2 == pytest.approx(np.diag(expected), abs=1e-8)
    factor = basis @ moments[:, :-1]
    assert np.abs(factor @ factor.T - expected).max() < 1e-8


@given(
    length_scale=st.floats(0.05, 10.0),
    signal_variance=st.floats(0.01, 100.0),
    relative_noise=st.floats(0.01, 10.0),
    observations=st.lists(st.tuples(st.integers(0, 39), st.floats(-2.0, 2.0)), max_size=30),
)
def test_it_agrees_whatever_the_kernel(length_scale, signal_variance, relative_noise, observations):
    kernel, x = SquaredExponential(length_scale, signal_variance), np.arange(1, 41) / 40
    at = np.array([j for j, _ in observations], np.int64)
    values = np.array([value for _, value in observations], np.float64)
    noise_variance = relative_noise * signal_variance
    expected_mean, expected = regress(kernel, noise_variance, x[at], values, x)
    basis = low_rank_basis(kernel, x)
    mean, deviation = tables(basis, learned(basis, at, values, noise_variance))
    assert mean == pytest.approx(expected_mean, abs=1e-8)
    assert deviation**2 == pytest.approx(np.diag(expected), abs=1e-8 * signal_variance)


def test_the_order_of_observations_is_of_no_account():
    basis = low_rank_basis(SquaredExponential(), np.linspace(0.1, 1.0, 10))
    at, values = np.arange(10), np.tile([1.0, 0.0], 5)
    forward, backward = (learned(basis, at[::s], values[::s], 0.1) for s in (1, -1))
    assert tables(basis, forward)[0] == pytest.approx(tables(basis, backward)[0], abs=1e-12)


def test_it_stays_sound_however_much_is_observed():
    basis = low_rank_basis(SquaredExponential(), np.arange(1, 101) / 100)
    at = np.tile([9, 59, 99], 30_000)
    mean, deviation = tables(basis, learned(basis, at, np.tile([1.0, 0.0, 0.5], 30_000), 0.1))
    assert mean[[9, 59, 99]] == pytest.approx([1.0, 0.0, 0.5], abs=1e-3)
    # Three weights fit three points, so what was seen at a point is all that is known of it.
    assert deviation[[9, 59, 99]] == pytest.approx(math.sqrt(0.1 / 30_000), rel=1e-3)


def test_the_basis_of_a_smooth_kernel_is_narrow_and_complete():
    for points in (2, 50, 2000):
        x = np.arange(1, points + 1) / points
        basis = low_rank_basis(SquaredExponential(), x)
        assert basis.shape == (points, min(points, 8))
        error = basis @ basis.T - SquaredExponential().covariance(x, x)
        assert np.abs(error).max() < 1e-12


def test_draws_have_the_moments_of_the_posterior():
    basis = low_rank_basis(SquaredExponential(), np.arange(1, 21) / 20)
    moments = learned(basis, [2, 2, 10, 18], [1.0, 1.0, 0.0, 1.0], 0.1)
    mean, deviation = tables(basis, moments)
    generator, draws = np.random.default_rng(5), np.empty((4000, basis.shape[1]))
    for weights in draws:
        draw_weights(moments, generator, weights)
    scaled = (draws @ basis.T - mean) / deviation
    for j in (0, 2, 10, 19):
        assert stats.kstest(scaled[:, j], "norm").pvalue > 0.01
    far = (scaled[:, 0] * scaled[:, 19]).mean() * deviation[0] * deviation[19]
    assert far == pytest.approx(
        basis[0] @ moments[:, :-1] @ moments[:, :-1].T @ basis[19], abs=0.02
    )


@pytest.mark.parametrize("name", ["length_scale", "signal_variance"])
@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan, "x", True])
def test_a_kernel_needs_numbers_above_zero(name, value):
    with pytest.raises(InputError, match=rf"{name}=.* must be a finite number above 0"):
        SquaredExponential(**{name: value})
