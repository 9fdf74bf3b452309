"""The walk among functions that never rise draws what rejection would, and never stalls."""

import math

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pollwise.rates.gaussian_process import (
    SquaredExponential,
    draw_weights,
    learn,
    low_rank_basis,
    prior_root,
    solve,
    tabulate_mean,
)
from pollwise.rates.monotone import falling_weights, slopes_of, walk


class Posterior:
    """Of a function on `points` points of (0, 1], after observations (point, value)."""

    def __init__(self, points, observations=(), length_scale=1.0):
        kernel = SquaredExponential(length_scale)
        self.basis = low_rank_basis(kernel, np.arange(1, points + 1) / points)
        root = prior_root(self.basis.shape[1])
        for j, value in observations:
            learn(root, self.basis[j], value, math.sqrt(0.1))
        self.moments = np.empty_like(root)
        solve(root, self.moments)
        self.mean = np.empty(points)
        tabulate_mean(np.ascontiguousarray(self.basis.T), self.moments, self.mean)

    def walked(self, count, moves, seed=1):
        """Functions of a walk, one in `moves`."""
        weights, slopes = falling_weights(self.basis), slopes_of(self.basis)
        generator = np.random.default_rng(seed)
        walk(self.moments, self.mean, slopes, 1000, generator, weights)
        drawn = np.empty((count, len(weights)))
        _walk_on(self.moments, self.mean, slopes, moves, generator, weights, drawn)
        return drawn @ self.basis.T

    def free(self, count, seed=2):
        """Draws without constraints."""
        drawn = np.empty((count, self.basis.shape[1]))
        _draw(self.moments, np.random.default_rng(seed), drawn)
        return drawn @ self.basis.T


@numba.njit
def _walk_on(moments, mean, slopes, moves, generator, weights, drawn):
    for n in range(len(drawn)):
        walk(moments, mean, slopes, moves, generator, weights)
        drawn[n] = weights


@numba.njit
def _draw(moments, generator, drawn):
    for n in range(len(drawn)):
        draw_weights(moments, generator, drawn[n])


def never_rising(functions):
    return (np.diff(functions, axis=1) <= 1e-12).all(axis=1)


CLEARLY_FALLING = [(3, 1.0)] * 10 + [(35, 0.0)] * 10
ONE_POINT = [(20, 0.0)] * 4 + [(20, 1.0)] * 12
A_LITTLE_RISING = [(10, 0.0), (25, 1.0)]


@pytest.mark.parametrize(
    ("observations", "length_scale"),
    [
        ([], 1.0),
        (CLEARLY_FALLING, 1.0),
        (ONE_POINT, 1.0),
        (A_LITTLE_RISING, 1.0),
        (CLEARLY_FALLING, 0.4),
    ],
    ids=["prior", "clearly falling", "one point", "a little rising", "short scale"],
)
def test_the_walk_draws_what_rejection_draws(observations, length_scale):
    posterior = Posterior(40, observations, length_scale)
    free = posterior.free(100_000)
    expected = free[never_rising(free)]
    assert len(expected) > 1000
    walked = posterior.walked(3000, moves=60)
    for marginal in (0, 20, 39):
        test = stats.ks_2samp(walked[:, marginal], expected[:, marginal])
        assert test.pvalue > 0.005, f"value at point {marginal}"
    drops = [functions[:, 0] - functions[:, -1] for functions in (walked, expected)]
    assert stats.ks_2samp(*drops).pvalue > 0.005
    bends = [functions[:, 0] - 2 * functions[:, 20] + functions[:, 39] for functions in
             (walked, expected)]  # fmt: skip
    assert stats.ks_2samp(*bends).pvalue > 0.005


def test_it_never_rises_where_rejection_finds_nothing():
    rng = np.random.default_rng(3)
    flat = [(j, float(rng.random() < 0.5)) for j in rng.integers(0, 256, 5000)]
    rising = [(20, 0.0)] * 200 + [(250, 1.0)] * 200
    for observations, length_scale in ((flat, 0.2), (rising, 1.0)):
        posterior = Posterior(256, observations, length_scale)
        assert not never_rising(posterior.free(100_000)).any()
        walked = posterior.walked(2000, moves=5)
        assert never_rising(walked).all()
        assert len(np.unique(walked[:, 0])) == 2000  # each move moved


@settings(max_examples=40)
@given(
    points=st.integers(2, 60),
    length_scale=st.floats(0.02, 5.0),
    data=st.lists(st.tuples(st.floats(0.0, 1.0), st.booleans()), max_size=40),
)
def test_it_never_rises_whatever_is_observed(points, length_scale, data):
    observations = [(round(where * (points - 1)), float(value)) for where, value in data]
    posterior = Posterior(points, observations, length_scale)
    assert (np.diff(posterior.basis @ falling_weights(posterior.basis)) < 0.0).all()
    assert never_rising(posterior.walked(20, moves=2)).all()


@pytest.mark.parametrize(
    ("observations", "at_most"),
    [([], 0.35), (CLEARLY_FALLING, 0.1), (ONE_POINT, 0.35), (A_LITTLE_RISING, 0.7)],
    ids=["prior", "clearly falling", "one point", "a little rising"],
)
def test_successive_draws_are_hardly_correlated_after_a_few_moves(observations, at_most):
    walked = Posterior(40, observations).walked(5000, moves=4)
    for marginal in (0, 20, 39):
        now, then = walked[:-1, marginal], walked[1:, marginal]
        assert np.corrcoef(now, then)[0, 1] < at_most


def test_the_same_seed_gives_the_same_walk():
    posterior = Posterior(40, ONE_POINT)
    assert np.array_equal(posterior.walked(10, 3, seed=7), posterior.walked(10, 3, seed=7))
