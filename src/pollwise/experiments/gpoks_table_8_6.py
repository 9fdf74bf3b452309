"""The variants of GPOKS with two pages and noise."""

from pollwise.experiments import sources
from pollwise.experiments.learners import BAYES_INDEX
from pollwise.experiments.reward_table import RewardTable
from pollwise.experiments.thesis import PARTS, PLAINER, VARIANTS, three_worlds

__all__ = ["EXPERIMENT"]

EXPERIMENT = RewardTable(
    title="GPOKS variants, 2 pages, white noise σ = 0.1",
    source=f"{sources.GPOKS}, table 8.6",
    claim=PARTS,
    worlds=three_worlds(2, noise=0.1),
    rivals=PLAINER,
    learners=(*VARIANTS, BAYES_INDEX),
)
