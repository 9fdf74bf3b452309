"""A database server that gives no answer: a watch can be ended all the same."""

import asyncio
import os
import signal
from pathlib import Path

from aiohttp import web
from aiohttp.test_utils import TestServer

from ..fork_server import FORKED, SOURCE
from .daemons import PATIENCE
from .postgres import postgres_server


def backends(parent: int) -> list[int]:
    """The processes of a server that carry out the statements of `pollwise` sessions."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_text()
            told = (folder / "stat").read_text()
        except OSError:  # it has ended
            continue
        if int(told.rpartition(")")[2].split()[1]) == parent and "postgres: pollwise" in words:
            found.append(int(folder.name))
    return found


async def test_a_watch_can_be_ended(tmp_path: Path) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(text=f"<p>{request.path}</p>", content_type="text/html")

    app = web.Application()
    app.router.add_get("/page", answer)
    with postgres_server() as server:
        async with TestServer(app) as site:
            words = ("watch", str(site.make_url("/page")), "--budget", "10/second")
            process = await asyncio.create_subprocess_exec(
                *FORKED,
                *(*words, "--crawl-delay", "0.1", "--allow-private", "--db", server.database()),
                cwd=tmp_path,
                env={**os.environ, "PYTHONPATH": SOURCE},
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
            )
            said = ""

            async def hears(part: str) -> None:
                nonlocal said
                async with asyncio.timeout(PATIENCE):
                    while part not in said:
                        line = (await process.stderr.readline()).decode()
                        assert line, said
                        said += line

            await hears("first copies: 1 of 1")
            frozen = backends(server.process_id)
            assert frozen
            for one in frozen:
                os.kill(one, signal.SIGSTOP)
            try:
                process.send_signal(signal.SIGINT)
                await hears(
                    "the end waits for the database or a receiver of notices: another Ctrl-C does"
                    " not"
                )
                process.send_signal(signal.SIGINT)
                assert await asyncio.wait_for(process.wait(), PATIENCE) == -signal.SIGINT
            finally:
                for one in frozen:
                    os.kill(one, signal.SIGCONT)
                if process.returncode is None:
                    process.kill()
                    await process.wait()
