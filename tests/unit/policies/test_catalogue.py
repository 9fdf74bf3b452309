"""Every name makes its policy, and says what it would need."""

import subprocess
import sys

import pytest

from pollwise.errors import InputError
from pollwise.objectives import Delay, Detection, Freshness
from pollwise.policies.base import Policy
from pollwise.policies.catalogue import COLLECTING, WATCHING, CollectingSetting, Setting
from pollwise.policies.collecting.request_controller import RequestController
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.types import Page

PAGES = [Page(n, seen_at=0.0) for n in range(4)]
TOLD = Setting(Detection(), budget=0.5, pages=4, rates=dict.fromkeys(range(4), 0.1))
BLIND = Setting(Detection(), budget=0.5, pages=4)
TWO_PAGE_POLICIES = ("ucb1", "ucb1-raw", "ts", "gp-ucb")
NEED_RATES = ("whittle", "optimal", "proportional", "lambdacrawl-known")


@pytest.mark.parametrize("name", WATCHING.names)
def test_every_name_makes_a_policy_that_polls(name):
    policy = WATCHING.choose(name).make(TOLD)
    assert isinstance(policy, Policy)
    policy.add(PAGES[:2])
    assert policy.select(100.0, 1).page_ids.size == 1


def test_the_default_is_the_learner_and_comes_first():
    assert WATCHING.names[0] == WATCHING.default
    assert type(WATCHING.choose(WATCHING.default).make(BLIND)) is BayesianIndex


@pytest.mark.parametrize("name", WATCHING.names)
def test_two_pages_are_all_that_some_take(name):
    policy = WATCHING.choose(name).make(TOLD)
    if name not in TWO_PAGE_POLICIES:
        policy.add(PAGES)
        return
    with pytest.raises(InputError, match="page 2 is a third one"):
        policy.add(PAGES)


def test_the_objective_is_handed_on():
    told = Setting(Freshness(), budget=0.5, pages=4, rates=TOLD.rates)
    for name in ("bayes-index", "whittle"):
        assert WATCHING.choose(name).make(told).objective == Freshness()


@pytest.mark.parametrize("name", WATCHING.names)
def test_whoever_needs_true_rates_says_so(name):
    if name not in NEED_RATES:
        WATCHING.choose(name).make(BLIND).add(PAGES[:2])
        return
    with pytest.raises(InputError, match="true change rates") as error:
        WATCHING.choose(name).make(BLIND)
    others = [other for other in WATCHING.names if other not in NEED_RATES]
    assert all(other in str(error.value) for other in others)
    assert not any(other in str(error.value) for other in NEED_RATES)


def test_fixed_uses_up_the_budget():
    policy = WATCHING.choose("fixed").make(BLIND)
    policy.add(PAGES)
    assert policy.state.pages["interval"][:4].tolist() == [8.0] * 4


def test_an_unknown_name_gets_the_list():
    with pytest.raises(InputError, match="no such policy: 'best'; choose one of bayes-index, "):
        WATCHING.choose("best").make(TOLD)
    with pytest.raises(InputError, match="no such policy: 'best'; choose one of bayes-index, "):
        WATCHING.choose("best:resolution=3")


def test_options_are_written_after_a_colon():
    texts = ["uniform", "htraa:resolution=30,update=reward-inaction,capacity=0.5"]
    choices = [WATCHING.choose(text) for text in texts]
    assert [choice.text for choice in choices] == texts
    assert [choice.name for choice in choices] == ["uniform", "htraa"]
    assert choices[0].options == {}
    assert choices[1].options == {"resolution": 30, "update": "reward-inaction", "capacity": 0.5}
    policy = choices[1].make(BLIND)
    policy.add(PAGES)
    assert policy.amounts().sum() == pytest.approx(0.5)
    assert WATCHING.choose("uniform:some=true").options == {"some": True}


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
    with pytest.raises(InputError, match=message):
        WATCHING.choose(text).make(BLIND).add(PAGES)


def test_another_seed_is_another_generator():
    one, same, other = (
        Setting(Detection(), budget=1.0, pages=4, seed=seed).generator.random(3).tolist()
        for seed in (1, 1, 2)
    )
    assert one == same != other


@pytest.mark.parametrize("name", COLLECTING.names)
def test_every_request_controller(name):
    controller = COLLECTING.choose(name).make(CollectingSetting(relevance=[0.0, 0.5], seed=1))
    assert isinstance(controller, RequestController)
    controller.add([Page(n, f"http://h.example/{n}") for n in range(2)])
    assert controller.select(0.0, 1).page_ids.size == 1


@pytest.mark.parametrize("name", COLLECTING.names)
def test_whoever_needs_the_relevance_of_all_pages_says_so(name):
    choice = COLLECTING.choose(name)
    assert choice.takes("relevance") == (name in ("fringe-greedy", "upper-bound"))
    if not choice.takes("relevance"):
        choice.make(CollectingSetting())
        return
    with pytest.raises(InputError, match=r"choose one of robot, robot-q, random, fixed-shares$"):
        choice.make(CollectingSetting())


def test_request_controllers_have_options_too():
    policy = COLLECTING.choose("robot-q:discount=0.5").make(CollectingSetting())
    assert policy.q_values(0) == (0.0, 0.0)
    with pytest.raises(InputError, match="no such policy of collecting: 'best'; choose one of r"):
        COLLECTING.choose("best")
    with pytest.raises(InputError, match="robot has no option 'revisit'; it has none"):
        COLLECTING.choose("robot", revisit=False).make(CollectingSetting())


def test_a_name_imports_its_own_policy_only():
    code = """
import sys
from pollwise.policies.catalogue import WATCHING
before = {name for name in sys.modules if name.startswith("pollwise")}
WATCHING.choose("uniform").kind
print(*before, "/", *{name for name in sys.modules if name.startswith("pollwise.policies")})
"""
    command = [sys.executable, "-c", f"import sys; sys.path = {sys.path}\n{code}"]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    before, after = (half.split() for half in out.split("/"))
    assert "pollwise.policies.compiled" not in before
    assert "pollwise.policies.deadline.uniform" in after
    assert "pollwise.policies.index.bayes_index" not in after


@pytest.mark.parametrize(
    "name", [name for name in WATCHING.names if WATCHING.choose(name).takes("objective")]
)
def test_policies_take_objectives_and_their_names(name):
    kind = WATCHING.choose(name).kind
    rates = {"rates": {0: 1.0}} if WATCHING.choose(name).takes("rates") else {}
    budget = {"budget": 1.0} if WATCHING.choose(name).takes("budget") else {}
    for told in ("delay", Delay()):
        assert kind(objective=told, **rates, **budget).objective == Delay()
    for wrong in (Delay, "late"):
        with pytest.raises(InputError, match="objective: "):
            kind(objective=wrong, **rates, **budget)
