"""Bandits on mixtures of two pages in real web polling."""

from pollwise.experiments import sources
from pollwise.experiments.learners import BAYES_INDEX
from pollwise.experiments.reward_table import RewardTable
from pollwise.experiments.thesis import BANDITS, BASELINE, GPOKS, three_worlds

__all__ = ["EXPERIMENT"]

EXPERIMENT = RewardTable(
    title="bandits on mixtures, 2 pages, real web polling",
    source=f"{sources.GPOKS}, table 8.4",
    claim=BASELINE,
    worlds=three_worlds(2, polling=True),
    rivals=[learner.row for learner in BANDITS],
    learners=(*BANDITS, GPOKS, BAYES_INDEX),
)
