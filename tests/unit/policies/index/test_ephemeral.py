"""What the learner of ephemeral content makes of polls."""

import math

import numpy as np
import pytest

from pollwise.errors import InputError
from pollwise.policies.index.ephemeral import _FIRST_SHAPE, EphemeralIndex, _bonus
from pollwise.types import Item, Observation, Outcome, Page


def watched(pages, **options):
    policy = EphemeralIndex(**options)
    policy.add([Page(i, seen_at=0.0) for i in range(pages)])
    return policy


def poll(rng, page, since, now, rate, value, decay, aged):
    """What a poll of a random source finds."""
    born = rng.uniform(since, now, rng.poisson(rate * (now - since)))
    left = rng.exponential(value, len(born)) * np.exp(-decay * (now - born))
    times = born.tolist() if aged else [None] * len(born)
    items = tuple(map(Item, left.tolist(), times))
    return Observation(page, now, Outcome(bool(items)), n_items=len(items), items=items)


@pytest.mark.parametrize("aged", [True, False])
def test_rate_value_and_decay_are_found(aged):
    rng = np.random.default_rng(2)
    policy, now = watched(1), 0.0
    for wait in rng.choice([20.0, 100.0, 400.0], 200):
        policy.observe([poll(rng, 0, now, now + wait, 0.5, 3.0, 0.02, aged)])
        now += wait
    found = policy.estimate(0)
    assert found.arrival_rate == pytest.approx(0.5, rel=0.05)
    assert found.value == pytest.approx(3.0, rel=0.15)
    assert found.decay == pytest.approx(0.02, rel=0.15)
    assert found.polls == 200


def test_ages_identify_the_decay_from_polls_at_one_interval():
    errors = {}
    for aged in (True, False):
        rng = np.random.default_rng(4)
        policy = watched(1)
        for n in range(30):
            policy.observe([poll(rng, 0, 50.0 * n, 50.0 * (n + 1), 1.0, 1.0, 0.05, aged)])
        errors[aged] = abs(math.log(policy.estimate(0).decay / 0.05))
    assert errors[True] < 0.2
    assert errors[False] > 3 * errors[True]


@pytest.mark.parametrize(
    "told",
    [
        {"n_items": 5},
        {"n_items": 5, "items": tuple(Item(math.exp(-0.01 * a), 100.0 - a) for a in range(5))},
    ],
)
def test_counts_alone_teach_the_rate(told):
    policy = watched(2, decay=0.01)
    for n in range(1, 40):
        items = told.get("items")
        if items is not None:
            items = tuple(Item(i.value, i.published_at + 100.0 * (n - 1)) for i in items)
        policy.observe([Observation(0, 100.0 * n, Outcome.CHANGED, n_items=5, items=items)])
    assert policy.estimate(0).arrival_rate == pytest.approx(0.05, rel=0.1)
    assert policy.estimate(0).value == pytest.approx(1.0, rel=0.05)
    assert policy.estimate(0).decay == 0.01


def test_a_change_alone_counts_as_the_items_to_be_expected():
    policy = watched(1, decay=0.01)
    rng = np.random.default_rng(5)
    for n in range(1, 400):
        changed = rng.random() < -math.expm1(-0.7)
        policy.observe([Observation(0, 10.0 * n, Outcome(bool(changed)))])
    assert policy.estimate(0).arrival_rate == pytest.approx(0.07, rel=0.25)


def test_failed_late_and_first_polls_teach_nothing():
    policy = EphemeralIndex()
    policy.add([Page(0)])
    items = (Item(1.0, 4.0),)
    policy.observe([Observation(0, 5.0, Outcome.CHANGED, items=items)])
    policy.observe([Observation(0, 9.0, Outcome.FAILED), Observation(0, 9.0, Outcome.GONE)])
    policy.observe([Observation(0, 4.0, Outcome.CHANGED, items=items)])
    assert policy.estimate(0).polls == 0


def test_a_dull_source_is_looked_at_again_in_the_end():
    rng = np.random.default_rng(6)
    for pages in (3, 40):  # few sources all compete; more of them wait in the calendar
        policy, seen = watched(pages, decay=0.05), dict.fromkeys(range(pages), 0.0)
        polled = []
        for now in np.arange(1.0, 100.0 * pages):
            (page,) = policy.select(now, 1).page_ids.tolist()
            rate = 0.0 if page == 0 else 1.0
            policy.observe([poll(rng, page, seen[page], now, rate, 1.0, 0.05, True)])
            seen[page] = now
            polled.append(page)
        count = np.bincount(polled, minlength=pages)
        assert 2 <= count[0] < count[1:].min() / 2


def test_no_source_is_given_up_unseen_where_no_index_grows_any_more():
    """Waits are longer than items live, and the best source had nothing in its first two waits."""
    rng = np.random.default_rng(7)
    rates, since = (2.0, 1.0, 1.0, 0.5), np.zeros(4)
    policy = watched(4, decay=1.0)
    polled = []
    for now in np.arange(10.0, 4_000.0, 10.0):
        (page,) = policy.select(now, 1).page_ids.tolist()
        rate = 0.0 if page == 0 and now < 100.0 else rates[page]
        policy.observe([poll(rng, page, since[page], now, rate, 1.0, 1.0, False)])
        since[page] = now
        polled.append(page)
    assert set(polled[:12]) == {0, 1, 2, 3}
    assert np.bincount(polled[200:]).argmax() == 0


def after_twenty_polls(rates):
    rng = np.random.default_rng(9)
    policy = watched(len(rates), decay=0.05)
    for n in range(1, 21):
        policy.observe(
            [
                poll(rng, page, 10.0 * (n - 1), 10.0 * n, rate, 1.0, 0.05, True)
                for page, rate in enumerate(rates)
            ]
        )
    return policy


@pytest.mark.parametrize(
    ("rates", "expected"), [([0.5] * 60, 0.0), ([0.0] * 54 + [5.0] * 6, 8.0)], ids=["alike", "dead"]
)
def test_how_unlike_sources_are_is_learned(rates, expected):
    """With eight sources of the variance that is taken for usual."""
    (shape,) = after_twenty_polls(rates).state_dict()["sources.shape"]
    variance = np.var(rates) / np.mean(rates) ** 2
    pooled = (8 / _FIRST_SHAPE + variance * len(rates)) / (8 + len(rates))
    assert pooled == pytest.approx(expected, abs=0.1)
    assert 1 / shape == pytest.approx(np.clip(pooled, 0.05, 8.0), rel=0.1)


def gittins_indices(polls, most, wide=2.5):
    """Of a normal mean known from 1 to `most` polls of variance 1, by value iteration."""
    kept, grid = math.exp(-1 / polls), np.linspace(-wide, wide, 1_001)
    nodes, weights = np.polynomial.hermite_e.hermegauss(9)
    gain, found = np.maximum(grid, 0.0) / (1 - kept), np.zeros(most + 1)
    for known in range(most, 0, -1):
        step = math.sqrt(1 / known - 1 / (known + 1))
        later = sum(
            weight
            * (
                np.interp(grid + node * step, grid, gain)
                + np.maximum(grid + node * step - wide, 0.0) / (1 - kept)
            )
            for node, weight in zip(nodes, weights / weights.sum(), strict=True)
        )
        going_on = grid + kept * later
        gain = np.maximum(going_on, 0.0)
        at = int(np.argmax(going_on > 0))
        found[known] = -np.interp(0.0, going_on[at - 1 : at + 1], grid[at - 1 : at + 1])
    return found


def test_the_bonus_is_the_gittins_index():
    """It is that of a Brownian motion: more than that of polls, the more so the fewer these are."""
    exact = gittins_indices(polls=300, most=3_000)
    for known, least in ((150, 0.9), (60, 0.9), (30, 0.88), (10, 0.85)):
        bonus = float(_bonus(np.array([300 / known]))[0])
        assert least < exact[known] * math.sqrt(known) / bonus < 1.0
    small = _bonus(np.array([0.0, 0.02, 1 / 7 - 1e-6, 1 / 7 + 1e-6]))
    assert small[1] == pytest.approx(0.1)
    assert small[0] == pytest.approx(0.0, abs=1e-5)
    assert small[3] == pytest.approx(small[2], rel=0.03)


def test_what_was_learned_before_a_was_goes_on():
    policy = after_twenty_polls([0.5, 1.0])
    state = policy.state_dict()
    older = {name: array for name, array in state.items() if name != "sources.shape"}
    other = watched(2, decay=0.05)
    other.load_state_dict(other.upgraded(older))
    assert other.state_dict()["sources.shape"] == _FIRST_SHAPE
    assert other.estimate(1).polls == 20
    assert other.upgraded(state) is state
    assert other.upgraded({"page_ids": np.zeros(0)}).keys() == {"page_ids"}


def test_learned_state_goes_on_as_before():
    rng = np.random.default_rng(8)
    policy = watched(3)
    for n in range(1, 30):
        policy.observe([poll(rng, i, n - 1.0, float(n), i + 1.0, 1.0, 0.3, True) for i in range(3)])
    other = watched(3)
    other.load_state_dict(policy.state_dict())
    for page in range(3):
        assert other.estimate(page) == policy.estimate(page)
    assert other.select(40.0, 3).page_ids.tolist() == policy.select(40.0, 3).page_ids.tolist()


@pytest.mark.parametrize("memory", [1.0, math.inf])
def test_one_poll_or_all_may_be_remembered(memory):
    policy = watched(2, decay=1e-9, memory=memory)
    for n in range(1, 400):
        for page, count in enumerate((1, 3)):
            items = tuple(Item(1.0, n - 0.5) for _ in range(count))
            policy.observe([Observation(page, float(n), Outcome.CHANGED, items=items)])
    state = policy.state_dict()
    assert all(np.isfinite(state[name]).all() for name in state if name.startswith("sources."))
    assert policy.estimate(0).arrival_rate < policy.estimate(1).arrival_rate
    assert policy.select(500.0, 1).page_ids.tolist() == [1]


@pytest.mark.parametrize(
    "options", [{"decay": 0.0}, {"decay": math.nan}, {"epoch": -1.0}, {"memory": 0.5}]
)
def test_bad_options_are_named(options):
    (name,) = options
    with pytest.raises(InputError, match=f"ephemeral-index: {name}="):
        EphemeralIndex(**options)


def test_an_unknown_source_has_no_estimate():
    with pytest.raises(InputError, match="no page with the id 7"):
        watched(1).estimate(7)
