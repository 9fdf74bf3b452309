"""What a commit costs: 75 polls, their event, what was learned of their pages, a scheduler's state.

    .venv/bin/python benchmarks/stores.py /var/tmp/stores.db
    .venv/bin/python benchmarks/stores.py 'postgresql://me@/pages?options=-csearch_path%3Dbench'

The place must hold nothing yet. Prints milliseconds a commit, the median and the ninth decile of
300: of polls that found nothing new, and with eight new versions of 20 kB among the 75.
"""

import sys
import time

import numpy as np

from pollwise.events import Polled
from pollwise.store import Store
from pollwise.store.records import Batch, NewPage, PollResult
from pollwise.types import Observation, Outcome, PageMemory, StateDict, Version

PAGES = 20_000
POLLS = 75
COMMITS = 300
BODY = 20_000


def batch(rng: np.random.Generator, number: int, changed: int) -> Batch:
    now = 1000.0 + number
    page_ids = np.sort(rng.choice(PAGES, POLLS, replace=False))
    results = []
    for place, page_id in enumerate(page_ids.tolist()):
        body_hash = f"{page_id:064x}"
        version = None
        outcome = Outcome.UNCHANGED
        if place < changed:
            body = rng.bytes(BODY // 2).hex().encode()
            body_hash = body[:64].decode()
            version = Version(page_id, now, "text/html", body, body_hash)
            outcome = Outcome.CHANGED
        seen = Observation(page_id, now, outcome)
        memory = PageMemory(f'"{body_hash[:16]}"', "Thu, 01 Jan 1970", body_hash, body_hash)
        results.append(PollResult(seen, memory, version))
    learned: StateDict = {"page_ids": page_ids, "page.rate": rng.random((POLLS, 25))}
    return Batch(
        events=(Polled(now, tuple(result.observation for result in results)),),
        polls=tuple(results),
        learned=learned,
        scheduler="x" * 2000,
    )


def main(place: str) -> None:
    rng = np.random.default_rng(1)
    with Store.open(place) as store:
        store.add_pages([NewPage(f"https://{n}.example/") for n in range(PAGES)], now=0.0)
        store.start_run(0.0, {}, None)
        for number, changed in enumerate((0, 8)):
            seconds = []
            for turn in range(COMMITS):
                made = batch(rng, number * COMMITS + turn, changed)
                begun_at = time.perf_counter()
                store.commit(made)
                seconds.append(time.perf_counter() - begun_at)
            median, late = 1000 * np.quantile(seconds, [0.5, 0.9])
            print(
                f"{changed} new versions: {median:.1f} ms a commit, {late:.1f} in a tenth of them"
            )


if __name__ == "__main__":
    main(sys.argv[1])
