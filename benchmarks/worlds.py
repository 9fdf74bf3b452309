"""Where the default policy loses: every history, budget, objective, with and without dates.

    python benchmarks/worlds.py TRACES [--history NAME ...] [--budget 0.05 ...]
        [--objective NAME ...] [--starts 4] [--runs build/worlds] [--json] [--out FILE]

TRACES has the tables of `HISTORIES`; --history may name any other table there, too.

Each cell is a history, a budget (polls a day and page), an objective, and whether polls tell when
the page changed last. In it `bayes-index` is compared with uniform polling and with each peer, page
by page: a paired bootstrap over the pages gives the interval (95 %) of the difference. A cell is
*below* if some policy is better by more than that, *ahead* if bayes-index is better than every one
of them by more than that. Three more tables do the same for the first 10, 25 and 50 % of the time,
where policies know little.

When a poll happens to be made decides a part of what it finds, and the pages of a history share
that. So every policy runs from several starts, each a part of the time between two polls of a page
later, and what it did to a page is added up over them.

Two references are told rates: `whittle` each page's mean rate over the whole time, and *told by
year*, four times a year, its mean rate over the year around that moment.

What was run is kept in --runs and not run again: give another folder for another version.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from results import CORPORA, KNOWN, OURS, PEERS, Corpus

from pollwise.metrics import ratios, tally
from pollwise.objectives import Objective, objective
from pollwise.policies.arrays import all_watched
from pollwise.policies.catalogue import WATCHING, Setting
from pollwise.policies.index.whittle import Whittle
from pollwise.scheduler.budgets import BudgetText, parse_budget
from pollwise.simulation.compare.replays import limit_of
from pollwise.simulation.loop import simulate
from pollwise.simulation.recorded.replay import Replay

BUDGETS = ("0.01", "0.05", "0.2", "1")
RIVALS = ("uniform", *PEERS)
TOLD = KNOWN[0]
BY_YEAR = "told-by-year"
FIGURES = {"freshness": "freshness", "delay": "delay", "detection": "captured", "age": "age"}
"""The figure of a tally that an objective is about."""
COSTS = ("delay", "age")
PARTS = {
    "After 15 %": (0.15, 1.0),
    "The first 10 %": (0.0, 0.1),
    "The first 25 %": (0.0, 0.25),
    "The first 50 %": (0.0, 0.5),
}
"""Which shares of the time count."""
HISTORIES = (
    *(corpus for corpus in CORPORA if not corpus.last_changed and not corpus.ignore_reverts),
    Corpus("endoflife", "endoflife.parquet", "products and their ends, updated by a daily robot"),
    Corpus("scoop", "scoop.parquet", "package manifests, updated by a robot every few hours"),
)
_RESAMPLES = 1_000
_YEAR = 365.25 * 86_400.0
_LATEST_START = 0.1
"""The share of the time within which all starts are."""
_UNSEEN_CHANGES = 0.5
"""Changes that are added to those of a year: a page without any may change yet."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Cell:
    """One comparison; `dated`: polls tell when the page changed last."""

    history: str
    dated: bool
    budget: str
    objective: str

    def __str__(self) -> str:
        dates = ", dates told" if self.dated else ""
        return f"{self.history}{dates}, {self.budget} a day and page, {self.objective}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """How bayes-index did in a cell: `values` by policy, and whom it is significantly below."""

    cell: Cell
    values: dict[str, float]
    below: list[str]
    ahead: bool


class WhittleByYear(Whittle):
    """Told each page's rate of the year around now, whenever `tell` is called."""

    def __init__(self, world: Replay, aim: Objective) -> None:
        super().__init__(rates={}, objective=aim)
        self._world = world
        self.tell(world.begin)

    def tell(self, now: float) -> None:
        """Take the rates of the year around `now`; the queue moves to them within a sweep."""
        changes = self._world.changes
        begin = np.maximum(changes.born, max(now - _YEAR / 2, self._world.begin))
        end = np.minimum(changes.died, min(now + _YEAR / 2, self._world.end))
        counted = np.array(
            [
                np.searchsorted(own, high, "right") - np.searchsorted(own, low, "right")
                for own, low, high in zip(
                    map(changes.of_page, range(len(begin))), begin, end, strict=True
                )
            ]
        )
        lived = np.maximum(end - begin, _YEAR / 4)
        rates = (counted + _UNSEEN_CHANGES) / lived
        self._rates = dict(enumerate(rates.tolist()))
        watched = all_watched(self.state.pages)
        self.state.apart["rate"][watched] = rates[watched]
        self.state.shared["sweep_left"] = len(self.state.pages)


class Runs:
    """Tallies by page of all parts of the time, run once and kept in files.

    They are the sums of runs from so many `starts`.
    """

    def __init__(self, folder: Path, traces: Path, starts: int) -> None:
        self._folder, self._traces, self._starts = folder, traces, starts
        self._worlds: dict[tuple[str, bool], Replay] = {}

    def _file(self, cell: Cell, policy: str) -> Path:
        aims = policy == BY_YEAR or WATCHING.choose(policy).takes("objective")
        aim = cell.objective if aims else "any"
        dated = "dated" if cell.dated else "plain"
        name = f"{cell.history}_{dated}_{cell.budget}_{aim}_{policy}_{self._starts}.npz"
        return self._folder / name

    def get(self, cell: Cell, policy: str, part: str) -> Floats:
        """The tally of what was run, a row for each page."""
        with np.load(self._file(cell, policy)) as kept:
            rows: Floats = kept[part]
            return rows

    def run(self, corpus: Corpus, cell: Cell, policy: str) -> None:
        """Run a policy on a cell, unless that was done."""
        file = self._file(cell, policy)
        if file.exists():
            return
        whole = self._world(corpus, cell.dated)
        budget = parse_budget(f"{cell.budget}/day/page")
        names = {page.url: number for number, page in enumerate(whole.pages)}
        parts = dict[str, Floats]()
        for world in started(whole, budget.total(1), self._starts):
            rows = [names[page.url] for page in world.pages]
            for part, told in _tallied(world, cell, policy, budget).items():
                total = parts.setdefault(part, np.zeros((len(whole.pages), told.shape[1])))
                total[rows] += told
        file.parent.mkdir(parents=True, exist_ok=True)
        np.savez(file, **parts)  # type: ignore[arg-type]
        print(f"{cell}: {policy}", file=sys.stderr)

    def _world(self, corpus: Corpus, dated: bool) -> Replay:
        key = (corpus.name, dated)
        if key not in self._worlds:
            self._worlds.clear()  # one at a time: they are large
            world = corpus.read(self._traces)
            world.tells_last_changed = dated
            world.reset(0)
            self._worlds[key] = world
        return self._worlds[key]


def started(whole: Replay, rate: float, starts: int) -> Iterator[Replay]:
    """A world from each of the starts; `rate`: the polls a second of a page."""
    yield whole
    apart = min(1.0 / rate, _LATEST_START * (whole.end - whole.begin)) / starts
    for start in range(1, starts):
        later = whole.within(whole.begin + start * apart, whole.end)
        later.reset(0)
        yield later


def _tallied(world: Replay, cell: Cell, policy: str, budget: BudgetText) -> dict[str, Floats]:
    """What a policy did in each part of the time, by page."""
    if policy == BY_YEAR:
        told = WhittleByYear(world, objective(cell.objective))
        moments = np.arange(world.begin + _YEAR / 4, world.end, _YEAR / 4).tolist()
        polls = simulate(
            told, world, seed=0, budget=limit_of(budget), pauses=moments, on_pause=told.tell
        )
    else:
        pages = len(world.pages)
        setting = Setting(
            objective(cell.objective), budget=budget.total(pages), pages=pages, rates=world.rates
        )
        made = WATCHING.choose(policy).make(setting)
        polls = simulate(made, world, seed=0, budget=limit_of(budget))
    span = world.end - world.begin
    return {
        name: tally(
            polls, world.changes, begin=world.begin + begin * span, end=world.begin + end * span
        )
        for name, (begin, end) in PARTS.items()
    }


def verdict(runs: Runs, cell: Cell, part: str) -> Verdict:
    """What came of a cell."""
    tallies = {name: runs.get(cell, name, part) for name in (OURS, *RIVALS, TOLD, BY_YEAR)}
    figure, sign = FIGURES[cell.objective], -1.0 if cell.objective in COSTS else 1.0
    pages = len(tallies[OURS])
    generator = np.random.default_rng(0)
    drawn = np.stack(
        [
            np.bincount(generator.integers(pages, size=pages), minlength=pages)
            for _ in range(_RESAMPLES)
        ]
    ).astype(np.float64)
    spread = {name: sign * ratios(drawn @ rows)[figure] for name, rows in tallies.items()}
    below, ahead = [], True
    for rival in RIVALS:
        low, high = np.nanquantile(spread[OURS] - spread[rival], [0.025, 0.975])
        if high < 0:
            below.append(rival)
        ahead = ahead and bool(low > 0)
    values = {name: float(ratios(rows.sum(axis=0))[figure]) for name, rows in tallies.items()}
    return Verdict(cell, values, below, ahead)


def cells(
    corpora: Sequence[Corpus], budgets: Sequence[str], objectives: Sequence[str]
) -> Iterator[tuple[Corpus, Cell]]:
    """All comparisons, a history at a time."""
    for corpus in corpora:
        for dated in (False, True):
            for budget in budgets:
                for name in objectives:
                    yield corpus, Cell(corpus.name, dated, budget, name)


def document(verdicts: dict[str, list[Verdict]]) -> str:
    """The tables as Markdown; of parts of the time, cells that are neither ahead nor below are left
    out.
    """
    lines = []
    for part, found in verdicts.items():
        below = [one for one in found if one.below]
        lines += [
            f"## {part} of the time",
            "",
            f"{len(found)} cells: {sum(one.ahead for one in found)} ahead of every other policy,"
            f" {len(below)} below one.",
            "",
            "| history | dates | budget | objective | bayes-index | uniform | best peer | told |"
            " told by year | ahead or below |",
            "|---|---|---|---|---|---|---|---|---|---|",
        ]
        whole = part == next(iter(PARTS))
        lines += [_row(one) for one in found if whole or one.ahead or one.below]
        lines.append("")
    return "\n".join(lines)


def _row(one: Verdict) -> str:
    cell, values = one.cell, one.values
    best = (min if cell.objective in COSTS else max)(PEERS, key=values.__getitem__)
    divided = {"delay": 86_400.0, "age": 86_400.0}.get(cell.objective, 1.0)
    shown = [f"{values[name] / divided:.4g}" for name in (OURS, "uniform", best, TOLD, BY_YEAR)]
    shown[2] += f" {best}"
    outcome = "ahead" if one.ahead else ("below " + ", ".join(one.below) if one.below else "")
    columns = (cell.history, "told" if cell.dated else "", cell.budget, cell.objective)
    return "| " + " | ".join((*columns, *shown, outcome)) + " |"


def main() -> int:
    parser = argparse.ArgumentParser(description=Path(__file__).name)
    parser.add_argument("traces", type=Path)
    parser.add_argument("--history", nargs="+", default=[corpus.name for corpus in HISTORIES])
    parser.add_argument("--budget", nargs="*", default=BUDGETS)
    parser.add_argument("--objective", nargs="*", default=list(FIGURES), choices=list(FIGURES))
    parser.add_argument("--starts", type=int, default=4)
    parser.add_argument("--runs", type=Path, default=Path("build/worlds"))
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    # Python passes over what it does not find, and another tree would be measured.
    for folder in filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)):
        if not Path(folder).exists():
            parser.error(f"PYTHONPATH names {folder}, which does not exist")
    runs = Runs(arguments.runs, arguments.traces, arguments.starts)
    known = {one.name: one for one in HISTORIES}
    corpora = [known.get(name) or Corpus(name, f"{name}.parquet", "") for name in arguments.history]
    chosen = list(cells(corpora, arguments.budget, arguments.objective))
    for corpus, cell in chosen:
        for policy in (OURS, *RIVALS, TOLD, BY_YEAR):
            runs.run(corpus, cell, policy)
    verdicts = {part: [verdict(runs, cell, part) for _, cell in chosen] for part in PARTS}
    if arguments.json:
        counts: dict[str, Any] = {
            part: {
                "cells": len(found),
                "ahead": sum(one.ahead for one in found),
                "below": [f"{one.cell}: {', '.join(one.below)}" for one in found if one.below],
            }
            for part, found in verdicts.items()
        }
        print(json.dumps(counts, indent=2))
    else:
        text = document(verdicts)
        if arguments.out is None:
            print(text)
        else:
            arguments.out.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
