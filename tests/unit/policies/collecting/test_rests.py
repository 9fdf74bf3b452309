"""How long pages rest: doubling without evidence, less where pages change."""

import itertools

import numpy as np

from pollwise.policies.collecting.rests import FIRST, Past, Rests


def looks(rests: Rests, until: float) -> list[float]:
    """The times at which a page that never changes is looked at."""
    page, times = Past(0.0, 0.0), [0.0]
    while (now := rests.end(page, times[-1])) < until:
        rests.note(page, times[-1], now, changed=False)
        times.append(now)
    return times


def test_a_page_that_does_not_change_rests_at_least_as_long_as_it_is_old():
    times = looks(Rests(), 30 * 86_400.0)
    assert all(after - now >= now for now, after in itertools.pairwise(times))
    assert len(times) < 18


def test_pages_that_are_known_to_change_do_not_rest_for_long():
    rests, rng = Rests(), np.random.default_rng(1)
    for age in (0.0, 500.0, 2000.0, 9000.0):
        for _ in range(100):
            rests.note(Past(0.0, 0.0), age, age + 100.0, changed=rng.random() < 0.1)
    for age in (0.0, 500.0, 2000.0, 9000.0):
        assert FIRST <= rests.end(Past(0.0, 0.0), age) - age <= max(FIRST, 50.0 + age / 9.0)


def test_a_page_that_is_known_to_change_need_not_rest_like_the_others():
    rests = Rests()
    looks(rests, 30 * 86_400.0)
    busy = Past(0.0, 99_940.0, changes=1000.0)
    assert rests.end(busy, 100_000.0) - 100_000.0 == FIRST


def test_one_busy_page_does_not_hurry_the_others():
    rests, busy, now = Rests(), Past(0.0, 0.0), 0.0
    for _ in range(5000):
        now += 15.0
        rests.note(busy, now - 15.0, now, changed=True)
        busy = busy.changed(now)
    day = 86_400.0
    assert rests.end(Past(0.0, 0.0), day) - day > day / 2


def test_a_clock_that_was_far_ahead_for_a_while_is_no_evidence():
    rests, year = Rests(), 365 * 86_400.0
    for _ in range(30):
        rests.note(Past(0.0, 0.0), 0.0, year, changed=False)
    assert rests.end(Past(0.0, 0.0), 0.0) < 30 * FIRST


def test_what_was_learned_is_put_back():
    one, other = Rests(), Rests()
    one.note(Past(0.0, 0.0), 3 * FIRST, 5 * FIRST, changed=True)
    other.load(one.state().tolist())
    assert other.end(Past(0.0, 0.0), 3 * FIRST) == one.end(Past(0.0, 0.0), 3 * FIRST)
    assert other.state().tolist() == one.state().tolist()
