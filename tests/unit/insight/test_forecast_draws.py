"""The distributions that outcomes are drawn from."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from pollwise.insight.forecast_draws import normal_distribution


@given(st.lists(st.floats(-40.0, 40.0), max_size=5))
def test_the_normal_distribution(x):
    assert normal_distribution(np.array(x)) == pytest.approx(special.ndtr(np.array(x)), rel=1e-13)
