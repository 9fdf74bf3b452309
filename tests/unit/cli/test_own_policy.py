"""Policies of a user's own beside the built-in ones, in `replay` and `simulate`."""

import itertools
import sys
from pathlib import Path

import pytest

from pollwise import Replay, Uniform, score, simulate
from pollwise.policies.own import choose

from .calling import Run

EXAMPLE = Path(__file__).parents[3] / "examples" / "own_policy.py"
DAY = 86_400
_names = (f"own_{number}" for number in itertools.count())


@pytest.fixture
def module(run: Run, monkeypatch) -> str:
    """The name of a module that is there in the folder, with the policy of the example."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    days = [("a", day) for day in range(1, 60)] + [("b", day) for day in range(1, 60, 7)]
    lines = ["page,changed_at", *(f"{page},{day * DAY}" for page, day in days)]
    Path("t.csv").write_text("\n".join(lines))
    days = [("a", day, 1) for day in range(20)] + [("b", day, 0) for day in range(20)]
    lines = ["page,checked_at,changed", *(f"{a},{day * DAY},{x}" for a, day, x in days)]
    Path("checks.csv").write_text("\n".join(lines))
    name = next(_names)
    Path(f"{name}.py").write_text(EXAMPLE.read_text())
    return name


def written(module: str, text: str) -> str:
    """The module with this text instead."""
    Path(f"{module}.py").write_text(text)
    return module


def test_it_is_replayed_as_the_library_does(run, module):
    own = f"{module}:Halving"
    budget = "2/day/page"
    words = ("--policy", "uniform", "--policy", own, "--budget", budget)
    answer = run("replay", "t.csv", *words, "--json")
    blind, told = answer.document["results"]
    assert (told["policy"], told["against"]["policy"]) == (own, "uniform")
    world = Replay.read("t.csv")
    policy = sys.modules[module].Halving()
    polls = simulate(policy, world, budget=budget, seed=0)
    begin = world.begin + 0.15 * (world.end - world.begin)
    known = score(polls, world.changes, begin=begin, end=world.end)
    assert (told["polls"], told["found"]) == (known.polls, known.found)
    assert told["freshness"] == pytest.approx(known.freshness)
    assert told["freshness"] != blind["freshness"]


@pytest.mark.parametrize(
    "words",
    [
        ("replay", "checks.csv"),
        ("replay", "t.csv", "--objective", "freshness", "--objective", "age"),
        ("simulate", "--pages", 5, "--polls", 50),
        ("simulate", "--world", "knapsack", "--pages", 5, "--polls", 50),
    ],
)
def test_it_runs_wherever_a_policy_is_named(run, module, words):
    answer = run(*words, "--policy", "uniform", "--policy", f"{module}:Halving", "--json")
    named = [row["policy"] for row in answer.document["results"]]
    assert named[-2:] == ["uniform", f"{module}:Halving"]


def test_it_is_given_what_it_takes_and_its_options(run, module):
    text = """
        import pollwise

        class Mine(pollwise.Uniform):
            def __init__(self, objective, budget, pages, rates, seed, generator, factor, word="x"):
                super().__init__()
                drawn = generator.random()
                print(objective.name, pages, len(rates), seed, factor, word, 0 <= drawn < 1)
    """
    lines = [line.removeprefix("        ") for line in text.splitlines()]
    written(module, "\n".join(lines))
    own = f"{module}:Mine:factor=2.5,word=b"
    answer = run("replay", "t.csv", "--objective", "age", "--policy", own, "--json")
    assert answer.status == 0
    assert answer.out.startswith("age 2 2 0 2.5 b True\n")


def test_a_compiled_one_that_somebody_changed_does_what_they_wrote(module):
    text = "import pollwise\nclass Mine(pollwise.Uniform):\n    asked = 0\n"
    text += "    def select(self, now, limit):\n        Mine.asked += 1\n"
    text += "        return super().select(now, limit)\n"
    kind = choose(f"{written(module, text)}:Mine").kind
    world = Replay.read("t.csv")
    polls, plain = (simulate(one, world, polls=20, seed=0) for one in (kind(), Uniform()))
    assert kind.asked >= 20
    assert polls.page_ids.tolist() == plain.page_ids.tolist()


CLASS = """import pollwise
import numpy as np
class Mine(pollwise.Uniform):
    {0}
"""


@pytest.mark.parametrize(
    ("text", "policy", "told"),
    [
        (None, "no_such_module:Mine", "there is no module no_such_module; call this in the folder"),
        (None, "{0}.inner:Mine", "there is no module {0}.inner; call this in the folder"),
        (None, "{0}.py:Mine", "'{0}.py' is no module; write MODULE:CLASS"),
        (None, "./{0}.py:Mine", "'./{0}.py' is no module; write MODULE:CLASS"),
        (None, "{0}:Halvin", "{0} has no class Halvin; its classes are Halving"),
        (None, "{0}:FACTORS", "{0} has no class FACTORS; its classes are Halving"),
        (None, "{0}:Halving:interval=5", "got an unexpected keyword argument 'interval'; it is"),
        (None, "{0}:Halving:interval", "'interval' is no option; write NAME:OPTION=VALUE"),
        ("x = 1", "{0}:Mine", "{0} has no class Mine; it has no class"),
        ("x = (", "{0}:Mine", "{0}.py: SyntaxError: '(' was never closed"),
        ("\nimport no_such_library", "{0}:Mine", "{0}.py, line 2: ModuleNotFoundError: No module"),
        ("class Mine: pass", "{0}:Mine", "{0}:Mine is no policy: it lacks add, discard, select,"),
        (
            CLASS.format("def __init__(self, x): pass"),
            "{0}:Mine",
            "missing a required argument: 'x'",
        ),
        (
            CLASS.format("def __init__(self): 1 / 0"),
            "{0}:Mine",
            "{0}:Mine failed in {0}.py, line 4: ZeroDivisionError: division by zero",
        ),
        (
            CLASS.format("def select(self, now, limit): open('no such file')"),
            "{0}:Mine",
            "{0}:Mine failed in {0}.py, line 4: FileNotFoundError: [Errno 2]",
        ),
        (
            CLASS.format("def observe(self, seen): return seen[0].nothing"),
            "{0}:Mine",
            "{0}:Mine failed in {0}.py, line 4: AttributeError: 'Observation' object has no",
        ),
        (
            CLASS.format("def select(self, now, limit): pass"),
            "{0}:Mine",
            "select gave None: it must give Selection(np.array(page_ids, np.int64))",
        ),
        (
            CLASS.format("def select(self, n, m): return pollwise.Selection(np.arange(0), None)"),
            "{0}:Mine",
            "what {0}:Mine gave cannot be used: TypeError: '<' not supported",
        ),
    ],
)
def test_what_is_wrong_with_it_is_told_in_a_line(run, module, text, policy, told):
    if text is not None:
        written(module, text)
    answer = run("replay", "t.csv", "--policy", policy.format(module))
    assert (answer.status, answer.out) == (2, "")
    *before, line = answer.err.strip().splitlines()
    assert told.format(module) in line
    assert all("0.2/day/page" in each for each in before)  # which policy is replayed


def test_of_several_the_one_that_fails_is_named(run, module):
    text = CLASS.format("pass\nclass Wrong(Mine):\n    def select(self, n, m): return 1 / 0\n")
    written(module, text)
    words = ("--policy", f"{module}:Mine", "--policy", "uniform", "--policy", f"{module}:Wrong")
    answer = run("simulate", "--polls", 5, *words)
    assert answer.status == 2
    assert f"{module}.py, line 6: ZeroDivisionError" in answer.err
