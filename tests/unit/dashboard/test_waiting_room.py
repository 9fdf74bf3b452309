"""The answers while the process that polls gets ready."""

import socket

import pytest

from pollwise.dashboard.waiting_room import WaitingRoom


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_socket_that_cannot_be_used_holds_nobody_up():
    listener = socket.socket()
    listener.close()
    with WaitingRoom(listener) as room:
        room.close()
