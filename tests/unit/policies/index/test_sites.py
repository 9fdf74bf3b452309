"""Surges: by hand, and in worlds whose siblings really change together."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pollwise.policies.arrays import ABSENT
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.policies.index.belief import refresh_belief
from pollwise.policies.index.sites import FIRST_SURGE, look_at_site, note_poll
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
        for name, number in policy._sites.items():
            members = [page for page, site in sites.items() if site == name]
            assert sorted(ring(policy, number)) == sorted(members)


def surges(policy: BayesianIndex, count: int) -> list[float]:
    """Of the first pages, in days."""
    for page in range(count):
        refresh_belief(policy.state, page)
    return (policy.state.pages["surge"][:count] / DAY).tolist()


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
    assert FIRST_SURGE == DAY
    assert surges(policy, 5) == pytest.approx(expected)


def test_surges_add_up_until_the_page_is_polled():
    policy = family(0.0, 0.0, 0.0)
    policy.observe([Observation(0, 100.0, Outcome.CHANGED)])
    policy.observe([Observation(1, 200.0, Outcome.CHANGED)])
    learned = policy.state.sites[0]
    # Page 1 changed after a surge: its site counts changes as more than at first.
    assert learned["share"] > 0
    assert surges(policy, 3)[2] > 2.0
    policy.observe([Observation(2, 300.0, Outcome.UNCHANGED)])
    assert surges(policy, 3)[2] == 0.0


def test_only_the_latest_changes_are_remembered():
    policy = family(*[0.0] * (SURGES + 11))
    for page in range(SURGES + 10):
        policy.observe([Observation(page, 100.0 + page, Outcome.CHANGED)])
    refresh_belief(policy.state, SURGES + 10)
    assert policy.state.pages["overlap"][SURGES + 10] == pytest.approx(SURGES)


def test_pages_without_site_have_no_siblings():
    policy = BayesianIndex()
    policy.add([Page(0, seen_at=0.0), Page(1, seen_at=0.0)])
    policy.observe([Observation(0, 100.0, Outcome.CHANGED)])
    assert surges(policy, 2) == [0.0, 0.0]


@pytest.mark.parametrize("truth", [0.2 * DAY, 6 * DAY])
@pytest.mark.parametrize("rate_place", [25, 32])  # a change in 39 days, or in 8
def test_the_seconds_come_to_the_truth(truth, rate_place):
    """Polls whose surges, of known sizes, count as many seconds as they truly do."""
    rng = np.random.default_rng(8)
    policy = family(0.0, 0.0)
    policy.observe([Observation(0, 1.0, Outcome.CHANGED)])
    state = policy.state
    own = state.pages[1]
    own["belief"] = np.eye(RATE_COUNT)[rate_place]
    for _ in range(20_000):
        elapsed = rng.uniform(0.2, 3.0) * DAY
        look_at_site(state, 1)
        changed = rng.random() < -math.expm1(-RATES[rate_place] * (elapsed + truth))
        note_poll(state, 1, elapsed, changed)
    look_at_site(state, 1)
    assert own["surge"] == pytest.approx(truth, rel=0.15, abs=0.15 * DAY)


def pairs(together: float, rate: float = 0.05, days: int = 600) -> float:
    """What surges are learned to count as, in days, of 20 sites of two pages polled daily.

    Each page changes at `rate` a day of its own, and with it, as often as `together` says, its
    sibling. Servers tell when.
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
    seen = dict.fromkeys(changes, 0.0)
    for times in changes.values():
        times.sort()
    for day in range(1, days):
        for page, times in changes.items():
            now = day + rng.uniform(0.0, 0.9)
            latest = max((time for time in times if time <= now), default=0.0)
            changed = latest > seen[page]
            told = latest * DAY if changed else None
            policy.observe([Observation(page, now * DAY, Outcome(int(changed)), told)])
            seen[page] = now
    common = policy.state.shared[0]
    return float(common["share"] / common["exposure"]) / DAY


def test_siblings_that_change_together_are_found_out():
    """One change in four is one of the sibling too: a change counts like the time in which a
    quarter of the pages change."""
    assert pairs(0.25) == pytest.approx(-math.log(1 - 0.25) / 0.05, rel=0.4)


def test_siblings_that_do_not_are_not_suspected():
    assert pairs(0.0) < 0.5


def test_pages_that_left_take_no_part():
    policy = family(0.0, 0.0, 0.0)
    policy.discard([1])
    policy.observe([Observation(0, 100.0, Outcome.CHANGED)])
    assert policy.state.pages["where"][1] == ABSENT
    assert sorted(ring(policy, 0)) == [0, 2]
