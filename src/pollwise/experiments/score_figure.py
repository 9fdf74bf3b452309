"""A figure of learning: the score of the learners' mixtures over the number of polls."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pollwise.experiments.experiment import Curve, Effort, Measurements, Row
from pollwise.experiments.learning import Learned, checkpoints_to, classical_scores, learn
from pollwise.experiments.scenario import BAYES_INDEX, ConfiguredPolicy, Environment
from pollwise.simulation.scores.summary import mean_of

__all__ = ["ScoreFigure", "at", "curve_of", "share_at", "shares"]

_FIRST = 100
"""Curves on a logarithmic axis begin after so many polls."""
_OURS_UNTIL = 200_000
"""The curve of bayes-index ends there."""


def at(polls: int) -> str:
    """The name of the column of the scores after so many polls."""
    return f"{polls} polls"


@dataclass(frozen=True, kw_only=True)
class ScoreFigure:
    """Measures the scores of learners, each in its environment.

    `learners` are the rows by environment; all environments have the same pages by rank, so that
    the mixtures that need no learning score alike in them. `marks` are the numbers of polls that
    become columns of the table; the last one ends the run. `every`: the curves have a point every
    so many polls, on a linear axis (None: evenly spaced ones on a logarithmic axis).
    """

    learners: Mapping[Environment, Sequence[ConfiguredPolicy]]
    marks: Sequence[int]
    every: int | None = None

    def __call__(self, effort: Effort) -> Measurements:
        """The means over trials: a curve a learner, and a table of the marks."""
        levels = classical_scores(next(iter(self.learners)))
        rows = [Row(name, at(mark), level) for name, level in levels.items() for mark in self.marks]
        times: list[Row] = []
        curves = []
        for environment, learners in self.learners.items():
            for some, points in self._runs(learners):
                (learned,) = learn([environment], some, points, effort)
                for learner in some:
                    for mark in self.marks:
                        if mark <= points[-1]:
                            mean = learned.score(learner.row, mark)
                            rows.append(Row(learner.row, at(mark), mean.value, mean.stderr))
                    curves.append(curve_of(learned, learner.row))
                times += learned.rows_to_share()
        return Measurements(rows + times, curves, levels, log_x=self.every is None)

    def _runs(
        self, learners: Sequence[ConfiguredPolicy]
    ) -> Iterator[tuple[Sequence[ConfiguredPolicy], tuple[int, ...]]]:
        """Learners with the same checkpoints; ours takes long and learns soon: it ends early."""
        points = self._checkpoints(self.marks[-1])
        yield [each for each in learners if each is not BAYES_INDEX], points
        if BAYES_INDEX in learners:
            yield [BAYES_INDEX], tuple(n for n in points if n <= _OURS_UNTIL)

    def _checkpoints(self, polls: int) -> tuple[int, ...]:
        """With those just after ranks change, if that is seldom."""
        if self.every is None:
            return tuple(n for n in checkpoints_to(polls, *self.marks) if n >= _FIRST)
        changes = [each.swap_every for each in self.learners if each.swap_every]
        seldom = {n + 1 for r in changes if r > self.every for n in range(r, polls, r)}
        return tuple(sorted({*range(self.every, polls + 1, self.every), *self.marks, *seldom}))


def curve_of(learned: Learned, row: str, label: str = "") -> Curve:
    """The mean scores of a learner at all checkpoints; the label is its row unless given."""
    means = [mean_of(scores.tolist()) for scores in learned.samples[row].scores.T]
    return Curve(
        label or row,
        tuple(map(float, learned.checkpoints)),
        tuple(mean.value for mean in means),
        tuple(mean.stderr or 0.0 for mean in means),
    )


def share_at(environment: Environment) -> str:
    """The name of the column of the shares of the optimum in an environment."""
    return f"share at {environment.label}"


def shares(
    environments: Sequence[Environment],
    learners: Sequence[ConfiguredPolicy],
    polls: int,
    effort: Effort,
) -> list[Row]:
    """The scores after so many polls as shares of the optimum, side by side for environments."""
    rows = []
    for learned in learn(environments, learners, (polls,), effort):
        column, levels = share_at(learned.environment), classical_scores(learned.environment)
        optimum = levels["optimal"]
        rows.append(Row("uniform", column, levels["uniform"] / optimum))
        for learner in learners:
            mean = learned.score(learner.row, polls)
            rows.append(
                Row(learner.row, column, mean.value / optimum, (mean.stderr or 0.0) / optimum)
            )
    return rows
