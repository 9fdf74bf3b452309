"""`pollwise simulate --world graph`: what is computed, shown and refused."""

import json
from importlib import resources
from pathlib import Path

import pytest

from pollwise import cli
from pollwise.policies.catalogue import COLLECTING
from pollwise.simulation.compare.traversals import traversal_rows, traverse_policies
from pollwise.simulation.worlds.graph import Graph

RECORDED = str(resources.files("pollwise") / "data" / "graphs" / "wikispeedia")


@pytest.fixture
def small() -> Graph:
    """Behind 1 there is nothing; behind 2 all that is relevant."""
    ends = [1, 2, *range(3, 23)]
    return Graph(
        ["a"] * 23, [""] * 23, [0, 0, *[2] * 10, *[1] * 10], ends, [""] * 22,
        {"it": [0.0] * 3 + [0.5] * 10 + [0.0] * 10},
    )  # fmt: skip


@pytest.fixture
def run(monkeypatch, capsys):
    """Call `pollwise simulate --world graph` with these words; exit status, stdout, stderr."""

    def run(*words: object) -> tuple[object, str, str]:
        monkeypatch.setenv("COLUMNS", "120")
        command = ["pollwise", "simulate", "--world", "graph", *map(str, words)]
        monkeypatch.setattr("sys.argv", command)
        with pytest.raises(SystemExit) as end:
            cli.main()
        return end.value.code, *capsys.readouterr()

    return run


def test_entries_are_means_over_seeds(small):
    told: list[str] = []
    policies = ["upper-bound", "random"]
    choices = [COLLECTING.choose(name) for name in policies]
    results = traverse_policies(small, choices, traversals=2, seeds=3, report=told.append)
    assert [result["policy"] for result in results] == policies
    assert told[:3] == [f"upper-bound, seed {n} of 3" for n in (1, 2, 3)]
    bound, random = results
    assert bound["topic"] == "it"
    assert [each["of_upper_bound"] for each in bound["traversals"]] == [1.0, 1.0]
    assert bound["traversals"][0]["stderr"]["of_upper_bound"] == 0.0
    first = random["traversals"][0]
    assert 0.2 < first["of_upper_bound"] < 0.8
    assert first["stderr"]["of_upper_bound"] > 0
    assert list(first["recall"]) == list(first["stderr"]["recall"])
    assert list(first["recall"]) == ["0.01", "0.05", "0.1", "0.25", "0.5"]
    rows = traversal_rows(results)
    assert [(row["policy"], row["traversal"]) for row in rows] == [
        (policy, number) for policy in policies for number in (1, 2)
    ]
    assert rows[2]["0.5"] == first["recall"]["0.5"]
    assert rows[2]["stderr"]["0.5"] == first["stderr"]["recall"]["0.5"]


def test_policies_that_heed_a_topic_come_twice(small):
    choices = [COLLECTING.choose(name) for name in ("robot", "random")]
    results = traverse_policies(
        small, choices, traversals=1, seeds=1, report=print, topic={"it": 1.0}
    )
    assert [result["policy"] for result in results] == ["robot", "robot, told", "random"]


def test_words_without_a_term_are_refused(run):
    status, _, err = run("--topic-words", "the 42")
    assert status == 2
    assert "has no usable word" in err


def test_one_seed_has_no_standard_error(small):
    choices = [COLLECTING.choose("random")]
    [result] = traverse_policies(small, choices, traversals=1, seeds=1, report=print)
    assert "stderr" not in result["traversals"][0]


def test_a_document(run):
    words = ("--topic", "storms", "--policy", "fringe-greedy", "--policy", "upper-bound", "--json")
    status, out, _ = run("--graph", RECORDED, *words)
    greedy, bound = json.loads(out)["results"]
    assert status == 0
    assert greedy["topic"] == "storms"
    assert bound["traversals"][0]["of_upper_bound"] == 1.0
    assert 0.9 < greedy["traversals"][0]["of_upper_bound"] < 1.0
    assert greedy["traversals"][0]["recall"]["0.05"] > 0.9


def test_a_table(run):
    status, out, _ = run("--graph", RECORDED, "--policy", "random", "--traversals", 2)
    assert status == 0
    assert "of upper bound" in out
    assert out.count("random") == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--graph", "nowhere/debdocs"], "there is no file nowhere/debdocs.pages.tsv.xz"),
        (["--graph", RECORDED, "--topic", "cats"], "its topics: physics, storms"),
        (["--graph", RECORDED, "--policy", "lakg"], ", ".join(COLLECTING.names)),
        (["--graph", RECORDED, "--pages", "500"], "--pages is not for the world graph"),
        (["--graph", RECORDED, "--swap-every", "5"], "--swap-every is not for the world graph"),
        (["--graph", RECORDED, "--world", "zipf"], "--graph is not for the world zipf"),
    ],
)
def test_what_cannot_be_used(run, words, message):
    status, out, err = run(*words)
    assert (status, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1


def test_the_data_are_described():
    assert (Path(RECORDED).parent / "README.md").is_file()


def test_without_a_graph_it_is_the_bundled_one(run):
    words = ("--policy", "random", "--json")
    assert run(*words) == run("--graph", RECORDED, *words)
