"""Every policy on every recorded history: makes docs/results.md and docs/results.json.

    python benchmarks/results.py TRACES [--corpus NAME ...] [--out docs/results.md]

TRACES is the folder with the tables of `CORPORA`. With --corpus only these are run, and the JSON
file keeps its results of the others. Two processes; all of it takes some ten minutes.
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from results_document import FIGURES, document

from pollwise.objectives import objective
from pollwise.policies.catalogue import WATCHING
from pollwise.scheduler.budgets import BudgetText, parse_budget
from pollwise.simulation.compare.replays import replay_policies
from pollwise.simulation.recorded.replay import Replay

BUDGETS = ("0.2/day/page", "0.05/day/page")
WARM_UP = 0.15

FIRST = "uniform"
OURS = "bayes-index"
KNOWN = ("whittle", "optimal", "lambdacrawl-known")
"""Told each page's mean rate."""
PEERS = (
    "fixed", "nutch", "stormcrawler", "news-crawl", "miniflux", "newsblur", "lambdacrawl",
    "mirrorsync", "cho-naive", "cho-mle",
)  # fmt: skip
POLICIES = (FIRST, OURS, *KNOWN, *PEERS)
RULES = ("nutch", "stormcrawler", "news-crawl", "miniflux", "newsblur")
"""They are also run with one constant scale."""
ONE_SCALE = "{}, one scale"
_ROOM = 5.0
"""How many times the budget a rule with one scale may use at any moment."""
_HALVINGS = 9


@dataclass(frozen=True, slots=True)
class Corpus:
    """A recorded history, and how to replay it.

    `window`: the part that is replayed (UTC seconds); `one_scale`: whether `RULES` are also run
    with one constant scale.
    """

    name: str
    file: str
    origin: str
    ignore_reverts: bool = False
    last_changed: bool = False
    one_scale: bool = True
    window: tuple[float, float] | None = None

    def read(self, folder: Path) -> Replay:
        world = Replay.read(
            folder / self.file, ignore_reverts=self.ignore_reverts, last_changed=self.last_changed
        )
        return world if self.window is None else world.within(*self.window)


CORPORA = (
    Corpus(
        "policies",
        "policies.parquet",
        "terms and policies of web services, Open Terms Archive contributors (ODC-BY 1.0)",
    ),
    Corpus(
        "policies, reverts ignored",
        "policies.parquet",
        "the same; changes back to one of the last 12 versions do not count",
        ignore_reverts=True,
    ),
    Corpus(
        "opendata",
        "opendata.parquet",
        "open-data sets that their portals listed all the time (simonw/scrape-open-data)",
    ),
    Corpus("opendataall", "opendataall.parquet", "open-data sets, also those listed only at times"),
    Corpus("awspolicies", "awspolicies.parquet", "managed policies of AWS (zoph-io/MAMIP)"),
    Corpus("peps", "peps.parquet", "Python Enhancement Proposals (python/peps)"),
    Corpus("curlwww", "curlwww.parquet", "the web site of curl (curl/curl-www)"),
    Corpus(
        "phpdoc",
        "phpdoc.parquet",
        "the manual of PHP (php/doc-en), 2023-08-01 to 2026-08-01",
        window=(1_690_848_000.0, 1_785_542_400.0),
    ),
    Corpus(
        "outages",
        "outages.parquet",
        "lists of power cuts and road closures (simonw/disaster-data), 2017-10-10 to 2017-11-17,"
        " when they were recorded most densely",
        window=(1_507_593_600.0, 1_510_876_800.0),
    ),
    Corpus("topnews", "topnews.parquet", "front pages of news (notnews/top_news, CC-BY-4.0)"),
    *(
        Corpus(
            f"{name}, dates told",
            f"{name}.parquet",
            f"{name} again; polls tell when the page changed last, as many servers do",
            last_changed=True,
            one_scale=False,
        )
        for name in ("policies", "opendata", "awspolicies", "peps", "curlwww")
    ),
)

LONGEST = ("phpdoc", "policies", "policies, reverts ignored", "opendataall")
"""They are started first, so that no process is left with them at the end."""


def with_one_scale(world: Replay, rule: str, budget: BudgetText, polls: int) -> dict[str, Any]:
    """A rule whose times are multiplied by one constant scale, as an operator would set it.

    It is the largest scale, to 1.8 %, at which the rule makes at least so many polls or, if there
    is none above 0.01, that of the most polls. `budget` is kept over the whole time, not at every
    moment.
    """
    roomy = replace(budget, rate=_ROOM * budget.rate)
    low, high = -2.0, 2.0  # of the logarithm to the base 10
    rows: list[dict[str, Any]] = []
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        rows += replay_policies(
            world,
            [WATCHING.choose(f"{rule}:scale={10.0**middle!r}")],
            objectives=[objective("freshness")],
            budgets=[roomy],
            warm_up=WARM_UP,
            report=lambda line: None,
        )
        if rows[-1]["polls"] >= polls:
            low = middle
        else:
            high = middle
    rows.sort(key=lambda row: int(row["polls"]))
    row = next((row for row in rows if row["polls"] >= polls), rows[-1])
    scale = row["policy"].partition("=")[2]
    return {**row, "policy": ONE_SCALE.format(rule), "scale": float(scale), "budget": str(budget)}


def run(folder: Path, corpus: Corpus, budget: str) -> dict[str, Any]:
    """All policies on one history at one budget; `against`: the difference to the first, and its
    95 % interval.
    """
    begun = time.process_time()
    world = corpus.read(folder)
    rows = replay_policies(
        world,
        [WATCHING.choose(name) for name in POLICIES],
        objectives=[objective(name) for name in FIGURES],
        budgets=[parse_budget(budget)],
        warm_up=WARM_UP,
        report=lambda line: None,
    )
    for row in rows[1:]:
        against = row["against"]
        row["against"] = {
            name: [against[name]["difference"], *against[name]["interval_95"]]
            for name in FIGURES.values()
        }
    polls = rows[0]["polls"]
    if corpus.one_scale:
        rows += [with_one_scale(world, rule, parse_budget(budget), polls) for rule in RULES]
    return {
        "corpus": corpus.name,
        "budget": budget,
        "pages": len(world.pages),
        "days": (world.end - world.begin) / 86_400.0,
        "seconds": time.process_time() - begun,
        "rows": rows,
    }


def rounded(value: Any) -> Any:
    """Numbers rounded to six digits, and None for those that are not finite."""
    if isinstance(value, dict):
        return {key: rounded(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(part) for part in value]
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value


def key_of(run: dict[str, Any]) -> tuple[int, int]:
    """The place of a run in the document."""
    names = [corpus.name for corpus in CORPORA]
    return names.index(run["corpus"]), BUDGETS.index(run["budget"])


def kept_runs(path: Path, again: Sequence[Corpus]) -> list[dict[str, Any]]:
    """The runs in the file whose histories are not run again."""
    if not path.is_file():
        return []
    names = {corpus.name for corpus in CORPORA} - {corpus.name for corpus in again}
    return [run for run in json.loads(path.read_text()) if run["corpus"] in names]


def written(runs: Sequence[dict[str, Any]]) -> str:
    """As JSON, with one line per policy."""
    parts = []
    for each in runs:
        rows = ",\n".join(json.dumps(row, separators=(",", ":")) for row in each["rows"])
        head = json.dumps({name: x for name, x in each.items() if name != "rows"})
        parts.append(f'{head[:-1]}, "rows": [\n{rows}]}}')
    return "[\n" + ",\n".join(parts) + "\n]\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=Path(__file__).name)
    parser.add_argument("traces", type=Path)
    parser.add_argument("--corpus", action="append", choices=[corpus.name for corpus in CORPORA])
    parser.add_argument("--out", type=Path, default=Path("docs/results.md"))
    arguments = parser.parse_args()
    chosen = [c for c in CORPORA if arguments.corpus is None or c.name in arguments.corpus]
    numbers = arguments.out.with_suffix(".json")
    runs = kept_runs(numbers, chosen)
    with ProcessPoolExecutor(max_workers=2) as pool:
        waiting = [
            pool.submit(run, arguments.traces, corpus, budget)
            for corpus in sorted(chosen, key=lambda each: each.name not in LONGEST)
            for budget in BUDGETS
        ]
        for done in as_completed(waiting):
            runs.append(rounded(done.result()))
            print(f"{runs[-1]['corpus']}, {runs[-1]['budget']}: {runs[-1]['seconds']:.0f} s")
    runs.sort(key=key_of)
    numbers.write_text(written(runs), encoding="utf-8")
    origins = {corpus.name: corpus.origin for corpus in CORPORA}
    peers = (*PEERS, *map(ONE_SCALE.format, RULES))
    text = document(runs, origins, first=FIRST, ours=OURS, known=KNOWN, peers=peers)
    arguments.out.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
