"""The Learning Automata Knapsack Game keeps to the contract, whichever way it schedules."""

from collections.abc import Sequence

import numpy as np

from pollwise.policies.automata.lakg import LAKG
from pollwise.policies.base import Policy
from pollwise.testing.policy_contract import PolicyContract
from pollwise.types import Page


class TestLAKG(PolicyContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return LAKG(resolution=50)


class TestLAKGWithPeriods(PolicyContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return LAKG(resolution=50, schedule="period")


class TestLAKGAtRandom(PolicyContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        generator = np.random.default_rng(1)
        return LAKG(resolution=50, schedule="random", generator=generator)
