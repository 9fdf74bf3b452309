"""Where the evidence of pages is kept: in full as long as there is room, else as a summary."""

from collections.abc import Callable

import numpy as np
import pytest

from pollwise.policies.index import policy as policy_module
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.policies.index.evidence import IN_FULL
from pollwise.policies.index.state import EVIDENCE, INDEX_PAGE, NEW, SUMMARY
from pollwise.policies.structures.heap import HEAP
from pollwise.rates.packed import unpacked
from pollwise.simulation.loop import simulate
from pollwise.simulation.worlds.zipf import Zipf
from pollwise.types import Observation, Outcome, Page

DAY = 86_400.0


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Let there be room for the evidence of only so many pages in full."""
    return lambda pages: monkeypatch.setattr(policy_module, "IN_FULL", pages)


def watched(pages: int, days: int, seed: int = 0) -> BayesianIndex:
    """A policy after a poll a day of each page: number 0 changes most often, the last one least."""
    policy, rng = BayesianIndex(), np.random.default_rng(seed)
    policy.add([Page(n, seen_at=0.0) for n in range(pages)])
    for day in range(1, days + 1):
        for page in range(pages):
            changed = rng.random() < 0.9 * (1 - page / pages)
            policy.observe([Observation(page, day * DAY + page, Outcome(int(changed)))])
    return policy


def posteriors_of(policy: BayesianIndex, pages: int) -> np.ndarray:
    return policy.rate_posteriors(range(pages))[1]


def test_a_page_of_ten_million_takes_at_most_96_bytes():
    pages = 10_000_000
    each = INDEX_PAGE.itemsize + HEAP.itemsize + SUMMARY.itemsize
    assert each + EVIDENCE.itemsize * IN_FULL / pages <= 96


def test_with_room_for_all_every_page_has_its_evidence_in_full():
    policy = watched(20, 5)
    assert policy.state.pages["spot"][:20].tolist() == list(range(20))
    assert policy.state.evidence["holder"][:20].tolist() == list(range(20))
    assert len(policy.state.summaries) == 0


def test_pages_that_changed_most_often_have_the_room(room):
    room(5)
    policy = watched(40, 60)
    holders = policy.state.evidence["holder"]
    assert policy.state.pages["spot"][holders].tolist() == [0, 1, 2, 3, 4]
    changes = policy.state.pages["changes"]
    assert changes[holders].min() > np.median(changes[:40])
    assert (policy.state.pages["spot"][:40] >= 0).sum() == 5


def test_summaries_tell_nearly_the_same_of_rates(room):
    full = posteriors_of(watched(40, 12), 40)
    room(1)
    policy = watched(40, 12)
    assert len(policy.state.summaries) >= 40
    apart = np.abs(posteriors_of(policy, 40) - full).sum(axis=1) / 2
    assert apart.mean() < 0.08
    assert apart.max() < 0.2


def test_a_summary_has_as_many_spells_as_the_page(room):
    room(1)
    policy = watched(8, 200)
    spells = unpacked(policy.state_dict(range(8))["page.spells"]).sum(axis=1)
    changes = policy.state.pages["changes"][:8]
    assert spells == pytest.approx(changes, rel=0.25, abs=1.0)


def test_summaries_find_nearly_as_many_changes(room):
    def found(seed: int) -> int:
        world = Zipf(pages=300, alpha=0.9, beta=1.5)
        polls = simulate(BayesianIndex(), world, polls=3_000, seed=seed)
        return int((polls.outcomes == Outcome.CHANGED).sum())

    in_full = [found(seed) for seed in range(4)]
    room(8)
    assert sum(map(found, range(4))) > 0.99 * sum(in_full)


def test_what_was_learned_survives_a_restart(room):
    room(3)
    policy = watched(24, 10)
    learned = policy.state_dict()
    restored = BayesianIndex()
    restored.add([Page(n, seen_at=0.0) for n in range(24)])
    restored.load_state_dict(learned)
    again = restored.state_dict()
    before, after = (posteriors_of(each, 24) for each in (policy, restored))
    assert np.abs(before - after).sum(axis=1).max() / 2 < 0.05
    one, other = (unpacked(each["page.spells"]) for each in (learned, again))
    assert other == pytest.approx(one, rel=0.1, abs=0.1)


def test_room_of_pages_that_leave_is_given_to_others(room):
    room(3)
    policy = watched(24, 10)
    gone = policy.state.evidence["holder"].tolist()
    policy.discard(gone)
    assert policy.state.evidence["holder"].tolist() == [-1, -1, -1]
    policy.add([Page(gone[0], seen_at=0.0)])
    told = policy.state_dict([gone[0]])
    assert np.ptp(told["page.likelihood"]) == 0.0
    assert not told["page.spells"].any()
    rest = [page for page in range(24) if page not in gone]
    for day in range(11, 16):
        policy.observe([Observation(page, day * DAY, Outcome.CHANGED) for page in rest])
    assert np.all(policy.state.evidence["holder"] >= 0)


def test_growing_beyond_the_room_loses_nothing(room):
    room(16)
    policy = watched(16, 8)
    before = posteriors_of(policy, 16)
    policy.add([Page(n) for n in range(16, 200)])
    assert len(policy.state.summaries) >= 200
    assert np.array_equal(posteriors_of(policy, 16), before)
    assert np.all(policy.state.pages["where"][16:200] == NEW)


def test_pages_polled_at_the_same_time_do_not_all_look_at_one_place(room):
    room(16)
    policy, rng = BayesianIndex(), np.random.default_rng(0)
    policy.add([Page(n, seen_at=0.0) for n in range(256)])
    changing = np.arange(256) >= 128  # the first pages, which found the room free, never change
    for day in range(1, 31):
        found = changing & (rng.random(256) < 0.5)
        policy.observe([Observation(n, day * DAY, Outcome(int(found[n]))) for n in range(256)])
    assert np.all(changing[policy.state.evidence["holder"]])


@pytest.mark.parametrize("places", [1, 3, 100])
def test_what_was_learned_before_any_poll_can_be_put_back(room, places):
    room(places)
    policy = BayesianIndex()
    policy.add([Page(n, seen_at=0.0) for n in range(24)])
    nothing = policy.state_dict()
    for day in range(1, 41):
        # Page 23 is summed up, until it changes more often than those that have the room.
        changed = [n < 12 if day < 10 else n == 23 for n in range(24)]
        policy.observe([Observation(n, day * DAY, Outcome(int(changed[n]))) for n in range(24)])
    assert policy.state.pages["spot"][23] >= 0
    policy.load_state_dict(nothing)
    told = policy.state_dict()
    assert np.all(policy.state.pages["where"][:24] == NEW)
    assert unpacked(told["page.likelihood"]) == pytest.approx(1.0, rel=3e-3)
    assert not unpacked(told["page.spells"]).max() > 1e-20
    assert np.all(policy.state.evidence["holder"] == -1)
