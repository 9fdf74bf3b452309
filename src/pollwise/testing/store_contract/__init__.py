"""Tests that hold a store to the promises of `pollwise.store.base`; for implementers to inherit.

::

    from pollwise.testing.store_contract import StoreContract, StoreOpening

    class TestMine(StoreContract):
        @pytest.fixture
        def opening(self, tmp_path):
            return StoreOpening(writer=..., reader=..., requester=...)

pytest then runs every test of `StoreContract` on your store. Needs pytest and hypothesis
(`pip install pytest hypothesis`). What a store does for collections is not among the tests: it may
refuse them.
"""

try:
    import hypothesis  # noqa: F401
    import pytest  # noqa: F401
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        f"{missing}: the contract of stores is a set of tests for pytest; run"
        " `pip install pytest hypothesis`"
    ) from None

from pollwise.testing.store_contract.contract import StoreContract
from pollwise.testing.store_contract.opening import StoreOpening

__all__ = ["StoreContract", "StoreOpening"]
