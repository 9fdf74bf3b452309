"""Gain, index and due time of every objective, against each other and against long arithmetic."""

import decimal
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pollwise.errors import InputError
from pollwise.objectives import (
    Age,
    Delay,
    Detection,
    Ephemeral,
    Freshness,
    Objective,
    discrete_detection_index,
    discrete_index,
    objective,
)

OBJECTIVES = [Detection(), Freshness(), Delay(), Age(), Ephemeral(decay=0.5, value=3.0)]
SATURATING = [one for one in OBJECTIVES if not one.minimise]

# The same examples at every run, however long they take.
steady = settings(derandomize=True, deadline=None)

by_name = pytest.mark.parametrize("one", OBJECTIVES, ids=lambda one: one.name)


def log_uniform(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(np.log(low), np.log(high)).map(lambda x: float(np.exp(x)))


rates = log_uniform(1e-9, 1e3)
scaled_times = log_uniform(1e-12, 1e6)
weights = log_uniform(1e-3, 1e3)
costs = log_uniform(1e-2, 1e2)


def exact(one: Objective, rate: float, elapsed: float) -> tuple[decimal.Decimal, ...]:
    """G (or A) and its derivative, as the table of the module has them, to 90 digits."""
    with decimal.localcontext(prec=90):
        rate_, time = decimal.Decimal(rate), decimal.Decimal(elapsed)
        a = rate_ * time
        keep = (-a).exp()
        if isinstance(one, Ephemeral):
            decay = decimal.Decimal(one.decay)
            value = rate_ * decimal.Decimal(one.value)
            keep = (-decay * time).exp()
            return value / decay * (1 - keep), value * keep
        return {
            "detection": (1 - keep, rate_ * keep),
            "freshness": ((1 - keep) / rate_, keep),
            "delay": (rate_ * time**2 / 2, a),
            "age": (time**2 / 2 - time / rate_ + (1 - keep) / rate_**2, time - (1 - keep) / rate_),
        }[one.name]


def close(actual: float, expected: decimal.Decimal | float, relative: float = 1e-9) -> bool:
    return actual == pytest.approx(float(expected), rel=relative, abs=0)


@by_name
@steady
@given(a=scaled_times, rate=rates, weight=weights, cost=costs)
def test_gain_and_index_are_exact_however_small_the_time(one, a, rate, weight, cost):
    elapsed = a / (rate if one.decay is None else one.decay)
    with decimal.localcontext(prec=90):
        gain, slope = exact(one, rate, elapsed)
        index = gain - decimal.Decimal(elapsed) * slope
        index *= -1 if one.minimise else 1
    assert close(one.gain(rate, elapsed, weight), float(gain) * weight)
    assert close(one.index(rate, elapsed, weight, cost), float(index) * weight / cost)


@by_name
@steady
@given(a=log_uniform(1e-12, 15.0), rate=rates, weight=weights, cost=costs)
def test_due_is_the_inverse_of_the_index(one, a, rate, weight, cost):
    elapsed = a / (rate if one.decay is None else one.decay)
    price = one.index(rate, elapsed, weight, cost)
    # Near saturation the index says little of the time: dτ/τ grows like e^a times rounding.
    assert close(one.due(price, rate, weight, cost), elapsed, 1e-9)


@by_name
@steady
@given(first=scaled_times, second=scaled_times)
def test_index_grows_with_time(one, first, second):
    early, late = sorted((first, second))
    assert one.index(1.0, early) <= one.index(1.0, late)


@by_name
@steady
@given(a=scaled_times, rate=rates)
def test_index_is_made_of_power_shape_and_decay(one, a, rate):
    mixture = rate**-one.power * one.shape((one.decay or rate) * a)
    assert one.index(rate, a, 6.0, 2.0) == pytest.approx(3.0 * mixture, rel=1e-12)


@by_name
def test_a_page_that_never_changes_is_never_due(one):
    assert one.index(0.0, [0.0, 1.0, np.inf]).tolist() == [0.0, 0.0, 0.0]
    assert one.due([-1.0, 0.0, 1e-9], 0.0).tolist() == [0.0, 0.0, np.inf]
    if one.name != "freshness":
        assert one.gain(0.0, 5.0, 2.0) == 0.0
    else:
        assert one.gain(0.0, 5.0, 2.0) == 10.0


@by_name
def test_due_at_the_limits_of_price_and_weight(one):
    assert one.due([-np.inf, -1.0, 0.0, np.inf], 1.0).tolist() == [0.0, 0.0, 0.0, np.inf]
    assert one.due(1.0, 1.0, weight=0.0) == np.inf
    assert one.index(1.0, 1.0, weight=0.0) == 0.0


@pytest.mark.parametrize("one", SATURATING, ids=lambda one: one.name)
def test_a_bounded_index_is_never_reached_by_a_higher_price(one):
    limit = one.index(2.0, np.inf)
    assert np.isfinite(limit)
    assert one.due(limit * 0.99, 2.0) < np.inf
    assert one.due([limit * 1.01, limit * 100], 2.0).tolist() == [np.inf, np.inf]


@pytest.mark.parametrize("one", [Delay(), Age()], ids=lambda one: one.name)
def test_an_unbounded_index_reaches_every_price(one):
    assert one.index(2.0, np.inf) == np.inf
    assert one.gain(2.0, np.inf) == np.inf
    assert np.isfinite(one.due(1e30, 2.0))


@by_name
def test_arguments_broadcast(one):
    rate = np.array([[0.5], [2.0]])
    elapsed = np.array([1.0, 2.0, 3.0])
    weight = np.array([[1.0], [3.0]])
    for values in (
        one.gain(rate, elapsed, weight),
        one.index(rate, elapsed, weight, 2.0),
        one.due(elapsed / 10, rate, weight, 2.0),
    ):
        assert values.shape == (2, 3)
        assert values.dtype == np.float64
    assert one.index(rate, elapsed, weight, 2.0)[1, 2] == one.index(2.0, 3.0, 3.0, 2.0)
    assert isinstance(one.index(1.0, 1.0), np.float64)
    assert isinstance(one.due(0.1, 1.0), np.float64)


def test_all_names():
    for name in ("detection", "freshness", "delay", "age"):
        assert objective(name).name == name
    assert objective("ephemeral", decay=0.5, value=2.0) == Ephemeral(decay=0.5, value=2.0)


def test_unknown_name_lists_the_names():
    with pytest.raises(InputError, match=r"'fresh'.*detection, freshness, delay, age, ephemeral"):
        objective("fresh")


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("freshness", {"decay": 1.0}), ("ephemeral", {}), ("ephemeral", {"decay": 1.0, "mu": 2.0})],
)
def test_unfitting_parameters(name, parameters):
    with pytest.raises(InputError, match=name):
        objective(name, **parameters)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.inf, np.nan])
def test_ephemeral_refuses_what_cannot_fade(bad):
    with pytest.raises(InputError, match="decay="):
        Ephemeral(decay=bad)
    with pytest.raises(InputError, match="value="):
        Ephemeral(decay=1.0, value=bad)


@steady
@given(n=st.integers(0, 60), p=st.floats(0.01, 0.99), weight=weights, cost=costs)
def test_discrete_detection_is_the_formula_of_avrachenkov_and_borkar(n, p, weight, cost):
    state = weight * (1 - (1 - p) ** n)
    gamma = discrete_index(state / p, 1 - p, weight, cost) * p
    actual = discrete_detection_index(n, p, weight, cost)
    assert actual == pytest.approx(gamma, rel=1e-8, abs=1e-12 * weight / cost)


@steady
@given(a=log_uniform(1e-3, 20.0), rate=log_uniform(1e-3, 1e3))
def test_detection_in_short_steps_is_detection_in_continuous_time(a, rate):
    steps = 10**6
    step = a / rate / steps
    discrete = discrete_detection_index(steps, -np.expm1(-rate * step))
    assert discrete == pytest.approx(Detection().index(rate, a / rate), rel=1e-4)


@steady
@given(a=log_uniform(1e-2, 10.0), decay=log_uniform(1e-2, 1e2), rate=log_uniform(1e-2, 1e2))
def test_ephemeral_in_short_epochs_is_ephemeral_in_continuous_time(a, decay, rate):
    one = Ephemeral(decay=decay, value=2.0)
    elapsed, epochs = a / decay, 10**5
    retention = np.exp(-decay * elapsed / epochs)
    limit = rate * one.value / decay
    state = limit * (1 - retention**epochs)
    gamma = discrete_index(state, retention, limit * (1 - retention))
    assert gamma == pytest.approx(one.index(rate, elapsed), rel=1e-2)


def test_discrete_index_is_continuous_up_to_its_limit():
    retention, inflow = 0.8, 0.2
    assert discrete_index([1.0, 1.0 + 1e-15], retention, inflow) == pytest.approx(1.0)
    states = np.linspace(0.2, 1.0, 2001)
    index = discrete_index(states, retention, inflow)
    assert np.all(np.diff(index) > 0)
    assert np.max(np.diff(index)) < 0.02


def test_discrete_index_does_not_cancel():
    assert discrete_detection_index(1, 1e-9) == pytest.approx(1e-18, rel=1e-9)
    assert discrete_detection_index(0, 0.3) == 0.0


@pytest.mark.parametrize("bad", [0.0, 1.0, -0.5, np.nan])
def test_discrete_index_refuses_a_retention_out_of_range(bad):
    with pytest.raises(InputError, match="retention"):
        discrete_index(1.0, bad, 1.0)


def test_an_objective_may_be_given_for_its_name():
    mine = Ephemeral(decay=2.0)
    assert objective(mine) is mine


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (Freshness, "Freshness is a class; give an object, such as Freshness()"),
        ("fresh", "no such objective: 'fresh'; choose one of detection, freshness"),
        (None, "no such objective: None; choose one of"),
        (["delay"], "no such objective"),
    ],
)
def test_what_is_no_objective(given, words):
    with pytest.raises(InputError, match=re.escape(words)):
        objective(given)
