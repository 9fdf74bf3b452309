"""Against scipy, and against exact decimals: scipy is a little less exact."""

from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from pollwise.numerics import (
    root,
    two_or_more,
    two_or_more_inverse,
    two_or_more_steps,
)


@given(st.floats(1e-30, 1e6))
def test_two_or_more_events(a):
    with localcontext(prec=80):
        expected = Decimal(a)
        exact = float(1 - (-expected).exp() * (1 + expected))
    assert two_or_more(a) == pytest.approx(exact, rel=2e-14, abs=0)
    assert two_or_more(a) == pytest.approx(special.gammainc(2.0, a), rel=2e-13, abs=0)


@given(st.floats(1e-300, 1.0, exclude_max=True))
def test_the_number_of_events_of_a_probability(y):
    assert two_or_more_inverse(y) == pytest.approx(special.gammaincinv(2.0, y), rel=1e-13, abs=0)


def test_no_events_and_no_end_of_them():
    assert two_or_more([0.0, np.inf]).tolist() == [0.0, 1.0]
    assert two_or_more_inverse([0.0, 1.0, 2.0]).tolist() == [0.0, np.inf, np.inf]
    assert two_or_more_steps([0, np.inf, 3, np.inf], [0.5, 0.5, 1.0, 0.0]).tolist() == [0, 1, 1, 0]


@given(st.integers(0, 10**6), st.floats(1e-12, 1.0, exclude_max=True))
def test_two_or_more_in_steps(steps, probability):
    with localcontext(prec=80):
        n, p = Decimal(steps), Decimal(probability)
        exact = float(1 - (1 - p) ** n * (1 + n * p))
    assert two_or_more_steps(steps, probability) == pytest.approx(exact, rel=1e-13, abs=0)


@given(st.floats(-5.0, 5.0), st.sampled_from([1, 3, 9]), st.booleans())
def test_a_root_is_found_to_the_tolerance(wanted, power, falls):
    sign = -1.0 if falls else 1.0
    asked = []

    def function(x):
        asked.append(x)
        return sign * (np.expm1(x) - np.expm1(wanted)) ** power

    assert root(function, -20.0, 20.0, absolute=1e-9) == pytest.approx(wanted, abs=1e-9)
    assert len(asked) < 120  # bisection takes 36, in a flat place more are spent in vain


def test_a_root_at_an_end():
    assert root(lambda x: x - 1.0, 1.0, 2.0, absolute=1e-9) == 1.0
    assert root(lambda x: x - 2.0, 1.0, 2.0, absolute=1e-9) == 2.0


def test_no_root_between():
    with pytest.raises(ValueError, match="one sign"):
        root(lambda x: x * x + 1.0, -1.0, 1.0, absolute=1e-9)


@pytest.mark.parametrize("bad", [0.0, 2.0, None])
def test_a_function_that_is_no_number_has_no_root(bad):
    def function(x: float) -> float:
        return np.nan if x == bad or (bad is None and 0.0 < x < 2.0) else x - 1.5

    with pytest.raises(ValueError, match="the function is no number at"):
        root(function, 0.0, 2.0, absolute=1e-9)
