"""Every policy keeps to the contract, and the contract notices policies that do not."""

from collections.abc import Sequence

from pollwise.objectives import Freshness
from pollwise.policies.base import Policy
from pollwise.policies.bayes_index import BayesianIndex
from pollwise.policies.fixed import Fixed
from pollwise.policies.optimal import Optimal
from pollwise.policies.proportional import Proportional
from pollwise.policies.uniform import Uniform
from pollwise.policies.whittle import Whittle
from pollwise.testing.policy_contract import PolicyContract
from pollwise.types import Page


def some_rates(pages: Sequence[Page]) -> dict[int, float]:
    return {page.id: 0.01 * (1 + page.id % 3) for page in pages}


class TestUniform(PolicyContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return Uniform()


class TestFixed(PolicyContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return Fixed(interval=20.0)


class TestProportional(PolicyContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return Proportional(rates=some_rates(pages))


class TestOptimal(PolicyContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return Optimal(rates=some_rates(pages), budget=1.0)


class TestOptimalFreshness(PolicyContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return Optimal(rates=some_rates(pages), budget=0.01, objective=Freshness())


class TestWhittle(PolicyContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return Whittle(rates=some_rates(pages))


class TestBayesianIndex(PolicyContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return BayesianIndex()


class TestBayesianIndexFreshness(PolicyContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return BayesianIndex(objective=Freshness())
