"""A daemon as a process, for tests: started, listened to, ended."""

import asyncio
import json
import os
import re
import signal
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp

from pollwise.live.requests import AddPages, encode_request
from pollwise.store import Requester
from pollwise.web.wishes import wished_page

from ..fork_server import FORKED, PROGRAM, SOURCE

PATIENCE = 200.0


class Daemon:
    """A daemon as a process, and what it said so far."""

    def __init__(self, folder: Path, session: aiohttp.ClientSession) -> None:
        self.folder = folder
        self.session = session
        self.said: list[str] = []
        self.address = ""
        self.process: asyncio.subprocess.Process

    async def start(self, *words: str, before: tuple[str, ...] = (), **more: Any) -> None:
        """Start it with these words, `before` what prepares it; `more` is told to asyncio."""
        self.process = await asyncio.create_subprocess_exec(
            *((*before, *PROGRAM) if before else FORKED),
            *("serve", "--port", "0", *words),
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": SOURCE},
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            **more,
        )
        self.address = re.findall(r"http://[0-9.:]+", await self.hears("open http://"))[0]
        async with asyncio.timeout(PATIENCE):
            while await self.status("/healthz") != 200:
                await asyncio.sleep(0.05)

    async def hears(self, part: str) -> str:
        """Wait for a line that has this part."""
        assert self.process.stderr is not None
        async with asyncio.timeout(PATIENCE):
            while True:
                line = (await self.process.stderr.readline()).decode()
                self.said.append(line)
                if part in line:
                    return line
                assert line, f"it ended without {part!r}: {self.said}"

    async def status(self, path: str) -> int | None:
        """The status of an answer; None: there is none."""
        with suppress(aiohttp.ClientError, TimeoutError):
            async with self.session.get(self.address + path) as answer:
                return answer.status
        return None

    async def end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        _, rest = await asyncio.wait_for(self.process.communicate(), 30)
        self.said.append(rest.decode())
        assert self.process.returncode is not None
        return self.process.returncode

    def add(self, url: str) -> None:
        with Requester.open(self.folder / "pollwise.db") as requester:
            requester.put_request(encode_request(AddPages((wished_page(url),))), time.time())

    async def figures(self) -> AsyncIterator[dict[str, Any]]:
        """The figures of the run, as they come by events."""
        async with self.session.get(f"{self.address}/events") as answer:
            kind = ""
            async for line in answer.content:
                name, _, value = line.decode().strip().partition(": ")
                if name == "event":
                    kind = value
                elif name == "data" and kind == "figures" and value != "null":
                    yield json.loads(value)


def answering(parent: int) -> list[int]:
    """The processes that answer beside this one."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, IndexError):
            words = (folder / "cmdline").read_bytes().split(b"\0")
            its_parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
            if b"pollwise.dashboard.process" in words and int(its_parent) == parent:
                found.append(int(folder.name))
    return found
