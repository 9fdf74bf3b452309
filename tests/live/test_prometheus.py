"""A real Prometheus scrapes the daemon, and its own checker finds nothing amiss."""

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import aiohttp
import pytest
from tests.unit.insight.a_watch import URLS, make_watch

from .daemons import PATIENCE, Daemon

# `bootstrap.py` puts them next to Python.
PLACES = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
PROMETHEUS, PROMTOOL = (shutil.which(name, path=PLACES) for name in ("prometheus", "promtool"))
pytestmark = pytest.mark.skipif(
    PROMETHEUS is None or PROMTOOL is None, reason="Prometheus is not installed"
)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


async def asked(session, port, query):
    """The values of a query, by the labels that matter; None: it does not answer yet."""
    url = f"http://127.0.0.1:{port}/api/v1/query"
    try:
        async with session.get(url, params={"query": query}) as answer:
            found = (await answer.json())["data"]["result"]
    except (aiohttp.ClientError, ValueError, KeyError):
        return None
    return {one["metric"].get("state", ""): float(one["value"][1]) for one in found}


async def test_it_is_scraped(tmp_path):
    assert PROMETHEUS is not None
    assert PROMTOOL is not None
    make_watch(tmp_path / "pollwise.db", time.time())
    async with aiohttp.ClientSession() as session:
        daemon = Daemon(tmp_path, session)
        scraping = None
        try:
            await daemon.start("--no-polling")
            async with session.get(f"{daemon.address}/metrics") as answer:
                metrics = await answer.read()
            checked = subprocess.run(
                [PROMTOOL, "check", "metrics"], input=metrics, capture_output=True, timeout=60
            )
            assert (checked.returncode, checked.stdout, checked.stderr) == (0, b"", b"")
            target = daemon.address.removeprefix("http://")
            (tmp_path / "prometheus.yml").write_text(
                "global: {scrape_interval: 1s}\n"
                "scrape_configs:\n"
                f"- {{job_name: pollwise, static_configs: [{{targets: ['{target}']}}]}}\n"
            )
            port = free_port()
            scraping = await asyncio.create_subprocess_exec(
                PROMETHEUS,
                *(
                    f"--config.file={tmp_path / 'prometheus.yml'}",
                    f"--storage.tsdb.path={tmp_path / 'tsdb'}",
                ),
                f"--web.listen-address=127.0.0.1:{port}",
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
            )
            async with asyncio.timeout(PATIENCE):
                while await asked(session, port, "up == 1") in (None, {}):
                    await asyncio.sleep(0.2)
                while not (pages := await asked(session, port, "pollwise_pages")):
                    await asyncio.sleep(0.2)
            assert sum(pages.values()) == len(URLS)
            assert pages["paused"] == 1.0
        finally:
            for process in (scraping, daemon.process):
                if process is not None and process.returncode is None:
                    process.kill()
                    await process.communicate()
