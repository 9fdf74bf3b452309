"""LAKG's resolutions in a static environment."""

from pollwise.experiments import sources
from pollwise.experiments.judging import coarser_is_sooner
from pollwise.experiments.learners import BAYES_INDEX, LAKG
from pollwise.experiments.scenario import World
from pollwise.experiments.score_figure import ScoreFigure

__all__ = ["EXPERIMENT"]

EXPERIMENT = ScoreFigure(
    title="LAKG's resolutions, static, 500 pages 0.9/1.5",
    source=f"{sources.LAKG}, figure 2",
    claim=(
        "The resolution determines the precision; given a resolution, the mixture is consistently"
        " improved until it is near the optimum."
    ),
    trials=20,
    world=World(pages=500, alpha=0.9, beta=1.5, perturbations=None),
    learners=(*LAKG, BAYES_INDEX),
    polls=400_000,
    marks=(10_000, 50_000, 100_000, 400_000),
    judge=coarser_is_sooner(LAKG, early=50_000),
)
