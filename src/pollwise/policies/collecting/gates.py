"""A little exploration by host: a search for gates, where values learned so far tell nothing.

What leads to a host or to a part of one that nobody has seen is mostly an ordinary page: a list of
libraries, a page about related projects. No value points there. So a share of the requests goes to
the pages of a host in the order in which they came to light, which is breadth first; the hosts are
drawn, by turns of chance all alike, or as often as relevant pages were found on them, since what is
about the topic links to what is about it (B. D. Davison: Topical locality in the Web, SIGIR 2000).
"""

from collections import defaultdict, deque

import numpy as np

from pollwise.policies.collecting.known_web import FRINGE, Web

__all__ = ["GateSearch"]

_SHARE = 0.15
"""Of the requests for new pages."""
_RELEVANT_HOSTS = 0.5
"""The share of these that goes to hosts by the relevant pages on them."""
_BEGIN = 20
"""Fetches before it begins."""


class GateSearch:
    """Names the page to be fetched next for the sake of where it may lead, or none.

    `generator` draws when it does, and the hosts.
    """

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator
        self._waiting: dict[int, deque[int]] = defaultdict(deque)
        self._hosts: list[int] = []
        self._relevant: list[int] = []
        self._share = _SHARE
        self._turn: int | None = None
        self._drawn = False

    def seen(self, page_id: int, host: int) -> None:
        """A page of this host came to light."""
        if host not in self._waiting:
            self._hosts.append(host)
        self._waiting[host].append(page_id)

    def relevant(self, host: int) -> None:
        """A relevant page was found on this host."""
        self._relevant.append(host)

    def stop(self) -> None:
        """Search no more: the web is known."""
        self._share = 0.0
        self._turn = None

    def next_page(self, web: Web, fetches: int) -> int | None:
        """The page that is to be fetched next; the same one until `taken`. None: the best one."""
        if not self._drawn:
            self._drawn = True
            searches = fetches >= _BEGIN and self._generator.random() < self._share
            self._turn = self._host() if searches and self._hosts else None
        if self._turn is None or web.hosts[self._turn]["blocks"] > 0:
            return None
        waiting = self._waiting[self._turn]
        while waiting:
            if web.pages[waiting[0]]["where"] == FRINGE:
                return waiting[0]
            waiting.popleft()
        return None

    def taken(self) -> None:
        """A page was taken, this one or another: whoever is asked next draws anew."""
        self._drawn = False

    def _host(self) -> int:
        among = self._hosts
        if self._relevant and self._generator.random() < _RELEVANT_HOSTS:
            among = self._relevant
        return among[int(self._generator.integers(len(among)))]
