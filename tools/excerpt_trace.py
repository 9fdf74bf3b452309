"""Takes every n-th page of a trace, by name, and writes its two tables as CSV.

python tools/excerpt_trace.py TRACE.parquet tests/data/NAME.csv --every 20
"""

import argparse
import csv
import sys
from pathlib import Path

from pyarrow import parquet

CHANGES = ("page", "changed_at", "revert")
PAGES = ("page", "site", "first_seen", "died_at", "observed_until")


def write(path: Path, source: Path, columns: tuple[str, ...], kept: set[str]) -> int:
    """Copy the rows of the pages that are kept; gives their number."""
    table = parquet.read_table(source, columns=list(columns)).to_pydict()
    rows = [row for row in zip(*table.values(), strict=True) if row[0] in kept]
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([columns, *sorted(rows)])
    return len(rows)


def main() -> int:
    """Read the arguments and write the excerpt."""
    parser = argparse.ArgumentParser(description=Path(__file__).name)
    parser.add_argument("trace", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--every", type=int, required=True)
    arguments = parser.parse_args()
    companion = arguments.trace.with_suffix(".pages.parquet")
    names = sorted(parquet.read_table(companion, columns=["page"])["page"].to_pylist())
    kept = set(names[:: arguments.every])
    pages = write(arguments.out.with_suffix(".pages.csv"), companion, PAGES, kept)
    changes = write(arguments.out, arguments.trace, CHANGES, kept)
    print(f"{arguments.out}: {pages} pages, {changes} changes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
