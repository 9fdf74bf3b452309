"""Moments as people read them."""

import math

import pytest

from pollwise.insight.words import moment


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0.0, "1970-01-01 00:00:00"),
        (-62_135_596_801.0, "-"),
        (253_402_300_800.0, "-"),
        (-math.inf, "-"),
        (math.nan, "-"),
        (None, "-"),
    ],
)
def test_moments_that_a_calendar_cannot_show_are_a_dash(seconds, told):
    assert moment(seconds) == told
