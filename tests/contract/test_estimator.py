"""The estimator keeps to the contract of policies, in its first phase and after it."""

from collections.abc import Sequence

from pollwise.policies.base import Policy
from pollwise.policies.estimating.estimator import Estimator
from pollwise.testing.policy_contract import PolicyContract
from pollwise.types import Page


class TestEstimator(PolicyContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return Estimator(phase_polls=5)


class TestEstimatorInItsFirstPhase(PolicyContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return Estimator(phase_polls=10_000)
