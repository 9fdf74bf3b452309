"""Runs on a real terminal, among pages whose text would control it."""

import asyncio
import os
import pty
import re
import signal
import sys
import unicodedata
from pathlib import Path

import pytest

import pollwise
from pollwise.testing.misbehaviour.pages import HOSTILE_TEXT
from pollwise.testing.webserver import MisbehavingServer

ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": str(Path(pollwise.__file__).parents[1]),
    "TERM": "xterm-256color",
    "COLUMNS": "200",
}
OWN = r"\x1b\[[0-9;?]*[A-Za-z]"
"""What rich writes itself: colours, and the movements of the live line."""


async def shown_by(folder: Path, until: str, *words: str) -> str:
    """What a command writes to a terminal until it ends; interrupted once `until` is there."""
    ours, theirs = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "pollwise", *words),
        cwd=folder,
        env=ENVIRONMENT,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    written = ""
    try:
        async with asyncio.timeout(240):  # the first run of all compiles for a minute or so
            while more := await asyncio.to_thread(read, ours):
                written += more
                if until and until in written:
                    until = ""
                    process.send_signal(signal.SIGINT)
            await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
        os.close(ours)
    return written


def read(terminal: int) -> str:
    """What comes next; empty at the end."""
    try:
        return os.read(terminal, 1 << 16).decode(errors="replace")
    except OSError:  # Linux says so that the other end is closed
        return ""


def assert_clean(shown: str) -> None:
    rest = re.sub(OWN, "", shown).replace("\r", "").replace("\n", "")
    assert not [c for c in rest if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")]
    assert "\x1b[31m\x9b" not in shown


async def test_a_collection_of_hostile_titles(tmp_path: Path) -> None:
    async with MisbehavingServer() as server:
        page = f"<title>whale {HOSTILE_TEXT} seen</title><p>whale {HOSTILE_TEXT}"
        server.set_page("/", page)
        words = ("--topic", "whale", "--seed", server.url("/"), "--requests", "1")
        shown = await shown_by(tmp_path, "", "collect", *words)
        assert re.search("whale .* seen", shown)
        assert_clean(shown)
        for command in (["status"], ["search", "whale"], ["explain", server.url("/")]):
            shown = await shown_by(tmp_path, "", *command)
            assert "whale" in shown
            assert_clean(shown)


@pytest.mark.parametrize("header", ["Location", "Content-Encoding"])
async def test_a_watch_of_a_page_with_hostile_headers(tmp_path: Path, header: str) -> None:
    hostile = "http://\x9b2J\u202e/" if header == "Location" else "\x9b2J\u202ebr"
    async with MisbehavingServer() as server:
        status = 302 if header == "Location" else 200
        server.set_page("/", "x", status=status, headers={header: hostile})
        words = (server.url("/"), "--budget", "60/minute")
        shown = await shown_by(tmp_path, "failed (", "watch", *words)
        assert "failed (" in shown
        assert_clean(shown)
