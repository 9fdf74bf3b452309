"""The solvers against a general one that knows nothing of prices."""

import numpy as np
import pytest
from scipy import optimize

from pollwise.knapsack import allocate, concave_amounts
from pollwise.objectives import Age, Delay, Detection, Ephemeral, Freshness

OBJECTIVES = [Detection(), Freshness(), Delay(), Age(), Ephemeral(decay=0.5, value=3.0)]


@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda one: one.name)
@pytest.mark.parametrize("seed", range(6))
def test_sequential_quadratic_programming_finds_nothing_better(objective, seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 6))
    rates, weights = np.exp(rng.normal(0.0, 1.0, size)), rng.uniform(0.5, 2.0, size)
    costs, budget = rng.uniform(0.5, 2.0, size), float(rng.uniform(0.5, 3.0) * size)
    sign = 1.0 if objective.minimise else -1.0

    def loss(frequencies):
        return sign * float(np.sum(objective.gain(rates, 1 / frequencies, weights) * frequencies))

    found = optimize.minimize(
        loss,
        np.full(size, budget / costs.sum()),
        method="SLSQP",
        bounds=[(1e-4, None)] * size,
        constraints={"type": "eq", "fun": lambda frequencies: costs @ frequencies - budget},
        options={"maxiter": 500, "ftol": 1e-13},
    )
    assert found.success
    ours = allocate(objective, rates, budget, weights, costs).frequencies
    # The general solver may not leave a page out; it polls it as rarely as it may.
    assert np.maximum(ours, 1e-4) == pytest.approx(found.x, rel=5e-3, abs=2e-3)
    assert loss(np.maximum(ours, 1e-12)) <= found.fun + 1e-8 * abs(found.fun)


@pytest.mark.parametrize("seed", range(6))
def test_nothing_better_is_found_for_marginal_values_either(seed):
    """Marginal values a e^(-bx), whose integral is (a/b) (1 - e^(-bx)); some pages have limits."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 6))
    height, fall = rng.uniform(0.5, 2.0, size), rng.uniform(0.2, 4.0, size)
    limits = np.where(rng.random(size) < 0.5, rng.uniform(0.1, 1.0, size), 2.0)
    capacity = 0.7 * float(limits.sum())

    def loss(amounts):
        return float(np.sum(height / fall * np.expm1(-fall * amounts)))

    found = optimize.minimize(
        loss,
        limits * capacity / limits.sum(),
        method="SLSQP",
        bounds=[(0.0, limit) for limit in limits],
        constraints={"type": "eq", "fun": lambda amounts: amounts.sum() - capacity},
        options={"maxiter": 500, "ftol": 1e-14},
    )
    assert found.success
    ours = concave_amounts(lambda x: height * np.exp(-fall * x), limits, capacity)
    assert ours == pytest.approx(found.x, abs=1e-4)
    assert loss(ours) <= found.fun + 1e-9
