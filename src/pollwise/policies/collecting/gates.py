"""A little exploration: a search for gates, where values learned so far tell nothing.

What leads to an unseen host, or an unseen part of one, is mostly an ordinary page: a list of
libraries, the contents of a manual. No value points there. So a share of the requests goes to the
pages of a host in the order in which they were discovered, that is breadth first. The host is drawn
at random, either uniformly or as often as relevant pages were found on it, since pages about the
topic link to each other (B. D. Davison: Topical locality in the Web, SIGIR 2000). The share is
greatest while values find nothing, and small while they find as much as they ever did.

Once values find next to nothing, a larger share goes to pages that are few links away from a
relevant one, through pages that are not: it tunnels to other parts of the topic (D. Bergmark,
C. Lagoze, A. Sbityakov: Focused crawls, tunneling, and digital libraries, ECDL 2002).
"""

from collections import defaultdict, deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pollwise.policies.collecting.known_web import FRINGE, HELD, KnownWeb, Web

__all__ = ["GateSearch"]

Ints = NDArray[np.int32]

_MOST, _LEAST = 0.15, 0.005
"""The greatest and the least share of pages by host in the requests for new pages."""
_MOST_NEAR = 0.25
"""The greatest share of pages near relevant ones. It falls with this power of what values lately
find less than ever:"""
_FALL = 4
_LATELY = 50.0
"""Fetches of which the mean relevance is what values find lately."""
_RELEVANT_HOSTS = 0.5
"""The share of the hosts that are drawn by the relevant pages on them."""
_NEARER = 0.5
"""Of the pages near relevant ones the share of those one link away, of the others that of those two
links away, and so on."""
_BEGIN = 20
"""Fetches before it begins."""
_LOOKED_AT = 16
"""Pages in a line that are passed over for one whose host may be asked."""


class GateSearch:
    """Names the page to fetch next for where it may lead, or none; `generator` draws both.

    It searches the pages of a host, or the pages near relevant ones.
    """

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator
        self._of_host: dict[int, deque[int]] = defaultdict(deque)
        self._hosts: list[int] = []
        self._relevant: list[int] = []
        self._near: list[deque[int]] = []
        """Pages by the links between a relevant page and them: those with one link come first."""
        self._host_share = _MOST
        self._near_share = 0.0
        self._lately = self._most_lately = 0.0
        self._stopped = False
        self._offered = -1
        self._gates: set[int] = set()
        self._turn: Sequence[deque[int]] = ()
        """Where to search for the gate that is due, the best first; empty: none is due."""
        self._drawn = False

    def seen(self, page_id: int, host: int) -> None:
        """A page of this host was discovered."""
        if self._stopped:
            return
        if host not in self._of_host:
            self._hosts.append(host)
        self._of_host[host].append(page_id)

    def fetched(self, web: Web, page_id: int, relevance: float) -> None:
        """A page was fetched for the first time."""
        if relevance > 0:
            web.pages["distance"][page_id] = 0
            self._relevant.append(int(web.pages["host"][page_id]))
        if page_id in self._gates:
            self._gates.remove(page_id)
            return
        self._lately += (relevance - self._lately) / _LATELY
        self._most_lately = max(self._most_lately, self._lately)
        if self._most_lately > 0:
            missing = 1.0 - self._lately / self._most_lately
            self._host_share = max(_MOST * missing * missing, _LEAST)
            self._near_share = _MOST_NEAR * missing**_FALL

    def judged_anew(self, known: KnownWeb, page_id: int, relevance: float) -> None:
        """A page that was fetched before has this relevance now."""
        web = known.web
        if relevance > 0 and web.pages["distance"][page_id] > 0:
            web.pages["distance"][page_id] = 0
            self._relevant.append(int(web.pages["host"][page_id]))
            self.linked(web, page_id, known.targets_of(page_id))

    def linked(self, web: Web, page_id: int, targets: Ints) -> None:
        """A page that was fetched links to these."""
        distances = web.pages["distance"]
        distance = int(distances[page_id])
        nearer = targets[distances[targets] > distance + 1]
        if len(nearer) == 0 or self._stopped:
            return
        distances[nearer] = distance + 1
        if distance == len(self._near):
            self._near.append(deque())
        self._near[distance].extend(nearer.tolist())

    def stop(self) -> None:
        """Search no more: the web is known."""
        self._stopped = True
        self._turn, self._offered = (), -1
        self._of_host.clear()
        self._near.clear()

    def next_page(self, web: Web, fetches: int) -> int | None:
        """The page that is to be fetched next; the same one until `taken`. None: the best one."""
        if not self._drawn:
            self._drawn = True
            may_search = fetches >= _BEGIN and not self._stopped
            self._turn = self._draw() if may_search else ()
        if self._offered < 0 or not _may_be_fetched(web, self._offered):
            found = (page for waiting in self._turn if (page := _next_in(web, waiting)) >= 0)
            self._offered = next(found, -1)
        return None if self._offered < 0 else self._offered

    def taken(self, page_id: int) -> None:
        """This page was taken: the next call draws anew."""
        self._drawn = False
        if page_id == self._offered:
            self._gates.add(page_id)
        self._offered = -1

    def _draw(self) -> Sequence[deque[int]]:
        """Where to search now, if at all. The two shares are less than the whole together."""
        drawn = self._generator.random()
        if drawn < self._host_share and self._hosts:
            among = self._hosts
            if self._relevant and self._generator.random() < _RELEVANT_HOSTS:
                among = self._relevant
            return (self._of_host[among[int(self._generator.integers(len(among)))]],)
        if drawn > 1.0 - self._near_share and self._near:
            first = min(int(self._generator.geometric(_NEARER)), len(self._near))
            return (*reversed(self._near[:first]), *self._near[first:])
        return ()


def _may_be_fetched(web: Web, page_id: int) -> bool:
    page = web.pages[page_id]
    return bool(page["where"] == FRINGE and web.hosts["blocks"][page["host"]] <= 0)


def _next_in(web: Web, waiting: deque[int]) -> int:
    """The first page in line that may be fetched; -1: none of the first ones.

    Of those before it the ones that were fetched are dropped, and others go to the end.
    """
    passed = 0
    while waiting and passed < _LOOKED_AT:
        page_id = waiting[0]
        if _may_be_fetched(web, page_id):
            return page_id
        waiting.popleft()
        if web.pages["where"][page_id] in (FRINGE, HELD):
            waiting.append(page_id)
            passed += 1
    return -1
