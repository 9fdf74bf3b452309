"""The chief learners with two pages."""

from pollwise.experiments import sources
from pollwise.experiments.reward_table import RewardTable
from pollwise.experiments.thesis import AUTOMATA, CHIEF, FASTER, three_worlds

__all__ = ["EXPERIMENT"]

EXPERIMENT = RewardTable(
    title="the chief learners, 2 pages",
    source=f"{sources.GPOKS}, table 8.9",
    claim=FASTER,
    worlds=three_worlds(2),
    rivals=AUTOMATA,
    learners=CHIEF,
)
