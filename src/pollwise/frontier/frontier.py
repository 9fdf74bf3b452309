"""The frontier itself: messages in, URLs out; everything is written down before it is answered.

It is used by one thread, which calls all methods within a transaction of the store (`Frontier.
transaction`). New URLs of a queue are given out in the order in which they came. Known ones are
chosen by the index (`Revisits`), once it was seen how they are fetched; before that, the date that
the client gave them decides. New and known ones take turns.
"""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from pollwise.frontier.giving import Asked, Given, Giving
from pollwise.frontier.known_pages import KnownPages
from pollwise.frontier.places import Place, crawl_of, place_of
from pollwise.frontier.protocol import urlfrontier_pb2 as protocol
from pollwise.frontier.queues import Queue, Queues, State
from pollwise.frontier.reports import NOTHING, Fingerprint, Report, report_of
from pollwise.frontier.store import FrontierStore
from pollwise.types import Outcome

__all__ = ["Figures", "Frontier"]

Status = protocol.AckMessage.Status
_OK, _SKIPPED = protocol.AckMessage.OK, protocol.AckMessage.SKIPPED
_LARGEST_METADATA = 65_536
_FURTHEST = 2**62
"""A date beyond that is cut: SQLite has no larger numbers."""
_DAY = 86_400


class Figures(NamedTuple):
    """How a crawl or a queue stands: numbers of URLs and queues."""

    active: int
    in_process: int
    completed: int
    queues: int
    active_queues: int


class _Row(NamedTuple):
    """A stored URL, as far as a report needs it."""

    id: int
    state: int
    leased_until: float
    given: int
    fingerprint: Fingerprint
    page: int | None


class _Becomes(NamedTuple):
    """What becomes of a URL that was reported; see the table `url`."""

    state: int
    page: int | None = None
    rests_until: int = 0


class Frontier:
    """All crawls of the file behind `store`.

    `keep_dates`: no known URL is given out before its own date. Errors of the store leave it as it
    was after the latest transaction that was committed.
    """

    def __init__(self, store: FrontierStore, now: float, *, keep_dates: bool = False) -> None:
        self._store = store
        self._set_back(now)
        self._keep_dates = keep_dates
        self._is_loaded = False
        self._load()

    # ------------------------------------------------------------------------------ transactions

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A context in which other methods may be called; at its end all is on the disk.

        After an error nothing of it has happened.
        """
        if not self._is_loaded:
            self._load()
        try:
            with self._store.transaction():
                yield
                self._known_pages.save()
        except BaseException:
            self._is_loaded = False
            raise

    # ---------------------------------------------------------------------------------- messages

    def put(self, item: protocol.URLItem, now: float) -> Status:
        """Take in a URL that was discovered or fetched; the status to acknowledge."""
        kind = item.WhichOneof("item")
        if kind == "discovered":
            return self.discover(item.discovered.info, now)
        if kind == "known":
            known = item.known
            return self._report(known.info, min(known.refetchable_from_date, _FURTHEST), now)
        return _SKIPPED

    def discover(self, info: protocol.URLInfo, now: float) -> Status:
        """Take in a URL that was discovered; the status to acknowledge."""
        place = place_of(info.url, info.key, info.crawlID)
        metadata = _metadata_of(info)
        if place is None or metadata is None:
            return _SKIPPED
        queue = self._queue(place)
        if not self._insert(queue, info.url, metadata, State.NEW, now, int(now), NOTHING):
            return _SKIPPED
        queue.new += 1
        if queue.new == 1:
            self._queues.wake(queue)
        return _OK

    def give(self, asked: Asked, now: float, most: int) -> list[Given]:
        """The next URLs of an answer, which are leased; none: it is complete."""
        return self._giving.give(asked, now, most) if self._active else []

    # --------------------------------------------------------------------------------- settings

    @property
    def active(self) -> bool:
        """Whether URLs are given out."""
        return self._active

    def set_active(self, active: bool) -> None:
        """Stop giving out URLs, or go on."""
        self._active = active
        self._store.write("INSERT OR REPLACE INTO setting VALUES ('active', ?)", (int(active),))

    def set_delay(self, key: str, crawl: str, seconds: int) -> None:
        """Set the seconds between answers with URLs of a queue; key "": of all others."""
        if not key:
            self._queues.default_delay = seconds
            self._store.write("INSERT OR REPLACE INTO setting VALUES ('delay', ?)", (seconds,))
            for one in self._queues:
                if one.delay is None:
                    self._queues.wake(one)
        elif queue := self.queue(key, crawl):
            queue.delay = seconds
            self._store.write("UPDATE queue SET delay = ? WHERE id = ?", (seconds, queue.id))
            self._queues.wake(queue)

    def block(self, key: str, crawl: str, until: int) -> None:
        """Give out no URLs of a queue before a time."""
        if queue := self.queue(key, crawl):
            queue.blocked_until = min(until, _FURTHEST)
            self._store.write(
                "UPDATE queue SET blocked_until = ? WHERE id = ?", (queue.blocked_until, queue.id)
            )
            self._queues.wake(queue)

    def set_limit(self, key: str, crawl: str, most: int) -> bool:
        """Set how many URLs of a queue are fetched at most; whether there is such a queue."""
        queue = self.queue(key, crawl)
        if queue is None:
            return False
        queue.most = most
        self._store.write("UPDATE queue SET most = ? WHERE id = ?", (most, queue.id))
        self._queues.wake(queue)
        return True

    # --------------------------------------------------------------------------------- answers

    @property
    def crawls(self) -> list[str]:
        """The ids of the crawls that have queues."""
        return self._queues.crawls

    def queue(self, key: str, crawl: str) -> Queue | None:
        """The queue of a key; None: there is none."""
        return self._queues.get(Place(crawl_of(crawl), key))

    def keys(
        self, crawl: str, start: int, size: int, now: float, *, all_of_them: bool
    ) -> tuple[list[str], int]:
        """The keys of queues that are active, or of all, from `start` on; how many there are."""
        keys = [
            queue.place.key
            for queue in self._queues.of_crawl(crawl_of(crawl))
            if all_of_them or (queue.active > 0 and queue.blocked_until <= now)
        ]
        return keys[start : start + size], len(keys)

    def figures(self, key: str, crawl: str, now: float) -> Figures:
        """How a queue stands; key "": a crawl."""
        if key:
            one = self.queue(key, crawl)
            queues = [] if one is None else [one]
        else:
            queues = self._queues.of_crawl(crawl_of(crawl))
        for queue in queues:
            self._giving.end_leases(queue, now)
        return Figures(
            active=sum(queue.active for queue in queues),
            in_process=sum(queue.out for queue in queues),
            completed=sum(queue.counts[State.DONE] for queue in queues),
            queues=len(queues),
            active_queues=sum(queue.active > 0 for queue in queues),
        )

    # --------------------------------------------------------------------------------- deletion

    def delete_crawl(self, crawl: str) -> int:
        """Forget a crawl; how many URLs it had."""
        crawl = crawl_of(crawl)
        deleted = sum(self._delete(queue) for queue in self._queues.of_crawl(crawl))
        self._known_pages.forget(crawl)
        return deleted

    def delete_queue(self, key: str, crawl: str) -> int:
        """Forget a queue; how many URLs it had."""
        queue = self.queue(key, crawl)
        return 0 if queue is None else self._delete(queue)

    def purge(self, key: str, crawl: str, days: int, now: float) -> int:
        """Forget the URLs of a queue (key "": of a crawl) first stored so many days ago."""
        before = int(now) - days * _DAY
        if key:
            one = self.queue(key, crawl)
            queues = [] if one is None else [one]
        else:
            queues = self._queues.of_crawl(crawl_of(crawl))
        return sum(self._purge(queue, before) for queue in queues)

    # ------------------------------------------------------------------------------- within put

    def _queue(self, place: Place) -> Queue:
        """The queue of a place, which is made if there is none."""
        queue = self._queues.get(place)
        if queue is None:
            queue_id = self._store.insert(
                "INSERT INTO queue (crawl, key) VALUES (?, ?)", (place.crawl, place.key)
            )
            assert queue_id is not None
            queue = Queue(queue_id, place)
            self._queues.add(queue)
        return queue

    def _insert(
        self,
        queue: Queue,
        url: str,
        metadata: bytes,
        state: int,
        now: float,
        refetch_at: int,
        fingerprint: Fingerprint,
    ) -> bool:
        """Store a URL; False: it is there already."""
        url_id = self._store.insert(
            "INSERT INTO url (queue, url, metadata, state, created_at, refetch_at, reported_at,"
            " signature, etag, last_modified) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT DO NOTHING",
            (queue.id, url, metadata, state, int(now), refetch_at, now, *fingerprint),
        )
        if url_id is None:
            return False
        queue.counts[state] += 1
        return True

    def _report(self, info: protocol.URLInfo, date: int, now: float) -> Status:
        """Take in what came of a URL that was fetched; date 0: it is not fetched again."""
        place = place_of(info.url, info.key, info.crawlID)
        metadata = _metadata_of(info)
        if place is None or metadata is None:
            return _SKIPPED
        queue = self._queue(place)
        row = self._row(queue, info.url)
        if row is None:
            report = report_of(info.metadata, NOTHING, now)
            state = State.DATED if date else State.DONE
            self._insert(queue, info.url, metadata, state, now, date, report.fingerprint)
        else:
            report = report_of(info.metadata, row.fingerprint, now)
            becomes = self._learn(queue, row, info.url, report, date, now)
            self._update(queue, row, becomes, metadata, report, date, now)
            state = becomes.state
        if state == State.DATED:
            queue.dated_at = min(queue.dated_at, date)
        self._queues.wake(queue)
        return _OK

    def _row(self, queue: Queue, url: str) -> _Row | None:
        row = self._store.row(
            "SELECT id, state, leased_until, given, signature, etag, last_modified, page FROM url"
            " WHERE queue = ? AND url = ?",
            (queue.id, url),
        )
        return (
            None
            if row is None
            else _Row(row[0], row[1], row[2], row[3], Fingerprint(*row[4:7]), row[7])
        )

    def _learn(
        self, queue: Queue, row: _Row, url: str, report: Report, date: int, now: float
    ) -> _Becomes:
        """Tell the policy of a report; what becomes of the URL."""
        if not date:
            if row.page is not None:
                self._known_pages.discard(queue, [row.page])
            return _Becomes(State.DONE)
        if row.page is not None:
            return _Becomes(
                State.CHOSEN, *self._known_pages.report(queue, row.page, report, date, now)
            )
        has_failed = report.outcome in (Outcome.FAILED, Outcome.GONE)
        if has_failed or not row.given:
            return _Becomes(State.DATED)
        kept = self._known_pages.take_up(queue, row.id, url, date, now)
        return _Becomes(State.DATED) if kept is None else _Becomes(State.CHOSEN, *kept)

    def _update(
        self,
        queue: Queue,
        row: _Row,
        becomes: _Becomes,
        metadata: bytes,
        report: Report,
        date: int,
        now: float,
    ) -> None:
        """Write a report down, and count."""
        queue.counts[row.state] -= 1
        queue.counts[becomes.state] += 1
        if row.leased_until > 0:
            queue.out -= 1
        elif row.state == State.NEW:
            queue.new -= 1
        self._store.write(
            "UPDATE url SET state = ?, page = ?, rests_until = ?, chosen = 0, metadata = ?,"
            " refetch_at = ?, leased_until = 0, reported_at = ?, signature = ?, etag = ?,"
            " last_modified = ? WHERE id = ?",
            (*becomes, metadata, date, now, *report.fingerprint, row.id),
        )

    # --------------------------------------------------------------------------- within deletion

    def _delete(self, queue: Queue) -> int:
        self._discard_of(queue, "queue = ?", (queue.id,))
        deleted = self._store.write("DELETE FROM url WHERE queue = ?", (queue.id,))
        self._store.write("DELETE FROM queue WHERE id = ?", (queue.id,))
        self._queues.remove(queue)
        return deleted

    def _purge(self, queue: Queue, before: int) -> int:
        condition, values = "queue = ? AND created_at < ?", (queue.id, before)
        self._discard_of(queue, condition, values)
        deleted = self._store.write(f"DELETE FROM url WHERE {condition}", values)
        if deleted:
            self._count(queue)
            self._queues.wake(queue)
        return deleted

    def _discard_of(self, queue: Queue, condition: str, values: tuple[int, ...]) -> None:
        """Have the policy forget the URLs of a queue that are about to be deleted."""
        rows = self._store.rows(
            f"SELECT page FROM url WHERE {condition} AND state = 2 AND page IS NOT NULL", values
        )
        self._known_pages.discard(queue, [page for (page,) in rows])

    # -------------------------------------------------------------------------------- the start

    def _set_back(self, now: float) -> None:
        """If the clock was ahead when the file was written, set back what it counted from then."""
        (latest,) = self._store.row("SELECT max(served_at) FROM queue")
        ahead = (latest or 0.0) - now
        with self._store.transaction():
            if ahead > 0.0:
                self._store.write("UPDATE queue SET served_at = served_at - ?", (ahead,))
                self._store.write(
                    "UPDATE url SET leased_until = max(leased_until - ?, 1) WHERE leased_until > 0",
                    (ahead,),
                )
            self._store.write(
                "UPDATE url SET reported_at = ? WHERE state = 2 AND reported_at > ?", (now, now)
            )
            self._store.write("UPDATE visits SET saved_at = ? WHERE saved_at > ?", (now, now))

    def _load(self) -> None:
        """Have in memory what the store says."""
        self._queues = Queues()
        self._known_pages = KnownPages(self._store, self._queues, keep_dates=self._keep_dates)
        self._giving = Giving(self._store, self._queues, self._known_pages)
        settings: Mapping[str, int] = dict(self._store.rows("SELECT name, value FROM setting"))
        self._active = bool(settings.get("active", 1))
        self._queues.default_delay = settings.get("delay", 1)
        by_id: dict[int, Queue] = {}
        for queue_id, crawl, key, *rest in self._store.rows(
            "SELECT id, crawl, key, delay, blocked_until, served_at, most FROM queue ORDER BY id"
        ):
            queue = Queue(queue_id, Place(crawl, key), *rest)
            self._queues.add(queue)
            by_id[queue_id] = queue
        self._count_all(by_id)
        self._known_pages.load(by_id)
        for queue in self._queues:
            self._queues.wake(queue)
        self._is_loaded = True

    def _count_all(self, queues: Mapping[int, Queue], condition: str = "1") -> None:
        for queue in queues.values():
            queue.counts = [0, 0, 0, 0]
            queue.new = queue.out = 0
            queue.dated_at = queue.lease_end = math.inf
        for queue_id, state, is_out, count, first_date, lease_end in self._store.rows(
            "SELECT queue, state, leased_until > 0, count(*), min(refetch_at), min(leased_until)"
            f" FROM url WHERE {condition} GROUP BY 1, 2, 3"
        ):
            queue = queues[queue_id]
            queue.counts[state] += count
            if is_out:
                queue.out += count
                queue.lease_end = min(queue.lease_end, lease_end)
            elif state == State.NEW:
                queue.new += count
            elif state == State.DATED:
                queue.dated_at = first_date

    def _count(self, queue: Queue) -> None:
        self._count_all({queue.id: queue}, f"queue = {queue.id}")


def _metadata_of(info: protocol.URLInfo) -> bytes | None:
    """The metadata of a URL as they are stored; None: they are too large."""
    if not info.metadata:
        return b""
    alone = protocol.URLInfo()
    alone.MergeFrom(info)
    for name in ("url", "key", "crawlID"):
        alone.ClearField(name)
    data = alone.SerializeToString()
    return data if len(data) <= _LARGEST_METADATA else None
