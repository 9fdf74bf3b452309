"""The indices of surges and ticks against cycles played through day by day."""

import itertools
import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import cumulative_trapezoid, trapezoid

from pollwise.objectives import Age, Delay, Detection, Ephemeral, Freshness
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.policies.index.fields import span_of
from pollwise.policies.index.page_index import index_of, ticks_between, time_to_reach
from pollwise.policies.index.state import NO_SURGE, ODDS_UNIT, SPAN_UNIT, TICK_UNIT
from pollwise.policies.index.worth import clock_table, surge_kind
from pollwise.rates.lattice import RATE_COUNT, RATES, time_at, time_step
from pollwise.types import Observation, Outcome, Page

Floats = NDArray[np.float64]
DAY = 86_400.0
OBJECTIVES = [Detection(), Freshness(), Delay()]
BY_CLOCK = [*OBJECTIVES, Age()]


def reward_of_days(name: str, ticks: int, chance: float) -> float:
    """The mean reward of a cycle of so many days, over all that may happen at its ticks.

    The copy is made right after a tick; the last tick comes right before the next poll.
    """
    mean = 0.0
    for pattern in itertools.product((0, 1), repeat=ticks):
        probability = math.prod(chance if changed else 1 - chance for changed in pattern)
        days = [day for day, changed in enumerate(pattern, start=1) if changed]
        if name == "detection":
            reward = float(bool(days))
        elif name == "freshness":
            reward = DAY * (min(days) if days else ticks)
        elif name == "age":
            reward = -((DAY * (ticks - min(days))) ** 2) / 2 if days else 0.0
        else:
            reward = -DAY * sum(ticks - day for day in days)
        mean += probability * reward
    return mean


@pytest.mark.parametrize("objective", BY_CLOCK, ids=lambda one: one.name)
@pytest.mark.parametrize("place", [30, 40, 44])  # a change in 12, in 1.2 and in 0.5 days
def test_polling_by_the_clock_at_the_index_is_best_at_that_price(objective, place):
    """By renewal and reward: the cycle of n days is the best one if the price is between the
    indices after n - 1 and after n ticks."""
    table, _ = clock_table(objective)
    chance = -math.expm1(-RATES[place] * DAY)
    index = table[:, place]
    days = np.arange(1, 10)
    rewards = np.array([reward_of_days(objective.name, int(n), chance) for n in days])
    assert np.all(np.diff(index[:9]) > 0)
    for ticks in range(1, 8):
        price = (index[ticks - 1] + index[ticks]) / 2
        assert days[np.argmax((rewards - price) / days)] == ticks
        # At the index itself, this tick and the next are equally good.
        now, next_day = ((rewards - index[ticks]) / days)[ticks - 1 : ticks + 1]
        assert now == pytest.approx(next_day, rel=1e-9, abs=1e-9 * DAY)


def test_the_age_of_a_copy_counts_until_the_next_tick():
    """At the first tick a poll is worth what the day after it would cost; later than that, less."""
    table, late = clock_table(Age())
    chance = -np.expm1(-RATES * DAY)
    assert late
    np.testing.assert_allclose(table[1], chance * DAY**2 / 2, rtol=1e-9)


@pytest.mark.parametrize("objective", [Freshness(), Delay()], ids=lambda one: one.name)
@pytest.mark.parametrize("place", [30, 40])
def test_in_the_course_of_the_day_the_index_falls_to_nothing(objective, place):
    """The price at which a poll now and one at the next tick are equally good, exactly: it lies
    on or below the straight line from the index to 0."""
    table, late = clock_table(objective)
    chance = -math.expm1(-RATES[place] * DAY)
    assert late
    days = np.arange(1, 13)
    rewards = np.array([reward_of_days(objective.name, int(n), chance) for n in days])
    for ticks, part in itertools.product((1, 2, 5), (0.0, 0.3, 0.7, 1.0)):
        # What a day brings if the poll waits for the next tick, less the worth of a poll now.
        if objective.name == "freshness":
            waiting = DAY * (1 - (1 - (1 - chance) ** ticks) * (1 - part))
        else:
            waiting = -DAY * ticks * chance * (1 - part)
        exact = np.max(rewards - days * waiting)
        line = table[ticks, place] * (1 - part)
        assert exact <= line * (1 + 1e-9) + 1e-6
        if ticks == 1 or part in (0.0, 1.0):
            assert exact == pytest.approx(line, rel=1e-9, abs=1e-6)


def test_a_late_poll_detects_as_much_as_one_in_time():
    assert not clock_table(Detection())[1]


def test_for_items_that_fade_there_is_neither():
    table, late = clock_table(Ephemeral(decay=1e-5))
    assert not table.any()
    assert not late
    assert surge_kind(Ephemeral(decay=1e-5)) == NO_SURGE


def certain_of(place: int, objective, **fields) -> BayesianIndex:
    """A policy that watches one page, and knows its rate."""
    policy = BayesianIndex(objective=objective)
    policy.add([Page(0, seen_at=0.0)])
    own = policy.state.pages[0]
    policy.state.shared["belief"] = np.eye(RATE_COUNT)[place]
    units = {"clock_odds": ODDS_UNIT, "tick": TICK_UNIT}
    for name, value in fields.items():
        own[name] = value / units.get(name, 1.0)
    return policy


def cycle_with_a_surge(name: str, rate: float, at: float, surge: float, length: float) -> float:
    """The reward of a cycle in which a surge comes at a time, by summing up short steps."""
    if name == "detection":
        return -math.expm1(-rate * (length + (surge if length > at else 0.0)))
    steps = 400_000
    times = (np.arange(steps) + 0.5) * length / steps
    counted = times + np.where(times > at, surge, 0.0)
    if name == "freshness":
        return float(np.exp(-rate * counted).sum() * length / steps)
    return float(-(rate * counted).sum() * length / steps)


@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda one: one.name)
@pytest.mark.parametrize("surge_days", [0.3, 4.0])
def test_right_after_a_surge_the_index_is_that_of_a_cycle_with_one(objective, surge_days):
    """G(τ) - τ G'(τ); for detection, only G is counted to have risen."""
    rate, at = RATES[35], time_at(time_step(2.5 * DAY))
    surge = time_at(time_step(surge_days * DAY))
    after, later = at * (1 + 1e-6), at * (1 + 3e-3)

    def index(surge: float) -> float:
        reward, more = (
            cycle_with_a_surge(objective.name, rate, at, surge, end) for end in (after, later)
        )
        return reward - after * (more - reward) / (later - after)

    expected = index(surge)
    if objective.name == "detection":
        expected = index(0.0) + math.exp(-rate * at) * -math.expm1(-rate * surge)
    state = certain_of(35, objective).state
    state.shared["surge"] = surge
    assert index_of(state.pages, state.shared, 0, at) == pytest.approx(expected, rel=0.02)


def aging(changed: Callable[[Floats], Floats], length: float) -> float:
    """The index of a cycle for age: changed(t) is the chance of a change until t."""
    times = np.linspace(0.0, length, 200_001)
    age = cumulative_trapezoid(changed(times), times, initial=0.0)
    return length * float(age[-1]) - float(trapezoid(age, times))


@pytest.mark.parametrize("surge_days", [0.3, 4.0, 40.0])
def test_for_age_a_surge_counts_as_spread_evenly_since_the_copy(surge_days):
    rate, at = RATES[35], time_at(time_step(2.5 * DAY))
    surged = time_at(time_step(at + surge_days * DAY))
    state = certain_of(35, Age()).state
    state.shared["surge"] = surged - at
    expected = aging(lambda times: -np.expm1(-rate * surged / at * times), at)
    assert index_of(state.pages, state.shared, 0, at) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(("place", "exact"), [(12, 0.01), (25, 0.03), (35, 0.25)])
def test_for_age_a_signal_counts_from_its_time_on(place, exact):
    """At least so much is added; of a page that seldom changes by itself, that is all."""
    rate, at, signal = RATES[place], time_at(time_step(2.5 * DAY)), 0.7

    def changed(times: Floats, signalled: float) -> Floats:
        return 1.0 - np.exp(-rate * times) * np.where(times > signalled, 1.0 - signal, 1.0)

    state = certain_of(place, Age()).state
    state.shared["signal"] = signal
    for signalled in (0.0, 0.5 * DAY, 2.0 * DAY, at, 3.0 * DAY):
        state.shared["signalled"] = signalled
        index = index_of(state.pages, state.shared, 0, at)
        state.shared["signal"] = 0.0
        before = index_of(state.pages, state.shared, 0, at)
        state.shared["signal"] = signal
        added = aging(partial(changed, signalled=signalled), at) - before
        assert index - before <= added * 1.01 + 1e-3 * before
        assert index - before == pytest.approx(added, rel=exact, abs=1e-3 * before)


def test_a_page_by_the_clock_is_due_at_a_tick():
    policy = certain_of(40, Freshness(), clock_odds=5.0, tick=21_600.0, seen_at=3 * DAY + 30_000.0)
    state, (table, _) = policy.state, clock_table(Freshness())
    for ticks in (1, 2, 5):
        price = table[ticks, 40] * 0.999
        due = 3 * DAY + 30_000.0 + time_to_reach(state.pages, state.shared, 0, price)
        assert due == pytest.approx((3 + ticks) * DAY + 21_600.0)


def test_a_copy_made_at_the_tick_waits_for_the_next_one():
    policy = certain_of(40, Detection(), clock_odds=5.0, tick=21_600.0, seen_at=21_600.0)
    state = policy.state
    assert ticks_between(state.pages[0], 21_600.0, 21_600.0 + DAY) == 1
    price = clock_table(Detection())[0][1, 40] / 2.0
    assert time_to_reach(state.pages, state.shared, 0, price) == DAY


def in_window(objective, odds: float = 15.0) -> BayesianIndex:
    """A page of 1.2 changes a day, at 4 to 6 o'clock, copied at 12."""
    policy = certain_of(40, objective, clock_odds=odds, tick=21_600.0, seen_at=43_200.0)
    policy.state.pages["dates"][0] = -round(7200.0 / SPAN_UNIT)
    return policy


def test_for_detection_a_page_is_awaited_at_the_end_of_its_window():
    """A poll there finds as much as one before."""
    state = in_window(Detection()).state
    at_tick = clock_table(Detection())[0][1, 40]
    for hour, expected in ((-0.1, 0.0), (0.0, at_tick), (3.0, at_tick)):
        index = index_of(state.pages, state.shared, 0, DAY + 21_600.0 + hour * 3600.0)
        assert index == pytest.approx(expected, rel=0.01, abs=0.03)


@pytest.mark.parametrize("objective", [Freshness(), Delay(), Age()], ids=lambda one: one.name)
def test_in_its_window_a_page_has_the_index_of_a_rate(objective):
    """All changes of a day come within two hours, at twelve times the rate."""
    state = in_window(objective).state
    span = span_of(state.pages[0])
    begin = DAY + 21_600.0 - span
    state.pages["seen_at"][0] = begin - 100.0
    rate = RATES[40] * DAY / span
    for waited in (300.0, 1800.0, 5400.0):
        expected = float(objective.index(np.array([rate]), np.array([waited]))[0])
        index = index_of(state.pages, state.shared, 0, begin + waited)
        assert index == pytest.approx(expected, rel=0.04)
    # A poll within the window begins anew.
    state.pages["seen_at"][0] = begin + 1800.0
    expected = float(objective.index(np.array([rate]), np.array([900.0]))[0])
    assert index_of(state.pages, state.shared, 0, begin + 2700.0) == pytest.approx(
        expected, rel=0.04
    )


@pytest.mark.parametrize("objective", BY_CLOCK, ids=lambda one: one.name)
@pytest.mark.parametrize("copied", [0.1, 4.5, 5.9, 7.0, 23.0])
@pytest.mark.parametrize("waited", [60.0, 900.0, 3600.0, 7000.0])
def test_a_page_is_due_when_its_index_in_the_window_reaches_the_price(objective, copied, waited):
    state = in_window(objective).state
    state.pages["seen_at"][0] = seen_at = copied * 3600.0
    rate = RATES[40] * DAY / span_of(state.pages[0])
    price = float(objective.index(np.array([rate]), np.array([waited]))[0])
    due = seen_at + time_to_reach(state.pages, state.shared, 0, price)
    in_it = (due - 21_600.0) % DAY >= DAY - 7300.0
    near = 0.02 * (waited if in_it else due - seen_at) + 5.0  # between its windows, it has a rate
    assert index_of(state.pages, state.shared, 0, due + near) >= price * 0.999
    for before in np.linspace(seen_at, due - near, 200)[1:]:
        assert index_of(state.pages, state.shared, 0, before) < price * 1.001


def test_a_price_never_reached_is_never_due():
    policy = certain_of(40, Detection(), clock_odds=5.0)
    state = policy.state
    assert time_to_reach(state.pages, state.shared, 0, 2.0) == math.inf


def test_without_dates_no_page_is_polled_by_the_clock():
    policy = BayesianIndex()
    policy.add([Page(0, seen_at=0.0)])
    for day in range(1, 60):
        policy.observe([Observation(0, day * DAY, Outcome.CHANGED)])
    assert policy.state.pages["clock_odds"][0] < 0
    assert policy.state.pages["dates"][0] == 0
