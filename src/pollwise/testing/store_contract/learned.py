"""What policies learned."""

import numpy as np
import pytest

from pollwise.errors import StateError
from pollwise.store import Store
from pollwise.store.records import Batch
from pollwise.testing.store_contract.samples import C, learned
from pollwise.types import StateDict

__all__ = ["LearnedContract"]


class LearnedContract:
    """Learned arrays come back, in whichever batches they were written."""

    @pytest.fixture
    def three(self, watched: Store) -> Store:
        """The writer of a store with three watched pages."""
        watched.add_pages([C], now=0.0)
        return watched

    def test_a_new_store_has_learned_nothing(self, three: Store) -> None:
        assert three.load_learned() is None

    def test_batches_add_up_and_the_latest_row_of_a_page_holds(self, three: Store) -> None:
        for page_ids, value in [([0, 2], 1.0), ([2], 2.0), ([1], 3.0)]:
            three.commit(Batch(learned=learned(page_ids, value)))
        state = _learned(three)
        assert state["page_ids"].tolist() == [0, 1, 2]
        assert state["page.rate"].tolist() == [1.0, 3.0, 2.0]
        assert state["page.window"].tolist() == [[1.0] * 3, [3.0] * 3, [2.0] * 3]
        assert state["price"] == 3.0

    def test_a_shared_array_that_is_no_longer_given_is_gone(self, three: Store) -> None:
        three.commit(Batch(learned=learned([0], 1.0) | {"old": np.zeros(2)}))
        three.commit(Batch(learned=learned([0], 1.0)))
        assert set(_learned(three)) == set(learned([0], 1.0))

    def test_what_only_pages_or_only_all_share_is_kept(self, three: Store) -> None:
        three.commit(Batch(learned={"price": np.array(2.0)}))
        state = _learned(three)
        assert state["page_ids"].tolist() == []
        assert state["price"] == 2.0

    def test_removed_and_unknown_pages_are_left_out(self, three: Store) -> None:
        three.commit(Batch(learned=learned([0, 1], 1.0)))
        three.remove_pages([0], now=1.0)
        three.commit(Batch(learned=learned([0, 1, 50], 2.0)))
        assert _learned(three)["page_ids"].tolist() == [1]

    def test_what_two_policies_learned_cannot_be_mixed(self, three: Store) -> None:
        three.commit(Batch(learned=learned([0], 1.0)))
        other: StateDict = {"page_ids": np.array([1]), "page.wins": np.ones(1)}
        three.commit(Batch(learned=other))
        with pytest.raises(
            StateError, match=r"2 different policies .*page\.rate, page\.window; page\.wins"
        ):
            three.load_learned()
        three.forget_learned()
        assert three.load_learned() is None
        three.commit(Batch(learned=other))
        assert _learned(three)["page.wins"].tolist() == [1.0]

    def test_a_policy_may_take_over_page_by_page(self, three: Store) -> None:
        three.commit(Batch(learned=learned([0], 1.0)))
        three.commit(Batch(learned={"page_ids": np.array([0]), "page.wins": np.ones(1)}))
        assert set(_learned(three)) == {"page_ids", "page.wins"}


def _learned(store: Store) -> StateDict:
    state = store.load_learned()
    assert state is not None
    return state
