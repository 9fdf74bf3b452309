"""The queues in memory: when each may give out URLs, and which come next.

A queue is closed until the delay since its latest answer with URLs has passed, while it is blocked,
and once it has reached its limit.
"""

import heapq
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from pollwise.frontier.places import Place

__all__ = ["Queue", "Queues", "State"]


class State:
    """What becomes of a URL; the numbers are those of the file."""

    NEW, DATED, CHOSEN, DONE = range(4)


@dataclass(slots=True, eq=False)
class Queue:
    """A queue, as far as it is kept in memory: not its URLs, but how many there are.

    `counts` are by state, those given out included; `new` are the new ones that are not given out,
    `out` all that are. `lease_end`: none of their leases ends before. `dated_at`: no dated URL is
    due before. `line`: the pages of the policy that are due and not given out. `turn` 1: a new URL
    comes before a known one next time. `client`: to whom URLs were given out last.
    """

    id: int
    place: Place
    delay: int | None = None
    blocked_until: int = 0
    served_at: float = 0.0
    most: int = 0
    counts: list[int] = field(default_factory=lambda: [0, 0, 0, 0])
    new: int = 0
    out: int = 0
    lease_end: float = math.inf
    dated_at: float = math.inf
    line: dict[int, None] = field(default_factory=dict)
    turn: int = 1
    client: str = ""
    wake_at: float = math.inf

    @property
    def active(self) -> int:
        """How many URLs are not completed."""
        return sum(self.counts) - self.counts[State.DONE]

    @property
    def size(self) -> int:
        """How many URLs there are."""
        return sum(self.counts)

    @property
    def room(self) -> float:
        """How many new URLs its limit still allows."""
        if not self.most:
            return math.inf
        fetched_or_out = self.size - self.new
        return max(self.most - fetched_or_out, 0)

    def opens_at(self, default_delay: int) -> float:
        """From when on it may give out URLs."""
        delay = default_delay if self.delay is None else self.delay
        return max(self.served_at + delay, self.blocked_until)

    def may_have_at(self, default_delay: int) -> float:
        """From when on it may have URLs to give out; infinite: not by time alone."""
        opens = self.opens_at(default_delay)
        if self.line or (self.new and self.room > 0):
            return opens
        return max(opens, min(self.dated_at, self.lease_end))


_Waiting = tuple[float, int, Queue]


class Queues:
    """All queues by their places, and by when they may have something to give out."""

    def __init__(self) -> None:
        self.default_delay = 1
        self._places: dict[Place, Queue] = {}
        self._crawls: dict[str, dict[str, Queue]] = {}
        self._keys: dict[str, dict[str, Queue]] = {}
        # Heaps by crawl, and None for that of all crawls. Times that were changed since are dropped
        # late.
        self._waiting: dict[str | None, list[_Waiting]] = {}
        self._turns = itertools.count()

    def __iter__(self) -> Iterator[Queue]:
        return iter(self._places.values())

    def get(self, place: Place) -> Queue | None:
        """The queue of a place; None: there is none."""
        return self._places.get(place)

    def named(self, key: str, crawl: str | None) -> list[Queue]:
        """The queues of a key: in a crawl, or (None) in all."""
        if crawl is None:
            return list(self._keys.get(key, {}).values())
        queue = self._places.get(Place(crawl, key))
        return [] if queue is None else [queue]

    @property
    def crawls(self) -> list[str]:
        """The ids of the crawls that have queues."""
        return list(self._crawls)

    def of_crawl(self, crawl: str) -> list[Queue]:
        """The queues of a crawl, in the order in which they were made."""
        return list(self._crawls.get(crawl, {}).values())

    def add(self, queue: Queue) -> None:
        """Take up a queue."""
        crawl, key = queue.place
        self._places[queue.place] = queue
        self._crawls.setdefault(crawl, {})[key] = queue
        self._keys.setdefault(key, {})[crawl] = queue

    def remove(self, queue: Queue) -> None:
        """Forget a queue."""
        crawl, key = queue.place
        del self._places[queue.place]
        queue.wake_at = math.nan  # no time in a heap equals it
        del self._crawls[crawl][key], self._keys[key][crawl]
        if not self._keys[key]:
            del self._keys[key]
        if not self._crawls[crawl]:
            del self._crawls[crawl]
            self._waiting.pop(crawl, None)

    def wake(self, queue: Queue) -> None:
        """Look at a queue when it may have something: call it after every change of that."""
        at = queue.may_have_at(self.default_delay)
        if at == queue.wake_at or math.isnan(queue.wake_at):
            return
        queue.wake_at = at
        if at < math.inf:
            crawl = queue.place.crawl
            waiting = at, next(self._turns), queue
            self._push(crawl, waiting, len(self._crawls[crawl]))
            self._push(None, waiting, len(self._places))

    def next_ready(self, crawl: str | None, now: float) -> Queue | None:
        """Take out the queue that has been ready for longest; `wake` puts it back.

        `crawl`: None for any.
        """
        heap = self._waiting.get(crawl, [])
        while heap and heap[0][0] <= now:
            at, _, queue = heapq.heappop(heap)
            if at == queue.wake_at:
                queue.wake_at = math.inf
                return queue
        return None

    def _push(self, crawl: str | None, waiting: _Waiting, queues: int) -> None:
        heap = self._waiting.setdefault(crawl, [])
        heapq.heappush(heap, waiting)
        if len(heap) > 64 + 4 * queues:  # most of them are outdated
            heap[:] = {id(one[2]): one for one in heap if one[0] == one[2].wake_at}.values()
            heapq.heapify(heap)
