"""The exact solvers use up what there is, equalise margins, and are beaten by no other mixture."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pollwise.errors import InputError
from pollwise.knapsack import allocate, concave_amounts, det_ks, polling_amounts
from pollwise.objectives import Age, Delay, Detection, Ephemeral, Freshness, Objective

OBJECTIVES = [Detection(), Freshness(), Delay(), Age(), Ephemeral(decay=0.5, value=3.0)]

# The same examples at every run, however long they take.
steady = settings(derandomize=True, deadline=None, max_examples=40)

by_name = pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda one: one.name)


def log_uniform(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(np.log(low), np.log(high)).map(lambda x: float(np.exp(x)))


pages = st.lists(
    st.tuples(log_uniform(1e-6, 1e2), log_uniform(1e-2, 1e2), log_uniform(0.1, 10.0)),
    min_size=1,
    max_size=12,
).map(lambda rows: np.array(rows).T)


def per_second(objective: Objective, rates, frequencies, weights) -> float:
    """What an allocation brings a second; a cost counts as a loss."""
    polled = frequencies > 0
    elapsed = 1 / np.where(polled, frequencies, 1e-12)
    gain = objective.gain(rates, elapsed, weights) / elapsed
    return float(-gain.sum() if objective.minimise else gain.sum())


@by_name
@steady
@given(pages=pages, budget=log_uniform(1e-3, 1e4))
def test_the_budget_is_used_up_and_margins_are_equal(objective, pages, budget):
    rates, weights, costs = pages
    allocation = allocate(objective, rates, budget, weights, costs)
    frequencies, price = allocation.frequencies, allocation.price
    assert costs @ frequencies == pytest.approx(budget, rel=1e-9)
    polled = frequencies > 0
    margins = objective.index(
        rates[polled], 1 / frequencies[polled], weights[polled], costs[polled]
    )
    assert margins == pytest.approx(price, rel=1e-9)
    limits = objective.index(rates[~polled], np.inf, weights[~polled], costs[~polled])
    assert np.all(limits <= price * (1 + 1e-9))


@by_name
@steady
@given(pages=pages, budget=log_uniform(1e-2, 1e3), seed=st.integers(0, 2**32 - 1))
def test_no_other_allocation_brings_more(objective, pages, budget, seed):
    rates, weights, costs = pages
    best = allocate(objective, rates, budget, weights, costs).frequencies
    most = per_second(objective, rates, best, weights)
    shares = np.random.default_rng(seed).dirichlet(np.ones(rates.size), 20)
    for share in [*shares, np.full(rates.size, 1 / rates.size), rates / rates.sum()]:
        other = per_second(objective, rates, share * budget / costs, weights)
        assert other <= most + 1e-9 * abs(most)


@steady
@given(
    unchanged=st.lists(st.floats(0.01, 0.99), min_size=1, max_size=20),
    budget=st.floats(0.01, 100.0),
)
def test_detection_polls_in_proportion_to_the_logarithm_of_no_change(unchanged, budget):
    """For d(x) = 1 - q^(1/x), equal derivatives mean x ∝ -ln q."""
    rates = -np.log(unchanged)
    frequencies = allocate(Detection(), rates, budget).frequencies
    # Where pages are polled so rarely that all have surely changed, any allocation is best.
    if rates.sum() / budget < 12:
        assert frequencies == pytest.approx(budget * rates / rates.sum(), rel=1e-6)
    assert frequencies.sum() == pytest.approx(budget)


def test_delay_polls_in_proportion_to_the_square_root_of_the_rate():
    rates, weights, costs = np.array([[1.0, 4.0, 9.0], [1.0, 2.0, 1.0], [1.0, 1.0, 4.0]])
    expected = np.sqrt(rates * weights / costs)
    frequencies = allocate(Delay(), rates, 6.0, weights, costs).frequencies
    assert frequencies == pytest.approx(6.0 * expected / (costs @ expected))


def test_freshness_gives_up_pages_that_change_too_often():
    allocation = allocate(Freshness(), [0.1, 0.1, 50.0], 0.2)
    assert allocation.frequencies == pytest.approx([0.1, 0.1, 0.0])
    assert allocation.frequencies[2] == 0
    assert np.all(allocate(Freshness(), [0.1, 0.1, 50.0], 100.0).frequencies > 0)


@by_name
def test_pages_without_changes_or_weight_get_nothing(objective):
    allocation = allocate(objective, [1.0, 0.0, 2.0], 3.0, [1.0, 1.0, 0.0])
    assert allocation.frequencies == pytest.approx([3.0, 0.0, 0.0])


@by_name
@pytest.mark.parametrize("budget", [1e-6, 1e-3, 1.0, 1e6, 1e9])
def test_scarce_and_plentiful_budgets(objective, budget):
    rates = np.array([1e-7, 1e-3, 1.0, 1.0, 30.0])
    allocation = allocate(objective, rates, budget)
    assert allocation.frequencies.sum() == pytest.approx(budget, rel=1e-12)
    assert allocation.frequencies[2] == pytest.approx(allocation.frequencies[3], rel=1e-9)
    assert allocation.price > 0


def test_plenty_of_detection_is_shared_like_the_rates():
    frequencies = allocate(Detection(), [1.0, 3.0], 1e12).frequencies
    assert frequencies == pytest.approx([2.5e11, 7.5e11])


@by_name
def test_the_price_falls_with_the_budget(objective):
    rates = np.geomspace(1e-3, 10.0, 9)
    prices = [allocate(objective, rates, budget).price for budget in np.geomspace(2.0, 99.0, 9)]
    assert np.all(np.diff(prices) < 0)


def test_a_hundred_thousand_pages():
    rng = np.random.default_rng(1)
    rates = np.exp(rng.normal(-12.0, 3.0, 100_000))
    allocation = allocate(Freshness(), rates, 10.0)
    assert allocation.frequencies.sum() == pytest.approx(10.0)


@pytest.mark.parametrize("budget", [0.0, -1.0, np.inf, np.nan, True, "x"])
def test_refuses_a_budget_that_is_none(budget):
    with pytest.raises(InputError, match=r"budget=.*above 0"):
        allocate(Detection(), [1.0], budget)


@pytest.mark.parametrize(("budget", "extreme"), [(1e-300, "small"), (1e300, "large")])
def test_refuses_a_budget_beyond_floating_point(budget, extreme):
    with pytest.raises(InputError, match=f"so {extreme}"):
        allocate(Delay(), [1.0, 2.0], budget)


@pytest.mark.parametrize("rates", [[], [0.0], [0.0, 0.0]])
def test_refuses_pages_that_are_not_worth_a_poll(rates):
    with pytest.raises(InputError, match=f"none of {len(rates)} pages"):
        allocate(Detection(), rates, 1.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rates": 1.0}, "rates has shape"),
        ({"rates": [1.0, -2.0]}, r"rates\[1\] = -2.0"),
        ({"rates": [np.nan]}, r"rates\[0\] = nan"),
        ({"rates": [1.0, 2.0], "weights": [1.0]}, "weights has shape"),
        ({"rates": [1.0], "weights": -1.0}, r"weights\[0\] = -1.0"),
        ({"rates": [1.0, 2.0], "costs": [1.0, 0.0]}, r"costs\[1\] = 0.0 .* above 0"),
        ({"rates": ["a"]}, "allocate: rates must be an array of numbers: .*'a'"),
    ],
)
def test_refuses_bad_values_and_says_where(arguments, message):
    with pytest.raises(InputError, match=message):
        allocate(Detection(), **arguments, budget=1.0)


unchanged = st.lists(st.floats(0.01, 0.99), min_size=1, max_size=12).map(np.array)


def chance(q, amounts):
    return 1 - q ** (1 / amounts)


@steady
@given(q=unchanged, capacity=log_uniform(1e-3, 1e3))
def test_polling_amounts_make_all_pages_pay_alike(q, capacity):
    amounts = polling_amounts(q, capacity)
    assert amounts.sum() == pytest.approx(capacity)
    paid = chance(q, amounts)
    assert paid == pytest.approx(paid[0], rel=1e-9)


@pytest.mark.parametrize(("alpha", "beta"), [(0.3, 1.0), (0.6, 1.0), (0.9, 1.5)])
def test_polling_amounts_are_those_of_the_general_solver(alpha, beta):
    q = 1 - alpha / np.arange(1, 9) ** beta
    amounts = concave_amounts(lambda x: chance(q, x), np.full(8, np.inf))
    assert amounts == pytest.approx(polling_amounts(q), rel=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"unchanged": 0.5}, "unchanged has shape"),
        ({"unchanged": []}, "unchanged has shape"),
        ({"unchanged": [0.5, 1.0]}, r"unchanged\[1\] = 1.0 must be between 0 and 1"),
        ({"unchanged": [np.nan]}, r"unchanged\[0\] = nan"),
        ({"unchanged": [0.5], "capacity": 0.0}, r"capacity=0.0 must be .* above 0"),
        ({"unchanged": [0.5], "capacity": np.inf}, "capacity=inf"),
        ({"unchanged": [0.5], "capacity": True}, "capacity=True must be"),
        ({"unchanged": [0.5], "capacity": "x"}, "capacity='x' must be"),
        ({"unchanged": ["a"]}, "unchanged must be an array of numbers: .*'a'"),
    ],
)
def test_polling_amounts_refuse_bad_values_and_say_where(arguments, message):
    with pytest.raises(InputError, match=message):
        polling_amounts(**arguments)


lines = st.lists(
    st.tuples(st.floats(0.1, 10.0), st.floats(0.0, 5.0), log_uniform(0.01, 10.0)),
    min_size=1,
    max_size=8,
).map(lambda rows: np.array(rows).T)


@steady
@given(lines=lines, part=st.floats(0.01, 1.0))
def test_concave_amounts_pay_alike_or_are_at_a_limit(lines, part):
    height, slope, limits = lines
    capacity = part * limits.sum()
    amounts = concave_amounts(lambda x: height - slope * x, limits, capacity)
    assert amounts.sum() == pytest.approx(capacity)
    assert ((amounts >= 0) & (amounts <= limits)).all()
    values = height - slope * amounts
    # Whoever could give a little does not value it less than whoever could take it.
    give, take = amounts > 1e-9 * capacity, amounts < limits - 1e-9 * capacity
    if give.any() and take.any():
        assert values[give].min() >= values[take].max() - 1e-6


def test_concave_amounts_of_steps_and_of_values_that_are_infinite_at_nothing():
    steps = concave_amounts(lambda x: np.where(x <= [0.2, 0.4], 1.0, [0.3, 0.1]), [1.0, 1.0], 0.8)
    assert steps == pytest.approx([0.4, 0.4])
    assert concave_amounts(lambda x: [1.0, 3.0] / x, [9.0, 9.0], 2.0) == pytest.approx([0.5, 1.5])


def test_concave_amounts_never_ask_for_values_outside_the_limits():
    limits = np.array([0.5, 2.0, 1.0])

    def values(amounts):
        assert ((amounts > 0) & (amounts <= limits)).all()
        return np.array([1.0, 5.0, 3.0]) - amounts

    assert concave_amounts(values, limits, 1.0) == pytest.approx([0.0, 1.0, 0.0], abs=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"limits": 1.0}, "limits has shape"),
        ({"limits": []}, "limits has shape"),
        ({"limits": ["a"]}, "limits must be an array of numbers: .*'a'"),
        ({"limits": [1.0, 0.0]}, r"limits\[1\] = 0.0 must be an amount above 0"),
        ({"limits": [1.0, np.nan]}, r"limits\[1\] = nan must be an amount above 0"),
        ({"limits": [1.0, 1.0], "capacity": 2.5}, "capacity=2.5 is more .* at most 2.0"),
        ({"limits": [1.0, 1.0], "capacity": -1.0}, "capacity=-1.0 must be"),
        ({"limits": [1.0, 1.0], "capacity": True}, "capacity=True must be"),
    ],
)
def test_concave_amounts_refuse_bad_values_and_say_where(arguments, message):
    with pytest.raises(InputError, match=message):
        concave_amounts(lambda x: -x, **arguments)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (lambda x: 1.0, "shape .* a number for each"),
        (lambda x: x * np.nan, "2 entries that are no numbers"),
        (lambda x: ["a", "b"], "what marginal_values gives must be an array of numbers"),
    ],
    ids=["scalar", "nan", "text"],
)
def test_concave_amounts_refuse_functions_that_give_no_number_for_each_page(bad, message):
    with pytest.raises(InputError, match=message):
        concave_amounts(bad, [1.0, 1.0])


def test_concave_amounts_whose_values_are_orders_of_magnitude_apart():
    amounts = concave_amounts(lambda x: np.exp(-x * [1.0, 1000.0]), [100.0, 100.0], 100.0)
    assert amounts == pytest.approx([100.0 * 1000.0 / 1001.0, 100.0 / 1001.0])
    below_zero = concave_amounts(lambda x: -np.exp(x * [1.0, 10.0]), [100.0, 60.0], 100.0)
    assert below_zero == pytest.approx([1000.0 / 11.0, 100.0 / 11.0])


def test_concave_amounts_of_a_page_that_is_indifferent_at_the_uniform_price():
    flat = concave_amounts(lambda x: np.array([1.0, 2.0 - x[1]]), [2.0, 2.0], 2.0)
    assert flat == pytest.approx([1.0, 1.0])


def test_concave_amounts_where_the_capacity_is_the_sum_of_the_limits_but_for_rounding():
    limits = np.full(6, 1.0 / 6.0)
    assert limits.sum() < 1.0
    assert concave_amounts(lambda x: -x, limits, 1.0) == pytest.approx(limits)


def test_concave_amounts_of_a_capacity_that_floating_point_can_hardly_hold():
    amounts = concave_amounts(lambda x: -x / [1.0, 3.0], [1.0, 1.0], 1e-310)
    assert amounts / 1e-310 == pytest.approx([0.25, 0.75])


tables = st.tuples(st.integers(1, 4), st.integers(1, 5)).flatmap(
    lambda shape: st.lists(
        st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0]), min_size=shape[1], max_size=shape[1]),
        min_size=shape[0],
        max_size=shape[0],
    ).map(np.array)
)


def worth(values, units):
    return sum(float(row[:n].sum()) for row, n in zip(values, units, strict=True))


def best_worth(values, units):
    """By dynamic programming over all deals that give each page at least one unit."""
    best = {0: 0.0}
    for row in values:
        sums = np.cumsum(row)
        more: dict[int, float] = {}
        for (spent, value), n in itertools.product(best.items(), range(1, len(row) + 1)):
            more[spent + n] = max(more.get(spent + n, -np.inf), value + float(sums[n - 1]))
        best = more
    return best[units]


def dealt_one_by_one(values, units, printed=False):
    if printed:
        totals = [[(n + 1) * value for n, value in enumerate(row)] for row in values.tolist()]
        values = [[0.0, *(b - a for a, b in itertools.pairwise(row))] for row in totals]
    dealt = [1] * len(values)
    for _ in range(units - len(values)):
        offers = [row[n] if n < len(row) else -np.inf for row, n in zip(values, dealt, strict=True)]
        dealt[int(np.argmax(offers))] += 1
    return dealt


@steady
@given(table=tables, printed=st.booleans(), data=st.data())
def test_det_ks_deals_one_by_one(table, printed, data):
    units = data.draw(st.integers(len(table), table.size))
    dealt = dealt_one_by_one(table, units, printed)
    assert det_ks(table, units, printed=printed).tolist() == dealt


@steady
@given(table=tables, data=st.data())
def test_det_ks_is_the_best_deal_of_falling_values(table, data):
    falling = -np.sort(-table, axis=1)
    units = data.draw(st.integers(len(table), table.size))
    assert worth(falling, det_ks(falling, units)) == pytest.approx(best_worth(falling, units))


def test_det_ks_need_not_be_the_best_where_values_rise_again():
    """The example of its docstring."""
    rising = np.array([[0.1, 0.0, 0.9], [0.1, 0.2, 0.1]])
    dealt = det_ks(rising, 4)
    assert dealt.tolist() == [1, 3]
    assert worth(rising, dealt) == pytest.approx(0.5)
    assert best_worth(rising, 4) == pytest.approx(1.1) == worth(rising, [3, 1])


@pytest.mark.parametrize("printed", [False, True])
def test_det_ks_comes_close_to_the_exact_amounts_as_units_shrink(printed):
    q = 1 - 0.6 / np.arange(1, 6)
    exact = polling_amounts(q)
    for units in (10, 100, 1000, 10_000):
        table = chance(q[:, None], np.arange(1, units + 1) / units)
        dealt = det_ks(table, units, printed=printed)
        assert np.abs(dealt / units - exact).max() <= 1 / units


@pytest.mark.parametrize(
    ("values", "units", "message"),
    [
        ([0.5, 0.4], 2, "values has shape"),
        ([[]], 1, "values has shape"),
        ([[0.5, np.nan]], 1, "1 entries that are no numbers"),
        ([[1, 2], [3]], 2, "values must be an array of numbers: .*inhomogeneous"),
        ([[0.5, 0.4], [0.3, 0.2]], 1, "units=1 .* from 2 to 4"),
        ([[0.5, 0.4], [0.3, 0.2]], 5, "units=5"),
        ([[0.5, 0.4], [0.3, 0.2]], 2.0, "units=2.0 must be a whole number"),
        ([[0.5, 0.4]], True, "units=True"),
    ],
)
def test_det_ks_refuses_bad_values_and_says_where(values, units, message):
    with pytest.raises(InputError, match=message):
        det_ks(values, units)


@pytest.mark.parametrize(
    "arguments",
    [
        (
            "age",
            [1e-100, 1.7284600254213264e-12],
            1.3903212874348596e-07,
            1.0,
            [2.6416986622707726e-08, 1e-100],
        ),
        ("freshness", [5.712361347076767e-12], 1e-100, [1e-310]),
    ],
)
def test_refuses_numbers_too_far_apart_for_floating_point(arguments):
    with pytest.raises(InputError, match="floating point cannot hold what a poll is worth"):
        allocate(*arguments)
