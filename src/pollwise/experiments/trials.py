"""Plays learners in environments, trial by trial, on all cores."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pollwise.experiments.scenario import ConfiguredPolicy, Environment
from pollwise.experiments.workers import workers
from pollwise.objectives import Detection
from pollwise.policies.base import Policy
from pollwise.policies.catalogue import WATCHING, Setting
from pollwise.simulation.loop import simulate
from pollwise.simulation.scores.summary import expected_detections
from pollwise.simulation.worlds.stochastic_knapsack import StochasticKnapsack, play, recent_mean
from pollwise.simulation.worlds.zipf import Zipf

__all__ = ["Case", "Samples", "knapsack_of", "run_cases"]

Floats = NDArray[np.float64]
Report = Callable[[str], None]

_PIECES, _LARGEST_PIECE = 20, 25
"""The number and size of the pieces of a case: small enough to show progress and fill the cores."""


@dataclass(frozen=True)
class Case:
    """A learner in an environment, looked at after `checkpoints` polls (ascending numbers)."""

    environment: Environment
    learner: ConfiguredPolicy
    checkpoints: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Samples:
    """What each trial (first axis) had got at each checkpoint (second axis).

    `rewards`: polls that paid so far (in real web polling: the sum of the probabilities to find a
    change, which has the same mean and less noise). `scores`: the expected reward of a poll at
    that time; see `pollwise.simulation.worlds.stochastic_knapsack.Play`.
    """

    rewards: Floats
    scores: Floats


def knapsack_of(environment: Environment) -> StochasticKnapsack:
    """The abstract world with these pages."""
    return StochasticKnapsack.ranked(**environment.ranks, noise=environment.noise)


def run_cases(cases: Sequence[Case], trials: int, cores: int, report: Report) -> list[Samples]:
    """Trials 0, 1, ... of every case; trial n has the same world and seed in all of them."""
    size = min(math.ceil(trials / _PIECES), _LARGEST_PIECE)
    pieces = [
        (number, case, range(begin, min(begin + size, trials)))
        for number, case in enumerate(cases)
        for begin in range(0, trials, size)
    ]
    parts: list[dict[int, Samples]] = [{} for _ in cases]
    done = 0
    with workers(cores) as run:
        for number, begin, samples in run(_run_piece, pieces):
            parts[number][begin] = samples
            done += len(samples.rewards)
            report(f"{done:,d} of {trials * len(cases):,d} trials")
    return [_joined([part[begin] for begin in sorted(part)]) for part in parts]


def _joined(samples: Sequence[Samples]) -> Samples:
    return Samples(
        np.concatenate([part.rewards for part in samples]),
        np.concatenate([part.scores for part in samples]),
    )


def _run_piece(piece: tuple[int, Case, range]) -> tuple[int, int, Samples]:
    number, case, seeds = piece
    trial = _polling_trial if case.environment.polling else _knapsack_trial
    rows = [trial(case, seed) for seed in seeds]
    rewards, scores = (np.array([row[n] for row in rows]) for n in range(2))
    return number, seeds.start, Samples(rewards, scores)


def _policy(case: Case, seed: int, rates: Mapping[int, float] | None = None) -> Policy:
    setting = Setting(Detection(), budget=1.0, pages=case.environment.pages, rates=rates, seed=seed)
    return WATCHING.choose(case.learner.policy, **case.learner.options).make(setting)


def _knapsack_trial(case: Case, seed: int) -> tuple[Floats, Floats]:
    knapsack = knapsack_of(case.environment)
    polls = case.checkpoints[-1]
    result = play(
        _policy(case, seed), knapsack, polls=polls, seed=seed, checkpoints=case.checkpoints
    )
    paid = np.cumsum(result.paid)
    return (
        np.array([float(paid[n - 1]) for n in case.checkpoints]),
        np.array([result.scores[n] for n in case.checkpoints]),
    )


def _polling_trial(case: Case, seed: int) -> tuple[Floats, Floats]:
    world = Zipf(**case.environment.ranks)
    polls = case.checkpoints[-1]
    world.reset(seed, duration=polls + 1.0)
    done = simulate(_policy(case, seed, world.rates), world, polls=polls, seed=seed)
    found = expected_detections(world, done)
    total = np.cumsum(found)
    recent = [recent_mean(found[:n]) for n in case.checkpoints]
    return np.array([total[n - 1] for n in case.checkpoints]), np.array(recent)
