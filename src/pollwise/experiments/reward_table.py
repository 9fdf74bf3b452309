"""A table of learning: what the learners got from the first polls, by environment."""

from collections.abc import Sequence
from dataclasses import dataclass

from pollwise.experiments.experiment import Effort, Measurements, Row
from pollwise.experiments.learning import (
    CLASSICAL,
    Learned,
    checkpoints_to,
    classical_scores,
    learn,
)
from pollwise.experiments.scenario import ConfiguredPolicy, Environment

__all__ = ["RewardTable"]


@dataclass(frozen=True, kw_only=True)
class RewardTable:
    """Measures the rewards of `learners` after each number of polls in `horizons`.

    The environments are all abstract or all real web polling. The classical mixtures are rows too;
    in abstract environments their rewards are exact.
    """

    environments: Sequence[Environment]
    learners: Sequence[ConfiguredPolicy]
    horizons: Sequence[int] = (10, 100, 1000)

    def __call__(self, effort: Effort) -> Measurements:
        """Do the trials."""
        polling = self.environments[0].polling
        classical = [ConfiguredPolicy(name, name) for name in CLASSICAL if polling]
        checkpoints = checkpoints_to(max(self.horizons), *self.horizons)
        rows = []
        learners = [*classical, *self.learners]
        for learned in learn(self.environments, learners, checkpoints, effort):
            if not polling:
                rows += self._classical(learned.environment)
            rows += self._rewards(learned)
            rows += learned.rows_to_share(learned.environment.label)
        return Measurements(rows)

    @property
    def last_columns(self) -> list[str]:
        """The columns of the last horizon, one for each environment."""
        return [_column(each, max(self.horizons)) for each in self.environments]

    def _classical(self, environment: Environment) -> list[Row]:
        scores = classical_scores(environment)
        return [
            Row(name, _column(environment, polls), scores[name] * polls)
            for name in CLASSICAL
            for polls in self.horizons
        ]

    def _rewards(self, learned: Learned) -> list[Row]:
        means = [
            (row, _column(learned.environment, polls), learned.reward(row, polls))
            for row in learned.samples
            for polls in self.horizons
        ]
        return [Row(row, column, mean.value, mean.stderr) for row, column, mean in means]


def _column(environment: Environment, polls: int) -> str:
    return f"{environment.label} t={polls}"
