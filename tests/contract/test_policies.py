"""Every policy keeps to the contract, and the contract notices policies that do not."""

import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, settings

import pollwise
from pollwise.objectives import Freshness
from pollwise.policies.arrays import ABSENT
from pollwise.policies.base import Policy
from pollwise.policies.deadline.fixed import Fixed
from pollwise.policies.deadline.optimal import Optimal
from pollwise.policies.deadline.proportional import Proportional
from pollwise.policies.deadline.uniform import Uniform
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.policies.index.whittle import Whittle
from pollwise.policies.structures.heap import entries
from pollwise.testing import policy_contract
from pollwise.testing.policy_contract import PolicyContract
from pollwise.types import Observation, Outcome, Page, Selection, StateDict


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


class TooMany(Uniform):
    def select(self, now: float, limit: int) -> Selection:
        return super().select(now, limit + 1)


class Reckless(Uniform):
    """Takes any limit below 0 for none."""

    def select(self, now: float, limit: int) -> Selection:
        return super().select(now, limit if limit >= 0 else 10**6)


class Twice(Uniform):
    def select(self, now: float, limit: int) -> Selection:
        page_ids = super().select(now, limit // 2).page_ids
        return Selection(np.repeat(page_ids, 2), now + 1.0)


class Undead(Uniform):
    def discard(self, page_ids: Sequence[int]) -> None:
        pass


class WithoutLeases(Uniform):
    def select(self, now: float, limit: int) -> Selection:
        selection = super().select(now, limit)
        self.defer(selection.page_ids.tolist(), now)
        return selection


class Resentful(Uniform):
    def observe(self, observations: Sequence[Observation]) -> None:
        super().observe([o for o in observations if o.outcome != Outcome.FAILED])


class Credulous(Uniform):
    """Takes every poll as news."""

    def observe(self, observations: Sequence[Observation]) -> None:
        for page_id in {o.page_id for o in observations}:
            if 0 <= page_id < len(self.state.pages):
                self.state.pages["polled_at"][page_id] = -np.inf
        super().observe(observations)


class Impatient(Uniform):
    def defer(self, page_ids: Sequence[int], until: float) -> None:
        super().defer(page_ids, until - 2.0)


class Unforgiving(Uniform):
    def defer(self, page_ids: Sequence[int], until: float) -> None:
        super().defer(page_ids, np.inf)


class Amnesic(Uniform):
    def load_state_dict(self, state: StateDict) -> None:
        pass


class LosesLeases(Uniform):
    def load_state_dict(self, state: StateDict) -> None:
        super().load_state_dict(state)
        self.defer(range(len(self.state.pages)), -np.inf)


class LosesDeferrals(Uniform):
    def load_state_dict(self, state: StateDict) -> None:
        super().load_state_dict(state)
        entries(self.state.queue[::-1])["time"] = -np.inf


class LosesBoth(Uniform):
    """Takes the pages that were leased or deferred for new ones."""

    def load_state_dict(self, state: StateDict) -> None:
        page_ids = np.flatnonzero(self.state.pages["where"] != ABSENT).tolist()
        self.discard(page_ids)
        self.add([Page(page_id) for page_id in page_ids])
        super().load_state_dict(state)


class Erratic(Uniform):
    """Draws random numbers from a generator that nobody gave it."""

    coin = np.random.default_rng(0)

    def select(self, now: float, limit: int) -> Selection:
        page_ids = super().select(now, limit).page_ids
        return Selection(self.coin.permutation(page_ids), now + 1.0)


class Restless(Uniform):
    def select(self, now: float, limit: int) -> Selection:
        return Selection(super().select(now, limit).page_ids, now)


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (TooMany, "rule 2"),
        (Twice, "rule 2"),
        (Undead, "rule 2"),
        (WithoutLeases, "rule 3"),
        (Resentful, "rule 3"),
        (Credulous, "rule 4"),
        (Impatient, "rule 5"),
        (Unforgiving, "rule 5"),
        (Amnesic, "rule 6"),
        (LosesLeases, "rule 3"),
        (LosesDeferrals, "rule 5"),
        (LosesBoth, "rule 3"),
        (Reckless, "rule 2"),
        (Erratic, "the same calls"),
        (Restless, "wake_at"),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else None,
)
def test_the_contract_names_the_rule_that_is_broken(broken, message, monkeypatch):
    class Contract(PolicyContract):
        def make_policy(self, pages: Sequence[Page]) -> Policy:
            return broken()

    # It is to be noticed, not to be explained by the shortest sequence of calls.
    hasty = settings(policy_contract._STEADY, phases=[Phase.generate])
    monkeypatch.setattr(policy_contract, "_STEADY", hasty)
    complaints = []
    for test in (
        Contract().test_rules_2_to_6_in_any_sequence_of_calls,
        Contract().test_without_pages_nothing_is_selected,
        partial(Contract().test_rule_3_an_observation_ends_the_lease, Outcome.FAILED, 0.0),
        Contract().test_rule_5_a_deferred_page_comes_back,
        Contract().test_rule_6_state_that_does_not_fit_is_refused,
        Contract().test_rule_6_leases_and_deferrals_outlast_state_put_back,
    ):
        try:
            test()
        except AssertionError as error:
            complaints.append(str(error))
    assert any(message in complaint for complaint in complaints), complaints


def test_without_pytest_the_contract_says_how_to_install_it():
    script = "import sys; sys.modules['pytest'] = None; import pollwise.testing.policy_contract"
    environment = {"PYTHONPATH": str(Path(pollwise.__file__).parents[1])}
    command = [sys.executable, "-P", "-c", script]
    run = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert run.returncode == 1
    assert run.stderr.splitlines()[-1].endswith("run `pip install pytest hypothesis`")
