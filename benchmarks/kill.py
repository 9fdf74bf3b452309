"""`pollwise watch` killed again and again under load: nothing is lost, no host asked too early.

    python benchmarks/kill.py [--kills 200] [--hosts 300] [--pages 2] [--rate 150]
        [--shortest 2.5] [--longest 6]

Every few seconds, at moments drawn with a seed, the watch is killed (kill -9) and started again.
It fails (exit status 1) if an answer that a host had given more than 0.1 s before a kill is not in
the database, or 0.25 s where many come at once, as turns with many answers are longer: at more than
100 polls a second, and in the first second of answers of a life, as all hosts are free together
then; if a host was asked again within its crawl delay, also across kills; or if the database is
damaged. The pages never change: a poll that finds a change may look again for noise, and is lost as
a whole if it is killed before.

Code should be compiled before, as by a watch that ran for two minutes. On a busy machine let it
live longer: most of a short life goes by before the first poll.
"""

import argparse
import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import numpy as np
from served import Floats, Log, serving
from watches import CRAWL_DELAY, early, polls_kept, started

GRACE, CROWDED_GRACE = 0.1, 0.25
"""Seconds before a kill in which an answer may be lost, and where there are many."""
CROWDED = 100
"""Polls a second above which there are many in some turns."""
CROWDED_FOR = 1.0
"""Seconds from the first answer of a life in which there are many in any case."""


def main() -> int:
    parser = argparse.ArgumentParser(description=Path(__file__).name)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--hosts", type=int, default=300)
    parser.add_argument("--pages", type=int, default=2)
    parser.add_argument("--rate", type=int, default=150)
    parser.add_argument("--shortest", type=float, default=2.5, help="seconds that a watch lives")
    parser.add_argument("--longest", type=float, default=6.0)
    asked = parser.parse_args()
    dice = np.random.default_rng(200)
    killed_at, kept = [], []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        log_file, database = place / "log.npz", place / "watch.db"
        words = ("plain", "--steady", "--hosts", str(asked.hosts), "--pages", str(asked.pages))
        with serving(log_file, *words) as urls:
            for number in range(asked.kills):
                process = started(urls, f"{asked.rate}/second", place)
                time.sleep(dice.uniform(asked.shortest, asked.longest))
                process.kill()
                killed_at.append(time.monotonic())
                process.wait()
                kept.append(polls_kept(database) if database.exists() else {})
                print(f"{number + 1} kills, {sum(kept[-1].values()):,d} polls kept", flush=True)
        log = Log.read(log_file)
        with closing(sqlite3.connect(database)) as connection:
            whole = connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    ages, since_first = lost_answers(log, urls, asked.hosts, killed_at, kept)
    crowded = (since_first < CROWDED_FOR) | (asked.rate > CROWDED)
    lost = int((ages > np.where(crowded, CROWDED_GRACE, GRACE)).sum())
    impolite = early(log, CRAWL_DELAY)
    answered = int((log.page >= 0).sum())
    oldest = ages.max(initial=0.0)
    print(
        f"{asked.kills} kills, {answered:,d} answers, {len(ages)} of them lost, {lost} that"
        f" should be kept (the oldest was given {oldest:.2f} s before a kill),"
        f" {impolite} too early, database {'whole' if whole else 'damaged'}"
    )
    return int(lost > 0 or impolite > 0 or not whole)


def lost_answers(
    log: Log, urls: list[str], hosts: int, killed_at: list[float], kept: list[dict[str, int]]
) -> tuple[Floats, Floats]:
    """Of the answers that are missing, of each page the latest ones in each life of the watch: how
    many seconds before its end they were given, and how many after its first answer."""
    ages, since_first = [], []
    begin, before = 0.0, dict.fromkeys(urls, 0)
    for end, after in zip(killed_at, kept, strict=True):
        # What was under way at a kill may be answered after it; a new watch asks after a second.
        own = (log.page >= 0) & (log.begun_at >= begin + 1.0) & (log.ended_at < end)
        first = log.ended_at[own].min(initial=end)
        for number, url in enumerate(urls):
            answered = np.sort(
                log.ended_at[own & (log.page == number // hosts) & (log.host == number % hosts)]
            )
            polls = after.get(url, 0) - before[url]
            ages.append(end - answered[polls:])
            since_first.append(answered[polls:] - first)
        begin, before = end, {url: after.get(url, 0) for url in urls}
    return np.concatenate(ages), np.concatenate(since_first)


if __name__ == "__main__":
    sys.exit(main())
