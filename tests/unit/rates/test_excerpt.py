"""Likelihoods in few bytes."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pollwise.rates.excerpt import (
    EXCERPT_COUNT,
    SIDE_BY_SIDE,
    excerpts_of,
    keep_excerpt,
    likelihood_of,
    likelihoods_of,
)
from pollwise.rates.lattice import RATE_COUNT, RATES
from pollwise.rates.packed import unpacked
from pollwise.rates.posterior import (
    FLOOR,
    changed_table,
    forget,
    learn_doubtful_poll,
    learn_last_change,
    learn_poll,
    unchanged_table,
)

DAY = 86_400.0
CHANGED, UNCHANGED = changed_table(), unchanged_table()
FLAT = 1.0 / np.maximum(RATES * 5 * DAY, 1.0)
"""A prior in the form of that of a page of which nothing is known."""

polls = st.tuples(st.booleans(), st.floats(0.5, 2.0))

Learn = Callable[[np.ndarray], None]


def kept_of(likelihood: np.ndarray) -> np.ndarray:
    """What is left of a likelihood."""
    return likelihoods_of(*excerpts_of([likelihood]))[0]


def learned_by(steps: Sequence[Learn]) -> tuple[np.ndarray, np.ndarray]:
    """The likelihood after polls: that of all rates, and that which is kept in between."""
    exact, kept = np.ones(RATE_COUNT, np.float32), np.ones(RATE_COUNT, np.float32)
    codes = np.zeros(EXCERPT_COUNT, np.uint16)
    first = keep_excerpt(kept, codes, 0)
    for number, learn in enumerate(steps):
        likelihood_of(codes, first, kept)
        for likelihood in (exact, kept):
            forget(likelihood)
            learn(likelihood)
        first = keep_excerpt(kept, codes, number)
    likelihood_of(codes, first, kept)
    return exact, kept


def poll(changed: bool, elapsed: float) -> Learn:
    """What a poll teaches."""
    if changed:
        return lambda likelihood: learn_poll(likelihood, elapsed, CHANGED)
    return lambda likelihood: learn_doubtful_poll(likelihood, elapsed, UNCHANGED, np.float32(0.001))


def learned(outcomes: list[tuple[bool, float]]) -> tuple[np.ndarray, np.ndarray]:
    """The same after polls that changed or not, each so long after the one before."""
    return learned_by([poll(changed, elapsed) for changed, elapsed in outcomes])


def apart(one: np.ndarray, other: np.ndarray) -> float:
    """The share of the probability that is elsewhere."""
    first, second = (FLAT * each / (FLAT * each).sum() for each in (one, other))
    return float(np.abs(first - second).sum() / 2)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(outcomes=st.lists(polls, max_size=100), interval=st.floats(0.01 * DAY, 100 * DAY))
def test_what_polls_told_is_kept(outcomes, interval):
    assert apart(*learned([(changed, part * interval) for changed, part in outcomes])) < 0.01


@pytest.mark.parametrize("changes_a_day", [0.001, 0.05, 0.5, 1.0, 3.0, 100.0])
def test_many_polls_tell_the_same_rate(changes_a_day):
    rng = np.random.default_rng(7)
    gaps = DAY * rng.exponential(size=1_000)
    changed = rng.random(1_000) < 1 - np.exp(-changes_a_day * gaps / DAY)
    exact, kept = learned(list(zip(changed.tolist(), gaps.tolist(), strict=True)))
    rates = [float((FLAT * each) @ RATES / (FLAT @ each)) for each in (exact, kept)]
    assert rates[1] == pytest.approx(rates[0], rel=0.02)


def test_a_page_that_became_a_thousand_times_slower_is_followed():
    busy, quiet = [(True, DAY / 24)] * 50, [(False, 30 * DAY)] * 60
    exact, kept = learned(busy + quiet)
    assert apart(exact, kept) < 0.2
    assert kept[RATES > 1 / (100 * DAY)].max() < 1e-6


@pytest.mark.parametrize("since", [0.5, 5.0, 60.0])
@pytest.mark.parametrize("outcomes", ["uc", "uccucuccuccccuu", "cccccuuuuuuuuuu", "ucuuuucuuuu"])
def test_a_second_peak_far_from_the_first_is_kept(outcomes, since):
    """The time told with a change is that of a change of a fast page, or that of the answer."""
    untrue = np.float32(0.05 / 900) * -np.expm1(-RATES * 7 * DAY).astype(np.float32)

    def dated(likelihood: np.ndarray) -> None:
        learn_last_change(likelihood, since, UNCHANGED, untrue)

    for count in range(1, len(outcomes) + 1):
        told = [dated if one == "c" else poll(False, 7 * DAY) for one in outcomes[:count]]
        assert apart(*learned_by(told)) < 0.15


def test_steps_too_small_for_a_code_add_up():
    """Ten years of daily polls of which each says next to nothing."""
    exact, kept = learned([(False, DAY / 100)] * 3_650)
    told = exact > 0.01
    assert kept[told] == pytest.approx(exact[told], rel=0.1)
    assert exact[told].min() < 0.1


@pytest.mark.parametrize("power", [-2.0, 0.0, 1.0, 3.0])
def test_beyond_its_ends_a_likelihood_goes_on_as_it_does_there(power):
    """One that falls with a power of the rate is known from any of its parts."""
    likelihood = np.maximum((RATES / RATES.max()) ** power, FLOOR)
    if power < 0:
        likelihood = np.maximum((RATES / RATES.min()) ** power, FLOOR)
    kept = kept_of(likelihood)
    told = likelihood > 1e-12
    # Each step of the packing counts as often as there are rates beyond.
    assert np.log(kept[told]) == pytest.approx(np.log(likelihood[told]), abs=0.15)


def test_the_slowest_and_the_fastest_rate_stay_as_likely_as_they_are():
    likelihood = np.full(RATE_COUNT, 1e-20)
    likelihood[:5], likelihood[50:60], likelihood[-5:] = 0.01, 1.0, 0.02
    kept = kept_of(likelihood)
    assert kept[[0, 1, 94, 95]] == pytest.approx([0.01, 0.01, 0.02, 0.02], rel=0.01)
    assert kept[40:60] == pytest.approx(likelihood[40:60], rel=0.01)


@given(likelihood=st.lists(st.floats(2.0**-83, 1.0, width=32), min_size=96, max_size=96))
def test_an_excerpt_is_kept_to_a_fifth_of_a_percent(likelihood):
    codes, first = excerpts_of([likelihood])
    (kept,) = likelihoods_of(codes, first)
    part = slice(int(first[0]), int(first[0]) + SIDE_BY_SIDE)
    assert kept[part] == pytest.approx(likelihood[part], rel=2.0**-8)
    assert (kept >= 0.99 * min(likelihood)).all()
    assert (kept <= 1.01 * max(likelihood)).all()


@pytest.mark.parametrize("first", range(0, RATE_COUNT - SIDE_BY_SIDE + 1, 4))
def test_likelihoods_between_those_kept_are_powers_of_the_rate(first):
    rng = np.random.default_rng(first)
    codes = rng.integers(20_000, 60_000, EXCERPT_COUNT).astype(np.uint16)
    kept = unpacked(codes)
    places = [*range(0, first, 4), *range(first, first + SIDE_BY_SIDE)]
    places += range(first + SIDE_BY_SIDE + 3, RATE_COUNT, 4)
    expected = np.exp(np.interp(range(RATE_COUNT), places, np.log(kept.astype(np.float64))))
    found = np.full(RATE_COUNT, np.nan, np.float32)
    likelihood_of(codes, first, found)
    assert found == pytest.approx(expected, rel=1e-5)
    assert np.array_equal(found[places], kept)
