"""The request controllers keep to the contract of a policy, and to their own."""

from collections.abc import Sequence

import numpy as np

from pollwise.policies.base import Policy
from pollwise.policies.fringe_greedy import FringeGreedy
from pollwise.policies.random_order import RandomOrder
from pollwise.policies.robot_q import RobotQ
from pollwise.policies.upper_bound import UpperBound
from pollwise.testing.policy_contract import PolicyContract
from pollwise.types import Page


def some_relevance() -> list[float]:
    return [(page_id % 3) / 2 for page_id in range(30)]


class TestRandomOrder(PolicyContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return RandomOrder(generator=np.random.default_rng(1))


class TestFringeGreedy(PolicyContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return FringeGreedy(relevance=some_relevance(), generator=np.random.default_rng(1))


class TestUpperBound(PolicyContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return UpperBound(relevance=some_relevance(), generator=np.random.default_rng(1))


class TestRobotQ(PolicyContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return RobotQ(generator=np.random.default_rng(1))
