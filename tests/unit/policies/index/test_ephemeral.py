"""What the learner of ephemeral content makes of polls."""

import math

import numpy as np
import pytest

from pollwise.errors import InputError
from pollwise.policies.index.ephemeral import EphemeralIndex
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
