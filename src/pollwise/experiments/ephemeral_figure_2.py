"""The index policy with one poll an epoch."""

from pollwise.experiments import sources
from pollwise.experiments.ephemeral_sources import EphemeralExperiment, StateFigure

__all__ = ["EXPERIMENT"]

EXPERIMENT = EphemeralExperiment(
    title="waiting values under the index policy, one poll an epoch",
    source=f"{sources.EPHEMERAL}, figure 2",
    claim="Sources 1 and 2 are polled in turn, sources 3 and 4 never.",
    play=StateFigure(1, (1 / 2, 1 / 2, 0.0, 0.0), {"reward, epochs 0 to 60": 254.66}),
)
