"""Tables of learning: what the learners got from the first polls, and how that scatters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pollwise.experiments.experiment import Effort, Measurements, Row
from pollwise.experiments.learning import IN_STEPS, Learned, classical_scores, learn, score_in_steps
from pollwise.experiments.scenario import ConfiguredPolicy, Environment

__all__ = ["RewardTable", "SpreadTable"]

_HORIZONS = (10, 100, 1000)
"""All tables look at the same numbers of polls, so that they can share what is played."""


@dataclass(frozen=True)
class RewardTable:
    """Measures the rewards of learners after each number of polls in `horizons`.

    `learners` are the rows by environment. The mixtures that need no learning are rows too; their
    rewards are exact.
    """

    learners: Mapping[Environment, Sequence[ConfiguredPolicy]]
    horizons: Sequence[int] = _HORIZONS

    def __call__(self, effort: Effort) -> Measurements:
        """Do the trials."""
        rows = []
        for environment, learners in self.learners.items():
            learned = _play(environment, learners, max(self.horizons), effort)
            scores = classical_scores(environment) | {IN_STEPS: score_in_steps(environment)}
            rows += [
                Row(name, environment.column(polls), score * polls)
                for name, score in scores.items()
                for polls in self.horizons
            ]
            for row in learned.samples:
                for polls in self.horizons:
                    mean = learned.reward(row, polls)
                    rows.append(Row(row, environment.column(polls), mean.value, mean.stderr))
        return Measurements(rows)


@dataclass(frozen=True)
class SpreadTable:
    """Measures how the rewards of the first `polls` scatter over trials.

    `learners` are the rows by environment. The columns are the variance and, with `extremes`, the
    least and the most that a trial got.
    """

    learners: Mapping[Environment, Sequence[ConfiguredPolicy]]
    polls: int
    extremes: bool = False

    def __call__(self, effort: Effort) -> Measurements:
        """Do the trials."""
        rows = []
        for environment, learners in self.learners.items():
            learned = _play(environment, learners, self.polls, effort)
            column = environment.column(self.polls)
            for row in learned.samples:
                variance = learned.variance(row, self.polls)
                rows.append(Row(row, f"variance {column}", *variance))
                if self.extremes:
                    least, most = learned.extremes(row, self.polls)
                    rows += [Row(row, f"min {column}", least), Row(row, f"max {column}", most)]
        return Measurements(rows)


def _play(
    environment: Environment, learners: Sequence[ConfiguredPolicy], polls: int, effort: Effort
) -> Learned:
    checkpoints = tuple(n for n in _HORIZONS if n < polls)
    (learned,) = learn([environment], learners, (*checkpoints, polls), effort, tallied=True)
    return learned
