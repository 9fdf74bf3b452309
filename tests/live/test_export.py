"""From a server through a watch or a collection into a file that other programs read."""

import asyncio
import gzip
import hashlib
import os
import subprocess
import sys
from base64 import b32encode
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator
from warcio.recordloader import ArcWarcRecord

from pollwise.testing.webserver import MisbehavingServer

from ..fork_server import PROGRAM, SOURCE

CHECK = (sys.executable, "-c", "from warcio.cli import main; main()", "check")
PATIENCE = 300.0
"""Seconds after which a process that does not end is a failure."""
PAGE = b"<title>Whales</title><p>whale whale whale " + b"word " * 500
SENT = {"Set-Cookie": "session=hush-hush", "X-Client-IP": "10.1.2.3", "X-Served-By": "cache-7"}

Call = Callable[..., Awaitable[None]]


@pytest.fixture
def call(tmp_path) -> Call:
    """Run `pollwise` with these words in an empty folder, until it has done what it should."""

    async def call(*words: str) -> None:
        process = await asyncio.create_subprocess_exec(
            *PROGRAM,
            *words,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": SOURCE},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        told, _ = await asyncio.wait_for(process.communicate(), PATIENCE)
        assert process.returncode == 0, told.decode()

    return call


def records(file: Path) -> list[tuple[ArcWarcRecord, bytes]]:
    """The records with their bodies, but for the first one, which tells of the file."""
    checked = subprocess.run([*CHECK, str(file)], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")
    with open(file, "rb") as opened:
        read = ArchiveIterator(opened, check_digests="raise")
        return [(record, record.content_stream().read()) for record in read][1:]


def require_answer(record: ArcWarcRecord, body: bytes) -> None:
    """That a record is the answer of the server to a request for `PAGE`, and holds no secret."""
    digest = f"sha1:{b32encode(hashlib.sha1(PAGE).digest()).decode()}"
    assert (record.rec_type, body) == ("response", PAGE)
    assert record.rec_headers.get_header("WARC-Payload-Digest") == digest
    head = record.http_headers
    assert (head.protocol, head.statusline) == ("HTTP/1.1", "200 OK")
    assert head.get_header("Content-Type") == "text/html; charset=utf-8"
    assert head.get_header("Content-Length") == str(len(PAGE))
    assert head.get_header("X-Served-By") == "cache-7"
    assert head.get_header("Set-Cookie") is head.get_header("X-Client-IP") is None


async def test_a_watch_keeps_what_the_server_said(call, tmp_path):
    async with MisbehavingServer() as server:
        coded = {**SENT, "Content-Encoding": "gzip"}
        server.set_page("/coded", gzip.compress(PAGE), headers=coded)
        server.set_page("/moved", b"", status=301, headers={"Location": "/plain"})
        server.set_page("/plain", PAGE, headers=SENT)
        pages = [server.url(path) for path in ("/coded", "/moved")]
        await call("watch", "--once", *pages, "--budget", "6000/minute")
        await call("export", "pages.warc.gz")
    found = records(tmp_path / "pages.warc.gz")
    (coded, first), (moved, second) = (one for one in found if one[0].rec_type != "revisit")
    require_answer(coded, first)
    require_answer(moved, second)
    urls = [each.rec_headers.get_header("WARC-Target-URI") for each in (coded, moved)]
    assert urls == pages
    assert coded.http_headers.get_header("X-Crawler-Content-Encoding") == "gzip"
    assert int(coded.http_headers.get_header("X-Crawler-Content-Length")) < len(PAGE)
    assert moved.http_headers.get_header("X-Crawler-Content-Encoding") is None
    assert b"hush-hush" not in (tmp_path / "pollwise.db").read_bytes()


async def test_a_collection_keeps_what_the_server_said(call, tmp_path):
    async with MisbehavingServer() as server:
        server.set_page("/", PAGE, headers=SENT)
        told = ("--topic", "whales", "--seed", server.url("/"), "--budget", "1000/second")
        await call("collect", *told, "--requests", "1", "--crawl-delay", "0.01")
        await call("export", "pages.warc.gz")
    (record, body), *later = records(tmp_path / "pages.warc.gz")
    require_answer(record, body)
    # Requests that were under way at the end may have found the page again.
    assert {again.rec_type for again, _ in later} <= {"revisit"}
