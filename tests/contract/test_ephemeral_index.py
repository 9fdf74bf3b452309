"""The learner of ephemeral content keeps to the contract of policies."""

from collections.abc import Sequence

from pollwise.policies.base import Policy
from pollwise.policies.index.ephemeral import EphemeralIndex
from pollwise.testing.policy_contract import PolicyContract
from pollwise.types import Page


class TestEphemeralIndex(PolicyContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return EphemeralIndex()


class TestEphemeralIndexOfKnownDecay(PolicyContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return EphemeralIndex(decay=0.01, epoch=1.0, memory=5.0)
