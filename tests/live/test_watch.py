"""`pollwise watch` as a user meets it: a process of its own, real servers, a real database."""

import asyncio
import json
import os
import signal
import sqlite3
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, closing
from pathlib import Path

import numpy as np
import pytest

from pollwise.insight.status import read_status
from pollwise.store import Store
from pollwise.store.records import Batch, PollResult
from pollwise.testing.webserver import MisbehavingServer
from pollwise.types import Observation, Outcome, PageMemory, StateDict, Version
from pollwise.web.wishes import wished_page

from ..fork_server import FORKED, PROGRAM, SOURCE
from .preparing import prepared, small_files
from .telling import but_for_slowness

FULL_DISK = prepared(small_files(700_000))
NOT_SET_YET = (
    sys.executable,
    "-c",
    "import time; told = time.time; begun_at = told()\n"
    "time.time = lambda: told() if told() > begun_at + 5.0 else 10.0\n" + PROGRAM[-1],
)
"""The command on a machine without a battery for its clock, which is set after a while."""
FAST = ("--budget", "600/minute", "--verbose")
PATIENCE = 60.0
"""Seconds after which a process that says nothing is a failure."""


class Process:
    """A running `pollwise`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.lines: list[str] = []
        """What it has written to stderr, as far as it was read."""

    async def until(self, part: str) -> str:
        """Wait for a line that has this part."""
        while part not in (line := await self._line()):
            assert line, f"no line has {part!r}: {self.lines}"
        return line

    async def stop(self, number: signal.Signals = signal.SIGINT) -> int:
        """Stop it by a signal; its exit status."""
        self._process.send_signal(number)
        return await self.end()

    async def end(self) -> int:
        """Wait for its end; its exit status."""
        while await self._line():
            pass
        return await self._process.wait()

    async def _line(self) -> str:
        assert self._process.stderr is not None
        line = (await asyncio.wait_for(self._process.stderr.readline(), PATIENCE)).decode()
        if line:
            self.lines.append(line.rstrip("\n"))
        return line


Start = Callable[..., Awaitable[Process]]


@pytest.fixture
async def start(tmp_path) -> AsyncIterator[Start]:
    """Start `pollwise` with these words in an empty folder, perhaps prepared first."""
    started: list[asyncio.subprocess.Process] = []

    async def start(*words: str, before: tuple[str, ...] = ()) -> Process:
        process = await asyncio.create_subprocess_exec(
            *(*((*before, *PROGRAM) if before else FORKED), *words),
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": SOURCE},
            stderr=asyncio.subprocess.PIPE,
        )
        started.append(process)
        return Process(process)

    yield start
    for process in started:
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.fixture
async def server() -> AsyncIterator[MisbehavingServer]:
    async with MisbehavingServer() as server:
        yield server


@pytest.fixture
def db(tmp_path) -> Path:
    return tmp_path / "pollwise.db"


def news(lines: list[str]) -> list[str]:
    """The lines that begin with a time, without it, but for polls that found nothing new."""
    told = [line.split("  ", 1)[1] for line in lines if line[:2] == "20"]
    return [line for line in told if not line.startswith("unchanged")]


async def test_a_host_that_cannot_take_the_budget_is_told(start, server, db):
    watch = await start(
        *("watch", server.url("/slow-headers?seconds=0.3"), "--budget", "7200/hour"),
        *("--at-least", "1/second", "--verbose"),
    )
    told = await watch.until("can take")
    assert "3,600 polls an hour (a pause of 1 s): 50 % of the budget of 7200/hour; a larger" in told
    for _ in range(3):
        await watch.until("changed  http")
    assert await watch.stop() == 0
    assert sum("can take" in line for line in watch.lines) == 1
    short = read_status(db).shortfall
    assert short is not None
    assert short.hosts[0].answers_in == pytest.approx(0.3, abs=0.2)
    assert short.share == pytest.approx(0.5 / (1.0 + short.hosts[0].answers_in))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_it_tells_changes_until_it_is_stopped_and_goes_on_later(start, server, db, number):
    url = server.url("/page")
    server.set_page("/page", "one", etag='"1"')
    watch = await start("watch", url, *FAST, "--objective", "freshness")
    assert "watching 1 page at 600/minute" in await watch.until("watching")
    await watch.until("first copy")
    server.set_page("/page", "two", etag='"2"')
    await watch.until("  changed  ")
    assert await watch.stop(number) == 0
    assert news(watch.lines) == [f"first copy  {url}", f"changed  {url}"]
    assert watch.lines[-1].startswith("stopped: ")
    with Store.open_readonly(db) as store:
        polls = store.pages()[0].polls
    # The second run knows the page and its copy.
    again = await start("watch", *FAST)
    await again.until("watching 1 page")
    asked = server.requests["/page"]
    while server.requests["/page"] == asked:
        await asyncio.sleep(0.01)
    assert server.last_headers["/page"]["If-None-Match"] == '"2"'
    server.set_page("/page", "three", etag='"3"')
    await again.until("  changed  ")
    assert await again.stop(number) == 0
    assert news(again.lines) == [f"changed  {url}"]
    with Store.open_readonly(db) as store:
        [record] = store.pages()
        assert record.polls > polls
        assert record.changes == 2
        assert len(store.versions(record.page.id)) == 3
        assert [run.settings["objective"] for run in store.runs()] == ["freshness", "freshness"]


async def test_what_was_set_stays_and_what_is_set_anew_is_told(start, server, db):
    server.set_page("/page", "one")
    watch = await start("watch", server.url("/page"), *FAST)
    await watch.until("first copy")
    assert await watch.stop() == 0
    again = await start("watch", *FAST, "--objective", "delay", "--keep", "5")
    assert "watching 1 page at 600/minute" in await again.until("watching")
    assert [line.partition("; ")[0] for line in again.lines[:2]] == [
        "pollwise: objective delay, before freshness",
        "pollwise: keep 5, before all",
    ]
    with Store.open_readonly(db) as store:
        polls = store.pages()[0].polls
        while store.pages()[0].polls == polls:
            await asyncio.sleep(0.05)
    assert await again.stop() == 0
    third = await start("watch")
    assert "watching 1 page at 600/minute" in await third.until("")
    with Store.open_readonly(db) as store:
        while len(store.runs()) < 3:
            await asyncio.sleep(0.05)
        kept = [(run.settings["objective"], run.settings["keep"]) for run in store.runs()]
    assert kept == [("freshness", "all"), ("delay", "5"), ("delay", "5")]
    assert await third.stop() == 0


async def test_bounds_of_a_list_are_kept_and_said_if_they_need_too_much(
    start, server, db, tmp_path
):
    often, seldom = server.url("/page"), server.url("/other")
    for path in ("/page", "/other"):
        server.set_page(path, "one")
    listed = tmp_path / "urls"
    listed.write_text(f"{often} at-least=1200/minute\n{seldom} at-most=1/hour\n")
    watch = await start("watch", "--file", listed, *FAST, "--at-least", "1/week")
    line = await watch.until("at-least bounds need 200% of the budget")
    assert "(1,728,000 a day of 864,000) and get 90%" in line
    assert "a budget of 1920001/day would do" in line
    await watch.until("first copy")
    await watch.until("first copy")
    assert await watch.stop(signal.SIGINT) == 0
    with Store.open_readonly(db) as store:
        intervals = [(r.page.longest_interval, r.page.shortest_interval) for r in store.pages()]
        assert intervals == [(0.05, None), (None, 3600.0)]
        assert store.runs()[-1].settings["at_least"] == "1/week"
    assert server.requests["/other"] == 1
    watch = await start("watch", often, *FAST)
    await watch.until("at-least bounds need 200% of the budget")
    listed.write_text(f"{often} at-least=\n{seldom} at-least=1200/minute weight=2\n")
    assert await watch.stop(signal.SIGINT) == 0
    watch = await start("watch", "--file", listed, *FAST)
    await watch.until(f"{often} and 1 more: weight, cost or bounds are other ones than before")
    await watch.until("at-least bounds need 200% of the budget")
    assert await watch.stop(signal.SIGINT) == 0
    with Store.open_readonly(db) as store:
        pages = [record.page for record in store.pages()]
    assert [(page.longest_interval, page.weight) for page in pages] == [(None, 1.0), (0.05, 2.0)]


async def test_meanwhile_others_may_read_but_not_watch(start, server, tmp_path):
    server.set_page("/page", "one")
    urls = [server.url(path) for path in ("/page", "/status/500", "/none")]
    (tmp_path / "urls.txt").write_text("\n".join(urls))
    watch = await start("watch", "--file", "urls.txt", *FAST)
    for trouble in ("first copy", "failed (status 500)", "gone"):
        await watch.until(trouble)
    second = await start("watch", urls[0])
    assert await second.end() == 2
    [line] = second.lines
    assert line.startswith("pollwise: ")
    assert "is in use by process" in line
    assert "beside a watch `pollwise add URL` gives it more pages" in line
    for words in (("status", "--json"), *(("explain", url, "--json") for url in urls)):
        status, out, err = await output(tmp_path, *words)
        assert (status, but_for_slowness(err)) == (0, "")
        assert isinstance(json.loads(out), dict)
    assert await watch.stop() == 0


async def test_a_clock_that_is_not_set_yet_is_waited_for(server, tmp_path):
    """Else all times would be set back to 1970, and `--keep` would drop all versions."""
    server.set_page("/page", "three")
    at = time.time() - 3600.0
    with Store.open(tmp_path / "pollwise.db") as store:
        store.add_pages([wished_page(server.url("/page"))], now=at)
        for number, text in enumerate((b"one", b"two")):
            version = Version(0, at + number, "text/html", text, f"{number:032x}")
            seen = Observation(0, at + number, Outcome.CHANGED)
            memory = PageMemory(text_hash=version.body_hash)
            store.commit(Batch(polls=(PollResult(seen, memory, version),)))
    process = await asyncio.create_subprocess_exec(
        *(*NOT_SET_YET, "watch", "--once", "--keep", "90d"),
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": SOURCE},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await asyncio.wait_for(process.communicate(), 3 * PATIENCE)
    assert b"says 1970-01-01 00:00:10 (UTC), as it is not set yet: polls wait" in said
    assert process.returncode == 3, said
    with Store.open_readonly(tmp_path / "pollwise.db") as store:
        assert store.clock_set_back() is None
        assert [version.seen_at for version in store.versions(0)][:-1] == [at, at + 1.0]
        assert store.versions(0)[-1].seen_at > at + 3600.0


async def output(folder: Path, *words: str) -> tuple[int | None, str, str]:
    """Exit status, standard output and standard error."""
    process = await asyncio.create_subprocess_exec(
        *FORKED,
        *words,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": SOURCE},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


async def test_what_an_earlier_version_learned_is_learned_anew(start, server, db):
    url = server.url("/page")
    server.set_page("/page", "one")
    watch = await start("watch", url, *FAST)
    await watch.until("first copy")
    assert await watch.stop() == 0
    with Store.open(db) as store:
        page = store.pages()[0].page.id
        old: StateDict = {"page_ids": np.array([page]), "page.guess": np.zeros((1, 3))}
        store.forget_learned()
        store.commit(Batch(learned=old | {"price": np.ones(1)}))
    again = await start("watch", *FAST)
    await again.until("watching 1 page")
    line = await again.until("learning anew")
    assert line == f"pollwise: what {db.name} has learned is of an earlier version: learning anew\n"
    server.set_page("/page", "two")
    await again.until("  changed  ")
    assert await again.stop() == 0


async def test_without_a_network_it_goes_on_and_pages_rest(start, db):
    # Nothing listens there: TCPMUX, and a name that can never be resolved (RFC 6761).
    watch = await start("watch", "http://127.0.0.1:1/a", "http://b.invalid/", *FAST)
    await watch.until("127.0.0.1:1/a")
    await watch.until("b.invalid")
    await asyncio.sleep(0.5)
    assert await watch.stop() == 0
    # Ten polls a second would be allowed; both pages rest.
    assert len(news(watch.lines)) == 2
    assert watch.lines[-1] == "stopped: 2 polls, 0 changes, 2 failing or gone"
    with Store.open_readonly(db) as store:
        assert [(record.polls, record.failures) for record in store.pages()] == [(1, 1)] * 2


async def test_a_full_disk_ends_it_in_one_line_and_damages_nothing(start, db):
    async with AsyncExitStack() as stack:
        servers = [await stack.enter_async_context(MisbehavingServer()) for _ in range(6)]
        for server in servers:
            server.set_page("/page", os.urandom(200_000), content_type="image/png")
        urls = [server.url("/page") for server in servers]
        watch = await start("watch", *urls, *FAST, before=FULL_DISK)
        assert await watch.end() == 2
        *_, stopped, complaint = watch.lines
        assert stopped.startswith("stopped: ")
        assert complaint.startswith(f"pollwise: {db}")
        assert "free space" in complaint
        assert not any("Traceback" in line for line in watch.lines)
        told = [line.removeprefix("first copy  ") for line in news(watch.lines)]
        assert 1 <= len(told) < len(urls)
        with closing(sqlite3.connect(db)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        with Store.open(db) as store:
            seen = {r.page.url for r in store.pages() if r.page.seen_at is not None}
            assert store.totals().pages == len(urls)
        assert seen == set(told)
        # With space again, it goes on.
        again = await start("watch", *FAST)
        while len(told) < len(urls):
            told.append((await again.until("first copy")).split()[-1])
        assert await again.stop() == 0
        assert set(told) == set(urls)


async def test_a_full_disk_is_noticed_though_the_next_poll_is_a_day_away(start, server):
    server.set_page("/page", os.urandom(900_000), content_type="image/png")
    watch = await start("watch", server.url("/page"), "--budget", "1/day", before=FULL_DISK)
    assert await watch.end() == 2
    assert "free space" in watch.lines[-1]


async def test_changes_are_told_on_stdout_until_nobody_reads_them(server, tmp_path):
    server.set_page("/page", "<title>News</title><p>one")
    process = await asyncio.create_subprocess_exec(
        *FORKED,
        *("watch", server.url("/page"), *FAST),
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": SOURCE},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        async with asyncio.timeout(PATIENCE):
            while b"first copy" not in await process.stderr.readline():
                pass
            server.set_page("/page", "<title>News</title><p>two")
            change = [(await process.stdout.readline()).decode() for _ in range(3)]
            assert change[0].endswith(f"  {server.url('/page')}  News\n")
            assert change[1:] == ["  - one\n", "  + two\n"]
            process.stdout._transport.close()  # type: ignore[attr-defined]
            said = (await process.stderr.read()).decode()
            assert await process.wait() == 0
            assert said.splitlines()[-1].startswith("stopped: ")
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_a_log_for_collectors_has_a_line_for_each_poll(start, server, tmp_path):
    server.set_page("/page", "one")
    watch = await start("watch", server.url("/page"), "--budget", "600/minute", "--log-json")
    await watch.until('"first_copy": true')
    await watch.until('"unchanged"')
    assert await watch.stop() == 0
    again = await start("watch", "--budget", "500/minute", "--log-json")
    await again.until('"notice": "budget 500/minute, before 600/minute')
    await again.until('"url"')
    assert await again.stop() == 0
    assert all(isinstance(json.loads(line), dict) for line in [*watch.lines, *again.lines])


async def test_what_the_last_run_left_may_be_damaged(start, server, db):
    server.set_page("/page", "one")
    watch = await start("watch", server.url("/page"), *FAST)
    await watch.until("first copy")
    assert await watch.stop() == 0
    with Store.open(db) as store:
        store.commit(Batch(scheduler='{"rate": 1}'))
    again = await start("watch")
    assert await again.end() == 2
    assert again.lines[-1] == (
        f"pollwise: {db}: what its last run left is damaged: restore a copy, or use another file"
    )
