"""The kernels against the same formulas in float64, and what is learned of simulated pages."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.rates.lattice import RATE_COUNT, RATES, lattice_row, time_at, time_step
from pollwise.rates.posterior import (
    DIFFUSION,
    changed_table,
    forget,
    learn_doubtful_poll,
    learn_last_change,
    learn_poll,
    unchanged_table,
)

DAY = 86_400.0
CHANGED, UNCHANGED = changed_table(), unchanged_table()
FLOOR = 1e-25
NEVER = np.zeros(RATE_COUNT, np.float32)
"""No time that is told is untrue."""
LIKELIHOOD = np.dtype([("likelihood", "f4", (RATE_COUNT,))])

# Times of the lattice: to what any other time is rounded is a matter of the tests of the lattice.
seconds = st.integers(0, 2268).map(time_at)
polls = st.lists(
    st.one_of(
        st.tuples(st.booleans(), seconds),
        st.tuples(st.just(None), seconds),  # the server tells its last change
    ),
    max_size=30,
)


def bayes(likelihood: np.ndarray, changed: bool | None, elapsed: float) -> np.ndarray:
    """Times the probability of what was observed, at most 1, down to the floor; in float64."""
    a = RATES * elapsed
    if changed is None:
        likelihood = likelihood * RATES / RATES[-1] * np.exp(-a)
    else:
        likelihood = likelihood * (-np.expm1(-a) if changed else np.exp(-a))
    return np.maximum(likelihood / max(likelihood.max(), FLOOR), FLOOR)


def diffused(likelihood: np.ndarray) -> np.ndarray:
    """A random walk of one step to either side, reflected at the ends."""
    padded = np.pad(likelihood, 1, mode="edge")
    return (1 - 2 * DIFFUSION) * likelihood + DIFFUSION * (padded[:-2] + padded[2:])


def learn(likelihood: np.ndarray, changed: bool | None, elapsed: float) -> None:
    if changed is None:
        learn_last_change(likelihood, elapsed, UNCHANGED, NEVER)
    else:
        learn_poll(likelihood, elapsed, CHANGED if changed else UNCHANGED)


def posterior(likelihood: np.ndarray) -> np.ndarray:
    """Under a prior that is uniform over the logarithms of the rates."""
    return likelihood.astype(float) / likelihood.sum(dtype=float)


def quantile(likelihood: np.ndarray, share: float) -> float:
    return float(RATES[np.searchsorted(np.cumsum(posterior(likelihood)), share)])


@given(polls=polls, doubt=st.floats(0.0, 1.0, width=32))
def test_a_doubtful_poll_is_a_mixture_with_one_that_says_nothing(polls, doubt):
    own = np.ones(RATE_COUNT, np.float32)
    for changed, elapsed in polls:
        if changed is None:
            continue
        table = CHANGED if changed else UNCHANGED
        surely = own.copy()
        learn_poll(surely, elapsed, table)
        rows = lattice_row(table, time_step(elapsed)).astype(float)
        exact = own * ((1 - doubt) * rows + doubt)
        learn_doubtful_poll(own, elapsed, table, np.float32(doubt))
        exact = np.maximum(exact / max(exact.max(), FLOOR), FLOOR)
        assert own == pytest.approx(exact, rel=1e-4)
        if doubt == 0.0:
            assert own == pytest.approx(surely, rel=1e-6)


@given(polls=polls)
def test_polls_update_the_likelihood_by_bayes_rule(polls):
    own, exact = np.ones(RATE_COUNT, np.float32), np.ones(RATE_COUNT)
    for changed, elapsed in polls:
        forget(own)
        learn(own, changed, elapsed)
        exact = bayes(diffused(exact), changed, elapsed)
    # Polls that contradict each other go through denormal numbers, which have few digits.
    assert own == pytest.approx(exact, rel=0.05, abs=1e-9)


@pytest.mark.parametrize("dated", [False, True], ids=["yes or no", "dated"])
@pytest.mark.parametrize("rate", [1e-7, 1e-4, 0.1])
def test_long_histories_lose_no_digits(rate, dated):
    rng = np.random.default_rng(5)
    own, exact = np.ones(RATE_COUNT, np.float32), np.ones(RATE_COUNT)
    for _ in range(500):
        interval = time_at(time_step(rng.exponential(1 / rate)))
        since_change = time_at(time_step(rng.exponential(1 / rate)))
        changed: bool | None = since_change < interval
        if dated and changed:
            changed, interval = None, since_change
        forget(own)
        learn(own, changed, interval)
        exact = bayes(diffused(exact), changed, interval)
    assert posterior(own) @ RATES == pytest.approx(exact @ RATES / exact.sum(), rel=1e-4)
    assert own == pytest.approx(exact, rel=1e-3, abs=1e-9)


@given(elapsed=seconds)
def test_the_last_change_has_an_exponential_age(elapsed):
    """λ e^(-λδ), whose maximum lies at λ = 1/δ."""
    own = np.ones(RATE_COUNT, np.float32)
    learn_last_change(own, elapsed, UNCHANGED, NEVER)
    inside = own > 1e-20
    density = RATES * np.exp(-RATES * elapsed)
    assert own[inside] == pytest.approx((density / density.max())[inside], rel=1e-4)
    best = np.clip(1 / elapsed, RATES[0], RATES[-1])
    assert abs(math.log2(RATES[own.argmax()] / best)) <= 0.26


def test_a_change_at_the_very_moment_of_the_poll_is_no_division_by_zero():
    own = np.ones(RATE_COUNT, np.float32)
    learn_last_change(own, 0.0, UNCHANGED, NEVER)
    assert own.argmax() >= RATE_COUNT - 2
    assert np.isfinite(own).all()


@given(since=seconds, elapsed=seconds, density=st.floats(1e-8, 1e-2))
def test_a_time_that_may_be_untrue_says_what_both_cases_say_together(since, elapsed, density):
    own = np.ones(RATE_COUNT, np.float32)
    untrue = density * -np.expm1(-RATES * elapsed)
    learn_last_change(own, since, UNCHANGED, untrue.astype(np.float32))
    exact = RATES * np.exp(-RATES * since) + untrue
    assert own == pytest.approx(np.maximum(exact / exact.max(), FLOOR), rel=1e-3, abs=1e-9)


@given(values=st.lists(st.floats(0.0, 1.0, width=32), min_size=RATE_COUNT, max_size=RATE_COUNT))
def test_diffusion_moves_mass_and_keeps_it(values):
    before = np.array(values, np.float32)
    after = before.copy()
    forget(after)
    assert after.sum(dtype=float) == pytest.approx(before.sum(dtype=float), rel=1e-5, abs=1e-30)
    assert after == pytest.approx(diffused(before.astype(float)), rel=1e-5, abs=1e-7)
    assert after.max() <= before.max() * 1.000001


def test_nothing_is_excluded_for_good():
    """After a thousand unchanged days, forty days of hourly changes are believed."""
    own = np.ones(RATE_COUNT, np.float32)
    for _ in range(1000):
        forget(own)
        learn_poll(own, DAY, UNCHANGED)
    assert quantile(own, 0.95) < 1 / (100 * DAY)
    for _ in range(40):
        forget(own)
        learn_poll(own, 3600.0, CHANGED)
    assert quantile(own, 0.5) > 1 / 3600.0


def poll_regularly(rate: float, interval: float, count: int, seed: int, *, dated: bool):
    """The likelihood after regular polls of a Poisson page; `dated`: the server tells when."""
    rng = np.random.default_rng(seed)
    own = np.ones(RATE_COUNT, np.float32)
    for _ in range(count):
        since_change = rng.exponential(1 / rate)
        changed = since_change < interval
        forget(own)
        if dated and changed:
            learn_last_change(own, since_change, UNCHANGED, NEVER)
        else:
            learn(own, changed, interval)
    return own


@pytest.mark.parametrize("rate", [0.05 / DAY, 1 / DAY, 5 / DAY])
def test_the_posterior_mean_comes_to_the_true_rate(rate):
    interval = 1.0 / rate  # where a poll tells much
    errors = []
    for count in (10, 100, 1000):
        means = [
            posterior(poll_regularly(rate, interval, count, seed, dated=False)) @ RATES
            for seed in range(20)
        ]
        errors.append(float(np.abs(np.log(np.array(means) / rate)).mean()))
    assert errors[2] < 0.08
    assert errors[2] < errors[1] < errors[0]


def test_the_interval_holds_the_true_rate_as_often_as_it_says():
    inside = 0
    for seed in range(200):
        rate = float(np.random.default_rng([seed, 1]).choice(RATES[40:80]))
        own = poll_regularly(rate, DAY, 20, seed, dated=False)
        inside += quantile(own, 0.05) <= rate <= quantile(own, 0.95)
    assert 170 <= inside <= 200


def test_times_of_changes_tell_far_more_than_whether_there_were_any():
    """A page that changes ten times a day, polled daily, only ever says that it has changed."""
    widths = {}
    for dated in (False, True):
        own = poll_regularly(10 / DAY, DAY, 20, seed=3, dated=dated)
        widths[dated] = math.log2(quantile(own, 0.95) / quantile(own, 0.05))
    assert widths[True] < 1.3
    assert widths[False] > 6 * widths[True]
