"""Forecasts are those of closed forms where there are some, and come true in worlds that fit."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.simulation.poisson_pages import PoissonPages

from pollwise.errors import InputError
from pollwise.insight.dispersion import Spread
from pollwise.insight.forecaster import Forecaster, _first_reaching, _marks
from pollwise.knapsack import allocate
from pollwise.metrics import score
from pollwise.objectives import Age, Delay, Detection, Ephemeral, Freshness
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.policies.index.page_index import floor_time, time_to_reach
from pollwise.policies.index.whittle import Whittle
from pollwise.rates.lattice import RATES
from pollwise.simulation.loop import simulate
from pollwise.simulation.worlds.zipf import Zipf
from pollwise.types import Budget, Observation, Outcome, Page

DAY = 86_400.0
OBJECTIVES = [Detection(), Freshness(), Delay(), Age(), Ephemeral(decay=1e-4)]
rates_per_day = st.lists(st.floats(0.01, 10.0), min_size=1, max_size=6)


def known(objective, rates, **options) -> Forecaster:
    """Forecasts for pages whose rates are known for sure."""
    return Forecaster(objective, rates, np.eye(len(rates)), **options)


@pytest.mark.parametrize("columns", [1, 2, 7, 8, 9, 16, 17, 96])
def test_the_first_place_that_reaches_a_level_is_found(columns):
    generator = np.random.default_rng(columns)
    rows = np.sort(generator.random((500, columns)).round(2), axis=1)
    levels = np.concatenate([generator.random(498).round(2), (0.0, 1.0)])
    reached = rows >= levels[:, None]
    expected = np.where(reached.any(axis=1), reached.argmax(axis=1), columns - 1)
    assert _first_reaching(rows, _marks(rows), levels).tolist() == expected.tolist()


@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda objective: objective.name)
@settings(max_examples=20, deadline=None)
@given(per_day=rates_per_day, budget=st.floats(0.1, 20.0))
def test_known_rates_are_polled_as_the_exact_solver_says(objective, per_day, budget):
    rates = np.array(per_day) / DAY
    exact = allocate(objective, rates, budget / DAY).frequencies
    close = known(objective, rates).frequencies(budget / DAY)
    # The index is interpolated: what is gained is the same, the frequencies nearly so.
    assert close.sum() == pytest.approx(budget / DAY, rel=1e-6)

    def worth(frequencies):
        some = frequencies > 1e-12 / DAY
        gains = objective.gain(rates[some], 1 / frequencies[some]) @ frequencies[some]
        return -gains if objective.minimise else gains

    if not objective.minimise:
        assert worth(close) == pytest.approx(worth(exact), rel=2e-3)
    assert close == pytest.approx(exact, abs=0.1 * budget / DAY)


def test_the_figures_of_one_page():
    page = known(Freshness(), [2.0 / DAY])
    expected = page.expect(4.0 / DAY)
    assert expected.polls_per_day == pytest.approx(4.0)
    assert expected.found_per_day == pytest.approx(4 * -math.expm1(-0.5))
    assert expected.freshness == pytest.approx(-math.expm1(-0.5) / 0.5)
    assert expected.delay == pytest.approx(DAY / 8)
    marginal = -math.expm1(-0.5) - 0.5 * math.exp(-0.5)
    assert expected.marginal_found == pytest.approx(marginal, rel=0.2)


def test_the_patience_of_a_policy_counts():
    # Too fast to be kept fresh at this budget.
    rates = np.array([0.1, 1000.0]) / DAY
    assert known(Freshness(), rates).frequencies(0.2 / DAY)[1] < 1e-6 / DAY
    frequencies = known(Freshness(), rates, patience=4.0).frequencies(0.2 / DAY)
    assert frequencies[1] == pytest.approx(0.2 / DAY / 8)
    assert frequencies.sum() == pytest.approx(0.2 / DAY)
    assert known(Freshness(), rates).expect(0.2 / DAY).delay > 1e3 * DAY


def test_patience_may_be_for_pages_only_that_have_changed_most_likely():
    # After four rounds, 40 days, the slow page has changed with a probability of 0.3.
    rates = np.array([0.01, 1000.0]) / DAY
    options = {"patience": 4.0, "weights": [1e-9, 1.0]}
    for least, slow in ((0.0, 0.2 / 8), (0.2, 0.2 / 8), (0.8, 0.0)):
        forecaster = known(Freshness(), rates, **options, patience_chance=least)
        frequencies = forecaster.frequencies(0.2 / DAY)
        assert frequencies[0] == pytest.approx(slow / DAY, abs=1e-3 / DAY)
        assert frequencies.sum() == pytest.approx(0.2 / DAY)


def test_hope_shares_polls_out_but_does_not_come_true():
    rates = np.array([0.1, 100.0]) / DAY
    rounds: list[float] = []

    def hope(round_time):
        rounds.append(round_time)
        return np.array([[1.0, 0.01]])

    probabilities = [[0.5, 0.5], [1.0, 0.0]]
    plain, hopeful = (
        Forecaster(Freshness(), rates, probabilities, hope=how) for how in (None, hope)
    )
    budget = 2.0 / DAY
    assert hopeful.frequencies(budget)[0] > 1.1 * plain.frequencies(budget)[0]
    assert rounds == pytest.approx([DAY] * len(rounds))
    # The uncertain page is as stale as ever: what is polled more of it is lost to the other one.
    assert hopeful.expect(budget).freshness < plain.expect(budget).freshness


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_more_budget_brings_more_and_ever_less_more(data):
    """What the objective counts is a concave, increasing function of the budget."""
    objective = data.draw(st.sampled_from([Detection(), Freshness()]))
    pages = data.draw(st.integers(1, 5))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    rates = np.geomspace(0.01, 10.0, 20) / DAY
    forecaster = Forecaster(objective, rates, rng.dirichlet(np.full(20, 0.3), pages), patience=4.0)
    budgets = np.arange(1, 9) * pages * data.draw(st.floats(0.02, 2.0)) / DAY
    curve = [forecaster.expect(budget) for budget in budgets]
    name = "found_per_day" if isinstance(objective, Detection) else "freshness"
    values = np.array([getattr(point, name) for point in curve])
    scale = values[-1]
    assert (np.diff(values) > -1e-6 * scale).all()
    # Up to what the interpolation of the index costs.
    assert (np.diff(values, 2) < 4e-3 * scale).all()


def test_a_thread_that_asks_for_another_budget_meanwhile_changes_nothing():
    class Shared(Forecaster):
        def __setattr__(self, name, value):
            super().__setattr__(name, value)
            if name == "_latest" and value is not None and value[0] == 1e-3:
                self.found(2e-3)  # as another thread may, just then

    shared, alone = (kind(Freshness(), [1e-4, 1e-3], np.eye(2)) for kind in (Shared, Forecaster))
    assert shared.found(1e-3) == alone.found(1e-3) != alone.found(2e-3)


@given(rates_per_day, st.floats(0.05, 0.95))
@settings(max_examples=20, deadline=None)
def test_the_cheapest_budget_is_enough_and_no_more(per_day, freshness):
    forecaster = known(Freshness(), np.array(per_day) / DAY, patience=4.0)
    budget = forecaster.cheapest(freshness)
    assert forecaster.expect(budget).freshness >= freshness
    assert forecaster.expect(0.99 * budget).freshness < freshness


def test_no_budget_keeps_up_with_some_pages():
    with pytest.raises(InputError, match=r"no budget makes these pages 0\.99 fresh"):
        known(Freshness(), [100.0]).cheapest(0.99)
    with pytest.raises(InputError, match=r"freshness 1\.5 must be between 0 and 1"):
        known(Freshness(), [1.0]).cheapest(1.5)


def test_there_must_be_a_page():
    with pytest.raises(InputError, match="at least one page"):
        Forecaster(Freshness(), [1.0], np.empty((0, 1)))


def test_pages_that_are_worth_nothing_are_polled_alike():
    forecaster = known(Freshness(), [1.0, 2.0], weights=0.0)
    assert forecaster.frequencies(3.0).tolist() == [1.5, 1.5]
    assert 0 < forecaster.expect(3.0).freshness < 1


def test_pages_whose_reverts_count_little_are_polled_less_but_counted_as_before():
    rates = np.ones(4)
    usual, reverting = known(Detection(), rates), known(Detection(), rates, worths=[1, 1, 1, 0.2])
    assert usual.frequencies(4.0).tolist() == pytest.approx([1.0] * 4)
    frequencies = reverting.frequencies(4.0)
    assert frequencies[3] < 0.5 < 1.0 < frequencies[0]
    # As many changes are found as these frequencies find: the weights are those of the pages.
    found = (frequencies * -np.expm1(-1.0 / frequencies)).sum()
    assert reverting.expect(4.0).found_per_day == pytest.approx(found * DAY, rel=1e-3)


@pytest.mark.parametrize("objective", [Detection(), Freshness()], ids=lambda o: o.name)
def test_a_forecast_of_known_rates_comes_true(objective):
    """Of a policy that polls by the index in the papers' world."""
    world = Zipf(pages=200, alpha=0.3, beta=1.0)
    world.reset(5, duration=20_001.0)
    rates = np.array([world.rates[page] for page in range(200)])
    forecaster = known(objective, rates)
    expected = forecaster.expect(1.0)
    forecast = forecaster.forecast(1.0, 2000.0, generator=np.random.default_rng(1))
    polls = simulate(Whittle(objective=objective, rates=world.rates), world, polls=20_000, seed=5)
    seen_at = np.array([page.seen_at for page in world.pages])
    periods = [
        score(polls, world.changes, begin=begin, end=begin + 2000.0, seen_at=seen_at)
        for begin in np.arange(2000.0, 20_000.0, 2000.0)
    ]
    found = np.array([period.found for period in periods]) * (DAY / 2000.0)
    fresh = np.array([period.freshness for period in periods])
    # The index, which chooses the moment as well, does a little better than fixed frequencies.
    assert found.mean() == pytest.approx(expected.found_per_day, rel=0.04)
    assert fresh.mean() == pytest.approx(expected.freshness, abs=0.02)
    assert forecast.found_per_day.low < found.mean() < forecast.found_per_day.high * 1.03


def test_intervals_cover_what_they_say():
    """Rates drawn from the prior, learned from polls, and polled as the forecast assumes."""
    rng = np.random.default_rng(2)
    rates = np.geomspace(0.05, 3.0, 15) / DAY
    inside = np.zeros(3)
    worlds, pages, budget, horizon = 150, 40, 20.0 / DAY, 7 * DAY
    for _ in range(worlds):
        true = rng.choice(rates, pages)
        found = rng.random((pages, 4)) < -np.expm1(-true[:, None] * 2 * DAY)
        chance = -np.expm1(-rates * 2 * DAY)
        hits = found.sum(axis=1)[:, None]
        posterior = chance**hits * (1 - chance) ** (4 - hits)
        posterior /= posterior.sum(axis=1, keepdims=True)
        forecaster = Forecaster(Freshness(), rates, posterior, patience=4.0)
        forecast = forecaster.forecast(budget, horizon, generator=rng, draws=100)
        intervals = (forecast.found_per_day, forecast.freshness, forecast.delay)
        outcome = polled_at(forecaster.frequencies(budget), true, horizon, rng)
        inside += [i.low <= x <= i.high for i, x in zip(intervals, outcome, strict=True)]
    assert inside / worlds == pytest.approx(0.8, abs=0.1)


def polled_at(frequencies, rates, horizon, rng) -> tuple[float, float, float]:
    """Found a day, freshness and delay of one period, polls being evenly spaced."""
    found, fresh, waits = 0, 0.0, []
    for frequency, rate in zip(frequencies, rates, strict=True):
        gap = 1 / frequency
        polls = np.arange(-gap * rng.random(), horizon + gap, gap)
        changes = np.sort(rng.uniform(polls[0], polls[-1], rng.poisson(rate * np.ptp(polls))))
        for begin, end in pairwise(polls):
            own = changes[(changes > begin) & (changes <= end)]
            found += bool(len(own)) and 0 <= end < horizon
            until = own[0] if len(own) else end
            fresh += max(min(until, horizon) - max(begin, 0.0), 0.0)
            waits += [end - change for change in own if 0 <= change < horizon]
    return found * DAY / horizon, fresh / horizon / len(rates), float(np.mean(waits))


def test_few_examples_make_wide_intervals():
    rates = np.geomspace(0.05, 3.0, 15) / DAY
    unknown = np.full((200, 15), 1 / 15)

    def width(examples):
        forecaster = Forecaster(Freshness(), rates, unknown, examples=examples)
        interval = forecaster.forecast(
            40.0 / DAY, DAY, generator=np.random.default_rng(1)
        ).freshness
        return interval.high - interval.low

    assert width(0) > 2 * width(10) > 2 * width(1000)


def test_intervals_widen_as_the_past_was_wild():
    forecaster = known(Freshness(), np.full(400, 0.1 / DAY))

    def widths(spread):
        forecast = forecaster.forecast(
            40 / DAY, 7 * DAY, generator=np.random.default_rng(1), spread=spread
        )
        intervals = (forecast.found_per_day, forecast.freshness, forecast.delay)
        return np.array([interval.high - interval.low for interval in intervals])

    assert widths(Spread(4.0, 4.0, 4.0)) / widths(Spread()) == pytest.approx(2.0, rel=0.25)


@settings(max_examples=40, deadline=None)
@given(
    pages=st.integers(1, 12),
    polls_a_day=st.floats(0.01, 200.0),
    spreads=st.lists(st.floats(1.0, 1000.0), min_size=3, max_size=3),
    examples=st.sampled_from([0.0, 3.0, math.inf]),
    seed=st.integers(0, 2**32),
)
def test_a_figure_is_within_its_interval_however_wild_the_past_was(
    pages, polls_a_day, spreads, examples, seed
):
    rng = np.random.default_rng(seed)
    rates = np.geomspace(1e-3, 1e3, 25) / DAY
    probabilities = rng.dirichlet(np.full(25, 0.2), pages)
    forecaster = Forecaster(Freshness(), rates, probabilities, patience=4.0, examples=examples)
    budget = pages * polls_a_day / DAY
    forecast = forecaster.forecast(
        budget, 7 * DAY, generator=rng, spread=Spread(*spreads), draws=60
    )
    for interval in (forecast.found_per_day, forecast.freshness, forecast.delay):
        assert interval.low <= interval.mean <= interval.high
    assert forecast.delay.high <= 1.001 * max(1 / forecaster.frequencies(budget))


def test_of_few_changes_and_a_wild_past_an_interval_is_wide():
    forecaster = known(Detection(), np.full(10, 0.2 / DAY))
    found = forecaster.forecast(
        10 / DAY, DAY, generator=np.random.default_rng(1), spread=Spread(found=100.0)
    ).found_per_day
    assert found.low == 0.0
    assert found.high > 3 * found.mean


def test_what_is_known_of_the_copies_counts_at_first():
    forecaster = known(Freshness(), np.full(100, 0.1 / DAY))

    def fresh(chances, horizon):
        return forecaster.forecast(
            10 / DAY, horizon, generator=np.random.default_rng(1), chances=chances
        ).freshness.mean

    long_run = forecaster.expect(10 / DAY).freshness
    assert fresh(np.zeros(100), 0.1 * DAY) == pytest.approx(1.0, abs=0.01)
    assert fresh(np.ones(100), 0.1 * DAY) == pytest.approx(0.0, abs=0.01)
    assert fresh(np.ones(100), 1000 * DAY) == pytest.approx(long_run, abs=0.01)
    none = np.full(100, math.nan)
    forecast = forecaster.forecast(
        10 / DAY, 5 * DAY, generator=np.random.default_rng(1), chances=none
    )
    # All polls of the period make first copies.
    assert (forecast.found_per_day.mean, forecast.found_per_day.high) == (0.0, 0.0)


def test_a_policy_forecasts_with_what_it_learned():
    policy = BayesianIndex(objective=Freshness())
    pages = [Page(0, seen_at=0.0), Page(1, seen_at=0.0)]
    policy.add(pages)
    for day in range(1, 40):
        outcomes = (Outcome.CHANGED, Outcome.CHANGED if day % 20 == 0 else Outcome.UNCHANGED)
        policy.observe([Observation(i, day * DAY, outcome) for i, outcome in enumerate(outcomes)])
    forecaster = Forecaster.of(policy, pages, 2 / DAY)
    rates, probabilities = policy.rate_beliefs([0, 1])
    assert np.array_equal(rates, RATES)
    assert (probabilities @ rates)[0] > 10 * (probabilities @ rates)[1]
    assert 0.9 < forecaster.expect(2 / DAY).found_per_day < 2.0


@pytest.mark.parametrize("objective", [Detection(), Freshness()], ids=lambda o: o.name)
def test_intervals_are_those_after_which_the_policy_polls(objective):
    """At the price of a forecast, the index of a page is due after its interval."""
    policy = BayesianIndex(objective=objective)
    policy.add([Page(i, seen_at=0.0) for i in range(30)])
    rng = np.random.default_rng(2)
    rates = np.geomspace(0.02, 4.0, 30) / DAY
    for poll in range(1, 200):
        now = poll * DAY / 3
        [page] = policy.select(now, 1).page_ids
        elapsed = now - policy.state.pages["seen_at"][page]
        outcome = Outcome.CHANGED if rng.random() < -math.expm1(-rates[page] * elapsed) else None
        policy.observe([Observation(page, now, outcome or Outcome.UNCHANGED)])
    pages = [Page(i) for i in range(30)]
    frequencies = Forecaster.of(policy, pages, 3.0 / DAY).frequencies(3.0 / DAY)
    assert policy.hope(range(30), DAY).shape[1] == len(RATES)
    intervals = due_after(policy, frequencies)
    assert intervals * frequencies == pytest.approx(np.ones(30), rel=0.03)


@pytest.mark.parametrize("per_page", [0.1, 0.2])
def test_fast_and_slow_pages_are_polled_as_often_as_forecast(per_page):
    world = PoissonPages(200, 400.0)
    budget = Budget(200 * per_page / DAY)
    policy = BayesianIndex(objective=Freshness())
    begin = world.end / 4
    forecast = []

    def note(now: float) -> None:
        forecaster = Forecaster.of(policy, world.pages, budget.rate)
        forecast.append(forecaster.frequencies(budget.rate))

    moments = np.linspace(begin, world.end, 20, endpoint=False).tolist()
    polls = simulate(policy, world, seed=0, budget=budget, pauses=moments, on_pause=note)
    made = np.bincount(polls.page_ids[polls.times >= begin], minlength=200)
    expected = np.mean(forecast, axis=0) * (world.end - begin)
    by_rate = np.array_split(np.argsort(list(world.rates.values())), 4)
    for pages in by_rate:
        assert made[pages].sum() == pytest.approx(expected[pages].sum(), rel=0.05)


def due_after(policy, frequencies):
    """The intervals at which the policy's index reaches the one price that fits best."""
    state = policy.state
    beliefs = policy.rate_beliefs(range(30))[1]

    def interval(page, log_price):
        state.shared["belief"] = beliefs[page]
        return min(
            time_to_reach(state.pages, state.shared, page, math.exp(log_price)),
            floor_time(state.pages, state.shared, page),
        )

    def intervals(log_price):
        return np.array([interval(page, log_price) for page in range(30)])

    low, high = -30.0, 30.0
    for _ in range(60):
        middle = (low + high) / 2
        cheap = (1 / intervals(middle)).sum() > frequencies.sum()
        low, high = (middle, high) if cheap else (low, middle)
    return intervals((low + high) / 2)


def test_what_polls_cannot_tell_is_common_to_all_pages():
    # Each page is one of two rates: slow ones, of which polls tell, or fast ones, of which not.
    def width(slow, fast):
        pages = Forecaster(Freshness(), [slow / DAY, fast / DAY], np.full((400, 2), 0.5))
        fresh = pages.forecast(400 / DAY, 30 * DAY, generator=np.random.default_rng(1)).freshness
        return (fresh.high - fresh.low) / pages.expect(400 / DAY).freshness

    assert width(10.0, 40.0) > 5 * width(0.5, 2.0)


def test_recalibrated_chances_move_the_forecast():
    forecaster = known(Detection(), np.full(10, 0.1 / DAY))
    halved = forecaster.calibrated(5 / DAY, lambda chances: chances / 2)
    before, after = (f.expect(5 / DAY).found_per_day for f in (forecaster, halved))
    assert after == pytest.approx(before / 2)


class TestBounds:
    """Two pages, one of which changes a hundred times as often."""

    RATES = (1e-3, 1e-5)
    BUDGET = 1e-3

    def frequencies(self, shortest, longest):
        bounds = np.array(shortest), np.array(longest)
        some = Forecaster(Detection(), self.RATES, np.eye(2), intervals=lambda budget: bounds)
        return some.frequencies(self.BUDGET)

    def test_without_any_the_budget_goes_where_changes_are(self):
        free = self.frequencies([0.0, 0.0], [np.inf, np.inf])
        known = Forecaster(Detection(), self.RATES, np.eye(2))
        assert free.tolist() == known.frequencies(self.BUDGET).tolist()
        assert free[0] > 10 * free[1]

    def test_what_at_least_takes_is_missing_elsewhere(self):
        fast, slow = self.frequencies([0.0, 0.0], [np.inf, 2500.0])
        assert slow == pytest.approx(1 / 2500.0)
        assert fast + slow == pytest.approx(self.BUDGET)

    def test_what_at_most_leaves_goes_elsewhere(self):
        fast, slow = self.frequencies([4000.0, 0.0], [np.inf, np.inf])
        assert fast == pytest.approx(1 / 4000.0)
        assert fast + slow == pytest.approx(self.BUDGET)

    def test_if_all_polls_are_bounded_some_of_the_budget_is_left(self):
        assert self.frequencies([4000.0, 8000.0], [np.inf, np.inf]).tolist() == pytest.approx(
            [1 / 4000.0, 1 / 8000.0]
        )

    def test_if_at_least_needs_more_than_the_budget_all_are_polled_more_rarely(self):
        polls = self.frequencies([0.0, 0.0], [500.0, 1000.0])
        assert polls.sum() == pytest.approx(self.BUDGET)
        assert polls[0] == pytest.approx(2 * polls[1])
