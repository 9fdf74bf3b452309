"""Tables of figures: that of replays is made of the numbers of docs/results.json, and that of the
demonstration says what comes of it now.
"""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pollwise import objectives
from pollwise.live.demo_watcher import BUDGET
from pollwise.metrics import ratios, tally
from pollwise.policies.catalogue import WATCHING, Setting
from pollwise.scheduler.budgets import parse_budget
from pollwise.simulation.loop import simulate
from pollwise.simulation.recorded.example import example
from pollwise.types import Budget
from pollwise.units import DAY

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "figures.md").read_text(encoding="utf-8")
REPLAYED = PAGE.partition("## Real pages, replayed")[2].partition("\n## ")[0]
RUNS = json.loads((DOCS / "results.json").read_text(encoding="utf-8"))

COLUMNS = (("freshness", "freshness", 4, 1), ("delay", "delay_days", 2, -1),
           ("detection", "captured", 4, 1))  # fmt: skip
"""Objective, figure, digits, and whether more is better (1) or less (-1)."""
NOT_SET_ON = {"opendataall", "phpdoc", "outages", "topnews"}
"""Histories on which no constant of the policy was set."""
Row = dict[str, Any]


def is_peer(row: Row) -> bool:
    known = ("bayes-index", "whittle", "optimal", "lambdacrawl-known")
    return row["policy"] not in known and not row["policy"].endswith("one scale")


def of(run: Row, policy: str, objective: str) -> Row:
    return next(
        row for row in run["rows"] if (row["policy"], row["objective"]) == (policy, objective)
    )


def cells(run: Row) -> list[str]:
    made = [run["corpus"], run["budget"].removesuffix("/day/page")]
    for objective, figure, digits, sign in COLUMNS:
        peers = [row for row in run["rows"] if is_peer(row)]
        best = max(peers, key=lambda row: sign * row[figure])
        own, told = (of(run, name, objective) for name in ("bayes-index", "whittle"))
        shown = [f"{row[figure]:.{digits}f}" for row in (own, best, told)]
        made += [shown[0], f"{shown[1]} {best['policy']}", shown[2]]
    return made


def won(made: list[list[str]]) -> list[int]:
    """In how many rows own is as good as the best peer or better, for each objective."""
    return [
        sum(sign * float(row[at]) >= sign * float(row[at + 1].split()[0]) for row in made)
        for at, (*_, sign) in zip((2, 5, 8), COLUMNS, strict=True)
    ]


def test_the_table_is_that_of_all_runs():
    rows = [line.strip("| ").split(" | ") for line in REPLAYED.splitlines() if line[:2] == "| "]
    assert rows[1:] == [cells(run) for run in RUNS]


def test_what_is_counted_is_so():
    text = " ".join(REPLAYED.split())
    counted = re.search(
        r"in (\d+) of (\d+) rows for freshness, in (\d+) for delay and in (\d+) for changes", text
    )
    assert counted is not None
    made = [cells(run) for run in RUNS]
    fresh, *others = won(made)
    assert [int(each) for each in counted.groups()] == [fresh, len(made), *others]


def test_the_readme_counts_histories_apart_that_no_constant_was_set_on():
    readme = " ".join((DOCS.parent / "README.md").read_text(encoding="utf-8").split())
    told = re.search(
        r"in (\d+) of (\d+) replays for freshness, (\d+) for delay and (\d+) for changes seen\. .*"
        r" in (\d+) replays of other histories it was in (\d+), (\d+) and (\d+)",
        readme,
    )
    assert told is not None
    made = [cells(run) for run in RUNS]
    unseen = [row for row in made if row[0] in NOT_SET_ON]
    seen = [row for row in made if row not in unseen]
    assert {row[0] for row in unseen} == NOT_SET_ON
    freshness, *others = won(seen)
    assert [int(each) for each in told.groups()] == [
        freshness,
        len(seen),
        *others,
        len(unseen),
        *won(unseen),
    ]


def test_every_peer_is_named():
    named = REPLAYED.partition("*best peer*")[2].partition(";")[0]
    peers = {row["policy"] for run in RUNS for row in run["rows"] if is_peer(row)}
    assert {peer for peer in peers if not re.search(rf"\b{peer}\b", named)} == set()


DEMONSTRATED = re.findall(
    r"^\| ([^|]+?) \| (\d+) % \| ([\d.]+) days \| ([\d.]+) \| × [\d.]+ \|$",
    (DOCS / "demo.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)
"""Schedules, the share of changes seen, mean delay and freshness: of all pages, then without the
fast one."""


@pytest.mark.parametrize(
    ("schedule", "policy", "aim"),
    [
        ("learned, objective delay*", "bayes-index", "delay"),
        ("×0.5 if changed, else ×1.5*", "stormcrawler", "freshness"),
        ("told the change rates*", "whittle", "freshness"),
    ],
)
def test_the_demonstration_comes_to_what_is_told_of_it(schedule, policy, aim):
    """All that is simulated there. Another processor may round otherwise: hence the tolerance."""
    world = example().with_copies()
    world.reset(0)
    pages = len(world.pages)
    rate = parse_budget(BUDGET).total(pages)
    made = WATCHING.choose(policy).make(
        Setting(objectives.objective(aim), rate, pages, world.rates)
    )
    polls = simulate(made, world, seed=0, budget=Budget(rate))
    begins = np.full(pages, world.begin)
    table = tally(polls, world.changes, begin=world.begin, end=world.end, seen_at=begins)
    found = ratios(table.sum(axis=0))
    _, seen, delay, freshness = next(row for row in DEMONSTRATED if row[0] == schedule)
    assert 100 * found["captured"] == pytest.approx(float(seen), abs=1.0)
    assert found["delay"] / DAY == pytest.approx(float(delay), rel=0.02)
    assert found["freshness"] == pytest.approx(float(freshness), abs=0.002)


def test_the_table_of_the_readme_is_that_of_the_demonstration():
    """Schedules, changes seen (of all pages; without the fast one), delay and freshness."""
    half = len(DEMONSTRATED) // 2
    assert half > 3
    rows = {
        (name, f"{seen} %", f"{without[1]} %", delay, freshness)
        for (name, seen, delay, freshness), without in zip(
            DEMONSTRATED[:half], DEMONSTRATED[half:], strict=True
        )
    }
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    shown = [line.strip("| ").split(" | ") for line in readme.splitlines() if line[:2] == "| "]
    assert {
        ("learned" if n == "learned, the default" else n, *rest) for n, *rest in shown[1:]
    } == rows
