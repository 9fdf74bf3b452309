"""The learners of benchmarks/reachable.py, and the optimum of tiny worlds, by other means."""

import numpy as np
import pytest

from pollwise.objectives import Detection
from pollwise.simulation.worlds.zipf import Zipf


@pytest.fixture
def reachable(import_benchmark):
    return import_benchmark("reachable")


@pytest.fixture
def tiny(import_benchmark):
    return import_benchmark("reachable_tiny")


def brute_force(world, rates, tilts, polls):
    """The polls of a learner, all pages looked at by every poll."""
    beliefs = np.full((len(rates), len(rates)), 1.0 / len(rates))
    seen = np.array([page.seen_at for page in world.pages])
    counts = np.zeros(len(rates), int)
    chosen = []
    for now in range(polls):
        tilted = beliefs * tilts[np.minimum(counts, len(tilts) - 1)]
        tilted /= tilted.sum(axis=1, keepdims=True)
        index = Detection().index(rates[None, :], (now - seen)[:, None])
        page = int((tilted * index).sum(axis=1).argmax())
        times = world.changes.of_page(page)
        changed = ((times > seen[page]) & (times <= now)).any()
        unchanged = np.exp(-rates * (now - seen[page]))
        beliefs[page] *= 1.0 - unchanged if changed else unchanged
        beliefs[page] /= beliefs[page].sum()
        seen[page] = now
        counts[page] += 1
        chosen.append(page)
    return chosen


def test_pages_that_are_not_looked_at_would_not_be_polled(reachable):
    world = Zipf(pages=20, alpha=0.9, beta=1.5)
    world.reset(3, duration=401.0)
    rates = np.sort(list(world.rates.values()))[::-1]
    rule = reachable.RULES["lasting hope"]
    made = reachable.learned(world, rule, 400, None)
    assert made.page_ids.tolist() == brute_force(world, rates, rule.tilt(rates), 400)


def test_a_swap_moves_the_chance_of_a_rank_to_its_neighbours(reachable):
    drawn = np.array([0.5, 0.3, 0.2])
    moves = np.array([[0.5, 0.5, 0.0], [0.5, 0.2, 0.3], [0.0, 0.3, 0.7]])
    for rank in range(3):
        chances = np.eye(3)[rank]
        reachable.swap_ranks(chances, drawn)
        assert chances == pytest.approx(moves[rank])


def test_one_poll_of_two_pages_finds_the_mean_of_their_chances(tiny):
    rates = tiny.Tiny(2, 1.0, 0.1, 1).rates()
    expected = (-np.expm1(-1.0) - np.expm1(-0.1)) / 2
    assert tiny.optimum(rates, np.array([0.5, 0.5]), 1) == pytest.approx(expected)


def test_two_polls_of_two_pages(tiny):
    fast, slow = -np.expm1(-1.0), -np.expm1(-0.1)  # the chances of pages one second old
    fast_later, slow_later = -np.expm1(-2.0), -np.expm1(-0.2)
    expected = (fast + slow) / 2
    # What the first poll finds says how likely its page is the fast one.
    for if_fast, if_slow in ((fast, slow), (1 - fast, 1 - slow)):
        again = if_fast * fast + if_slow * slow
        other = if_fast * slow_later + if_slow * fast_later
        expected += max(again, other) / 2
    rates = tiny.Tiny(2, 1.0, 0.1, 2).rates()
    assert tiny.optimum(rates, np.array([0.5, 0.5]), 2) == pytest.approx(expected)


def test_who_knows_two_equal_pages_takes_turns(tiny):
    expected = -np.expm1(-0.3) - 4 * np.expm1(-0.6)
    assert tiny.optimum(np.full((1, 2), 0.3), np.ones(1), 5) == pytest.approx(expected)


def test_no_rule_finds_more_than_the_optimum_and_nobody_more_than_who_is_told(tiny, reachable):
    world = tiny.Tiny(2, 1.0, 0.1, 6)
    best = tiny.optimum(world.rates(), np.array([0.5, 0.5]), world.polls)
    told = tiny.optimum(world.rates()[:1], np.ones(1), world.polls)
    assert best < told
    for rule in (None, *reachable.RULES.values()):
        assert 0.9 * best < tiny.by_rule(world, rule) <= best + 1e-9
