"""A first run, with nothing compiled: it fetches first copies at once, and loses none of them."""

import asyncio
import os
import re
import shutil
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import asdict
from pathlib import Path

import aiohttp
import numpy as np
import pytest

import pollwise
from pollwise.events import PolicyReady
from pollwise.kernel_folder import kernel_folder
from pollwise.live.compiling import rehearse
from pollwise.live.journal import rerun
from pollwise.relevance.topic import topic
from pollwise.settings import WatchSettings, read_settings
from pollwise.store import Store
from pollwise.testing.webserver import MisbehavingServer

from .daemons import PATIENCE
from .preparing import HANGUPS_HEEDED, prepared


@pytest.fixture
async def urls() -> AsyncIterator[list[str]]:
    async with MisbehavingServer() as server:
        for path in ("/one", "/two", "/three"):
            server.set_page(path, path)
        yield [server.url(path) for path in ("/one", "/two", "/three")]


class Watch:
    """A watch with a folder of its own for what is compiled."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    @classmethod
    async def start(cls, db: Path, folder: Path, *words: str) -> "Watch":
        program = "from pollwise.cli import main; main()"
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", program, "watch", "--verbose", "--db", str(db), *words),
            env={
                **os.environ,
                "PYTHONPATH": str(Path(pollwise.__file__).parents[1]),
                "NUMBA_CACHE_DIR": str(folder),
            },
            stderr=asyncio.subprocess.PIPE,
        )
        return cls(process)

    async def until(self, part: str) -> list[str]:
        """The lines up to the next one with this part."""
        assert self.process.stderr is not None
        lines = [""]
        while part not in lines[-1]:
            line = await asyncio.wait_for(self.process.stderr.readline(), PATIENCE)
            assert line, f"no line has {part!r}: {lines}"
            lines.append(line.decode())
        return lines

    async def end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        await asyncio.wait_for(self.process.communicate(), PATIENCE)
        assert self.process.returncode is not None
        return self.process.returncode


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
async def test_first_copies_are_kept_though_it_ends_while_it_compiles(tmp_path, urls, number):
    db = tmp_path / "pollwise.db"
    watch = await Watch.start(db, tmp_path, *urls, "--budget", "20/hour")
    lines = await watch.until("first copy")
    assert any("the first run compiles" in line for line in lines)
    assert await watch.end(number) == (0 if number is signal.SIGINT else -number)
    with Store.open_readonly(db) as store:
        seen = [record.page.url for record in store.pages() if record.page.seen_at is not None]
    assert seen[:1] == urls[:1]
    # The next run goes on with the others.
    again = await Watch.start(db, tmp_path, "--budget", "20/hour")
    for url in urls:
        if url not in seen:
            await again.until(f"first copy  {url}")
    assert await again.end(signal.SIGTERM) == 0


async def test_it_learns_from_when_it_is_compiled_and_the_log_gives_the_same_again(tmp_path, urls):
    rehearse(WatchSettings(), 3)
    # As after another process has compiled, but not noted it yet.
    compiled = Path(kernel_folder())
    shutil.copytree(compiled, tmp_path / compiled.name)
    for note in (tmp_path / compiled.name).glob("compiled-for-*"):
        note.unlink()
    db = tmp_path / "pollwise.db"
    watch = await Watch.start(db, tmp_path, *urls, "--budget", "2/second")
    await watch.until("compiled: learning starts")
    with Store.open_readonly(db) as store:
        before = sum(record.polls for record in store.pages())
    while True:
        await asyncio.sleep(0.1)
        with Store.open_readonly(db) as store:
            if sum(record.polls for record in store.pages()) > before + 2:
                break
    assert await watch.end(signal.SIGTERM) == 0
    with Store.open_readonly(db) as store:
        run = store.runs()[-1]
        settings = read_settings(run.settings)
        events = list(store.events(run.id))
        scheduler = settings.scheduler(len(urls))
        rerun(scheduler, store.initial_state(run.id), events)
        learned = store.load_learned()
    assert sum(isinstance(event, PolicyReady) for event in events) == 1
    assert learned is not None
    assert learned["page_ids"].tolist() == [0, 1, 2]
    again = scheduler.policy.state_dict([0, 1, 2])
    for name in learned:
        if name.startswith("page"):
            np.testing.assert_array_equal(learned[name], again[name])


async def test_what_was_learned_waits_while_a_new_version_compiles(tmp_path, urls):
    db, folder = tmp_path / "pollwise.db", tmp_path / "kernels"
    rehearse(WatchSettings(), 3)
    shutil.copytree(kernel_folder(), folder / Path(kernel_folder()).name)
    watch = await Watch.start(db, folder, *urls[:2], "--budget", "2/second")
    await watch.until("unchanged")
    assert await watch.end(signal.SIGTERM) == 0
    with Store.open_readonly(db) as store:
        before = {record.page.url: record.polls for record in store.pages()}
        learned = store.load_learned()
    assert learned is not None

    nothing_compiled = tmp_path / "empty"
    nothing_compiled.mkdir()
    again = await Watch.start(db, nothing_compiled, urls[2], "--budget", "2/second")
    lines = await again.until(f"first copy  {urls[2]}")
    assert any("learning goes on after it" in line for line in lines)
    assert not any("compiled:" in line for line in lines)
    assert await again.end(signal.SIGTERM) == 0
    with Store.open_readonly(db) as store:
        after = {record.page.url: record.polls for record in store.pages()}
        kept = store.load_learned()
        run = store.runs()[-1]
        assert store.initial_state(run.id) is not None
    assert kept is not None
    assert after == before | {urls[2]: 1}
    for name in learned:
        np.testing.assert_array_equal(kept[name], learned[name])


async def test_a_collection_that_compiles_says_so_to_who_asks(tmp_path: Path) -> None:
    db = tmp_path / "sea.db"
    with Store.open(db) as store:
        store.start_run(0.0, {"topic": asdict(topic("whales"))}, None)
    process = await asyncio.create_subprocess_exec(
        *prepared(HANGUPS_HEEDED),
        *(sys.executable, "-c", "from pollwise.cli import main; main()"),
        *("serve", "--db", str(db), "--port", "0"),
        env={
            **os.environ,
            "PYTHONPATH": str(Path(pollwise.__file__).parents[1]),
            "NUMBA_CACHE_DIR": str(tmp_path / "kernels"),
        },
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        assert process.stderr is not None
        told = b""
        while not (found := re.search(rb"open (http://\S+)", told)):
            told = await asyncio.wait_for(process.stderr.readline(), PATIENCE)
            assert told, "it ended"
        async with (
            aiohttp.ClientSession(headers={"Accept": "text/html"}) as session,
            session.get(found[1].decode()) as answer,
        ):
            assert (answer.status, answer.headers["Retry-After"]) == (503, "2")
            assert "it compiles, this takes about half a minute" in await answer.text()
        process.send_signal(signal.SIGHUP)  # it waits for the run
        while b"restart it" not in told:
            told = await asyncio.wait_for(process.stderr.readline(), PATIENCE)
            assert told, "it ended"
    finally:
        process.kill()
        await process.communicate()
