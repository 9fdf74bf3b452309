"""GP-UCB against plain regression on all pulls so far."""

import numpy as np
import pytest

from pollwise.policies.bandits.gp_ucb import GPUCB
from pollwise.types import Observation, Outcome, Page


def kernel(x, y):
    return np.exp(-((np.subtract.outer(x, y)) ** 2) / 2)


def regression(arms: np.ndarray, pulled: list[int], rewards: list[float]):
    """Posterior mean and covariance (Rasmussen and Williams, equations 2.23 and 2.24)."""
    x = arms[pulled]
    known = kernel(x, x) + (0.1 + 0.1) * np.eye(len(x))
    across = kernel(arms, x)
    mean = across @ np.linalg.solve(known, np.array(rewards))
    return mean, kernel(arms, arms) - across @ np.linalg.solve(known, across.T)


def play(policy: GPUCB, outcomes: np.ndarray) -> tuple[list[int], list[int], list[float]]:
    """The page of each poll, the arm played, and what it paid."""
    policy.add([Page(0, seen_at=0.0), Page(1, seen_at=0.0)])
    pages, pulled, rewards = [], [], []
    for now, found in enumerate(outcomes, start=1):
        (page_id,) = policy.select(now, 1).page_ids.tolist()
        pages.append(page_id)
        pulled.append(int(policy.state.shared["arm"][0]))
        rewards.append(float(found[page_id]))
        policy.observe([Observation(page_id, now, Outcome(int(found[page_id])))])
    return pages, pulled, rewards


@pytest.mark.parametrize("resolution", [2, 5, 10])
def test_polls_are_those_of_plain_regression(resolution):
    outcomes = np.random.default_rng(1).random((100, 2)) < [0.9, 0.3]
    policy = GPUCB(generator=np.random.default_rng(5), resolution=resolution)
    pages, pulled, rewards = play(policy, outcomes)
    rng = np.random.default_rng(5)
    arms = np.arange(1, resolution) / resolution
    for n in range(100):
        mean, covariance = regression(arms, pulled[:n], rewards[:n])
        bound = mean + 2 * np.sqrt(np.diag(covariance))
        assert bound[pulled[n]] == pytest.approx(bound.max(), abs=1e-9)
        assert pages[n] == int(rng.random() * resolution >= pulled[n] + 1)


def test_what_is_believed_stays_exact_after_many_pulls():
    policy = GPUCB(generator=np.random.default_rng(3))
    outcomes = np.random.default_rng(2).random((600, 2)) < [0.6, 0.5]
    _, pulled, rewards = play(policy, outcomes)
    mean, covariance = regression(np.arange(1, 100) / 100, pulled, rewards)
    assert policy.state.arms["mean"] == pytest.approx(mean, abs=1e-8)
    assert policy.state.covariance == pytest.approx(covariance, abs=1e-8)
    assert np.array_equal(policy.state.covariance, policy.state.covariance.T)


def test_the_mixture_of_the_page_that_pays_is_found_soon():
    policy = GPUCB(generator=np.random.default_rng(4))
    _, pulled, _ = play(policy, np.tile([False, True], (500, 1)))
    assert pulled[0] == 98  # of equals, the last
    assert np.mean(np.array(pulled[200:]) < 5) > 0.9
