"""The run time of the FAST update, and that it computes what the plain regression does."""

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pollwise.experiments import sources
from pollwise.experiments.experiment import Effort, Outcome, Row
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

__all__ = ["EXPERIMENT"]

Floats = NDArray[np.float64]

_STEPS = 10_000
_OBSERVATIONS = 500
_NOISE_VARIANCE = 0.1
_PUBLISHED_SECONDS = 240.0


def _seconds(policy: Policy, steps: int, seed: int) -> float:
    """Of so many steps with two pages; nothing is left to compile."""
    knapsack = StochasticKnapsack.ranked(pages=2, alpha=0.6, beta=1.0, perturbations=0)
    begun = time.perf_counter()
    play(policy, knapsack, polls=steps, seed=seed)
    return time.perf_counter() - begun


def _gpoks(seed: int) -> GPOKS:
    return GPOKS(generator=np.random.default_rng(seed))


def _difference(seed: int) -> tuple[float, float]:
    """The largest one between the two regressions, of mean and variance, after many rewards."""
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


@dataclass(frozen=True)
class _RunTime:
    title: str = "run time of FAST-GPOKS, 2 pages, and its difference from the plain regression"
    source: str = f"{sources.GPOKS}, table 8.1"
    claim: str = "FAST gives the plain regression, at a cost that earlier steps do not raise."
    trials: int = 5

    def run(self, effort: Effort) -> Outcome:
        """Measure on one core: times beside each other would disturb one another."""
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
        rows = [
            Row("gpoks", f"seconds t={_STEPS // 10}", short.value, short.stderr),
            Row("gpoks", f"seconds t={_STEPS}", long.value, long.stderr, _PUBLISHED_SECONDS),
            Row("bayes-index", f"seconds t={_STEPS}", today.value, today.stderr),
            Row("FAST - plain", f"mean, {_OBSERVATIONS} observations", mean),
            Row("FAST - plain", f"variance, {_OBSERVATIONS} observations", variance),
        ]
        growth = long.value / short.value
        return Outcome(
            rows,
            verdict(
                growth < 15.0 and max(mean, variance) < 1e-8,
                f"Ten times the steps take {growth:.1f} times as long; the regressions differ by"
                f" at most {max(mean, variance):.1e}.",
            ),
        )


EXPERIMENT = _RunTime()
