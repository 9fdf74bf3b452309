"""A running `pollwise watch` killed at any moment: what it had told of is there, and it goes on.

No host is asked too early then.
"""

import asyncio
import itertools
import os
import re
import signal
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, closing
from pathlib import Path

import numpy as np
import pytest

from pollwise.events import Polled
from pollwise.live.compiling import rehearse
from pollwise.live.journal import rerun
from pollwise.settings import WatchSettings, read_settings
from pollwise.store import Store
from pollwise.store.records import PageRecord, Run
from pollwise.testing.exchanges import rapid_fire
from pollwise.testing.webserver import MisbehavingServer

from ..fork_server import FORKED, SOURCE

SERVERS, PATHS = 25, ("/news", "/about")
KILLS = 20
FOUND = re.compile(r"\S+ \S+  (first copy|changed)  (?P<url>\S+)\n")
RATE = 25.0
CRAWL_DELAY = 1.0
TOLERANCE = 0.1
"""Seconds by which the servers, which all pages share, may note late when an answer ended."""
PATIENCE = 60.0
"""Seconds after which a process that says nothing is a failure."""


@pytest.fixture
async def site() -> AsyncIterator[dict[str, MisbehavingServer]]:
    """The server of each URL; all pages change all the time."""
    async with AsyncExitStack() as stack:
        servers = [await stack.enter_async_context(MisbehavingServer()) for _ in range(SERVERS)]

        async def edit() -> None:
            for edition in itertools.count():
                for server, path in itertools.product(servers, PATHS):
                    server.set_page(path, f"<p>Edition {edition} of {server.url(path)}")
                await asyncio.sleep(0.1)

        editing = asyncio.ensure_future(edit())
        stack.callback(editing.cancel)
        yield {server.url(path): server for server in servers for path in PATHS}


class Watch:
    """A process that watches, and what it has told so far."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.found: Counter[str] = Counter()
        assert process.stderr is not None
        self._lines = process.stderr

    @classmethod
    async def start(cls, db: Path, urls: Path) -> "Watch":
        words = ("watch", "--file", urls, "--db", db, "--budget", f"{RATE:g}/second", "--verbose")
        return cls(
            await asyncio.create_subprocess_exec(
                *(*FORKED, *map(str, words)),
                env={**os.environ, "PYTHONPATH": SOURCE},
                stderr=asyncio.subprocess.PIPE,
            )
        )

    async def line(self) -> str:
        line = (await asyncio.wait_for(self._lines.readline(), PATIENCE)).decode()
        if found := FOUND.fullmatch(line):
            self.found[found["url"]] += 1
        return line

    async def end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        while await self.line():
            pass
        return await self.process.wait()


class Ledger:
    """What must be in the store, by what was told."""

    def __init__(self, db: Path, site: dict[str, MisbehavingServer]) -> None:
        self.db = db
        self.site = site
        self.found: Counter[str] = Counter()
        self.polls: Counter[int] = Counter()
        self.runs: set[int] = set()

    def check(self, found: Counter[str]) -> None:
        self.found += found
        with closing(sqlite3.connect(self.db)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        with Store.open(self.db) as store:
            records = store.pages()
            assert {record.page.url for record in records} == set(self.site)
            for record in records:
                self.check_versions(store, record)
            runs = [run for run in store.runs() if run.id not in self.runs]
            for run in runs:
                self.runs.add(run.id)
                for event in store.events(run.id):
                    if isinstance(event, Polled):
                        self.polls.update(o.page_id for o in event.observations)
            assert {record.page.id: record.polls for record in records} == {
                record.page.id: self.polls[record.page.id] for record in records
            }
            if runs:
                check_learned(store, runs[-1])

    def check_versions(self, store: Store, record: PageRecord) -> None:
        url = record.page.url
        versions = store.versions(record.page.id)
        asked = self.site[url].requests[url.removeprefix(self.site[url].origin)]
        assert self.found[url] <= len(versions) <= asked
        assert all(store.body(v.body_hash).endswith(url.encode()) for v in versions)
        if versions:
            assert record.memory.body_hash == versions[-1].body_hash
            assert record.page.seen_at == versions[-1].seen_at


def check_learned(store: Store, run: Run) -> None:
    """The state of the pages is what the event log of the run leads to."""
    scheduler = read_settings(run.settings).scheduler(len(store.pages()))
    rerun(scheduler, store.initial_state(run.id), store.events(run.id))
    seen = [record.page.id for record in store.pages() if record.page.seen_at is not None]
    learned = store.load_learned() or {"page_ids": np.empty(0, np.int64)}
    assert learned["page_ids"].tolist() == seen
    again = scheduler.policy.state_dict(learned["page_ids"].tolist())
    for name in learned:
        if name.startswith("page"):
            np.testing.assert_array_equal(learned[name], again[name])


async def test_twenty_kills_at_any_moment_lose_nothing_and_are_polite(tmp_path: Path, site) -> None:
    rng = np.random.default_rng(20)
    urls, db = tmp_path / "urls.txt", tmp_path / "pollwise.db"
    urls.write_text("\n".join(site))
    ledger = Ledger(db, site)
    # Until everything is compiled, a run learns nothing from its polls.
    rehearse(WatchSettings(), len(site))
    for kill in range(KILLS):
        watch = await Watch.start(db, urls)
        if kill % 4 < 3:
            assert (await watch.line()).startswith(f"watching {len(site)} pages")
            for _ in range(rng.integers(30)):
                assert await watch.line() != ""
            await asyncio.sleep(rng.uniform(0, 0.05))
        else:
            await asyncio.sleep(rng.uniform(0, 1.5))
        assert await watch.end(signal.SIGKILL) == -signal.SIGKILL
        ledger.check(watch.found)
    assert ledger.found.total() > 100
    # Nothing is forgotten: every page is polled again, and the end is clean.
    watch = await Watch.start(db, urls)
    while set(watch.found) < set(site):
        assert await watch.line() != ""
    assert await watch.end(signal.SIGTERM) == 0
    ledger.check(watch.found)
    for server in set(site.values()):
        assert rapid_fire(server.exchanges, CRAWL_DELAY - TOLERANCE) == []
