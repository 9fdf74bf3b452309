"""What the environment of a process says of its service manager."""

import asyncio
import os
import socket
import time

import pytest

from pollwise.live.service_manager import ServiceManager


@pytest.fixture
def heard(tmp_path):
    """The environment that names a socket, and what gives the messages that wait there."""
    place = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(place)
        listening.setblocking(False)

        def messages() -> list[str]:
            found = []
            try:
                while True:
                    found.append(listening.recv(4096).decode())
            except BlockingIOError:
                return found

        yield {"NOTIFY_SOCKET": place, "WATCHDOG_USEC": "100000"}, messages


async def test_a_loop_that_hangs_gives_no_sign_of_life(heard):
    environment, messages = heard
    manager = ServiceManager.of(environment)
    assert environment == {}, "processes that are started do not hear of the manager"
    async with manager.watched():
        await asyncio.sleep(0.3)
        assert len(messages()) >= 2
        time.sleep(0.3)
        assert messages() == []
        await asyncio.sleep(0.2)
        assert messages()
    await asyncio.sleep(0.1)
    messages()
    await asyncio.sleep(0.2)
    assert messages() == []


@pytest.mark.parametrize(
    "told",
    [{"WATCHDOG_PID": str(os.getpid() + 1)}, {"WATCHDOG_USEC": "0"}, {"WATCHDOG_USEC": "-5"}],
)
async def test_a_watchdog_of_others_hears_nothing(heard, told):
    environment, messages = heard
    async with ServiceManager.of({**environment, **told}).watched():
        await asyncio.sleep(0.2)
    assert messages() == []


def test_a_status_that_stays_is_told_once(heard):
    environment, messages = heard
    manager = ServiceManager.of(environment)
    for words in ("a", "a", "b"):
        manager.status(words)
    assert messages() == ["STATUS=a", "STATUS=b"]


@pytest.mark.parametrize("address", ["", "vsock:2:1234", "/none/such"])
def test_without_a_socket_of_this_machine_nothing_happens(address):
    manager = ServiceManager.of({"NOTIFY_SOCKET": address})
    manager.ready()
    manager.stopping()


async def test_where_nobody_hears_how_it_stands_nobody_is_woken_to_tell():
    def status() -> str:
        pytest.fail("it was asked for")

    before = asyncio.all_tasks()
    async with ServiceManager.of({}).beside(status):
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == before
