"""Signals: they are worth what they have been worth, and useless ones do no harm."""

import heapq
import math

import numpy as np
import pytest

from pollwise.objectives import Age, Delay, Detection, Ephemeral, Freshness, Objective
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.policies.index.fields import code_of_odds, set_tick
from pollwise.types import Observation, Outcome, Page

PAGES = 60
OBJECTIVES = [Detection(), Freshness(), Delay(), Age()]
by_objective = pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda one: one.name)


class World:
    """Pages of two sites that change at random times, polled every ten seconds.

    `recall` of the changes are signalled at once, and `noise` signals a second and page are
    false.
    """

    def __init__(self, policy: BayesianIndex, *, recall: float, noise: float, rounds: int) -> None:
        rng = np.random.default_rng(5)
        self.policy = policy
        self.end = 10.0 * PAGES * rounds
        rates = rng.lognormal(-7.5, 1.0, PAGES)
        self.changes = [
            np.sort(rng.uniform(0, self.end, rng.poisson(rate * self.end))) for rate in rates
        ]
        self.rates = rates
        told = [(t, n) for n, times in enumerate(self.changes) for t in times]
        told = [one for one in told if rng.random() < recall]
        false = rng.poisson(noise * self.end, PAGES)
        told += [(t, n) for n in range(PAGES) for t in rng.uniform(0, self.end, false[n])]
        self.signals = told
        heapq.heapify(self.signals)
        policy.add([Page(n, site="ab"[n % 2], seen_at=0.0) for n in range(PAGES)])

    def run(self) -> float:
        """How fresh the pages were in the second half."""
        seen = np.zeros(PAGES)
        stale = 0.0
        now = 0.0
        while now < self.end:
            now += 10.0
            while self.signals and self.signals[0][0] <= now:
                at, page = heapq.heappop(self.signals)
                self.policy.signal([page], at)
            for page in self.policy.select(now, 1).page_ids.tolist():
                times = self.changes[page]
                first = np.searchsorted(times, seen[page], side="right")
                changed = first < len(times) and times[first] <= now
                if changed and now > self.end / 2:
                    stale += now - max(times[first], self.end / 2)
                seen[page] = now
                outcome = Outcome.CHANGED if changed else Outcome.UNCHANGED
                self.policy.observe([Observation(page, now, outcome)])
        return 1.0 - stale / (PAGES * self.end / 2)


@by_objective
def test_true_signals_make_copies_fresher(objective: Objective) -> None:
    without = World(BayesianIndex(objective=objective), recall=0.0, noise=0.0, rounds=60).run()
    told = World(BayesianIndex(objective=objective), recall=0.9, noise=0.0, rounds=60).run()
    assert 1.0 - told < 0.5 * (1.0 - without)


@by_objective
def test_signals_that_mean_nothing_do_no_harm(objective: Objective) -> None:
    without = World(BayesianIndex(objective=objective), recall=0.0, noise=0.0, rounds=120).run()
    noisy = World(BayesianIndex(objective=objective), recall=0.0, noise=1e-3, rounds=120).run()
    assert noisy > without - 0.02


def test_reliability_is_learned_for_each_site() -> None:
    policy = BayesianIndex()
    policy.add([Page(n, site="ab"[n % 2], seen_at=0.0) for n in range(4)])
    for n in range(1, 40):
        now = 1e5 * n
        for page, outcome in ((0, Outcome.CHANGED), (1, Outcome.UNCHANGED)):
            policy.signal([page], now - 10.0)
            policy.observe([Observation(page, now, outcome)])
    policy.observe([Observation(page, now, Outcome.UNCHANGED) for page in (2, 3)])
    policy.signal([2, 3], now + 1.0)  # of the same sites
    good, bad = policy.state.apart["signal"][[2, 3]]
    assert good > 0.5
    assert bad < 0.05


def test_what_changes_anyhow_is_no_proof_of_a_signal() -> None:
    policy = BayesianIndex()
    policy.add([Page(0, seen_at=0.0)])
    for n in range(1, 100):  # it changes all the time
        policy.observe([Observation(0, 1e5 * n, Outcome.CHANGED)])
    for n in range(100, 120):
        policy.signal([0], 1e5 * n - 10.0)
        policy.observe([Observation(0, 1e5 * n, Outcome.CHANGED)])
    own = policy.state.apart[0]
    assert own["signals"] == 20.0
    assert own["true_signals"] / own["signals"] < 0.6


def test_what_signals_tell_is_no_part_of_the_rate() -> None:
    """It is that of the changes which nobody signals: here there are none."""
    rates = {}
    for signalled in (False, True):
        policy = BayesianIndex()
        policy.add([Page(n, seen_at=0.0) for n in range(20)])
        for n in range(1, 60):
            now = 1e6 * n
            if n % 2 and signalled:
                policy.signal([0], now - 10.0)
            outcomes = [Outcome.CHANGED if n % 2 else Outcome.UNCHANGED] + 19 * [Outcome.UNCHANGED]
            policy.observe([Observation(page, now, one) for page, one in enumerate(outcomes)])
        rates[signalled] = policy.estimate(0, now).change_rate
    assert rates[True] < 0.3 * rates[False]


def test_a_signal_raises_index_and_chance_until_the_next_poll() -> None:
    policy = BayesianIndex(objective="freshness")
    policy.add([Page(n, seen_at=0.0) for n in range(3)])
    policy.observe([Observation(n, 1e5, Outcome.UNCHANGED) for n in range(3)])
    before, chance = policy.estimate(0, 2e5), policy.chances([0], 2e5)
    policy.signal([0, 77], 1.5e5)
    assert policy.estimate(0, 2e5).index > 2 * before.index
    assert policy.estimate(0, 2e5).due_at <= before.due_at
    assert policy.chances([0], 2e5) > chance
    policy.observe([Observation(0, 1.4e5, Outcome.UNCHANGED)])  # this poll came before the signal
    assert policy.state.pages["signalled"][0] == 1
    assert policy.state.apart["signals"][0] == 0.0
    policy.observe([Observation(0, 2e5, Outcome.CHANGED)])
    assert policy.state.pages["signalled"][0] == 0
    policy.signal([0], 1.9e5)  # older than the copy
    assert policy.state.pages["signalled"][0] == 0


def test_without_signals_nothing_is_kept_of_them() -> None:
    policy = BayesianIndex()
    policy.add([Page(n, seen_at=0.0) for n in range(3)])
    policy.observe([Observation(0, 1e5, Outcome.CHANGED)])
    policy.load_state_dict(policy.state_dict())
    assert len(policy.state.apart) == 0


def test_a_pending_signal_of_the_time_zero_survives() -> None:
    policy = BayesianIndex()
    policy.add([Page(0, seen_at=-1.0)])
    policy.signal([0], 0.0)
    again = BayesianIndex()
    again.add([Page(0, seen_at=-1.0)])
    again.load_state_dict(policy.state_dict())
    assert again.estimate(0, 1.0).signalled_at == 0.0


def test_what_was_learned_of_signals_is_not_that_of_another_page_with_the_id() -> None:
    policy = BayesianIndex()
    policy.add([Page(n, seen_at=0.0) for n in range(2)])
    policy.signal([0, 1], 1.0)
    policy.observe([Observation(n, 1e5, Outcome.CHANGED) for n in range(2)])
    policy.discard([0])
    policy.add([Page(0, seen_at=0.0), Page(5, seen_at=0.0)])
    assert policy.state_dict()["page.signals"].tolist() == [0.0, 1.0, 0.0]


def test_pending_signals_and_what_was_learned_of_them_survive() -> None:
    policy = BayesianIndex()
    policy.add([Page(n, site="a", seen_at=0.0) for n in range(3)])
    policy.signal([0], 1.0)
    policy.observe([Observation(0, 1e5, Outcome.CHANGED)])
    policy.signal([1], 1e5)
    again = BayesianIndex()
    again.add([Page(n, site="a", seen_at=0.0) for n in range(3)])
    again.load_state_dict(policy.state_dict())
    assert again.state.apart["signal"][1] == policy.state.apart["signal"][1] > 0.0
    assert again.state.pages["signalled"][:3].tolist() == [0, 1, 0]
    for one in (policy, again):
        one.signal([2], 2e5)
    assert again.state.apart["signal"][2] == pytest.approx(policy.state.apart["signal"][2])


def test_without_an_index_for_it_a_signal_changes_nothing() -> None:
    policy = BayesianIndex(objective=Ephemeral(decay=1e-5))
    policy.add([Page(0, seen_at=0.0)])
    policy.observe([Observation(0, 1e5, Outcome.UNCHANGED)])
    before = policy.estimate(0, 2e5).index
    policy.signal([0], 1.5e5)
    assert policy.estimate(0, 2e5).index == before
    assert math.isfinite(before)


@by_objective
def test_a_page_that_changes_by_the_clock_can_be_signalled(objective: Objective) -> None:
    day = 86_400.0
    policy = BayesianIndex(objective=objective)
    policy.add([Page(n, seen_at=0.0) for n in range(3)])
    policy.observe([Observation(n, 9.9 * day, Outcome.CHANGED) for n in range(3)])
    at_any_time = policy.estimate(0, 10.2 * day).index
    policy.state.pages["clock_odds"][0] = code_of_odds(3.0)
    set_tick(policy.state.pages[0], 0.5 * day)
    before = policy.estimate(0, 10.2 * day)
    # It is not yet noon, and by these odds it hardly changes at another time.
    assert before.index == pytest.approx(at_any_time / (1.0 + math.exp(3.0)), rel=1e-5)
    policy.signal([0], 10.1 * day)
    after = policy.estimate(0, 10.2 * day)
    assert after.index > 10.0 * before.index
    assert after.due_at <= before.due_at
