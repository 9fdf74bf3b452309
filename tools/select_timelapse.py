"""Select the pages of the bundled time-lapse from a longer recorded history.

    python tools/select_timelapse.py INPUT.jsonl.xz OUTPUT.jsonl.xz

Both files are packed JSON lines as `pollwise.testing.timelapse.TimeLapse.load` reads them. The
rule, in which nothing is left to chance:

1.  Only pages whose every text says that it is in the public domain or under CC0-1.0.
2.  The window is one year and begins on the first day of a month: of all such windows within the
    history the one with the most changes, the earliest of equals.
3.  All pages with 4 or more changes in the window: these are what a watcher can be early for.
4.  Of the pages that are never longer than 30,000 characters (to keep the file near 1 MB), up to
    50 with 2 or 3 changes, up to 50 with 1, and then pages without a change until there are 250.
    They are taken in the order of the SHA-256 of their names, so that age and subject play no part.
    Pages that change are more frequent among them than in the history.

It writes the texts that were current at the start of the window, with the times at which they had
become so, and all later ones until its end, in order of time.
"""

import argparse
import hashlib
import json
import lzma
import re
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from pollwise.errors import PollwiseError
from pollwise.testing.timelapse import Revision, TimeLapse

PAGES = 250
LONGEST = 30_000
OFTEN = 4
QUOTAS = ((2, 3, 50), (1, 1, 50))

FREE = re.compile(r"in\s+the\s+public\s+domain|CC0-1\.0")

Histories = dict[str, tuple[Revision, ...]]


def free_pages(timelapse: TimeLapse) -> Histories:
    """The pages that may be shipped (rule 1)."""
    histories = {name: timelapse.history(name) for name in timelapse.page_names}
    return {
        name: history
        for name, history in histories.items()
        if all(FREE.search(revision.body) for revision in history)
    }


def best_window(histories: Histories, first: float, last: float) -> tuple[float, float]:
    """The year with the most changes (rule 2)."""
    changes = [revision.time for history in histories.values() for revision in history[1:]]
    windows = list(_years(first, last))
    if not windows:
        raise SystemExit("the history is shorter than a year; give a longer one")
    return max(windows, key=lambda w: (sum(w[0] < t <= w[1] for t in changes), -w[0]))


def within(history: tuple[Revision, ...], start: float, end: float) -> tuple[Revision, ...]:
    """The revision that is current at the start, and the later ones until the end."""
    old = [revision for revision in history if revision.time <= start]
    new = [revision for revision in history if start < revision.time <= end]
    return (*old[-1:], *new)


def select(histories: Histories) -> list[str]:
    """The names of the pages to take (rules 3 and 4); the histories are those of the window."""

    def drawn(least: int, most: int, count: int) -> list[str]:
        fitting = (
            name
            for name, history in histories.items()
            if least <= len(history) - 1 <= most
            and max(len(revision.body) for revision in history) <= LONGEST
        )
        return sorted(fitting, key=lambda name: hashlib.sha256(name.encode()).digest())[:count]

    chosen = [name for name, history in histories.items() if len(history) - 1 >= OFTEN]
    for least, most, count in QUOTAS:
        chosen += drawn(least, most, count)
    return chosen + drawn(0, 0, PAGES - len(chosen))


def main(arguments: Sequence[str] | None = None) -> None:
    """Read, select, write, and tell what was selected."""
    parser = argparse.ArgumentParser(description="Select the pages of the bundled time-lapse.")
    parser.add_argument("input", type=Path, help="the whole history, JSON lines packed with xz")
    parser.add_argument("output", type=Path, help="where to write the selection")
    options = parser.parse_args(arguments)
    try:
        timelapse = TimeLapse.load(options.input)
    except PollwiseError as error:
        raise SystemExit(str(error)) from error
    free = free_pages(timelapse)
    start, end = best_window(free, timelapse.start, timelapse.end)
    windowed = {name: within(history, start, end) for name, history in free.items()}
    histories = {name: history for name, history in windowed.items() if history}
    chosen = {name: histories[name] for name in select(histories)}
    rows = sorted((time, name, body) for name in chosen for time, body in chosen[name])
    lines = (
        json.dumps({"page": name, "time": int(time), "body": body}, ensure_ascii=False) + "\n"
        for time, name, body in rows
    )
    packed = lzma.compress("".join(lines).encode(), preset=9 | lzma.PRESET_EXTREME)
    options.output.write_bytes(packed)
    dates = " to ".join(f"{datetime.fromtimestamp(t, UTC):%Y-%m-%d}" for t in (start, end))
    changes = sum(len(history) - 1 for history in chosen.values())
    born = sum(history[0].time > start for history in chosen.values())
    print(
        f"{dates}: {len(chosen)} pages, {len(rows)} texts, {changes} changes,"
        f" {born} pages that appear on the way; {len(packed):,} bytes",
        file=sys.stderr,
    )


def _years(first: float, last: float) -> Iterator[tuple[float, float]]:
    begin = datetime.fromtimestamp(first, UTC)
    month = begin.year * 12 + begin.month  # the month after the first one, counted from 0
    while (end := _month(month + 12)) <= last:
        yield _month(month), end
        month += 1


def _month(number: int) -> float:
    year, month = divmod(number, 12)
    return datetime(year, month + 1, 1, tzinfo=UTC).timestamp()


if __name__ == "__main__":
    main()
