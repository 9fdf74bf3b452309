"""The index policy where items appear at random."""

import numpy as np

from pollwise.experiments import sources
from pollwise.experiments.ephemeral_sources import (
    EPOCHS,
    SOURCES,
    EphemeralExperiment,
    curves,
)
from pollwise.experiments.experiment import Effort, Outcome, Row
from pollwise.experiments.judging import verdict
from pollwise.simulation.scores.summary import mean_of
from pollwise.simulation.worlds.ephemeral import EphemeralWorld, play_epochs, top

__all__ = ["EXPERIMENT"]

_NEAR = 0.02


def _random(effort: Effort) -> Outcome:
    fluid, world = EphemeralWorld(SOURCES, random=False), EphemeralWorld(SOURCES)
    rows, near = [], []
    for polls in (1, 2):
        expected = play_epochs(fluid, top(fluid, polls), epochs=EPOCHS, seed=0).rewards.mean()
        means = []
        for name, observed in {"observed": None, "not observed": ()}.items():
            rewards = [
                play_epochs(world, top(world, polls), epochs=EPOCHS, seed=seed, observed=observed)
                for seed in range(effort.trials)
            ]
            mean = mean_of([float(play.rewards.mean()) for play in rewards])
            rows.append(Row(f"random, states {name}", f"M={polls}", mean.value, mean.stderr))
            means.append(mean.value)
        rows.append(Row("fluid", f"M={polls}", float(expected)))
        near += [abs(mean / expected - 1) for mean in means]
        effort.report(f"M={polls} done")
    shown = play_epochs(world, top(world, 1), epochs=EPOCHS, seed=0)
    text = f"The rewards are within {max(near):.1%} of those of the fluid world."
    return Outcome(
        rows,
        verdict(bool(np.max(near) < _NEAR), text),
        curves(shown),
        x_label="epoch",
        y_label="value that waits (M=1, seed 0)",
    )


EXPERIMENT = EphemeralExperiment(
    title="waiting values under the index policy, items at random",
    source=f"{sources.EPHEMERAL}, figure 4",
    claim="What the fluid model says of the index policy holds where items appear at random.",
    play=_random,
    trials=20,
)
