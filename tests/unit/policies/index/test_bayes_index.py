"""BayesianIndex learns from what is news and from nothing else, and says what it learned."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.errors import InputError
from pollwise.objectives import Delay, Detection, Freshness
from pollwise.policies.arrays import not_after
from pollwise.policies.base import StateDict
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.policies.index.belief import form_belief
from pollwise.policies.index.state import MOST_POLLS
from pollwise.rates.lattice import RATES
from pollwise.simulation.loop import simulate
from pollwise.simulation.worlds.zipf import Zipf
from pollwise.types import Observation, Outcome, Page

PAGES = [Page(0, seen_at=0.0), Page(1, seen_at=0.0), Page(2)]
DAY = 86_400.0

NEWS = [
    Observation(0, 10.0, Outcome.CHANGED),
    Observation(1, 20.0, Outcome.UNCHANGED),
    Observation(2, 20.0, Outcome.CHANGED),
    Observation(0, 30.0, Outcome.UNCHANGED),
    Observation(2, 40.0, Outcome.CHANGED, last_changed_at=33.0),
    Observation(0, 60.0, Outcome.CHANGED),
]

no_news = st.builds(
    Observation,
    page_id=st.sampled_from([0, 1, 2, 7, -1]),
    polled_at=st.floats(-10.0, 100.0),
    outcome=st.sampled_from([Outcome.FAILED, Outcome.GONE]),
    last_changed_at=st.sampled_from([None, 5.0]),
)


def watching(pages=PAGES, **options) -> BayesianIndex:
    policy = BayesianIndex(**options)
    policy.add(pages)
    return policy


def same(one: StateDict, other: StateDict) -> bool:
    return one.keys() == other.keys() and all(
        np.array_equal(one[name], other[name], equal_nan=one[name].dtype.kind == "f")
        for name in one
    )


@given(data=st.data())
def test_what_is_no_news_teaches_nothing(data):
    """Failures, doubles and stragglers, at any place among the news, leave no trace."""
    plain, disturbed = watching(), watching()
    told: list[Observation] = []
    for observation in NEWS:
        plain.observe([observation])
        disturbed.observe([observation])
        told.append(observation)
        late = [Observation(o.page_id, o.polled_at - 0.5, Outcome.CHANGED) for o in told]
        stale = st.sampled_from([o for o in told + late if o.polled_at <= newest(told, o)])
        noise = st.lists(st.one_of(no_news, stale), max_size=4)
        disturbed.observe(data.draw(noise))
    assert same(disturbed.state_dict(), plain.state_dict())


def newest(told: list[Observation], one: Observation) -> float:
    return max(o.polled_at for o in told if o.page_id == one.page_id)


def test_a_poll_of_a_page_without_a_copy_only_makes_one():
    policy = watching([Page(0)])
    policy.observe([Observation(0, 5.0, Outcome.CHANGED)])
    learned = policy.state_dict()
    assert learned["page.polls"].tolist() == [0]
    assert learned["page.seen_at"].tolist() == [5.0]
    assert np.ptp(learned["page.likelihood"]) == 0.0


def test_a_first_copy_with_a_date_teaches_how_old_it_is():
    policy = watching([Page(0)])
    policy.observe([Observation(0, 30 * DAY, Outcome.CHANGED, last_changed_at=10 * DAY)])
    assert policy.state_dict()["page.polls"].tolist() == [0]  # it was compared with nothing
    assert policy.examples == 1
    assert policy.estimate(0, 30 * DAY).rate_high < 1.0 / DAY


def test_a_page_of_very_many_polls_is_an_example():
    policy = watching([Page(0)])
    policy.observe([Observation(0, 30 * DAY, Outcome.CHANGED, last_changed_at=10 * DAY)])
    policy.state.pages["polls"][0] = MOST_POLLS
    assert policy.examples == 1


@pytest.mark.parametrize("told", [-5.0, 0.0, 100.5, math.inf])
def test_a_date_that_cannot_be_true_is_not_believed(told):
    """A change before the copy at hand or after the poll: what is left is that it changed."""
    doubtful, plain = watching(), watching()
    doubtful.observe([Observation(0, 100.0, Outcome.CHANGED, last_changed_at=told)])
    plain.observe([Observation(0, 100.0, Outcome.CHANGED)])
    assert same(doubtful.state_dict(), plain.state_dict())


def poll_daily(policy: BayesianIndex, rates: dict[int, float], days: int) -> float:
    rng = np.random.default_rng(9)
    for day in range(1, days + 1):
        policy.observe(
            [
                Observation(page, day * DAY, Outcome(int(rng.random() < -math.expm1(-rate * DAY))))
                for page, rate in rates.items()
            ]
        )
    return days * DAY


class TestEstimate:
    def test_it_comes_to_the_true_rates(self):
        rates = {page: (0.1 if page < 20 else 1.0) / DAY for page in range(40)}
        policy = watching([Page(page, seen_at=0.0) for page in rates])
        now = poll_daily(policy, rates, 300)
        estimates = [policy.estimate(page, now) for page in rates]
        assert [estimate.polls for estimate in estimates] == [300] * 40
        means = np.array([estimate.change_rate for estimate in estimates]) * DAY
        assert np.exp(np.log(means[:20]).mean()) == pytest.approx(0.1, rel=0.1)
        assert np.exp(np.log(means[20:]).mean()) == pytest.approx(1.0, rel=0.1)
        inside = [e.rate_low <= rates[page] <= e.rate_high for page, e in enumerate(estimates)]
        assert sum(inside) >= 34

    def test_it_is_what_was_learned(self):
        policy = watching([Page(0, seen_at=0.0), Page(1, seen_at=0.0, weight=3.0)])
        now = poll_daily(policy, {0: 0.3 / DAY, 1: 2.0 / DAY}, 40) + 5 * DAY
        for page in (0, 1):
            _, (posterior,) = policy.rate_posteriors([page])
            estimate = policy.estimate(page, now)
            assert estimate.change_rate == pytest.approx(posterior @ RATES, rel=1e-5)
            assert posterior[estimate.rate_low > RATES].sum() <= 0.05
            assert posterior[estimate.rate_high < RATES].sum() <= 0.05 + 1e-9
            # After 40 polls hope adds next to nothing to the mean of the index.
            index = Detection().index(RATES, 5 * DAY, weight=3.0 if page else 1.0)
            form_belief(policy.state, page)
            belief = policy.state.shared["belief"][0]
            assert estimate.index == pytest.approx(belief @ index, rel=0.01)

    def test_due_is_when_the_index_reaches_the_price(self):
        policy = BayesianIndex()
        simulate(policy, Zipf(pages=40, alpha=0.3, beta=1.0), polls=2000, seed=1)
        estimates = [policy.estimate(page, 2000.0) for page in range(40)]
        assert sum(math.isfinite(estimate.due_at) for estimate in estimates) > 35
        for page, estimate in enumerate(estimates):
            if math.isfinite(estimate.due_at):
                due = policy.estimate(page, estimate.due_at)
                assert due.index == pytest.approx(estimate.price, rel=0.03)

    def test_it_tells_of_the_lease(self):
        policy = watching()
        [page] = policy.select(1.0, 1).page_ids.tolist()
        assert policy.estimate(page, 1.0).leased
        policy.observe([Observation(page, 1.0, Outcome.FAILED)])
        assert not policy.estimate(page, 1.0).leased

    def test_a_page_without_a_copy_is_due_now(self):
        estimate = watching().estimate(2, 17.0)
        assert estimate.due_at == 17.0
        assert estimate.index == math.inf

    @pytest.mark.parametrize("page", [-1, 3, 10**9])
    def test_an_unknown_page_is_an_error(self, page):
        with pytest.raises(InputError, match=f"no page with the id {page} is watched"):
            watching().estimate(page, 0.0)
        policy = watching()
        policy.discard([1])
        with pytest.raises(InputError, match="no page with the id 1 is watched"):
            policy.estimate(1, 0.0)


@pytest.mark.parametrize("objective", [Detection(), Freshness()], ids=lambda one: one.name)
def test_a_restart_changes_no_estimate(objective):
    world = Zipf(pages=40, alpha=0.3, beta=1.0)
    before, after = BayesianIndex(objective=objective), BayesianIndex(objective=objective)
    simulate(before, world, polls=500, seed=1)
    after.add(world.pages)
    after.load_state_dict(before.state_dict())
    for page in range(40):
        for now in (500.0, 700.0, 1e5):  # at the last, every page is polled whatever its index is
            assert after.estimate(page, now) == before.estimate(page, now)
    assert after.estimate(0, 1e5).index == math.inf


def test_what_reverts_are_worth_holds_at_once_for_what_was_learned_before():
    polls = [
        Observation(0, day * DAY, Outcome.CHANGED, reverted=day % 2 == 0) for day in range(1, 11)
    ]
    policies = {}
    for worth in (1.0, 0.5, 0.0):
        policies[worth] = watching([Page(0, seen_at=0.0)], revert_worth=worth)
        policies[worth].observe(polls)
    # Five of ten went back; one more, which did not, is assumed.
    worths = {worth: policy.worths([0])[0] for worth, policy in policies.items()}
    assert worths == pytest.approx({1.0: 1.0, 0.5: 1 - 0.5 * 5 / 11, 0.0: 1 - 5 / 11})
    usual, other = (policies[worth].estimate(0, 11 * DAY) for worth in (1.0, 0.0))
    assert other.change_rate == usual.change_rate
    assert other.index == pytest.approx(worths[0.0] * usual.index)
    policies[0.0].load_state_dict(policies[1.0].state_dict())
    assert policies[0.0].estimate(0, 11 * DAY).index == other.index


def test_pages_little_is_known_of_are_tried_first():
    """A new page is polled before one of which ten polls say that it changes at the same rate."""
    policy = watching([Page(0, seen_at=0.0)])
    now = poll_daily(policy, {0: 0.5 / DAY}, 10)
    policy.add([Page(1, seen_at=now)])
    later = now + DAY
    assert policy.estimate(1, later).index > policy.estimate(0, later).index


def test_freshness_neglects_pages_that_are_too_fast_but_looks_again():
    """Of ten pages, one has changed at every poll; the others change every ten hours or so."""
    rng = np.random.default_rng(5)
    policy = watching([Page(n, seen_at=0.0) for n in range(10)], objective=Freshness())
    polls, seen = np.zeros(10), np.zeros(10)
    for hour in range(1, 3000):
        for page in policy.select(hour * 3600.0, 1).page_ids.tolist():
            polls[page] += 1
            changed = page == 0 or rng.random() < -math.expm1(-(hour - seen[page]) / 10)
            seen[page] = hour
            policy.observe([Observation(page, hour * 3600.0, Outcome(int(changed)))])
    assert 30 < polls[0] < polls[1:].min() / 2


def test_what_was_learned_serves_another_objective_but_for_the_price():
    def trained(objective):
        policy = BayesianIndex(objective=objective)
        policy.add([Page(n, seen_at=0.0) for n in range(20)])
        for now in range(1, 200):
            [page] = policy.select(float(now), 1).page_ids.tolist()
            policy.observe([Observation(page, float(now), Outcome(page % 2))])
        return policy

    learned = trained(Delay()).state_dict()
    same, other = BayesianIndex(objective=Delay()), BayesianIndex(objective=Detection())
    for policy in (same, other):
        policy.add([Page(n) for n in range(20)])
        policy.load_state_dict(learned)
    assert same.state.shared["price"][0] == learned["price"][0] > 0
    assert other.state.shared["price"][0] == 0
    now = 200.0
    assert other.estimate(1, now).change_rate == same.estimate(1, now).change_rate
    other.select(now, 5)
    assert 0 < other.state.shared["price"][0] <= 1


def test_the_chance_of_a_change_is_its_mean_over_the_belief():
    policy = watching()
    policy.observe(NEWS)
    policy.add([Page(3)])
    policy.state.shared["recalibration"] = 0.0
    rates, posteriors = policy.rate_posteriors([0, 1, 2])
    assert posteriors.sum(axis=1) == pytest.approx(1.0)
    beliefs = np.empty((3, len(rates)))
    for page in range(3):
        form_belief(policy.state, page)
        beliefs[page] = policy.state.shared["belief"]
    assert beliefs.sum(axis=1) == pytest.approx(1.0)
    elapsed = 100.0 - np.array([60.0, 20.0, 40.0])
    expected = (beliefs * -np.expm1(-rates * elapsed[:, None])).sum(axis=1)
    # Times are rounded to the lattice.
    assert policy.chances([0, 1, 2, 3], 100.0)[:3] == pytest.approx(expected, rel=0.01)
    assert policy.chances([0, 3], 50.0).tolist() == [0.0, pytest.approx(math.nan, nan_ok=True)]


def test_until_the_next_poll_a_page_that_has_just_changed_is_taken_for_faster():
    policy = watching([Page(0, seen_at=0.0), Page(1, seen_at=0.0), Page(2)])
    for day in range(1, 30):
        outcome = Outcome.CHANGED if day in {1, 2, 3, 29} else Outcome.UNCHANGED
        policy.observe([Observation(0, day * DAY, outcome)])
    policy.observe([Observation(1, 1 * DAY, Outcome.CHANGED)])
    rates, beliefs = policy.rate_beliefs([0, 1, 2])
    _, posteriors = policy.rate_posteriors([0, 1, 2])
    assert beliefs.sum(axis=1) == pytest.approx(1.0)
    assert beliefs[0] @ rates > 1.1 * posteriors[0] @ rates
    # Nothing tells yet whether the others change in bursts.
    assert np.array_equal(beliefs[1:], posteriors[1:])
    changed = beliefs[0] @ -np.expm1(-rates * DAY)
    assert policy.uncorrected_chances([0], 30 * DAY)[0] == pytest.approx(changed, rel=0.01)


@pytest.mark.parametrize(
    "ask", [BayesianIndex.rate_posteriors, BayesianIndex.rate_beliefs, BayesianIndex.chances]
)
def test_only_pages_that_are_watched_have_chances(ask):
    more = (1.0,) if ask is BayesianIndex.chances else ()
    with pytest.raises(InputError, match="no page with the id 7 is watched"):
        ask(watching(), [0, 7], *more)


@pytest.mark.parametrize("ask", ["chances", "estimates"])
def test_to_look_at_pages_changes_no_decision(ask):
    """Not even what is learned from the poll that is under way meanwhile."""
    rng = np.random.default_rng(5)
    rates = 10.0 ** rng.uniform(-7.0, -4.0, 40)
    asked, other = BayesianIndex(), BayesianIndex()
    for policy in (asked, other):
        policy.add([Page(n, site=f"site{n % 4}", seen_at=0.0) for n in range(40)])
    seen = dict.fromkeys(range(40), 0.0)
    for turn in range(600):
        now = 600.0 * (turn + 1)
        (page,) = asked.select(now, 1).page_ids.tolist()
        assert other.select(now, 1).page_ids.tolist() == [page]
        getattr(asked, ask)(range(turn % 40 + 1), now)
        changed = rng.random() < -math.expm1(-rates[page] * (now - seen[page]))
        seen[page] = now
        for policy in (asked, other):
            policy.observe([Observation(page, now, Outcome(int(changed)))])
    for name, array in other.state_dict().items():
        assert np.array_equal(asked.state_dict()[name], array, equal_nan=True), name


@pytest.mark.parametrize("ask", ["chances", "estimates"])
def test_to_look_at_pages_hides_no_change_of_their_site(ask):
    """What a change says of the pages of its site in the pool counts, looked at or not."""
    rng = np.random.default_rng(6)
    asked, other = BayesianIndex(objective="freshness"), BayesianIndex(objective="freshness")
    for policy in (asked, other):
        policy.add([Page(n, site=f"site{n // 4}") for n in range(600)])
    changed_at, seen, now = np.zeros(150), np.zeros(600), 0.0
    for _ in range(1500):
        now += rng.exponential(10.0)
        if rng.random() < 0.05:
            changed_at[rng.integers(150)] = now
        (page,) = asked.select(now, 1).page_ids.tolist()
        assert other.select(now, 1).page_ids.tolist() == [page]
        changed = changed_at[page // 4] > seen[page]
        seen[page] = now
        for policy in (asked, other):
            policy.observe([Observation(page, now, Outcome(int(changed)))])
        common = asked.state.shared[0]
        getattr(asked, ask)(common["pool"][: common["pool_size"]], now)


def test_what_is_learned_is_saved_in_the_types_of_version_0_9():
    """However it is kept in memory: either version reads what the other one saved."""
    learned = watching().state_dict()
    wide = ("seen_at", "spell_at", "signalled_at")
    single = ("changes", "reverts", "date_odds", "tick", "clock_odds", "burst_odds")
    single += ("signal", "signals", "true_signals")
    types = {**dict.fromkeys(wide, "f8"), **dict.fromkeys(single, "f4")}
    types |= {"polls": "i4", "dates": "i4", "young": "i1"}
    assert {name: learned[f"page.{name}"].dtype for name in types} == types


@given(begin=st.floats(1.5e9, 2.1e9))
def test_a_page_is_never_newer_than_its_copy(begin):
    """Though the time when it was added is kept to two minutes only."""
    policy = BayesianIndex()
    policy.add([Page(0), Page(1)])
    for second in range(10):
        (page,) = policy.select(begin + second, 1).page_ids.tolist()
        policy.observe([Observation(page, begin + second, Outcome.CHANGED)])
    now = begin + 10.0
    policy.add([Page(2), Page(3)])
    policy.observe([Observation(2, now, Outcome.CHANGED)])
    learned = policy.state_dict()
    added_at = learned["page.spell_at"][2:]
    assert now - 129.0 <= added_at.min()
    assert added_at.max() <= now
    assert not_after(learned, now) is learned
    restored = BayesianIndex()
    restored.add([Page(n) for n in range(4)])
    restored.load_state_dict(learned)
    assert np.array_equal(restored.state_dict()["page.spell_at"], learned["page.spell_at"])


def test_a_page_that_version_0_10_took_for_newer_than_its_copy_is_as_old():
    policy = watching()
    learned = policy.state_dict()
    learned["page.spell_at"] = learned["page.seen_at"] + 45.0
    policy.load_state_dict(learned)
    learned["page.spell_at"] = learned["page.seen_at"]
    assert same(policy.state_dict(), learned)


def test_a_clock_that_was_set_back_before_the_first_copy_makes_no_page_newer_than_it():
    policy = watching()
    for second in range(10):
        (page,) = policy.select(1.7e9 + second, 1).page_ids.tolist()
        policy.observe([Observation(page, 1.7e9 + second, Outcome.CHANGED)])
    policy.add([Page(3)])
    policy.observe([Observation(3, 1.7e9 - 3600.0, Outcome.CHANGED)])
    learned = policy.state_dict()
    assert learned["page.spell_at"][3] == learned["page.seen_at"][3] == 1.7e9 - 3600.0


@pytest.mark.parametrize("begin", [-1.7e9, -5e3])
def test_times_before_1970_are_times_like_any_other(begin):
    def polled(begin: float) -> list[int]:
        policy = watching([Page(number, seen_at=begin) for number in range(5)])
        chosen = []
        for step in range(100):
            now = begin + 64.0 * (step + 1)
            (page,) = policy.select(now, 1).page_ids.tolist()
            outcome = Outcome.CHANGED if page < 2 else Outcome.UNCHANGED
            policy.observe([Observation(page, now, outcome)])
            chosen.append(page)
        return chosen

    assert polled(begin) == polled(1.7e9)


def test_a_page_whose_patience_has_ended_is_due_then_and_not_when_its_index_reaches_the_price():
    policy = BayesianIndex(objective="freshness")
    policy.add([Page(n, scope="a.example", seen_at=0.0) for n in range(20)])
    for now in range(1, 2000):
        [page] = policy.select(float(now), 1).page_ids.tolist()
        policy.observe([Observation(page, float(now), Outcome.CHANGED)])
    policy.load_host_prices({"a.example": 1e6})
    told = policy.estimate(0, 1e5)
    assert told.index == math.inf
    assert told.due_at <= 1e5
