"""A figure of learning: the score of the learners' mixtures over the number of polls."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pollwise.experiments.experiment import Curve, Effort, Outcome, Row
from pollwise.experiments.learning import Learned, checkpoints_to, classical_scores, learn
from pollwise.experiments.scenario import Learner, World
from pollwise.simulation.scores.summary import mean_of

__all__ = ["ScoreFigure"]


@dataclass(frozen=True, kw_only=True)
class ScoreFigure:
    """The scores of `learners` in `world` during `polls` polls, the means of `trials` trials.

    `marks` are the numbers of polls that become columns of the table; `judge` says in words
    whether the claim holds.
    """

    title: str
    source: str
    claim: str
    trials: int
    world: World
    learners: Sequence[Learner]
    polls: int
    marks: Sequence[int]
    judge: Callable[[Learned], str]

    def run(self, effort: Effort) -> Outcome:
        """Do the trials, and judge."""
        checkpoints = checkpoints_to(self.polls, *self.marks)
        (learned,) = learn([self.world], self.learners, checkpoints, effort)
        levels = classical_scores(self.world)
        rows = [
            Row(name, f"{mark} polls", level)
            for name, level in levels.items()
            for mark in self.marks
        ]
        for learner in self.learners:
            for mark in self.marks:
                mean = learned.score(learner.row, mark)
                rows.append(Row(learner.row, f"{mark} polls", mean.value, mean.stderr))
        return Outcome(
            rows + learned.rows_to_share(),
            self.judge(learned),
            [_curve(learned, learner.row) for learner in self.learners],
            levels,
        )


def _curve(learned: Learned, row: str) -> Curve:
    means = [mean_of(scores.tolist()) for scores in learned.samples[row].scores.T]
    return Curve(
        row,
        tuple(map(float, learned.checkpoints)),
        tuple(mean.value for mean in means),
        tuple(mean.stderr or 0.0 for mean in means),
    )
