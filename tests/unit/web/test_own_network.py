"""Failures of this machine's network, told from those of hosts."""

import errno
import socket
from unittest.mock import Mock

import aiohttp
import pytest

from pollwise.web.own_network import OwnNetwork


def not_connected(host: str, why: OSError) -> aiohttp.ClientConnectorError:
    return aiohttp.ClientConnectorError(Mock(host=host), why)


@pytest.mark.parametrize(
    ("why", "is_of_machine"),
    [
        (socket.gaierror(socket.EAI_AGAIN, "why"), True),
        (socket.gaierror(socket.EAI_NONAME, "why"), False),
        (OSError(errno.ENETUNREACH, "why"), True),
        (OSError(errno.ENETDOWN, "why"), True),
        (OSError(errno.EHOSTUNREACH, "why"), False),
        (OSError(errno.ECONNREFUSED, "why"), False),
    ],
)
def test_it_is_down_if_several_hosts_and_no_other_tell_so(why, is_of_machine):
    network = OwnNetwork()
    told = [network.is_down(not_connected(host, why)) for host in "aaba"]
    assert told == [False, False, is_of_machine, is_of_machine]
    network.connected("c.example")
    assert not network.is_down(not_connected("a", why))


def test_answers_over_kept_connections_tell_nothing_of_names_that_cannot_be_looked_up():
    network = OwnNetwork()
    why = socket.gaierror(socket.EAI_AGAIN, "why")
    for _ in range(2):
        assert [network.is_down(not_connected(host, why)) for host in "ab"][1]
        network.answered()
        network.connected("192.0.2.1")
        network.connected("2001:db8::1")
    assert network.is_down(not_connected("a", why))


def test_names_that_are_out_of_order_for_good_say_so_once():
    network = OwnNetwork()
    why = socket.gaierror(socket.EAI_AGAIN, "why")
    assert [network.is_down(not_connected(host, why)) for host in "ab"] == [False, True]
    for _ in range(3):
        network.connected("c")
        assert not any(network.is_down(not_connected(host, why)) for host in "abab")
    assert not network.is_down(not_connected("c", why))
    assert network.is_down(not_connected("d", why))
    assert network.is_down(not_connected("a", why))  # as others, too, cannot be asked
    network.connected("a")
    network.connected("b")
    assert [network.is_down(not_connected(host, why)) for host in "ab"] == [False, True]


def test_any_answer_tells_that_hosts_can_be_reached():
    network = OwnNetwork()
    why = OSError(errno.ENETUNREACH, "why")
    assert [network.is_down(not_connected(host, why)) for host in "ab"] == [False, True]
    network.answered()
    assert not network.is_down(not_connected("a", why))


def test_other_errors_do_not_tell():
    network = OwnNetwork()
    assert not any(network.is_down(error) for error in [TimeoutError(), OSError(101, "why")] * 2)
