"""Gains against simulated changes, indices against brute force over what one could do instead."""

import numpy as np
import pytest

from pollwise.objectives import (
    Age,
    Delay,
    Detection,
    Ephemeral,
    Freshness,
    discrete_detection_index,
    discrete_index,
)

OBJECTIVES = [Detection(), Freshness(), Delay(), Age(), Ephemeral(decay=0.7, value=2.0)]

by_name = pytest.mark.parametrize("one", OBJECTIVES, ids=lambda one: one.name)


def reward(name: str, changes: np.ndarray, elapsed: float) -> float:
    """What one cycle with these change times brings (or costs), straight from the definition."""
    first = changes.min(initial=elapsed)
    if name == "detection":
        return float(changes.size > 0)
    if name == "freshness":
        return float(first)
    if name == "delay":
        return float(np.sum(elapsed - changes))
    if name == "age":
        return float((elapsed - first) ** 2 / 2)
    return float(np.sum(2.0 * np.exp(-0.7 * (elapsed - changes))))


@by_name
@pytest.mark.parametrize(("rate", "elapsed"), [(0.2, 1.5), (1.0, 2.0), (3.0, 2.5)])
def test_gain_is_the_mean_over_simulated_cycles(one, rate, elapsed):
    rng = np.random.default_rng(7)
    cycles = 5_000
    rewards = np.array(
        [
            reward(one.name, rng.uniform(0.0, elapsed, count), elapsed)
            for count in rng.poisson(rate * elapsed, cycles)
        ]
    )
    error = rewards.std() / np.sqrt(cycles)
    assert abs(rewards.mean() - one.gain(rate, elapsed)) < 4 * error


@by_name
@pytest.mark.parametrize("rate", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("share", [0.02, 0.3, 0.8])
def test_due_is_the_best_cycle_length_at_its_price(one, rate, share):
    """Paying the price for every poll, no cycle of a fine grid is better than waiting till due."""
    weight, cost = 2.5, 1.5
    price = share * one.index(rate, np.inf if not one.minimise else 6.0, weight, cost)
    lengths = np.geomspace(1e-3, 200.0, 100_001)
    sign = -1.0 if one.minimise else 1.0
    profit = (sign * one.gain(rate, lengths, weight) - price * cost) / lengths
    best = lengths[np.argmax(profit)]
    assert one.due(price, rate, weight, cost) == pytest.approx(best, rel=1e-3)


def states_in_which_to_poll(reward: np.ndarray, price: float) -> np.ndarray:
    """By relative value iteration: in state n - 1, n steps since the last poll, wait or poll.

    A step is done only with probability 1/2, which leaves the best policy as it is and makes the
    iteration converge.
    """
    value = np.zeros(reward.size)
    for _ in range(4000):
        poll = reward - price + value[0]
        wait = np.append(value[1:], value[-1])
        value = (value + np.maximum(poll, wait)) / 2
        value -= value[0]
    return poll > wait


@pytest.mark.parametrize("unchanged", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("steps", [1, 2, 5, 9])
def test_discrete_detection_index_against_value_iteration(unchanged, steps):
    n = np.arange(1, 81)
    index = discrete_detection_index(n, 1 - unchanged)
    price = (index[steps - 1] + index[steps]) / 2
    polls = states_in_which_to_poll(1 - unchanged**n, price)
    assert polls.tolist() == (n > steps).tolist()


@pytest.mark.parametrize("retention", [0.3, 0.8, 0.97])
@pytest.mark.parametrize("height", [0.0, 0.1, 0.45, 0.9])
def test_discrete_index_against_brute_force_over_cycle_lengths(retention, height):
    """At the price γ(x), polling in state x now and one epoch later are equally good.

    A poll at x now and one at αx + u an epoch later both lead to state u; the later one gains
    αx + u - x and loses one epoch of the best average profit that any cycle length brings.
    """
    inflow, cost = 1.7, 2.0
    limit = inflow / (1 - retention)
    state = inflow + height * (limit - inflow)
    price = discrete_index(state, retention, inflow, cost)
    n = np.arange(1, 2000)
    waiting = inflow * (1 - retention**n) / (1 - retention)
    best = np.max((waiting - price * cost) / n)
    assert retention * state + inflow - state == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("retention", [0.3, 0.8])
@pytest.mark.parametrize("epochs", [1, 2, 4])
def test_discrete_index_against_value_iteration(retention, epochs):
    inflow = 0.6
    n = np.arange(1, 61)
    waiting = inflow * (1 - retention**n) / (1 - retention)
    index = discrete_index(waiting, retention, inflow)
    polls = states_in_which_to_poll(waiting, (index[epochs - 1] + index[epochs]) / 2)
    assert polls.tolist() == (n > epochs).tolist()
