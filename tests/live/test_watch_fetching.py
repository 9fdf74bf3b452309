"""What `pollwise watch` is told about fetching: sent, kept for the next run, and no secret told."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest
from aiohttp import web

from pollwise.errors import StoreError
from pollwise.events import HostFreed
from pollwise.store import Store

from ..fork_server import FORKED, SOURCE
from .proxy import Proxy

PATIENCE = 60.0
"""Seconds after which a process that does not do what it should is a failure."""


class Runs:
    """Runs `pollwise` in a folder, with a netrc file of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._started: list[asyncio.subprocess.Process] = []

    async def start(self, *words: str) -> asyncio.subprocess.Process:
        process = await asyncio.create_subprocess_exec(
            *FORKED,
            *words,
            cwd=self._folder,
            env={**os.environ, "PYTHONPATH": SOURCE, "NETRC": str(self._folder / "netrc")},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        self._started.append(process)
        return process

    async def end(self, *words: str) -> tuple[int | None, str]:
        """Exit status, and all that it wrote."""
        return await ended(await self.start(*words))

    async def kill(self) -> None:
        for process in self._started:
            if process.returncode is None:
                process.kill()
                await process.communicate()


async def ended(process: asyncio.subprocess.Process) -> tuple[int | None, str]:
    out, err = await asyncio.wait_for(process.communicate(), PATIENCE)
    return process.returncode, (out + err).decode()


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not holds():
            await asyncio.sleep(0.02)


@pytest.fixture
async def runs(tmp_path) -> AsyncIterator[Runs]:
    runs = Runs(tmp_path)
    yield runs
    await runs.kill()


async def stopped(watch: asyncio.subprocess.Process) -> str:
    watch.send_signal(signal.SIGINT)
    status, text = await ended(watch)
    assert status == 0, text
    return text


async def test_what_is_told_is_sent_is_kept_and_tells_no_secret(runs, site, tmp_path):
    site.says("/a", status=403)
    site.says("/b", "b")
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password geheim\n")
    (tmp_path / "headers").write_text(f"{site.host}: X-Token: geheim\n")
    (tmp_path / "cookies").write_text(
        "# Netscape HTTP Cookie File\n127.0.0.1\tFALSE\t/\tFALSE\t0\tsid\tgeheim\n"
    )
    words = ["--user-agent", "my-robot/2", "--header", "Accept-Language: de", "--netrc"]
    words += ["--header-file", "headers", "--cookie-file", "cookies", "--crawl-delay", "0.01"]
    said = []
    urls = [site.url("/a"), site.url("/b")]
    for given in ([*urls, *words, "--budget", "600/minute"], []):
        asked = len(site.asked)
        watch = await runs.start("watch", *given)
        await until(lambda asked=asked: len(site.asked) >= asked + 2)
        said.append(await stopped(watch))
        for request in site.asked[asked:]:
            assert request.headers["User-Agent"] == "my-robot/2"
            assert request.headers["Accept-Language"] == "de"
            assert request.headers["X-Token"] == "geheim"
            assert request.headers["Cookie"] == "sid=geheim"
            assert request.headers["Authorization"].startswith("Basic ")
    for command in (["status", "--json"], ["explain", urls[0]]):
        status, text = await runs.end(*command)
        assert status == 0, text
        said.append(text)
    stored = b"".join(file.read_bytes() for file in tmp_path.glob("pollwise.db*"))
    assert b"Accept-Language: de" in stored  # what is kept is not compressed
    for secret in (b"geheim", b"Bearer", b"Basic", b"bWU6Z2VoZWlt"):
        assert secret not in stored
        assert secret.decode() not in "".join(said)


async def test_a_file_that_is_gone_is_said_before_anything_is_asked(runs, site, tmp_path):
    status, text = await runs.end("watch", site.url("/a"), "--header-file", "missing")
    assert status == 2
    assert text.count("\n") == 1
    assert f"--header-file {tmp_path / 'missing'}: cannot be read" in text
    assert list(tmp_path.iterdir()) == []
    assert site.asked == []


async def test_without_its_proxy_no_page_fails_and_none_is_asked(runs, site, tmp_path):
    site.says("/a", "a")
    async with Proxy() as proxy:
        url = proxy.url
    watch = await runs.start("watch", site.url("/a"), "--proxy", url, "--budget", "600/minute")
    await asyncio.to_thread(wait_for_postponed, tmp_path / "pollwise.db", site.url("/a"))
    assert "postponed (the proxy cannot be reached: " in await stopped(watch)
    with Store.open_readonly(tmp_path / "pollwise.db") as store:
        record = store.find_page(site.url("/a"))
    assert (record.failures, record.outcome) == (0, None)
    assert record.postponed.why.startswith("the proxy cannot be reached: ")
    assert site.asked == []


def wait_for_postponed(db: Path, url: str) -> None:
    ends_at = time.monotonic() + PATIENCE
    while time.monotonic() < ends_at:
        time.sleep(0.05)
        with suppress(StoreError), Store.open_readonly(db) as store:
            record = store.find_page(url)
            if record is not None and record.postponed is not None:
                return
    raise AssertionError("no poll was postponed")


async def test_a_host_gets_no_more_polls_than_its_limit_in_the_next_run_too(runs, site, other_site):
    for path in ("/a", "/b"):
        site.says(path, "text")
    other_site.says("/c", "text")
    words = [site.url("/a"), site.url("/b"), other_site.url("/c"), "--budget", "600/minute"]
    words += ["--host-limit", f"{site.host}=2/day", "--crawl-delay", "0"]
    for given in (words, []):
        asked = len(other_site.asked)
        watch = await runs.start("watch", *given)
        await until(lambda asked=asked: len(other_site.asked) > asked and len(site.asked) > 1)
        await stopped(watch)
    robots, polled = site.paths  # robots.txt does not count
    assert robots == "/robots.txt"
    status, text = await runs.end("explain", site.url({"/a": "/b", "/b": "/a"}[polled]))
    assert status == 0
    assert "its limit of 2/day is used up" in " ".join(text.replace("│", " ").split())


async def test_a_poll_that_looks_for_noise_frees_its_host(runs, site, tmp_path):
    numbers = count()

    async def noisy(request: web.Request) -> web.Response:
        return web.Response(text=f"<p>Visitor {next(numbers)}", content_type="text/html")

    site.answers["/noisy"] = noisy
    site.says("/quiet", "text")
    urls = [site.url("/noisy"), site.url("/quiet")]
    watch = await runs.start("watch", *urls, "--budget", "300/minute", "--crawl-delay", "0")
    await until(lambda: site.paths.count("/noisy") >= 4)  # the last two are one look
    await stopped(watch)
    with Store.open_readonly(tmp_path / "pollwise.db") as store:
        [run] = store.runs()
        assert any(isinstance(event, HostFreed) for event in store.events(run.id))


async def test_a_limit_may_be_for_a_group_of_the_run_before(runs, site):
    site.says("/a", "text")
    watch = await runs.start("watch", site.url("/a"), "--group", f"own={site.host},other.example")
    await until(lambda: len(site.asked) > 1)
    await stopped(watch)
    status, text = await runs.end("watch", "--host-limit", f"{site.host}=2/day")
    assert status == 2
    assert f"{site.host} shares its limit with others; give that of all of them: @own=2/day" in text
    status, text = await runs.end("watch", "--host-limit", "@none=2/day")
    assert (status, text.count("\n")) == (2, 1)
    assert "there is no group none" in text
    again = await runs.start("watch", "--host-limit", "@own=2/day")
    assert again.stderr is not None
    said = [await asyncio.wait_for(again.stderr.readline(), PATIENCE) for _ in range(2)]
    assert said[0] == b"pollwise: host-limit @own=2/day, before none\n"
    assert b"watching 1 page" in said[1]
    while b"group other.example: no page is of this host" not in said[-1]:
        said.append(await asyncio.wait_for(again.stderr.readline(), PATIENCE))
        assert said[-1]
