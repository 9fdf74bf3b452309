"""The run time of the FAST update of GPOKS, and its difference from the plain regression."""

import time

import numpy as np

from pollwise.experiments.experiment import Effort, Measurements, Row
from pollwise.experiments.judging import verdict
from pollwise.policies.base import Policy
from pollwise.policies.gpoks.gpoks import GPOKS
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.rates.gaussian_process import (
    SquaredExponential,
    learn,
    low_rank_basis,
    prior_root,
    regress,
    solve,
)
from pollwise.simulation.scores.summary import mean_of
from pollwise.simulation.worlds.stochastic_knapsack import StochasticKnapsack, play

__all__ = ["as_plain_and_fast", "run_time"]

_STEPS = 10_000
_OBSERVATIONS = 500
_NOISE_VARIANCE = 0.1


def _seconds(policy: Policy, steps: int, seed: int) -> float:
    """What so many steps with two pages take."""
    knapsack = StochasticKnapsack.ranked(pages=2, alpha=0.6, beta=1.0, perturbations=0)
    begun = time.perf_counter()
    play(policy, knapsack, polls=steps, seed=seed)
    return time.perf_counter() - begun


def _gpoks(seed: int) -> GPOKS:
    return GPOKS(generator=np.random.default_rng(seed))


def _difference(seed: int) -> tuple[float, float]:
    """How far the two regressions differ at most, in mean and variance, after many rewards."""
    rng = np.random.default_rng(seed)
    points = np.arange(1, 101) / 100
    kernel, basis = SquaredExponential(), low_rank_basis(SquaredExponential(), points)
    at = rng.integers(0, len(points), _OBSERVATIONS)
    rewards = (rng.random(_OBSERVATIONS) < 1 - 0.4 ** (1 / points[at])).astype(np.float64)
    root = prior_root(basis.shape[1])
    for spot, reward in zip(at.tolist(), rewards.tolist(), strict=True):
        learn(root, basis[spot], reward, np.sqrt(_NOISE_VARIANCE))
    moments = np.empty_like(root)
    solve(root, moments)
    deviations = basis @ moments[:, :-1]
    mean, covariance = regress(kernel, _NOISE_VARIANCE, points[at], rewards, points)
    return (
        float(np.abs(basis @ moments[:, -1] - mean).max()),
        float(np.abs((deviations**2).sum(axis=1) - np.diag(covariance)).max()),
    )


def run_time(effort: Effort) -> Measurements:
    """Seconds and differences; on one core, since parallel runs would disturb the times."""
    for warming_up in (_gpoks(0), BayesianIndex()):
        _seconds(warming_up, 10, 0)
    times: list[tuple[float, ...]] = []
    differences: list[tuple[float, float]] = []
    for seed in range(effort.trials):
        effort.report(f"{seed + 1:,d} of {effort.trials:,d} trials")
        fast = [_seconds(_gpoks(seed), steps, seed) for steps in (_STEPS // 10, _STEPS)]
        times.append((*fast, _seconds(BayesianIndex(), _STEPS, seed)))
        differences.append(_difference(seed))
    short, long, today = (mean_of(column) for column in zip(*times, strict=True))
    mean, variance = (max(column) for column in zip(*differences, strict=True))
    return Measurements(
        [
            Row("gpoks", f"seconds t={_STEPS // 10}", short.value, short.stderr),
            Row("gpoks", f"seconds t={_STEPS}", long.value, long.stderr),
            Row("bayes-index", f"seconds t={_STEPS}", today.value, today.stderr),
            Row("FAST - plain", f"mean, {_OBSERVATIONS} observations", mean),
            Row("FAST - plain", f"variance, {_OBSERVATIONS} observations", variance),
        ]
    )


def as_plain_and_fast(table: Measurements) -> str:
    """Ten times the steps take less than 15 times as long, and both regressions agree."""
    short, long = (table.value("gpoks", f"seconds t={steps}") for steps in (_STEPS // 10, _STEPS))
    difference = max(row.value or 0.0 for row in table.rows if row.row == "FAST - plain")
    return verdict(
        long / short < 15.0 and difference < 1e-8,
        f"Ten times the steps take {long / short:.1f} times as long; the regressions differ by"
        f" at most {difference:.1e}.",
    )
