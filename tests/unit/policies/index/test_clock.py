"""The clock is found where there is one, and polls then come just after the tick."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.objectives import Age, Delay, Detection, Freshness
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.policies.index.belief import refresh_belief
from pollwise.policies.index.clock import learn_clock, learn_tick, learn_window, ticks_since_change
from pollwise.policies.index.fields import code_of_odds, odds_of, set_tick, span_of, tick_of
from pollwise.policies.index.page_index import by_clock, ticks_between, ticks_since_copy
from pollwise.policies.index.state import (
    CLOCK_DAYS,
    CLOCK_TICKS,
    FIRST_CLOCK_ODDS,
    ODDS_UNIT,
    SPAN_UNIT,
    TICK_UNIT,
)
from pollwise.types import Observation, Outcome, Page

DAY, HOUR = 86_400.0, 3600.0
NIGHT = 3 * HOUR
DAYS = 120


def nightly(rng: np.random.Generator) -> np.ndarray:
    """At 3 o'clock, give or take a few minutes, three nights of four."""
    nights = np.flatnonzero(rng.random(DAYS) < 0.75)
    return nights * DAY + NIGHT + rng.uniform(-300.0, 300.0, len(nights))


def every_six_hours(rng: np.random.Generator) -> np.ndarray:
    return np.arange(0.0, DAYS * DAY, 6 * HOUR) + NIGHT


def at_random(rng: np.random.Generator) -> np.ndarray:
    return np.cumsum(rng.exponential(1.4 * DAY, 2 * DAYS))


class Pages:
    """Pages that change at certain times; polls tell when they changed last."""

    def __init__(self, times: list[np.ndarray]) -> None:
        self.times = times
        self.seen = [0.0] * len(times)

    def poll(self, page: int, now: float) -> Observation:
        index = int(np.searchsorted(self.times[page], now, "right"))
        latest = float(self.times[page][index - 1]) if index else 0.0
        changed = latest > self.seen[page]
        self.seen[page] = now
        told = latest if changed else None
        return Observation(page, now, Outcome(int(changed)), last_changed_at=told)


def watching(count: int, **options) -> BayesianIndex:
    policy = BayesianIndex(**options)
    policy.add([Page(page, seen_at=0.0) for page in range(count)])
    return policy


def polled_at_random(kind, count: int = 8) -> BayesianIndex:
    """A policy that has polled pages of a kind about every 1.5 days, whatever it would choose."""
    pages = Pages([kind(np.random.default_rng(seed)) for seed in range(count)])
    policy, rng = watching(count, objective=Freshness()), np.random.default_rng(1)
    for page in range(count):
        for now in np.cumsum(rng.uniform(0.5, 2.5, DAYS)) * DAY:
            if now < DAYS * DAY:
                policy.observe([pages.poll(page, now)])
    return policy


def test_the_clock_of_nightly_pages_is_found():
    own = polled_at_random(nightly).state.pages[:8]
    assert np.all(own["clock_odds"] * ODDS_UNIT > 3.0)
    assert np.all(
        np.abs(own["tick"] * TICK_UNIT - NIGHT - 1200.0) < 400.0
    )  # soon after the latest change


@pytest.mark.parametrize("kind", [every_six_hours, at_random])
def test_no_clock_is_found_where_there_is_none(kind):
    own = polled_at_random(kind).state.pages[:8]
    assert np.all(own["dates"] > 20)
    assert np.all(own["clock_odds"] * ODDS_UNIT < -1.0)


@pytest.mark.parametrize(
    "objective", [Detection(), Freshness(), Delay(), Age()], ids=lambda o: o.name
)
def test_polls_come_just_after_the_tick(objective):
    """Eight pages, each with an hour of its own, and one poll every three hours."""
    rng = np.random.default_rng(5)
    pages = Pages([nightly(rng) + 3 * HOUR * page for page in range(8)])
    policy = watching(8, objective=objective)
    waited = []
    for now in np.arange(NIGHT + HOUR, DAYS * DAY, 3 * HOUR):
        for page in policy.select(now, 1).page_ids.tolist():
            policy.observe([pages.poll(page, now)])
            if now > DAYS * DAY / 2:
                waited.append((now - NIGHT - 3 * HOUR * page) % DAY)
    assert np.median(waited) == HOUR
    assert np.mean(np.array(waited) <= 4 * HOUR) > 0.75


def comparing(times: list[tuple[float, float]]) -> np.void:
    """A page after some (time of the poll, time of the change as told)."""
    state = watching(1).state
    for polled_at, changed_at in times:
        learn_clock(state, 0, polled_at, True, changed_at)
        learn_tick(state.pages[0], changed_at)
    return state.pages[0]


def test_the_first_date_only_sets_the_tick():
    own = comparing([(10 * DAY, 2 * DAY + NIGHT)])
    assert odds_of(own["clock_odds"]) == FIRST_CLOCK_ODDS
    assert tick_of(own) == pytest.approx(NIGHT + 1200.0, abs=TICK_UNIT / 2)


def test_times_of_day_agree_across_midnight():
    own = comparing([(3 * DAY, DAY - 1300.0), (6 * DAY, 5 * DAY - 1100.0)])
    assert odds_of(own["clock_odds"]) == pytest.approx(
        FIRST_CLOCK_ODDS + math.log(29), abs=ODDS_UNIT / 2
    )
    assert tick_of(own) == pytest.approx(0.0, abs=TICK_UNIT)


def test_the_tick_is_near_the_mean_of_what_was_told():
    times = [NIGHT + 60.0 * minute for minute in (0, 10, 5, 5, 13)]
    own = comparing([((n + 1) * DAY, n * DAY + time) for n, time in enumerate(times)])
    assert tick_of(own) == pytest.approx(NIGHT + 420.0 + 1200.0, abs=3 * TICK_UNIT)


def test_agreement_says_nothing_soon_after_the_tick_and_difference_always_does():
    """Nothing but what the poll says that finds the change."""
    policy = watching(1)
    policy.observe([Observation(0, DAY, Outcome.CHANGED, last_changed_at=NIGHT)])
    refresh_belief(policy.state, 0)
    own, moved = policy.state.pages[0], []
    for told in (math.nan, 2 * DAY + NIGHT):
        own["clock_odds"] = 0
        learn_clock(policy.state, 0, 2 * DAY + NIGHT + 600.0, True, told)
        moved.append(odds_of(own["clock_odds"]))
    assert moved[0] == moved[1] < 1.0
    late = comparing([(DAY, NIGHT), (2 * DAY + 5 * HOUR, 2 * DAY + 4.5 * HOUR)])
    assert odds_of(late["clock_odds"]) == -6.0  # the least that they become


def test_a_tick_well_known_survives_a_change_at_another_hour():
    nights = [((n + 1) * DAY, n * DAY + NIGHT) for n in range(5)]
    own = comparing([*nights, (9 * DAY, 8 * DAY + 15 * HOUR)])
    assert own["clock_odds"] > 0
    assert tick_of(own) == pytest.approx(NIGHT + 1200.0, abs=TICK_UNIT / 2)


def test_ticks_since_a_change_leave_out_its_own():
    own = comparing([(DAY, NIGHT)])
    assert ticks_between(own, 2 * DAY, 5 * DAY) == 3
    for changed_at in (2 * DAY + NIGHT - 900.0, 2 * DAY + NIGHT, 2 * DAY + NIGHT + 1400.0):
        assert ticks_since_change(own, changed_at, 3 * DAY) == 0
        assert ticks_since_change(own, changed_at, 3 * DAY + 5 * HOUR) == 1
        assert ticks_since_change(own, changed_at, 6 * DAY) == 3


def test_by_the_clock_only_ticks_count_as_time():
    """Between the tick and the next one a change is not to be expected."""
    policy = polled_at_random(nightly, 1)
    policy.state.shared["recalibration"] = 0.0
    assert by_clock(policy.state.pages[0], policy.state.shared[0])
    made = (DAYS + 1) * DAY + NIGHT + HOUR
    policy.observe([Observation(0, made, Outcome.CHANGED, last_changed_at=made - HOUR)])
    before, after = (policy.chances([0], made + hours * HOUR)[0] for hours in (22.0, 24.0))
    assert before < 0.01
    assert after > 0.5


@pytest.mark.parametrize("objective", [Freshness(), Delay(), Age()])
def test_a_page_by_the_clock_that_waits_for_long_is_due_at_a_tick_all_the_same(objective):
    """Its index goes on rising, as of the last one of the days that have one."""
    policy = BayesianIndex(objective=objective)
    policy.add([Page(0, seen_at=0.0)])
    for day in (20, 40):
        policy.observe([Observation(0, day * DAY, Outcome.UNCHANGED)])
    policy.state.pages["clock_odds"][0] = 5.0 / ODDS_UNIT

    def index(days: float) -> float:
        return policy.estimate(0, (40 + days) * DAY).index

    assert index(CLOCK_TICKS) < index(70) == index(76) < index(77) < index(200)
    assert index(200.5) == pytest.approx(index(200) / 2)
    assert index(CLOCK_DAYS[-1]) == index(2 * CLOCK_DAYS[-1])
    policy.state.shared["price"] = 0.999 * index(77)
    assert policy.estimate(0, 41 * DAY).due_at == pytest.approx((40 + 77) * DAY)


@pytest.mark.parametrize(("odds", "surged"), [(5.0, False), (-5.0, True)])
def test_a_change_by_the_clock_says_nothing_of_the_siblings(odds, surged):
    policy = BayesianIndex(objective=Freshness())
    policy.add([Page(page, site="one", seen_at=0.0) for page in range(2)])
    policy.state.pages["clock_odds"][0] = odds / ODDS_UNIT
    policy.observe([Observation(0, DAY, Outcome.CHANGED)])
    refresh_belief(policy.state, 1)
    assert (policy.state.shared["overlap"][0] > 0.0) == surged


def windowed(found: list[tuple[float, float]], odds: float = FIRST_CLOCK_ODDS) -> np.void:
    """A page of which changes were found between these times."""
    own = watching(1).state.pages[0]
    own["clock_odds"] = code_of_odds(odds)
    for begin, end in found:
        learn_window(own, begin, end)
    return own


def window(own: np.void) -> tuple[float, float]:
    """When it begins and ends, in hours of the day."""
    end = tick_of(own) / HOUR
    return end - span_of(own) / HOUR, end


EXACT = 2 * SPAN_UNIT / HOUR


def test_the_window_is_where_all_changes_were_found():
    own = windowed([(2 * HOUR, 8 * HOUR), (DAY + 4 * HOUR, DAY + 10 * HOUR)])
    assert window(own) == pytest.approx((4.0, 8.0), abs=EXACT)
    learn_window(own, 9 * DAY, 9 * DAY + 5 * HOUR)
    assert window(own) == pytest.approx((4.0, 5.0), abs=EXACT)


def test_a_window_may_span_midnight():
    own = windowed([(DAY - HOUR, DAY + HOUR), (3 * DAY - 2 * HOUR, 3 * DAY + HOUR / 2)])
    assert window(own) == pytest.approx((-1.0, 0.5), abs=EXACT)


def test_a_window_is_not_shorter_than_twenty_minutes():
    own = windowed([(DAY, DAY + HOUR), (2 * DAY + 1790.0, 2 * DAY + 1810.0)])
    assert window(own) == pytest.approx((1 / 3, 2 / 3), abs=EXACT)


@pytest.mark.parametrize("end", [8.1 * HOUR, 0.0, -HOUR])
def test_polls_far_apart_or_of_a_clock_that_went_back_say_nothing_of_the_hour(end):
    own = windowed([(0.0, end)])
    assert own["dates"] == 0


def test_a_change_just_beside_its_window_widens_it():
    before = (2 * HOUR, 3 * HOUR)
    own = windowed([before, (DAY + 3.2 * HOUR, DAY + 6 * HOUR)])
    assert window(own) == pytest.approx((2.0, 3.2 + 1 / 3), abs=EXACT)
    own = windowed([before, (DAY - 2 * HOUR, DAY + 1.8 * HOUR)])
    assert window(own) == pytest.approx((1.8 - 1 / 3, 3.0), abs=EXACT)


def test_a_change_far_from_its_window_begins_another_unless_there_is_a_clock():
    found = [(2 * HOUR, 3 * HOUR), (DAY + 15 * HOUR, DAY + 16 * HOUR)]
    assert window(windowed(found)) == pytest.approx((15.0, 16.0), abs=EXACT)
    assert window(windowed(found, 2.0)) == pytest.approx((2.0, 3.0), abs=EXACT)


@given(
    begin=st.floats(0.0, 3.0),
    waits=st.lists(st.floats(0.0, 2.0), min_size=1, max_size=5),
    end=st.floats(0.0, 24.0),
    span=st.floats(0.1, 8.0),
)
def test_the_ticks_of_a_window_add_up(begin, waits, end, span):
    own = windowed([(DAY + (end - span) * HOUR, DAY + end * HOUR)])
    times = (begin + np.cumsum([0.0, *waits])) * DAY
    ticks = [ticks_between(own, *pair) for pair in itertools.pairwise(times)]
    assert min(ticks) >= -1e-9
    assert sum(ticks) == pytest.approx(ticks_between(own, times[0], times[-1]), abs=1e-9)
    assert ticks_between(own, times[0], times[0] + 2 * DAY) == pytest.approx(2.0)
    tick = 5 * DAY + tick_of(own)
    assert ticks_between(own, tick - span_of(own) / 4, tick) == pytest.approx(0.25, abs=1e-6)


class Silent(Pages):
    """The same pages, but polls tell no time."""

    def poll(self, page: int, now: float) -> Observation:
        told = super().poll(page, now)
        return Observation(page, now, told.outcome)


def polled_by_itself(kind, count: int = 8, polls_a_day: int = 48) -> tuple[BayesianIndex, Silent]:
    """A policy that has chosen all of its polls; no page told when it changed."""
    pages = Silent([kind(np.random.default_rng(seed)) for seed in range(count)])
    policy = watching(count, objective=Delay())
    for now in np.arange(HOUR, DAYS * DAY, DAY / polls_a_day):
        for page in policy.select(now, 1).page_ids.tolist():
            policy.observe([pages.poll(page, now)])
    return policy, pages


def test_polls_alone_find_the_clock_of_nightly_pages():
    """Six polls a day and page; the eight pages change within the same ten minutes."""
    policy, _ = polled_by_itself(nightly)
    own = policy.state.pages[:8]
    assert np.all(own["dates"] < 0)
    assert np.all(own["clock_odds"] > 0)
    away = (own["tick"] * TICK_UNIT - -own["dates"] * SPAN_UNIT / 2 - NIGHT + DAY / 2) % DAY
    assert np.all(np.abs(away - DAY / 2) < 2 * HOUR)


@pytest.mark.parametrize("kind", [every_six_hours, at_random])
def test_polls_alone_find_no_clock_where_there_is_none(kind):
    own = polled_by_itself(kind)[0].state.pages[:8]
    assert np.mean(own["clock_odds"] > 0) <= 1 / 8


def test_a_window_outlives_a_restart():
    policy, _ = polled_by_itself(nightly)
    again = watching(8, objective=Delay())
    again.load_state_dict(policy.state_dict())
    for name in ("dates", "tick", "clock_odds"):
        kept, before = again.state.pages[name][:8], policy.state.pages[name][:8]
        np.testing.assert_array_equal(kept, before)


def test_a_told_time_takes_the_place_of_a_window():
    own = windowed([(2 * HOUR, 3 * HOUR)])
    learn_tick(own, DAY + NIGHT)
    assert own["dates"] == 1
    assert window(own) == pytest.approx((3 - 1 / 3, 3 + 1 / 3), abs=EXACT)


@pytest.mark.parametrize("objective", [Detection(), Freshness(), Delay(), Age()])
def test_after_a_change_in_the_window_the_next_one_is_awaited_the_day_after(objective):
    policy = watching(1, objective=objective)
    own = policy.state.pages[0]
    own["dates"], own["clock_odds"] = 5, code_of_odds(4.0)
    set_tick(own, NIGHT + 1200.0)
    told = 3 * DAY + NIGHT
    tick = 3 * DAY + NIGHT + 1200.0
    policy.observe([Observation(0, told + 300.0, Outcome.CHANGED, last_changed_at=told)])
    own = policy.state.pages[0]
    assert ticks_since_copy(own, tick + HOUR) == 0.0
    assert ticks_since_copy(own, tick + DAY) == pytest.approx(1.0)
    assert ticks_since_copy(own, tick + DAY - 1200.0) == pytest.approx(0.5, abs=1e-3)
    assert policy.chances([0], tick + HOUR)[0] < policy.chances([0], tick + DAY - 1800.0)[0] / 2
    policy.state.shared["price"] = 0.99 * policy.estimate(0, tick + DAY).index
    due_at = policy.estimate(0, tick).due_at
    assert tick + DAY - 2400.0 < due_at < tick + DAY + 1.0
    # A copy without a change has the rest of the window before it.
    policy.observe([Observation(0, tick + DAY - 1200.0, Outcome.UNCHANGED)])
    assert ticks_since_copy(own, tick + DAY) == pytest.approx(0.5, abs=1e-3)


@pytest.mark.parametrize(("hour", "speaks_against"), [(2.2, False), (2.9, False), (9.0, True)])
def test_the_first_time_that_is_told_is_compared_with_the_window(hour, speaks_against):
    policy = watching(1, objective=Delay())
    own = policy.state.pages[0]
    learn_window(own, DAY + 2 * HOUR, DAY + 3 * HOUR)
    own["clock_odds"] = code_of_odds(2.0)
    told = 3 * DAY + hour * HOUR
    policy.observe([Observation(0, 4 * DAY, Outcome.CHANGED, last_changed_at=told)])
    assert own["dates"] == 1
    odds = odds_of(policy.state.pages[0]["clock_odds"])
    if speaks_against:
        assert odds == pytest.approx(2.0 - math.log(29), abs=ODDS_UNIT)
    else:
        assert abs(odds - 2.0) < 0.2


@pytest.mark.parametrize(
    ("dates", "tick", "hours"),
    [
        (5, NIGHT, (NIGHT - 2400.0, NIGHT)),
        (-10, NIGHT, (NIGHT - 10 * SPAN_UNIT, NIGHT)),
        (1, 600.0, (DAY - 1800.0, 600.0)),
        (-127, HOUR, (DAY - 7 * HOUR, HOUR)),
    ],
)
def test_the_hours_are_told_of_a_page_by_the_clock(dates, tick, hours):
    policy = watching(1, objective=Delay())
    own = policy.state.pages[0]
    own["dates"] = dates
    set_tick(own, tick)
    own["clock_odds"] = code_of_odds(1.0)
    told = policy.estimate(0, DAY)
    assert (told.daily_from, told.daily_until) == pytest.approx(hours, abs=TICK_UNIT)
    own["clock_odds"] = code_of_odds(-1.0)
    told = policy.estimate(0, DAY)
    assert told.daily_from is told.daily_until is None


def test_a_clock_that_polls_have_found_is_never_sure():
    """Polls between two windows go on, as one page of thirteen may have none."""
    policy, _ = polled_by_itself(nightly)
    assert np.all(policy.state.pages[:8]["clock_odds"] * ODDS_UNIT <= 2.5)
