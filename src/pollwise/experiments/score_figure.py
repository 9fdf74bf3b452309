"""A figure of learning: the score of the learners' mixtures over the number of polls."""

from collections.abc import Sequence
from dataclasses import dataclass

from pollwise.experiments.experiment import Curve, Effort, Measurements, Row
from pollwise.experiments.learning import Learned, checkpoints_to, classical_scores, learn
from pollwise.experiments.scenario import ConfiguredPolicy, Environment
from pollwise.simulation.scores.summary import mean_of

__all__ = ["ScoreFigure"]


@dataclass(frozen=True, kw_only=True)
class ScoreFigure:
    """Measures the scores of `learners` in an environment.

    `marks` are the numbers of polls that become columns of the table; the last one ends the run.
    """

    environment: Environment
    learners: Sequence[ConfiguredPolicy]
    marks: Sequence[int]

    def __call__(self, effort: Effort) -> Measurements:
        """Do the trials."""
        checkpoints = checkpoints_to(self.marks[-1], *self.marks)
        (learned,) = learn([self.environment], self.learners, checkpoints, effort)
        return self.shown(learned)

    def shown(self, learned: Learned) -> Measurements:
        """The means over trials: a curve a learner, and a table of the marks."""
        levels = classical_scores(learned.environment)
        rows = [
            Row(name, f"{mark} polls", level)
            for name, level in levels.items()
            for mark in self.marks
        ]
        for learner in self.learners:
            for mark in self.marks:
                mean = learned.score(learner.row, mark)
                rows.append(Row(learner.row, f"{mark} polls", mean.value, mean.stderr))
        curves = [_curve(learned, learner.row) for learner in self.learners]
        return Measurements(rows + learned.rows_to_share(), curves, levels)


def _curve(learned: Learned, row: str) -> Curve:
    means = [mean_of(scores.tolist()) for scores in learned.samples[row].scores.T]
    return Curve(
        row,
        tuple(map(float, learned.checkpoints)),
        tuple(mean.value for mean in means),
        tuple(mean.stderr or 0.0 for mean in means),
    )
