"""The bandits keep to the contract of policies, as far as two pages go."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis.stateful import initialize, run_state_machine_as_test

from pollwise.errors import StateError
from pollwise.policies.base import Policy
from pollwise.policies.gp_ucb import GPUCB
from pollwise.policies.thompson import ThompsonSampling
from pollwise.policies.ucb1 import UCB1
from pollwise.testing import policy_contract
from pollwise.testing.policy_contract import PolicyContract
from pollwise.types import Page, StateDict


class TwoPageContract(PolicyContract):
    """The tests of more than two pages made for two, the others as they are."""

    def test_rules_2_to_6_in_any_sequence_of_calls(self) -> None:
        class Calls(policy_contract._AnySequence):
            make_policy = staticmethod(self.make_policy)

            @initialize(drawn=policy_contract._PAGES.map(lambda drawn: drawn[:2]))
            def make(self, drawn):
                super().make(drawn)

        run_state_machine_as_test(Calls, settings=policy_contract._STEADY)

    def test_rule_6_state_that_does_not_fit_is_refused(self) -> None:
        pages = [Page(n, seen_at=0.0) for n in range(2)]
        learned = self._with_some_polls(pages).state_dict()
        policy = self.make_policy(pages)
        policy.add(pages)
        before = policy.state_dict()
        unfit: list[StateDict] = [{**learned, "strange": np.zeros(1)}]
        for name, array in learned.items():
            unfit.append({key: value for key, value in learned.items() if key != name})
            if array.size:
                unfit.append({**learned, name: array[:-1]})
        for state in unfit:
            # A row less in the page ids is a row more in what is kept of pages.
            with pytest.raises(StateError):
                policy.load_state_dict(state)
            assert not policy_contract._difference(before, policy.state_dict())

    def test_rule_6_part_of_the_pages(self) -> None:
        policy = self._with_some_polls([Page(n, seen_at=0.0) for n in range(2)])
        whole, part = policy.state_dict(), policy.state_dict([1, -1, 10**9])
        assert whole["page_ids"].tolist() == [0, 1]
        expected = {k: v[1:] if k.startswith("page") else v for k, v in whole.items()}
        assert not policy_contract._difference(expected, part)


class TestUCB1(TwoPageContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return UCB1(generator=np.random.default_rng(1), resolution=4)


class TestRawUCB1(TwoPageContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return UCB1(generator=np.random.default_rng(2), raw=True, resolution=3)


class TestThompsonSampling(TwoPageContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return ThompsonSampling(generator=np.random.default_rng(3))


class TestGPUCB(TwoPageContract):
    def make_policy(self, pages: Sequence[Page]) -> Policy:
        return GPUCB(generator=np.random.default_rng(4))
