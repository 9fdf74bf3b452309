"""Times of changes that are those of the answers, and times that are true."""

import math

import numpy as np
import pytest

from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.policies.index.dates import (
    FIRST_DATE_ODDS,
    is_doubted,
    is_stamped,
    learn_date,
)
from pollwise.policies.index.fields import code_of_odds, odds_of
from pollwise.policies.index.prior import base_prior
from pollwise.rates.excerpt import likelihoods_of
from pollwise.rates.lattice import RATE_COUNT, RATES
from pollwise.rates.posterior import changed_table, unchanged_table
from pollwise.types import Observation, Outcome, Page

DAY = 86_400.0
PLACE = 32  # a change in 8 days


def polled(stamped: float | None, rate: float, days: int) -> BayesianIndex:
    """A page polled daily whose answers are stamped so long before, or with their true times."""
    rng = np.random.default_rng(2)
    policy = BayesianIndex()
    policy.add([Page(0, seen_at=0.0)])
    changes = np.cumsum(rng.exponential(1 / rate, int(3 * rate * days * DAY) + 20))
    for day in range(1, days + 1):
        now = day * DAY
        before = changes[changes <= now]
        changed = len(before) > 0 and before[-1] > now - DAY
        told = None
        if changed:
            told = before[-1] if stamped is None else now - stamped
        policy.observe([Observation(0, now, Outcome(int(changed)), told)])
    return policy


def test_the_odds_are_those_of_bayes():
    policy = BayesianIndex()
    policy.add([Page(0, seen_at=0.0)])
    own = policy.state.pages[0]
    belief = np.eye(RATE_COUNT, dtype=np.float32)[PLACE]
    untrue = learn_date(own, belief, 60.0, DAY, changed_table(), unchanged_table())
    density = 0.97 / 900 * -math.expm1(-RATES[PLACE] * DAY)
    true = RATES[PLACE] * math.exp(-RATES[PLACE] * 60.0)
    assert odds_of(own["date_odds"]) == pytest.approx(
        FIRST_DATE_ODDS + math.log(density / true), rel=1e-2
    )
    assert untrue[PLACE] == pytest.approx(math.exp(FIRST_DATE_ODDS) * density, rel=1e-2)


def test_a_page_stamped_with_the_time_of_its_answers_is_doubted():
    policy = polled(60.0, 0.2 / DAY, 100)
    assert is_doubted(policy.state.pages[0])
    assert policy.estimate(0, 100 * DAY).change_rate == pytest.approx(0.2 / DAY, rel=0.5)


@pytest.mark.parametrize(("changes_a_day", "days"), [(0.05, 1_000), (1.0, 100), (300.0, 100)])
def test_true_times_are_believed_however_fast_a_page_is(changes_a_day, days):
    policy = polled(None, changes_a_day / DAY, days)
    assert not is_doubted(policy.state.pages[0])
    estimate = policy.estimate(0, days * DAY).change_rate
    assert estimate == pytest.approx(changes_a_day / DAY, rel=0.5)


@pytest.mark.parametrize(
    ("told", "moved"),
    [
        (-2.0 * DAY, -math.log(0.99 / 0.03)),  # of before the copy: not that of the answer
        (DAY - 60.0, math.log(0.97 / 0.01)),  # just now, and nothing changed
        (DAY - 8 * 3600.0, 0.0),  # as of a site that stamps its pages
        (DAY + 1.0, 0.0),
        (None, 0.0),
    ],
)
@pytest.mark.parametrize("odds", [FIRST_DATE_ODDS, FIRST_DATE_ODDS - 2.0, 1.0])
def test_what_is_told_with_an_unchanged_copy_moves_the_odds(odds, told, moved):
    policy = BayesianIndex()
    policy.add([Page(0, seen_at=0.0)])
    policy.state.pages["date_odds"][0] = code_of_odds(odds)
    policy.observe([Observation(0, DAY, Outcome.UNCHANGED, told)])
    expected = odds + moved
    if moved < 0.0:  # never below the first odds
        expected = max(expected, min(odds, FIRST_DATE_ODDS))
    now = odds_of(policy.state.pages[0]["date_odds"])
    assert now == pytest.approx(expected, abs=1e-3)


def test_true_times_are_believed_where_polls_come_just_after_the_changes():
    """As they do where the pages of a site change together."""
    policy = BayesianIndex()
    policy.add([Page(0, seen_at=0.0)])
    for day in range(1, 11):
        for hour in range(1, 24):
            told = (day - 1) * DAY
            policy.observe([Observation(0, told + hour * 3600.0, Outcome.UNCHANGED, told or None)])
        policy.observe([Observation(0, day * DAY + 120.0, Outcome.CHANGED, day * DAY)])
    assert not is_doubted(policy.state.pages[0])


@pytest.mark.parametrize("is_rebuilt", [True, False])
def test_a_site_that_stamps_all_its_pages_each_night_is_not_believed(is_rebuilt):
    """Else its times are those of the changes, one a day for each page, and no clock is behind."""
    rng = np.random.default_rng(3)
    policy = BayesianIndex()
    changes = [np.cumsum(rng.exponential(DAY, 300)) for _ in range(30)]
    policy.add([Page(n, seen_at=0.0, site="s") for n in range(30)])
    seen_at = 0.0
    for now in (2 * np.arange(1, 51) + rng.uniform(0, 1, 50)) * DAY:
        for page, times in enumerate(changes):
            before = times[times <= now]
            changed = len(before) > 0 and before[-1] > seen_at
            told = now // DAY * DAY if is_rebuilt or not len(before) else before[-1]
            policy.observe([Observation(page, now, Outcome(int(changed)), told)])
        seen_at = now
    assert is_stamped(policy.state, policy.state.pages[0]) == is_rebuilt
    assert policy.state.pages["clock_odds"].max() < 0.0
    rates = [policy.estimate(page, 100 * DAY).change_rate * DAY for page in range(30)]
    assert np.median(rates) == pytest.approx(1.0, rel=0.25)


def test_a_page_made_on_demand_says_nothing_of_the_others_of_its_site():
    policy = BayesianIndex()
    policy.add([Page(n, seen_at=0.0, site="s") for n in range(2)])
    for day in range(1, 9):
        policy.observe([Observation(0, day * DAY, Outcome.UNCHANGED, day * DAY - 5.0)])
    assert not is_stamped(policy.state, policy.state.pages[1])
    policy.observe([Observation(0, 9 * DAY, Outcome.UNCHANGED, 8.5 * DAY)])
    assert is_stamped(policy.state, policy.state.pages[1])


def likelihoods_at(policy: BayesianIndex, *pages: int) -> np.ndarray:
    """What is known of the rates of pages by their own polls."""
    own = policy.state_dict(pages)
    return likelihoods_of(own["page.likelihood"], own["page.first_rate"])


def first_copy(days_ago: float | None) -> BayesianIndex:
    """A page whose first copy says when it changed."""
    policy = BayesianIndex()
    policy.add([Page(0)])
    policy.state.shared["gap"] = 20 * DAY  # so the base prior is that of a poll in 20 days
    policy.state.shared["prior"] = base_prior(20 * DAY)
    now = 1_000 * DAY
    told = None if days_ago is None else now - days_ago * DAY
    policy.observe([Observation(0, now, Outcome.CHANGED, told)])
    return policy


@pytest.mark.parametrize("days_ago", [1.0, 30.0, 900.0])
def test_the_time_of_a_first_copy_is_that_of_a_change_or_of_a_birth(days_ago):
    """The likelihood is (rate + births) e^(-rate since), with a birth a year."""
    likelihood = likelihoods_at(first_copy(days_ago), 0)[0]
    told = (RATES + 1 / (365 * DAY)) * np.exp(-RATES * days_ago * DAY)
    # Times are rounded to half a percent, and not the likelihood of every rate is kept.
    assert likelihood == pytest.approx(told / told.max(), rel=0.02, abs=1e-3)


def test_a_page_that_changed_lately_is_taken_for_faster_than_one_that_did_not():
    policies = map(first_copy, (1.0, 10.0, 100.0, 1_000.0))
    rates = [policy.estimate(0, 1_001 * DAY).change_rate for policy in policies]
    assert rates == sorted(rates, reverse=True)


def test_a_first_copy_that_was_stamped_with_the_time_of_its_answer_tells_nothing():
    undated, stamped = first_copy(None), first_copy(60.0 / DAY)
    assert stamped.estimate(0, 1_001 * DAY) == undated.estimate(0, 1_001 * DAY)


def test_a_time_that_first_copies_of_a_site_share_tells_only_that_they_were_quiet_since():
    policy = BayesianIndex()
    policy.add([Page(page, site="one" if page < 3 else "two") for page in range(4)])
    now = 1_000 * DAY
    for page in range(4):
        told = now - 10 * DAY + 60.0 * page
        policy.observe([Observation(page, now, Outcome.CHANGED, told)])
    first, *deployed, other = likelihoods_at(policy, 0, 1, 2, 3)
    quiet = np.exp(-RATES * 10 * DAY)
    for likelihood in deployed:
        assert likelihood == pytest.approx(quiet, rel=0.1, abs=1e-6)
    assert first == pytest.approx(other, rel=0.1, abs=1e-6)
    assert first[0] < 0.1 * first.max()


def test_a_time_of_last_night_that_first_copies_share_tells_nothing():
    """The site may be built anew each night, or was deployed then."""
    policy = BayesianIndex()
    policy.add([Page(page, site="one") for page in range(2)])
    for page in range(2):
        policy.observe([Observation(page, 1_000 * DAY, Outcome.CHANGED, 999.5 * DAY)])
    assert likelihoods_at(policy, 1) == pytest.approx(1.0)
    assert policy.state.pages["tick"][1] == policy.state.pages["tick"][0] > 0.0


def test_changes_of_a_busy_site_are_no_deployment():
    policy = BayesianIndex()
    policy.add([Page(page, site="news") for page in range(3)])
    for page, minutes in enumerate((20.0, 40.0, 30.0)):
        now = 1_000 * DAY + 600.0 * page
        policy.observe([Observation(page, now, Outcome.CHANGED, now - 60 * minutes)])
    for likelihood in likelihoods_at(policy, 0, 1, 2):
        assert likelihood[RATES < 0.1 / DAY].max() < 0.1 * likelihood.max()


def test_a_first_time_near_0_is_no_deployment():
    policy = BayesianIndex()
    policy.add([Page(0, site="one")])
    policy.observe([Observation(0, DAY, Outcome.CHANGED, 600.0)])
    likelihood = likelihoods_at(policy, 0)[0]
    assert likelihood[0] < 0.1 * likelihood.max()


def found_late(last_changed_at: float) -> BayesianIndex:
    """A page that is added on day 20, and says at its first copy, on day 21, when it changed."""
    policy = BayesianIndex()
    policy.add([Page(0)])
    for day in range(1, 21):
        policy.select(day * DAY, 1)
        policy.observe([Observation(0, day * DAY, Outcome.UNCHANGED)])
    policy.add([Page(1)])
    policy.observe([Observation(1, 21 * DAY, Outcome.CHANGED, last_changed_at)])
    return policy


def test_the_time_of_a_young_page_may_well_be_that_of_its_birth():
    policy = found_late(18 * DAY)
    young = policy.state.pages[1]
    assert young["young"] == 1
    assert young["spell"] == 3 * DAY
    told = (RATES + 1 / (3 * DAY)) * np.exp(-RATES * 3 * DAY)
    assert likelihoods_at(policy, 1)[0] == pytest.approx(told / told.max(), rel=0.06, abs=1e-6)


def test_a_page_that_was_there_long_before_it_was_added_is_not_young():
    old = found_late(10 * DAY).state.pages[1]
    assert old["young"] == 0
    assert old["spell"] == 11 * DAY
