"""The kernels against the same formulas in float64, and what is learned of simulated pages."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.rates.lattice import RATE_COUNT, RATES, tabulate, time_at, time_step
from pollwise.rates.posterior import (
    DIFFUSION,
    changed_table,
    expectation,
    fit_prior,
    forget,
    learn_last_change,
    learn_poll,
    log_uniform,
    unchanged_table,
)

DAY = 86_400.0
CHANGED, UNCHANGED = changed_table(), unchanged_table()
FLOOR = 1e-25
LIKELIHOOD = np.dtype([("likelihood", "f4", (RATE_COUNT,))])

# Times of the lattice: to what any other time is rounded is a matter of the tests of the lattice.
seconds = st.integers(0, 2200).map(lambda step: 2.0 ** (step / 64 - 6))
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
        learn_last_change(likelihood, elapsed, UNCHANGED)
    else:
        learn_poll(likelihood, elapsed, CHANGED if changed else UNCHANGED)


def posterior(likelihood: np.ndarray) -> np.ndarray:
    """Under a prior that is uniform over the logarithms of the rates."""
    return likelihood.astype(float) / likelihood.sum(dtype=float)


def quantile(likelihood: np.ndarray, share: float) -> float:
    return float(RATES[np.searchsorted(np.cumsum(posterior(likelihood)), share)])


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
    learn_last_change(own, elapsed, UNCHANGED)
    inside = own > 1e-20
    density = RATES * np.exp(-RATES * elapsed)
    assert own[inside] == pytest.approx((density / density.max())[inside], rel=1e-4)
    best = np.clip(1 / elapsed, RATES[0], RATES[-1])
    assert abs(math.log2(RATES[own.argmax()] / best)) <= 0.26


def test_a_change_at_the_very_moment_of_the_poll_is_no_division_by_zero():
    own = np.ones(RATE_COUNT, np.float32)
    learn_last_change(own, 0.0, UNCHANGED)
    assert own.argmax() >= RATE_COUNT - 2
    assert np.isfinite(own).all()


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


@given(
    step=st.integers(0, 2559),
    seed=st.integers(0, 10_000),
    function=st.sampled_from([lambda a: -np.expm1(-a), lambda a: np.exp(-a), np.sqrt]),
)
def test_expectation_is_the_weighted_mean_over_the_rates(step, seed, function):
    rng = np.random.default_rng(seed)
    likelihood = rng.random(RATE_COUNT).astype(np.float32)
    weights = rng.random(RATE_COUNT).astype(np.float32)
    share = likelihood.astype(float) * weights.astype(float)
    exact = share @ function(RATES * time_at(step)) / share.sum()
    table = tabulate(function)
    assert expectation(likelihood, weights, table, step) == pytest.approx(exact, rel=1e-4)


def poll_regularly(rate: float, interval: float, count: int, seed: int, *, dated: bool):
    """The likelihood after regular polls of a Poisson page; `dated`: the server tells when."""
    rng = np.random.default_rng(seed)
    own = np.ones(RATE_COUNT, np.float32)
    for _ in range(count):
        since_change = rng.exponential(1 / rate)
        changed = since_change < interval
        forget(own)
        if dated and changed:
            learn_last_change(own, since_change, UNCHANGED)
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


def plain_em(likelihoods: np.ndarray, prior: np.ndarray, base: np.ndarray, pseudo: float):
    """The EM algorithm for mixture weights, with `base` as pseudo pages and smoothing."""
    for _ in range(5):
        shares = likelihoods * prior
        count = pseudo * base + (shares / shares.sum(axis=1, keepdims=True)).sum(axis=0)
        prior = diffuse_prior(count / count.sum())
    return prior


def diffuse_prior(weights: np.ndarray) -> np.ndarray:
    padded = np.pad(weights, 1, mode="edge")
    return 0.6 * weights + 0.2 * (padded[:-2] + padded[2:])


def polled_pages(rates: np.ndarray, interval: float, count: int) -> np.ndarray:
    pages = np.zeros(len(rates), LIKELIHOOD)
    for n, rate in enumerate(rates):
        pages["likelihood"][n] = poll_regularly(rate, interval, count, n, dated=False)
    return pages


@pytest.mark.parametrize("polls_per_page", [0.0, 3.0, 100.0])
def test_the_prior_is_fitted_as_by_a_plain_em_algorithm(polls_per_page):
    rng = np.random.default_rng(4)
    pages = np.zeros(300, LIKELIHOOD)
    for page in pages:
        page["likelihood"] = 1.0
        for _ in range(rng.integers(1, 5)):
            learn(page["likelihood"], bool(rng.random() < 0.5), float(rng.uniform(1.0, 1e6)))
    base, prior = log_uniform(0.1), log_uniform(math.inf)
    ids = np.arange(0, 300, 2)
    exact = plain_em(
        pages["likelihood"][ids].astype(float), prior.copy(), base, 100.0 / (1.0 + polls_per_page)
    )
    fit_prior(prior, base, pages, ids, polls_per_page)
    assert prior == pytest.approx(exact, rel=1e-3, abs=1e-9)
    assert prior.sum() == pytest.approx(1.0, rel=1e-5)


def test_fitting_makes_the_observations_more_likely_at_every_step():
    rates = np.exp(np.random.default_rng(2).normal(np.log(1 / DAY), 0.5, 200))
    pages = polled_pages(rates, DAY, 30)
    prior, base = log_uniform(math.inf), log_uniform(math.inf)
    ids = np.arange(len(rates))
    evidence = []
    for _ in range(4):
        evidence.append(np.log(pages["likelihood"].astype(float) @ prior).sum())
        fit_prior(prior, base, pages, ids, 30.0)
    assert np.all(np.diff(evidence) > 0)


def test_the_fitted_prior_finds_where_the_rates_of_the_pages_are():
    """Two kinds of pages, an octave wide each, 100 times apart; 20 polls of each page."""
    rng = np.random.default_rng(1)
    slow, fast = (center * 2 ** rng.uniform(-0.5, 0.5, 200) for center in (0.1 / DAY, 10 / DAY))
    pages = polled_pages(np.append(slow, fast), DAY / 3, 20)
    prior, base = log_uniform(math.inf), log_uniform(math.inf)
    for _ in range(4):
        fit_prior(prior, base, pages, np.arange(400), 20.0)
    near_slow = np.abs(np.log2(RATES * DAY / 0.1)) < 2.5
    near_fast = np.abs(np.log2(RATES * DAY / 10)) < 2.5
    assert prior[near_slow].sum() == pytest.approx(0.5, abs=0.1)
    assert prior[near_fast].sum() == pytest.approx(0.5, abs=0.1)


def test_the_base_prior_excludes_nothing_and_favours_none_of_the_possible():
    weights = log_uniform(RATES[50])
    assert weights.sum() == pytest.approx(1.0)
    assert weights[:51] == pytest.approx(np.full(51, weights[0]))
    assert weights[51:] == pytest.approx(np.full(RATE_COUNT - 51, weights[0] * 1e-6))
    assert np.all(log_uniform(0.0)[1:] < log_uniform(0.0)[0])
