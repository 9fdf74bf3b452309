"""Commands that change a watch while it runs: processes of their own, a real server."""

import asyncio
import json
import os
import signal
import time
from asyncio import TaskGroup
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from pollwise.store import Requester, Store
from pollwise.store.records import Batch, PollResult
from pollwise.testing.webserver import MisbehavingServer
from pollwise.types import Observation, Outcome, PageMemory
from pollwise.web.wishes import wished_page

from ..fork_server import FORKED, PROGRAM, SOURCE

PATIENCE = 300.0
"""Seconds after which what does not happen is a failure."""

Process = asyncio.subprocess.Process


class Programs:
    """Starts `pollwise` in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.started: list[Process] = []

    async def start(self, *words: str) -> Process:
        process = await asyncio.create_subprocess_exec(
            # Nothing else starts the commands but for watch: they are to load what they need.
            *(FORKED if words[0] == "watch" else PROGRAM),
            *words,
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": SOURCE},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        self.started.append(process)
        return process

    async def run(self, *words: str) -> tuple[int, str]:
        """The exit status of a command, and what it said."""
        process = await self.start(*words)
        out, err = await asyncio.wait_for(process.communicate(), PATIENCE)
        assert process.returncode is not None
        return process.returncode, (out + err).decode()

    async def watch(self, *words: str) -> Process:
        """A watch at work."""
        process = await self.start(
            "watch", "--budget", "600/minute", "--crawl-delay", "0.1", *words
        )
        assert process.stderr is not None
        while b"watching" not in (line := await process.stderr.readline()):
            assert line, "the watch has ended"
        return process


@pytest.fixture
async def make_programs() -> AsyncIterator[Callable[[Path], Programs]]:
    made: list[Programs] = []

    def make(folder: Path) -> Programs:
        made.append(Programs(folder))
        return made[-1]

    yield make
    for process in (process for programs in made for process in programs.started):
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.fixture
def programs(make_programs, tmp_path) -> Programs:
    return make_programs(tmp_path)


@pytest.fixture
async def server() -> AsyncIterator[MisbehavingServer]:
    async with MisbehavingServer() as server:
        for path in ("/a", "/b", "/c"):
            server.set_page(path, f"<p>page {path}")
        yield server


async def until(is_so: Callable[[], bool]) -> None:
    """Wait for something."""
    async with asyncio.timeout(PATIENCE):
        while not is_so():
            await asyncio.sleep(0.02)


async def asked_for(server: MisbehavingServer, path: str) -> None:
    """Wait for the next request for a page."""
    before = server.requests[path]
    await until(lambda: server.requests[path] > before)


def polls_in(db: Path) -> int:
    with Store.open_readonly(db) as store:
        return store.totals().polls


async def test_a_watch_does_what_it_is_asked_while_it_runs(programs, server, tmp_path):
    a, b = server.url("/a"), server.url("/b")
    watch = await programs.watch(a)
    await asked_for(server, "/a")
    assert await programs.run("add", b, "--tags", "x") == (0, f"pollwise: added: {b}\n")
    await asked_for(server, "/b")
    assert await programs.run("pause", "--tag", "x") == (0, f"pollwise: paused: {b}\n")
    paused_at = server.requests["/b"]
    for _ in range(3):
        await asked_for(server, "/a")
    assert server.requests["/b"] <= paused_at + 1, "one poll was under way at most"
    status, told = await programs.run("list", "--json")
    assert status == 0
    states = {page["url"]: page["state"] for page in json.loads(told)["results"]}
    assert states == {a: "watched", b: "paused"}
    assert await programs.run("resume", b) == (0, f"pollwise: resumed: {b}\n")
    await asked_for(server, "/b")
    assert await programs.run("remove", a) == (0, f"pollwise: removed: {a}\n")
    removed_at = server.requests["/a"]
    for _ in range(3):
        await asked_for(server, "/b")
    assert server.requests["/a"] <= removed_at + 1
    status, told = await programs.run("remove", a)
    assert (status, told.count("\n")) == (2, 1)
    assert "is not watched" in told
    assert (await programs.run("budget", "500/minute"))[0] == 0
    watch.send_signal(signal.SIGTERM)
    assert await asyncio.wait_for(watch.wait(), PATIENCE) == 0
    assert await programs.run("budget") == (0, "500/minute\n")
    with Store.open_readonly(tmp_path / "pollwise.db") as store:
        kinds = [type(event).__name__ for event in store.events(store.runs()[-1].id)]
    assert {"Added", "Updated", "Removed", "Budgeted"} <= set(kinds)


async def test_what_was_asked_of_a_watch_that_is_killed_is_done(programs, server, tmp_path):
    a, b = server.url("/a"), server.url("/b")
    db = tmp_path / "pollwise.db"
    watch = await programs.watch("--budget", "1/hour", a)
    await until(lambda: polls_in(db) == 1)  # it writes no more: it must not stop with the lock
    watch.send_signal(signal.SIGSTOP)  # it does not answer any more
    adding = await programs.start("add", b)
    with Requester.open(db) as requester:
        await until(lambda: len(requester.waiting_requests()) == 1)
    assert adding.returncode is None
    watch.kill()
    _, told = await asyncio.wait_for(adding.communicate(), PATIENCE)
    assert (adding.returncode, told.decode()) == (0, f"pollwise: added: {b}\n")
    again = await programs.watch()
    await asked_for(server, "/b")
    again.kill()


async def test_two_commands_at_once_are_both_done(programs, server, tmp_path):
    urls = [server.url(f"/{name}") for name in "abc"]
    answers = await asyncio.gather(*(programs.run("add", url) for url in urls))
    assert [status for status, _ in answers] == [0, 0, 0]
    with Store.open_readonly(tmp_path / "pollwise.db") as store:
        assert sorted(record.page.url for record in store.pages()) == sorted(urls)


async def test_a_list_is_followed_and_once_tells_by_its_status(programs, server, tmp_path):
    pages = tmp_path / "pages.txt"
    a, b = server.url("/a"), server.url("/b")
    pages.write_text(f"{a}\n")
    # So that starting it takes longer than saving up for a poll.
    once = ("watch", "--once", "--file", "pages.txt", "--budget", "6000/minute")
    assert (await programs.run(*once))[0] == 0
    assert server.requests["/a"] >= 1
    server.set_page("/a", "<p>another")
    status, told = await programs.run(*once)
    assert (status, "+ another" in told) == (3, True)
    watch = await programs.watch("--file", "pages.txt")
    await asked_for(server, "/a")
    pages.write_text(f"{b}\n")
    await asked_for(server, "/b")
    status, told = await programs.run("list", "--json")
    assert [page["url"] for page in json.loads(told)["results"]] == [b]
    watch.kill()


async def no_page_could_be_had(programs: Programs, server: MisbehavingServer) -> None:
    server.set_page("/robots.txt", "", status=503)
    once = ("watch", "--once", "--budget", "6000/minute", "--crawl-delay", "0", "--allow-private")
    status, told = await programs.run(*once, server.url("/a"))
    assert (status, "1 failing or gone" in told) == (4, True)
    # It rests for ten minutes; that it fails is known from the run before.
    status, told = await programs.run("watch", "--once", "--budget", "1/day")
    assert (status, "0 polls, 0 changes, 1 failing or gone" in told) == (0, True)


async def all_pages_are_gone(programs: Programs, server: MisbehavingServer) -> None:
    once = ("watch", "--once", "--budget", "6000/minute")
    status, told = await programs.run(*once, server.url("/status/404"))
    assert (status, "gone" in told) == (4, True)
    assert (await programs.run(*once, server.url("/a")))[0] == 0


async def test_once_tells_by_its_status_that_nothing_is_there(make_programs, tmp_path):
    """Side by side: the second call of each waits for most of a minute until it may try again."""
    async with MisbehavingServer() as failing, MisbehavingServer() as other, TaskGroup() as both:
        other.set_page("/a", "<p>text")
        for case, server in ((no_page_could_be_had, failing), (all_pages_are_gone, other)):
            folder = tmp_path / case.__name__
            folder.mkdir()
            both.create_task(case(make_programs(folder), server), name=case.__name__)


async def test_what_was_told_of_pages_without_a_copy_is_not_told_at_the_next_start(
    programs, server, tmp_path
):
    urls = [server.url(path) for path in ("/status/500", "/status/404", "/status/502")]
    with Store.open(tmp_path / "pollwise.db") as store:
        pages = store.add_pages([wished_page(url) for url in urls], time.time() - 1000.0)
        latest = [
            PollResult(Observation(page.id, page.id + 1.0, outcome), PageMemory(), error=error)
            for page, outcome, error in zip(
                pages,
                (Outcome.FAILED, Outcome.GONE, Outcome.FAILED),
                ("status 500", None, "status 503"),
                strict=True,
            )
        ]
        store.commit(Batch(polls=tuple(latest)))
    once = ("watch", "--once", "--budget", "6000/minute", "--crawl-delay", "0", "--allow-private")
    status, told = await programs.run(*once)
    assert (status, "3 polls, 0 changes, 3 failing or gone" in told) == (4, True)
    assert [line.split("  ")[1] for line in told.splitlines() if "  " in line] == [
        "failed (status 502)"
    ]
    assert "first copies" not in told


async def test_once_tells_by_its_status_that_a_page_is_gone(programs, server):
    a, b = server.url("/a"), server.url("/b")
    once = ("watch", "--once", "--budget", "6000/minute")
    assert (await programs.run(*once, a, b))[0] == 0
    server.set_page("/a", "", status=404)
    status, told = await programs.run(*once)
    assert (status, f"{a}  (gone (404))" in told) == (3, True), told


async def test_quiet_hours_of_a_time_zone_that_is_not_known_are_said_to_be_in_utc(
    programs, server, monkeypatch
):
    monkeypatch.setenv("TZ", "Europe/Nowhere")
    status, told = await programs.run("watch", "--once", "--quiet", "00:00-00:01", server.url("/a"))
    assert (status, told.count("TZ=Europe/Nowhere is no time zone that is known")) == (0, 1), told


async def test_once_polls_first_what_was_signalled_before(programs, server):
    pages = [server.url(f"/{name}") for name in "abc"]
    once = ("watch", "--once", "--crawl-delay", "0.1")
    assert (await programs.run(*once, "--budget", "1/second", *pages))[0] == 0
    server.set_page("/c", "<p>another")
    assert (await programs.run("signal", pages[2]))[0] == 0
    status, told = await programs.run(*once, "--budget", "1/day")
    assert (status, "1 poll," in told, "+ another" in told) == (3, True, True), told


async def test_what_a_sitemap_told_one_call_is_a_signal_for_the_next(programs, server):
    sitemap, *pages = (server.url(f"/{name}") for name in ("sitemap.xml", "a", "b", "c"))
    entries = "".join(f"<url><loc>{url}</loc></url>" for url in pages[:2])
    begin = "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>"
    server.set_page("/sitemap.xml", f"{begin}{entries}</urlset>", content_type="text/xml")
    once = ("watch", "--once", "--crawl-delay", "0.1")
    assert (await programs.run(*once, "--budget", "1/second", sitemap, *pages))[0] == 0
    entries += f"<url><loc>{pages[2]}</loc></url>"
    server.set_page("/sitemap.xml", f"{begin}{entries}</urlset>", content_type="text/xml")
    server.set_page("/c", "<p>another")
    assert (await programs.run("signal", sitemap))[0] == 0
    status, told = await programs.run(*once, "--budget", "1/day")
    assert (status, "1 poll," in told, "another" in told) == (3, True, False), told
    _, told = await programs.run(*once)
    assert f"signalled: {pages[2]}" in told


async def test_who_removes_a_page_of_a_list_hears_that_it_comes_back(programs, server, tmp_path):
    a, b = server.url("/a"), server.url("/b")
    (tmp_path / "pages.txt").write_text(f"{a}\n")
    assert (await programs.run("watch", "--once", "--file", "pages.txt", b))[0] == 0
    status, told = await programs.run("remove", a, b)
    assert status == 0
    assert f"{a} comes back when a watch of its list starts, unless its line goes" in told
    assert f"{b} comes back" not in told


async def test_other_parts_of_a_page_are_no_change_of_it(programs, server, tmp_path):
    a = server.url("/a")
    server.set_page("/a", "<title>A</title><h1>top</h1><p>text")
    watch = await programs.watch(a)
    await asked_for(server, "/a")
    await asked_for(server, "/a")
    assert await programs.run("set", a, "--select", "p") == (0, f"pollwise: set: {a}\n")
    for _ in range(3):
        await asked_for(server, "/a")
    server.set_page("/a", "<title>A</title><h1>another</h1><p>text")
    for _ in range(3):
        await asked_for(server, "/a")
    watch.send_signal(signal.SIGTERM)
    assert await asyncio.wait_for(watch.wait(), PATIENCE) == 0
    with Store.open_readonly(tmp_path / "pollwise.db") as store:
        [record] = store.pages()
        assert (record.page.select, record.changes) == (("p",), 0)
        assert list(store.changes()) == []
