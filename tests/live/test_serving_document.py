"""What docs/serving.md shows is run: its commands, requests, paths and configuration."""

import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest
import requests
import yaml
from tests.unit.insight.a_watch import make_watch

from ..fork_server import PROGRAM
from .answering import answering_for
from .daemons import PATIENCE, Daemon

DOCUMENT = (Path(__file__).parents[2] / "docs/serving.md").read_text()
ADDRESS = "127.0.0.1:8900"
"""Where the document says that it answers."""
CURLS = re.findall(r"^\$ (curl .+)$", DOCUMENT, re.MULTILINE)
PATHS = re.findall(r"`GET (/[^`]+)`", DOCUMENT)


def block(kind: str) -> str:
    """The one block of this kind."""
    [found] = re.findall(rf"^```{kind}\n(.+?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL)
    return str(found)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a small watch is served."""
    db = tmp_path_factory.mktemp("served") / "x.db"
    make_watch(db, time.time())
    with answering_for(db) as address:
        yield address.removeprefix("http://")


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_requests_are_answered_in_their_order(served: str) -> None:
    assert len(CURLS) >= 5
    for line in CURLS:
        assert ADDRESS in line
        words = shlex.split(line.replace(ADDRESS, served))
        done = subprocess.run(
            [*words, "--noproxy", "*", "--write-out", "\n%{http_code}"],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert done.stdout.endswith("\n200"), (line, done)


def test_the_paths_are_there(served: str) -> None:
    assert {"/api/openapi.json", "/events", "/metrics", "/feed.atom"} <= set(PATHS)
    for path in PATHS:
        with requests.get(f"http://{served}{path}", stream=True, timeout=PATIENCE) as answer:
            assert answer.status_code == 200, path
    feed = DOCUMENT.partition("## The feed")[2]
    for query in re.findall(r"`(\?[^`]+)`", feed):
        assert requests.get(f"http://{served}/feed.atom{query}", timeout=PATIENCE).ok, query


def test_all_operations_are_named(served: str) -> None:
    described = requests.get(f"http://{served}/api/openapi.json", timeout=PATIENCE).json()
    told = DOCUMENT.partition("## The API")[2].partition("## Events")[0]
    for path in described["paths"]:
        for word in path.removeprefix("/api/").replace("{page}", "17").split("/{")[0].split("/"):
            assert re.search(rf"\b{word}\b", told), path
    [named] = re.findall(r"There are (.+?)\s+besides", told, re.DOTALL)
    for name in re.findall(r"`([^`]+)`", named):
        assert f"/api/{name}" in described["paths"], name


def test_the_statuses_are_those_of_the_api(served: str) -> None:
    described = requests.get(f"http://{served}/api/openapi.json", timeout=PATIENCE).json()
    possible = {
        status
        for path in described["paths"].values()
        for operation in path.values()
        for status in operation["responses"]
        if int(status) >= 400
    }
    rows = re.findall(r"^\| ([0-9, ]+) \|", DOCUMENT, re.MULTILINE)
    assert {status for row in rows for status in row.split(", ")} == possible


def test_the_configuration_of_prometheus_is_about_what_is_served() -> None:
    [job] = yaml.safe_load(block("yaml"))["scrape_configs"]
    assert job["static_configs"] == [{"targets": [ADDRESS]}]
    assert f"http://{ADDRESS}" in DOCUMENT


async def test_the_command_serves(tmp_path: Path) -> None:
    program, command, *words = shlex.split(block("sh"))
    assert (program, command) == ("pollwise", "serve")
    timeout = aiohttp.ClientTimeout(total=PATIENCE)
    async with aiohttp.ClientSession(timeout=timeout) as session:
        daemon = Daemon(tmp_path, session)
        await daemon.start(*words)
        try:
            assert await daemon.status("/healthz") == 200
        finally:
            daemon.process.terminate()
            await daemon.process.communicate()
    assert daemon.process.returncode == 0


def test_the_options_are_there() -> None:
    told = subprocess.run(
        [*PROGRAM, "serve", "--help"], capture_output=True, text=True, timeout=PATIENCE, check=True
    ).stdout
    for option in set(re.findall(r"`(--[a-z-]+)", DOCUMENT)) - {"--json"}:
        assert option in told, option
