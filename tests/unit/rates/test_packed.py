"""Numbers in 16 bits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.rates.lattice import RATE_COUNT
from pollwise.rates.packed import number_of, pack, packed, unpacked

numbers = st.lists(
    st.floats(2.0**-99, 2.0**26, width=32), min_size=RATE_COUNT, max_size=RATE_COUNT
).map(lambda each: np.array(each, np.float32))


def rounded(values: np.ndarray, seed: int) -> np.ndarray:
    codes = np.zeros(RATE_COUNT, np.uint16)
    pack(values, codes, seed)
    return unpacked(codes)


@given(values=numbers, seed=st.integers(0, 2**62))
def test_numbers_are_kept_to_a_fifth_of_a_percent(values, seed):
    assert rounded(values, seed) == pytest.approx(values, rel=2.0**-9)
    assert unpacked(packed(values)) == pytest.approx(values, rel=2.0**-10)


@given(codes=st.lists(st.integers(0, 0xFFFF), min_size=RATE_COUNT, max_size=RATE_COUNT))
def test_what_is_unpacked_is_packed_into_the_same_codes(codes):
    codes = np.array(codes, np.uint16)
    again, values = np.zeros_like(codes), unpacked(codes)
    assert [number_of(code) for code in codes] == values.tolist()
    for seed in range(5):
        pack(values, again, seed)
        assert np.array_equal(again, codes)
    assert np.array_equal(packed(values), codes)


def test_numbers_beyond_either_end_come_to_that_end():
    values = np.resize([0.0, 1e-38, 3e38, 1.0], RATE_COUNT).astype(np.float32)
    ends = np.resize([2.0**-100, 2.0**-100, 2.0**28, 1.0], RATE_COUNT)
    for found in (rounded(values, 1), unpacked(packed(values))):
        assert found == pytest.approx(ends, rel=2.0**-9)


def test_rounding_at_random_is_right_on_average():
    values = np.random.default_rng(1).random(RATE_COUNT).astype(np.float32)
    mean = np.mean([rounded(values, seed) for seed in range(4_000)], axis=0, dtype=float)
    assert mean == pytest.approx(values, rel=1e-4)


def test_rounding_of_one_rate_says_nothing_of_that_of_the_next():
    values = np.full(RATE_COUNT, 1.0 + 2.0**-10, np.float32)  # in the middle of two codes
    up = np.array([rounded(values, seed) for seed in range(4_000)]) > values
    correlations = np.corrcoef(up.T) - np.eye(RATE_COUNT)
    assert up.mean() == pytest.approx(0.5, abs=0.01)
    assert np.abs(correlations).max() < 0.1  # of 4,560, each 0 +- .016
    assert np.abs(np.corrcoef(up[:-1].ravel(), up[1:].ravel())[0, 1]) < 0.01
