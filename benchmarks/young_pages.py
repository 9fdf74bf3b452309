"""How often pages change by their age: new pages change most.

    python benchmarks/young_pages.py TRACES [NAME ...]

For each history, changes a day and page at these ages (in days), of the pages that were born a week
after its begin or later.
"""

import argparse
from itertools import pairwise
from pathlib import Path

import numpy as np

from pollwise.simulation.recorded.replay import Replay

NAMES = ("policies", "awspolicies", "peps", "curlwww", "phpdoc", "endoflife", "scoop")
AGES = (0.0, 1.0, 7.0, 30.0, 100.0, 365.0, 1000.0, np.inf)
DAY = 86_400.0


def rates_by_age(world: Replay) -> list[float]:
    """Changes a day and page between two of `AGES`; NaN: no page was that old."""
    changes = world.changes
    late = np.flatnonzero(changes.born > world.begin + 7 * DAY)
    lived = (np.minimum(changes.died[late], world.end) - changes.born[late]) / DAY
    ages = np.concatenate([changes.of_page(page) - changes.born[page] for page in late]) / DAY
    counted, _ = np.histogram(ages, AGES)
    exposed = [np.clip(lived - low, 0.0, high - low).sum() for low, high in pairwise(AGES)]
    return [count / days if days else np.nan for count, days in zip(counted, exposed, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=Path(__file__).name)
    parser.add_argument("traces", type=Path)
    parser.add_argument("names", nargs="*", default=NAMES)
    arguments = parser.parse_args()
    print("| history |", " | ".join(f"from {age:g}" for age in AGES[:-1]), "|")
    print("|---" * len(AGES) + "|")
    for name in arguments.names:
        rates = rates_by_age(Replay.read(arguments.traces / f"{name}.parquet"))
        print(f"| {name} |", " | ".join(f"{rate:.2g}" for rate in rates), "|")


if __name__ == "__main__":
    main()
