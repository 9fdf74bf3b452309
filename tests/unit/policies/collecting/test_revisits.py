"""The held pages: which is looked at again, freshness, weights, state."""

import numpy as np
import pytest

from pollwise.policies.collecting.rests import FIRST
from pollwise.policies.collecting.revisits import Revisits
from pollwise.types import Observation, Outcome, Page


def page(number: int, scope: str = "a.example") -> Page:
    return Page(number, f"http://{scope}/{number}", scope)


def holding(*relevances: float, resting: bool = True) -> Revisits:
    held = Revisits(resting=resting)
    for number, relevance in enumerate(relevances):
        held.hold(page(number), relevance, 0.0)
    return held


HOUR = 3600.0


def poll(held: Revisits, now: float, changed) -> int:
    """Poll the best page; -1: all rest."""
    page_id, _ = held.best(now)
    if page_id < 0:
        return -1
    held.lease(page_id, now)
    outcome = Outcome.CHANGED if changed(page_id) else Outcome.UNCHANGED
    held.observe(Observation(page_id, now, outcome))
    held.release(page_id)
    return page_id


def every(hours: int):
    """Whether a page that changes every so many hours has changed since the poll before."""
    polled_at: dict[int, int] = {}

    def changed(page_id: int, now: int) -> bool:
        before, polled_at[page_id] = polled_at.get(page_id, 0), now
        return now // hours > before // hours

    return changed


def test_without_pages():
    held = Revisits()
    assert held.best(1.0)[0] == -1
    assert held.freshness == 1.0


def test_relevant_pages_are_polled_more_often():
    held = holding(0.1, 0.9, 0.0, 0.0)
    rng = np.random.default_rng(0)
    polled = [poll(held, now * HOUR, lambda _: rng.random() < 0.3) for now in range(1, 400)]
    assert polled.count(-1) < 20
    counts = np.bincount([page_id for page_id in polled if page_id >= 0], minlength=4)
    assert counts[1] > counts[0] > max(counts[2:]) >= min(counts[2:]) > 0


def test_freshness_falls_between_polls_and_is_that_of_rates():
    held = holding(0.5, 0.5)
    changes = every(2)
    for now in range(1, 300):
        poll(held, now * HOUR, lambda page_id, now=now: changes(page_id, now))
    often = held.freshness
    still = holding(0.5, 0.5)
    for now in range(1, 300):
        poll(still, now * HOUR, lambda _: False)
    # Copies of what never changes rest, so they are older than those without rests.
    assert often < 0.8 < 0.95 < still.freshness


def test_without_rests_relevant_pages_are_polled_more_often_and_irrelevant_ones_alike():
    held = holding(0.1, 0.9, 0.0, 0.0, resting=False)
    rng = np.random.default_rng(0)
    polled_at = [0.0] * 4

    def changed(page_id: int, now: float) -> bool:
        waited, polled_at[page_id] = now - polled_at[page_id], now
        return rng.random() < -np.expm1(-0.02 * waited)

    polled = [
        poll(held, float(now), lambda page_id, now=now: changed(page_id, float(now)))
        for now in range(1, 400)
    ]
    counts = np.bincount(polled, minlength=4)
    assert counts[1] > counts[0] > counts[2] > 0
    assert abs(counts[2] - counts[3]) <= 1


def test_without_rests_freshness_falls_between_polls_and_is_that_of_rates():
    held = holding(0.5, 0.5, resting=False)
    for now in range(1, 300):
        poll(held, float(now), lambda _, now=now: now % 2 == 0)
    often = held.freshness
    still = holding(0.5, 0.5, resting=False)
    for now in range(1, 300):
        poll(still, float(now), lambda _: False)
    assert often < 0.8 < 0.97 < still.freshness


def test_without_rests_the_rate_of_changes_seen():
    held = holding(0.5, resting=False)
    for now in range(1, 1001):
        poll(held, float(now), lambda _, now=now: now % 10 == 0)
    assert held.change_rate(1000.0) == pytest.approx(0.05, rel=0.05)


def test_the_rate_of_changes_seen():
    held = holding(0.5)
    assert held.change_rate(10.0) == pytest.approx(0.1)
    changes = every(10)
    for now in range(1, 1001):
        poll(held, now * HOUR, lambda page_id, now=now: changes(page_id, now))
    assert held.change_rate(1000 * HOUR) * HOUR == pytest.approx(0.05, rel=0.05)


def test_weights_may_change():
    held = holding(0.9, 0.1, 0.0)
    held.weigh(0, 0.0)
    held.weigh(2, 0.9)
    assert held.relevance == pytest.approx(1.0)
    assert held.best(100.0)[0] == 2
    held.weigh(2, 0.01)
    assert held.relevance == pytest.approx(0.11)
    assert held.best(200.0)[0] == 1
    assert held.drop(1) == 0.1
    assert held.relevance == pytest.approx(0.01)
    assert 1 not in held
    assert len(held) == 2


@pytest.mark.parametrize("relevance", [0.0, 0.5])
def test_pages_of_a_blocked_scope_are_passed_over(relevance):
    held = holding(relevance, relevance)
    held.hold(page(2, "b.example"), relevance, 5.0)
    held.block("a.example", 500.0)
    assert held.best(200.0)[0] == 2
    held.unblock("a.example")
    assert held.best(500.0)[0] in (0, 1)


def test_what_was_learned_is_put_back():
    held = holding(0.5, 0.3, 0.0)
    for now in range(1, 60):
        poll(held, now * HOUR, lambda page_id: page_id == 1)
    ids = [2, 0, 1]
    state = held.state_dict(ids)
    other = holding(0.5, 0.3, 0.0)
    other.load_state_dict(ids, state)
    for name, array in other.state_dict(ids).items():
        np.testing.assert_array_equal(array, state[name])


@pytest.mark.parametrize("relevance", [0.0, 0.5])
def test_nothing_is_the_best_one_before_its_rest_is_over(relevance):
    held = holding(relevance)
    assert held.best(FIRST - 1.0)[0] == -1
    assert held.wake_at == FIRST
    assert poll(held, FIRST, lambda _: False) == 0
    assert held.best(2 * FIRST - 1.0)[0] == -1
    assert held.best(2.1 * FIRST)[0] == 0


@pytest.mark.parametrize(("before", "after"), [(0.0, 0.5), (0.5, 0.0), (0.5, 0.3)])
def test_a_page_rests_as_long_whatever_its_relevance_becomes(before, after):
    held = holding(before)
    held.weigh(0, after)
    assert held.best(FIRST - 1.0)[0] == -1
    assert held.best(FIRST)[0] == 0


def test_rests_are_put_back():
    held = holding(0.5, 0.0)
    for now in range(1, 60):
        poll(held, now * HOUR, lambda _: False)
    other = holding(0.5, 0.0)
    for page_id in (0, 1):
        other.observe(Observation(page_id, 59 * HOUR, Outcome.UNCHANGED))
    other.load_state_dict([0, 1], held.state_dict([0, 1]))
    assert held.best(60 * HOUR)[0] == other.best(60 * HOUR)[0] == -1
