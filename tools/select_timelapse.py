"""Select the pages of the bundled time-lapse from a longer list, by names alone.

    python tools/select_timelapse.py INPUT.jsonl.xz SITES.json OUTPUT.jsonl.xz NOTICES.md

INPUT has JSON lines packed with xz, an object `{page, site, time, body}` a line, in order of time;
SITES.json says of each site where its pages are from and under which licence.

The rule: a fifth of the pages of each site, rounded up, those whose names have the least SHA-256.
How often a page changes plays no part. All texts of these pages are kept, as they are. OUTPUT is in
the format that `pollwise.testing.timelapse.TimeLapse.load` reads; NOTICES.md has the attributions
of the sites and the notices that their licences want to go with the pages.
"""

import argparse
import hashlib
import json
import lzma
import math
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

SHARE = 5
"""One of so many pages is taken."""

Row = Mapping[str, Any]


def select(rows: Iterable[Row]) -> set[str]:
    """The names of the pages to take."""
    pages: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        pages[row["site"]].add(row["page"])
    return {
        name
        for names in pages.values()
        for name in sorted(names, key=lambda name: hashlib.sha256(name.encode()).digest())[
            : math.ceil(len(names) / SHARE)
        ]
    }


def notices(sites: Iterable[Row], taken: Mapping[str, int]) -> str:
    """The attributions, and the notices of the licences, of the sites that pages are taken from."""
    lines = ["# Where the pages of the time-lapse are from", ""]
    for site in sites:
        if site["site"] not in taken:
            continue
        lines += [
            f"## {site['site']}: {site['name']}",
            "",
            f"Pages: {taken[site['site']]}, from <{site['repository']}>, commits",
            f"`{site['commits']}`.",
            f"Licence: {site['licence']}, <{site['licence_text']}>.",
            "",
            f"{site['attribution']}.",
            "",
        ]
        if site["notice"]:
            lines += ["```", *site["notice"].strip().splitlines(), "```", ""]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read, select, write, and tell what was selected."""
    parser = argparse.ArgumentParser(description="Select the pages of the bundled time-lapse.")
    parser.add_argument("input", type=Path, help="the whole history, JSON lines packed with xz")
    parser.add_argument("sites", type=Path, help="the sites, JSON")
    parser.add_argument("output", type=Path, help="where to write the selection")
    parser.add_argument("notices", type=Path, help="where to write the notices")
    options = parser.parse_args(arguments)
    with lzma.open(options.input, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    chosen = select(rows)
    kept = [row for row in rows if row["page"] in chosen]
    text = "".join(
        json.dumps({key: row[key] for key in ("page", "time", "body")}, ensure_ascii=False) + "\n"
        for row in kept
    )
    packed = lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME)
    options.output.write_bytes(packed)
    taken: dict[str, int] = {}
    changes = dict.fromkeys(chosen, -1)  # the first text is no change
    for row in kept:
        changes[row["page"]] += 1
        taken[row["site"]] = taken.get(row["site"], 0) + (changes[row["page"]] == 0)
    sites = json.loads(options.sites.read_text(encoding="utf-8"))["sites"]
    options.notices.write_text(notices(sites, taken), encoding="utf-8")
    print(
        f"{len(chosen)} pages of {len(taken)} sites, {len(kept)} texts,"
        f" {sum(changes.values())} changes, {sum(not n for n in changes.values())} pages that"
        f" never change; {len(packed):,} bytes",
        file=sys.stderr,
    )


if __name__ == "__main__":
    main()
