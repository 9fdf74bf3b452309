"""Chances are moved to what happened, and left alone where nothing is known."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.rates.recalibration import RECALIBRATION_SHAPE, recalibrated, take_in_outcome

chances = st.floats(0.0, 1.0)


def taught(predicted, changed) -> np.ndarray:
    table = np.zeros(RECALIBRATION_SHAPE)
    for chance, outcome in zip(predicted, changed, strict=True):
        take_in_outcome(table, chance, outcome)
    return table


@given(chances)
def test_without_experience_chances_stay(chance):
    table = np.zeros(RECALIBRATION_SHAPE)
    assert recalibrated(table, chance) == pytest.approx(chance, abs=1e-9)


def test_a_copy_is_needed():
    assert math.isnan(recalibrated(np.zeros(RECALIBRATION_SHAPE), math.nan))


@given(st.lists(st.tuples(chances, st.booleans()), max_size=50), chances)
def test_a_chance_stays_one(experience, chance):
    table = taught(*zip(*experience, strict=True)) if experience else taught([], [])
    assert 0.0 <= recalibrated(table, chance) <= 1.0


@pytest.mark.parametrize("truth", [lambda p: p / 2, lambda p: p**2, lambda p: 0.1 + 0.8 * p])
def test_what_is_predicted_happens_after_experience(truth):
    rng = np.random.default_rng(1)
    predicted = rng.random(20_000)
    table = taught(predicted, rng.random(len(predicted)) < truth(predicted))
    for chance in (0.1, 0.3, 0.5, 0.7, 0.9):
        assert recalibrated(table, chance) == pytest.approx(truth(chance), abs=0.04)


def test_what_was_long_ago_is_forgotten():
    rng = np.random.default_rng(1)
    never = np.zeros(20_000, bool)
    often = rng.random(20_000) < 0.4
    table = taught(np.full(40_000, 0.2), np.append(never, often))
    assert recalibrated(table, 0.2) == pytest.approx(0.4, abs=0.05)
