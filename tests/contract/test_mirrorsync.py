"""MirrorSync keeps to the contract, however often it probes."""

from collections.abc import Sequence

import numpy as np

from pollwise.policies.base import Policy
from pollwise.policies.estimating.mirrorsync import MirrorSync
from pollwise.testing.policy_contract import PolicyContract
from pollwise.types import Page


class TestMirrorSync(PolicyContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return MirrorSync(generator=np.random.default_rng(1))


class TestMirrorSyncThatProbesAlways(PolicyContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return MirrorSync(generator=np.random.default_rng(1), probing=1.0)
