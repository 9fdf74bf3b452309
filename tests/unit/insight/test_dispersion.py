"""The past tells how wide intervals must be."""

import numpy as np
import pytest

from pollwise.insight.dispersion import Spread, dispersion

DAY = 86_400.0


@pytest.mark.parametrize("scale", [1.0, 2.0, 5.0])
def test_the_variance_of_normal_errors(scale):
    errors = scale * np.random.default_rng(1).normal(size=2000)
    assert dispersion(errors) == pytest.approx(scale**2, rel=0.1)


def test_one_uproar_does_not_count():
    assert dispersion([0.5] * 40 + [1e6]) < 2.0


def test_it_is_at_least_that_of_a_poisson_process():
    assert 1.0 <= dispersion([]) < 1.5
    assert dispersion(np.zeros(100)) == 1.0


def polls(cluster: int):
    """Four polls an hour, of pages that change as a Poisson process, or many at a time."""
    rng = np.random.default_rng(3)
    ages = np.arange(0, 300 * DAY, 900.0)
    gaps = rng.uniform(1, 3, len(ages)) * DAY
    chances = np.full(len(ages), 0.1)
    changed = np.repeat(rng.random(len(ages) // cluster + 1) < 0.1, cluster)[: len(ages)]
    return ages, gaps, chances, changed


def test_polls_of_poisson_processes():
    spread = Spread.of_polls(*polls(1), 7 * DAY)
    assert (spread.found, spread.stale, spread.delay) == pytest.approx((1.0, 1.0, 1.0), abs=0.6)


def test_changes_that_come_together():
    spread = Spread.of_polls(*polls(40), 7 * DAY)
    assert spread.found == pytest.approx(40.0, rel=0.5)
    assert spread.stale > 10.0


def test_more_or_fewer_changes_than_before_are_an_error_even_if_polls_expected_them():
    """As when each poll is made after its page was seen to change elsewhere, in some weeks."""
    ages, gaps, _, _ = polls(1)
    rng = np.random.default_rng(5)
    chances = np.where(rng.random(43)[(ages // (7 * DAY)).astype(int)] < 0.5, 0.02, 0.2)
    changed = rng.random(len(ages)) < chances
    spread = Spread.of_polls(ages, gaps, chances, changed, 7 * DAY)
    assert spread.found > 10.0
    assert spread.stale >= spread.found


def test_a_period_says_nothing_of_itself():
    ages = np.full(50, DAY)
    ones = np.ones(50)
    spread = Spread.of_polls(ages, DAY * ones, ones, ones.astype(bool), 7 * DAY)
    assert spread.found < 1.5


def test_no_polls_tell_nothing():
    nothing = np.empty(0)
    assert Spread.of_polls(nothing, nothing, nothing, nothing.astype(bool), DAY).found < 1.5
