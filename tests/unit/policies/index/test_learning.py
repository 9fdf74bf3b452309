"""What a poll teaches besides the rate: reverts; and that nothing breaks what is learned."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pollwise.errors import StateError
from pollwise.objectives import Delay, Detection, Freshness
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.policies.index.belief import refresh_belief
from pollwise.policies.index.learning import operational_time
from pollwise.policies.index.state import MOST_CHANGES, MOST_DATES
from pollwise.rates.excerpt import likelihoods_of
from pollwise.rates.packed import unpacked
from pollwise.types import Observation, Outcome, Page

DAY = 86_400.0


def flapping(revert_worth: float, *, reverts: bool = True) -> BayesianIndex:
    """Page 0 changes daily to and fro, page 1 as often, but forwards."""
    policy = BayesianIndex(revert_worth=revert_worth)
    policy.add([Page(0, seen_at=0.0), Page(1, seen_at=0.0)])
    for day in range(1, 41):
        back = reverts and day % 2 == 0
        policy.observe([Observation(0, day * DAY, Outcome.CHANGED, reverted=back)])
        policy.observe([Observation(1, day * DAY, Outcome.CHANGED)])
    return policy


def index(policy: BayesianIndex, page: int) -> float:
    return policy.estimate(page, 42 * DAY).index


def test_reverts_count_for_as_much_as_they_are_worth():
    """20 of 40 changes went back; one more change is taken for granted that did not."""
    none, half, full = (flapping(worth) for worth in (0.0, 0.5, 1.0))
    for policy, expected in ((none, 1 - 20 / 41), (half, 1 - 10 / 41), (full, 1.0)):
        assert index(policy, 0) == pytest.approx(expected * index(full, 0), rel=1e-6)
        assert index(policy, 1) == index(full, 1)


def test_reverts_that_are_worth_as_much_as_other_changes_change_nothing():
    told, untold = flapping(1.0), flapping(1.0, reverts=False)
    assert index(told, 0) == index(untold, 0)
    assert told.estimate(0, 42 * DAY).change_rate == untold.estimate(0, 42 * DAY).change_rate


def test_a_revert_is_as_much_of_a_change_as_any_other_for_the_rate():
    assert flapping(0.0).estimate(0, 42 * DAY).change_rate == pytest.approx(
        flapping(0.0).estimate(1, 42 * DAY).change_rate, rel=1e-6
    )


def polls_of_a_flapping_page(revert_worth: float) -> int:
    """Of 500 polls of six pages, one of which has either of two versions at each poll."""
    policy = BayesianIndex(revert_worth=revert_worth)
    policy.add([Page(page, seen_at=0.0) for page in range(6)])
    rng, seen, count = np.random.default_rng(2), np.zeros(6), 0
    for hour in np.arange(6.0, 3006.0, 6.0):
        [page] = policy.select(hour * 3600.0, 1).page_ids.tolist()
        flaps = page == 0
        chance = 0.5 if flaps else -math.expm1(-(hour - seen[page]) / 60)
        outcome = Outcome(int(rng.random() < chance))
        seen[page] = hour
        policy.observe([Observation(page, hour * 3600.0, outcome, reverted=flaps)])
        count += flaps
    return count


def test_pages_that_flap_are_polled_less_where_reverts_are_worth_nothing():
    assert polls_of_a_flapping_page(0.0) < 0.3 * polls_of_a_flapping_page(1.0)


def test_time_counts_with_the_surge_of_the_site():
    policy = BayesianIndex()
    policy.add([Page(0, site="one", seen_at=0.0), Page(1, site="one", seen_at=0.0)])
    assert operational_time(policy.state, 1, 2 * DAY) == 2 * DAY
    policy.state.shared["surge"] = 3 * DAY
    assert operational_time(policy.state, 1, 2 * DAY) == 5 * DAY


def test_a_page_new_to_a_site_whose_changes_were_dated_waits_for_its_first_poll():
    """It has no copy that a change could have made stale."""
    policy = BayesianIndex()
    policy.add([Page(page, site="one", seen_at=0.0) for page in range(3)])
    for page in range(3):
        policy.observe([Observation(page, DAY, Outcome.CHANGED, last_changed_at=DAY / 2)])
    policy.add([Page(3, site="one")])
    refresh_belief(policy.state, 3)
    assert policy.state.shared["believed"][0] == -1
    assert policy.estimate(3, 2 * DAY).index == math.inf


moments = st.floats(1e-6, 1e12) | st.sampled_from([1e-6, 1e-3, 1.0, 1e9, 1e12])
polls = st.lists(
    st.tuples(
        st.integers(0, 4),  # page
        moments,  # since the poll before
        st.sampled_from([Outcome.UNCHANGED, Outcome.CHANGED]),
        st.one_of(st.none(), st.floats(0.0, 1.0)),  # when, between copy and poll, it changed
        st.booleans(),
    ),
    max_size=40,
)


@settings(max_examples=60)
@given(polls=polls, objective=st.sampled_from([Detection(), Freshness(), Delay()]))
def test_whatever_polls_say_beliefs_stay_probabilities(polls, objective):
    """However short or long the times, however contradictory what they find."""
    policy = BayesianIndex(objective=objective, revert_worth=0.5)
    policy.add([Page(n, site="s" if n < 3 else "", kind="k" * (n % 2)) for n in range(5)])
    now = 0.0
    for page, wait, outcome, part, reverted in polls:
        policy.select(now, 1)
        told = None if part is None else now + part * wait
        now += wait
        policy.observe([Observation(page, now, outcome, last_changed_at=told, reverted=reverted)])
    pages = policy.state.pages[:5]
    seen = np.flatnonzero(~np.isnan(pages["seen_at"]))
    chances = policy.chances(seen, now + 1.0)
    assert np.all((chances >= 0) & (chances <= 1))
    _, posteriors = policy.rate_posteriors(range(5))
    assert np.isfinite(posteriors).all()
    assert posteriors.sum(axis=1) == pytest.approx(1.0)
    for page in range(5):
        estimate = policy.estimate(page, now + 1.0)
        assert estimate.index >= 0
        assert 0 < estimate.rate_low <= estimate.rate_high < math.inf
    for page in seen:
        refresh_belief(policy.state, page)
        assert policy.state.shared["belief"].sum() == pytest.approx(1.0, rel=1e-4)
        for name in ("surge", "overlap"):
            assert np.isfinite(policy.state.shared[name]).all()
    learned = policy.state_dict(range(5))
    for numbers in (
        likelihoods_of(learned["page.likelihood"], learned["page.first_rate"]),
        unpacked(learned["page.spells"]),
    ):
        assert np.all((numbers >= 0.0) & (numbers <= 41.0))
    for name in ("burst_odds", "clock_odds"):
        assert np.isfinite(pages[name]).all()
    worths = policy.worths(range(5))
    assert np.all((worths >= 0.5) & (worths <= 1.0))


def test_a_restart_keeps_bursts_clock_and_reverts():
    before = flapping(0.3)
    after = BayesianIndex(revert_worth=0.3)
    after.add([Page(0), Page(1)])
    after.load_state_dict(before.state_dict())
    for page in (0, 1):
        assert index(after, page) == pytest.approx(index(before, page), rel=1e-5)
    for name in ("burst_odds", "reverts", "changes", "spell"):
        assert after.state.pages[name][:2] == pytest.approx(before.state.pages[name][:2])
    assert after.worths([0, 1]).tolist() == before.worths([0, 1]).tolist()


def test_of_very_many_changes_the_older_ones_count_half():
    policy = flapping(0.3)
    policy.state.pages["changes"][0], policy.state.pages["reverts"][0] = MOST_CHANGES, 20_000
    worth = policy.worths([0])[0]
    policy.observe([Observation(0, 50 * DAY, Outcome.CHANGED)])
    own = policy.state.pages[0]
    assert (own["changes"], own["reverts"]) == (MOST_CHANGES // 2 + 1, 10_000)
    assert policy.worths([0])[0] == pytest.approx(worth, rel=1e-3)


def test_larger_counts_of_an_earlier_version_are_taken_up_as_the_largest():
    before = flapping(0.3)
    learned = {name: array.copy() for name, array in before.state_dict().items()}
    learned["page.changes"][0], learned["page.dates"][1] = 1e6, 1_000
    learned["page.reverts"][0] = 5e5
    after = BayesianIndex(revert_worth=0.3)
    after.add([Page(0), Page(1)])
    after.load_state_dict(learned)
    assert after.state.pages["changes"][0] == MOST_CHANGES
    assert after.state.pages["reverts"][0] == MOST_CHANGES // 2
    assert after.state.pages["dates"][1] == MOST_DATES


@pytest.mark.parametrize(
    ("name", "number"), [("changes", -1), ("reverts", -1), ("dates", -MOST_DATES - 1)]
)
def test_a_number_that_is_too_low_is_damage(name, number):
    """Below 0 a number of dates tells of a window, which has a longest."""
    before = flapping(0.3)
    learned = {name: array.copy() for name, array in before.state_dict().items()}
    learned[f"page.{name}"][0] = number
    with pytest.raises(StateError, match=f"damaged: a number of {name} is not one"):
        before.load_state_dict(learned)


@pytest.mark.parametrize("name", ["date_odds", "tick", "clock_odds"])
def test_a_value_that_is_no_number_is_damage(name):
    before = flapping(0.3)
    learned = {name: array.copy() for name, array in before.state_dict().items()}
    learned[f"page.{name}"][0] = np.nan
    with pytest.raises(StateError, match=f"damaged: a value of {name} is not one"):
        before.load_state_dict(learned)


def test_an_id_used_for_another_page_starts_from_nothing():
    policy = flapping(0.0)
    policy.discard([0])
    policy.add([Page(0, seen_at=40 * DAY)])
    own = policy.state.pages[0]
    assert (own["reverts"], own["changes"], own["dates"]) == (0, 0, 0)
    assert policy.worths([0]) == 1.0
    learned = policy.state_dict([0])
    assert not learned["page.spells"].any()
    assert np.ptp(learned["page.likelihood"]) == 0.0


def newspapers(*, dated: bool) -> BayesianIndex:
    """Two pages that change every quarter of an hour, polled every four days in turn for half a
    year; at the latest poll of page 0 nothing had changed: its server was ill.
    """
    policy = BayesianIndex(objective=Delay())
    policy.add([Page(0, seen_at=0.0), Page(1, seen_at=0.0)])
    rng = np.random.default_rng(3)
    for day in np.arange(4.0, 180.0, 4.0):
        for page in (0, 1):
            now = (day + page) * DAY
            told = now - rng.exponential(900.0) if dated else None
            policy.observe([Observation(page, now, Outcome.CHANGED, told)])
    policy.observe([Observation(0, 180.0 * DAY, Outcome.UNCHANGED)])
    return policy


@pytest.mark.parametrize("dated", [True, False])
def test_a_page_that_always_changed_is_not_given_up_after_one_silent_poll(dated):
    """Without room for such polls in the model its next one was due after two months (the times of
    its changes told) or two years."""
    policy = newspapers(dated=dated)
    # As if a page that always changes were polled every four days.
    policy.state.shared["price"] = policy.estimate(1, 181.0 * DAY).index
    assert policy.estimate(0, 181.0 * DAY).due_at < 190.0 * DAY
    assert policy.estimate(0, 181.0 * DAY).change_rate > 50.0 / DAY
