"""Hosts whose new pages say what others say, as calendars without end and pages of errors do."""

from collections import Counter

__all__ = ["ROUND", "HostsOfCopies"]

ROUND = 100
"""New pages of a host that are looked at together."""
_NEARLY_ALL = 90


class HostsOfCopies:
    """Finds the hosts of whose latest hundred new pages nearly all are copies, each once."""

    def __init__(self) -> None:
        self._read = Counter[str]()
        self._copies = Counter[str]()
        self._found = set[str]()

    def note(self, host: str, *, is_copy: bool) -> int | None:
        """Note a new page of a host; how many of its hundred are copies, if that is told now.

        >>> hosts = HostsOfCopies()
        >>> [told for n in range(300) if (told := hosts.note("a.example", is_copy=n % 20 > 0))]
        [95]
        """
        if host in self._found:
            return None
        self._read[host] += 1
        self._copies[host] += is_copy
        if self._read[host] < ROUND:
            return None
        copies = self._copies.pop(host)
        del self._read[host]
        if copies < _NEARLY_ALL:
            return None
        self._found.add(host)
        return copies
