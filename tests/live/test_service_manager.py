"""What a service manager hears of runs, by a real socket."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pollwise.store import Store
from pollwise.testing.webserver import MisbehavingServer
from pollwise.web.wishes import wished_page

from ..fork_server import PROGRAM, SOURCE
from .preparing import HANGUPS_HEEDED, prepared, small_files

PATIENCE = 600.0
pytestmark = pytest.mark.timeout(1200)  # a collection compiles before it begins


class Manager:
    """A service manager's socket, and the run that it started."""

    def __init__(self, folder: Path, address: str) -> None:
        self._folder = folder
        self._address = address
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._socket.bind(f"\0{address[1:]}" if address[0] == "@" else address)
        self.heard: list[str] = []
        self.process: asyncio.subprocess.Process

    async def start(
        self, *words: str, watchdog: float = 0.0, preparations: tuple[str, ...] = ()
    ) -> None:
        before = prepared(HANGUPS_HEEDED, *preparations)
        shell = ("/bin/sh", "-c", 'export WATCHDOG_PID=$$; exec "$@"', "sh")
        self.process = await asyncio.create_subprocess_exec(
            *(*before, *shell, *PROGRAM, *words),
            cwd=self._folder,
            env={
                **os.environ,
                "PYTHONPATH": SOURCE,
                "NOTIFY_SOCKET": self._address,
                **({"WATCHDOG_USEC": str(int(watchdog * 1e6))} if watchdog else {}),
            },
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,  # without a terminal that could be hung up
        )

    async def until(self, part: str) -> str:
        """Wait for a message that has this part."""
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(PATIENCE):
            while True:
                message = (await loop.sock_recv(self._socket, 4096)).decode()
                self.heard.append(message)
                if part in message:
                    return message

    async def said(self, part: str) -> str:
        """Wait for a line of the run that has this part."""
        assert self.process.stderr is not None
        async with asyncio.timeout(PATIENCE):
            while part not in (line := (await self.process.stderr.readline()).decode()):
                assert line, f"it ended without {part!r}"
        return line

    async def close(self) -> None:
        if self.process.returncode is None:
            self.process.kill()
            await self.process.wait()
        self._socket.close()


@pytest.fixture(params=["/", "@"])
async def manager(request, tmp_path) -> AsyncIterator[Manager]:
    """With a socket that has a name in the file system, or in the abstract namespace."""
    if request.param == "@" and sys.platform != "linux":
        pytest.skip("only Linux has abstract names")
    place = str(tmp_path / "notify")
    manager = Manager(tmp_path, place if request.param == "/" else f"@{place}")
    yield manager
    await manager.close()


@pytest.fixture
async def server() -> AsyncIterator[MisbehavingServer]:
    async with MisbehavingServer() as server:
        server.set_page("/page", "<p>a page")
        yield server


async def test_it_hears_of_a_watch_from_begin_to_end(manager, server, tmp_path):
    config = tmp_path / "pollwise.toml"
    told = '[watch]\nbudget = "{budget}"\n{more}[[page]]\nurl = "{url}"\n'
    url = server.url("/page")
    config.write_text(told.format(url=url, budget="60/minute", more=""))
    await manager.start("watch", "--config", str(config), watchdog=2.0)
    await manager.until("READY=1")
    assert not any("WATCHDOG" in message for message in manager.heard[1:-1])
    status = await manager.until("STATUS=")
    assert "1 page, 3,600 an hour" in status
    for _ in range(2):
        await manager.until("WATCHDOG=1")

    config.write_text(told.format(url=url, budget="2/minute", more="timeout = 7\n"))
    manager.process.send_signal(signal.SIGHUP)
    reloading = await manager.until("RELOADING=1")
    assert int(reloading.partition("MONOTONIC_USEC=")[2]) > 0
    await manager.until("READY=1")
    assert "timeout: only after a restart" in await manager.said("read anew")
    assert "2/minute" in await manager.said("budget")
    assert "120 an hour" in await manager.until("STATUS=")

    config.write_text("nonsense")
    manager.process.send_signal(signal.SIGHUP)
    await manager.until("RELOADING=1")
    await manager.until("READY=1")
    assert "as before" in await manager.said("pollwise.toml")

    manager.process.send_signal(signal.SIGTERM)
    await manager.until("STOPPING=1")
    assert await manager.process.wait() == 0


async def test_it_hears_of_a_collection(manager, server):
    await manager.start("collect", "--topic", "page", "--seed", server.url("/page"))
    await manager.until("READY=1")
    await manager.until("STATUS=")
    manager.process.send_signal(signal.SIGHUP)
    await manager.until("RELOADING=1")
    await manager.until("READY=1")
    await manager.said("restart it")
    manager.process.send_signal(signal.SIGINT)
    await manager.until("STOPPING=1")
    assert await manager.process.wait() == 0


async def test_it_is_not_left_waiting_by_what_has_nothing_to_read_anew(manager, tmp_path):
    Store.open(tmp_path / "pollwise.db").close()
    await manager.start("serve", "--port", "0", "--no-polling")
    await manager.until("READY=1")
    manager.process.send_signal(signal.SIGHUP)
    await manager.until("RELOADING=1")
    await manager.until("READY=1")
    manager.process.send_signal(signal.SIGTERM)
    await manager.until("STOPPING=1")
    assert await manager.process.wait() == 0


async def test_it_hears_that_a_full_disk_has_stopped_polling(manager, server, tmp_path):
    server.set_page("/page", os.urandom(900_000), content_type="image/png")
    with Store.open(tmp_path / "pollwise.db") as store:
        store.add_pages([wished_page(server.url("/page"))], now=0.0)
    limits = (small_files(700_000),)
    await manager.start("serve", "--port", "0", watchdog=2.0, preparations=limits)
    await manager.until("READY=1")
    status = await manager.until("STATUS=polling has stopped, and is tried again at")
    assert "free space" in status
    for _ in range(2):
        await manager.until("WATCHDOG=1")
    manager.process.send_signal(signal.SIGHUP)
    await manager.until("RELOADING=1")
    await manager.until("READY=1")
    await manager.until("STATUS=polling has stopped")
    manager.process.send_signal(signal.SIGTERM)
    await manager.until("STOPPING=1")
    assert await manager.process.wait() == 0


async def test_a_manager_that_is_gone_is_no_trouble(manager, server):
    manager._socket.close()
    await manager.start("watch", server.url("/page"), "--once")
    assert await manager.process.wait() == 0
