"""The four sources of Avrachenkov and Borkar, and what the experiments with them share.

The parameters of sources 1 and 2 are inferred from the printed rewards, which they give to the
last digit; those of sources 3 and 4 are ours (`docs/reproduction.md`).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pollwise.experiments.experiment import Curve, Effort, Outcome, Row
from pollwise.experiments.judging import verdict
from pollwise.simulation.worlds.ephemeral import (
    EphemeralPlay,
    EphemeralSource,
    EphemeralWorld,
    play_epochs,
    top,
)

__all__ = [
    "EPOCHS",
    "LONG_RUN",
    "SOURCES",
    "EphemeralExperiment",
    "StateFigure",
    "curves",
]

SOURCES = (
    EphemeralSource(rate=250.0, value=1.0, decay=0.7),
    EphemeralSource(rate=250.0, value=0.7, decay=0.35),
    EphemeralSource(rate=250.0, value=0.2, decay=0.7),
    EphemeralSource(rate=250.0, value=0.1123, decay=0.35),
)
EPOCHS = 61
"""Epochs 0 to 60, from sources at which nothing waits."""
LONG_RUN = 420
"""Epochs over which the steady state is averaged: whole periods of all that occur."""


@dataclass(frozen=True, kw_only=True)
class EphemeralExperiment:
    """An experiment with the sources: `play` does it."""

    title: str
    source: str
    claim: str
    play: Callable[[Effort], Outcome]
    trials: int = 1

    def run(self, effort: Effort) -> Outcome:
        """Do the trials, and judge."""
        return self.play(effort)


@dataclass(frozen=True)
class StateFigure:
    """The waiting values in the fluid world, `polls` sources being polled in each epoch.

    The claim holds if the sources are polled with these `frequencies`, within one epoch of the
    long run. `published` are printed rewards by column.
    """

    polls: int
    frequencies: tuple[float, ...]
    published: dict[str, float]

    def __call__(self, effort: Effort) -> Outcome:
        """Play the index policy from the start on."""
        world = EphemeralWorld(SOURCES, random=False)
        done = play_epochs(world, top(world, self.polls), epochs=EPOCHS + LONG_RUN, seed=0)
        steady = EphemeralPlay(done.waiting[EPOCHS:], done.polled[EPOCHS:])
        columns = {
            f"reward, epochs 0 to {EPOCHS - 1}": float(done.rewards[:EPOCHS].mean()),
            "reward, steady": float(steady.rewards.mean()),
        }
        rows = [
            Row("index", column, value, published=self.published.get(column))
            for column, value in columns.items()
        ]
        rows += [
            Row(f"source {number}", "share of epochs", frequency)
            for number, frequency in enumerate(steady.frequencies.tolist(), start=1)
        ]
        holds = np.allclose(steady.frequencies, self.frequencies, atol=1 / LONG_RUN)
        text = ", ".join(f"{each:.3f}" for each in steady.frequencies)
        return Outcome(
            rows,
            verdict(holds, f"Sources are polled in these shares of the epochs: {text}."),
            curves(done),
            x_label="epoch",
            y_label="value that waits",
        )


def curves(play: EphemeralPlay, epochs: int = EPOCHS) -> list[Curve]:
    """The waiting values from epoch 1 on: the first axis of a figure is logarithmic."""
    return [
        Curve(
            f"source {number}",
            tuple(map(float, range(1, epochs))),
            tuple(play.waiting[1:epochs, number - 1].tolist()),
        )
        for number in range(1, play.waiting.shape[1] + 1)
    ]
