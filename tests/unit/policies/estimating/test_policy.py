"""Rates are estimated in epochs, and polls follow the allocation for them."""

import math

import numpy as np
import pytest

from pollwise.errors import InputError
from pollwise.knapsack import allocate
from pollwise.objectives import Delay, Detection, Freshness
from pollwise.policies.estimating.cho import ChoMLE, ChoNaive
from pollwise.policies.estimating.lambdacrawl import Harmonic, KnownLambdaCrawl, LambdaCrawl
from pollwise.policies.estimating.policy import ReallocatingPolicy
from pollwise.simulation.loop import simulate
from pollwise.simulation.worlds.zipf import Zipf
from pollwise.types import Observation, Outcome, Page

DAY = 86400.0


def run(policy: ReallocatingPolicy, polls: int, every: float, changed) -> list[int]:
    """Poll one page at a time; the ids in order."""
    given = []
    for n in range(polls):
        now = n * every
        (page_id,) = policy.select(now, 1).page_ids.tolist()
        policy.observe([Observation(page_id, now, Outcome(int(changed(page_id, now))))])
        given.append(page_id)
    return given


def with_pages(policy: ReallocatingPolicy, count: int, **values: list[float]):
    pages = [Page(n, **{name: own[n] for name, own in values.items()}) for n in range(count)]
    policy.add(pages)
    return policy


@pytest.mark.parametrize("make", [ChoNaive, ChoMLE, LambdaCrawl])
def test_at_first_all_pages_are_polled_equally_often(make):
    policy = with_pages(make(), 10)
    assert run(policy, 10, 60.0, lambda page_id, now: page_id == 3) == list(range(10))


@pytest.mark.parametrize("objective", [Freshness(), Detection(), Delay()])
@pytest.mark.parametrize("exploration", [0.0, 0.25])
def test_frequencies_are_the_best_for_the_estimates(objective, exploration):
    weights, costs = [1.0, 3.0, 1.0, 1.0, 2.0] * 2, [1.0, 1.0, 2.0, 1.0, 1.0] * 2
    policy = ChoMLE(objective=objective, exploration=exploration)
    with_pages(policy, 10, weight=weights, cost=costs)
    rng = np.random.default_rng(2)
    run(policy, 31, 3600.0, lambda page_id, now: rng.random() < 0.1 * page_id)
    rates = policy.rates()[:10]
    assert (rates > 0.0).all()
    frequencies = 1.0 / policy.state.deadlines.pages["interval"][:10]
    spent = float(frequencies @ costs)
    best = allocate(objective, rates, spent, weights, costs).frequencies
    expected = exploration * spent / sum(costs) + (1.0 - exploration) * best
    assert frequencies == pytest.approx(expected, rel=1e-3)


def test_the_naive_rate_is_changes_by_time():
    policy = with_pages(ChoNaive(), 8)
    run(policy, 8 * 6 + 1, 10.0, lambda page_id, now: page_id == 5 and now > 200.0)
    state = policy.state.pages[5]
    assert state["changes"] > 0
    assert policy.rates()[5] <= state["changes"] / 80.0
    still = policy.state.pages[1]
    assert policy.rates()[1] == pytest.approx(0.5 / still["waited"], rel=0.5)


def test_lambdacrawl_smooths_with_half_a_day_of_each_kind():
    policy = with_pages(LambdaCrawl(), 8)
    run(policy, 17, DAY / 8, lambda page_id, now: False)
    # In a half day a change, and none in it and in all the days watched.
    days = policy.state.pages["waited"][:8] / DAY
    assert policy.rates()[:8] * DAY == pytest.approx(2.0 * np.log(1.0 + 0.5 / (0.5 + days)))


def test_lambdacrawl_counts_changes_whose_times_are_told():
    policy = with_pages(LambdaCrawl(), 8)
    for n in range(17):
        now = n * DAY / 8
        (page_id,) = policy.select(now, 1).page_ids.tolist()
        told = Observation(page_id, now, Outcome.CHANGED, last_changed_at=now - DAY / 4)
        policy.observe([told])
    changes = policy.state.pages["exact"][:8]
    assert (changes > 0).all()
    assert policy.rates()[:8] * DAY == pytest.approx((changes + 0.5) / (changes / 4 + 0.5))


@pytest.mark.parametrize(("exploration", "share"), [(0.0, 0.0), (0.2, 0.2 / 8)])
def test_a_page_too_fast_for_freshness_is_left_but_for_exploration(exploration, share):
    policy = with_pages(ChoMLE(exploration=exploration), 8)
    rng = np.random.default_rng(4)
    given = []
    for n in range(4000):
        now = 60.0 * n
        (page_id,) = policy.select(now, 1).page_ids.tolist()
        changed = page_id == 0 or rng.random() < 0.4
        told = now - 1.0 if page_id == 0 else None
        policy.observe([Observation(page_id, now, Outcome(int(changed)), last_changed_at=told)])
        given.append(page_id)
    assert given[2000:].count(0) / 2000 == pytest.approx(share, abs=0.002)


def test_new_pages_are_polled_as_often_as_all_on_average():
    policy = with_pages(ChoMLE(), 8)
    run(policy, 200, 60.0, lambda page_id, now: page_id < 4)
    policy.add([Page(20, seen_at=12000.0)])
    interval = policy.state.deadlines.pages["interval"][20]
    assert interval == pytest.approx(8 * 60.0)


def test_learners_come_near_to_known_rates():
    world = Zipf(pages=100, alpha=0.9, beta=1.0)
    shares = []
    for policy in (ChoMLE(objective=Detection()), ChoNaive(objective=Detection())):
        polls = simulate(policy, world, polls=20_000, seed=1)
        counts = np.bincount(polls.page_ids[10_000:], minlength=100)
        rates = np.array([world.rates[n] for n in range(100)])
        best = allocate(Detection(), rates, 1.0).frequencies * 10_000
        shares.append(np.minimum(counts, best).sum() / 10_000)
    assert shares[0] > 0.85
    assert shares[0] > shares[1]


def test_harmonic_staleness():
    objective = Harmonic()
    elapsed = np.array([0.0, 0.5, 3.0, 1e6])
    assert objective.gain(2.0, elapsed, 3.0) == pytest.approx(
        3.0 * elapsed * np.log1p(2.0 * elapsed)
    )
    index = objective.index(2.0, elapsed, 3.0, 0.5)
    assert objective.due(index, 2.0, 3.0, 0.5) == pytest.approx(elapsed)
    # The index is τA′ - A.
    step = 1e-6
    slope = (objective.gain(2.0, 3.0 + step) - objective.gain(2.0, 3.0 - step)) / (2 * step)
    assert objective.index(2.0, 3.0) == pytest.approx(3.0 * slope - objective.gain(2.0, 3.0))


def test_known_lambdacrawl_meets_the_budget_at_its_formula():
    rates = {0: 0.5, 1: 2.0, 2: 0.01}
    policy = KnownLambdaCrawl(rates=rates, budget=1.5)
    policy.add([Page(n, seen_at=0.0, weight=1.0 + n) for n in rates])
    got = 1.0 / policy.state.pages["interval"][:3]
    best = allocate(Harmonic(), list(rates.values()), 1.5, [1.0, 2.0, 3.0])
    assert got == pytest.approx(best.frequencies)
    known = np.array(list(rates.values()))
    formula = (-known + np.sqrt(known**2 + 4 * np.array([1, 2, 3]) * known / best.price)) / 2
    assert got == pytest.approx(formula)


@pytest.mark.parametrize("exploration", [-0.1, 1.5, math.nan, "x"])
def test_an_exploration_that_cannot_be(exploration):
    with pytest.raises(InputError, match="cho-mle: exploration="):
        ChoMLE(exploration=exploration)
