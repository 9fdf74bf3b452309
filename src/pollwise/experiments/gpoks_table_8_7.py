"""The variants of GPOKS with two pages in real web polling."""

from pollwise.experiments import sources
from pollwise.experiments.learners import BAYES_INDEX
from pollwise.experiments.reward_table import RewardTable
from pollwise.experiments.thesis import PARTS, PLAINER, VARIANTS, three_worlds

__all__ = ["EXPERIMENT"]

EXPERIMENT = RewardTable(
    title="GPOKS variants, 2 pages, real web polling",
    source=f"{sources.GPOKS}, table 8.7",
    claim=PARTS,
    worlds=three_worlds(2, polling=True),
    rivals=PLAINER,
    learners=(*VARIANTS, BAYES_INDEX),
)
