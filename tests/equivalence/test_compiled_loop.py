"""The compiled loop of the simulator and the scheduler, event by event, give the same polls."""

import math

import numpy as np
import pytest

from pollwise.metrics import Polls
from pollwise.objectives import Detection, Freshness
from pollwise.policies.base import Policy
from pollwise.policies.catalogue import WATCHING, Setting
from pollwise.simulation.loop import BudgetPerPage, simulate
from pollwise.simulation.recorded.replay import Replay
from pollwise.simulation.worlds.world import World
from pollwise.simulation.worlds.zipf import Zipf
from pollwise.types import Budget

TWO_PAGE_POLICIES = ("ucb1", "ucb1-raw", "ts", "gp-ucb")

every_policy = pytest.mark.parametrize(
    "name", [name for name in WATCHING.names if name not in TWO_PAGE_POLICIES]
)


class Plain:
    """A policy as others would write one: without a state that can be compiled."""

    def __init__(self, policy: Policy) -> None:
        self.add, self.discard = policy.add, policy.discard
        self.select, self.observe, self.defer = policy.select, policy.observe, policy.defer
        self.state_dict, self.load_state_dict = policy.state_dict, policy.load_state_dict


def both(name: str, world: World, objective=None, **run) -> tuple[Polls, Polls]:
    """The polls of the compiled loop, and those of the scheduler."""
    world.reset(3)
    budget = run["budget"]
    total = budget.rate * (len(world.pages) if isinstance(budget, BudgetPerPage) else 1)
    setting = Setting(objective or Detection(), total, len(world.pages), world.rates)
    compiled = simulate(WATCHING.choose(name).make(setting), world, seed=3, **run)
    return compiled, simulate(Plain(WATCHING.choose(name).make(setting)), world, seed=3, **run)


def assert_same(compiled: Polls, scheduled: Polls) -> None:
    assert compiled.times.tolist() == scheduled.times.tolist()
    assert compiled.page_ids.tolist() == scheduled.page_ids.tolist()


def coming_and_going() -> Replay:
    """Sixty pages; half of them are born later, a third of them die.

    All in whole seconds, so that some of it happens just when a page is polled.
    """
    rng = np.random.default_rng(11)
    changes, lives = {}, {}
    for n in range(60):
        born = float(rng.integers(0, 800)) if n % 2 else 0.0
        died = float(rng.integers(born + 1, 1000)) if n % 3 == 0 else math.inf
        rate = 10 ** rng.uniform(-3.0, -0.5)
        end = min(died, 1000.0)
        times = born + np.cumsum(rng.exponential(1 / rate, 1000)).round()
        changes[f"page {n:02}"] = times[times < end].tolist()
        lives[f"page {n:02}"] = (born, died)
    return Replay(changes, lives, end=1000.0)


@every_policy
@pytest.mark.parametrize("rate", [1.0, 0.3])
def test_zipf(name, rate):
    world = Zipf(pages=100, alpha=0.5, beta=1.0, swap_every=200)
    compiled, scheduled = both(name, world, polls=2000, budget=Budget(rate))
    assert len(compiled) > 1900  # fixed intervals leave some of the budget
    assert_same(compiled, scheduled)


@every_policy
@pytest.mark.parametrize("objective", [Detection(), Freshness()], ids=lambda one: one.name)
@pytest.mark.parametrize("budget", [Budget(0.5), BudgetPerPage(0.03125)], ids=["total", "per page"])
def test_replay_with_births_and_deaths(name, objective, budget):
    compiled, scheduled = both(name, coming_and_going(), objective, budget=budget)
    assert len(compiled) > 300
    assert_same(compiled, scheduled)


@every_policy
def test_replay_that_tells_of_reverts_and_last_changes(name, tmp_path):
    rng = np.random.default_rng(5)
    rows, pages = ["page,changed_at,revert"], ["page,first_seen,died_at"]
    for n in range(20):
        born = int(rng.integers(0, 300)) if n % 2 else 0
        pages.append(f"{n:02},{born},")
        times = np.unique(born + np.cumsum(rng.exponential(5.0 * (n + 1), 100)).round())
        rows += [f"{n:02},{time:.0f},{rng.random() < 0.4:d}" for time in times[times < 1000]]
    (tmp_path / "t.csv").write_text("\n".join(rows))
    (tmp_path / "t.pages.csv").write_text("\n".join(pages))
    world = Replay.read(tmp_path / "t.csv", last_changed=True)
    compiled, scheduled = both(name, world, Freshness(), budget=Budget(0.5))
    assert len(compiled) > 300
    assert_same(compiled, scheduled)


@every_policy
def test_replay_with_times_without_any_page(name):
    lives = {"a": (0.0, 10.0), "b": (2.0, 12.0), "c": (50.0, 70.0), "d": (50.0, math.inf)}
    changes = {"a": [1.0, 5.0], "c": [60.0], "d": [55.0, 65.0, 75.0]}
    compiled, scheduled = both(name, Replay(changes, lives, end=90.0), budget=Budget(0.9))
    assert ((compiled.times < 12.0) | (compiled.times >= 50.0)).all()
    assert_same(compiled, scheduled)


@pytest.mark.parametrize("name", TWO_PAGE_POLICIES)
def test_two_pages_that_come_and_go(name):
    changes = {"a": [1.0, 5.0, 30.0], "b": [20.0, 60.0, 61.0], "c": [130.0]}
    lives = {"a": (0.0, 300.0), "b": (2.0, 120.0), "c": (120.0, 400.0)}
    compiled, scheduled = both(name, Replay(changes, lives, end=400.0), budget=Budget(0.9))
    assert len(compiled) > 300
    assert_same(compiled, scheduled)
