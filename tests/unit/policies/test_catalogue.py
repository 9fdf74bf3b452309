"""Every name makes its policy, and says what it would need."""

import pytest

from pollwise.errors import InputError
from pollwise.objectives import Detection, Freshness
from pollwise.policies.base import Policy
from pollwise.policies.catalogue import (
    DEFAULT_POLICY,
    POLICY_NAMES,
    TWO_PAGE_POLICIES,
    Setting,
    make_policy,
    parse_policies,
)
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.types import Page

PAGES = [Page(n, seen_at=0.0) for n in range(4)]
TOLD = Setting(Detection(), budget=0.5, pages=4, rates=dict.fromkeys(range(4), 0.1))
BLIND = Setting(Detection(), budget=0.5, pages=4)
NEED_RATES = ("whittle", "optimal", "proportional", "lambdacrawl-known")


@pytest.mark.parametrize("name", POLICY_NAMES)
def test_every_name_makes_a_policy_that_polls(name):
    policy = make_policy(name, TOLD)
    assert isinstance(policy, Policy)
    policy.add(PAGES[:2])
    assert policy.select(100.0, 1).page_ids.size == 1


def test_the_default_is_the_learner_and_comes_first():
    assert POLICY_NAMES[0] == DEFAULT_POLICY
    assert type(make_policy(DEFAULT_POLICY, BLIND)) is BayesianIndex


@pytest.mark.parametrize("name", POLICY_NAMES)
def test_two_pages_are_all_that_some_take(name):
    policy = make_policy(name, TOLD)
    if name not in TWO_PAGE_POLICIES:
        policy.add(PAGES)
        return
    with pytest.raises(InputError, match="page 2 is a third one"):
        policy.add(PAGES)


def test_the_objective_is_handed_on():
    told = Setting(Freshness(), budget=0.5, pages=4, rates=TOLD.rates)
    for name in ("bayes-index", "whittle"):
        assert make_policy(name, told).objective == Freshness()


@pytest.mark.parametrize("name", POLICY_NAMES)
def test_whoever_needs_true_rates_says_so(name):
    if name not in NEED_RATES:
        make_policy(name, BLIND).add(PAGES[:2])
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
    with pytest.raises(InputError, match="no such policy: 'best'; choose one of bayes-index, "):
        parse_policies(["uniform", "best:resolution=3"])


def test_options_are_written_after_a_colon():
    choices = parse_policies(["uniform", "htraa:resolution=30,update=reward-inaction,capacity=0.5"])
    assert [choice.text.partition(":")[0] for choice in choices] == ["uniform", "htraa"]
    assert choices[0].options == {}
    assert choices[1].options == {"resolution": 30, "update": "reward-inaction", "capacity": 0.5}
    policy = choices[1].make(BLIND)
    policy.add(PAGES)
    assert policy.amounts().sum() == pytest.approx(0.5)
    assert parse_policies(["uniform:some=true"])[0].options == {"some": True}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lakg:", "policy 'lakg:': '' is no option; write NAME:OPTION=VALUE"),
        ("lakg:resolution", "'resolution' is no option"),
        ("lakg:size=3", "lakg has no option 'size'; its options are resolution, exponent"),
        ("lakg:generator=3", "lakg has no option 'generator'"),
        ("lakg:resolution=10,resolution=20", "has an option twice"),
        ("lakg:name=3", "lakg has no option 'name'"),
        ("lakg:setting=3", "lakg has no option 'setting'"),
        ("uniform:size=3", "uniform has no option 'size'; it has none"),
        ("lakg:resolution=1", "resolution=1 must be"),
        ("lakg:resolution=1.5", "resolution=1.5 must be"),
        ("lakg:exponent=-1", "exponent=-1 must be"),
        ("lakg:capacity=5", "capacity=5"),
        ("htraa:resolution=x", "resolution='x' must be"),
        ("htraa:update=never", "update='never'"),
        ("gpoks:resolution=1", "resolution=1 must be"),
    ],
)
def test_options_that_cannot_be(text, message):
    def use() -> None:
        for choice in parse_policies([text]):
            choice.make(BLIND).add(PAGES)

    with pytest.raises(InputError, match=message):
        use()


def test_another_seed_is_another_generator():
    one, same, other = (
        Setting(Detection(), budget=1.0, pages=4, seed=seed).generator.random(3).tolist()
        for seed in (1, 1, 2)
    )
    assert one == same != other
