"""Which page comes next, for people: it changes nothing, and comes true if nothing happens."""

import numpy as np

from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.types import Observation, Outcome, Page

PAGES = 20


def polled(policy: BayesianIndex, polls: int) -> float:
    """The policy after so many polls, a minute apart; the time of the next."""
    rng = np.random.default_rng(1)
    now = 0.0
    for _ in range(polls):
        now += 60.0
        [page_id] = policy.select(now, 1).page_ids
        outcome = Outcome.CHANGED if rng.random() < 0.3 else Outcome.UNCHANGED
        policy.observe([Observation(int(page_id), now, outcome)])
    return now + 60.0


def test_without_pages_nothing_comes_next():
    assert BayesianIndex().likely_next(0.0) is None


def test_a_page_under_way_does_not_come_next():
    policy = BayesianIndex()
    policy.add([Page(0)])
    assert policy.likely_next(1.0) == 0
    policy.select(1.0, 1)
    assert policy.likely_next(1.0) is None


def test_it_changes_nothing_and_mostly_comes_true():
    true = 0
    for polls in range(0, 200, 4):
        policy = BayesianIndex()
        policy.add([Page(i, f"http://{i}/", f"{i % 3}") for i in range(PAGES)])
        now = polled(policy, polls)
        before = [array.tobytes() for array in policy.state]
        likely = policy.likely_next(now)
        assert [array.tobytes() for array in policy.state] == before
        assert likely is not None
        true += likely == policy.select(now, 1).page_ids[0]
    assert true >= 40
