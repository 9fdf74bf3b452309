"""A watch as a process of its own that listens: to programs, and to the hub of a feed."""

import asyncio
import hmac
import json
import os
import socket
from pathlib import Path

import aiohttp
from aiohttp import web

from pollwise.events import Signalled
from pollwise.store import Store

from ..fork_server import FORKED, SOURCE
from .telling import but_for_slowness

TOKEN = "0123456789abcdefXYZ"
PATIENCE = 300.0


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def signals_in(db: Path) -> int:
    with Store.open_readonly(db) as store:
        [run] = store.runs()
        return sum(isinstance(event, Signalled) for event in store.events(run.id))


async def run(folder: Path, *words: str) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        *FORKED,
        *words,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": SOURCE, "COLUMNS": "80"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    out, _ = await asyncio.wait_for(process.communicate(), PATIENCE)
    assert process.returncode is not None
    return process.returncode, but_for_slowness(out.decode())


async def test_programs_and_hubs_signal_to_a_watch_at_work(tmp_path, site):
    port, db = free_port(), tmp_path / "pollwise.db"
    asked: asyncio.Queue[dict[str, str]] = asyncio.Queue()

    async def subscribe(request: web.Request) -> web.Response:
        asked.put_nowait(dict(await request.post()))
        return web.Response(status=202)

    feed = (
        '<feed xmlns="http://www.w3.org/2005/Atom"><title>t</title><link rel="self" href="/feed"/>'
        '<link rel="hub" href="/hub"/><entry><id>1</id><title>one</title></entry></feed>'
    )
    site.says("/feed", feed, Content_Type="application/atom+xml")
    site.answers["/hub"] = subscribe  # on the feed's own host, which may be private
    (tmp_path / "pollwise.toml").write_text(
        f"""
        [watch]
        listen = "127.0.0.1:{port}"
        listen-token = {{ file = "token.txt" }}
        public-url = "http://127.0.0.1:{port}/"
        """
    )
    status, told = await run(tmp_path, "watch", site.url("/feed"), "--config", "pollwise.toml")
    assert status == 2
    assert "token.txt cannot be read" in told
    assert not db.exists()
    (tmp_path / "token.txt").write_text(TOKEN)
    watch = await asyncio.create_subprocess_exec(
        *FORKED,
        *("watch", site.url("/feed"), "--config", "pollwise.toml"),
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": SOURCE},
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(PATIENCE), aiohttp.ClientSession() as session:
            form = await asked.get()
            assert form["hub.topic"] == site.url("/feed")
            told = {
                "hub.mode": "subscribe",
                "hub.topic": form["hub.topic"],
                "hub.challenge": "abc",
                "hub.lease_seconds": "86400",
            }
            async with session.get(form["hub.callback"], params=told) as answer:
                assert (answer.status, await answer.text()) == (200, "abc")
            digest = hmac.new(form["hub.secret"].encode(), b"news", "sha256").hexdigest()
            signed = {"X-Hub-Signature": f"sha256={digest}"}
            async with session.post(form["hub.callback"], data=b"news", headers=signed) as answer:
                assert answer.status == 204
            while signals_in(db) < 1:
                await asyncio.sleep(0.05)
            async with session.post(
                f"http://127.0.0.1:{port}/signals",
                headers={"Authorization": f"Bearer {TOKEN}"},
                data={"url": site.url("/feed")},
            ) as answer:
                assert (answer.status, (await answer.json())["signalled"]) == (202, 1)
            while signals_in(db) < 2:
                await asyncio.sleep(0.05)
            status, told = await run(tmp_path, "status", "--json")
            assert status == 0
            shown = json.loads(told)
            assert (shown["with_hub"], shown["subscribed"], shown["hub_error"]) == (1, 1, None)
            assert TOKEN.encode() not in db.read_bytes()
            watch.terminate()
            _, err = await watch.communicate()
            assert watch.returncode == 0
            assert TOKEN not in err.decode()
            assert "Traceback" not in err.decode()
    finally:
        if watch.returncode is None:
            watch.kill()
            await watch.wait()
