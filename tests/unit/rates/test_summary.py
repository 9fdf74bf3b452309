"""Likelihoods in a few bytes, against those of all rates and scipy's splines."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import CubicHermiteSpline

from pollwise.rates.lattice import RATE_COUNT, RATES
from pollwise.rates.posterior import (
    changed_table,
    forget,
    learn_doubtful_poll,
    learn_poll,
    unchanged_table,
)
from pollwise.rates.summary import (
    KNOT_COUNT,
    NEAREST,
    likelihood_of_summary,
    round_root,
    square_of,
    summarise,
)

CODES = 135
"""All firsts of twelve knots among 96 rates: 13 of every fourth one, 37 of every second, 85."""
DEEPEST = 24.0
CHANGED, UNCHANGED = changed_table(), unchanged_table()
DOUBT = np.float32(0.001)


def likelihood_of(depths: np.ndarray, first: int) -> np.ndarray:
    likelihood = np.zeros(RATE_COUNT, np.float32)
    likelihood_of_summary(depths, first, likelihood)
    return likelihood


def last_first(apart: int) -> int:
    """The rate after the last one that may have the first knot."""
    return RATE_COUNT - (KNOT_COUNT - 1) * apart


def learn(likelihood: np.ndarray, changed: bool, elapsed: float) -> None:
    forget(likelihood)
    if changed:
        learn_poll(likelihood, elapsed, CHANGED)
    else:
        learn_doubtful_poll(likelihood, elapsed, UNCHANGED, DOUBT)


def kept_both_ways(polls: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The likelihood after polls of a Poisson page: of all rates, and if only its summary is kept.

    The summary is made anew after each poll.
    """
    rng = np.random.default_rng(seed)
    rate, mean = 10.0 ** rng.uniform(-8, -3), 10.0 ** rng.uniform(3, 7)
    exact, depths, first = np.ones(RATE_COUNT, np.float32), np.zeros(KNOT_COUNT, np.uint8), 0
    for _ in range(polls):
        elapsed = float(mean * rng.uniform(0.3, 2.0))
        changed = bool(rng.random() < -math.expm1(-rate * elapsed))
        summed = likelihood_of(depths, first)
        for likelihood in (exact, summed):
            learn(likelihood, changed, elapsed)
        first = summarise(summed, depths, int(rng.integers(2**31)))
    return exact, likelihood_of(depths, first)


def distance(one: np.ndarray, other: np.ndarray) -> float:
    """Of the posteriors, all rates being equally likely before: the share that lies elsewhere."""
    return float(np.abs(one / one.sum() - other / other.sum()).sum() / 2)


def test_zeros_are_a_level_likelihood():
    for code in range(CODES):
        assert np.all(likelihood_of(np.zeros(KNOT_COUNT, np.uint8), code) == 1.0)


@pytest.mark.parametrize(("polls", "typical", "most"), [(4, 0.01, 0.06), (20, 0.02, 0.1)])
def test_a_summary_says_nearly_the_same_as_all_rates(polls, typical, most):
    found = [distance(*kept_both_ways(polls, seed)) for seed in range(300)]
    assert np.mean(found) < typical
    assert np.quantile(found, 0.99) < most


@given(
    depths=st.lists(st.integers(0, 255), min_size=KNOT_COUNT, max_size=KNOT_COUNT),
    code=st.integers(0, CODES - 1),
)
def test_between_its_knots_the_depth_is_that_of_a_cubic_spline(depths, code):
    firsts = [(first, apart) for apart in (4, 2, 1) for first in range(0, last_first(apart), apart)]
    first, apart = firsts[code]
    at = first + apart * np.arange(KNOT_COUNT)
    depth = DEEPEST * (np.array(depths) / 255) ** 2
    straight_on = np.concatenate([[2 * depth[0] - depth[1]], depth, [2 * depth[-1] - depth[-2]]])
    slopes = (straight_on[2:] - straight_on[:-2]) / (2 * apart)
    between = np.arange(at[0], at[-1] + 1)
    expected = CubicHermiteSpline(at, depth, slopes)(between).clip(0.0, DEEPEST)
    found = likelihood_of(np.array(depths, np.uint8), code)
    assert found[between] == pytest.approx(2.0**-expected, rel=5e-4)
    slower = depth[0] + max(-slopes[0], 0.0) * np.arange(first, 0, -1)
    assert found[:first] == pytest.approx(2.0 ** -slower.clip(0.0, DEEPEST), rel=5e-4)
    assert np.all(found[at[-1] :] == found[at[-1]])


@given(number=st.floats(0.0, 200.0))
def test_numbers_are_rounded_to_the_codes_beside_them_and_right_on_average(number):
    chances = (np.arange(2_000) + 0.5) / 2_000
    codes = np.array([round_root(number, 160.0, chance) for chance in chances])
    assert 0 <= codes.min() <= codes.max() <= min(codes.min() + 1, 255)
    mean = np.mean([square_of(code, 160.0) for code in codes])
    assert mean == pytest.approx(min(number, 160.0), abs=2e-3)


def test_a_summary_of_a_summary_says_the_same():
    rng = np.random.default_rng(3)
    for _ in range(200):
        rate = RATES[rng.integers(30, 60)]
        likelihood = np.ones(RATE_COUNT, np.float32)
        for _ in range(5):
            elapsed = float(rng.exponential(1.0 / rate))
            learn(likelihood, bool(rng.random() < -math.expm1(-rate * elapsed)), elapsed)
        depths, again = np.zeros((2, KNOT_COUNT), np.uint8)
        once = likelihood_of(depths, summarise(likelihood, depths, NEAREST))
        twice = likelihood_of(again, summarise(once, again, NEAREST))
        assert distance(once, twice) < 0.01
