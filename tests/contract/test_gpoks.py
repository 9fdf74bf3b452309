"""GPOKS keeps to the contract, whatever its variant draws."""

from collections.abc import Sequence

import numpy as np

from pollwise.policies.base import Policy
from pollwise.policies.gpoks.gpoks import GPOKS
from pollwise.testing.policy_contract import PolicyContract
from pollwise.types import Page


class _Contract(PolicyContract):
    variant: str

    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return GPOKS(variant=self.variant, resolution=20, generator=np.random.default_rng(4))


class TestGPOKS(_Contract):
    variant = "gpoks"


class TestMonotone(_Contract):
    variant = "mono"


class TestThompson(_Contract):
    variant = "ts"


class TestOptimistic(_Contract):
    variant = "ots"


class TestMean(_Contract):
    variant = "gpr"


class TestUpperBound(_Contract):
    variant = "ucb"


class TestPoints(_Contract):
    variant = "ips"


class TestOptimisticPoints(_Contract):
    variant = "ips-ots"
