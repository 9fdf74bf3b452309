"""All learners with 64 pages."""

from pollwise.experiments import sources
from pollwise.experiments.reward_table import RewardTable
from pollwise.experiments.thesis import AUTOMATA, FASTER, LEARNERS, three_worlds

__all__ = ["EXPERIMENT"]

EXPERIMENT = RewardTable(
    title="all learners, 64 pages",
    source=f"{sources.GPOKS}, table 8.11",
    claim=FASTER,
    worlds=three_worlds(64),
    rivals=AUTOMATA,
    learners=LEARNERS,
)
