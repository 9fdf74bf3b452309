"""The distributions that outcomes are drawn from."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, special

from pollwise.insight.forecast_draws import information, normal_distribution
from pollwise.insight.forecaster import _MOST_TELLING


@given(st.lists(st.floats(-40.0, 40.0), max_size=5))
def test_the_normal_distribution(x):
    assert normal_distribution(np.array(x)) == pytest.approx(special.ndtr(np.array(x)), rel=1e-13)


@given(st.floats(1e-3, 20.0))
def test_information_is_the_variance_of_the_score(expected):
    # The score is the derivative, by log a, of the log of the chance of what the poll finds.
    chance = -np.expm1(-expected)
    step = 1e-5
    up, down = (-np.expm1(-expected * np.exp(sign * step)) for sign in (1.0, -1.0))
    changed = (np.log(up) - np.log(down)) / (2 * step)
    variance = chance * changed**2 + (1.0 - chance) * expected**2
    assert information(np.array(chance)) == pytest.approx(variance, rel=1e-4)


def test_a_poll_tells_most_at_the_chance_that_forecasts_use():
    most = optimize.minimize_scalar(
        lambda chance: -information(np.array(chance)), bounds=(0.1, 0.99), method="bounded"
    )
    assert most.x == pytest.approx(_MOST_TELLING, abs=1e-4)


def test_sure_outcomes_tell_nothing():
    assert information(np.array([0.0, 1.0])).tolist() == [0.0, 0.0]
