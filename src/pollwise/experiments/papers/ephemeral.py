"""Avrachenkov and Borkar 2015: ephemeral content (`docs/reproduction.md` has the paper in full).

The parameters of sources 1 and 2 are inferred from the printed rewards, which they give to the
last digit; those of sources 3 and 4 are ours.
"""

from collections.abc import Callable, Sequence

import numpy as np

from pollwise.experiments.experiment import Curve, Effort, Experiment, Measurements, Row
from pollwise.experiments.judging import verdict
from pollwise.policies.index.ephemeral import EphemeralIndex
from pollwise.simulation.scores.summary import mean_of
from pollwise.simulation.worlds.ephemeral import (
    Choose,
    EphemeralPlay,
    EphemeralSource,
    EphemeralWorld,
    LearningChooser,
    above,
    balanced_price,
    play_epochs,
    top,
)

__all__ = ["EPOCHS", "EXPERIMENTS", "LONG_RUN", "SOURCES"]

_SOURCE = "Avrachenkov, Borkar 2015"

SOURCES = (
    EphemeralSource(rate=250.0, value=1.0, decay=0.7),
    EphemeralSource(rate=250.0, value=0.7, decay=0.35),
    EphemeralSource(rate=250.0, value=0.2, decay=0.7),
    EphemeralSource(rate=250.0, value=0.1123, decay=0.35),
)
EPOCHS = 61
"""Epochs 0 to 60, from sources at which nothing waits."""
LONG_RUN = 420
"""Epochs over which the steady state is averaged: a multiple of every period that occurs."""

_AGES = (1, 2, 5, 10)
_NEAR_FLUID = 0.02
_LEARNT_AFTER = 50 * len(SOURCES)
_LEARNT_ENOUGH = 0.97
_SHARE_OF_EPOCHS = "share of epochs"


def _fading(effort: Effort) -> Measurements:
    """The value of an item of each source, by its age."""
    times = np.linspace(0.1, 10.0, 100)
    rows, curves = [], []
    for number, each in enumerate(SOURCES, start=1):
        name = f"source {number}"
        rows += [
            Row(name, f"age {age}", float(each.value * np.exp(-each.decay * age))) for age in _AGES
        ]
        fading = each.value * np.exp(-each.decay * times)
        curves.append(Curve(name, tuple(times.tolist()), tuple(fading.tolist())))
    return Measurements(rows, curves, x_label="age in epochs", y_label="value of an item")


def _differ(figure: Measurements) -> str:
    one, two, *others = SOURCES
    holds = one.decay > two.decay and min(one.value, two.value) > max(o.value for o in others)
    return verdict(
        holds, "Sources 1 and 2 begin highest, and 1 fades faster than 2: so they are set."
    )


def _in_turn(polls: int) -> Callable[[Effort], Measurements]:
    """The index policy in the fluid world, with so many polls in each epoch."""

    def play(effort: Effort) -> Measurements:
        world = EphemeralWorld(SOURCES, random=False)
        done = play_epochs(world, top(world, polls), epochs=EPOCHS + LONG_RUN, seed=0)
        steady = EphemeralPlay(done.waiting[EPOCHS:], done.polled[EPOCHS:])
        begun = float(done.rewards[:EPOCHS].mean())
        rows = [
            Row("index", f"reward, epochs 0 to {EPOCHS - 1}", begun),
            Row("index", "reward, steady", float(steady.rewards.mean())),
        ]
        rows += [
            Row(f"source {number}", _SHARE_OF_EPOCHS, frequency)
            for number, frequency in enumerate(steady.frequencies.tolist(), start=1)
        ]
        return Measurements(rows, _waiting(done), x_label="epoch", y_label="value that waits")

    return play


def _polled_in(expected: Sequence[float]) -> Callable[[Measurements], str]:
    """The sources are polled in these shares of the epochs, within one epoch of the long run."""

    def judge(figure: Measurements) -> str:
        shares = [row.value or 0.0 for row in figure.rows if row.column == _SHARE_OF_EPOCHS]
        text = ", ".join(f"{each:.3f}" for each in shares)
        return verdict(
            np.allclose(shares, expected, atol=1 / LONG_RUN),
            f"Sources are polled in these shares of the epochs: {text}.",
        )

    return judge


def _at_random(effort: Effort) -> Measurements:
    """The index policy where items appear at random, and in the fluid world."""
    fluid, world = EphemeralWorld(SOURCES, random=False), EphemeralWorld(SOURCES)
    rows = []
    for polls in (1, 2):
        expected = play_epochs(fluid, top(fluid, polls), epochs=EPOCHS, seed=0).rewards.mean()
        for name, observed in {"observed": None, "not observed": ()}.items():
            rewards = [
                play_epochs(world, top(world, polls), epochs=EPOCHS, seed=seed, observed=observed)
                for seed in range(effort.trials)
            ]
            mean = mean_of([float(play.rewards.mean()) for play in rewards])
            rows.append(Row(f"random, states {name}", f"M={polls}", mean.value, mean.stderr))
        rows.append(Row("fluid", f"M={polls}", float(expected)))
        effort.report(f"M={polls} done")
    shown = play_epochs(world, top(world, 1), epochs=EPOCHS, seed=0)
    return Measurements(
        rows, _waiting(shown), x_label="epoch", y_label="value that waits (M=1, seed 0)"
    )


def _near_the_fluid_world(figure: Measurements) -> str:
    distance = max(
        abs((row.value or 0.0) / figure.value("fluid", row.column) - 1) for row in figure.rows
    )
    text = f"The rewards are within {distance:.1%} of those of the fluid world."
    return verdict(distance < _NEAR_FLUID, text)


def _waiting(play: EphemeralPlay) -> list[Curve]:
    """The waiting values from epoch 1 on: the first axis of a figure is logarithmic."""
    return [
        Curve(
            f"source {number}",
            tuple(map(float, range(1, EPOCHS))),
            tuple(play.waiting[1:EPOCHS, number - 1].tolist()),
        )
        for number in range(1, play.waiting.shape[1] + 1)
    ]


def _rewards(effort: Effort) -> Measurements:
    """The mean rewards of an epoch, by policy."""
    rows = []
    for polls in (1, 2):
        rows += _fluid_rows(polls) + _learning_rows(polls, effort.trials)
        effort.report(f"M={polls} done")
    return Measurements(rows)


def _fluid_rows(polls: int) -> list[Row]:
    """The policies that know the sources, in the fluid world."""
    world = EphemeralWorld(SOURCES, random=False)
    policies: dict[str, Choose] = {
        "index": top(world, polls),
        "index, by the price": above(world, balanced_price(world, polls)),
    }
    if polls == 1:
        policies["source 1 only"] = lambda view: np.array([0])
    rows = []
    for name, choose in policies.items():
        done = play_epochs(world, choose, epochs=EPOCHS + LONG_RUN, seed=0)
        steady, begun = done.rewards[EPOCHS:], done.rewards[:EPOCHS]
        rows.append(Row(name, f"M={polls}, steady", float(steady.mean())))
        rows.append(Row(name, f"M={polls}, epochs 0 to 60", float(begun.mean())))
    return rows


def _learning_rows(polls: int, trials: int) -> list[Row]:
    """The policy that learns the sources, and one that knows them, where items are random."""
    world = EphemeralWorld(SOURCES)
    known: list[float] = []
    learnt: list[float] = []
    for seed in range(trials):
        for choose, rewards in (
            (top(world, polls), known),
            (LearningChooser(world, EphemeralIndex(epoch=world.epoch), polls), learnt),
        ):
            play = play_epochs(world, choose, epochs=2 * _LEARNT_AFTER, seed=seed, observed=())
            rewards.append(float(play.rewards[_LEARNT_AFTER:].mean()))
    means = {"index, at random": mean_of(known), "ephemeral-index": mean_of(learnt)}
    return [
        Row(name, _learnt_column(polls), mean.value, mean.stderr) for name, mean in means.items()
    ]


def _learnt_column(polls: int) -> str:
    return f"M={polls}, after {_LEARNT_AFTER} epochs"


def _learns_enough(table: Measurements) -> str:
    columns = {polls: _learnt_column(polls) for polls in (1, 2)}
    shares = {
        polls: table.value("ephemeral-index", column) / table.value("index, at random", column)
        for polls, column in columns.items()
    }
    text = (
        "The learner gets "
        + " and ".join(f"{share:.1%} (M={polls})" for polls, share in shares.items())
        + " of what is got with known parameters, after 50 epochs for each source."
    )
    return verdict(min(shares.values()) >= _LEARNT_ENOUGH, text)


EXPERIMENTS = {
    "ephemeral-figure-1": Experiment(
        title="how items of the four sources lose their value",
        source=f"{_SOURCE}, figure 1",
        claim="The sources differ in initial interest and in how fast it fades.",
        play=_fading,
        verdict=_differ,
    ),
    "ephemeral-figure-2": Experiment(
        title="waiting values under the index policy, one poll an epoch",
        source=f"{_SOURCE}, figure 2",
        claim="Sources 1 and 2 are polled in turn, sources 3 and 4 never.",
        play=_in_turn(1),
        published={("index", "reward, epochs 0 to 60"): 254.66},
        verdict=_polled_in((1 / 2, 1 / 2, 0.0, 0.0)),
    ),
    "ephemeral-figure-3": Experiment(
        title="waiting values under the index policy, two polls an epoch",
        source=f"{_SOURCE}, figure 3",
        claim="Source 1 is always polled; 2, 3 and 4 in 4/7, 2/7 and 1/7 of the epochs.",
        play=_in_turn(2),
        verdict=_polled_in((1.0, 4 / 7, 2 / 7, 1 / 7)),
    ),
    "ephemeral-figure-4": Experiment(
        title="waiting values under the index policy, items at random",
        source=f"{_SOURCE}, figure 4",
        claim="What the fluid model says of the index policy holds where items appear at random.",
        trials=20,
        play=_at_random,
        verdict=_near_the_fluid_world,
    ),
    "ephemeral-table-1": Experiment(
        title="mean reward of an epoch: the index policy, one source alone, the learner",
        source=f"{_SOURCE}, rewards of its example (table 1 by our count)",
        claim="The index policy with two sources in turn gets far more than the best source alone.",
        trials=10,
        play=_rewards,
        published={
            ("index", "M=1, epochs 0 to 60"): 254.66,
            ("source 1 only", "M=1, steady"): 179.79,
        },
        verdict=_learns_enough,
    ),
}
