"""A small database with something in every table, and ways to damage it."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np

from pollwise.events import Polled, Tick
from pollwise.store import Store
from pollwise.store.records import (
    Batch,
    Collected,
    Discoveries,
    Discovery,
    NewPage,
    PollResult,
)
from pollwise.types import Links, Observation, Outcome, Page, PageMemory, Version

PAGES = 12


def make_database(path: Path) -> None:
    """Make the database and close it, so that all of it is in the one file."""
    with Store.open(path) as store:
        store.add_pages(
            [
                NewPage(f"https://{n % 3}.example/page/{n}", f"{n % 3}.example")
                for n in range(PAGES)
            ],
            now=1.0,
        )
        store.start_run(2.0, {"topic": None, "budget": "1/second"}, b"the beginning " * 50)
        for number in range(1, 25):
            store.commit(_batch(number))
        store.remove_pages([PAGES - 1], now=30.0)


def _batch(number: int) -> Batch:
    page_id, at = number % PAGES, 10.0 + number
    body = b"%d " % number + np.random.default_rng(number).bytes(300)
    outcome = (Outcome.CHANGED, Outcome.UNCHANGED, Outcome.GONE, Outcome.FAILED)[number % 4]
    changed = outcome is Outcome.CHANGED
    version = Version(page_id, at, "text/html", body, body.hex()[:32]) if changed else None
    seen = Observation(page_id, at, outcome, last_changed_at=at - 1.0)
    links = Links(np.array([0, number % 5]), ("a link", "another"), ("body/a", "body/a"))
    text = f"whale number {number} " * 20
    found = Page(PAGES + number - 1, f"https://new.example/{number}", "new.example")
    return Batch(
        events=(Tick(at), Polled(at, (seen,))),
        polls=(PollResult(seen, PageMemory("etag", "then", "body", "text", ("one",)), version),),
        learned={
            "page_ids": np.array([page_id]),
            "page.rate": np.array([0.5]),
            "page.window": np.full((1, 20), number, np.float32),
            "price": np.array(1.0),
        },
        scheduler=json.dumps({"number": number}),
        discovered=(
            Discoveries(
                new_pages=(Discovery(found, at, 1),),
                collected=Collected(page_id, 0.5, f"title {number}", text, terms=b"terms"),
                links=links,
            ),
        ),
        states={"topic-filter": b"state " * 30},
    )


def damage(data: bytes, seed: int) -> bytes:
    """The file with some of its bytes, or a whole page, changed; the same for the same seed."""
    rng = np.random.default_rng(seed)
    bad = np.frombuffer(data, np.uint8).copy()
    how = rng.integers(5)
    if how == 0:  # of the file's header
        bad[rng.integers(100)] ^= 1 << rng.integers(8)
    elif how == 1:  # single bits
        for place in rng.integers(len(bad), size=rng.integers(1, 20)):
            bad[place] ^= 1 << rng.integers(8)
    elif how == 2:  # a page in place of another one
        pages = bad.reshape(-1, 4096)
        one, other = rng.integers(1, len(pages), size=2)
        pages[one] = pages[other]
    elif how == 3:  # rubbish in the middle of a page
        begin = rng.integers(100, len(bad) - 300)
        bad[begin : begin + 200] = rng.integers(256, size=200)
    else:  # heads of pages, which say what is where in them
        page = rng.integers(1, len(bad) // 4096)
        bad[4096 * page + rng.integers(60)] = rng.integers(256)
    return bad.tobytes()


def put(path: Path, statement: str, *values: object) -> None:
    """Change a row of a database behind the store's back."""
    with closing(sqlite3.connect(path)) as connection, connection:
        assert connection.execute(statement, values).rowcount
