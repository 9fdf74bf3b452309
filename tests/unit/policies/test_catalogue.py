"""Every name makes its policy, and says what it would need."""

import pytest

from pollwise.errors import InputError
from pollwise.objectives import Detection, Freshness
from pollwise.policies.base import Policy
from pollwise.policies.bayes_index import BayesianIndex
from pollwise.policies.catalogue import DEFAULT_POLICY, POLICY_NAMES, Setting, make_policy
from pollwise.types import Page

PAGES = [Page(n, seen_at=0.0) for n in range(4)]
TOLD = Setting(Detection(), budget=0.5, pages=4, rates=dict.fromkeys(range(4), 0.1))
BLIND = Setting(Detection(), budget=0.5, pages=4)
NEED_RATES = ("whittle", "optimal", "proportional")


@pytest.mark.parametrize("name", POLICY_NAMES)
def test_every_name_makes_a_policy_that_polls(name):
    policy = make_policy(name, TOLD)
    assert isinstance(policy, Policy)
    policy.add(PAGES)
    assert policy.select(100.0, 1).page_ids.size == 1


def test_the_default_is_the_learner_and_comes_first():
    assert POLICY_NAMES[0] == DEFAULT_POLICY
    assert type(make_policy(DEFAULT_POLICY, BLIND)) is BayesianIndex


def test_the_objective_is_handed_on():
    told = Setting(Freshness(), budget=0.5, pages=4, rates=TOLD.rates)
    for name in ("bayes-index", "whittle"):
        assert make_policy(name, told).objective == Freshness()


@pytest.mark.parametrize("name", POLICY_NAMES)
def test_whoever_needs_true_rates_says_so(name):
    if name not in NEED_RATES:
        make_policy(name, BLIND).add(PAGES)
        return
    with pytest.raises(InputError, match="true change rates") as error:
        make_policy(name, BLIND)
    others = [other for other in POLICY_NAMES if other not in NEED_RATES]
    assert all(other in str(error.value) for other in others)
    assert not any(other in str(error.value) for other in NEED_RATES)


def test_fixed_uses_up_the_budget():
    policy = make_policy("fixed", BLIND)
    policy.add(PAGES)
    assert policy.state.pages["interval"][:4].tolist() == [8.0] * 4


def test_an_unknown_name_gets_the_list():
    with pytest.raises(InputError, match="no such policy: 'best'; choose one of bayes-index, "):
        make_policy("best", TOLD)
