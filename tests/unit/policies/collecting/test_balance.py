"""The steering: what is estimated of coverage, and what new pages compete by."""

import math

import numpy as np
import pytest

from pollwise.policies.collecting.balance import Balance, FixedShares


def after(gains, value=0.5):
    balance = Balance()
    for gain in gains:
        balance.found(value, gain)
    return balance


def index(balance, value=0.5, freshness=0.9, relevance=10.0, fringe=0):
    return balance.index(
        value, freshness=freshness, change_rate=0.01, relevance=relevance, held=100, fringe=fringe
    )


def test_nothing_is_held_at_first():
    balance = Balance()
    assert balance.coverage(0.0, 0, 5) == 0.0
    assert index(balance, relevance=0.0) == math.inf


def test_the_yield_tells_what_is_missing():
    """Of gains like those of t/(t + b), the coverage is found to some hundredths."""
    b = 100.0
    times = np.arange(2000)
    held = 40.0 * times / (times + b)
    balance = after(np.diff(held))
    true = held[-1] / 40.0
    assert balance.coverage(float(held[-1]), 2000, 0) == pytest.approx(true, abs=0.03)


def test_a_large_fringe_is_not_without_relevance():
    balance = after([1.0] * 5 + [0.0] * 500)
    assert balance.coverage(5.0, 505, 0) > 0.99
    assert balance.coverage(5.0, 505, 5050) == pytest.approx(1 / 1.1)


def test_what_was_lost_is_missing_until_as_much_is_found():
    balance = after([0.5] * 40 + [0.0] * 400)
    balance.lost(2.0)
    balance.found(0.5, 0.0)
    less = balance.coverage(18.0, 400, 0)
    for _ in range(4):
        balance.found(0.5, 0.5)
    assert less < balance.coverage(20.0, 404, 0)


def test_the_smaller_of_coverage_and_freshness_counts():
    balance = after([1.0] * 5 + [0.0] * 500)
    low, even, high = (index(balance, freshness=f, fringe=1000) for f in (0.5, 0.95, 1.0))
    assert low < even / 100
    assert high > 2 * even


def test_values_are_corrected_by_what_such_pages_brought():
    balance = after([0.2] * 30, value=0.05)
    for _ in range(90):
        balance.found(0.5, 0.0)
    assert index(balance, value=0.05) > 5 * index(balance, value=0.5)


def test_state_is_put_back():
    balance = after([0.5, 0.0, 0.25])
    balance.lost(0.1)
    other = Balance()
    other.load(balance.state().tolist())
    for each in (balance, other):
        each.found(0.5, 0.3)
    assert other.state().tolist() == balance.state().tolist()


def test_fixed_shares_take_turns():
    shares = FixedShares()
    assert [index(shares) for _ in range(4)] == [math.inf, 0.0, math.inf, 0.0]
