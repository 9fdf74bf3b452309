"""LAKG where pages change ranks."""

from pollwise.experiments import sources
from pollwise.experiments.judging import scores_in_words, verdict
from pollwise.experiments.learners import BAYES_INDEX, LAKG_1500, LAKG_2500
from pollwise.experiments.learning import Learned, classical_scores
from pollwise.experiments.scenario import World
from pollwise.experiments.score_figure import ScoreFigure

__all__ = ["EXPERIMENT"]


def _judge(learned: Learned) -> str:
    ends = {row: learned.last_decade(row) for row in learned.samples}
    near = ends[LAKG_1500.row] > 0.9 * classical_scores(learned.world)["optimal"]
    return verdict(
        near,
        f"The mean scores in the last decade of polls: {scores_in_words(ends)}. {learned.race()}",
    )


EXPERIMENT = ScoreFigure(
    title="LAKG where two pages swap ranks every 10,000 polls, 500 pages 0.9/1.5",
    source=f"{sources.LAKG}, figure 5",
    claim=("A near-optimal mixture is found even where the environment switches."),
    trials=10,
    world=World(pages=500, alpha=0.9, beta=1.5, perturbations=None, swap_every=10_000),
    learners=(LAKG_1500, LAKG_2500, BAYES_INDEX),
    polls=400_000,
    marks=(50_000, 100_000, 400_000),
    judge=_judge,
)
