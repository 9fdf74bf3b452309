"""Giving URLs out: which queues, which URLs of them, and until when they are leased."""

import logging
import math
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from pollwise.frontier.known_pages import KnownPages
from pollwise.frontier.places import Place, crawl_of, shown_name
from pollwise.frontier.protocol import urlfrontier_pb2 as protocol
from pollwise.frontier.queues import Queue, Queues, State
from pollwise.frontier.store import FrontierStore

__all__ = ["Asked", "Given", "Giving"]

_LOG = logging.getLogger(__name__)
_DEFAULT_LEASE = 30
_TELL_EVERY = 10.0
_MOST_CLIENTS = 100
_ROWS_AT_ONCE = 64

_Due = tuple[int, str, bytes, int | None, int]
"""Of a URL its id, itself, its metadata, its page in the policy and its state."""


@dataclass(slots=True)
class Asked:
    """What a client asked `Giving.give` for, and how far that has got.

    `crawl` None: any. `key` "": any queue. `urls` and `queues` are the most that are given, of each
    queue and at all; `lease` is in seconds.
    """

    crawl: str | None
    key: str
    urls: float
    queues: float
    lease: int
    client: str = ""
    tried: set[int] = field(default_factory=set)
    served: int = 0
    current: Queue | None = None
    left: float = 0.0
    counts: bool = False

    @classmethod
    def of(cls, params: protocol.GetParams, client: str = "") -> "Asked":
        """What a message of a client asks for; 0 is no bound."""
        return cls(
            crawl=crawl_of(params.crawlID) if params.HasField("crawlID") else None,
            key=params.key,
            urls=params.max_urls_per_queue or math.inf,
            queues=params.max_queues or math.inf,
            lease=params.delay_requestable or _DEFAULT_LEASE,
            client=client,
        )


class Given(NamedTuple):
    """A URL to fetch."""

    place: Place
    url: str
    metadata: bytes


class _Overdue:
    """URLs that were not reported in time, told in one line a while: there may be very many."""

    def __init__(self) -> None:
        self._urls: Counter[str] = Counter()
        self._tell_at = -math.inf

    def note(self, queue: Queue, urls: int, now: float) -> None:
        """So many of a queue were given out in vain."""
        client = queue.client or "a client before the start"
        self._urls[client if len(self._urls) < _MOST_CLIENTS else "other clients"] += urls
        if now < self._tell_at:
            return
        self._tell_at = now + _TELL_EVERY
        for name, count in self._urls.most_common(3):
            _LOG.info(
                "%d URLs given to %s were not reported in time and are given out again, such as of"
                " queue %s of crawl %s",
                count,
                name,
                shown_name(queue.place.key),
                shown_name(queue.place.crawl),
            )
        self._urls.clear()


class Giving:
    """Gives out URLs of queues that are open, and takes back those that nobody reports."""

    def __init__(self, store: FrontierStore, queues: Queues, known_pages: KnownPages) -> None:
        self._store = store
        self._queues = queues
        self._known_pages = known_pages
        self._overdue = _Overdue()
        # What is not written down yet: until when which URL is leased, and the queues.
        self._leased: list[tuple[float, int]] = []
        self._served: list[int] = []

    def give(self, asked: Asked, now: float, most: int) -> list[Given]:
        """The next URLs of an answer, which are leased; none: it is complete."""
        given: list[Given] = []
        if asked.current is not None and self._queues.get(asked.current.place) is not asked.current:
            asked.current = None  # it was deleted meanwhile
        self._known_pages.choose(asked.crawl, now)
        passed: list[Queue] = []
        while len(given) < most:
            if asked.current is None and not self._begin_queue(asked, passed, now):
                break
            queue = asked.current
            assert queue is not None
            count = int(min(asked.left, most - len(given)))
            some = self._take(queue, count, asked.lease, now)
            if some and not asked.counts:
                asked.served, asked.counts = asked.served + 1, True
            asked.left -= len(some)
            given += some
            if len(some) < count or asked.left <= 0:
                asked.current = None
            # Others may have it meanwhile: nobody knows whether this client comes for the rest.
            self._queues.wake(queue)
        for queue in passed:
            self._queues.wake(queue)
        self._write_leases(now)
        return given

    def _write_leases(self, now: float) -> None:
        """Write down what was given out just now."""
        self._store.write_all(
            "UPDATE url SET leased_until = ?, given = 1 WHERE id = ?", self._leased
        )
        self._store.write_all(
            "UPDATE queue SET served_at = ? WHERE id = ?", [(now, queue) for queue in self._served]
        )
        self._leased, self._served = [], []

    def _begin_queue(self, asked: Asked, passed: list[Queue], now: float) -> bool:
        """Find the next queue to give out URLs of; whether there is one."""
        while asked.served < asked.queues:
            if asked.key:
                queue = self._named_queue(asked)
            else:
                queue = self._queues.next_ready(asked.crawl, now)
            if queue is None:
                return False
            self.end_leases(queue, now)
            if queue.id in asked.tried or (not asked.key and queue.out >= asked.urls):
                passed.append(queue)
                continue
            if queue.opens_at(self._queues.default_delay) > now:
                self._queues.wake(queue)
                if asked.key:
                    asked.tried.add(queue.id)
                continue
            asked.tried.add(queue.id)
            asked.current, asked.left, asked.counts = queue, asked.urls, False
            queue.client = asked.client
            return True
        return False

    def _named_queue(self, asked: Asked) -> Queue | None:
        """The queue of the key that was asked for, in the crawl or in the next one that has it."""
        for queue in self._queues.named(asked.key, asked.crawl):
            if queue.id not in asked.tried:
                return queue
        return None

    def _take(self, queue: Queue, count: int, lease: int, now: float) -> list[Given]:
        """Lease up to so many URLs of a queue that is open."""
        dated_at = queue.dated_at
        known = self._known(queue, count, now)
        new = self._new(queue, count)
        chosen: list[_Due] = []
        while len(chosen) < count and (known or new):
            is_new = bool(new) and (queue.turn == 1 or not known)
            chosen.append((new if is_new else known).pop())
            queue.turn = 0 if is_new else 1
        if any(one[4] == State.DATED for one in known):
            queue.dated_at = dated_at  # new ones came before some that are due
        if not chosen:
            return []
        until = now + lease
        self._leased += [(until, one[0]) for one in chosen]
        self._served.append(queue.id)
        for _, _, _, page, state in chosen:
            if page is not None:
                queue.line.pop(page, None)
            if state == State.NEW:
                queue.new -= 1
        queue.out += len(chosen)
        queue.lease_end = min(queue.lease_end, until)
        queue.served_at = now
        return [Given(queue.place, url, metadata) for _, url, metadata, _, _ in chosen]

    def _new(self, queue: Queue, count: int) -> list[_Due]:
        """The next new URLs, the first one last."""
        most = min(count, queue.room)
        if queue.new == 0 or most <= 0:
            return []
        rows = self._store.rows(
            "SELECT id, url, metadata, NULL, 0 FROM url"
            " WHERE queue = ? AND state = 0 AND leased_until = 0 ORDER BY id LIMIT ?",
            (queue.id, int(most)),
        )
        return rows[::-1]

    def _known(self, queue: Queue, count: int, now: float) -> list[_Due]:
        """The known URLs that are due, the first one last."""
        rows: list[_Due] = []
        if queue.dated_at <= now:
            rows = self._store.rows(
                "SELECT id, url, metadata, NULL, 1 FROM url WHERE queue = ? AND state = 1"
                " AND leased_until = 0 AND refetch_at <= ? ORDER BY refetch_at LIMIT ?",
                (queue.id, int(now), count),
            )
            if len(rows) < count:
                self._find_next_date(queue, now)
        best = self._known_pages.best_in_line(queue, count - len(rows), now)
        for begin in range(0, len(best), _ROWS_AT_ONCE):
            some = best[begin : begin + _ROWS_AT_ONCE]
            found: dict[int, _Due] = {
                row[0]: row
                for row in self._store.rows(
                    "SELECT id, url, metadata, page, 2 FROM url"
                    f" WHERE id IN ({', '.join('?' * len(some))})",
                    some,
                )
            }
            rows += [found[url_id] for url_id in some]
        return rows[::-1]

    def _find_next_date(self, queue: Queue, now: float) -> None:
        """Note when the first dated URL is due that is not due yet."""
        (date,) = self._store.row(
            "SELECT min(refetch_at) FROM url WHERE queue = ? AND state = 1 AND leased_until = 0"
            " AND refetch_at > ?",
            (queue.id, int(now)),
        )
        queue.dated_at = math.inf if date is None else date

    def end_leases(self, queue: Queue, now: float) -> None:
        """Take back the URLs of a queue whose leases have run out."""
        if queue.lease_end > now:
            return
        rows = self._store.rows(
            "SELECT state, page, refetch_at FROM url"
            " WHERE queue = ? AND leased_until > 0 AND leased_until <= ?",
            (queue.id, now),
        )
        self._store.write(
            "UPDATE url SET leased_until = 0 WHERE queue = ? AND leased_until > 0"
            " AND leased_until <= ?",
            (queue.id, now),
        )
        for state, page, date in rows:
            if state == State.NEW:
                queue.new += 1
            elif state == State.DATED:
                queue.dated_at = min(queue.dated_at, date)
            elif page is not None:
                queue.line[page] = None
        queue.out -= len(rows)
        if rows:
            self._overdue.note(queue, len(rows), now)
        (end,) = self._store.row(
            "SELECT min(leased_until) FROM url WHERE queue = ? AND leased_until > 0", (queue.id,)
        )
        queue.lease_end = math.inf if end is None else end
