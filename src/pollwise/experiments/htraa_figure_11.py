"""H-TRAA against LAKG where two pages swap ranks every 1,000 polls."""

from pollwise.experiments import sources
from pollwise.experiments.judging import ahead_in_the_end
from pollwise.experiments.learners import BAYES_INDEX, HTRAA_500, LAKG_1500, LAKG_2500
from pollwise.experiments.scenario import World
from pollwise.experiments.score_figure import ScoreFigure

__all__ = ["EXPERIMENT"]


EXPERIMENT = ScoreFigure(
    title="H-TRAA against LAKG, dynamic, r = 1,000, 500 pages 0.9/1.5",
    source=f"{sources.HTRAA}, figure 11",
    claim=("H-TRAA adapts to changes of the environment, and does so faster than LAKG."),
    trials=5,
    world=World(pages=500, alpha=0.9, beta=1.5, swap_every=1_000),
    learners=(HTRAA_500, LAKG_1500, LAKG_2500, BAYES_INDEX),
    polls=400_000,
    marks=(10_000, 100_000, 400_000),
    judge=ahead_in_the_end(HTRAA_500, LAKG_1500),
)
