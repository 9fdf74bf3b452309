"""H-TRAA against LAKG after 10⁵ perturbations of the order of ranks."""

from pollwise.experiments import sources
from pollwise.experiments.judging import faster
from pollwise.experiments.learners import BAYES_INDEX, HTRAA_500, LAKG_1500, LAKG_2500
from pollwise.experiments.scenario import World
from pollwise.experiments.score_figure import ScoreFigure

__all__ = ["EXPERIMENT"]


EXPERIMENT = ScoreFigure(
    title="H-TRAA against LAKG, static, 500 pages 0.9/1.5, 10⁵ perturbations",
    source=f"{sources.HTRAA}, figure 8",
    claim=("H-TRAA stays faster than LAKG when the pages are not in the order of their ranks."),
    trials=20,
    world=World(pages=500, alpha=0.9, beta=1.5, perturbations=100_000),
    learners=(HTRAA_500, LAKG_1500, LAKG_2500, BAYES_INDEX),
    polls=200_000,
    marks=(1_000, 10_000, 50_000, 100_000, 200_000),
    judge=faster(HTRAA_500, LAKG_1500),
)
