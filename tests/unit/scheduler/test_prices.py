"""One budget for several shards: it holds whatever happens, and prices become equal."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pollwise.errors import InputError
from pollwise.knapsack import allocate
from pollwise.objectives import objective as objective_of
from pollwise.policies.estimating.price_search import spread_budget, worth_of
from pollwise.scheduler.prices import Allotment, ShardedBudget, ShardReport

LEASE = 60.0
OBJECTIVES = ("freshness", "detection", "delay", "age")


@dataclass
class Shard:
    """A shard that polls pages of known rates as the exact solver would, with a budget of its own.

    `sent_at`: when it sent the report that its allotment answers.
    """

    name: str
    rates: np.ndarray
    capacity: float = math.inf
    allotment: Allotment = Allotment(0.0, 0.0, 0.0, None, 0.0)  # noqa: RUF009
    sent_at: float = 0.0

    def spends(self, now: float) -> float:
        over = now >= self.sent_at + self.allotment.seconds
        return self.allotment.alone if over else self.allotment.rate

    def price(self, objective: str, now: float) -> float | None:
        rate = self.spends(now)
        if rate <= 0.0:
            return None
        worth, ones = worth_of("Shard", objective_of(objective)), np.ones(len(self.rates))
        _, price = spread_budget(worth, rate, self.rates, ones, ones, 1.0)
        return price

    def report(self, price: float | None, now: float) -> ShardReport:
        return ShardReport(
            self.name,
            price,
            self.capacity,
            len(self.rates),
            rate=self.spends(now),
            alone=self.allotment.alone,
        )

    def talk(self, budget: ShardedBudget, price: float | None, now: float, *, heard=True) -> None:
        allotment = budget.report(self.report(price, now), now)
        if heard:
            self.allotment, self.sent_at = allotment, now


def some_shards(count: int, seed: int, pages: int = 40) -> list[Shard]:
    """Shards whose pages change at rates of their own."""
    random = np.random.default_rng(seed)
    return [
        Shard(str(number), np.exp(random.normal(random.normal(), 1.5, pages)))
        for number in range(count)
    ]


def settle(shards: list[Shard], budget: ShardedBudget, objective: str, rounds: int) -> float:
    """Let all report, one after the other, every ten seconds; when it is over."""
    now = 0.0
    for _ in range(rounds):
        for shard in shards:
            shard.talk(budget, shard.price(objective, now), now)
            now += 10.0 / len(shards)
            assert sum(one.spends(now) for one in shards) <= budget.rate * (1.0 + 1e-9)
    return now


def worth(objective: str, shard: Shard, spent: float) -> float:
    """What so many polls a second of a shard bring, or cost, a second."""
    frequencies = allocate(objective, shard.rates, spent).frequencies
    polled = frequencies > 0.0
    kind = objective_of(objective)
    gain = kind.gain(shard.rates[polled], 1.0 / frequencies[polled])
    return float(gain @ frequencies[polled])


@pytest.mark.parametrize("seed", [1, 7])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_shards_come_to_the_undivided_optimum(objective, seed):
    shards, budget = some_shards(5, seed), ShardedBudget(50.0, lease=LEASE, begun_at=-LEASE)
    now = settle(shards, budget, objective, rounds=120)
    best = allocate(objective, np.concatenate([shard.rates for shard in shards]), 50.0)
    own = [frequencies.sum() for frequencies in np.split(best.frequencies, len(shards))]
    spent = [shard.spends(now) for shard in shards]
    assert sum(spent) == pytest.approx(50.0, rel=0.001)
    assert budget.price == pytest.approx(best.price, rel=0.05)
    brought, most = (
        sum(worth(objective, *one) for one in zip(shards, rates, strict=True))
        for rates in (spent, own)
    )
    assert brought == pytest.approx(most, rel=0.01)


def test_hosts_that_cannot_keep_up_do_not_move_the_common_price():
    shards, budget = some_shards(4, seed=2), ShardedBudget(50.0, lease=LEASE, begun_at=-LEASE)
    slow, *others = shards
    slow.capacity = 1.0
    now = settle(shards, budget, "freshness", rounds=120)
    assert slow.spends(now) == 1.0
    best = allocate("freshness", np.concatenate([shard.rates for shard in others]), 49.0)
    assert budget.price == pytest.approx(best.price, rel=0.05)


def test_one_whose_polls_bring_little_keeps_a_little():
    shards, budget = some_shards(3, seed=3), ShardedBudget(30.0, lease=LEASE, begun_at=-LEASE)
    shards[0].rates = np.full(40, 1e-9)
    now = settle(shards, budget, "detection", rounds=120)
    assert shards[0].spends(now) == pytest.approx(0.01 * 30.0 / 3)


def test_what_a_dead_shard_had_is_shared_out_when_its_lease_ends_and_the_rest_when_it_leaves():
    shards, budget = some_shards(3, seed=4), ShardedBudget(30.0, lease=LEASE, begun_at=-LEASE)
    settle(shards, budget, "freshness", rounds=60)
    dead, *living = shards
    begun = 1000.0
    for turn in range(20):
        for shard in living:
            now = begun + 10.0 * turn
            shard.talk(budget, shard.price("freshness", now), now)
    kept = dead.allotment.alone
    assert 0.0 < kept <= 10.0
    assert sum(one.spends(now) for one in living) == pytest.approx(30.0 - kept, rel=0.01)
    budget.leave("0")
    budget.leave("unknown")
    for turn in range(20, 40):
        for shard in living:
            now = begun + 10.0 * turn
            shard.talk(budget, shard.price("freshness", now), now)
    assert sum(one.spends(now) for one in living) == pytest.approx(30.0, rel=0.01)


@given(
    seed=st.integers(0, 100),
    rounds=st.integers(0, 5),
    smaller=st.lists(st.floats(0.01, 0.99), min_size=1, max_size=3),
    order=st.permutations(range(4)),
    confirming=st.lists(st.booleans(), min_size=4, max_size=4),
)
@settings(max_examples=200, deadline=None)
def test_a_smaller_budget_holds_after_one_report_of_each(seed, rounds, smaller, order, confirming):
    """In any order, whether or not the others have confirmed meanwhile that they hold to less."""
    shards, budget = some_shards(4, seed), ShardedBudget(30.0, lease=LEASE, begun_at=-LEASE)
    now = settle(shards, budget, "freshness", rounds + 2)
    for part in smaller:  # of the last one all hear, of those before it only the first ones
        budget.rate *= part
        heard = order if part == smaller[-1] else order[: len(smaller)]
        for number in heard:
            shard = shards[number]
            shard.talk(budget, shard.price("freshness", now), now)
            if confirming[number]:
                budget.confirm(shard.name, shard.allotment.rate, shard.allotment.alone)
    spent = sum(shard.spends(now) for shard in shards)
    assert spent <= budget.rate * (1.0 + 1e-9)
    for shard in shards:
        budget.confirm(shard.name, shard.allotment.rate, shard.allotment.alone)
    assert budget.most(now) <= budget.rate * (1.0 + 1e-9)
    for shard in shards:
        shard.talk(budget, shard.price("freshness", now), now)
    assert sum(shard.spends(now) for shard in shards) > 0.5 * budget.rate


def test_what_one_confirms_to_have_no_more_is_for_others():
    (a, b), budget = some_shards(2, 1), ShardedBudget(10.0, lease=LEASE, begun_at=-LEASE)
    a.talk(budget, None, 0.0)
    b.talk(budget, None, 0.0)
    a.talk(budget, None, 0.0)
    b.talk(budget, None, 0.0)
    assert (a.allotment.rate, b.allotment.rate) == (5.0, 0.0), "a may not have heard of it"
    budget.confirm("0", a.allotment.rate, a.allotment.alone)
    budget.confirm("unknown", 1.0, 1.0)
    b.talk(budget, None, 0.0)
    assert (a.allotment.rate, b.allotment.rate) == (5.0, 5.0)


def test_one_that_is_started_anew_gives_back_what_shards_held_to():
    shards, budget = some_shards(3, seed=6), ShardedBudget(30.0, lease=LEASE, begun_at=-LEASE)
    now = settle(shards, budget, "freshness", rounds=60)
    before = [shard.spends(now) for shard in shards]
    anew = ShardedBudget(30.0, lease=LEASE, begun_at=now)
    newcomer = Shard("new", np.ones(100))
    newcomer.talk(anew, None, now)
    assert newcomer.spends(now) == 0.0
    for _ in range(3):
        for shard in shards:
            shard.talk(anew, shard.price("freshness", now), now)
    after = [shard.spends(now) for shard in shards]
    assert sum(after) <= 30.0 * (1.0 + 1e-9)
    assert all(new <= old * (1.0 + 1e-9) for new, old in zip(after, before, strict=True))


ACTIONS = st.one_of(
    st.tuples(st.just("report"), st.integers(0, 5), st.floats(1e-3, 1e3)),
    st.tuples(st.just("unheard"), st.integers(0, 5), st.floats(1e-3, 1e3)),
    st.tuples(st.just("blind"), st.integers(0, 5), st.just(1.0)),
    st.tuples(st.just("leave"), st.integers(0, 5), st.just(1.0)),
    st.tuples(st.just("wait"), st.just(0), st.floats(0.0, 200.0)),
    st.tuples(st.just("capacity"), st.integers(0, 5), st.floats(0.0, 20.0)),
    st.tuples(st.just("pages"), st.integers(0, 5), st.integers(0, 300)),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(ACTIONS, max_size=80))
def test_the_budget_holds_whatever_is_lost_or_late(actions):
    budget, now = ShardedBudget(10.0, lease=LEASE, begun_at=-LEASE), 0.0
    shards = [Shard(str(number), np.ones(10)) for number in range(6)]
    for what, number, value in actions:
        shard = shards[number]
        match what:
            case "report" | "unheard":
                shard.talk(budget, value, now, heard=what == "report")
            case "blind":
                shard.talk(budget, None, now)
            case "leave":
                budget.leave(shard.name)
                shard.allotment = Allotment(0.0, 0.0, 0.0, None, 0.0)
            case "wait":
                now += value
            case "capacity":
                shard.capacity = value
            case "pages":
                shard.rates = np.ones(value)
        spent = sum(one.spends(now) for one in shards)
        assert spent <= budget.most(now) * (1.0 + 1e-9)
        assert spent <= 10.0 * (1.0 + 1e-9)


GOOD = ShardReport("a", 1.0, 1.0, 1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"price": 0.0},
        {"price": math.nan},
        {"price": math.inf},
        {"capacity": -1.0},
        {"capacity": math.nan},
        {"pages": -1},
        {"rate": -1.0},
        {"rate": math.inf},
        {"alone": math.nan},
    ],
)
def test_reports_out_of_range_are_refused(wrong):
    with pytest.raises(InputError, match="the report of shard 'a'"):
        replace(GOOD, **wrong)


@pytest.mark.parametrize("wrong", [{"rate": 0.0}, {"rate": math.inf}, {"lease": 0.0}])
def test_budgets_out_of_range_are_refused(wrong):
    told = {"rate": 1.0, "lease": LEASE, **wrong}
    with pytest.raises(InputError, match="ShardedBudget"):
        ShardedBudget(told["rate"], lease=told["lease"], begun_at=0.0)
