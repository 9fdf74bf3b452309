"""docs/reference/comparisons.md names the fields of simulate, replay and reproduce as printed."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pollwise import cli

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "comparisons.md").read_text(encoding="utf-8")
POLICIES = str(ROOT / "tests" / "data" / "policies.csv")
GRAPH = str(ROOT / "src" / "pollwise" / "data" / "graphs" / "wikispeedia")

SECTION = re.compile(r"^### (?P<name>[^\n]+)$(?P<text>.*?)(?=^#|\Z)", re.M | re.S)
FIELDS = {
    section["name"]: re.findall(r"^\| `(\w+)` \|", section["text"], re.M)
    for section in SECTION.finditer(PAGE)
}
BY_OPTION = {"weighted_" + name for name in (
    "captured", "novel_captured", "freshness", "delay_days", "age_days"
)}  # fmt: skip
"""Fields of a replay that are there with `--weighted` only."""

Run = Callable[..., dict[str, Any]]


@pytest.fixture
def run(monkeypatch, capsys) -> Run:
    """The document that a command prints."""

    def run(*words: str) -> dict[str, Any]:
        monkeypatch.setattr("sys.argv", ["pollwise", *words, "--json"])
        with pytest.raises(SystemExit) as end:
            cli.main()
        assert end.value.code == 0
        return json.loads(capsys.readouterr().out)

    return run


def test_the_worlds_zipf_and_knapsack(run):
    sizes = ["--pages", "3", "--polls", "30", "--seeds", "2"]
    policies = ["--policy", "uniform"]
    for world in ("zipf", "knapsack"):
        (entry,) = run("simulate", "--world", world, *sizes, *policies)["results"]
        assert entry.keys() == set(FIELDS["worlds zipf and knapsack"])
        assert entry.keys() - entry["checkpoints"][0].keys() == {"policy", "checkpoints"}


def test_the_world_graph(run):
    words = ["--world", "graph", "--graph", GRAPH, "--policy", "random", "--seeds", "2"]
    (entry,) = run("simulate", *words)["results"]
    assert [*entry, *entry["traversals"][0]] == FIELDS["world graph"]
    changing = ["--change-load", "1", "--requests", "100"]
    (entry,) = run("simulate", *words, *changing)["results"]
    assert entry.keys() == set(FIELDS["world graph with changes"])


def test_a_replay_of_pages(run):
    words = ["--policy", "uniform", "--policy", "fixed"]
    first, second = run("replay", POLICIES, *words)["results"]
    assert [*second] == [each for each in FIELDS["replay of pages"] if each not in BY_OPTION]
    assert second.keys() - first.keys() == {"against"}
    named = re.findall(r"`(\w+)`", PAGE.partition("`against` has")[2].partition("\n\n")[0])
    shares = set(second["against"]) - {"policy", "objective"}
    assert set(named) == {"policy", "objective", *second["against"]["freshness"]}
    assert shares == {"captured", "novel_captured", "freshness", "delay_days", "age_days"}


def test_a_weighted_replay(run, tmp_path):
    trace = tmp_path / "t.csv"
    trace.write_text("page,changed_at,revert\na,86400,0\na,200000,1\nb,172800,0\nb,900000,0\n")
    pages = "page,first_seen,died_at,weight\na,0,,5\nb,0,,1\n"
    (tmp_path / "t.pages.csv").write_text(pages)
    (entry,) = run("replay", str(trace), "--policy", "uniform", "--weighted")["results"]
    assert BY_OPTION <= entry.keys() < set(FIELDS["replay of pages"])


def test_a_replay_of_items(run, tmp_path):
    table = tmp_path / "news.items.csv"
    rows = [f"s,{n},{n * 9000},{n * 9000},{n * 9000 + 99000},1" for n in range(40)]
    header = "source,item,published_at,first_seen,gone_at,weight"
    table.write_text("\n".join([header, *rows]))
    words = ["--objective", "ephemeral", "--half-life", "6", "--policy", "uniform"]
    (entry,) = run("replay", str(table), *words)["results"]
    assert [*entry] == FIELDS["replay of items"]


def test_a_calibration(run):
    words = ["--calibration", "--policy", "bayes-index", "--budget", "0.05/day/page"]
    document = run("replay", POLICIES, *words)
    assert [*document] == ["results", "calibration"]
    assert [*document["calibration"][0]] == FIELDS["calibration of a replay"]


def test_an_item_of_a_paper(run):
    document = run("reproduce", "ephemeral-figure-2", "--no-figure")
    printed = next(row for row in document["results"] if row["published"] is not None)
    assert [*document, *printed] == FIELDS["one item of a paper"]
    row = next(line for line in PAGE.splitlines() if line.startswith("| `printed`"))
    assert re.findall(r"`(\w+)`", row)[1:] == [*printed["printed"]]
