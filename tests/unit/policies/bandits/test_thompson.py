"""Thompson sampling against conjugate posteriors computed anew at every poll."""

import numpy as np
import pytest

from pollwise.policies.bandits.thompson import ThompsonSampling
from pollwise.types import Observation, Outcome, Page


def play(policy: ThompsonSampling, outcomes: np.ndarray) -> list[tuple[int, float]]:
    """The page of each poll and its amount."""
    policy.add([Page(0, seen_at=0.0), Page(1, seen_at=0.0)])
    played = []
    for now, found in enumerate(outcomes, start=1):
        (page_id,) = policy.select(now, 1).page_ids.tolist()
        played.append((page_id, float(policy.amounts()[page_id])))
        policy.observe([Observation(page_id, now, Outcome(int(found[page_id])))])
    return played


def posteriors(arms: int, rewards: list[tuple[int, float]]) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of each arm: standard deviations 0.2 at first, 0.05 of a reward."""
    counts, sums = np.zeros(arms), np.zeros(arms)
    for arm, reward in rewards:
        counts[arm] += 1
        sums[arm] += reward
    variance = 1 / (1 / 0.2**2 + counts / 0.05**2)
    return variance * (0.7 / 0.2**2 + sums / 0.05**2), variance


def reference(resolution: int, outcomes: np.ndarray, rng: np.random.Generator):
    rewards: list[tuple[int, float]] = []
    played = []
    for found in outcomes:
        mean, variance = posteriors(resolution - 1, rewards)
        arm = int(np.argmax(mean + np.sqrt(variance) * rng.standard_normal(resolution - 1)))
        share = (arm + 1) / resolution
        page = 0 if rng.random() * resolution < arm + 1 else 1
        rewards.append((arm, float(found[page])))
        played.append((page, share if page == 0 else 1 - share))
    return played, rewards


@pytest.mark.parametrize("resolution", [2, 5, 10])
@pytest.mark.parametrize("seed", range(3))
def test_polls_are_those_of_posteriors_computed_anew(resolution, seed):
    outcomes = np.random.default_rng([1, seed]).random((250, 2)) < [0.9, 0.3]
    policy = ThompsonSampling(generator=np.random.default_rng(seed), resolution=resolution)
    played, rewards = reference(resolution, outcomes, np.random.default_rng(seed))
    assert play(policy, outcomes) == played
    mean, variance = posteriors(resolution - 1, rewards)
    assert policy.state.arms["mean"] == pytest.approx(mean, rel=1e-12)
    assert np.diag(policy.state.covariance) == pytest.approx(variance, rel=1e-12)
    assert np.count_nonzero(policy.state.covariance) == resolution - 1


def test_arms_are_drawn_by_what_is_believed():
    """At first all alike; a page that always pays is then polled most of the time."""
    outcomes = np.tile([True, False], (1000, 1))
    played = play(ThompsonSampling(generator=np.random.default_rng(4)), outcomes)
    assert len({amount for page, amount in played[:60] if page == 0}) >= 5
    assert np.mean([page == 0 for page, _ in played[400:]]) > 0.75
