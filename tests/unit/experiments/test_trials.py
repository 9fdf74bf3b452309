"""Trials are the runs they claim to be, whatever the number of cores."""

import numpy as np
import pytest

from pollwise.experiments.scenario import ConfiguredPolicy, Environment
from pollwise.experiments.trials import Case, knapsack_of, run_cases
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.simulation.loop import simulate
from pollwise.simulation.scores.summary import expected_detections
from pollwise.simulation.worlds.stochastic_knapsack import play
from pollwise.simulation.worlds.zipf import Zipf

BAYES = ConfiguredPolicy("today", "bayes-index")


def quiet(text: str) -> None:
    pass


def test_an_abstract_trial_is_a_play():
    world = Environment(pages=10, alpha=0.5, beta=1.0, noise=0.1)
    (samples,) = run_cases([Case(world, BAYES, (20, 100))], 3, 1, quiet)
    assert samples.rewards.shape == samples.scores.shape == (3, 2)
    for seed in range(3):
        result = play(
            BayesianIndex(), knapsack_of(world), polls=100, seed=seed, checkpoints=(20, 100)
        )
        assert samples.rewards[seed].tolist() == [result.paid[:20].sum(), result.paid.sum()]
        assert samples.scores[seed].tolist() == list(result.scores.values())


def test_a_polling_trial_is_a_simulation():
    world = Environment(pages=10, alpha=0.5, beta=1.0, swap_every=30, polling=True)
    (samples,) = run_cases([Case(world, BAYES, (20, 100))], 2, 1, quiet)
    zipf = Zipf(pages=10, alpha=0.5, beta=1.0, swap_every=30, perturbations=0)
    for seed in range(2):
        found = expected_detections(zipf, simulate(BayesianIndex(), zipf, polls=100, seed=seed))
        assert samples.rewards[seed] == pytest.approx([found[:20].sum(), found.sum()])
        assert samples.scores[seed] == pytest.approx([found[18:20].mean(), found[90:].mean()])


def test_more_cores_make_no_difference():
    world = Environment(pages=5, alpha=0.5, beta=1.0)
    cases = [Case(world, BAYES, (30,)), Case(world, ConfiguredPolicy("u", "uniform"), (30,))]
    told: list[str] = []
    one = run_cases(cases, 25, 1, quiet)
    two = run_cases(cases, 25, 2, told.append)
    for a, b in zip(one, two, strict=True):
        assert np.array_equal(a.rewards, b.rewards)
        assert np.array_equal(a.scores, b.scores)
    assert told[-1] == "50 of 50 trials"
