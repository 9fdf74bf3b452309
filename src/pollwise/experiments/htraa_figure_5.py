"""H-TRAA's rules of moving."""

from pollwise.experiments import sources
from pollwise.experiments.judging import near_the_optimum
from pollwise.experiments.learners import BAYES_INDEX
from pollwise.experiments.scenario import Learner, World
from pollwise.experiments.score_figure import ScoreFigure

__all__ = ["EXPERIMENT"]

_RULES = tuple(
    Learner(f"htraa {rule}", "htraa", {"resolution": 500, "update": rule})
    for rule in ("reward-inaction", "inaction-penalty", "reward-penalty")
)


EXPERIMENT = ScoreFigure(
    title="H-TRAA's update rules, 500 pages 0.9/1.5 in the order of ranks",
    source=f"{sources.HTRAA}, figure 5",
    claim="TRAA and H-TRAA converge to the optimum.",
    trials=20,
    world=World(pages=500, alpha=0.9, beta=1.5),
    learners=(*_RULES, BAYES_INDEX),
    polls=100_000,
    marks=(1_000, 10_000, 50_000, 100_000),
    judge=near_the_optimum(_RULES),
)
