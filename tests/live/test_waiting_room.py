"""The waiting room answers who asks, whoever else says nothing, and closes without a word."""

import socket
from contextlib import ExitStack

import pytest

from pollwise.dashboard.waiting_room import WaitingRoom

PATIENCE = 60.0
MORE_THAN_IT_TAKES = 220


def connected(stack: ExitStack, listener: socket.socket) -> socket.socket:
    return stack.enter_context(socket.create_connection(listener.getsockname(), PATIENCE))


def test_a_crowd_that_says_nothing_keeps_nobody_out(capfd: pytest.CaptureFixture[str]) -> None:
    """It is there still when the waiting room closes."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        with WaitingRoom(listener):
            crowd = [connected(stack, listener) for _ in range(MORE_THAN_IT_TAKES)]
            assert crowd[0].recv(1) == b""  # the oldest gives way
            asking = connected(stack, listener)
            asking.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert asking.recv(12) == b"HTTP/1.1 503"
    assert capfd.readouterr().err == ""
