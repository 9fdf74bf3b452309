"""Two histories that no constant was set on, as tables for `worlds.py`.

    python benchmarks/held_back.py OUT [--timelapse web.jsonl.xz]
    python benchmarks/worlds.py OUT --history uploads web --budget 0.01 0.05 0.2

`uploads`: the source packages of Debian whose changelogs are installed on this machine, from 2005
to June 2023; a package is a page, and an upload a change. So the table depends on the machine.
`web`: the sites of a time-lapse (a line of JSON for each version: page, site, time).
"""

import argparse
import email.utils
import gzip
import json
import lzma
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

BEGIN, END = (datetime(*day, tzinfo=UTC).timestamp() for day in ((2005, 1, 1), (2023, 6, 1)))
HEAD, SIGNED = re.compile(r"^(\S+) \(", re.M), re.compile(r"^ -- .*?>  (.*)$", re.M)


def uploads(folder: Path) -> dict[str, set[float]]:
    """The times of the uploads of each source package."""
    found: dict[str, set[float]] = defaultdict(set)
    for file in sorted(folder.glob("*/changelog*.gz")):
        text = gzip.decompress(file.read_bytes()).decode("utf-8", "replace")
        names = HEAD.findall(text)
        for date in SIGNED.findall(text):
            parsed = email.utils.parsedate_tz(date)
            if names and parsed is not None:
                found[names[0]].add(float(email.utils.mktime_tz(parsed)))
    return found


def versions(file: Path) -> Iterator[tuple[str, str, float]]:
    """The page, site and time of each version of a time-lapse."""
    with lzma.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            told = json.loads(line)
            yield told["page"], told["site"], float(told["time"])


def write(
    out: Path,
    name: str,
    times: Mapping[str, list[float]],
    sites: Mapping[str, str],
    end: float,
) -> None:
    """Write the two tables; the first time of a page is its birth."""
    pages = sorted(times)
    moments = {page: sorted({int(time) for time in times[page]}) for page in pages}
    changes = [(page, time) for page in pages for time in moments[page][1:]]
    table = pa.table(
        {
            "page": [page for page, _ in changes],
            "changed_at": [time for _, time in changes],
            "revert": [0] * len(changes),
        }
    )
    pq.write_table(table, out / f"{name}.parquet")
    about = {
        "page": pages,
        "site": [sites[page] for page in pages],
        "first_seen": [moments[page][0] for page in pages],
        "died_at": [-1] * len(pages),
        "observed_until": [int(end)] * len(pages),
        "n_changes": [len(moments[page]) - 1 for page in pages],
    }
    pq.write_table(pa.table(about), out / f"{name}.pages.parquet")
    print(f"{name}: {len(pages)} pages, {len(changes)} changes")


def main() -> None:
    parser = argparse.ArgumentParser(description=Path(__file__).name)
    parser.add_argument("out", type=Path)
    parser.add_argument("--changelogs", type=Path, default=Path("/usr/share/doc"))
    parser.add_argument("--timelapse", type=Path)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    times = {}
    for package, told in uploads(arguments.changelogs).items():
        inside = [max(time, BEGIN) for time in told if time < END]
        if inside:
            times[package] = inside
    write(arguments.out, "uploads", times, dict.fromkeys(times, "debian"), END)
    if arguments.timelapse is not None:
        seen, sites = defaultdict(list), {}
        for page, site, time in versions(arguments.timelapse):
            seen[page].append(time)
            sites[page] = site
        write(arguments.out, "web", seen, sites, max(map(max, seen.values())))


if __name__ == "__main__":
    main()
