"""How long a replay of many pages takes: the default policy, one core, reading included.

    python benchmarks/replay.py TRACE.parquet [--pages 27000] [--budget 0.2/day/page] [--json]

The pages of the trace are repeated, under new names, until there are as many as asked for. The
first run compiles the code and is not counted.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from pollwise.objectives import objective
from pollwise.policies.catalogue import WATCHING
from pollwise.scheduler.budgets import parse_budget
from pollwise.simulation.compare.replays import replay_policies
from pollwise.simulation.recorded.replay import Replay

OBJECTIVES = ("freshness", "delay", "detection")


def multiplied(trace: Path, folder: Path, pages: int) -> Path:
    """The trace repeated to so many pages, written to a folder."""
    companion = parquet.read_table(trace.with_suffix(".pages.parquet"))
    changes = parquet.read_table(trace)
    listed = companion["page"].to_pylist()
    copies = -(-pages // len(listed))
    for table, name in ((companion, "many.pages.parquet"), (changes, "many.parquet")):
        parts = []
        for copy in range(copies):
            kept = set(listed[: pages - copy * len(listed)])
            rows = [row for row, page in enumerate(table["page"].to_pylist()) if page in kept]
            part = table.take(np.array(rows, np.int64))
            names = [f"{page}{'/copy' * copy}" for page in part["page"].to_pylist()]
            parts.append(part.set_column(0, "page", pa.array(names)))
        parquet.write_table(pa.concat_tables(parts), folder / name)
    return folder / "many.parquet"


def seconds_of(path: Path, budget: str, name: str) -> dict[str, float]:
    begin = time.process_time()
    world = Replay.read(path)
    read = time.process_time()
    [result] = replay_policies(
        world,
        [WATCHING.choose("bayes-index")],
        objectives=[objective(name)],
        budgets=[parse_budget(budget)],
        warm_up=0.15,
        report=lambda line: None,
    )
    end = time.process_time()
    return {
        "pages": len(world.pages),
        "polls_counted": result["polls"],
        "seconds_reading": read - begin,
        "seconds": end - begin,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=Path(__file__).name)
    parser.add_argument("trace", type=Path)
    parser.add_argument("--pages", type=int, default=27_000)
    parser.add_argument("--budget", default="0.2/day/page")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        few = multiplied(arguments.trace, Path(folder), 10)
        for name in OBJECTIVES:
            seconds_of(few, arguments.budget, name)
        many = multiplied(arguments.trace, Path(folder), arguments.pages)
        results = {name: seconds_of(many, arguments.budget, name) for name in OBJECTIVES}
    if arguments.json:
        print(json.dumps(results, indent=2))
        return 0
    for name, result in results.items():
        print(
            f"{name:10} {result['pages']:,d} pages, {result['polls_counted']:,d} polls after the"
            f" warm-up: {result['seconds']:.1f} s of one core, {result['seconds_reading']:.2f} s"
            " of it reading"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
