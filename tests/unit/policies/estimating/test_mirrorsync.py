"""Steps of mirror descent solve their problem, and lead to better rates in the paper's setting."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from pollwise.errors import InputError
from pollwise.knapsack import allocate
from pollwise.objectives import Freshness
from pollwise.policies.estimating.mirrorsync import MirrorSync
from pollwise.policies.estimating.mirrorsync_kernels import MEAN_RATE, stepped_rates
from pollwise.simulation.loop import simulate
from pollwise.simulation.recorded.replay import Replay
from pollwise.types import Budget, Observation, Outcome, Page

pages = st.lists(
    st.tuples(st.floats(0.03, 5.0), st.floats(-2.0, 0.0), st.floats(0.5, 2.0)),
    min_size=2,
    max_size=8,
)


@settings(max_examples=100)
@given(pages=pages)
def test_a_step_keeps_the_budget_and_equal_margins(pages):
    rates, slopes, costs = np.array(pages).T
    after = stepped_rates(rates, slopes, costs, float(costs @ rates))
    assert costs @ after == pytest.approx(costs @ rates)
    inside = (after > 0.0251) & (after < 5.99)
    multipliers = ((1 / after - 1 / rates - slopes) / costs)[inside]
    assert multipliers == pytest.approx(multipliers.mean() if inside.any() else 0.0, abs=1e-6)
    assert ((after >= 0.025 - 1e-12) & (after <= 6.0 + 1e-12)).all()


def test_a_step_is_the_least_of_the_linear_cost_and_the_divergence():
    rates, slopes = np.array([0.3, 0.5, 0.4]), np.array([-1.0, 0.0, -0.2])

    def worth(new):
        return slopes @ new + np.sum(new / rates - 1 - np.log(new / rates))

    constraint = {"type": "eq", "fun": lambda new: new.sum() - rates.sum()}
    best = optimize.minimize(worth, rates, bounds=[(0.025, 6.0)] * 3, constraints=constraint)
    assert stepped_rates(rates, slopes, np.ones(3), 1.2) == pytest.approx(best.x, abs=1e-4)


def test_without_any_change_all_pages_are_polled_equally_often():
    policy = MirrorSync(generator=np.random.default_rng(3))
    policy.add([Page(n, seen_at=0.0) for n in range(10)])
    counts = np.zeros(10)
    for n in range(5000):
        (page_id,) = policy.select(float(n), 1).page_ids.tolist()
        policy.observe([Observation(page_id, float(n), Outcome.UNCHANGED)])
        counts[page_id] += 1
    # A probe more or less makes the difference: their number is binomial.
    assert np.abs(counts - 500).max() < 4 * math.sqrt(0.05 * 500)
    assert policy.state.pages["rate"][:10] == pytest.approx(MEAN_RATE / 1.05)


def test_probes_come_between_regular_polls_and_their_cost_is_the_gradient():
    policy = MirrorSync(generator=np.random.default_rng(3), probing=1.0, step=1e-9)
    policy.add([Page(0), Page(1)])
    for n, changed in enumerate([1, 0, 0, 1, 0, 1]):
        # Page 0 alone, out of turn: first copy, first cycle's end, then probe, end, probe, end.
        policy.observe([Observation(0, float(n), Outcome(changed))])
    own = policy.state.pages[0]
    rate = MEAN_RATE / 2.0
    assert own["cycles"] == 2
    assert own["gradient"] == pytest.approx(-2.0 / rate)


def mean_cost(rates, change_rates):
    """The share of time in which copies are stale."""
    waited = 1 / rates + np.exp(-change_rates / rates) / change_rates - 1 / change_rates
    return float(np.mean(rates * waited))


def test_it_learns_in_the_setting_of_the_paper():
    rng = np.random.default_rng(1)
    change_rates = rng.uniform(0.005, 5.0, 100)
    end = 2000.0
    changes = {}
    for n, rate in enumerate(change_rates):
        times = np.cumsum(rng.exponential(1 / rate, int(rate * end * 1.2 + 60)))
        changes[f"{n:03}"] = times[times < end].tolist()
    world = Replay(changes, dict.fromkeys(changes, (0.0, math.inf)), end=end)
    policy = MirrorSync(generator=np.random.default_rng(2))
    simulate(policy, world, seed=0, budget=Budget(MEAN_RATE * 100))
    before = mean_cost(np.full(100, MEAN_RATE / 1.05), change_rates)
    after = mean_cost(policy.state.pages["rate"][:100], change_rates)
    frequencies = allocate(Freshness(), change_rates, 100 * MEAN_RATE / 1.05).frequencies
    best = mean_cost(np.maximum(frequencies, 0.025), change_rates)
    assert 0.15 < (before - after) / (before - best) < 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"probing": 0.0}, "mirrorsync: probing=0.0 must be a probability"),
        ({"probing": 1.1}, "mirrorsync: probing=1.1 must be a probability"),
        ({"step": 0.0}, "mirrorsync: step=0.0 must be a finite number above 0"),
        ({"generator": 7}, "mirrorsync: generator=7 must be a numpy Generator"),
    ],
)
def test_arguments_that_cannot_be(options, message):
    with pytest.raises(InputError, match=message):
        MirrorSync(**{"generator": np.random.default_rng(1), **options})
