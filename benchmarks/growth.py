"""How long a watch lets polls wait at most while it is given millions of pages.

    python benchmarks/growth.py [--pages 1000000] [--first 0] [--json]

The scheduler and the pages that a run remembers, as `watch` has them, take up 1,000 pages at a
time, 10 on each host, after the `--first` ones, which have a copy. Between two times some first
copies are made, and the scheduler's state is saved. Told is the longest CPU time of each step: no
poll begins meanwhile, nor is one answered. Python's search for garbage counts: it comes as in a
run. Network and database are left out.
"""

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from pollwise.events import Added, Command, Poll, Polled, Tick
from pollwise.live.compiling import rehearse
from pollwise.live.garbage import short_searches
from pollwise.live.progress import heeded
from pollwise.page_columns import SharedTerms, coded
from pollwise.settings import WatchSettings
from pollwise.types import Observation, Outcome, Page, PageMemory, seen_page
from pollwise.watched_pages import PackedColumns, Texts, Watched, WatchedPages, WatchedPart

ADDED = 1_000
"""Pages that are taken up at a time."""
AT_START = 10_000
PAGES_A_HOST = 10
APART = 0.5
"""Seconds between two times."""
SETTINGS = WatchSettings(budget="40/second", first_copies="40/second")
T = TypeVar("T")


class Growth:
    """A watch that grows, and the longest CPU seconds of what it does."""

    def __init__(self) -> None:
        self.watched = WatchedPages()
        self.scheduler = SETTINGS.scheduler(ADDED)
        self.longest: dict[str, float] = {}
        self.polls = 0

    def timed(self, what: str, call: Callable[[], T]) -> T:
        begin = time.thread_time()
        given = call()
        self.longest[what] = max(self.longest.get(what, 0.0), time.thread_time() - begin)
        return given

    def step(self, first: int) -> None:
        """Take up pages from this id on, answer polls, save."""
        now = first / ADDED * APART
        begun = self.add(first, now)
        begun = self.answer(begun, now + APART / 3)
        self.answer(begun, now + 2 * APART / 3)
        self.timed("saving", self.scheduler.state)

    def add(self, first: int, now: float) -> list[Command]:
        pages = tuple(
            Page(page, f"https://{host}/{page}", host)
            for page in range(first, first + ADDED)
            for host in [f"{page // PAGES_A_HOST}.example"]
        )
        return self.timed("adding", lambda: self.handle(Added(now, pages)))

    def handle(self, added: Added) -> list[Command]:
        [event] = heeded([added], self.watched, added.now)
        return self.scheduler.handle(event)

    def answer(self, begun: list[Command], now: float) -> list[Command]:
        """Answer the polls that were begun; the commands that follow."""
        pages = [command.page_id for command in begun if isinstance(command, Poll)]
        self.polls += len(pages)
        return self.timed("answering", lambda: self.answered(pages, now))

    def answered(self, pages: list[int], now: float) -> list[Command]:
        for page_id in pages:
            own = self.watched[page_id]
            page = seen_page(own.page, now, 0)
            self.watched[page_id] = Watched(page, PageMemory('"1"'), outcome=Outcome.CHANGED)
        if not pages:
            return self.scheduler.handle(Tick(now))
        seen = tuple(Observation(page_id, now, Outcome.CHANGED) for page_id in pages)
        return self.scheduler.handle(Polled(now, seen))


def part(begin: int, end: int) -> WatchedPart:
    """The pages with these ids, as a store has them that were polled."""
    ids, nothing = range(begin, end), [None] * (end - begin)
    hosts = [f"{page // PAGES_A_HOST}.example" for page in ids]
    empty = [""] * len(ids)
    terms, kinds = coded(SharedTerms(host, host) for host in hosts), coded(empty)
    columns = PackedColumns.of(
        ids=ids,
        terms=terms.numbers.tolist(),
        weights=[1.0] * len(ids),
        seen_at=[-1.0] * len(ids),
        kinds=kinds.numbers.tolist(),
        outcomes=[Outcome.CHANGED] * len(ids),
        gone=[False] * len(ids),
        texts=Texts(
            urls=[f"https://{host}/{page}" for page, host in zip(ids, hosts, strict=True)],
            names=empty,
            etags=['"1"'] * len(ids),
            last_modified=nothing,
            body_hashes=nothing,
            text_hashes=nothing,
            earlier_hashes=empty,
            items=empty,
        ),
        noise={},
    )
    return WatchedPart([columns], terms.distinct, kinds.distinct)


def grown(pages: int, first: int) -> dict[str, float]:
    """The longest CPU seconds of each step, from the first to so many pages."""
    growth = Growth()
    for begin in range(0, first, AT_START):
        growth.watched.extend(part(begin, min(begin + AT_START, first)))
    growth.scheduler.restore(growth.watched.columns(), None)
    growth.step(first)
    growth.longest.clear()  # what is made once, at the start
    gc.set_threshold(100_000)  # as the command has it
    with short_searches():
        for begin in range(first + ADDED, pages, ADDED):
            growth.step(begin)
    return {"pages": pages, "polls": growth.polls, **growth.longest}


def main() -> int:
    parser = argparse.ArgumentParser(description=Path(__file__).name)
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    rehearse(SETTINGS, ADDED)
    found = grown(asked.pages, asked.first)
    if asked.json:
        print(json.dumps(found, indent=2))
        return 0
    print(f"{found.pop('pages'):,} pages, {found.pop('polls'):,} polls; the longest CPU times:")
    for what, seconds in found.items():
        print(f"{what}: {seconds * 1e3:.0f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
