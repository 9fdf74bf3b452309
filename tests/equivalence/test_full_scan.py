"""The queue finds as much as a loop that looks at every page before every poll."""

import numpy as np
import pytest

from pollwise.kernel_cache import kernel
from pollwise.metrics import Polls
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.policies.index.belief import refresh_belief
from pollwise.policies.index.page_index import index_of
from pollwise.policies.index.policy import IndexPolicy
from pollwise.policies.index.state import POOL
from pollwise.policies.index.whittle import Whittle
from pollwise.simulation.loop import simulate
from pollwise.simulation.scores.summary import mean_of, zipf_figures
from pollwise.simulation.worlds.zipf import Zipf
from pollwise.types import Observation, Outcome

POLLS = 20_000


@kernel
def largest_index(state, now, count):
    """The page of the largest index among the first `count`."""
    best, largest = -1, -1.0
    for page in range(count):
        refresh_belief(state, page)
        index = index_of(state.pages, state.shared, page, now)
        if index > largest:
            best, largest = page, index
    return best


def poll_by_scan(policy: IndexPolicy, world: Zipf, seed: int) -> Polls:
    """What `simulate` does, with a full scan in place of the queue and the same learning."""
    world.reset(seed, duration=POLLS + 1.0)
    policy.add(world.pages)
    state, changes = policy.state, world.changes
    # Observed in a place from which it need not be moved, a page is nowhere else.
    state.pages["where"][: len(world.pages)] = POOL
    state.pages["place"][: len(world.pages)] = 0
    state.shared["gap"] = 1.0
    seen = [page.seen_at for page in world.pages]
    page_ids = np.empty(POLLS, np.int64)
    for step in range(POLLS):
        now = float(step)
        page = largest_index(state, now, len(seen))
        count = np.searchsorted(changes.of_page(page), (seen[page], now), "right")
        policy.observe([Observation(page, now, Outcome(int(count[1] > count[0])))])
        seen[page] = now
        page_ids[step] = page
    return Polls(page_ids, np.arange(POLLS, dtype=float))


@pytest.mark.parametrize(("name", "seeds"), [("whittle", 1), ("bayes-index", 3)])
@pytest.mark.parametrize(("alpha", "beta"), [(0.9, 1.5), (0.3, 1.5), (0.3, 1.0)])
def test_the_queue_finds_as_much_as_a_full_scan(name, seeds, alpha, beta):
    """Within 0.5 % of the expected detections a poll over the last fifth of the polls."""
    world = Zipf(pages=500, alpha=alpha, beta=beta)
    shares = []
    for seed in range(seeds):
        world.reset(seed, duration=POLLS + 1.0)
        found = []
        for scan in (False, True):
            policy = Whittle(rates=world.rates) if name == "whittle" else BayesianIndex()
            if scan:
                done = poll_by_scan(policy, world, seed)
            else:
                done = simulate(policy, world, polls=POLLS, seed=seed)
            found.append(zipf_figures(world, done)[POLLS]["tail_found_per_poll"])
        shares.append(found[0] / found[1])
    assert mean_of(shares).value >= 0.995, shares
