"""Each interval rule gives the intervals of its formula, and shares polls out by them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.errors import InputError, StateError
from pollwise.policies.rules.miniflux import Miniflux
from pollwise.policies.rules.news_crawl import NewsCrawl
from pollwise.policies.rules.newsblur import NewsBlur
from pollwise.policies.rules.nutch import Nutch
from pollwise.policies.rules.policy import IntervalRule
from pollwise.policies.rules.stormcrawler import StormCrawler
from pollwise.types import Observation, Outcome, Page

HOUR, DAY = 3600.0, 86400.0


def waits(policy: IntervalRule, found: str, **told: float) -> list[float]:
    """The waits after polls on time, `c` where one finds a change; the page's copy is of time 0."""
    policy.add([Page(0, seen_at=0.0)])
    now, result = 0.0, []
    for sign in found:
        now = policy.select(now, 1).wake_at
        assert policy.select(now, 1).page_ids.tolist() == [0]
        outcome = Outcome.CHANGED if sign == "c" else Outcome.UNCHANGED
        told_at = now - told["age"] if "age" in told and sign == "c" else None
        policy.observe([Observation(0, now, outcome, last_changed_at=told_at)])
        result.append(policy.select(now, 1).wake_at - now)
    return result


def test_nutch_without_synchronisation():
    policy = Nutch(synchronise=0.0, scale=1.0)
    days = np.array(waits(policy, "ccuu")) / DAY
    assert days == pytest.approx([24.0, 19.2, 23.04, 27.648])


def test_nutch_synchronises_with_the_change():
    # After the change δ = 0. Then δ = 24: T = max(28.8, 24), less 0.2 of 24. Then δ = 24 + 24 = 48
    # is above 34.56, so T = 48, less 0.2 of 48; and so on.
    policy = Nutch(scale=1.0)
    days = np.array(waits(policy, "cuuc")) / DAY
    assert days == pytest.approx([24.0, 28.8 - 4.8, 48.0 - 9.6, 38.4])


def test_nutch_takes_the_time_of_the_change_that_the_server_tells():
    days = np.array(waits(Nutch(scale=1.0), "c", age=10 * DAY)) / DAY
    assert days == pytest.approx([24.0 - 2.0])
    # Of a change before the poll before nothing is believed: it was found by this one.
    days = np.array(waits(Nutch(scale=1.0), "c", age=40 * DAY)) / DAY
    assert days == pytest.approx([24.0])


def test_nutch_at_its_maximum_still_waits():
    policy = Nutch(maximum=60 * DAY, scale=1.0)
    assert waits(policy, "u" * 12)[-1] == pytest.approx(48 * DAY)


def test_nutch_at_its_minimum():
    policy = Nutch(synchronise=0.0, minimum=25 * DAY, scale=1.0)
    assert waits(policy, "c") == [25 * DAY]


def test_stormcrawler():
    hours = np.array(waits(StormCrawler(scale=1.0), "ccu")) / HOUR
    assert hours == pytest.approx([12.5, 6.75, 10.125])
    assert waits(StormCrawler(scale=1.0), "u" * 9)[-1] == 14 * DAY


def test_news_crawl():
    hours = np.array(waits(NewsCrawl(scale=1.0), "ccu")) / HOUR
    assert hours == pytest.approx([9.9, 8.22, 12.33])
    assert waits(NewsCrawl(scale=1.0), "u" * 20)[-1] == 90 * DAY


def test_a_scale_multiplies_all_times():
    for sign in ("cuuccu", "uuuucc"):
        plain, scaled = (waits(Nutch(scale=scale), sign) for scale in (1.0, 3.0))
        assert scaled == pytest.approx([3.0 * wait for wait in plain])


def feed(policy: IntervalRule, told: dict[float, int]) -> float:
    """The hours to the next poll after polls that brought so many items, by days."""
    policy.add([Page(0, seen_at=0.0)])
    for day, items in told.items():
        outcome = Outcome.CHANGED if items else Outcome.UNCHANGED
        policy.observe([Observation(0, day * DAY, outcome, n_items=items)])
    return (policy.select(day * DAY, 1).wake_at - day * DAY) / HOUR


@pytest.mark.parametrize(
    ("told", "hours"),
    [
        ({1: 0}, 24.0),
        ({1: 14}, 12.0),
        ({1: 3}, 24.0),  # 56 hours, but a day is the most
        ({1: 10, 2: 11, 3: 0}, 8.0),
        ({1: 10, 7: 11}, 8.0),
        ({1: 10, 9: 21}, 8.0),  # those of the first day are older than a week
        ({1: 10, 20: 0}, 24.0),
        ({1: 100_000}, 1 / 12),
    ],
)
def test_miniflux(told, hours):
    assert feed(Miniflux(scale=1.0), told) == pytest.approx(hours)


def test_miniflux_with_other_settings():
    assert feed(Miniflux(factor=2.0, scale=1.0), {1: 14}) == pytest.approx(6.0)
    assert feed(Miniflux(maximum=7 * DAY, scale=1.0), {1: 2}) == pytest.approx(84.0)


@pytest.mark.parametrize(
    ("subscribers", "told", "hours"),
    [
        (0.1, {1: 30}, 1.0),
        (2.0, {1: 30}, 0.25),
        (11.0, {1: 30}, 0.1),
        (0.1, {1: 6}, 12 * 0.8),
        (2.0, {1: 6}, 0.8),
        (0.1, {1: 0}, 24.0),
        (1.0, {1: 0}, 12.0),
        (2.0, {1: 0}, 6.0),
        (0.1, {1: 0, 45: 0}, 36.0),
        (0.1, {1: 0, 300: 0}, 48.0),
        (2.0, {1: 0, 300: 0}, 12.0),
        (0.1, {1: 6, 46: 0}, 36.0),  # a month and a half after the latest item
    ],
)
def test_newsblur(subscribers, told, hours):
    assert feed(NewsBlur(subscribers=subscribers, scale=1.0), told) == pytest.approx(hours)


def test_a_change_counts_as_an_item_where_nothing_else_is_told():
    policy = Miniflux(maximum=7 * DAY, scale=1.0)
    policy.add([Page(0, seen_at=0.0)])
    policy.observe([Observation(0, n * HOUR, Outcome.CHANGED) for n in (1, 2, 3)])
    assert policy.select(3 * HOUR, 1).wake_at == pytest.approx(3 * HOUR + 7 * DAY / 3)


def test_a_first_copy_and_failures_teach_nothing():
    policy = Nutch(scale=1.0)
    policy.add([Page(0)])
    now = 5 * DAY
    for outcome in (Outcome.CHANGED, Outcome.FAILED, Outcome.GONE):
        assert policy.select(now, 1).page_ids.tolist() == [0]
        policy.observe([Observation(0, now, outcome)])
        wake_at = policy.select(now, 1).wake_at
        assert wake_at == now + 30 * DAY
        now = wake_at


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_intervals_stay_within_bounds(found):
    policy = StormCrawler(scale=1.0)
    for wait in waits(policy, "".join("c" if changed else "u" for changed in found)):
        assert HOUR <= wait <= 14 * DAY


def test_polls_are_shared_out_in_proportion_to_one_by_interval():
    # One page changes before every poll, the others never: theirs become 336 times as long.
    policy = StormCrawler()
    policy.add([Page(n, seen_at=0.0) for n in range(4)])
    given_out = []
    for now in range(4000):
        (page_id,) = policy.select(float(now), 1).page_ids.tolist()
        given_out.append(page_id)
        policy.observe([Observation(page_id, float(now), Outcome(int(page_id == 0)))])
    counts = np.bincount(given_out[2000:], minlength=4)
    assert counts[1:].max() <= math.ceil(2000 / 336) + 1
    assert counts[0] >= 1980


def test_the_clock_of_shared_polls_tells_nutch_the_age_of_a_change():
    """At whatever budget: the intervals are those of a crawler that has its own time."""
    for seconds in (1.0, 1e6):
        policy = Nutch()
        policy.add([Page(0, seen_at=0.0)])
        intervals = []
        for n, sign in enumerate("cuuc", start=1):
            policy.select(n * seconds, 1)
            policy.observe([Observation(0, n * seconds, Outcome(int(sign == "c")))])
            intervals.append(policy.state.deadlines.pages["interval"][0] / DAY)
        assert intervals == pytest.approx([24.0, 24.0, 38.4, 38.4])


@pytest.mark.parametrize("known", [0, 1])
def test_state_put_back_leaves_the_ages_of_changes_as_they_were(known):
    learned = Nutch()
    learned.add([Page(0, seen_at=0.0)])
    for now in range(1, 6):
        learned.select(float(now), 1)
        learned.observe([Observation(0, float(now), Outcome.UNCHANGED)])
    policy = Nutch()
    policy.add([Page(known, seen_at=0.0)])
    policy.load_state_dict(learned.state_dict())
    other = learned if known == 0 else Nutch()
    if known == 1:
        other.add([Page(1, seen_at=0.0)])
    for one in (policy, other):
        one.select(10.0, 1)
        one.observe([Observation(known, 10.0, Outcome.UNCHANGED)])
    waits = [one.state.deadlines.pages["interval"][known] for one in (policy, other)]
    assert waits[0] == pytest.approx(waits[1])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Nutch(increase=-0.1), "nutch: increase=-0.1 must be a share"),
        (lambda: Nutch(decrease=1.0), "nutch: decrease=1.0 must be a share"),
        (lambda: Nutch(synchronise="x"), "nutch: synchronise='x' must be a share"),
        (lambda: Nutch(scale=0), "nutch: scale=0 must be a finite number above 0"),
        (lambda: Nutch(maximum=math.nan), "nutch: maximum=nan must be"),
        (lambda: StormCrawler(minimum=10.0, maximum=5.0), "stormcrawler: minimum=10.0 is above"),
        (lambda: Miniflux(factor=0), "miniflux: factor=0 must be"),
        (lambda: NewsBlur(subscribers=-1), "newsblur: subscribers=-1 must be"),
    ],
)
def test_arguments_that_cannot_be(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_damaged_state_is_refused():
    policy = Nutch()
    policy.add([Page(0, seen_at=0.0)])
    state = policy.state_dict()
    for name, value in (("page.wait", 0.0), ("page.wait", math.nan), ("nutch.clock", math.inf)):
        with pytest.raises(StateError, match="the learned state of nutch is damaged"):
            policy.load_state_dict({**state, name: np.full(1, value)})
