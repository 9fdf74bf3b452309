"""A collection whose writer is killed at any moment: no page of the frontier is lost.

This file is also the program of that process: `python test_collection_crash.py DATABASE`.
"""

import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import numpy as np

import pollwise.store
from pollwise.store import Store
from pollwise.store.records import (
    Batch,
    Collected,
    Discoveries,
    Discovery,
    NewPage,
    PollResult,
)
from pollwise.types import Links, Observation, Outcome, Page, PageMemory

KILLS = 6
FETCHED, FOUND = 3, 5
"""Pages that each batch fetches, and pages that each of them leads to for the first time."""


def batch(number: int) -> Batch:
    """The batch of this number (from 0): it fetches the next pages, which lead to new ones."""
    fetched = range(number * FETCHED, (number + 1) * FETCHED)
    next_id = 1 + fetched.start * FOUND
    new = range(next_id, next_id + FETCHED * FOUND)
    return Batch(
        polls=tuple(
            PollResult(Observation(page_id, float(number), Outcome.CHANGED), PageMemory())
            for page_id in fetched
        ),
        states={"number": str(number + 1).encode()},
        discovered=(
            Discoveries(
                new_pages=tuple(
                    Discovery(Page(page_id, f"https://a.example/{page_id}"), float(number), depth=1)
                    for page_id in new
                )
            ),
            *(collected(page_id, number) for page_id in fetched),
            Discoveries(
                rescored={fetched.start - 1: relevance_of(fetched.start - 1) / 2} if number else {}
            ),
        ),
    )


def collected(page_id: int, number: int) -> Discoveries:
    targets = np.arange(1 + page_id * FOUND, 1 + (page_id + 1) * FOUND)
    links = Links(
        targets,
        tuple(f"to {target}" for target in targets),
        ("body/a",) * FOUND,
        tuple(f"beside {target}" for target in targets),
    )
    text = f"page{page_id} batch{number} " + np.random.default_rng(page_id).bytes(2000).hex()
    content = Collected(page_id, relevance_of(page_id), f"{page_id}", text)
    return Discoveries(collected=content, links=links)


def relevance_of(page_id: int) -> float:
    return (page_id % 10) / 10


def assert_whole(path: Path) -> int:
    """All tables tell of the batches up to one number, which is the answer, and of no other."""
    with Store.open(path) as store:
        number = int(store.state("number") or b"0")
        discovered = [each for n in range(number) for each in batch(n).discovered]
        fetched = [each for each in discovered if each.collected is not None]
        rescored = {k: v for each in discovered for k, v in each.rescored.items()}
        history = list(store.history())
        assert [page.page_id for page in history] == [page.collected.page_id for page in fetched]
        for page, expected in zip(history, fetched, strict=True):
            assert expected.links is not None
            relevance = expected.collected.relevance
            assert page.relevance == rescored.get(page.page_id, relevance)
            assert page.links.targets.tolist() == expected.links.targets.tolist()
            assert page.links.anchors == expected.links.anchors
            assert page.links.around == expected.links.around
        linked = {target for page in history for target in page.links.targets.tolist()}
        assert {record.page.id for record in store.pages()} == linked | {0}
        for page in history[-3 * FETCHED :]:
            [hit] = store.search(f"page{page.page_id}")
            assert hit.page_id == page.page_id
        assert store.search(f"batch{number}") == []
    with closing(sqlite3.connect(path)) as connection, connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        connection.execute("INSERT INTO full_text (full_text) VALUES ('integrity-check')")
    return number


def test_a_killed_writer_loses_no_page_of_the_frontier(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    path = tmp_path / "pollwise.db"
    with Store.open(path) as store:
        store.add_pages([NewPage("https://a.example/0")], now=0.0)
    number = 0
    for _ in range(KILLS):
        acknowledged = kill_after(start(path), int(rng.integers(1, 30)), rng.uniform(0, 0.01))
        before, number = number, assert_whole(path)
        assert acknowledged <= number - before <= acknowledged + 1
    assert number > 40


def start(path: Path) -> subprocess.Popen[str]:
    source = Path(pollwise.store.__file__).parents[2]
    return subprocess.Popen(
        [sys.executable, __file__, str(path)],
        env={**os.environ, "PYTHONPATH": str(source)},
        stdout=subprocess.PIPE,
        text=True,
    )


def kill_after(process: subprocess.Popen[str], lines: int, delay: float) -> int:
    """Kill a process so many lines and seconds after its start; the last number it printed."""
    assert process.stdout is not None
    with process:
        for _ in range(lines):
            process.stdout.readline()
        time.sleep(delay)
        process.kill()
        printed = process.stdout.read().split()
    return int(printed[-1]) if printed else lines


def write(path: Path) -> None:
    """Commit batches for ever, and print how many there are in this process after each."""
    with Store.open(path) as store:
        first = int(store.state("number") or b"0")
        for count in range(1, 1_000_000):
            store.commit(batch(first + count - 1))
            print(count, flush=True)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
