"""Plays learners in environments, trial by trial, on all cores."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pollwise.experiments.scenario import ConfiguredPolicy, Environment
from pollwise.experiments.workers import workers
from pollwise.objectives import Detection
from pollwise.policies.catalogue import WATCHING, Setting
from pollwise.simulation.worlds.stochastic_knapsack import StochasticKnapsack, play

__all__ = ["Case", "Played", "Samples", "knapsack_of", "run_cases"]

Floats = NDArray[np.float64]
Report = Callable[[str], None]

_PIECES, _LARGEST_PIECE = 20, 25
"""The number and size of the pieces of a case: small enough to show progress and fill the cores."""


@dataclass(frozen=True)
class Case:
    """A learner in an environment, looked at after `checkpoints` polls (ascending numbers).

    `tallied`: whether the rewards of all polls are added up, which takes long for many pages.
    """

    environment: Environment
    learner: ConfiguredPolicy
    checkpoints: tuple[int, ...]
    tallied: bool = False


@dataclass(frozen=True, eq=False)
class Samples:
    """What each trial (first axis) had got at each checkpoint (second axis).

    `rewards` (NaN unless tallied): the expected rewards of all polls so far, each that of the
    mixture of its time. `scores`: the expected reward of a poll at that time; see
    `pollwise.simulation.worlds.stochastic_knapsack.Play`.
    """

    rewards: Floats
    scores: Floats


def knapsack_of(environment: Environment) -> StochasticKnapsack:
    """The abstract world with these pages."""
    return StochasticKnapsack.ranked(**environment.ranks, noise=environment.noise)


Played = dict[tuple[str, int], Samples]
"""What was played before, by case and number of trials."""


def run_cases(
    cases: Sequence[Case], trials: int, cores: int, report: Report, played: Played
) -> list[Samples]:
    """Trials 0, 1, ... of every case; trial n has the same world and seed in all of them.

    What is in `played` is not played again; what is played is put there.
    """
    keys = [(repr(case), trials) for case in cases]
    new = {key: case for key, case in zip(keys, cases, strict=True) if key not in played}
    size = min(math.ceil(trials / _PIECES), _LARGEST_PIECE)
    pieces = [
        (key, case, range(begin, min(begin + size, trials)))
        for key, case in new.items()
        for begin in range(0, trials, size)
    ]
    parts: dict[tuple[str, int], dict[int, Samples]] = {key: {} for key in new}
    done = 0
    report(f"0 of {trials * len(new):,d} trials")
    with workers(cores) as run:
        for key, begin, samples in run(_run_piece, pieces):
            parts[key][begin] = samples
            done += len(samples.rewards)
            report(f"{done:,d} of {trials * len(new):,d} trials")
    for key, part in parts.items():
        played[key] = _joined([part[begin] for begin in sorted(part)])
    return [played[key] for key in keys]


def _joined(samples: Sequence[Samples]) -> Samples:
    return Samples(
        np.concatenate([part.rewards for part in samples]),
        np.concatenate([part.scores for part in samples]),
    )


def _run_piece(
    piece: tuple[tuple[str, int], Case, range],
) -> tuple[tuple[str, int], int, Samples]:
    key, case, seeds = piece
    rows = [_trial(case, seed) for seed in seeds]
    rewards, scores = (np.array([row[n] for row in rows]) for n in range(2))
    return key, seeds.start, Samples(rewards, scores)


def _trial(case: Case, seed: int) -> tuple[Floats, Floats]:
    environment, learner = case.environment, case.learner
    setting = Setting(Detection(), budget=1.0, pages=environment.pages, seed=seed)
    result = play(
        WATCHING.choose(learner.policy, **learner.options).make(setting),
        knapsack_of(environment),
        polls=case.checkpoints[-1],
        seed=seed,
        checkpoints=case.checkpoints,
        worth=case.tallied,
        elapsed=learner.elapsed,
    )
    earned = np.cumsum(result.worth) if case.tallied else np.full(case.checkpoints[-1], np.nan)
    return (
        np.array([float(earned[n - 1]) for n in case.checkpoints]),
        np.array([result.scores[n] for n in case.checkpoints]),
    )
