"""Whether it is the network of this machine that fails, and not a host."""

import errno
import socket

import aiohttp

__all__ = ["OwnNetwork"]

_NOT_LOOKED_UP = frozenset({socket.EAI_AGAIN})
_UNREACHABLE = frozenset({errno.ENETUNREACH, errno.ENETDOWN})
_HOSTS = 2
"""So many hosts in a row without any answer; the names of one alone may be out of order."""


class OwnNetwork:
    """Knows which hosts could not be asked since any host has answered.

    It cannot tell a machine without a network from a list of hosts that are all out of order: these
    are postponed as long as none answers.
    """

    def __init__(self) -> None:
        self._not_asked: set[str] = set()

    def answered(self) -> None:
        """Note that a host has answered."""
        self._not_asked.clear()

    def is_down(self, error: Exception) -> bool:
        """Note why a request failed; whether others would most likely fail as well."""
        if not isinstance(error, aiohttp.ClientConnectorError):
            return False
        why = error.os_error
        if why.errno not in (_NOT_LOOKED_UP if isinstance(why, socket.gaierror) else _UNREACHABLE):
            return False
        self._not_asked.add(error.host)
        return len(self._not_asked) >= _HOSTS
