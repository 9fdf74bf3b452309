"""Trials are the runs they claim to be, whatever the number of cores."""

import numpy as np
import pytest

from pollwise.experiments.scenario import ConfiguredPolicy, Environment
from pollwise.experiments.trials import Case, Played, knapsack_of, run_cases
from pollwise.policies.automata.lakg import LAKG
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.simulation.worlds.stochastic_knapsack import play

BAYES = ConfiguredPolicy("today", "bayes-index")
REAL = ConfiguredPolicy("lakg", "lakg", {"resolution": 100, "exponent": 1.0}, elapsed=True)


def quiet(text: str) -> None:
    pass


def test_a_trial_is_a_play():
    world = Environment(pages=10, alpha=0.5, beta=1.0, noise=0.1, swap_every=30)
    for learner, policy in ((BAYES, BayesianIndex()), (REAL, LAKG(resolution=100, exponent=1.0))):
        (samples,) = run_cases([Case(world, learner, (20, 100), tallied=True)], 3, 1, quiet, {})
        assert samples.rewards.shape == samples.scores.shape == (3, 2)
        for seed in range(3):
            result = play(
                type(policy)(**learner.options),
                knapsack_of(world),
                polls=100,
                seed=seed,
                checkpoints=(20, 100),
                worth=True,
                elapsed=learner.elapsed,
            )
            assert samples.rewards[seed] == pytest.approx(
                [result.worth[:20].sum(), result.worth.sum()]
            )
            assert samples.scores[seed].tolist() == list(result.scores.values())


def test_rewards_are_added_up_on_demand():
    world = Environment(pages=10, alpha=0.5, beta=1.0)
    (samples,) = run_cases([Case(world, BAYES, (20, 100))], 2, 1, quiet, {})
    assert np.isnan(samples.rewards).all()
    assert np.isfinite(samples.scores).all()


def test_more_cores_make_no_difference():
    world = Environment(pages=5, alpha=0.5, beta=1.0)
    uniform = ConfiguredPolicy("u", "uniform")
    cases = [Case(world, each, (30,), tallied=True) for each in (BAYES, uniform)]
    told: list[str] = []
    one = run_cases(cases, 25, 1, quiet, {})
    two = run_cases(cases, 25, 2, told.append, {})
    for a, b in zip(one, two, strict=True):
        assert np.array_equal(a.rewards, b.rewards)
        assert np.array_equal(a.scores, b.scores)
    assert told[0] == "0 of 50 trials"
    assert told[-1] == "50 of 50 trials"


def test_what_was_played_is_not_played_again():
    world = Environment(pages=5, alpha=0.5, beta=1.0)
    case = Case(world, BAYES, (30,), tallied=True)
    told: list[str] = []
    played: Played = {}
    first = run_cases([case], 4, 1, quiet, played)
    other = Case(world, ConfiguredPolicy("u", "uniform"), (30,), tallied=True)
    again = run_cases([case, other], 4, 1, told.append, played)
    assert again[0] is first[0]
    assert told[0] == "0 of 4 trials"
    assert run_cases([case], 5, 1, quiet, played)[0].rewards.shape == (5, 1)
