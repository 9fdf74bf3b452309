"""What a store holds of what policies learned."""

import numpy as np
import pytest

from pollwise.insight.learned import learned_by
from pollwise.policies.base import StateDict
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.rates.excerpt import likelihoods_of
from pollwise.rates.packed import packed
from pollwise.store import Store
from pollwise.store.records import Batch, NewPage
from pollwise.types import Observation, Outcome, Page
from pollwise.units import DAY

PAGES = 6
NOW = 40 * DAY


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "w.db") as store:
        store.add_pages([NewPage(f"https://{n}.example/") for n in range(PAGES)], now=0.0)
        yield store


def pages(store: Store) -> list[Page]:
    return [record.page for record in store.pages()]


def taught(watched: list[Page]) -> BayesianIndex:
    policy = BayesianIndex()
    policy.add(watched)
    for day in range(1, 40):
        for number, page in enumerate(watched):
            changed = number > 0 and day % number == 0
            outcome = Outcome.CHANGED if changed else Outcome.UNCHANGED
            policy.observe([Observation(page.id, day * DAY, outcome)])
    return policy


def as_of_0_3(state: StateDict) -> StateDict:
    """Learned state with the likelihoods of all rates, and wider numbers."""
    old = dict(state)
    old["page.likelihood"] = packed(likelihoods_of(old["page.likelihood"], old["page.first_rate"]))
    del old["page.first_rate"]
    old["page.polls"] = old["page.polls"].astype("i8")
    old["page.young"] = old["page.young"].astype("i4")
    return old


def test_nothing_is_learned_at_first(store):
    assert learned_by(store, BayesianIndex()) is None


def test_what_this_version_learned_is_stored_as_it_is(store):
    before = taught(pages(store))
    store.commit(Batch(learned=before.state_dict()))
    learned = learned_by(store, BayesianIndex())
    assert learned.is_stored
    assert learned.state.keys() == before.state_dict().keys()


def test_what_version_0_3_learned_goes_on(store):
    watched = pages(store)
    before = taught(watched)
    store.commit(Batch(learned=as_of_0_3(before.state_dict())))
    after = BayesianIndex()
    learned = learned_by(store, after)
    assert not learned.is_stored
    after.add(watched)
    after.load_state_dict(learned.state)
    ids = [page.id for page in watched]
    rates = [policy.estimates(ids, NOW)["change_rate"] for policy in (before, after)]
    assert rates[1] == pytest.approx(rates[0], rel=0.05)
    store.commit(Batch(learned=learned.state))
    assert learned_by(store, after).is_stored


def test_what_other_policies_learned_is_of_no_use(store):
    ids = np.array([page.id for page in pages(store)])
    store.commit(Batch(learned={"page_ids": ids, "page.likelihood": np.ones((PAGES, 96), "u2")}))
    assert learned_by(store, BayesianIndex()) is None
