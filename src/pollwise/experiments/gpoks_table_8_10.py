"""All learners with eight pages."""

from pollwise.experiments import sources
from pollwise.experiments.reward_table import RewardTable
from pollwise.experiments.thesis import AUTOMATA, FASTER, LEARNERS, three_worlds

__all__ = ["EXPERIMENT"]

EXPERIMENT = RewardTable(
    title="all learners, 8 pages",
    source=f"{sources.GPOKS}, table 8.10",
    claim=FASTER,
    worlds=three_worlds(8),
    rivals=AUTOMATA,
    learners=LEARNERS,
    published={
        ("lakg", "0.3/1.0 t=1000"): 571.8,
        ("lakg", "0.6/1.0 t=1000"): 828.9,
        ("lakg", "0.9/1.5 t=1000"): 855.9,
        ("htraa", "0.3/1.0 t=1000"): 470.0,
        ("htraa", "0.6/1.0 t=1000"): 645.4,
        ("htraa", "0.9/1.5 t=1000"): 566.4,
    },
    remark=(
        "The published row of H-TRAA lies below the uniform policy, from which H-TRAA starts: it"
        " cannot be right. The thesis left gpoks and gpoks-mono out here."
    ),
)
