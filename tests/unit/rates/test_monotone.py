"""Functions that never rise are drawn as by rejection, without its stalling."""

import math

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pollwise.errors import InputError
from pollwise.rates.gaussian_process import (
    SquaredExponential,
    draw_weights,
    learn,
    low_rank_basis,
    prior_root,
    solve,
)
from pollwise.rates.monotone import draw_falling, falling_weights, slopes_of, whiten_guards


class Posterior:
    """Of a function on `points` points of (0, 1], after observations (point, value)."""

    def __init__(self, points, observations=(), length_scale=1.0, signal_variance=1.0):
        kernel = SquaredExponential(length_scale, signal_variance)
        self.basis = low_rank_basis(kernel, np.arange(1, points + 1) / points)
        self.root = prior_root(self.basis.shape[1])
        for j, value in observations:
            learn(self.root, self.basis[j], value, math.sqrt(0.1))
        self.moments = np.empty_like(self.root)
        solve(self.root, self.moments)

    def moved(self, count, moves=1, seed=1):
        """Draws of functions that never rise, one in `moves`."""
        slopes = slopes_of(self.basis)
        forms = np.empty((len(self.root) + 1, len(slopes.guarded)))
        whiten_guards(slopes, self.moments, forms)
        drawn = np.empty((count, len(self.root)))
        posterior = (self.root, self.moments, forms, slopes)
        _draw_on(posterior, np.random.default_rng(seed), falling_weights(self.basis), moves, drawn)
        return drawn @ self.basis.T

    def free(self, count, seed=2):
        """Draws without constraints."""
        drawn = np.empty((count, self.basis.shape[1]))
        _draw(self.moments, np.random.default_rng(seed), drawn)
        return drawn @ self.basis.T


@numba.njit
def _draw_on(posterior, generator, weights, moves, drawn):
    for _ in range(100):
        draw_falling(*posterior, generator, weights)
    for n in range(len(drawn)):
        for _ in range(moves):
            draw_falling(*posterior, generator, weights)
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
def test_the_draws_are_those_of_rejection(observations, length_scale):
    posterior = Posterior(40, observations, length_scale)
    free = posterior.free(100_000)
    expected = free[never_rising(free)]
    assert len(expected) > 1000
    drawn = posterior.moved(3000, moves=10)
    for marginal in (0, 20, 39):
        test = stats.ks_2samp(drawn[:, marginal], expected[:, marginal])
        assert test.pvalue > 0.005, f"value at point {marginal}"
    drops = [functions[:, 0] - functions[:, -1] for functions in (drawn, expected)]
    assert stats.ks_2samp(*drops).pvalue > 0.005
    bends = [functions[:, 0] - 2 * functions[:, 20] + functions[:, 39] for functions in
             (drawn, expected)]  # fmt: skip
    assert stats.ks_2samp(*bends).pvalue > 0.005


def test_it_never_rises_where_rejection_finds_nothing():
    rng = np.random.default_rng(3)
    flat = [(j, float(rng.random() < 0.5)) for j in rng.integers(0, 256, 5000)]
    rising = [(20, 0.0)] * 200 + [(250, 1.0)] * 200
    for observations, length_scale in ((flat, 0.2), (rising, 1.0)):
        posterior = Posterior(256, observations, length_scale)
        assert not never_rising(posterior.free(100_000)).any()
        drawn = posterior.moved(2000, moves=1)
        assert never_rising(drawn).all()
        assert len(np.unique(drawn[:, 0])) > 1700  # few had to stay


@settings(max_examples=40)
@given(
    points=st.integers(2, 60),
    length_scale=st.floats(0.02, 5.0),
    signal_variance=st.floats(-6.0, 3.0).map(lambda power: 10.0**power),
    data=st.lists(st.tuples(st.floats(0.0, 1.0), st.booleans()), max_size=40),
)
def test_it_never_rises_whatever_is_observed(points, length_scale, signal_variance, data):
    observations = [(round(where * (points - 1)), float(value)) for where, value in data]
    posterior = Posterior(points, observations, length_scale, signal_variance)
    assert (np.diff(posterior.basis @ falling_weights(posterior.basis)) < 0.0).all()
    assert never_rising(posterior.moved(20, moves=2)).all()


def test_a_basis_of_constant_functions_only_is_refused():
    basis = low_rank_basis(SquaredExponential(1e8), np.arange(1, 41) / 40)
    with pytest.raises(InputError, match=r"1 functions on 40 points .* shorter length scale"):
        falling_weights(basis)


FLAT = [(j % 40, float(j % 3 == 0)) for j in range(2000)]
RISING = [(4, 0.0)] * 30 + [(38, 1.0)] * 30


@pytest.mark.parametrize(
    "observations",
    [[], CLEARLY_FALLING, ONE_POINT, A_LITTLE_RISING, RISING, FLAT],
    ids=["prior", "clearly falling", "one point", "a little rising", "rising", "flat"],
)
def test_successive_draws_are_hardly_correlated(observations):
    drawn = Posterior(40, observations).moved(5000)
    for marginal in (0, 20, 39):
        assert abs(np.corrcoef(drawn[:-1, marginal], drawn[1:, marginal])[0, 1]) < 0.35


def test_the_same_seed_gives_the_same_draws():
    posterior = Posterior(40, ONE_POINT)
    assert np.array_equal(posterior.moved(10, 3, seed=7), posterior.moved(10, 3, seed=7))
