"""The bandits keep to the contract of policies, as far as two pages go."""

from collections.abc import Sequence

import numpy as np

from pollwise.policies.bandits.gp_ucb import GPUCB
from pollwise.policies.bandits.thompson import ThompsonSampling
from pollwise.policies.bandits.ucb1 import UCB1, RawUCB1
from pollwise.policies.base import Policy
from pollwise.testing.policy_contract import PolicyContract
from pollwise.types import Page


class TwoPageContract(PolicyContract):
    most_pages = 2


class TestUCB1(TwoPageContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return UCB1(generator=np.random.default_rng(1), resolution=4)


class TestRawUCB1(TwoPageContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return RawUCB1()


class TestThompsonSampling(TwoPageContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return ThompsonSampling(generator=np.random.default_rng(3))


class TestGPUCB(TwoPageContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return GPUCB(generator=np.random.default_rng(4))
