"""`pollwise simulate --world graph --change-load`: what is computed, shown and refused."""

import json
from importlib import resources

import pytest

from pollwise import cli
from pollwise.errors import InputError
from pollwise.policies.catalogue import COLLECTING
from pollwise.simulation.compare.collections import collect_policies
from pollwise.simulation.worlds.graph import Graph

RECORDED = str(resources.files("pollwise") / "data" / "graphs" / "wikispeedia")


@pytest.fixture
def run(monkeypatch, capsys):
    """Call the command with these words; exit status, stdout, stderr."""

    def run(*words: object) -> tuple[object, str, str]:
        command = ["pollwise", "simulate", "--world", "graph", "--graph", RECORDED]
        monkeypatch.setattr("sys.argv", [*command, *map(str, words)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        return end.value.code, *capsys.readouterr()

    return run


def test_a_document(run):
    words = ("--topic", "storms", "--change-load", 1, "--requests", 60, "--policy", "robot")
    status, out, _ = run(*words, "--seeds", 2, "--json")
    [result] = json.loads(out)["results"]
    assert status == 0
    assert (result["policy"], result["topic"], result["requests"]) == ("robot", "storms", 60)
    for figures in (result, result["last_half"]):
        assert 0 <= figures["quality"] <= min(figures["recall"], figures["freshness"]) <= 1
        assert set(figures["stderr"]) == {"quality", "recall", "freshness"}
    assert result["last_half"]["recall"] > result["recall"]


def test_a_table(run):
    status, out, _ = run("--change-load", 1, "--requests", 20, "--policy", "random")
    assert status == 0
    assert "min(R, F)" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--requests", 5), "--requests is for graphs that change"),
        (("--change-load", 1, "--traversals", 2), "--traversals is for graphs without changes"),
        (("--change-load", 0), "must be a finite number above 0"),
        (("--change-load", 1, "--policy", "upper-bound"), "has to know all pages"),
    ],
)
def test_what_is_refused(run, words, message):
    status, _, err = run(*words)
    assert status != 0
    assert message in err


def test_entries_name_policy_and_length():
    graph = Graph(["a"] * 2, ["", "x"], [0], [1], ["to x"], {"it": [0.0, 1.0]})
    results = collect_policies(
        graph,
        [COLLECTING.choose("random")],
        change_load=0.1,
        requests=None,
        seeds=1,
        report=lambda _: None,
    )
    assert results[0]["requests"] == 2
    assert "stderr" not in results[0]
    with pytest.raises(InputError, match="fringe-greedy"):
        collect_policies(
            graph,
            [COLLECTING.choose("fringe-greedy")],
            change_load=1.0,
            requests=1,
            seeds=1,
            report=print,
        )
