"""The budget of the loop, and pages that come and go."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pollwise.errors import InputError
from pollwise.objectives import Detection
from pollwise.policies.base import Policy
from pollwise.policies.catalogue import WATCHING, Setting
from pollwise.policies.deadline.uniform import Uniform
from pollwise.policies.index.bayes_index import BayesianIndex
from pollwise.simulation.loop import BudgetPerPage, simulate
from pollwise.simulation.recorded.replay import Replay
from pollwise.simulation.worlds.zipf import Zipf
from pollwise.types import Budget, Outcome

TWO_PAGE_POLICIES = ("ucb1", "ucb1-raw", "ts", "gp-ucb")

moments = st.floats(0.0, 100.0)
lives = st.lists(
    st.tuples(moments, moments, st.booleans(), st.lists(moments, max_size=5)),
    min_size=1,
    max_size=8,
)


def world_of(drawn) -> Replay:
    changes, ends = {}, {}
    for n, (one, other, forever, times) in enumerate(drawn):
        born, died = min(one, other), math.inf if forever else max(one, other)
        ends[f"{n}"] = (born, died)
        changes[f"{n}"] = [time for time in times if born <= time < died]
    return Replay(changes, ends, end=120.0)


@pytest.mark.parametrize("name", [n for n in WATCHING.names if n not in TWO_PAGE_POLICIES])
@settings(max_examples=25)
@given(drawn=lives, budget=st.sampled_from([Budget(0.7), BudgetPerPage(0.1)]))
def test_pages_are_polled_between_birth_and_death_only(name, drawn, budget):
    world = world_of(drawn)
    setting = Setting(Detection(), budget=0.7, pages=len(drawn), rates=world.rates)
    polls = simulate(WATCHING.choose(name).make(setting), world, seed=0, budget=budget)
    born, died = world.changes.born[polls.page_ids], world.changes.died[polls.page_ids]
    assert (born <= polls.times).all()
    assert (polls.times < died).all()
    assert (polls.times < world.end).all()
    assert (np.diff(polls.times) > 0).all()


def test_one_poll_a_second_unless_told_otherwise():
    world = Zipf(pages=10, alpha=0.5, beta=1.0)
    assert simulate(Uniform(), world, polls=50, seed=1).times.tolist() == list(range(50))
    polls = simulate(Uniform(), world, polls=50, seed=1, budget=Budget(0.25))
    assert polls.times.tolist() == list(range(0, 200, 4))


def test_the_run_ends_with_the_history():
    world = Replay({"a": [10.0], "b": [20.0]}, end=25.0)
    polls = simulate(Uniform(), world, seed=0, budget=Budget(2.0))
    assert polls.times.tolist() == np.arange(10.0, 25.0, 0.5).tolist()
    assert polls.page_ids.tolist() == [0, 1] * 15


def test_a_budget_per_page_grows_and_shrinks_with_the_pages():
    lives = {"a": (0.0, math.inf), "b": (100.0, 200.0), "c": (100.0, 200.0)}
    world = Replay({"a": [1.0]}, lives, end=300.0)
    polls = simulate(Uniform(), world, seed=0, budget=BudgetPerPage(0.1))
    per_span, _ = np.histogram(polls.times, [0.0, 100.0, 200.0, 300.0])
    assert per_span == pytest.approx([10, 30, 10], abs=1)


def test_without_pages_time_passes():
    world = Replay({"a": [0.0], "b": [50.0]}, {"a": (0.0, 10.0), "b": (50.0, 60.0)}, end=100.0)
    polls = simulate(Uniform(), world, seed=0)
    assert polls.times.tolist() == [*range(10), *range(50, 60)]


def test_the_same_seed_gives_the_same_polls():
    world = Zipf(pages=20, alpha=0.5, beta=1.0)
    runs = [simulate(BayesianIndex(), world, polls=300, seed=seed) for seed in (1, 2, 1)]
    assert runs[0].page_ids.tolist() == runs[2].page_ids.tolist()
    assert runs[0].page_ids.tolist() != runs[1].page_ids.tolist()


@pytest.mark.parametrize("rate", [0.0, -1.0, math.inf, math.nan])
def test_a_budget_is_above_zero(rate):
    world = Zipf(pages=2, alpha=0.5, beta=1.0)
    for budget in (Budget(rate), BudgetPerPage(rate)):
        with pytest.raises(InputError, match=r"simulate: a budget of .* above 0"):
            simulate(Uniform(), world, polls=1, seed=0, budget=budget)


class Plain:
    """A policy that the compiled loop does not know."""

    def __init__(self, policy: Policy) -> None:
        for name in ("add", "discard", "select", "observe", "defer", "state_dict"):
            setattr(self, name, getattr(policy, name))
        self.load_state_dict = policy.load_state_dict


def test_outcomes_are_what_the_policy_was_told():
    lives = {"b": (50.0, 70.0), "c": (0.0, math.inf)}
    world = Replay({"a": [3.0, 9.5], "b": [55.0, 60.0], "c": []}, lives, end=90.0)
    runs = [simulate(each, world, seed=0) for each in (Uniform(), Plain(Uniform()))]
    assert runs[0].outcomes.tolist() == runs[1].outcomes.tolist()
    polls = runs[0]
    for page, changed in ((0, 3), (1, 3), (2, 1)):  # the first copy is one
        found = polls.outcomes[polls.page_ids == page]
        assert (found == Outcome.CHANGED).sum() == changed
    assert set(polls.outcomes.tolist()) == {Outcome.CHANGED, Outcome.UNCHANGED}


def test_outcomes_compare_with_the_copy_that_there_was_before():
    world = Zipf(pages=20, alpha=0.5, beta=1.0)
    runs = [simulate(each, world, polls=500, seed=4) for each in (Uniform(), Plain(Uniform()))]
    assert runs[0].outcomes.tolist() == runs[1].outcomes.tolist()
    assert 0 < runs[0].outcomes.mean() < 1
    assert simulate(Uniform(), world, polls=0, seed=4).outcomes.tolist() == []


@pytest.mark.parametrize(
    ("text", "budget"), [("0.5/second", Budget(0.5)), ("3/minute/page", BudgetPerPage(0.05))]
)
def test_a_budget_may_be_text(text, budget):
    world = Zipf(pages=10, alpha=0.5, beta=1.0)
    told, meant = (simulate(Uniform(), world, polls=50, seed=1, budget=b) for b in (text, budget))
    assert told.times.tolist() == meant.times.tolist()


class Still:
    """Some of what a world has."""

    begin = end = 0.0

    def poll(self, page_ids, now):
        return []


class Unfinished:
    """Some of the methods of a policy."""

    def add(self, pages):
        pass

    def select(self, now, limit):
        pass


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"policy": BayesianIndex}, r"policy is the class BayesianIndex; give an object"),
        ({"policy": "uniform"}, r"policy='uniform' must be a policy, such as BayesianIndex\(\)"),
        ({"policy": Unfinished()}, r"BayesianIndex\(\): it lacks discard, observe, "),
        ({"world": Zipf}, r"world is the class Zipf; give an object"),
        ({"world": {}}, r"world=\{\} must be a world"),
        ({"world": Still()}, "Replay: it lacks tells_last_changed, reset, pages, changes, rates$"),
        ({"polls": 1.5}, r"polls=1.5 must be a whole number"),
        ({"polls": -1}, r"polls=-1 must be a whole number"),
        ({"seed": "one"}, r"seed='one' must be a whole number"),
        ({"budget": 2.0}, r"budget=2.0 must be a Budget, a BudgetPerPage or text"),
        ({"budget": "2"}, r"budget '2': expected a number above 0"),
    ],
)
def test_what_cannot_be_simulated_is_refused_in_a_line(arguments, words):
    usual = {
        "policy": Uniform(),
        "world": Zipf(pages=2, alpha=0.5, beta=1.0),
        "polls": 1,
        "seed": 0,
    }
    with pytest.raises(InputError, match=words):
        simulate(**{**usual, **arguments})
