"""The worlds of ephemeral content: what waits, what polls bring, and the index policy in them."""

import math

import numpy as np
import pytest

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


def test_above_a_price_each_source_has_its_own_best_cycle():
    """No other cycle length gains more, at this price, of reward less cost per epoch."""
    world = EphemeralWorld([FAST, SLOW], random=False)
    for price in (1.0, 5.0, 12.0):
        play = play_epochs(world, above(world, price), epochs=400, seed=0)
        for i, source in enumerate((FAST, SLOW)):
            profits = {n: (waited(source, n) - price * source.cost) / n for n in range(1, 60)} | {
                math.inf: 0.0
            }
            share = play.frequencies[i]
            cycle = max(profits, key=profits.get)
            assert share == pytest.approx(0.0 if cycle == math.inf else 1 / cycle, abs=0.02)


@pytest.mark.parametrize("budget", [0.4, 1.0, 2.0, 4.0])
def test_the_balanced_price_keeps_to_the_budget_on_average(budget):
    world = EphemeralWorld([FAST, SLOW], random=False)
    costs = np.array([1.0, 3.0])

    def spent(price):
        return float(
            play_epochs(world, above(world, price), epochs=1000, seed=0).frequencies @ costs
        )

    price = balanced_price(world, budget)
    assert spent(price) <= budget + 0.01
    if budget < 4.0:
        assert spent(price * (1 - 1e-9) - 1e-9) > 0.0
        assert spent(price * 0.8) >= spent(price)


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
        (lambda: top(EphemeralWorld([FAST]), 2), "polls=2 of 1 sources"),
        (lambda: balanced_price(EphemeralWorld([FAST]), 0.0), "budget=0.0"),
    ],
)
def test_bad_parameters_are_named(make, fault):
    with pytest.raises(InputError, match=fault):
        make()
