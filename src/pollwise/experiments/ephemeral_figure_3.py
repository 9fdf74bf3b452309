"""The index policy with two polls an epoch."""

from pollwise.experiments import sources
from pollwise.experiments.ephemeral_sources import EphemeralExperiment, StateFigure

__all__ = ["EXPERIMENT"]

EXPERIMENT = EphemeralExperiment(
    title="waiting values under the index policy, two polls an epoch",
    source=f"{sources.EPHEMERAL}, figure 3",
    claim="Source 1 is always polled; 2, 3 and 4 in 4/7, 2/7 and 1/7 of the epochs.",
    play=StateFigure(2, (1.0, 4 / 7, 2 / 7, 1 / 7), {}),
)
