"""Differences of policies on the same pages, and their intervals."""

import math

import numpy as np
import pytest

from pollwise.metrics import TALLIED, ratios
from pollwise.simulation.scores.paired import paired_differences


def tallies(rng: np.random.Generator, pages: int, effect: float) -> list[np.ndarray]:
    """Of two policies: pages differ much, the second is fresh a share `effect` longer."""
    first = rng.random((pages, len(TALLIED))) + 0.5
    second = first.copy()
    fresh = TALLIED.index("fresh")
    second[:, fresh] += effect * first[:, TALLIED.index("lived")] * rng.exponential(1.0, pages)
    return [first, second]


def test_the_difference_is_that_of_the_figures():
    rng = np.random.default_rng(1)
    pair = tallies(rng, 50, 0.1)
    [against] = paired_differences(pair, rng)
    one, two = (ratios(rows.sum(axis=0)) for rows in pair)
    for name, found in against.items():
        assert found["difference"] == pytest.approx(float(two[name] - one[name]))
    assert against["captured"]["interval_95"] == (0.0, 0.0)  # the same for both, page by page


def test_what_is_not_different_has_no_interval_and_pairing_makes_it_narrow():
    rng = np.random.default_rng(2)
    one, two = tallies(rng, 200, 0.05)
    [paired] = paired_differences([one, two], rng)
    [mixed] = paired_differences([one, two[rng.permutation(200)]], rng)
    low, high = paired["freshness"]["interval_95"]
    assert 0 < low < paired["freshness"]["difference"] < high
    wide_low, wide_high = mixed["freshness"]["interval_95"]
    assert high - low < 0.5 * (wide_high - wide_low)


def test_intervals_cover_what_they_say():
    truth, inside = 0.1, []
    for seed in range(60):
        rng = np.random.default_rng([3, seed])
        [against] = paired_differences(tallies(rng, 80, truth), rng)
        low, high = against["freshness"]["interval_80"]
        inside.append(low <= truth <= high)
    assert 0.65 < np.mean(inside) < 0.95


def test_without_changes_there_is_no_share_of_them():
    rows = np.ones((5, len(TALLIED)))
    rows[:, TALLIED.index("changes")] = rows[:, TALLIED.index("found")] = 0.0
    [against] = paired_differences([rows, rows], np.random.default_rng(0))
    assert math.isnan(against["captured"]["difference"])
