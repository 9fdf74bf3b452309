"""Indices that are kept are those that would be worked out now, whatever has happened."""

import math

import numpy as np
import pytest

from pollwise.kernel_cache import kernel
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.policies.index.belief import form_belief
from pollwise.policies.index.page_index import shortest_round
from pollwise.policies.index.pool import bid_of, pool_bid
from pollwise.types import Observation, Outcome, Page
from pollwise.units import DAY

PAGES = 200
STEPS = 1_500
LITTLE = 0.1
"""What others may have taught since about a page that was not polled."""


@kernel
def largest_difference(state, now, order, anew_first):
    """Between the bids of the pool and those worked out now, as a share; how many were kept, and
    how many of pages that had only aged; and the largest part of a belief of the pool that would be
    at other rates by now.
    """
    common, worst, kept, aged, moved = state.shared[0], 0.0, 0, 0, 0.0
    patience = common.patience * shortest_round(state.shared)
    for spot in order[order < common.pool_size]:
        own, one = state.pages[common.pool[spot]], common.kept[spot]
        is_kept = one.since <= now < one.until
        only_ages = one.only_ages and one.round == common.round and not is_kept
        anew = bid_of(state, common.pool[spot], now) if anew_first[spot] else 0.0
        bid = pool_bid(state, spot, now, patience)
        if not anew_first[spot]:
            anew = bid_of(state, common.pool[spot], now)
        kept += is_kept
        aged += only_ages
        # Of a dated page what the clocks of others say now counts from its next look on.
        if bid != anew and not (is_kept and own.dates > 0 and common.late):
            worst = max(worst, abs(bid - anew) / max(abs(bid), abs(anew)))
        if common.kept[spot].round == common.round:
            form_belief(state, common.pool[spot])
            apart = np.abs(common.belief - common.kept[spot].belief).sum() / 2.0
            moved = max(moved, apart)
    return worst, kept, aged, moved


def page(number: int, rng: np.random.Generator, now: float) -> Page:
    return Page(
        number,
        scope=f"site{number % 20}.example",
        kind="news" if number % 3 else "",
        weight=float(rng.uniform(0.5, 2.0)),
        seen_at=now - float(rng.uniform(0.0, 1e6)) if number % 2 else None,
    )


@pytest.mark.parametrize("objective", ["detection", "freshness", "delay", "age"])
@pytest.mark.parametrize("shares", [False, True], ids=["", "shares"])
def test_a_kept_index_is_that_of_now(objective, shares):
    rng = np.random.default_rng(4)
    policy, now = BayesianIndex(objective=objective), 1.7e9
    there = set(range(PAGES // 2))
    policy.add([page(number, rng, now) for number in sorted(there)])
    if shares:
        policy.share_out({"x": 0.4}, dict.fromkeys(range(0, PAGES, 4), ("x",)))
    rates = 10.0 ** rng.uniform(-6.0, -3.0, PAGES)
    seen = dict.fromkeys(range(PAGES), now - 1e5)
    total, total_aged = 0, 0
    for _ in range(STEPS):
        now += float(rng.exponential(300.0))
        number = int(rng.integers(PAGES))
        match int(rng.integers(40)):
            case 0 if number in there:
                policy.discard([number])
                there.discard(number)
            case 0:
                policy.add([page(number, rng, now)])
                there.add(number)
            case 1:
                policy.weigh([number], [float(rng.uniform(0.1, 5.0))])
            case 2:
                policy.signal([number], now - 10.0)
            case 3:
                policy.observe(
                    [Observation(number, now, Outcome.CHANGED)] if number in there else []
                )
            case 4:
                policy.load_state_dict(policy.state_dict())
            case 5:
                now -= float(rng.uniform(0.0, 20.0))
        order = rng.permutation(PAGES)
        policy.best([number for number in order.tolist() if number in there][:20], now)
        # Asking for bids changes nothing, so it may be done in between.
        difference, kept, aged, moved = largest_difference(
            policy.state, now, order, rng.random(PAGES) < 0.5
        )
        assert difference < 1e-5  # callers may add up in another order
        assert moved < LITTLE
        total += kept
        total_aged += aged
        for polled in policy.select(now, 1).page_ids.tolist():
            chance = -math.expm1(-rates[polled] * max(now - seen[polled], 0.0))
            outcome = Outcome.CHANGED if rng.random() < chance else Outcome.UNCHANGED
            midnight = now // DAY * DAY
            dated = midnight if polled % 2 == 0 and seen[polled] < midnight else None
            policy.observe([Observation(polled, now, outcome, last_changed_at=dated)])
            seen[polled] = now
    assert total > STEPS
    assert total_aged > STEPS // 5


@kernel
def both_bids(state, spot, now):
    """That worked out for a page of the pool, and then the one that is kept."""
    anew = bid_of(state, state.shared[0].pool[spot], now)
    return anew, pool_bid(state, spot, now, math.inf)


def test_whoever_asks_for_a_bid_in_between_leaves_no_older_index_behind():
    policy = BayesianIndex()
    policy.add([Page(number, seen_at=-1000.0 * number) for number in range(1, 5)])
    for number in range(1, 5):  # the last one waits longest
        policy.observe([Observation(number, 1000.0, Outcome.CHANGED)])
    (polled,) = policy.select(2000.0, 1).page_ids.tolist()
    common = policy.state.shared[0]
    (spot, *_), others = range(common["pool_size"]), common["pool"]
    before = both_bids(policy.state, spot, 2000.0)
    assert before[0] == before[1] > 0.0
    assert both_bids(policy.state, spot, 2100.0)[1] > before[1]
    policy.weigh([int(others[spot])], [7.0])
    anew, kept = both_bids(policy.state, spot, 2100.0)
    assert anew == kept > 6.0 * before[0]
    policy.observe([Observation(polled, 2200.0, Outcome.UNCHANGED)])
