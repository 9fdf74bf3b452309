"""What H-TRAA learns: where its automata rest, and how soon, against theory and known figures."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special

from pollwise.kernel_cache import kernel
from pollwise.policies.arrays import blank_observation, write_observation
from pollwise.policies.automata.htraa import HTRAA, Update
from pollwise.policies.automata.htraa_kernels import (
    amount_htraa,
    observe_htraa,
    select_htraa,
)
from pollwise.policies.automata.share_tree import HTRAAState
from pollwise.types import Observation, Outcome, Page

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

UPDATES: list[Update] = ["reward-inaction", "inaction-penalty", "reward-penalty"]
every_update = pytest.mark.parametrize("update", UPDATES)

TWO_PAGES = np.array([0.3, 0.7])


def make(pages: int, seed: int, **options: Any) -> HTRAA:
    policy = HTRAA(generator=np.random.default_rng(seed), **options)
    policy.add([Page(page_id, seen_at=-1.0) for page_id in range(pages)])
    return policy


def ranked(pages: int, alpha: float, beta: float) -> Floats:
    """The probability of no change in a step, by rank."""
    return 1.0 - alpha / np.arange(1, pages + 1) ** beta


def optimum(unchanged: Floats) -> Floats:
    hazards = -np.log(unchanged)
    return hazards / hazards.sum()


def found_per_poll(amounts: Floats, unchanged: Floats) -> float:
    return float(amounts @ (1.0 - unchanged ** (1.0 / amounts)))


@kernel
def poll(
    state: HTRAAState,
    observations: np.ndarray,
    unchanged: Floats,
    rng: np.random.Generator,
    begin: int,
    end: int,
    polled: Counts,
    states: Counts,
) -> int:
    """Polls that pay by the amounts offered; gives the reward.

    `polled` is filled with the pages, and `states` with the numbers of visits of the root's states.
    """
    reward = 0
    for n in range(begin, end):
        page = select_htraa(state, float(n))
        changed = rng.random() < 1.0 - unchanged[page] ** (1.0 / amount_htraa(state, page))
        write_observation(observations[0], page, float(n), 1 if changed else 0)
        observe_htraa(state, observations[0])
        reward += changed
        polled[n - begin] = page
        states[state.nodes[1].state] += 1
    return reward


def run(policy: HTRAA, unchanged: Floats, seed: int, *ends: int) -> list[tuple[int, Floats]]:
    """Reward so far and amounts after so many polls."""
    rng, begin, reward, results = np.random.default_rng(seed), 0, 0, []
    blank = blank_observation()
    for end in ends:
        polled, states = np.empty(end - begin, np.int64), np.zeros(10**4, np.int64)
        reward += poll(policy.state, blank, unchanged, rng, begin, end, polled, states)
        results.append((reward, policy.amounts()))
        begin = end
    return results


def stationary(resolution: int, unchanged: Floats, update: Update) -> Floats:
    """The distribution of the states 1..N of one automaton over a pair of pages, in closed form.

    A chain of births and deaths is in balance across each pair of neighbours:
    π(s + 1) down(s + 1) = π(s) up(s).
    """
    r = np.arange(1, resolution + 1) / (resolution + 1)
    fails = np.maximum(unchanged[:, None] ** (1.0 / np.stack([r, 1.0 - r])), 1e-300)
    on_reward = 0.0 if update == "inaction-penalty" else 1.0
    on_penalty = 0.0 if update == "reward-inaction" else 1.0
    # Polled with probability r, moved with 1 - r, or the other way round.
    up = r * (1.0 - r) * (on_reward * (1.0 - fails[0]) + on_penalty * fails[1])
    down = r * (1.0 - r) * (on_reward * (1.0 - fails[1]) + on_penalty * fails[0])
    weights = np.concatenate([[0.0], np.cumsum(np.log(up[:-1]) - np.log(down[1:]))])
    return special.softmax(weights)


@every_update
def test_one_automaton_visits_its_states_as_the_chain_of_births_and_deaths(update):
    policy = make(2, 1, resolution=8, update=update, schedule="random")
    polls, states = 400_000, np.zeros(10, np.int64)
    rng, polled = np.random.default_rng(2), np.empty(polls, int)
    poll(policy.state, blank_observation(), TWO_PAGES, rng, 0, polls, polled, states)
    expected = stationary(8, TWO_PAGES, update)
    assert np.abs(states[1:9] / polls - expected).sum() < 0.02
    assert states[[0, 9]].sum() == 0


@every_update
def test_the_finer_the_automaton_the_nearer_to_the_optimum(update):
    best = optimum(TWO_PAGES)[0]
    errors, deviations = [], []
    for resolution in (10, 30, 100, 300, 1000, 3000):
        r = np.arange(1, resolution + 1) / (resolution + 1)
        shares = stationary(resolution, TWO_PAGES, update)
        errors.append(abs(float(shares @ r) - best))
        deviations.append(math.sqrt(float(shares @ (r - best) ** 2)))
    assert np.all(np.diff(deviations) < 0)
    assert errors[-1] < 0.001
    assert deviations[-1] < 0.02


@kernel
def drift(
    state: HTRAAState, observations: np.ndarray, pays: Floats, rng: np.random.Generator, polls: int
) -> float:
    """The mean move of the root per poll, from where it is, with rewards of fixed probability."""
    begin, moved = state.nodes[1].state, 0
    for n in range(polls):
        page = select_htraa(state, float(n))
        outcome = 1 if rng.random() < pays[page] else 0
        write_observation(observations[0], page, float(n), outcome)
        observe_htraa(state, observations[0])
        moved += state.nodes[1].state - begin
        state.nodes[1].state = begin
    return moved / polls


@every_update
@pytest.mark.parametrize("schedule", ["deadline", "random"])
@pytest.mark.parametrize("pays", [(0.4, 0.4), (0.6, 0.2), (0.1, 0.9)])
@pytest.mark.parametrize("begin", [1, 5, 9])
def test_an_automaton_moves_to_the_part_that_pays_more(update, schedule, pays, begin):
    policy = make(2, 3, resolution=11, update=update, schedule=schedule)
    policy.state.nodes["state"][1] = begin
    polls, r = 200_000, begin / 12
    rules = 2 if update == "reward-penalty" else 1
    # At the lowest state there is no way down.
    down = (pays[1] if update != "inaction-penalty" else 0.0) + (
        1.0 - pays[0] if update != "reward-inaction" else 0.0
    )
    expected = r * (1 - r) * (rules * (pays[0] - pays[1]) + (down if begin == 1 else 0.0))
    rng = np.random.default_rng(4)
    moved = drift(policy.state, blank_observation(), np.array(pays), rng, polls)
    assert moved == pytest.approx(expected, abs=4.0 / math.sqrt(polls))


@pytest.mark.parametrize("pages", [3, 7])
@every_update
def test_a_tree_ends_at_the_optimum(pages, update):
    unchanged = ranked(pages, 0.9, 1.0)[::-1].copy()
    policy = make(pages, 5, resolution=2000, update=update)
    results = run(policy, unchanged, 6, *range(200_000, 2_000_000, 10_000))
    mean = np.mean([amounts for _, amounts in results], axis=0)
    assert mean == pytest.approx(optimum(unchanged), rel=0.1)


def test_500_pages_learn_as_fast_as_they_are_known_to():
    unchanged = ranked(500, 0.9, 1.5)
    assert found_per_poll(optimum(unchanged), unchanged) == pytest.approx(0.9770, abs=1e-4)
    ends = (1000, 10_000, 50_000, 100_000)
    found = [
        [found_per_poll(amounts, unchanged) for _, amounts in run(policy, unchanged, seed, *ends)]
        for seed in range(20)
        for policy in [make(500, seed, resolution=500)]
    ]
    assert np.mean(found, axis=0) == pytest.approx([0.39, 0.94, 0.965, 0.970], abs=0.015)


@pytest.mark.parametrize(
    ("alpha", "beta", "known"), [(0.3, 1.0, 575), (0.6, 1.0, 830), (0.9, 1.5, 865)]
)
def test_8_pages_pay_in_1000_polls_what_they_are_known_to(alpha, beta, known):
    unchanged = ranked(8, alpha, beta)
    rewards = [
        run(make(8, seed, resolution=110), unchanged, 1000 + seed, 1000)[0][0]
        for seed in range(300)
    ]
    assert np.mean(rewards) == pytest.approx(known, rel=0.01)


@pytest.mark.parametrize("schedule", ["deadline", "random"])
def test_compiled_and_called_it_polls_the_same(schedule):
    unchanged = ranked(37, 0.9, 1.5)
    compiled, called = (make(37, 8, resolution=50, schedule=schedule) for _ in range(2))
    polled, rng = np.empty(2000, np.int64), np.random.default_rng(9)
    states = np.zeros(100, np.int64)
    poll(compiled.state, blank_observation(), unchanged, rng, 0, 2000, polled, states)
    rng = np.random.default_rng(9)
    for n, expected in enumerate(polled.tolist()):
        assert called.select(float(n), 1).page_ids.tolist() == [expected]
        amount = called.amounts()[expected]
        outcome = Outcome(int(rng.random() < 1.0 - unchanged[expected] ** (1.0 / amount)))
        called.observe([Observation(expected, float(n), outcome)])
    assert called.amounts().tolist() == compiled.amounts().tolist()


@kernel
def found_with_fixed_deadlines(
    state: HTRAAState,
    observations: np.ndarray,
    unchanged: Floats,
    rng: np.random.Generator,
    deadlines: Floats,
    polls: int,
) -> int:
    """Changes found in the last tenth of polls of pages that change whether polled or not.

    The page of the earliest deadline is polled, which is then set to 1/x polls from now, for good.
    """
    found, latest = 0, np.zeros(len(unchanged))
    for n in range(1, polls + 1):
        page = np.argmin(deadlines)
        changed = rng.random() < 1.0 - unchanged[page] ** (n - latest[page])
        write_observation(observations[0], page, float(n), 1 if changed else 0)
        observe_htraa(state, observations[0])
        latest[page] = n
        deadlines[page] = n + 1.0 / amount_htraa(state, page)
        found += changed and n > 0.9 * polls
    return found


@kernel
def found_with_current_deadlines(
    state: HTRAAState,
    observations: np.ndarray,
    unchanged: Floats,
    rng: np.random.Generator,
    polls: int,
) -> int:
    """The same with the policy's own deadlines."""
    found, latest = 0, np.zeros(len(unchanged))
    for n in range(1, polls + 1):
        page = select_htraa(state, float(n))
        changed = rng.random() < 1.0 - unchanged[page] ** (n - latest[page])
        write_observation(observations[0], page, float(n), 1 if changed else 0)
        observe_htraa(state, observations[0])
        latest[page] = n
        found += changed and n > 0.9 * polls
    return found


def test_fixed_deadlines_starve_pages_where_only_penalties_move():
    unchanged, polls = ranked(500, 0.9, 1.5), 150_000
    policies = [make(500, 1, update="inaction-penalty") for _ in range(2)]
    deadlines = 500.0 * np.random.default_rng(3).random(500)
    rng = np.random.default_rng(5)
    blank = blank_observation()
    starved = found_with_fixed_deadlines(policies[0].state, blank, unchanged, rng, deadlines, polls)
    fed = found_with_current_deadlines(policies[1].state, blank, unchanged, rng, polls)
    assert starved < 0.1 * (polls / 10)
    assert fed > 0.9 * (polls / 10)
