"""UCB1 against a plain implementation, on mixtures and on pages themselves."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from pollwise.knapsack import polling_amounts
from pollwise.policies.bandits.ucb1 import UCB1, RawUCB1
from pollwise.simulation.worlds.stochastic_knapsack import StochasticKnapsack
from pollwise.simulation.worlds.stochastic_knapsack import play as knapsack_play
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
    """Of k -> rewards of arm k: of equals, the last."""
    for k, own in rewards.items():
        if not own:
            return k
    n = sum(len(own) for own in rewards.values())
    bounds = {
        k: sum(own) / len(own) + math.sqrt(2 * math.log(n) / len(own)) for k, own in rewards.items()
    }
    return max(bounds, key=lambda k: (bounds[k], k))


def reference(resolution: int, paid: Paid, polls: int, rng: np.random.Generator) -> list[int]:
    rewards: dict[int, list[float]] = {k: [] for k in range(1, resolution)}
    polled = []
    for _ in range(polls):
        k = arm_to_pull(rewards)
        page = 0 if rng.random() * resolution < k else 1
        rewards[k].append(paid(page, k / resolution if page == 0 else 1 - k / resolution))
        polled.append(page)
    return polled


@pytest.mark.parametrize("resolution", [2, 3, 10, 100])
@pytest.mark.parametrize("seed", range(3))
def test_polls_are_those_of_a_plain_implementation(resolution, seed):
    policy = UCB1(generator=np.random.default_rng([9, seed]), resolution=resolution)
    polled = play(policy, environment(0.6, 1.0, seed), 600)
    rng = np.random.default_rng([9, seed])
    assert polled == reference(resolution, environment(0.6, 1.0, seed), 600, rng)


def test_the_arm_next_to_the_optimum_is_pulled_most():
    policy = UCB1(generator=np.random.default_rng(2), resolution=5)
    play(policy, environment(0.9, 1.5, 3), 1000)
    best = polling_amounts([1 - 0.9, 1 - 0.9 / 2**1.5])[0]
    assert best == pytest.approx(0.857, abs=0.001)
    assert policy.state.arms["pulls"].argmax() + 1 == 4


@pytest.mark.parametrize(
    ("p", "after_10"), [(0.55, (4.9, 5.0)), (0.75, (3.0, 3.1)), (0.90, (1.5, 1.6))]
)
def test_the_first_sweep_of_the_thesis(p, after_10):
    """Its table 8.8 prints 4.9, 3.0 and 1.5 updates after 10 polls, whatever is drawn.

    They are the scores of the first ten arms, 1/100 to 10/100 for the first page.
    """
    policy = UCB1(generator=np.random.default_rng(1))
    result = knapsack_play(policy, StochasticKnapsack([1 - p, p]), polls=10, seed=1, worth=True)
    x = np.arange(1, 11) / 100
    scores = x * (1 - (1 - p) ** (1 / x)) + (1 - x) * (1 - p ** (1 / (1 - x)))
    assert result.worth == pytest.approx(scores)
    assert after_10[0] <= result.worth.sum() < after_10[1]


def test_pages_themselves_are_polled_as_by_a_plain_implementation():
    """Page i pays with 1 - q_i^τ after τ steps without a poll."""
    found = np.random.default_rng(3).random(400)
    chances = (0.6, 0.2)
    policy = RawUCB1()
    policy.add([Page(0, seen_at=0.0), Page(1, seen_at=0.0)])
    rewards: dict[int, list[float]] = {0: [], 1: []}
    last = [0, 0]
    for now, draw in enumerate(found.tolist(), start=1):
        (page_id,) = policy.select(now, 1).page_ids.tolist()
        assert page_id == arm_to_pull(rewards)
        paid = draw < 1 - (1 - chances[page_id]) ** (now - last[page_id])
        policy.observe([Observation(page_id, now, Outcome(int(paid)))])
        rewards[page_id].append(float(paid))
        last[page_id] = now
    assert policy.state.arms["paid"].tolist() == [sum(rewards[0]), sum(rewards[1])]
    assert not hasattr(policy, "amounts")


def test_pages_themselves_are_paid_for_the_time_that_they_were_left_alone():
    """A knapsack offers 1/τ to a policy without amounts."""
    result = knapsack_play(RawUCB1(), StochasticKnapsack([0.25, 0.75]), polls=200, seed=2)
    for page_id, q in enumerate((0.25, 0.75)):
        (times,) = np.nonzero(result.page_ids == page_id)
        assert result.expected[times[1:]] == pytest.approx(1 - q ** np.diff(times))
