"""The answers while the process that polls gets ready."""

import resource
import socket
import threading
import time
from contextlib import ExitStack, suppress

import pytest

from pollwise.dashboard import waiting_room
from pollwise.dashboard.waiting_room import WaitingRoom


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_socket_that_cannot_be_used_holds_nobody_up() -> None:
    listener = socket.socket()
    listener.close()
    with WaitingRoom(listener) as room:
        room.close()


def test_nobody_is_left_waiting_when_it_closes() -> None:
    """Whoever came just then, too: an answer or none, but an end."""
    ends: list[bytes] = []
    for _ in range(30):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.setblocking(False)
            clients = [_Client(listener.getsockname(), ends) for _ in range(4)]
            with WaitingRoom(listener):
                for client in clients:
                    client.start()
                time.sleep(0.01)
        for client in clients:
            client.join()
    assert ends.count(b"HTTP/1.1 503") > 30
    assert set(ends) <= {b"HTTP/1.1 503", b""}


def test_who_is_asking_when_it_closes_gets_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting_room, "_LAST", 10.0)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        with WaitingRoom(listener) as room:
            asking = socket.create_connection(listener.getsockname(), 10)
            asking.sendall(b"GET / HTTP/1.1\r\n")
            time.sleep(0.2)  # it has been accepted
            threading.Timer(0.2, asking.sendall, [b"\r\n"]).start()
            room.close()
        with asking:
            assert asking.recv(12, socket.MSG_WAITALL) == b"HTTP/1.1 503"


def test_without_room_for_connections_it_waits_for_some():
    """And takes no more than a small part of a core."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        listener.setblocking(False)
        asking = [stack.enter_context(socket.socket()) for _ in range(3)]
        stack.enter_context(WaitingRoom(listener))
        resource.setrlimit(resource.RLIMIT_NOFILE, (asking[-1].fileno() + 1, limits[1]))
        try:
            begun = time.process_time()
            for one in asking:
                one.settimeout(10)
                one.connect(listener.getsockname())
                one.sendall(b"GET / HTTP/1.1\r\n\r\n")
            time.sleep(0.5)
            assert time.process_time() - begun < 0.25
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        for one in asking:
            assert one.recv(12, socket.MSG_WAITALL) == b"HTTP/1.1 503"


class _Client(threading.Thread):
    """Asks again and again, until nobody listens; notes how each answer began."""

    def __init__(self, address: tuple[str, int], ends: list[bytes]) -> None:
        super().__init__(daemon=True)
        self._address, self._ends = address, ends

    def run(self) -> None:
        with suppress(ConnectionRefusedError, ConnectionResetError):
            while True:
                end = b""
                with socket.create_connection(self._address, 10) as asking:
                    try:
                        asking.sendall(b"GET / HTTP/1.1\r\n\r\n")
                        end = asking.recv(12, socket.MSG_WAITALL)
                    except TimeoutError:
                        end = b"nothing"
                    except ConnectionError:
                        pass
                self._ends.append(end)
