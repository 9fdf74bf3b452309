"""All tests of the contract in one class."""

from collections.abc import Iterator

import pytest

from pollwise.store import Store
from pollwise.testing.store_contract.changes import ChangesContract
from pollwise.testing.store_contract.clocks import ClocksContract
from pollwise.testing.store_contract.learned import LearnedContract
from pollwise.testing.store_contract.opening import StoreOpening
from pollwise.testing.store_contract.pages import PagesContract
from pollwise.testing.store_contract.polls import PollsContract
from pollwise.testing.store_contract.readers import ReadersContract
from pollwise.testing.store_contract.requests import RequestsContract
from pollwise.testing.store_contract.runs import RunsContract
from pollwise.testing.store_contract.samples import A, B
from pollwise.testing.store_contract.versions import VersionsContract

__all__ = ["StoreContract"]


class StoreContract(
    PagesContract,
    PollsContract,
    ChangesContract,
    LearnedContract,
    RunsContract,
    VersionsContract,
    ClocksContract,
    RequestsContract,
    ReadersContract,
):
    """Inherit, override the fixture `opening`, and pytest does the rest."""

    @pytest.fixture
    def opening(self) -> StoreOpening:
        """What opens a store that is empty at first."""
        raise NotImplementedError

    @pytest.fixture
    def store(self, opening: StoreOpening) -> Iterator[Store]:
        """The writer of an empty store."""
        with opening.writer() as store:
            yield store

    @pytest.fixture
    def watched(self, store: Store) -> Store:
        """The writer of a store with two watched pages."""
        store.add_pages([A, B], now=0.0)
        return store
