"""What the tables and figures of learning have in common: cases, means, polls to 90 %."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pollwise.experiments.experiment import POLLS_TO_SHARE, Effort, Row
from pollwise.experiments.scenario import Learner, World
from pollwise.experiments.trials import Case, Samples, knapsack_of, run_cases
from pollwise.simulation.scores.summary import Mean, mean_of

__all__ = ["Learned", "checkpoints_to", "classical_scores", "learn"]

_SHARE = 0.9
_PER_DECADE = 8


def checkpoints_to(polls: int, *further: int) -> tuple[int, ...]:
    """Numbers of polls, evenly spread in the logarithm, from 10 to `polls`, and further ones."""
    steps = max(2, round(_PER_DECADE * np.log10(polls / 10)) + 1)
    return tuple(sorted({*np.geomspace(10, polls, steps).round().astype(int).tolist(), *further}))


def classical_scores(world: World) -> dict[str, float]:
    """The expected rewards of a poll of the mixtures that need no learning."""
    knapsack = knapsack_of(world)
    return {
        "optimal": knapsack.score(knapsack.optimal),
        "proportional": knapsack.score(knapsack.proportional),
        "uniform": knapsack.score(knapsack.uniform),
    }


@dataclass(frozen=True, eq=False)
class Learned:
    """Samples of every learner in one world, at the same checkpoints."""

    world: World
    checkpoints: tuple[int, ...]
    samples: Mapping[str, Samples]

    def reward(self, row: str, polls: int) -> Mean:
        """The reward of the first polls."""
        return mean_of(self.samples[row].rewards[:, self.checkpoints.index(polls)].tolist())

    def score(self, row: str, polls: int) -> Mean:
        """The expected reward of a poll after so many."""
        return mean_of(self.samples[row].scores[:, self.checkpoints.index(polls)].tolist())

    def mean_scores(self, row: str) -> NDArray[np.float64]:
        """The mean scores at all checkpoints."""
        means: NDArray[np.float64] = self.samples[row].scores.mean(axis=0)
        return means

    def last_decade(self, row: str) -> float:
        """The mean of the scores in the last nine tenths of the polls, over their logarithm."""
        polls = np.array(self.checkpoints)
        late = polls >= polls[-1] / 10
        logs, scores = np.log(polls[late]), self.mean_scores(row)[late]
        return float(np.trapezoid(scores, logs) / (logs[-1] - logs[0]))

    def polls_to(self, row: str, score: float) -> int | None:
        """The first checkpoint from which on the mean score stays at least so high."""
        below = np.flatnonzero(self.mean_scores(row) < score)
        first = 0 if len(below) == 0 else int(below[-1]) + 1
        return self.checkpoints[first] if first < len(self.checkpoints) else None

    def polls_to_share(self, row: str) -> int | None:
        """How many polls a learner needs to reach 90 % of the optimum."""
        return self.polls_to(row, _SHARE * classical_scores(self.world)["optimal"])

    def rows_to_share(self, label: str = "") -> list[Row]:
        """How many polls every learner needs to reach 90 % of the optimum."""
        column = f"{label} {POLLS_TO_SHARE}".strip()
        return [Row(row, column, self.polls_to_share(row)) for row in self.samples]

    def race(self) -> str:
        """Who reaches 90 % of the optimum when, in words."""
        parts = [f"{row} {_reached(self.polls_to_share(row))}" for row in self.samples]
        return "90 % of the optimum: " + ", ".join(parts) + "."


def learn(
    worlds: Sequence[World],
    learners: Sequence[Learner],
    checkpoints: tuple[int, ...],
    effort: Effort,
) -> list[Learned]:
    """Play every learner in every world; one result per world."""
    cases = [Case(world, learner, checkpoints) for world in worlds for learner in learners]
    samples = iter(run_cases(cases, effort.trials, effort.cores, effort.report))
    return [
        Learned(world, checkpoints, {learner.row: next(samples) for learner in learners})
        for world in worlds
    ]


def _reached(polls: int | None) -> str:
    return "not within the run" if polls is None else f"after {polls:,d} polls"
