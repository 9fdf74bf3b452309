"""Whether it is the network of this machine that fails, and not a host."""

import errno
import socket

import aiohttp
from aiohttp.helpers import is_ip_address

__all__ = ["OwnNetwork"]

_NOT_LOOKED_UP = frozenset({socket.EAI_AGAIN})
_UNREACHABLE = frozenset({errno.ENETUNREACH, errno.ENETDOWN})
_HOSTS = 2
"""So many hosts in a row without any answer; the names of one alone may be out of order."""
_MANY_HOSTS = 10_000
"""Hosts of which it is remembered that they are out of order."""


class OwnNetwork:
    """Knows which hosts could not be asked since the network was seen to be there.

    That is seen by a new connection to a host by its name, or by any answer if hosts could not be
    reached. An answer over a connection that was kept, or from an address, tells nothing of names
    that cannot be looked up.

    Hosts that could not be asked although the network was there say nothing more of it, until there
    is a connection to them. It cannot tell a machine without a network from a list of hosts that
    are all out of order: these are postponed as long as none answers.
    """

    def __init__(self) -> None:
        self._not_reached: set[str] = set()
        self._not_asked: set[str] = set()
        """Those whose names were not looked up, or that were not reached."""
        self._out_of_order: set[str] = set()
        """Those that were among them when the network was seen to be there."""

    @property
    def is_away(self) -> bool:
        """Whether several hosts could not be asked, and nothing showed since that there is one."""
        return len(self._not_asked) >= _HOSTS

    def answered(self) -> None:
        """Note that a host has answered."""
        if self._not_reached:  # hardly ever
            self._out_of_order |= self._not_reached
            self._not_asked -= self._not_reached
            self._not_reached.clear()

    def connected(self, host: str) -> None:
        """Note that there is a new connection to a host: its name, or address without brackets."""
        if is_ip_address(host):
            return
        if len(self._out_of_order) > _MANY_HOSTS:
            self._out_of_order.clear()
        self._out_of_order |= self._not_asked
        self._out_of_order.discard(host)
        self._not_asked.clear()
        self._not_reached.clear()

    def is_down(self, error: Exception) -> bool:
        """Note why a request failed; whether others would most likely fail as well."""
        if not isinstance(error, aiohttp.ClientConnectorError):
            return False
        why = error.os_error
        if why.errno not in (_NOT_LOOKED_UP if isinstance(why, socket.gaierror) else _UNREACHABLE):
            return False
        if error.host not in self._out_of_order:
            if not isinstance(why, socket.gaierror):
                self._not_reached.add(error.host)
            self._not_asked.add(error.host)
        return self.is_away
