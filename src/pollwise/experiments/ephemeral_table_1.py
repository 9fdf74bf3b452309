"""The mean rewards of an epoch, by policy."""

import numpy as np

from pollwise.experiments import sources
from pollwise.experiments.ephemeral_sources import (
    EPOCHS,
    LONG_RUN,
    SOURCES,
    EphemeralExperiment,
)
from pollwise.experiments.experiment import Effort, Outcome, Row
from pollwise.experiments.judging import verdict
from pollwise.policies.index.ephemeral import EphemeralIndex
from pollwise.simulation.scores.summary import mean_of
from pollwise.simulation.worlds.ephemeral import (
    Choose,
    EphemeralPlay,
    EphemeralWorld,
    LearningChooser,
    above,
    balanced_price,
    play_epochs,
    top,
)

__all__ = ["EXPERIMENT"]

_LEARNT_AFTER = 50 * len(SOURCES)
_ENOUGH = 0.97


def _fluid_rows(polls: int) -> list[Row]:
    """The policies that know the sources, in the fluid world."""
    world = EphemeralWorld(SOURCES, random=False)
    column = f"M={polls}"
    policies: dict[str, Choose] = {
        "index": top(world, polls),
        "index, by the price": above(world, balanced_price(world, polls)),
    }
    if polls == 1:
        policies["source 1 only"] = lambda view: np.array([0])
    rows = []
    for name, choose in policies.items():
        done = play_epochs(world, choose, epochs=EPOCHS + LONG_RUN, seed=0)
        published = 179.79 if name == "source 1 only" else None
        steady = float(done.rewards[EPOCHS:].mean())
        rows.append(Row(name, f"{column}, steady", steady, published=published))
        published = 254.66 if (name, polls) == ("index", 1) else None
        begun = float(done.rewards[:EPOCHS].mean())
        rows.append(Row(name, f"{column}, epochs 0 to 60", begun, published=published))
    return rows


def _rewards(effort: Effort) -> Outcome:
    rows, shares = [], []
    world = EphemeralWorld(SOURCES)
    for polls in (1, 2):
        rows += _fluid_rows(polls)
        known: list[float] = []
        learnt: list[float] = []
        for seed in range(effort.trials):
            for choose, rewards in (
                (top(world, polls), known),
                (LearningChooser(world, EphemeralIndex(epoch=world.epoch), polls), learnt),
            ):
                play = play_epochs(world, choose, epochs=2 * _LEARNT_AFTER, seed=seed, observed=())
                rewards.append(_later(play))
        effort.report(f"M={polls} done")
        for name, rewards in (("index, at random", known), ("ephemeral-index", learnt)):
            mean = mean_of(rewards)
            rows.append(Row(name, f"M={polls}, after 200 epochs", mean.value, mean.stderr))
        shares.append(mean_of(learnt).value / mean_of(known).value)
    text = (
        "The learner gets "
        + " and ".join(f"{share:.1%} (M={polls})" for polls, share in enumerate(shares, 1))
        + " of what is got with known parameters, after 50 epochs for each source."
    )
    return Outcome(rows, verdict(min(shares) >= _ENOUGH, text))


def _later(play: EphemeralPlay) -> float:
    return float(play.rewards[_LEARNT_AFTER:].mean())


EXPERIMENT = EphemeralExperiment(
    title="mean reward of an epoch: the index policy, one source alone, the learner",
    source=f"{sources.EPHEMERAL}, rewards of its example (table 1 by our count)",
    claim="The index policy with two sources in turn gets far more than the best source alone.",
    play=_rewards,
    trials=10,
)
