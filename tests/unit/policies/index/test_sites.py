"""Surges: by hand, and in worlds whose siblings really change together."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.policies.arrays import ABSENT
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.policies.index.belief import refresh_belief
from pollwise.policies.index.sites import look_at_site, note_poll
from pollwise.policies.index.state import SURGES
from pollwise.rates.lattice import RATE_COUNT, RATES
from pollwise.types import Observation, Outcome, Page

DAY = 86_400.0


def ring(policy: BayesianIndex, site: int) -> list[int]:
    """The pages of a site in the order of its ring, which is walked in both directions."""
    pages, first = policy.state.pages, int(policy.state.sites[site]["page"])
    if first < 0:
        return []
    walked = [first]
    while (following := int(pages["after"][walked[-1]])) != first:
        assert pages["before"][following] == walked[-1]
        walked.append(following)
        assert len(walked) <= len(pages)
    assert pages["before"][first] == walked[-1]
    return walked


@given(
    steps=st.lists(
        st.tuples(st.sampled_from("+-"), st.integers(0, 40), st.sampled_from("ab")), max_size=60
    )
)
def test_the_ring_of_a_site_holds_its_pages(steps):
    policy = BayesianIndex()
    sites: dict[int, str] = {}
    for what, page, site in steps:
        if what == "-":
            policy.discard([page])
            sites.pop(page, None)
        elif page not in sites:
            policy.add([Page(page, site=site)])
            sites[page] = site
        for number, name in enumerate(policy._sites.keys):
            members = [page for page, site in sites.items() if site == name]
            assert sorted(ring(policy, number)) == sorted(members)


def of_siblings(policy: BayesianIndex, field: str, count: int) -> list[float]:
    """What the site of each of the first pages says of it, as of now."""
    told = []
    for page in range(count):
        refresh_belief(policy.state, page)
        told.append(float(policy.state.shared[field][0]))
    return told


def accustom(policy: BayesianIndex, changes: float, seconds: float, now: float) -> None:
    """Let the first site have seen so many changes in so much time, and some pull."""
    site = policy.state.sites[0]
    site["overlap"], site["waited"] = changes - 1.0, seconds  # one more counts always
    site["pull_odds"] = [-100.0, -100.0, -100.0, 0.0, -100.0, -100.0]  # a half
    policy.state.shared["latest"] = now


def family(*seen_at: float, others: int = 0) -> BayesianIndex:
    """Pages of one site, with copies of these times, and some of another site."""
    policy = BayesianIndex()
    pages = [Page(page, site="one", seen_at=time) for page, time in enumerate(seen_at)]
    pages += [Page(len(pages) + n, site="other", seen_at=0.0) for n in range(others)]
    policy.add(pages)
    return policy


@pytest.mark.parametrize(
    ("told", "expected"),
    # Page 0 changed between 0 and 100: of that, a copy of 50 has half before it.
    [(None, [0.0, 1.0, 0.5, 0.0, 0.0]), (80.0, [0.0, 1.0, 1.0, 0.0, 0.0])],
    ids=["between two polls", "at a time that was told"],
)
def test_a_change_counts_for_the_siblings_with_an_older_copy(told, expected):
    policy = family(0.0, 0.0, 50.0, 100.0, others=1)
    policy.observe([Observation(0, 100.0, Outcome.CHANGED, last_changed_at=told)])
    assert of_siblings(policy, "overlap", 5) == pytest.approx(expected)


def test_more_changes_than_usual_make_a_copy_older():
    """By hand: 3 changes in 2 days where one a day is usual, and half of that counts."""
    policy = family(0.0, 0.0, 0.0, 0.0)
    for page in range(3):
        policy.observe([Observation(page, 1.5 * DAY, Outcome.CHANGED, last_changed_at=DAY)])
    accustom(policy, changes=10.0, seconds=10 * DAY, now=2 * DAY)
    assert of_siblings(policy, "surge", 4)[3] == pytest.approx(0.5 * (3.0 - 2.0) * DAY)


@pytest.mark.parametrize("usual", [1.5, 30.0])
def test_a_site_as_busy_as_usual_makes_no_copy_older(usual):
    policy = family(0.0, 0.0, 0.0, 0.0)
    for page in range(3):
        policy.observe([Observation(page, 1.5 * DAY, Outcome.CHANGED, last_changed_at=DAY)])
    accustom(policy, changes=10 * usual, seconds=10 * DAY, now=2 * DAY)
    assert of_siblings(policy, "surge", 4)[3] == 0.0


def test_before_the_changes_that_are_remembered_a_site_was_as_busy_as_usual():
    policy = family(*[0.0] * (SURGES + 11))
    for page in range(SURGES + 10):
        policy.observe([Observation(page, 100.0 + page, Outcome.CHANGED, 50.0 + page)])
    accustom(policy, changes=3.0, seconds=10.0, now=500.0)
    look_at_site(policy.state, SURGES + 10)
    # The first ten changes, at 50 to 59, are forgotten; the next one was at 60.
    assert policy.state.shared["overlap"][0] == pytest.approx(SURGES + 0.3 * 60.0)


def test_pages_without_site_have_no_siblings():
    policy = BayesianIndex()
    policy.add([Page(0, seen_at=0.0), Page(1, seen_at=0.0)])
    policy.observe([Observation(0, 100.0, Outcome.CHANGED)])
    assert of_siblings(policy, "surge", 2) == [0.0, 0.0]


@pytest.mark.parametrize("truth", [0.0, 0.25, 2.0])
def test_how_much_pages_follow_their_site_is_found_out(truth):
    """Polls of a page that truly changes by its site's clock, for this part."""
    rng = np.random.default_rng(8)
    policy = family(0.0, 0.0)
    state = policy.state
    own, site, place = state.pages[1], state.sites[0], 32  # a change in 8 days
    for _ in range(3_000):
        elapsed = rng.uniform(0.2, 3.0) * DAY
        changes = rng.poisson(elapsed / DAY) if rng.random() < 0.8 else 10
        state.shared["belief"] = np.eye(RATE_COUNT)[place]
        state.shared["overlap"] = changes
        rate = (site["overlap"] + 1.0) / max(site["waited"], 1.0)
        excess = max(changes / rate - elapsed, 0.0) if site["waited"] > 0 else 0.0
        changed = rng.random() < -math.expm1(-RATES[place] * (elapsed + truth * excess))
        note_poll(state, 1, elapsed, changed)
    accustomed = site["pull_odds"].copy()
    accustom(policy, changes=20.0, seconds=10 * DAY, now=DAY)
    site["pull_odds"] = accustomed
    site["begin"][:3], site["end"][:3], site["surges"] = DAY / 2, DAY / 2, 3
    own["seen_at"] = 0.0
    look_at_site(state, 1)
    assert state.shared["surge"][0] == pytest.approx(truth * 0.5 * DAY, rel=0.3, abs=0.04 * DAY)


def surge_of_pairs(together: float, rate: float = 0.05, days: int = 400) -> float:
    """The mean surge, in days, of the sibling of a page that has just changed: 20 pairs of pages.

    Each page changes at `rate` a day of its own, and with it, as often as `together` says, its
    sibling. Servers tell when, and each page is polled daily.
    """
    rng = np.random.default_rng(3)
    changes: dict[int, list[float]] = {page: [] for page in range(40)}
    for page in changes:
        for time in np.cumsum(rng.exponential(1 / rate, int(2 * days * rate) + 20)):
            changes[page].append(time)
            if rng.random() < together:
                changes[page ^ 1].append(time)
    policy = BayesianIndex()
    policy.add([Page(page, site=str(page // 2), seen_at=0.0) for page in changes])
    seen, surges = dict.fromkeys(changes, 0.0), []
    for times in changes.values():
        times.sort()
    for day in range(1, days):
        for page, times in changes.items():
            now = day + rng.uniform(0.0, 0.9)
            policy.state.shared["latest"] = now * DAY
            latest = max((time for time in times if time <= now), default=0.0)
            changed = latest > seen[page]
            told = latest * DAY if changed else None
            policy.observe([Observation(page, now * DAY, Outcome(int(changed)), told)])
            seen[page] = now
            if changed and day > days / 2:
                refresh_belief(policy.state, page ^ 1)
                surges.append(policy.state.shared["surge"][0] / DAY)
    return float(np.mean(surges))


def test_siblings_that_change_together_are_suspected_and_others_are_not():
    """One change in four is one of the sibling too: that is worth days of waiting."""
    assert surge_of_pairs(0.25) > 2.0
    assert surge_of_pairs(0.0) < 0.3


def test_pages_that_left_take_no_part():
    policy = family(0.0, 0.0, 0.0)
    policy.discard([1])
    policy.observe([Observation(0, 100.0, Outcome.CHANGED)])
    assert policy.state.pages["where"][1] == ABSENT
    assert sorted(ring(policy, 0)) == [0, 2]
