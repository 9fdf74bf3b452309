"""What a page costs on disk, how fast polls are committed, and how fast pages are read at a start.

    python benchmarks/stored_pages.py [--pages 100000]

A new database of that many pages, 20 on each host, each polled three times: a first copy, whose
body is not kept, and two polls that find it unchanged. A commit has a thousand polls, with what was
learned from them. Times are CPU of the process.
"""

import argparse
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from pollwise import BayesianIndex
from pollwise.store import Store
from pollwise.store.records import Batch, NewPage, PollResult
from pollwise.types import Observation, Outcome, PageMemory

AT_ONCE = 1_000
ROUNDS = (Outcome.CHANGED, Outcome.UNCHANGED, Outcome.UNCHANGED)
VALIDATORS = ('"5f3c-61a"', "Tue, 24 Nov 2026 10:00:00 GMT")


def polled(page_id: int, outcome: Outcome, now: float) -> PollResult:
    """A poll of a page that sends validators."""
    content = f"{page_id:032x}"
    memory = PageMemory(*VALIDATORS, body_hash=content, text_hash=content)
    return PollResult(Observation(page_id, now, outcome), memory)


def write(db: Path, pages: int) -> list[float]:
    """Make the database; polls a second of CPU, by round."""
    rates = []
    policy = BayesianIndex()
    with Store.open(db) as store:
        new = [
            NewPage(f"https://{host}/section/page-{number}.html", host)
            for number in range(pages)
            for host in [f"host{number // 20}.example"]
        ]
        policy.add(store.add_pages(new, now=0.0))
        store.start_run(0.0, {}, None)
        for number, outcome in enumerate(ROUNDS, start=1):
            spent = 0.0
            for begin in range(0, pages, AT_ONCE):
                ids = range(begin, min(begin + AT_ONCE, pages))
                now = number * float(pages) + begin
                polls = tuple(polled(page_id, outcome, now) for page_id in ids)
                policy.observe([poll.observation for poll in polls])
                learned = policy.state_dict(ids)
                begun_at = time.process_time()
                store.commit(Batch(polls=polls, learned=learned))
                spent += time.process_time() - begun_at
            rates.append(pages / spent)
    return rates


def sizes(db: Path) -> list[tuple[str, int]]:
    """The bytes of the file, and of its tables and indices if this SQLite can tell them."""
    with closing(sqlite3.connect(db)) as connection:
        query = "SELECT name, SUM(pgsize) FROM dbstat GROUP BY name ORDER BY 2 DESC"
        try:
            tables = connection.execute(query).fetchall()
        except sqlite3.OperationalError:
            tables = []
    return [("all", db.stat().st_size), *tables]


def timed(call: Callable[[], Any], pages: int) -> tuple[Any, float]:
    """What a call gives, and the microseconds of CPU that it takes a page."""
    begun_at = time.process_time()
    given = call()
    return given, (time.process_time() - begun_at) / pages * 1e6


def main(words: Sequence[str] | None = None) -> int:
    """Print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pages", type=int, default=100_000)
    pages = parser.parse_args(words).pages
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder) / "pages.db"
        for outcome, rate in zip(ROUNDS, write(db, pages), strict=True):
            print(f"commits, {outcome.name.lower()}: {rate:,.0f} polls a second of CPU")
        for name, size in sizes(db):
            if size >= pages:
                print(f"{name}: {size / pages:.0f} bytes a page")
        policy = BayesianIndex()
        with Store.open_readonly(db) as store:
            watched, reading = timed(store.watched_pages, pages)
            learned, unpacking = timed(store.load_learned, pages)
            _, adding = timed(lambda: policy.add(watched.columns()), pages)
            _, loading = timed(lambda: policy.load_state_dict(learned), pages)
        print(f"a start: {reading:.1f} µs a page to read, {unpacking:.1f} for what was learned,")
        print(f"  {adding:.1f} + {loading:.1f} to hand both to the policy")
    return 0


if __name__ == "__main__":
    sys.exit(main())
