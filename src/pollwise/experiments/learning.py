"""What learners achieve in an environment: means over trials, polls to 90 % of the optimum."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pollwise.experiments.experiment import POLLS_TO_SHARE, Effort, Row
from pollwise.experiments.scenario import ConfiguredPolicy, Environment
from pollwise.experiments.trials import Case, Samples, knapsack_of, run_cases
from pollwise.knapsack import det_ks
from pollwise.simulation.scores.summary import Mean, mean_of

__all__ = [
    "CLASSICAL",
    "IN_STEPS",
    "Learned",
    "checkpoints_to",
    "classical_scores",
    "learn",
    "score_in_steps",
]

CLASSICAL = ("optimal", "proportional", "uniform")
"""The mixtures that need no learning."""
IN_STEPS = "optimal in 1/100"
"""The best mixture of whole hundredths, as DET-KS deals them."""
_STEPS = 100
_SHARE = 0.9
_PER_DECADE = 8


def checkpoints_to(polls: int, *further: int) -> tuple[int, ...]:
    """Numbers of polls from 10 to `polls`, evenly spaced in the logarithm, and `further` ones."""
    steps = max(2, round(_PER_DECADE * np.log10(polls / 10)) + 1)
    return tuple(sorted({*np.geomspace(10, polls, steps).round().astype(int).tolist(), *further}))


def classical_scores(environment: Environment) -> dict[str, float]:
    """The expected rewards of a poll of the mixtures that need no learning."""
    knapsack = knapsack_of(environment)
    return {name: knapsack.score(getattr(knapsack, name)) for name in CLASSICAL}


def score_in_steps(environment: Environment) -> float:
    """The expected reward of a poll of the mixture that DET-KS deals with known unit values."""
    knapsack = knapsack_of(environment)
    amounts = np.arange(1, _STEPS + 1) / _STEPS
    values = -np.expm1(-knapsack.hazards[:, None] / amounts)
    return knapsack.score(det_ks(values, _STEPS) / _STEPS)


@dataclass(frozen=True, eq=False)
class Learned:
    """Samples of every learner in one environment, at the same checkpoints."""

    environment: Environment
    checkpoints: tuple[int, ...]
    samples: Mapping[str, Samples]

    def reward(self, row: str, polls: int) -> Mean:
        """The reward of the first polls."""
        return mean_of(self._rewards(row, polls).tolist())

    def _rewards(self, row: str, polls: int) -> NDArray[np.float64]:
        return self.samples[row].rewards[:, self.checkpoints.index(polls)]

    def variance(self, row: str, polls: int) -> tuple[float | None, float | None]:
        """The variance over trials of the reward of the first polls, and its standard error.

        None for fewer than two trials. The error is that of an unbiased estimate, by the fourth
        central moment.
        """
        rewards = self._rewards(row, polls)
        count = len(rewards)
        if count < 2:
            return None, None
        variance = float(rewards.var(ddof=1))
        fourth = float(((rewards - rewards.mean()) ** 4).mean())
        square = (fourth - variance**2 * (count - 3) / (count - 1)) / count
        return variance, math.sqrt(max(square, 0.0))

    def extremes(self, row: str, polls: int) -> tuple[float, float]:
        """The least and the most that a trial got from the first polls."""
        rewards = self._rewards(row, polls)
        return float(rewards.min()), float(rewards.max())

    def score(self, row: str, polls: int) -> Mean:
        """The expected reward of a poll after `polls` polls."""
        return mean_of(self.samples[row].scores[:, self.checkpoints.index(polls)].tolist())

    def polls_to(self, row: str, score: float) -> int | None:
        """The first checkpoint from which on the mean score is never below `score`."""
        below = np.flatnonzero(self.samples[row].scores.mean(axis=0) < score)
        first = 0 if len(below) == 0 else int(below[-1]) + 1
        return self.checkpoints[first] if first < len(self.checkpoints) else None

    def polls_to_share(self, row: str) -> int | None:
        """How many polls a learner needs to reach 90 % of the optimum."""
        return self.polls_to(row, _SHARE * classical_scores(self.environment)["optimal"])

    def rows_to_share(self) -> list[Row]:
        """How many polls every learner needs to reach 90 % of the optimum."""
        return [Row(row, POLLS_TO_SHARE, self.polls_to_share(row)) for row in self.samples]


def learn(
    environments: Sequence[Environment],
    learners: Sequence[ConfiguredPolicy],
    checkpoints: tuple[int, ...],
    effort: Effort,
    *,
    tallied: bool = False,
) -> list[Learned]:
    """Play every learner in every environment; one result per environment.

    `tallied`: whether the rewards of all polls are added up, which `reward` and `variance` need.
    """
    cases = [
        Case(each, learner, checkpoints, tallied) for each in environments for learner in learners
    ]
    samples = iter(run_cases(cases, effort.trials, effort.cores, effort.report, effort.played))
    return [
        Learned(each, checkpoints, {learner.row: next(samples) for learner in learners})
        for each in environments
    ]
