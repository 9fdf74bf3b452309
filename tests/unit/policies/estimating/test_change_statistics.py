"""The estimates of change rates are those of the formulas, and those of the exact likelihood."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from pollwise.policies.estimating.change_statistics import (
    STATISTICS,
    likeliest_rate,
    reduced_rate,
    take_interval,
)

DAY = 86400.0
RECORD = np.dtype(STATISTICS)


def seen(polls):
    """The statistics of polls, each an interval, whether it changed and since when."""
    record = np.zeros(1, RECORD)[0]
    for interval, changed, since in polls:
        take_interval(record, interval, changed, since)
    return record


def exact_rate(polls, changed, amount, quiet):
    """By a root of the derivative of the likelihood over all intervals."""
    known = [(t, since) for t, was, since in polls if was and not math.isnan(since)]
    censored = [t for t, was, since in polls if was and math.isnan(since)]
    still = quiet + sum(t for t, was, _ in polls if not was) + sum(since for _, since in known)

    def slope(log_rate):
        rate = math.exp(log_rate)
        terms = [t / math.expm1(min(rate * t, 600.0)) for t in censored]
        extra = amount * changed / math.expm1(min(rate * changed, 600.0)) if amount else 0.0
        return len(known) / rate + sum(terms) + extra - still

    return math.exp(optimize.brentq(slope, math.log(1e-12), math.log(1e3), xtol=1e-12))


intervals = st.floats(10.0, 1e7)
polls_made = st.lists(
    st.tuples(intervals, st.booleans(), st.just(math.nan) | st.floats(0.0, 9.0)),
    min_size=1,
    max_size=40,
)


@settings(max_examples=200)
@given(polls=polls_made, changed=intervals, quiet=intervals)
def test_the_likeliest_rate_is_that_of_all_intervals(polls, changed, quiet):
    polls = [(t, was, since if was else math.nan) for t, was, since in polls]
    rate = likeliest_rate(seen(polls), changed, 1.0, quiet)
    assert rate == pytest.approx(exact_rate(polls, changed, 1.0, quiet), rel=2e-2)


def test_classes_of_intervals_hardly_move_an_estimate():
    rng = np.random.default_rng(5)
    for rate, most in ((0.03, 1e-5), (0.3, 1e-3), (3.0, 1e-2)):
        errors = []
        for _ in range(20):
            waits = rng.lognormal(0.0, 0.8, 60) * DAY
            found = rng.random(60) < -np.expm1(-rate * waits / DAY)
            polls = [(t, bool(was), math.nan) for t, was in zip(waits, found, strict=True)]
            got = likeliest_rate(seen(polls), DAY, 1.0, DAY)
            errors.append(got / exact_rate(polls, DAY, 1.0, DAY) - 1.0)
        assert np.abs(errors).max() < most


@pytest.mark.parametrize(("polls", "changes"), [(1, 1), (4, 1), (10, 10), (50, 20), (1000, 999)])
def test_with_equal_intervals_it_is_the_formula_of_cho_and_garcia_molina(polls, changes):
    record = seen([(3600.0, n < changes, math.nan) for n in range(polls)])
    expected = -math.log((polls - changes + 0.5) / (polls + 0.5)) / 3600.0
    assert reduced_rate(record) == pytest.approx(expected, rel=1e-9)


def test_without_a_change_half_a_change_counts():
    record = seen([(3600.0, False, math.nan)] * 4)
    assert reduced_rate(record) == pytest.approx(-math.log(4 / 4.5) / 3600.0, rel=1e-9)


def test_changes_told_with_their_times():
    # Four polls an hour apart, two changes, ten minutes before the poll: X' = 1 - 2/(4 ln(1/2)).
    record = seen([(3600.0, n < 2, 600.0 if n < 2 else math.nan) for n in range(4)])
    quiet = 2 * 600.0 + 2 * 3600.0
    assert record["quiet"] == quiet
    assert reduced_rate(record) == pytest.approx((1 + 1 / (2 * math.log(2))) / quiet)


def test_a_change_told_before_the_poll_before_is_not_taken():
    record = seen([(3600.0, True, 7200.0)])
    assert record["exact"] == 0
    assert record["counts"].sum() == 1
