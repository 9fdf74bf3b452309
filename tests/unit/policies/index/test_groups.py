"""Shares of the budget hold; within its share, a group is polled as by a policy of its own."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from pollwise.errors import InputError
from pollwise.insight.forecaster import Forecaster
from pollwise.objectives import Delay, Detection, Freshness, Objective
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.policies.index.policy import IndexPolicy
from pollwise.policies.index.whittle import Whittle
from pollwise.types import Observation, Outcome, Page

SHARES = {"shop": 0.3, "news": 0.5}


def rates_of(count: int, seed: int = 1) -> dict[int, float]:
    """Change rates a second; a round of all pages takes `count` seconds."""
    rng = np.random.default_rng(seed)
    return dict(enumerate((rng.lognormal(0.0, 1.5, count) / count).tolist()))


def pages_of(count: int, **fields: float) -> list[Page]:
    """A third of the pages has the tag shop, a tenth news; the latter change most often."""
    tags = [("shop",) if n % 3 == 0 else ("news",) if n % 10 == 1 else () for n in range(count)]
    return [Page(n, tags=tags[n], seen_at=0.0, **fields) for n in range(count)]


class World:
    """Pages that change at their rates, polled once a second."""

    def __init__(self, policy: IndexPolicy, rates: dict[int, float]) -> None:
        self.policy, self.rates = policy, rates
        self.rng = np.random.default_rng(7)
        self.now = 0.0
        self.seen = dict.fromkeys(rates, 0.0)
        self.cost: Callable[[int], float] = lambda page: 1.0

    def run(self, polls: int) -> np.ndarray:
        """Poll so often; how often each page was polled."""
        counts = np.zeros(len(self.rates), np.int64)
        for _ in range(polls):
            self.now += 1.0
            for page in self.policy.select(self.now, 1).page_ids.tolist():
                counts[page] += 1
                elapsed = self.now - self.seen[page]
                changed = self.rng.random() < -math.expm1(-self.rates[page] * elapsed)
                self.seen[page] = self.now
                outcome = Outcome.CHANGED if changed else Outcome.UNCHANGED
                self.policy.observe([Observation(page, self.now, outcome)])
                self.policy.spend(page, self.cost(page))
        return counts


def sharing(shares: dict[str, float], pages: list[Page]) -> World:
    """A world whose pages are polled by shares."""
    policy = BayesianIndex()
    policy.share_out(shares, {})
    policy.add(pages)
    return World(policy, rates_of(len(pages)))


def shares_in(counts: np.ndarray, pages: list[Page]) -> dict[str, float]:
    return {
        tag: sum(counts[page.id] for page in pages if tag in page.tags) / counts.sum()
        for tag in SHARES
    }


@pytest.mark.parametrize("objective", [Detection(), Freshness(), Delay()], ids=lambda o: o.name)
@pytest.mark.parametrize("count", [30, 600])
def test_shares_hold(objective: Objective, count: int) -> None:
    pages, policy = pages_of(count), BayesianIndex(objective=objective)
    policy.share_out(SHARES, {})
    policy.add(pages)
    world = World(policy, rates_of(count))
    world.run(5 * count)  # five rounds
    assert shares_in(world.run(20_000), pages) == pytest.approx(SHARES, abs=0.01)


@pytest.mark.parametrize("objective", [Detection(), Freshness(), Delay()], ids=lambda o: o.name)
def test_within_its_share_a_group_is_polled_as_by_a_policy_of_its_own(
    objective: Objective,
) -> None:
    count = 90
    pages, rates = pages_of(count), rates_of(count)
    policy = Whittle(rates=rates, objective=objective)
    policy.share_out(SHARES, {})
    policy.add(pages)
    together = World(policy, rates)
    together.run(2_000)
    counts = together.run(40_000)
    for tag in SHARES:
        group = [page for page in pages if tag in page.tags]
        own = np.array([rates[page.id] for page in group])
        polls = counts[[page.id for page in group]] / 40_000
        best = Forecaster(objective, own, np.eye(len(own))).frequencies(SHARES[tag])
        assert loss(objective, own, polls) <= 1.02 * loss(objective, own, best)


def loss(objective: Objective, rates: np.ndarray, polls: np.ndarray) -> float:
    """What polls this often lose a second, all told: changes, freshness, or delay."""
    expected = rates / np.maximum(polls, 1e-9)  # freshness does not poll the fastest pages
    if objective == Detection():
        return float((rates - polls * -np.expm1(-expected)).sum())
    if objective == Freshness():
        return float((1.0 - -np.expm1(-expected) / expected).sum())
    return float((expected / 2.0).sum())


def test_what_a_group_cannot_use_goes_to_the_others_and_comes_back() -> None:
    pages = pages_of(60)
    world = sharing({"shop": 0.9}, pages)
    world.run(1_000)
    busy = [page.id for page in pages if "shop" in page.tags]
    until = world.now + 3_000.0
    assert len(world.policy.select(world.now, 60).page_ids) == 60
    world.policy.defer(busy, until)  # their host is busy
    others = [page.id for page in pages if page.id not in busy]
    world.policy.observe([Observation(n, 0.0, Outcome.FAILED) for n in others])
    assert world.run(2_000).sum() == 2_000
    world.run(3_000)
    assert shares_in(world.run(10_000), pages)["shop"] == pytest.approx(0.9, abs=0.01)


@pytest.mark.parametrize("dear", [5.0, 40.0, 0.01])
def test_shares_are_of_costs(dear: float) -> None:
    costs = [dear] * 10 + [1.0] * 30
    pages = [Page(n, tags=("shop",) * (n < 10), cost=costs[n], seen_at=0.0) for n in range(40)]
    world = sharing({"shop": 0.5}, pages)
    world.cost = costs.__getitem__
    world.run(4_000)
    cost = world.run(20_000) * np.array(costs)
    assert cost[:10].sum() / cost.sum() == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("length", [300, 3_000])
def test_a_group_that_had_nothing_to_offer_makes_up_for_nothing(length: int) -> None:
    pages = [Page(n, tags=("shop",) * (n < 5), seen_at=0.0) for n in range(100)]
    world = sharing({"shop": 0.2}, pages)
    world.run(2_000)
    assert len(world.policy.select(world.now, 100).page_ids) == 100
    world.policy.observe([Observation(n, 0.0, Outcome.FAILED) for n in range(5, 100)])
    assert world.run(length)[:5].sum() == 0  # the others are being polled all the while
    world.policy.observe([Observation(n, 0.0, Outcome.FAILED) for n in range(5)])
    assert world.run(300)[:5].sum() / 300 < 0.3


def test_the_same_shares_again_change_nothing() -> None:
    pages = pages_of(60)
    world = sharing(SHARES, pages)
    world.run(1_000)
    policy, tags = world.policy, {page.id: page.tags for page in pages}
    before = policy.group_prices()
    assert before[""] != 1.0
    policy.share_out(SHARES, tags)
    assert policy.group_prices() == before
    policy.share_out({"news": 0.4}, tags)
    assert policy.group_prices() == {tag: before[tag] for tag in ("", "news")}


def test_other_shares_hold_from_now_on() -> None:
    pages = pages_of(60)
    policy = BayesianIndex()
    policy.add(pages)
    world = World(policy, rates_of(60))
    world.run(1_000)
    tags = {page.id: page.tags for page in pages if page.tags}
    for shares in (SHARES, {"news": 0.1}, {"news": 0.9, "shop": 0.05}):
        policy.share_out(shares, tags)
        world.run(500)
        told = shares_in(world.run(10_000), pages)
        assert {tag: told[tag] for tag in shares} == pytest.approx(shares, abs=0.01)
    policy.share_out({}, tags)
    world.run(500)
    free = shares_in(world.run(10_000), pages)
    assert free["news"] < 0.5


def test_of_several_tags_the_first_share_counts() -> None:
    policy = BayesianIndex()
    policy.share_out({"shop": 0.3, "news": 0.5}, {})
    policy.add([Page(0, tags=("news", "shop")), Page(1, tags=("news",)), Page(2, tags=("else",))])
    groups, shares = policy.group_shares([0, 1, 2])
    assert groups.tolist() == [1, 2, 0]
    assert shares.tolist() == pytest.approx([0.2, 0.3, 0.5])
    policy.discard([0])
    assert policy.group_shares([1, 2])[1].tolist() == pytest.approx([0.2 / 0.7, 0.0, 0.5 / 0.7])


def test_prices_are_taken_up_again() -> None:
    pages = pages_of(60)
    world = sharing({"shop": 0.9}, pages)
    world.run(3_000)
    again = BayesianIndex()
    again.share_out({"shop": 0.9}, {})
    again.add([Page(page.id, tags=page.tags, seen_at=world.seen[page.id]) for page in pages])
    again.load_state_dict(world.policy.state_dict())
    again.load_group_prices(world.policy.group_prices())
    world.policy = again
    assert shares_in(world.run(200), pages)["shop"] == pytest.approx(0.9, abs=0.05)


@pytest.mark.parametrize(
    ("shares", "why"),
    [
        ({"a": 0.0}, "above 0"),
        ({"a": 1.5}, "at most 1"),
        ({"a": math.nan}, "above 0"),
        ({"a": 0.6, "b": 0.6}, "120 %"),
        ({f"t{n}": 0.01 for n in range(33)}, "32 at most"),
    ],
)
def test_shares_that_cannot_be(shares: dict[str, float], why: str) -> None:
    policy = BayesianIndex()
    policy.share_out(SHARES, {})
    with pytest.raises(InputError, match=why):
        policy.share_out(shares, {})
    policy.add([Page(0, tags=("news",))])
    assert policy.group_shares([0])[0].tolist() == [2]  # nothing has changed
