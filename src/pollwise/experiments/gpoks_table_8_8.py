"""The chief learners with two pages whose change probabilities are alike, or not."""

from pollwise.experiments import sources
from pollwise.experiments.reward_table import RewardTable
from pollwise.experiments.scenario import World
from pollwise.experiments.thesis import AUTOMATA, CHIEF, FASTER

__all__ = ["EXPERIMENT"]

_WORLDS = tuple(World(pages=2, alpha=0.7, beta=beta) for beta in (0.0, 1.0, 2.0))

EXPERIMENT = RewardTable(
    title="the chief learners, 2 pages, α = 0.7",
    source=f"{sources.GPOKS}, table 8.8",
    claim=FASTER,
    worlds=_WORLDS,
    rivals=AUTOMATA,
    learners=CHIEF,
    published={("lakg", f"{world.label} t=1000"): 709.8 for world in _WORLDS},
    remark=(
        "The published row of LAKG is the same in all three environments, though the optimum"
        " ranges from 752 to 910: it cannot be right."
    ),
)
