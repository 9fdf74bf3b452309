"""Products of lattice points are lattice points, and values between them are close."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.rates.lattice import (
    COLUMNS,
    RATE_COUNT,
    RATES,
    SUBSTEPS,
    TIME_COUNT,
    interpolate,
    lattice_row,
    product_points,
    tabulate,
    time_at,
    time_step,
    time_until,
)

YEAR = 365.25 * 86_400.0
HALF_STEP = 2 ** (1 / 132)

steps = st.integers(0, TIME_COUNT - 1)
POINTS = product_points()
UNCHANGED = tabulate(lambda a: np.exp(-a))


def test_the_rates_are_a_geometric_series_over_all_rates_of_interest():
    assert RATES[0] * 34 * YEAR == pytest.approx(1.0, rel=0.01)
    assert RATES[-1] == pytest.approx(3.17, rel=0.01)
    assert RATES[1:] / RATES[:-1] == pytest.approx(np.full(RATE_COUNT - 1, 2 ** (1 / 3)))


def test_the_times_reach_from_a_blink_to_centuries():
    assert time_at(0) == 1 / 64
    assert time_at(TIME_COUNT - 1) > 500 * YEAR


@given(step=steps)
def test_a_row_holds_the_products_of_its_time_with_all_rates(step):
    assert lattice_row(POINTS, step) == pytest.approx(RATES * time_at(step), rel=1e-12)


def test_every_entry_of_a_table_is_a_product():
    """No entry is missing or doubled: the points in order are one geometric series."""
    in_order = POINTS.T.ravel()
    assert in_order.size == SUBSTEPS * COLUMNS
    assert in_order[1:] / in_order[:-1] == pytest.approx(np.full(in_order.size - 1, 2 ** (1 / 66)))


@given(step=steps)
def test_the_step_of_a_lattice_time_is_its_number(step):
    assert time_step(time_at(step)) == step


@given(elapsed=st.floats(1 / 64, 500 * YEAR))
def test_the_nearest_lattice_time_is_half_a_step_away_at_most(elapsed):
    nearest = time_at(time_step(elapsed))
    assert 1 / HALF_STEP / 1.000001 <= nearest / elapsed <= HALF_STEP * 1.000001


@pytest.mark.parametrize(("elapsed", "step"), [(1e-300, 0), (0.001, 0), (1e300, TIME_COUNT - 1)])
def test_times_off_the_lattice_count_as_its_ends(elapsed, step):
    assert time_step(elapsed) == step


@given(exponent=st.floats(-35.9, 11.9))
def test_interpolation_errs_less_than_the_next_point(exponent):
    """Linear in the logarithm x of the product: at most h²/8 max|f''|, h = ln 2 / 64."""
    product = 2.0**exponent
    near = product * np.linspace(0.98, 1.02, 9)
    bend = np.abs(near * (near - 1) * np.exp(-near)).max()
    bound = (np.log(2) / 64) ** 2 / 8 * bend + 2e-7
    assert abs(interpolate(UNCHANGED, product) - np.exp(-product)) <= bound


@given(step=steps, rate=st.integers(0, RATE_COUNT - 1))
def test_interpolation_is_exact_at_the_points(step, rate):
    product = RATES[rate] * time_at(step)
    assert interpolate(UNCHANGED, product) == pytest.approx(np.exp(-product), rel=1e-6, abs=1e-30)


def test_products_off_the_table_count_as_its_ends():
    assert interpolate(UNCHANGED, 1e-300) == 1.0
    assert interpolate(UNCHANGED, 1e300) == UNCHANGED.min()


@given(step=st.integers(0, 2638))
def test_a_time_is_the_nearest_one_up_to_the_middle_between_two(step):
    assert time_step(time_until(step)) == step
    assert time_step(time_at(step)) == step
    assert time_until(step) == pytest.approx(math.sqrt(time_at(step) * time_at(step + 1)), rel=1e-4)
