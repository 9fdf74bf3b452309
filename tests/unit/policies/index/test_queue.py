"""The queue: every page in one place, the largest index first, busy hosts at their price."""

import math
import os
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from pollwise.errors import InputError, StateError
from pollwise.knapsack import allocate
from pollwise.objectives import Delay, Detection, Freshness
from pollwise.policies.arrays import ABSENT, HELD, LEASED
from pollwise.policies.index import policy as policy_module
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.policies.index.belief import refresh_belief
from pollwise.policies.index.evidence import IN_FULL
from pollwise.policies.index.page_index import index_of, time_to_reach
from pollwise.policies.index.policy import IndexPolicy
from pollwise.policies.index.state import CALENDAR, NEW, POOL, POOL_CAPACITY, IndexState
from pollwise.policies.index.whittle import Whittle
from pollwise.policies.structures.heap import entries
from pollwise.simulation.loop import simulate
from pollwise.simulation.worlds.zipf import Zipf
from pollwise.types import Observation, Outcome, Page
from pollwise.units import DAY

ROOM = 200
RATES = dict(enumerate(np.geomspace(1e-5, 1.0, ROOM).tolist()))

Make = Callable[[], IndexPolicy]
MAKERS: dict[str, Make] = {"whittle": lambda: Whittle(rates=RATES), "bayes-index": BayesianIndex}
either_policy = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


def heap_of(state: IndexState, heap: np.ndarray) -> list[int]:
    """The pages of a heap, after a look at its order and its places."""
    ids, times = entries(heap)["page"], entries(heap)["time"]
    size = len(ids)
    assert state.pages["place"][ids].tolist() == list(range(1, size + 1))
    for spot in range(2, size + 1):
        assert times[(spot + 2) // 4 - 1] <= times[spot - 1]  # so none is NaN
    return ids.tolist()


def line_of(state: IndexState) -> list[int]:
    """The pages in line, after a look at both of their links."""
    ids, page, before = [], int(state.shared[0]["first_new"]), -1
    for _ in range(state.shared[0]["new_size"]):
        assert state.pages["place"][page] == before
        ids.append(page)
        before, page = page, int(state.pages["spot"][page])
    if ids:
        assert page == -1
        assert state.shared[0]["last_new"] == before
    return ids


def check(state: IndexState, watched: set[int], leased: set[int]) -> None:
    """Every watched page is where it says it is, and nowhere else."""
    pages, shared = state.pages, state.shared[0]
    for page in watched:
        spot = pages["spot"][page]
        if pages["where"][page] != NEW and spot >= 0:
            assert state.evidence["holder"][spot] == page
    for spot, page in enumerate(state.evidence["holder"].tolist()):
        assert page < 0 or (page in watched and pages["spot"][page] == spot)
    pool = shared["pool"][: shared["pool_size"]]
    assert pages["place"][pool].tolist() == list(range(len(pool)))
    assert len(pool) < POOL_CAPACITY
    places = {
        CALENDAR: heap_of(state, state.calendar),
        HELD: heap_of(state, state.calendar[::-1]),
        NEW: line_of(state),
        POOL: pool.tolist(),
        LEASED: sorted(leased),
    }
    assert sorted(page for ids in places.values() for page in ids) == sorted(watched)
    for where, ids in places.items():
        assert set(ids) == set(np.flatnonzero(pages["where"] == where).tolist())
    assert shared["pages"] == len(watched)
    assert len(watched) == (pages["where"] != ABSENT).sum()
    assert shared["price"] >= 0.0
    assert math.isfinite(shared["price"])
    assert (state.hosts["price"] >= 1.0).all()


ids = st.integers(0, ROOM - 1)
some_ids = st.lists(ids, max_size=30, unique=True)
pauses = st.sampled_from([0.0, 0.01, 1.0, 1.0, 50.0, 1e5])


class Containers(RuleBasedStateMachine):
    """Anything that a scheduler may do, in any order; the model knows who is leased."""

    make: Make

    @initialize(count=st.sampled_from([0, 5, 120]), new=st.booleans())
    def begin(self, count: int, new: bool) -> None:
        self.policy = self.make()
        self.now = 1000.0
        self.watched: set[int] = set()
        self.leased: set[int] = set()
        self.add(list(range(count)), new)
        self.learned = self.policy.state_dict()

    @rule(page_ids=some_ids, new=st.booleans())
    def add(self, page_ids: list[int], new: bool) -> None:
        fresh = [page_id for page_id in page_ids if page_id not in self.watched]
        self.policy.add(
            [
                Page(i, scope=f"{i % 3}.example", seen_at=None if new else self.now - i)
                for i in fresh
            ]
        )
        self.watched.update(fresh)

    @rule(page_ids=some_ids)
    def discard(self, page_ids: list[int]) -> None:
        self.policy.discard(page_ids)
        self.watched.difference_update(page_ids)
        self.leased.difference_update(page_ids)

    @rule(pause=pauses, limit=st.sampled_from([1, 1, 4, 100]))
    def select(self, pause: float, limit: int) -> None:
        self.now += pause
        selected = self.policy.select(self.now, limit).page_ids.tolist()
        assert self.leased.isdisjoint(selected)
        self.leased.update(selected)

    @rule(pause=pauses, outcome=st.sampled_from(Outcome), page_ids=some_ids)
    def observe(self, pause: float, outcome: Outcome, page_ids: list[int]) -> None:
        self.now += pause
        self.policy.observe([Observation(page_id, self.now, outcome) for page_id in page_ids])
        self.leased.difference_update(page_ids)

    @rule(pause=pauses, outcome=st.sampled_from(Outcome), share=st.floats(0, 1))
    def observe_leased(self, pause: float, outcome: Outcome, share: float) -> None:
        self.observe(pause, outcome, sorted(self.leased)[: math.ceil(share * len(self.leased))])

    @rule(pause=pauses, share=st.floats(0, 1))
    def defer(self, pause: float, share: float) -> None:
        deferred = sorted(self.leased)[: math.ceil(share * len(self.leased))]
        self.policy.defer(deferred, self.now + pause)
        self.leased.difference_update(deferred)

    @rule(page_ids=some_ids)
    def copied(self, page_ids: list[int]) -> None:
        self.policy.copied(page_ids, self.now)

    @rule(page_ids=some_ids)
    def signal(self, page_ids: list[int]) -> None:
        self.policy.signal(page_ids, self.now)

    @rule(page_ids=some_ids, pause=pauses)
    def rest(self, page_ids: list[int], pause: float) -> None:
        for page_id in self.watched.intersection(page_ids):
            self.policy.rest(page_id, self.now + pause)

    @rule(is_earlier=st.booleans())
    def restore(self, is_earlier: bool) -> None:
        if not is_earlier:
            self.learned = self.policy.state_dict()
        self.policy.load_state_dict(self.learned)

    @invariant()
    def everything_is_in_its_place(self) -> None:
        check(self.policy.state, self.watched, self.leased)


class WhittleContainers(Containers):
    make = staticmethod(MAKERS["whittle"])


class BayesianContainers(Containers):
    make = staticmethod(MAKERS["bayes-index"])


@pytest.mark.parametrize(
    ("containers", "in_full"),
    [(WhittleContainers, IN_FULL), (BayesianContainers, IN_FULL), (BayesianContainers, 7)],
)
def test_every_page_is_in_one_place_whatever_happens(containers, in_full, monkeypatch):
    monkeypatch.setattr(policy_module, "IN_FULL", in_full)
    run_state_machine_as_test(
        containers, settings=settings(max_examples=60, stateful_step_count=40)
    )


@either_policy
def test_the_time_to_reach_a_price_is_when_the_index_reaches_it(make):
    policy = make()
    policy.add([Page(n, seen_at=0.0) for n in range(ROOM)])
    state = policy.state
    for page in range(0, ROOM, 7):
        refresh_belief(state, page)
        for price in (0.01, 0.2, 0.7):
            wait = time_to_reach(state.pages, state.shared, page, price)
            assert index_of(state.pages, state.shared, page, wait * 1.001) >= price * 0.999
            assert index_of(state.pages, state.shared, page, wait * 0.98) < price
    assert time_to_reach(state.pages, state.shared, 3, 1.5) == math.inf


@pytest.mark.parametrize("objective", [Detection(), Freshness(), Delay()], ids=lambda o: o.name)
@pytest.mark.parametrize("beta", [0.5, 1.0])
def test_the_price_is_that_of_the_budget(objective, beta):
    """It comes to the Lagrange multiplier of one poll a second, which nobody told the queue."""
    world = Zipf(pages=300, alpha=0.3, beta=beta)
    world.reset(seed=1, duration=5001.0)
    policy = Whittle(rates=world.rates, objective=objective)
    simulate(policy, world, polls=5000, seed=1)
    rates = np.array(list(world.rates.values()))
    assert policy.state.shared["price"][0] == pytest.approx(
        allocate(objective, rates, 1.0).price, rel=0.05
    )


class TestBusyHosts:
    """Two hosts with the same pages; one of them takes no more than one poll in `pause` seconds."""

    def run(self, policy: IndexPolicy, begin: int, end: int, pause: int) -> tuple[int, int, int]:
        """Polls of the busy host, of the other one, and pages that were deferred."""
        busy_until = 0.0
        polled, deferred = [0, 0], 0
        for now in range(begin, end):
            for _ in range(16):
                [page] = policy.select(float(now), 1).page_ids.tolist()
                if page % 2 == 0 and now < busy_until:
                    policy.defer([page], busy_until)
                    deferred += 1
                    continue
                if page % 2 == 0:
                    busy_until = now + pause
                policy.observe([Observation(page, float(now), Outcome.UNCHANGED)])
                polled[page % 2] += 1
                break
        return polled[0], polled[1], deferred

    def watching(self) -> Whittle:
        policy = Whittle(rates=dict.fromkeys(range(70), 0.01))
        policy.add([Page(n, scope=f"{n % 2}.example", seen_at=-float(n)) for n in range(60)])
        return policy

    def prices(self, policy: IndexPolicy) -> list[float]:
        """Of the hosts of pages 0 and 1."""
        return policy.state.hosts["price"][policy.state.pages["scope"][:2]].tolist()

    def test_without_a_queue_both_are_polled_alike(self):
        policy = self.watching()
        busy, other, deferred = self.run(policy, 1, 600, pause=1)
        assert busy == pytest.approx(other, rel=0.05)
        assert deferred == 0
        assert self.prices(policy) == [1.0, 1.0]

    def test_pages_of_a_busy_host_wait_and_the_other_gets_the_budget(self):
        policy = self.watching()
        busy, other, deferred = self.run(policy, 1, 2000, pause=10)
        assert busy == pytest.approx(200, abs=10)
        assert busy + other > 1950
        assert self.prices(policy)[1] == 1.0
        assert 1.0 < self.prices(policy)[0] < 100.0
        # Once the price is found few of its pages come at the wrong time.
        busy, other, deferred = self.run(policy, 2000, 4000, pause=10)
        assert deferred < 1000

    def test_the_price_recovers_with_the_host(self):
        policy = self.watching()
        self.run(policy, 1, 2000, pause=10)
        self.run(policy, 2000, 3000, pause=1)
        assert self.prices(policy) == [1.0, 1.0]
        busy, other, deferred = self.run(policy, 3000, 4000, pause=1)
        assert busy == pytest.approx(other, rel=0.05)
        assert deferred == 0

    def test_the_price_is_bounded_whatever_happens(self):
        policy = Whittle(rates={0: 1.0})
        policy.add([Page(0, scope="dead.example", seen_at=0.0)])
        for now in range(1, 1000):
            policy.select(float(now), 1)
            policy.defer([0], now + 0.5)
            policy.observe([Observation(0, float(now), Outcome.FAILED)])
        assert 1e3 < self.prices(policy)[0] <= 1e6

    def test_the_price_rises_once_between_two_polls(self):
        policy = self.watching()
        policy.select(1.0, 60)
        policy.defer([58, 56, 54], 5.0)
        policy.defer([52], 5.0)
        assert self.prices(policy) == [1.05, 1.0]
        policy.observe([Observation(8, 2.0, Outcome.FAILED)])
        assert self.prices(policy) == [1.05, 1.0]
        policy.defer([50], 5.0)
        assert self.prices(policy) == [pytest.approx(1.05**2), 1.0]
        policy.observe([Observation(12, 3.0, Outcome.CHANGED)])
        assert self.prices(policy)[0] == pytest.approx(1.05**2 * 0.98)

    def test_first_copies_neither_raise_nor_lower_the_price(self):
        policy = self.watching()
        policy.add([Page(n, scope="0.example") for n in range(60, 70)])
        policy.select(1.0, 70)
        policy.defer([58], 5.0)
        for new in range(60, 70):
            policy.observe([Observation(new, 2.0, Outcome.CHANGED)])
        assert self.prices(policy) == [1.05, 1.0]
        policy.defer([56], 5.0)
        assert self.prices(policy) == [1.05, 1.0]

    def test_a_page_that_came_ahead_of_its_time_does_not_raise_the_price(self):
        policy = self.watching()
        policy.select(1.0, 60)
        policy.defer([0], 5.0)  # polled a second ago
        assert self.prices(policy) == [1.0, 1.0]
        policy.defer([58], 5.0)
        assert self.prices(policy) == [1.05, 1.0]

    def test_none_comes_ahead_of_its_time_before_those_that_its_host_sent_away(self):
        policy = Whittle(rates=dict.fromkeys(range(3), 0.01))
        scopes = ("busy.example", "busy.example", "free.example")
        policy.add([Page(n, scope=scopes[n], seen_at=-100.0) for n in range(3)])
        assert len(policy.select(0.0, 3).page_ids) == 3
        policy.defer([1], 60.0)
        policy.observe([Observation(page, 0.0, Outcome.UNCHANGED) for page in (0, 2)])
        assert policy.select(1.0, 3).page_ids.tolist() == [2]
        policy.observe([Observation(2, 1.0, Outcome.UNCHANGED)])
        assert policy.select(60.0, 1).page_ids.tolist() == [1]
        policy.observe([Observation(1, 60.0, Outcome.UNCHANGED)])
        assert sorted(policy.select(61.0, 3).page_ids.tolist()) == [0, 1, 2]


def test_a_page_that_rests_is_away_until_then_at_no_price():
    policy = BayesianIndex()
    policy.add([Page(0, scope="a.example", seen_at=0.0), Page(1, scope="a.example", seen_at=0.0)])
    assert policy.next_return == math.inf
    policy.rest(0, 500.0)
    assert policy.next_return == 500.0
    assert policy.select(400.0, 2).page_ids.tolist() == [1]
    policy.rest(1, 900.0)  # it is leased, and stays so
    policy.rest(0, 450.0)  # it is away for longer already
    assert policy.select(499.0, 2).page_ids.tolist() == []
    assert policy.select(500.0, 2).page_ids.tolist() == [0]
    assert policy.host_price("a.example") is None


def test_a_copy_that_nobody_compared_teaches_nothing():
    policy = BayesianIndex()
    policy.add([Page(n, site=f"{n}.example", seen_at=0.0) for n in range(3)])
    for now in (100.0, 200.0):
        for page in policy.select(now, 3).page_ids:
            policy.observe([Observation(int(page), now, Outcome.CHANGED)])
    before = policy.estimate(0, 200.0)
    policy.copied([0, 9], 300.0)
    policy.copied([1], 150.0)  # older than the copy that there is
    after = policy.estimate(0, 300.0)
    assert (after.polls, after.change_rate) == (before.polls, before.change_rate)
    assert after.index < policy.estimate(1, 300.0).index
    same = pytest.approx(policy.estimate(2, 300.0).index, rel=0.1)
    assert policy.estimate(1, 300.0).index == same
    assert policy.select(310.0, 1).page_ids.tolist() != [0]
    assert policy.select(310.0, 3).page_ids.tolist()[-1] == 0


def test_a_spell_begins_with_a_first_copy_that_nobody_compared():
    copied, given = BayesianIndex(), BayesianIndex()
    copied.add([Page(0)])
    copied.copied([0], 100.0)
    given.add([Page(0, seen_at=100.0)])
    for policy in (copied, given):
        for now in (200.0, 300.0):
            policy.observe([Observation(0, now, Outcome.UNCHANGED)])
    assert copied.estimate(0, 400.0) == given.estimate(0, 400.0)


def test_pages_of_a_blocked_host_do_not_shut_out_others():
    """There are more than find room in the pool, and each is worth more."""
    policy = Whittle(rates=dict.fromkeys(range(ROOM), 0.01))
    other = ROOM - 1
    policy.add(
        [
            Page(n, scope=f"{n == other}.example", weight=1.0 if n == other else 2.0, seen_at=0.0)
            for n in range(ROOM)
        ]
    )
    policy.block("False.example", 2000.0)
    selected = [policy.select(now, 1).page_ids.tolist() for now in range(1000, 1010)]
    assert [other] in selected
    assert policy.select(2000.0, 1).page_ids.tolist() not in ([], [other])


@pytest.mark.parametrize(
    ("name", "value"), [("page.first_rate", 255), ("page.first_rate", 5), ("page.polls", -1)]
)
def test_numbers_that_would_lead_out_of_an_array_are_refused(name, value):
    policy = BayesianIndex()
    policy.add([Page(0), Page(1)])
    learned = policy.state_dict()
    learned[name][1] = value
    with pytest.raises(StateError, match="an index policy is damaged"):
        policy.load_state_dict(learned)


def test_a_state_of_an_earlier_version_is_refused_in_few_words():
    policy = BayesianIndex()
    learned = policy.state_dict()
    del learned["page.first_rate"]
    learned["page.rank"] = learned["page.polls"]
    told = "the learned state lacks page.first_rate and holds page.rank besides; load it"
    with pytest.raises(StateError, match=told):
        policy.load_state_dict(learned)


DECISIONS = """\
import numpy as np
from numba.core.runtime import rtsys

from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.types import Observation, Outcome, Page
from pollwise.units import DAY

rng = np.random.default_rng(1)
for objective in ("detection", "freshness", "delay", "age"):
    policy, held, now = BayesianIndex(objective=objective), [], 0.0
    for n in range(2_000):
        if n % 20 == 0:
            policy.add([Page(n, scope=f"site{n % 7}.example", kind="news")])
        now += 600.0
        page = int(policy.select(now, 1).page_ids[0])
        policy.signal([page], now - 1.0)
        outcome = Outcome.CHANGED if rng.random() < 0.3 else Outcome.UNCHANGED
        policy.observe([Observation(page, now, outcome, last_changed_at=now - 4000.0)])
        stats = rtsys.get_allocation_stats()
        held.append(stats.alloc - stats.free)
    print(stats.alloc > 2_000, held[-1] - held[1_000])
"""


def test_decisions_free_what_they_allocate():
    """Most kernels count no references, and must take no array from one that makes it."""
    run = subprocess.run(
        [sys.executable, "-c", DECISIONS],
        env={**os.environ, "NUMBA_NRT_STATS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert run.stdout.splitlines() == ["True 0"] * 4, run.stderr


def test_where_all_pages_are_due_a_decision_looks_at_some_of_them():
    policy = BayesianIndex()
    policy.add([Page(n, site="one", seen_at=0.0) for n in range(5_000)])
    policy.select(10 * DAY, 1)  # which sets the price
    for now in (20 * DAY, 20 * DAY + 1.0):
        entries(policy.state.calendar)["time"] = 0.0
        waiting = len(entries(policy.state.calendar))
        (page,) = policy.select(now, 1).page_ids.tolist()
        policy.observe([Observation(page, now, Outcome.UNCHANGED)])
        late = entries(policy.state.calendar)["time"] > now
        assert waiting > 4_000
        assert late.sum() < 150


def test_of_many_pages_that_are_known_chance_does_not_begin_one_quick_round_after_the_other():
    policy, pages = BayesianIndex(), 5_000
    quick = []
    simulate(
        policy,
        Zipf(pages=pages, alpha=0.9, beta=1.5),
        polls=12 * pages,
        seed=3,
        pauses=np.arange(8 * pages, 12 * pages, 10.0).tolist(),
        on_pause=lambda now: quick.append(policy.state.shared[0]["sweep_left"] > 0),
    )
    assert np.mean(quick) < 0.15


def test_a_policy_that_is_restored_need_not_find_the_mean_price_again():
    before, after, pages = BayesianIndex(), BayesianIndex(), 5_000
    simulate(before, Zipf(pages=pages, alpha=0.9, beta=1.5), polls=5 * pages, seed=3)
    after.add([Page(n) for n in range(pages)])
    after.load_state_dict(before.state_dict())
    after.select(5.0 * pages, 1)
    common = after.state.shared[0]
    assert common["mean_price"] == common["price"] > 0.0


def test_after_a_copy_the_changes_of_its_site_before_are_no_news():
    policy = BayesianIndex()
    policy.add([Page(n, site="one", seen_at=0.0) for n in range(3)])
    for day in range(1, 30):
        policy.observe([Observation(1, day * DAY, Outcome.CHANGED, day * DAY - 60)])
        policy.observe([Observation(2, day * DAY, Outcome.CHANGED, day * DAY - 30)])
        policy.observe([Observation(0, day * DAY, Outcome.CHANGED, day * DAY - 45)])
    for page in (1, 2):
        for hour in range(1, 6):
            policy.observe([Observation(page, 29 * DAY + 3600 * hour, Outcome.CHANGED)])
    refresh_belief(policy.state, 0)
    assert policy.state.shared["overlap"][0] > 5
    policy.copied([0], 29.5 * DAY)
    refresh_belief(policy.state, 0)
    assert policy.state.shared["overlap"][0] == 0
    assert policy.state.shared["surge"][0] == 0


def test_weights_beyond_32_bits_are_the_largest_and_the_smallest():
    policy = BayesianIndex()
    policy.add([Page(0, weight=1e300), Page(1, weight=1e-300), Page(2, weight=0.0), Page(3)])
    weights = policy.state.pages["weight"]
    largest, smallest, none, one = weights[:4].tolist()
    assert 1e38 < largest < math.inf
    assert 0.0 < smallest < 1e-37
    assert (none, one) == (0.0, 1.0)
    policy.weigh([3], [1e-300])
    assert weights[3] == smallest


@pytest.mark.parametrize("weight", [math.nan, math.inf, -1.0])
def test_a_weight_that_cannot_be_is_refused_before_any_is_changed(weight):
    policy = BayesianIndex()
    policy.add([Page(0), Page(1)])
    with pytest.raises(
        InputError, match=r"^weigh: page 1: weight=\S+ must be finite and at least 0$"
    ):
        policy.weigh([0, 1], [2.0, weight])
    assert policy.state.pages["weight"][:2].tolist() == [1.0, 1.0]
