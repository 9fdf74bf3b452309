"""LAKG against estimating the change probabilities first."""

from pollwise.experiments import sources
from pollwise.experiments.judging import scores_in_words, verdict
from pollwise.experiments.learners import BAYES_INDEX, LAKG_1500
from pollwise.experiments.learning import Learned
from pollwise.experiments.scenario import Learner, World
from pollwise.experiments.score_figure import ScoreFigure

__all__ = ["EXPERIMENT"]

_ESTIMATORS = tuple(
    Learner(f"estimator {polls:,d}", "estimator", {"phase_polls": polls})
    for polls in (1_000, 10_000, 50_000)
)


def _judge(learned: Learned) -> str:
    ends = {row: learned.mean_scores(row)[-1] for row in learned.samples}
    best = max(ends[each.row] for each in _ESTIMATORS)
    return verdict(
        ends[LAKG_1500.row] > best, f"At the end: {scores_in_words(ends)}. {learned.race()}"
    )


EXPERIMENT = ScoreFigure(
    title="LAKG against estimators with phases of several lengths, 500 pages 0.9/1.5",
    source=f"{sources.LAKG}, figure 3",
    claim=("LAKG is superior to what is based on traditional parameter estimation."),
    trials=20,
    world=World(pages=500, alpha=0.9, beta=1.5, perturbations=None),
    learners=(*_ESTIMATORS, LAKG_1500, BAYES_INDEX),
    polls=200_000,
    marks=(10_000, 50_000, 200_000),
    judge=_judge,
)
