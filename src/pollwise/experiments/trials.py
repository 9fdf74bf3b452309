"""Plays learners in worlds, trial by trial, on all cores."""

import math
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pollwise.errors import PollwiseError
from pollwise.experiments.scenario import Learner, World
from pollwise.objectives import Detection
from pollwise.policies.base import Policy
from pollwise.policies.catalogue import WATCHING, Setting
from pollwise.simulation.loop import simulate
from pollwise.simulation.scores.summary import expected_detections
from pollwise.simulation.worlds.stochastic_knapsack import StochasticKnapsack, play, recent_mean
from pollwise.simulation.worlds.zipf import Zipf

__all__ = ["Case", "Samples", "knapsack_of", "run_cases", "workers"]

Floats = NDArray[np.float64]
Report = Callable[[str], None]

_PIECES, _LARGEST_PIECE = 20, 25
"""How the trials of a case are cut into pieces, for progress and for even use of cores."""


@dataclass(frozen=True)
class Case:
    """A learner in a world, looked at after each number of polls in `checkpoints` (ascending)."""

    world: World
    learner: Learner
    checkpoints: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Samples:
    """Of each trial (first axis) at each checkpoint (second): what was got.

    `rewards`: polls that paid so far (in real web polling: the sum of the probabilities to find a
    change, which has the same mean and less noise). `scores`: the expected reward of a poll at
    that time; see `pollwise.simulation.worlds.stochastic_knapsack.Play`.
    """

    rewards: Floats
    scores: Floats


def knapsack_of(world: World) -> StochasticKnapsack:
    """The abstract environment of a world."""
    return StochasticKnapsack.ranked(**world.ranks, noise=world.noise)


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


Run = Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]]


@contextmanager
def workers(cores: int) -> Iterator[Run]:
    """Something that maps a function over arguments on so many cores, in any order."""
    if cores == 1:
        yield map
        return
    # A process that was forked while another thread holds a lock may hang: they are spawned.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(cores, mp_context=context, initializer=_end_with_parent)
    others = set(multiprocessing.active_children())

    def run(function: Callable[[Any], Any], arguments: Sequence[Any]) -> Iterator[Any]:
        # Ctrl-C reaches all processes of a terminal. The workers, which start here and inherit
        # what is blocked, never see it: this process ends them.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            futures = [pool.submit(function, each) for each in arguments]
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for future in as_completed(futures):
            yield future.result()

    try:
        yield run
    except BrokenProcessPool as error:
        raise PollwiseError(
            "a process that did trials has ended before they were done (is there enough memory?);"
            " try again, with fewer --trials perhaps"
        ) from error
    except BaseException:
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _end_with_parent() -> None:
    """Have this worker end when the process that started it is killed: no one else ends it."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _run_piece(piece: tuple[int, Case, range]) -> tuple[int, int, Samples]:
    number, case, seeds = piece
    trial = _polling_trial if case.world.polling else _knapsack_trial
    rows = [trial(case, seed) for seed in seeds]
    rewards, scores = (np.array([row[n] for row in rows]) for n in range(2))
    return number, seeds.start, Samples(rewards, scores)


def _policy(case: Case, seed: int, rates: Mapping[int, float] | None = None) -> Policy:
    setting = Setting(Detection(), budget=1.0, pages=case.world.pages, rates=rates, seed=seed)
    return WATCHING.choose(case.learner.policy, **case.learner.options).make(setting)


def _knapsack_trial(case: Case, seed: int) -> tuple[Floats, Floats]:
    knapsack = knapsack_of(case.world)
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
    world = Zipf(**case.world.ranks)
    polls = case.checkpoints[-1]
    world.reset(seed, duration=polls + 1.0)
    done = simulate(_policy(case, seed, world.rates), world, polls=polls, seed=seed)
    found = expected_detections(world, done)
    total = np.cumsum(found)
    recent = [recent_mean(found[:n]) for n in case.checkpoints]
    return np.array([total[n - 1] for n in case.checkpoints]), np.array(recent)
