"""The policies that estimate rates and share the budget out keep to the contract."""

from collections.abc import Sequence

from pollwise.objectives import Age, Detection
from pollwise.policies.base import Policy
from pollwise.policies.estimating.cho import ChoMLE, ChoNaive
from pollwise.policies.estimating.lambdacrawl import KnownLambdaCrawl, LambdaCrawl
from pollwise.testing.policy_contract import PolicyContract
from pollwise.types import Page


class TestChoNaive(PolicyContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return ChoNaive()


class TestChoMLE(PolicyContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return ChoMLE(objective=Detection())


class TestChoMLEAge(PolicyContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return ChoMLE(objective=Age())


class TestLambdaCrawl(PolicyContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return LambdaCrawl()


class TestKnownLambdaCrawl(PolicyContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return KnownLambdaCrawl(rates={page.id: 0.01 for page in pages}, budget=1.0)
