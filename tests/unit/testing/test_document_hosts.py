"""Document hosts: folders on addresses of their own, with delays, and their log of exchanges."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import aiohttp
import numpy as np
import pytest

import pollwise
from pollwise.testing.document_hosts import DocumentHosts, Exchange, rapid_fire, read_exchanges


@pytest.fixture
def folders(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name / "manual").mkdir(parents=True)
        (tmp_path / name / "manual" / "page.html").write_text(f"<p>{name}")
        (tmp_path / name / "data.html.gz").write_bytes(b"\x1f\x8b")
    (tmp_path / "two" / "index.html").write_text("<p>start")
    return [tmp_path / "one", tmp_path / "two"]


def hosts(folders, **options):
    return DocumentHosts(folders, generator=np.random.default_rng(1), **options)


async def get(session, url):
    async with session.get(url, allow_redirects=False) as answer:
        return (
            answer.status,
            answer.headers.get("Content-Type"),
            await answer.text(errors="replace"),
        )


async def test_documents_lists_and_what_is_not_there(folders):
    async with hosts(folders, crawl_delay=0.5) as served, aiohttp.ClientSession() as session:
        one, two = served.urls
        assert one.startswith("http://127.0.1.1:")
        assert two.startswith("http://127.0.1.2:")
        assert await get(session, two) == (200, "text/html", "<p>start")
        assert await get(session, f"{one}manual/page.html") == (200, "text/html", "<p>one")
        status, kind, listing = await get(session, one)
        assert (status, kind) == (200, "text/html; charset=utf-8")
        assert '<a href="manual/">' in listing
        assert (await get(session, f"{one}manual"))[0] == 301
        assert (await get(session, f"{one}missing"))[0] == 404
        assert (await get(session, f"{one}%2e%2e/two/index.html"))[0] == 404
        assert (await get(session, f"{one}data.html.gz"))[1] == "application/octet-stream"
        assert "Crawl-delay: 0.5" in (await get(session, f"{one}robots.txt"))[2]
        assert [each.path for each in served.exchanges][:2] == ["/", "/manual/page.html"]


async def test_answers_take_their_time(folders):
    async with hosts(folders, latency=0.02) as served, aiohttp.ClientSession() as session:
        await asyncio.gather(*(get(session, served.urls[1]) for _ in range(4)))
        assert all(each.ended_at - each.begun_at > 0.002 for each in served.exchanges)
        assert len(rapid_fire(served.exchanges, 0.0)) == 3


def test_rapid_fire_is_counted_by_host():
    exchanges = [
        Exchange("a", "/1", 0.0, 1.0),
        Exchange("b", "/", 1.0, 5.0),
        Exchange("a", "/2", 1.5, 2.0),
        Exchange("a", "/3", 3.0, 3.5),
        Exchange("b", "/2", 4.0, 6.0),
    ]
    assert rapid_fire(exchanges, 1.0) == [
        (exchanges[0], exchanges[2]),
        (exchanges[1], exchanges[4]),
    ]
    assert rapid_fire(exchanges, 0.5) == [(exchanges[1], exchanges[4])]


def test_the_program_serves_until_its_input_ends_and_writes_the_log(folders, tmp_path):
    log = tmp_path / "exchanges.json"
    program = [sys.executable, "-m", "pollwise.testing.document_hosts", "--log", str(log)]
    with subprocess.Popen(
        [*program, *map(str, folders)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(pollwise.__file__).parents[1])},
    ) as running:
        assert running.stdout is not None
        urls = json.loads(running.stdout.readline())
        assert len(urls) == 2
        running.communicate(timeout=20)
    assert running.returncode == 0
    assert read_exchanges(log) == []
