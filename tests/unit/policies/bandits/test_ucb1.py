"""UCB1 against a plain implementation, by rounds and by single polls."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from pollwise.knapsack import polling_amounts
from pollwise.policies.bandits.ucb1 import UCB1
from pollwise.types import Observation, Outcome, Page

Paid = Callable[[int, float], int]


def environment(alpha: float, beta: float, seed: int) -> Paid:
    """Page 0 or 1, offered an amount, pays 1 with probability 1 - q^(1/amount)."""
    rng = np.random.default_rng(seed)
    q = 1 - alpha / np.arange(1, 3) ** beta
    return lambda page_id, amount: int(rng.random() < 1 - q[page_id] ** (1 / amount))


def play(policy: UCB1, paid: Paid, polls: int) -> list[int]:
    policy.add([Page(0, seen_at=0.0), Page(1, seen_at=0.0)])
    polled = []
    for now in range(1, polls + 1):
        (page_id,) = policy.select(now, 1).page_ids.tolist()
        outcome = Outcome(paid(page_id, float(policy.amounts()[page_id])))
        policy.observe([Observation(page_id, now, outcome)])
        polled.append(page_id)
    return polled


def arm_to_pull(rewards: dict[int, list[float]]) -> int:
    """Of k -> rewards of arm k."""
    for k, own in rewards.items():
        if not own:
            return k
    n = sum(len(own) for own in rewards.values())
    bounds = {
        k: sum(own) / len(own) + math.sqrt(2 * math.log(n) / len(own)) for k, own in rewards.items()
    }
    return max(bounds, key=bounds.__getitem__)


def round_of(k: int, resolution: int) -> list[int]:
    """k polls of page 0 and the rest of page 1, by due time."""
    shares = (k, resolution - k)
    due = [(Fraction(2 * i + 1, 2 * n), page) for page, n in enumerate(shares) for i in range(n)]
    return [page for _, page in sorted(due)]


def reference_by_rounds(resolution: int, paid: Paid, rounds: int) -> list[int]:
    rewards: dict[int, list[float]] = {k: [] for k in range(1, resolution)}
    polled = []
    for _ in range(rounds):
        k = arm_to_pull(rewards)
        amounts = (k / resolution, 1 - k / resolution)
        pages = round_of(k, resolution)
        rewards[k].append(sum(paid(page, amounts[page]) for page in pages) / resolution)
        polled += pages
    return polled


def reference_by_polls(
    resolution: int, paid: Paid, polls: int, rng: np.random.Generator
) -> list[int]:
    rewards: dict[int, list[float]] = {k: [] for k in range(1, resolution)}
    polled = []
    for _ in range(polls):
        k = arm_to_pull(rewards)
        page = 0 if rng.random() * resolution < k else 1
        rewards[k].append(paid(page, k / resolution if page == 0 else 1 - k / resolution))
        polled.append(page)
    return polled


@pytest.mark.parametrize("resolution", [2, 3, 10])
@pytest.mark.parametrize("seed", range(3))
def test_rounds_are_those_of_a_plain_implementation(resolution, seed):
    polled = play(
        UCB1(generator=np.random.default_rng(0), resolution=resolution),
        environment(0.9, 1.5, seed),
        80 * resolution,
    )
    assert polled == reference_by_rounds(resolution, environment(0.9, 1.5, seed), 80)


@pytest.mark.parametrize("resolution", [2, 3, 10])
@pytest.mark.parametrize("seed", range(3))
def test_single_polls_are_those_of_a_plain_implementation(resolution, seed):
    policy = UCB1(generator=np.random.default_rng([9, seed]), raw=True, resolution=resolution)
    polled = play(policy, environment(0.6, 1.0, seed), 600)
    rng = np.random.default_rng([9, seed])
    assert polled == reference_by_polls(resolution, environment(0.6, 1.0, seed), 600, rng)


@pytest.mark.parametrize("raw", [False, True], ids=["rounds", "single polls"])
def test_the_arm_next_to_the_optimum_is_pulled_most(raw):
    policy = UCB1(generator=np.random.default_rng(2), raw=raw, resolution=5)
    play(policy, environment(0.9, 1.5, 3), 1000)
    best = polling_amounts([1 - 0.9, 1 - 0.9 / 2**1.5])[0]
    assert best == pytest.approx(0.857, abs=0.001)
    assert policy.state.arms["pulls"].argmax() + 1 == 4


def test_a_round_deals_the_share_of_its_arm_spread_evenly():
    policy = UCB1(generator=np.random.default_rng(0), resolution=10)
    polled = play(policy, lambda page_id, amount: 0, 90)
    rounds = [polled[n : n + 10] for n in range(0, 90, 10)]
    assert [own.count(0) for own in rounds] == list(range(1, 10))
    for k, own in enumerate(rounds, start=1):
        counts = np.cumsum(np.array(own) == 0)
        assert np.abs(counts - np.arange(1, 11) * k / 10).max() <= 1.0


def test_the_reward_of_a_round_is_the_mean_of_what_polls_told():
    policy = UCB1(generator=np.random.default_rng(0), resolution=4)
    policy.add([Page(0, seen_at=0.0), Page(1, seen_at=0.0)])
    outcomes = [Outcome.CHANGED, Outcome.FAILED, Outcome.UNCHANGED, Outcome.UNCHANGED]
    for now, outcome in enumerate(outcomes, start=1):
        (page_id,) = policy.select(now, 1).page_ids.tolist()
        policy.observe([Observation(page_id, now, outcome)])
    assert policy.state.arms["mean"][0] == pytest.approx(1 / 3)


def test_a_round_waits_for_its_last_poll():
    policy = UCB1(generator=np.random.default_rng(0), resolution=2)
    policy.add([Page(0, seen_at=0.0), Page(1, seen_at=0.0)])
    assert policy.select(1.0, 2).page_ids.tolist() == [0, 1]
    policy.observe([Observation(0, 1.0, Outcome.CHANGED)])
    assert policy.select(2.0, 2).page_ids.tolist() == [0]  # between two rounds
    policy.observe([Observation(0, 2.0, Outcome.UNCHANGED)])
    assert policy.state.arms["pulls"].tolist() == [0]
    policy.observe([Observation(1, 3.0, Outcome.CHANGED)])
    assert policy.state.arms[0].tolist() == (1, 1.0, 1.0)
