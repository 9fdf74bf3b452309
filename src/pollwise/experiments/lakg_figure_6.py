"""LAKG in real web polling."""

from pollwise.experiments import sources
from pollwise.experiments.judging import near_the_optimum
from pollwise.experiments.learners import BAYES_INDEX, LAKG
from pollwise.experiments.scenario import World
from pollwise.experiments.score_figure import ScoreFigure

__all__ = ["EXPERIMENT"]

EXPERIMENT = ScoreFigure(
    title="LAKG in real web polling, 500 pages 0.9/1.5",
    source=f"{sources.LAKG}, figure 6",
    claim=(
        "The scheme learns online to poll so that the number of changes found is near the most."
    ),
    trials=10,
    world=World(pages=500, alpha=0.9, beta=1.5, perturbations=None, polling=True),
    learners=(*LAKG, BAYES_INDEX),
    polls=400_000,
    marks=(10_000, 50_000, 100_000, 400_000),
    judge=near_the_optimum(LAKG),
)
