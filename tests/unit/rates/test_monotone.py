"""Functions that fall, are above the mean, or both, are drawn as by rejection, without stalling."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pollwise.errors import InputError
from pollwise.kernel_cache import kernel
from pollwise.rates.gaussian_process import (
    SquaredExponential,
    draw_weights,
    learn,
    low_rank_basis,
    prior_root,
    solve,
)
from pollwise.rates.monotone import (
    draw_limited,
    follow_mean,
    never_below_mean,
    never_rising,
    starting_weights,
    whiten_guards,
    without_constraints,
)

KINDS = ["falling", "optimistic", "both"]


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

    def limits(self, kind):
        """The constraints on weights, and on what they have above the mean."""
        free = without_constraints(self.basis)
        falling = free if kind == "optimistic" else never_rising(self.basis)
        return falling, free if kind == "falling" else never_below_mean(self.basis)

    def moved(self, count, moves=1, seed=1, kind="falling"):
        """Draws of functions of that kind, one in `moves`."""
        falling, optimistic = self.limits(kind)
        guards = len(falling.guarded) + len(optimistic.guarded)
        forms = np.empty((len(self.root) + 1, guards))
        whiten_guards(falling, optimistic, self.moments, forms)
        drawn = np.empty((count, len(self.root)))
        posterior = (self.root, self.moments, forms, falling, optimistic)
        weights = starting_weights(self.basis, falling=True)
        if kind != "falling":
            follow_mean(falling, weights.copy(), self.moments[:, -1], weights)
        _draw_on(posterior, np.random.default_rng(seed), weights, moves, drawn)
        return drawn @ self.basis.T

    def fits(self, functions, kind):
        """Which functions are of that kind."""
        falls = (np.diff(functions, axis=1) <= 1e-12).all(axis=1)
        above = (functions >= self.basis @ self.moments[:, -1] - 1e-12).all(axis=1)
        return {"falling": falls, "optimistic": above, "both": falls & above}[kind]

    def free(self, count, seed=2):
        """Draws without constraints."""
        drawn = np.empty((count, self.basis.shape[1]))
        _draw(self.moments, np.random.default_rng(seed), drawn)
        return drawn @ self.basis.T


@kernel
def _draw_on(posterior, generator, weights, moves, drawn):
    for _ in range(100):
        draw_limited(*posterior, generator, weights)
    for n in range(len(drawn)):
        for _ in range(moves):
            draw_limited(*posterior, generator, weights)
        drawn[n] = weights


@kernel
def _draw(moments, generator, drawn):
    for n in range(len(drawn)):
        draw_weights(moments, generator, drawn[n])


CLEARLY_FALLING = [(3, 1.0)] * 10 + [(35, 0.0)] * 10
ONE_POINT = [(20, 0.0)] * 4 + [(20, 1.0)] * 12
A_LITTLE_RISING = [(10, 0.0), (25, 1.0)]


@pytest.mark.parametrize(
    ("kind", "observations", "length_scale"),
    [
        *((kind, [], 1.0) for kind in KINDS),
        *((kind, CLEARLY_FALLING, 1.0) for kind in KINDS),
        *((kind, ONE_POINT, 1.0) for kind in KINDS),
        *((kind, A_LITTLE_RISING, 1.0) for kind in ("falling", "optimistic")),
        *((kind, CLEARLY_FALLING, 0.4) for kind in KINDS),
    ],
)
def test_the_draws_are_those_of_rejection(kind, observations, length_scale):
    posterior = Posterior(40, observations, length_scale)
    free = posterior.free(100_000)
    expected = free[posterior.fits(free, kind)]
    assert len(expected) > (1000 if kind == "falling" else 200)
    drawn = posterior.moved(3000, moves=10, kind=kind)
    least = 0.005 if kind == "falling" else 0.001  # these have twice as many comparisons
    for marginal in (0, 20, 39):
        test = stats.ks_2samp(drawn[:, marginal], expected[:, marginal])
        assert test.pvalue > least, f"value at point {marginal}"
    drops = [functions[:, 0] - functions[:, -1] for functions in (drawn, expected)]
    assert stats.ks_2samp(*drops).pvalue > least
    bends = [functions[:, 0] - 2 * functions[:, 20] + functions[:, 39] for functions in
             (drawn, expected)]  # fmt: skip
    assert stats.ks_2samp(*bends).pvalue > least


@pytest.mark.parametrize("kind", ["falling", "both"])
def test_it_fits_where_rejection_finds_nothing(kind):
    rng = np.random.default_rng(3)
    flat = [(j, float(rng.random() < 0.5)) for j in rng.integers(0, 256, 5000)]
    rising = [(20, 0.0)] * 200 + [(250, 1.0)] * 200
    for observations, length_scale in ((flat, 0.2), (rising, 1.0)):
        posterior = Posterior(256, observations, length_scale)
        assert not posterior.fits(posterior.free(100_000), kind).any()
        drawn = posterior.moved(2000, moves=1, kind=kind)
        assert posterior.fits(drawn, kind).all()
        assert len(np.unique(drawn[:, 0])) > 1700  # few had to stay


@settings(max_examples=40)
@given(
    points=st.integers(2, 60),
    length_scale=st.floats(0.02, 5.0),
    signal_variance=st.floats(-6.0, 3.0).map(lambda power: 10.0**power),
    data=st.lists(st.tuples(st.floats(0.0, 1.0), st.booleans()), max_size=40),
    kind=st.sampled_from(KINDS),
)
def test_it_fits_whatever_is_observed(points, length_scale, signal_variance, data, kind):
    observations = [(round(where * (points - 1)), float(value)) for where, value in data]
    posterior = Posterior(points, observations, length_scale, signal_variance)
    assert (np.diff(posterior.basis @ starting_weights(posterior.basis, falling=True)) < 0.0).all()
    for falling in (False, True):
        start = posterior.basis @ starting_weights(posterior.basis, falling=falling)
        assert (start > 0.0).all()
    assert posterior.fits(posterior.moved(20, moves=2, kind=kind), kind).all()


def test_a_basis_of_constant_functions_only_is_refused():
    basis = low_rank_basis(SquaredExponential(1e8), np.arange(1, 41) / 40)
    with pytest.raises(InputError, match=r"1 functions on 40 points .* shorter length scale"):
        starting_weights(basis, falling=True)
    assert basis @ starting_weights(basis, falling=False) == pytest.approx(1.0)


FLAT = [(j % 40, float(j % 3 == 0)) for j in range(2000)]
RISING = [(4, 0.0)] * 30 + [(38, 1.0)] * 30


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "observations",
    [[], CLEARLY_FALLING, ONE_POINT, A_LITTLE_RISING, RISING, FLAT],
    ids=["prior", "clearly falling", "one point", "a little rising", "rising", "flat"],
)
def test_successive_draws_are_hardly_correlated(observations, kind):
    drawn = Posterior(40, observations).moved(5000, kind=kind)
    # Of what falls and is above a mean that rises, all is far away and in a narrow corner.
    most = 0.7 if kind == "both" and observations in (RISING, A_LITTLE_RISING) else 0.35
    for marginal in (0, 20, 39):
        assert abs(np.corrcoef(drawn[:-1, marginal], drawn[1:, marginal])[0, 1]) < most


def test_the_same_seed_gives_the_same_draws():
    posterior = Posterior(40, ONE_POINT)
    assert np.array_equal(posterior.moved(10, 3, seed=7), posterior.moved(10, 3, seed=7))


def test_weights_follow_the_mean_and_fall_again():
    posterior = Posterior(40, RISING)
    falling, _ = posterior.limits("both")
    start = starting_weights(posterior.basis, falling=True)
    weights = start.copy()
    mean = posterior.moments[:, -1]
    assert not follow_mean(falling, start, np.zeros_like(mean), weights)
    assert np.array_equal(weights, start)
    assert follow_mean(falling, start, mean, weights)
    assert posterior.fits((posterior.basis @ weights)[None], "both").all()
    before = weights.copy()
    assert not follow_mean(falling, start, 1e-3 * start, weights)  # it falls the more
    assert weights == pytest.approx(before + 1e-3 * start)
