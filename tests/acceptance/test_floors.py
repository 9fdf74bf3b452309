"""How close the learner comes to the index policy that is told all rates: floors not to fall below.

Shares of the expected detections a poll over the last fifth of the polls, in paired worlds of 500
pages, means over seeds.
"""

import pytest

from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.policies.index.whittle import Whittle
from pollwise.simulation.loop import simulate
from pollwise.simulation.scores.summary import mean_of, zipf_figures
from pollwise.simulation.worlds.zipf import Zipf

SEEDS = range(5)
LONG_RUN = 50_000


@pytest.mark.parametrize(
    ("alpha", "beta", "floors"),
    [
        (0.9, 1.5, {2_000: 0.96, 10_000: 0.98, LONG_RUN: 0.992}),
        (0.3, 1.5, {2_000: 0.92, 10_000: 0.985, LONG_RUN: 0.992}),
        (0.3, 1.0, {2_000: 0.92, 10_000: 0.975, LONG_RUN: 0.992}),
    ],
)
def test_the_learner_comes_close_to_who_is_told_the_rates(alpha, beta, floors):
    world = Zipf(pages=500, alpha=alpha, beta=beta)
    shares: dict[int, list[float]] = {polls: [] for polls in floors}
    for seed in SEEDS:
        learned = zipf_figures(world, simulate(BayesianIndex(), world, polls=LONG_RUN, seed=seed))
        told = Whittle(rates=world.rates)
        known = zipf_figures(world, simulate(told, world, polls=LONG_RUN, seed=seed))
        for polls, values in shares.items():
            name = "tail_found_per_poll"
            values.append(learned[polls][name] / known[polls][name])
    for polls, floor in floors.items():
        assert mean_of(shares[polls]).value >= floor, (polls, mean_of(shares[polls]))


def test_the_learner_follows_ranks_that_swap():
    """Two ranks swap every 1000 polls: what it finds, of what anybody could."""
    world = Zipf(pages=500, alpha=0.9, beta=1.5, swap_every=1000)
    found = []
    for seed in range(3):
        polls = simulate(BayesianIndex(), world, polls=100_000, seed=seed)
        found.append(zipf_figures(world, polls)[100_000]["of_ideal"])
    assert mean_of(found).value >= 0.92, mean_of(found)
