"""`pollwise serve` as a program: it polls and answers, and both end together."""

import asyncio
import os
import resource
import signal
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import aiohttp
import pytest

from pollwise.relevance.topic import topic
from pollwise.store import Store
from pollwise.store.sqlite import file_format
from pollwise.store.sqlite.queries import migrations

from ..fork_server import FORKED, SOURCE
from .daemons import PATIENCE, Daemon, answering
from .preparing import CLOSED_INPUT, HANGUPS_HEEDED, prepared, small_files

FULL_DISK = prepared(small_files(700_000), HANGUPS_HEEDED)


@pytest.fixture
async def daemon(tmp_path) -> AsyncIterator[Daemon]:
    timeout = aiohttp.ClientTimeout(total=PATIENCE)
    async with aiohttp.ClientSession(timeout=timeout) as session:
        daemon = Daemon(tmp_path, session)
        yield daemon
        if daemon.process.returncode is None:
            daemon.process.kill()
            await daemon.process.communicate()


async def test_it_polls_and_answers_from_an_empty_database_on(daemon, site):
    site.says("/", "<p>hello")
    await daemon.start()
    assert await daemon.status("/") == 200
    daemon.add(site.url("/"))
    async with asyncio.timeout(PATIENCE):
        async for figures in daemon.figures():
            if figures["polls"]["changed"]:
                break
    assert figures["pages"] == 1
    assert site.paths.count("/") == 1
    assert await daemon.end(signal.SIGINT) == 0
    assert await daemon.status("/healthz") is None
    assert "stopped: 1 poll" in "".join(daemon.said)


async def test_it_answers_though_its_standard_input_was_closed(daemon):
    await daemon.start(before=prepared(CLOSED_INPUT))
    assert await daemon.status("/") == 200
    assert await daemon.end(signal.SIGINT) == 0
    assert "Traceback" not in "".join(daemon.said)


async def test_that_there_was_no_database_is_told_first(daemon):
    await daemon.start("--db", "typo.db")
    assert daemon.said[0] == (
        "pollwise: there was no database typo.db: this is a new one, which watches pages\n"
    )
    await daemon.end(signal.SIGINT)
    daemon.said.clear()
    await daemon.start("--db", "typo.db")
    assert "there was no database" not in "".join(daemon.said)


@pytest.mark.parametrize("settings", [{}, {"topic": asdict(topic("whales"))}])
async def test_a_database_of_an_earlier_version_is_converted(
    daemon, tmp_path, monkeypatch, settings
):
    with monkeypatch.context() as patch:
        patch.setattr(file_format, "migrations", lambda: migrations()[:-1])
        with Store.open(tmp_path / "pollwise.db") as store:
            if settings:
                store.start_run(0.0, settings, None)
    await daemon.start()
    assert "pollwise.db was converted for this version" in "".join(daemon.said)
    assert await daemon.status("/") == 200
    assert await daemon.end(signal.SIGINT) == 0
    assert list(tmp_path.glob("pollwise.before-*.db"))


async def test_what_answers_is_started_anew_when_it_is_killed(daemon, site):
    await daemon.start()
    [child] = answering(daemon.process.pid)
    os.kill(child, signal.SIGKILL)
    await daemon.hears("what answers ended (status -9)")
    async with asyncio.timeout(PATIENCE):
        while await daemon.status("/healthz") != 200:
            await asyncio.sleep(0.05)
    assert await daemon.end(signal.SIGTERM) == 0


async def test_what_answers_ends_with_what_polls(daemon):
    await daemon.start()
    [child] = answering(daemon.process.pid)
    daemon.process.kill()
    await daemon.process.communicate()
    async with asyncio.timeout(30):
        while Path(f"/proc/{child}").exists():
            await asyncio.sleep(0.05)


async def run(folder: Path, *words: str) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        *FORKED,
        *words,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": SOURCE, "COLUMNS": "200"},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    _, err = await asyncio.wait_for(process.communicate(), PATIENCE)
    assert process.returncode is not None
    return process.returncode, err.decode()


async def test_two_of_them_do_not_poll_one_database(daemon, tmp_path):
    await daemon.start()
    status, err = await run(tmp_path, "serve", "--port", "0")
    assert status == 2
    assert "in use" in err
    assert "open http" not in err
    # Answering besides is no harm.
    other = Daemon(tmp_path, daemon.session)
    await other.start("--no-polling")
    assert await other.end(signal.SIGTERM) == 0
    assert await daemon.end(signal.SIGINT) == 0


async def text(daemon: Daemon, path: str) -> str:
    page = {"Accept": "text/html"}
    async with daemon.session.get(daemon.address + path, headers=page) as answer:
        assert answer.status == 200, path
        return await answer.text()


async def test_a_full_disk_stops_polling_and_is_told_on_every_page(daemon, site):
    for number in range(6):
        site.says(f"/{number}", os.urandom(200_000), Content_Type="image/png")
    await daemon.start(before=FULL_DISK, start_new_session=True)
    [child] = answering(daemon.process.pid)
    for number in range(6):
        daemon.add(site.url(f"/{number}"))
    line = await daemon.hears("polling has stopped, and is tried again at")
    assert "free space" in line
    async with asyncio.timeout(PATIENCE):
        while "Polling has stopped: " not in await text(daemon, "/"):
            await asyncio.sleep(0.05)
    for path in ("/pages", "/changes", "/hosts", "/settings"):
        page = await text(daemon, path)
        assert "Polling has stopped: " in page, path
        assert "free space" in page, path
    assert answering(daemon.process.pid) == [child]
    # With space again it goes on, at once if it is told to.
    room = resource.getrlimit(resource.RLIMIT_FSIZE)
    for process in (daemon.process.pid, child):
        resource.prlimit(process, resource.RLIMIT_FSIZE, room)
    daemon.process.send_signal(signal.SIGHUP)
    async with asyncio.timeout(PATIENCE):
        async for figures in daemon.figures():
            if figures["pages"] == 6 and not figures["first_copies"]:
                break
    assert "Polling has stopped: " not in await text(daemon, "/")
    assert answering(daemon.process.pid) == [child]
    assert await daemon.end(signal.SIGTERM) == 0
    assert not any("Traceback" in line for line in daemon.said)


@pytest.mark.parametrize("changed", ["in the configuration", "by a command"])
async def test_a_budget_that_was_changed_holds_when_polling_goes_on(
    daemon, site, tmp_path, changed
):
    config = tmp_path / "pollwise.toml"
    config.write_text('[watch]\nbudget = "100/hour"\n')
    site.says("/", os.urandom(900_000), Content_Type="image/png")
    words = ("--config", str(config))
    await daemon.start(*words, before=FULL_DISK, start_new_session=True)
    [child] = answering(daemon.process.pid)
    if changed == "by a command":
        assert (await run(tmp_path, "budget", "200/hour"))[0] == 0
    daemon.add(site.url("/"))
    await daemon.hears("polling has stopped")
    if changed == "in the configuration":
        config.write_text('[watch]\nbudget = "200/hour"\n')
    room = resource.getrlimit(resource.RLIMIT_FSIZE)
    for process in (daemon.process.pid, child):
        resource.prlimit(process, resource.RLIMIT_FSIZE, room)
    daemon.process.send_signal(signal.SIGHUP)
    await daemon.hears("the configuration was read anew" if changed == "by a command" else "budget")
    async with asyncio.timeout(PATIENCE):
        async for figures in daemon.figures():
            if figures["polls"]["changed"]:
                break
    assert figures["rate"] == 200 / 3600
    assert await daemon.end(signal.SIGTERM) == 0


async def test_it_ends_while_polling_waits_to_go_on(daemon, site, tmp_path):
    site.says("/", os.urandom(900_000), Content_Type="image/png")
    await daemon.start(before=FULL_DISK)
    daemon.add(site.url("/"))
    await daemon.hears("polling has stopped")
    with closing(sqlite3.connect(tmp_path / "pollwise.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        daemon.process.send_signal(signal.SIGHUP)
        await daemon.hears("lock")
        assert await daemon.end(signal.SIGTERM) == -signal.SIGTERM


async def test_it_ends_while_polling_has_stopped(daemon, site):
    site.says("/", os.urandom(900_000), Content_Type="image/png")
    await daemon.start(before=FULL_DISK)
    daemon.add(site.url("/"))
    await daemon.hears("polling has stopped")
    assert await daemon.end(signal.SIGINT) == 0
    assert await daemon.status("/healthz") is None
