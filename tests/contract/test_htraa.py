"""H-TRAA keeps to the contract of policies."""

from collections.abc import Sequence

import numpy as np

from pollwise.policies.automata.htraa import HTRAA
from pollwise.policies.base import Policy
from pollwise.testing.policy_contract import PolicyContract
from pollwise.types import Page


class TestHTRAA(PolicyContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return HTRAA(generator=np.random.default_rng(1), resolution=5)


class TestRandomHTRAA(PolicyContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        generator = np.random.default_rng(2)
        return HTRAA(generator=generator, schedule="random", update="inaction-penalty")


class TestUnevenHTRAA(PolicyContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        generator = np.random.default_rng(3)
        return HTRAA(generator=generator, resolution=5, growth=2.0, exponent=1.5, climb="moved")
