"""A little exploration by host: a search for gates, where values learned so far tell nothing.

What leads to an unseen host, or an unseen part of one, is mostly an ordinary page: a list of
libraries, a page about related projects. No value points there. So a share of the requests goes to
the pages of a host in the order in which they were discovered, that is breadth first. The host is
drawn at random, either uniformly or as often as relevant pages were found on it, since pages about
the topic link to each other (B. D. Davison: Topical locality in the Web, SIGIR 2000). The share is
greatest while values find nothing, and small while they find as much as they ever did.
"""

from collections import defaultdict, deque

import numpy as np

from pollwise.policies.collecting.known_web import FRINGE, Web

__all__ = ["GateSearch"]

_MOST, _LEAST = 0.15, 0.005
"""The greatest and the least share of gates in the requests for new pages."""
_LATELY = 50.0
"""Fetches of which the mean relevance is what values find lately."""
_RELEVANT_HOSTS = 0.5
"""The share of these that goes to hosts by the relevant pages on them."""
_BEGIN = 20
"""Fetches before it begins."""


class GateSearch:
    """Names the page to fetch next for where it may lead, or none; `generator` draws both."""

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator
        self._waiting: dict[int, deque[int]] = defaultdict(deque)
        self._hosts: list[int] = []
        self._relevant: list[int] = []
        self._share = _MOST
        self._lately = self._most_lately = 0.0
        self._stopped = False
        self._offered = -1
        self._gates: set[int] = set()
        self._turn: int | None = None
        self._drawn = False

    def seen(self, page_id: int, host: int) -> None:
        """A page of this host was discovered."""
        if host not in self._waiting:
            self._hosts.append(host)
        self._waiting[host].append(page_id)

    def fetched(self, page_id: int, host: int, relevance: float) -> None:
        """A page of this host was fetched for the first time."""
        if relevance > 0:
            self._relevant.append(host)
        if page_id in self._gates:
            self._gates.remove(page_id)
            return
        self._lately += (relevance - self._lately) / _LATELY
        self._most_lately = max(self._most_lately, self._lately)
        if self._most_lately > 0:
            missing = 1.0 - self._lately / self._most_lately
            self._share = max(_MOST * missing * missing, _LEAST)

    def stop(self) -> None:
        """Search no more: the web is known."""
        self._stopped = True
        self._turn = None

    def next_page(self, web: Web, fetches: int) -> int | None:
        """The page that is to be fetched next; the same one until `taken`. None: the best one."""
        if not self._drawn:
            self._drawn = True
            may_search = fetches >= _BEGIN and not self._stopped
            searches = may_search and self._generator.random() < self._share
            self._turn = self._host() if searches and self._hosts else None
        if self._turn is None or web.hosts[self._turn]["blocks"] > 0:
            return None
        waiting = self._waiting[self._turn]
        while waiting:
            if web.pages[waiting[0]]["where"] == FRINGE:
                self._offered = waiting[0]
                return waiting[0]
            waiting.popleft()
        return None

    def taken(self, page_id: int) -> None:
        """This page was taken: the next call draws anew."""
        self._drawn = False
        if page_id == self._offered:
            self._gates.add(page_id)
        self._offered = -1

    def _host(self) -> int:
        among = self._hosts
        if self._relevant and self._generator.random() < _RELEVANT_HOSTS:
            among = self._relevant
        return among[int(self._generator.integers(len(among)))]
