"""The worlds of ephemeral content: what waits, what polls bring, and the index policy in them."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog

from pollwise.errors import InputError
from pollwise.simulation.worlds.ephemeral import (
    EphemeralSource,
    EphemeralWorld,
    LearningChooser,
    above,
    balanced_price,
    play_epochs,
    top,
)

FAST = EphemeralSource(rate=20.0, value=1.5, decay=0.7)
SLOW = EphemeralSource(rate=10.0, value=2.0, decay=0.2, cost=3.0)


def waited(source, epochs, epoch=1.0):
    """The mean value after so many epochs, in closed form."""
    limit = source.rate * source.value / source.decay
    return limit * -math.expm1(-source.decay * epochs * epoch)


def test_what_waits_in_the_fluid_world():
    world = EphemeralWorld([FAST, SLOW], epoch=2.0, random=False)
    for n in range(6):
        expected = [waited(each, n, epoch=2.0) for each in (FAST, SLOW)]
        assert world.waiting == pytest.approx(expected)
        world.advance()
    assert world.now == 12.0


def test_what_waits_in_the_random_world_is_that_on_average():
    world = EphemeralWorld([FAST, SLOW])
    seen = []
    for seed in range(400):
        world.reset(seed)
        for _ in range(3):
            world.advance()
        seen.append(world.waiting)
    mean, error = np.mean(seen, axis=0), np.std(seen, axis=0) / math.sqrt(len(seen))
    assert (np.abs(mean - [waited(FAST, 3), waited(SLOW, 3)]) < 4 * error).all()


@pytest.mark.parametrize("aged", [True, False])
def test_a_poll_brings_what_waits_once(aged):
    world = EphemeralWorld([FAST, SLOW], aged=aged)
    world.advance()
    world.advance()
    waiting = world.waiting
    (first,) = world.poll([1])
    assert sum(item.value for item in first.items) == pytest.approx(waiting[1])
    assert first.n_items == len(first.items)
    assert first.cost == 3.0
    ages = [item.published_at for item in first.items]
    assert all(0.0 <= age <= 2.0 for age in ages) if aged else set(ages) == {None}
    (again,) = world.poll([1])
    assert again.items == ()
    assert world.waiting.tolist() == [waiting[0], 0.0]


def test_the_same_seed_brings_the_same_items_whatever_is_polled():
    world = EphemeralWorld([FAST, SLOW])
    one = play_epochs(world, top(world, 1), epochs=20, seed=5, observed=())
    both = play_epochs(world, top(world, 2), epochs=20, seed=5)
    again = play_epochs(world, top(world, 2), epochs=20, seed=5)
    assert (both.waiting == again.waiting).all()
    polled_too = one.polled[:-1, 0] & both.polled[:-1, 0]
    assert one.waiting[1:, 0][polled_too] == pytest.approx(both.waiting[1:, 0][polled_too])


def test_source_costs_count_in_the_index():
    """With ten times the cost a source is worth a tenth, and polled less often."""
    cheap = EphemeralSource(10.0, 1.0, 0.3)
    dear = EphemeralSource(10.0, 1.0, 0.3, cost=10.0)
    world = EphemeralWorld([cheap, dear], random=False)
    shares = play_epochs(world, top(world, 1), epochs=300, seed=0).frequencies
    assert shares[0] > 1.5 * shares[1]


def four(costs, rate=250.0):
    """Four unlike sources, with these costs."""
    kinds = (1.0, 0.7), (0.7, 0.35), (0.2, 0.7), (0.08, 0.21)
    return [EphemeralSource(rate, *kind, cost) for kind, cost in zip(kinds, costs, strict=True)]


def most(sources, budget, longest=150):
    """The largest mean reward of an epoch in the fluid world that meets the budget on average.

    A linear program over the shares of cycles: source i has f_in cycles of n epochs in an epoch,
    with Σ_n n f_in <= 1 for each source and Σ C_i f_in = M.
    """
    lengths = np.arange(1.0, longest + 1)
    cycles = np.concatenate([[waited(source, n) for n in lengths] for source in sources])
    time = np.kron(np.eye(len(sources)), lengths)
    costs = np.repeat([source.cost for source in sources], longest)
    best = linprog(-cycles, A_ub=time, b_ub=np.ones(len(sources)), A_eq=[costs], b_eq=[budget])
    assert best.success
    return -best.fun


COSTS = [(1, 1, 1, 1), (2, 1, 0.5, 0.25), (1, 2, 3, 0.5), (0.3, 0.7, 1.1, 1.9)]
by_costs = pytest.mark.parametrize("costs", COSTS, ids=str)
by_policy = pytest.mark.parametrize(("policy", "loss"), [(top, 0.03), (above, 0.003)])


@by_costs
@by_policy
@pytest.mark.parametrize("budget", [0.5, 1.0, 2.0])
def test_the_budget_is_met_and_little_is_lost(policy, loss, budget, costs):
    """In the fluid world, against what a linear program finds to be best."""
    world = EphemeralWorld(four(costs), random=False)
    play = play_epochs(world, policy(world, budget), epochs=1000, seed=0)
    assert play.frequencies @ costs == pytest.approx(budget, rel=0.06)
    spent = (play.polled[200:] @ costs).mean()
    assert spent == pytest.approx(budget, abs=max(costs) / 800 + 1e-9)
    reward = play.rewards[200:].mean()
    assert 1 - loss < reward / most(world.sources, spent) < 1.002


@by_costs
@by_policy
def test_the_budget_is_met_at_random_too(policy, loss, costs):
    """Who sees what waits gains as much as is possible in the fluid world, or more."""
    world = EphemeralWorld(four(costs, rate=30.0))
    play = play_epochs(world, policy(world, 1.0), epochs=500, seed=0)
    assert (play.polled[100:] @ costs).mean() == pytest.approx(1.0, abs=0.02)
    rewards = play.rewards[100:]
    error = rewards.std() / math.sqrt(len(rewards))
    assert rewards.mean() + 3 * error > (1 - loss) * most(world.sources, 1.0)


@pytest.mark.parametrize("budget", [0.25, 1.3, 3.0])
@pytest.mark.parametrize("random", [False, True])
def test_the_top_sources_never_cost_more_than_was_granted(budget, random):
    costs = np.array(COSTS[1])
    world = EphemeralWorld(four(costs), random=random)
    play = play_epochs(world, top(world, budget), epochs=200, seed=3)
    kept = budget * np.arange(1, 201) - np.cumsum(play.polled @ costs)
    assert (kept > -1e-6).all()
    assert (kept < costs.max()).all()


def test_with_equal_costs_a_whole_budget_is_spent_in_every_epoch():
    world = EphemeralWorld(four((1, 1, 1, 1)))
    for budget in (1, 2, 3, 4):
        play = play_epochs(world, top(world, budget), epochs=50, seed=1)
        assert (play.polled.sum(axis=1) == budget).all()


def test_a_policy_can_be_played_again():
    """It keeps nothing from one play to the next."""
    world = EphemeralWorld(four(COSTS[1]))
    for choose in (top(world, 0.7), above(world, 0.7)):
        one, other = (play_epochs(world, choose, epochs=30, seed=2) for _ in range(2))
        assert (one.polled == other.polled).all()


@by_costs
@pytest.mark.parametrize("budget", [0.01, 0.4, 1.0, 2.5])
def test_the_balanced_price_is_the_multiplier_of_the_budget(budget, costs):
    """By duality: M λ + Σ_i max_n (x_n - λ C_i)/n is least at this λ, and is then the optimum."""
    sources = four(costs)

    def dual(price):
        profits = [
            max(0.0, *((waited(each, n) - price * each.cost) / n for n in range(1, 400)))
            for each in sources
        ]
        return budget * price + sum(profits)

    price = balanced_price(EphemeralWorld(sources), budget)
    assert dual(price) <= min(dual(0.99 * price), dual(1.01 * price))
    assert dual(price) == pytest.approx(most(sources, budget, longest=400), rel=1e-3)


def test_a_budget_that_pays_for_every_source_always():
    world = EphemeralWorld([FAST, SLOW], random=False)
    for policy in (top, above):
        assert play_epochs(world, policy(world, 4.0), epochs=20, seed=0).polled[1:].all()


def test_observed_states_are_worth_something():
    """In the random world, who sees what waits does at least as well."""
    world = EphemeralWorld([EphemeralSource(0.3, 1.0, 0.1) for _ in range(4)])
    told = play_epochs(world, top(world, 1), epochs=1000, seed=1).rewards.mean()
    blind = play_epochs(world, top(world, 1), epochs=1000, seed=1, observed=()).rewards.mean()
    mixed = play_epochs(world, top(world, 1), epochs=1000, seed=1, observed=(0, 1)).rewards.mean()
    assert told > 1.1 * blind
    assert told > mixed > blind


class Recorder:
    """A policy that polls the first source and remembers what it was told."""

    def __init__(self):
        self.told = []

    def add(self, pages):
        self.pages = pages

    def select(self, now, limit):
        from pollwise.types import Selection

        return Selection(np.array([0]))

    def observe(self, observations):
        self.told += observations


def test_a_learner_is_told_what_its_polls_brought():
    world = EphemeralWorld([FAST, SLOW])
    policy = Recorder()
    play_epochs(world, LearningChooser(world, policy, 1), epochs=3, seed=0, observed=())
    assert [page.cost for page in policy.pages] == [1.0, 3.0]
    assert [seen.polled_at for seen in policy.told] == [0.0, 1.0, 2.0]
    assert {seen.page_id for seen in policy.told} == {0}


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (lambda: EphemeralSource(0.0, 1.0, 1.0), "rate=0.0"),
        (lambda: EphemeralSource(1.0, math.inf, 1.0), "value=inf"),
        (lambda: EphemeralSource(1.0, 1.0, math.nan), "decay=nan"),
        (lambda: EphemeralSource(1.0, 1.0, 1.0, cost=-1.0), "cost=-1.0"),
        (lambda: EphemeralWorld([]), "no sources"),
        (lambda: EphemeralWorld([FAST], epoch=0.0), "epoch=0.0"),
        (lambda: top(EphemeralWorld([FAST, SLOW]), 5), "budget=5 .* at most 4 cost units"),
        (lambda: above(EphemeralWorld([FAST]), math.nan), "budget=nan"),
        (lambda: balanced_price(EphemeralWorld([FAST]), 0.0), "budget=0.0"),
    ],
)
def test_bad_parameters_are_named(make, fault):
    with pytest.raises(InputError, match=fault):
        make()
