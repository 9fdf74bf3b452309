"""The share of pages that change by the clock: counted as by hand, and what that means for one."""

import math

import numpy as np
import pytest

from pollwise.objectives import Age, Delay, Detection, Freshness
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.policies.index.clock_share import clock_lift
from pollwise.policies.index.fields import code_of_odds, tick_of
from pollwise.policies.index.page_index import by_clock, index_of, time_to_reach
from pollwise.policies.index.state import FIRST_CLOCK_ODDS, ODDS_UNIT, TELLS_AFTER
from pollwise.types import Observation, Outcome, Page

DAY, HOUR = 86_400.0, 3600.0
NIGHT = 3 * HOUR


def nightly(policy: BayesianIndex, page: int, hours: list[float]) -> None:
    """Polls of a page that is rebuilt each night, so many hours after the begin."""
    for hour in hours:
        now = hour * HOUR
        told = now - (now - NIGHT) % DAY
        policy.observe([Observation(page, now, Outcome.CHANGED, last_changed_at=told)])


def share(odds: float) -> float:
    return 1.0 / (1.0 + math.exp(-odds))


def expected_lift(policy: BayesianIndex, page: int, members: list[int]) -> float:
    """The same from the definitions, by sums over all other pages."""
    pages = policy.state.pages

    def counted(others: list[int]) -> tuple[float, int]:
        told = [one for one in others if one != page and pages["dates"][one] > 1]
        return sum(
            share(pages["clock_odds"][one] * ODDS_UNIT - FIRST_CLOCK_ODDS) for one in told
        ), len(told)

    clocked, dated = counted(list(range(len(policy.state.pages))))
    of_all = (clocked + 20.0 * share(FIRST_CLOCK_ODDS)) / (dated + 20.0)
    clocked, dated = counted(members)
    of_site = (clocked + 3.0 * of_all) / (dated + 3.0)
    return math.log(of_site / (1.0 - of_site)) - FIRST_CLOCK_ODDS


def of_two_sites() -> BayesianIndex:
    """Six pages of a site that is rebuilt at night, and two of another one that is not."""
    policy = BayesianIndex(objective=Freshness())
    policy.add([Page(page, site="a" if page < 6 else "b") for page in range(8)])
    for page in range(5):
        nightly(policy, page, [20 + page, 70.5 + page, 140 + page])
    nightly(policy, 5, [21])
    for now, told in ((1.0, 0.4), (2.3, 1.6), (3.1, 2.2)):
        policy.observe([Observation(6, now * DAY, Outcome.CHANGED, last_changed_at=told * DAY)])
    nightly(policy, 7, [30])
    return policy


def test_the_share_of_a_site_is_that_of_its_pages_and_of_all():
    policy = of_two_sites()
    lifts = [clock_lift(policy.state, page) for page in range(8)]
    for page, lift in enumerate(lifts):
        members = list(range(6)) if page < 6 else [6, 7]
        assert lift == pytest.approx(expected_lift(policy, page, members), abs=1e-5)
    assert lifts[5] > 3.5  # one date, and all siblings have a clock
    assert lifts[7] < lifts[5] - 2.0


def test_counts_stay_right_as_pages_leave_and_as_learned_state_is_put_back():
    policy = of_two_sites()
    policy.discard([0, 6])
    common = policy.state.shared[0]
    assert common["dated"] == 4
    again = BayesianIndex(objective=Freshness())
    again.add([Page(page, site="a" if page < 6 else "b") for page in (1, 2, 3, 4, 5, 7)])
    again.load_state_dict(policy.state_dict())
    for field in ("clocked", "dated"):
        assert again.state.shared[0][field] == pytest.approx(common[field], abs=1e-9)
        assert np.allclose(again.state.sites[field][:2], policy.state.sites[field][:2])


def test_a_page_with_one_date_is_awaited_when_a_date_will_tell():
    policy = of_two_sites()
    state = policy.state
    policy.estimate(5, 3 * DAY)
    own, common = state.pages[5], state.shared[0]
    lift = state.shared["clock_lift"] = clock_lift(state, 5)
    assert by_clock(own, common)
    tick, odds = tick_of(own), own["clock_odds"] * ODDS_UNIT + lift
    for hours, waits in ((1, True), (7, True), (9, False)):
        now = DAY + tick + hours * HOUR
        common["clock_lift"] = -20.0
        at_any_time = index_of(state.pages, state.shared, 5, now)
        common["clock_lift"] = lift
        index = index_of(state.pages, state.shared, 5, now)
        # It may have no clock, and then be worth a poll before.
        assert (index == pytest.approx(at_any_time * share(-odds))) == waits
        assert index >= at_any_time * share(-odds) * 0.999
    price = index / 2.0
    wait = time_to_reach(state.pages, state.shared, 5, price)
    assert (own["seen_at"] + wait - tick) % DAY == pytest.approx(TELLS_AFTER, abs=2.0)
    own["clock_odds"] = code_of_odds(1.0)
    wait = time_to_reach(state.pages, state.shared, 5, price)
    assert (own["seen_at"] + wait - tick) % DAY == pytest.approx(0.0, abs=2.0)


@pytest.mark.parametrize("objective", [Freshness(), Delay(), Age()])
def test_a_page_of_which_no_date_has_spoken_for_the_clock_has_no_window(objective):
    """A poll in it would find a change less than eight hours ago, which says nothing."""
    policy = BayesianIndex(objective=objective)
    policy.add([Page(0, seen_at=0.0)])
    nightly(policy, 0, [21, 45])
    state = policy.state
    policy.estimate(0, 3 * DAY)
    own, common = state.pages[0], state.shared[0]
    now = 3 * DAY + tick_of(own)
    own["seen_at"] = now - 2 * HOUR

    def index(lift: float, at: float) -> float:
        common["clock_lift"] = lift
        return index_of(state.pages, state.shared, 0, at)

    own["clock_odds"] = code_of_odds(5.0)  # without a lift
    assert index(0.0, now - 60.0) > 2.0 * index(-20.0, now - 60.0) * share(-4.0)
    own["clock_odds"] = code_of_odds(-2.0)
    for at in (now - 60.0, now + TELLS_AFTER - 60.0):
        assert index(8.0, at) == pytest.approx(index(-20.0, at) * share(-4.0))


@pytest.mark.parametrize("objective", [Freshness(), Delay(), Age(), Detection()])
def test_a_page_by_the_clock_is_polled_at_other_times_where_polls_are_cheap(objective):
    policy = BayesianIndex(objective=objective)
    policy.add([Page(0, site="a")])
    nightly(policy, 0, [20, 70.5, 140])
    state = policy.state
    policy.estimate(0, 6 * DAY)
    own = state.pages[0]
    odds = own["clock_odds"] * ODDS_UNIT
    assert odds > 0.0
    own["clock_odds"] = code_of_odds(-6.0)
    dear, cheap = 8 * HOUR, 0.5 * HOUR
    prices = [
        index_of(state.pages, state.shared, 0, own["seen_at"] + wait) for wait in (dear, cheap)
    ]
    own["clock_odds"] = code_of_odds(odds)
    waits = [time_to_reach(state.pages, state.shared, 0, price) for price in prices]
    chance = share(-odds)
    own["clock_odds"] = code_of_odds(-6.0)
    expected = time_to_reach(state.pages, state.shared, 0, prices[1] / chance)
    assert waits[1] == pytest.approx(expected)
    assert cheap < waits[1] < waits[0]
    at_tick = (tick_of(own) - own["seen_at"]) % DAY
    assert waits[0] == pytest.approx(at_tick, abs=2.0)


def test_others_say_nothing_of_a_page_whose_times_are_doubted():
    policy = of_two_sites()
    policy.state.pages["date_odds"][5] = code_of_odds(1.0)
    assert clock_lift(policy.state, 5) == 0.0


@pytest.mark.parametrize(
    ("objective", "lifted"), [(Delay(), True), (Age(), True), (Detection(), False)]
)
def test_others_say_nothing_where_the_time_of_the_day_does_not_matter(objective, lifted):
    policy = BayesianIndex(objective=objective)
    policy.add([Page(page, site="a") for page in range(6)])
    for page in range(5):
        nightly(policy, page, [20 + page, 70.5 + page, 140 + page])
    nightly(policy, 5, [21])
    assert (clock_lift(policy.state, 5) > 3.5) == lifted


def test_a_site_that_stamps_its_pages_has_no_clock():
    policy = of_two_sites()
    policy.state.sites["stamp_odds"][0] = 8.0
    assert clock_lift(policy.state, 5) == 0.0
