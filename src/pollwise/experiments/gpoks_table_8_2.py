"""Bandits on mixtures of two pages."""

from pollwise.experiments import sources
from pollwise.experiments.learners import BAYES_INDEX
from pollwise.experiments.reward_table import RewardTable
from pollwise.experiments.thesis import BANDITS, BASELINE, GPOKS, three_worlds

__all__ = ["EXPERIMENT"]

EXPERIMENT = RewardTable(
    title="bandits on mixtures, 2 pages",
    source=f"{sources.GPOKS}, table 8.2",
    claim=BASELINE,
    worlds=three_worlds(2),
    rivals=[learner.row for learner in BANDITS],
    learners=(*BANDITS, GPOKS, BAYES_INDEX),
)
