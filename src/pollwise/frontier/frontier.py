"""The frontier itself: messages in, URLs out; everything is written down before it is answered.

It is used by one thread, which calls all methods within a transaction of the store (`Frontier.
transaction`). New URLs of a queue are given out in the order in which they came. Known ones are
chosen by the index (`Revisits`), once it was seen how they are fetched; before that, the date that
the client gave them decides. New and known ones take turns.
"""

import logging
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from pollwise.errors import StateError
from pollwise.frontier.places import Place, crawl_of, host_of, place_of, shown_name
from pollwise.frontier.protocol import urlfrontier_pb2 as protocol
from pollwise.frontier.queues import Queue, Queues, State
from pollwise.frontier.reports import NOTHING, Fingerprint, Report, report_of
from pollwise.frontier.revisits import Revisits
from pollwise.frontier.store import FrontierStore
from pollwise.kinds import kind_of
from pollwise.policies.arrays import not_after
from pollwise.types import Outcome, Page

__all__ = ["Asked", "Figures", "Frontier", "Given"]

_LOG = logging.getLogger(__name__)

Status = protocol.AckMessage.Status
_OK, _SKIPPED = protocol.AckMessage.OK, protocol.AckMessage.SKIPPED
_LARGEST_METADATA = 65_536
_FURTHEST = 2**62
"""A date beyond that is cut: SQLite has no larger numbers."""
_LONGEST_LINE = 64
_CHOSEN_AT_ONCE = 256
_DEFAULT_LEASE = 30
_LEARNING_CRAWLS = 64
"""In so many crawls pages are chosen by the index, which takes memory; in others by date."""
_DAY = 86_400
_TELL_EVERY = 10.0
_MOST_CLIENTS = 100


@dataclass(slots=True)
class Asked:
    """What a client asked `Frontier.give` for, and how far that has got.

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


class Figures(NamedTuple):
    """How a crawl or a queue stands: numbers of URLs and queues."""

    active: int
    in_process: int
    completed: int
    queues: int
    active_queues: int


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


class _Kept(NamedTuple):
    """A stored URL that the policy chooses from."""

    id: int
    queue: int
    url: str
    page: int
    chosen: int
    rests_until: int
    is_out: int
    reported_at: float
    refetch_at: int


class Frontier:
    """All crawls of the file behind `store`.

    `keep_dates`: no known URL is given out before its own date. Errors of the store leave it as it
    was after the latest transaction that was committed.
    """

    def __init__(self, store: FrontierStore, *, keep_dates: bool = False) -> None:
        self._store = store
        self._keep_dates = keep_dates
        self._overdue = _Overdue()
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
                self._save_learned()
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
        given: list[Given] = []
        if not self.active:
            return given
        if asked.current is not None and self._queues.get(asked.current.place) is not asked.current:
            asked.current = None  # it was deleted meanwhile
        self._choose(asked, now)
        passed: list[Queue] = []
        while len(given) < most:
            if asked.current is None and not self._begin_queue(asked, passed, now):
                break
            queue = asked.current
            assert queue is not None
            count = int(min(asked.left, most - len(given)))
            some = self._take(queue, count, asked.lease, now)
            asked.served += bool(some) and asked.left == asked.urls
            asked.left -= len(some)
            given += some
            if len(some) < count or asked.left <= 0:
                asked.current = None
                self._queues.wake(queue)
        for queue in passed:
            self._queues.wake(queue)
        return given

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
            self._end_leases(queue, now)
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
        self._forget_learned(crawl)
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
        crawl = queue.place.crawl
        has_failed = report.outcome in (Outcome.FAILED, Outcome.GONE)
        if row.state == State.CHOSEN and row.page is not None:
            page, revisits = row.page, self._revisits[crawl]
            queue.line.pop(page, None)
            if not date:
                self._discard(crawl, [page])
                return _Becomes(State.DONE)
            revisits.observe(page, report.outcome, now, report.last_changed_at)
        elif not date:
            return _Becomes(State.DONE)
        elif has_failed or not row.given or not self._learns(crawl):
            return _Becomes(State.DATED)
        else:
            page, revisits = self._new_page(crawl, row.id, queue), self._revisits[crawl]
            revisits.add([_page_of(page, url, queue, now)])
        rests_until = date if has_failed or self._keep_dates else 0
        if rests_until:
            revisits.rest(page, rests_until)
        revisits.wait(page, now, date)
        self._unsaved.setdefault(crawl, set()).add(page)
        return _Becomes(State.CHOSEN, page, rests_until)

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

    # -------------------------------------------------------------------------------- the policy

    def _learns(self, crawl: str) -> bool:
        """Whether pages of a crawl are chosen by the index: not if there are too many crawls."""
        if crawl not in self._revisits:
            if len(self._revisits) >= _LEARNING_CRAWLS:
                return False
            self._revisits[crawl] = Revisits()
            self._pages[crawl] = []
        return True

    def _new_page(self, crawl: str, url_id: int, queue: Queue) -> int:
        """A number for a URL that no other page of the crawl has."""
        if free := self._free.get(crawl):
            page = free.pop()
            self._pages[crawl][page] = url_id, queue
            return page
        self._pages[crawl].append((url_id, queue))
        return len(self._pages[crawl]) - 1

    def _discard(self, crawl: str, pages: list[int]) -> None:
        """Have the policy forget pages."""
        self._revisits[crawl].discard(pages)
        for page in pages:
            self._pages[crawl][page] = None
            self._unsaved.setdefault(crawl, set()).discard(page)
        self._free.setdefault(crawl, []).extend(pages)
        self._store.write_all(
            "DELETE FROM learned WHERE crawl = ? AND page = ?", [(crawl, page) for page in pages]
        )

    def _choose(self, asked: Asked, now: float) -> None:
        """Choose pages for which dates have passed, and put them into the lines of their queues."""
        for crawl, revisits in self._revisits.items():
            if asked.crawl not in (None, crawl):
                continue
            pages = self._pages[crawl]

            def accept(page: int, pages: "list[tuple[int, Queue] | None]" = pages) -> float | None:
                known = pages[page]
                assert known is not None
                queue = known[1]
                if len(queue.line) < _LONGEST_LINE:
                    return None
                delay = self._queues.default_delay if queue.delay is None else queue.delay
                return now + max(delay, 1) * len(queue.line)

            chosen: list[tuple[int]] = []
            for page in revisits.choose(now, _CHOSEN_AT_ONCE, accept):
                known = pages[page]
                assert known is not None
                url_id, queue = known
                queue.line[page] = None
                if len(queue.line) == 1:
                    self._queues.wake(queue)
                chosen.append((url_id,))
            if chosen:
                self._store.write_all("UPDATE url SET chosen = 1 WHERE id = ?", chosen)
                self._unsaved.setdefault(crawl, set())  # fewer visits are saved up

    def _save_learned(self) -> None:
        """Write down what was learned since the last time."""
        for crawl, pages in self._unsaved.items():
            revisits = self._revisits[crawl]
            self._store.write(
                "INSERT OR REPLACE INTO visits VALUES (?, ?, ?)",
                (crawl, revisits.saved, revisits.saved_at),
            )
            self._store.save_learned(crawl, revisits.learned(list(pages)))
        self._unsaved.clear()

    def _forget_learned(self, crawl: str) -> None:
        self._revisits.pop(crawl, None)
        self._pages.pop(crawl, None)
        self._free.pop(crawl, None)
        self._unsaved.pop(crawl, None)
        for table in ("learned", "learned_shared", "visits"):
            self._store.write(f"DELETE FROM {table} WHERE crawl = ?", (crawl,))

    # ------------------------------------------------------------------------------ within give

    def _begin_queue(self, asked: Asked, passed: list[Queue], now: float) -> bool:
        """Find the next queue to give out URLs of; whether there is one."""
        while asked.served < asked.queues:
            if asked.key:
                queue = self._named_queue(asked)
            else:
                queue = self._queues.next_ready(asked.crawl, now)
            if queue is None:
                return False
            self._end_leases(queue, now)
            if queue.id in asked.tried or (not asked.key and queue.out >= asked.urls):
                passed.append(queue)
                continue
            if queue.opens_at(self._queues.default_delay) > now:
                self._queues.wake(queue)
                if asked.key:
                    asked.tried.add(queue.id)
                continue
            asked.tried.add(queue.id)
            asked.current, asked.left = queue, asked.urls
            queue.client = asked.client
            return True
        return False

    def _named_queue(self, asked: Asked) -> Queue | None:
        """The queue of the key that was asked for, in the crawl or in the next one that has it."""
        for crawl in self._queues.crawls if asked.crawl is None else [asked.crawl]:
            queue = self._queues.get(Place(crawl, asked.key))
            if queue is not None and queue.id not in asked.tried:
                return queue
        return None

    def _take(self, queue: Queue, count: int, lease: int, now: float) -> list[Given]:
        """Lease up to so many URLs of a queue that is open."""
        known = self._known(queue, count, now)
        new = self._new(queue, count)
        chosen: list[tuple[int, str, bytes, int | None, int]] = []
        while len(chosen) < count and (known or new):
            is_new = bool(new) and (queue.turn == 1 or not known)
            chosen.append((new if is_new else known).pop())
            queue.turn = 0 if is_new else 1
        if not chosen:
            return []
        until = now + lease
        self._store.write_all(
            "UPDATE url SET leased_until = ?, given = 1 WHERE id = ?",
            [(until, one[0]) for one in chosen],
        )
        for _, _, _, page, state in chosen:
            if page is not None:
                queue.line.pop(page, None)
            if state == State.NEW:
                queue.new -= 1
        queue.out += len(chosen)
        queue.lease_end = min(queue.lease_end, until)
        queue.served_at = now
        self._store.write("UPDATE queue SET served_at = ? WHERE id = ?", (now, queue.id))
        return [Given(queue.place, url, metadata) for _, url, metadata, _, _ in chosen]

    def _new(self, queue: Queue, count: int) -> list[tuple[int, str, bytes, int | None, int]]:
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

    def _known(
        self, queue: Queue, count: int, now: float
    ) -> list[tuple[int, str, bytes, int | None, int]]:
        """The known URLs that are due, the first one last."""
        rows: list[tuple[int, str, bytes, int | None, int]] = []
        if queue.dated_at <= now:
            rows = self._store.rows(
                "SELECT id, url, metadata, NULL, 1 FROM url WHERE queue = ? AND state = 1"
                " AND leased_until = 0 AND refetch_at <= ? ORDER BY refetch_at LIMIT ?",
                (queue.id, int(now), count),
            )
            if len(rows) < count:
                self._find_next_date(queue, now)
        for page in self._best_in_line(queue, count - len(rows), now):
            known = self._pages[queue.place.crawl][page]
            assert known is not None
            rows += self._store.rows(
                "SELECT id, url, metadata, page, 2 FROM url WHERE id = ?", (known[0],)
            )
        return rows[::-1]

    def _best_in_line(self, queue: Queue, count: int, now: float) -> list[int]:
        """Of the pages in the line of a queue up to so many, those of the largest index first."""
        waiting = list(queue.line)
        if len(waiting) <= count:
            return waiting  # they were chosen in this order
        revisits = self._revisits[queue.place.crawl]
        best: list[int] = []
        while len(best) < count:
            best.append(revisits.best(waiting, now))
            waiting.remove(best[-1])
        return best

    def _find_next_date(self, queue: Queue, now: float) -> None:
        """Note when the first dated URL is due that is not due yet."""
        (date,) = self._store.row(
            "SELECT min(refetch_at) FROM url WHERE queue = ? AND state = 1 AND leased_until = 0"
            " AND refetch_at > ?",
            (queue.id, int(now)),
        )
        queue.dated_at = math.inf if date is None else date

    def _end_leases(self, queue: Queue, now: float) -> None:
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
        pages = [
            page
            for (page,) in self._store.rows(
                f"SELECT page FROM url WHERE {condition} AND state = 2 AND page IS NOT NULL", values
            )
        ]
        if pages:
            self._discard(queue.place.crawl, pages)
            for page in pages:
                queue.line.pop(page, None)

    # -------------------------------------------------------------------------------- the start

    def _load(self) -> None:
        """Have in memory what the store says."""
        self._queues = Queues()
        self._revisits: dict[str, Revisits] = {}
        self._pages: dict[str, list[tuple[int, Queue] | None]] = {}
        self._free: dict[str, list[int]] = {}
        self._unsaved: dict[str, set[int]] = {}
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
        self._load_pages(by_id)
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

    def _load_pages(self, queues: Mapping[int, Queue]) -> None:
        """Take up the pages that the policy chooses from, and what was learned of them."""
        known: dict[str, list[_Kept]] = {}
        for row in self._store.rows(
            "SELECT id, queue, url, page, chosen, rests_until, leased_until > 0, reported_at,"
            " refetch_at FROM url WHERE state = 2 AND page IS NOT NULL"
        ):
            queue, kept = queues[row[1]], _Kept(*row)
            known.setdefault(queue.place.crawl, []).append(kept)
            pages = self._pages.setdefault(queue.place.crawl, [])
            pages += [None] * (kept.page + 1 - len(pages))
            pages[kept.page] = kept.id, queue
        for crawl, rows in known.items():
            revisits = self._revisits[crawl] = Revisits()
            revisits.add(
                [_page_of(one.page, one.url, queues[one.queue], one.reported_at) for one in rows]
            )
            try:
                learned = self._store.load_learned(crawl)
                if learned is not None:
                    revisits.load(not_after(learned, max(one.reported_at for one in rows)))
            except StateError as error:
                _LOG.warning("crawl %s: it is learned anew, as %s", crawl, error)
            saved = self._store.row("SELECT saved, saved_at FROM visits WHERE crawl = ?", (crawl,))
            if saved is not None:
                revisits.saved, revisits.saved_at = saved
            for one in rows:
                if one.rests_until:
                    revisits.rest(one.page, one.rests_until)
                if not one.chosen:
                    revisits.go_on_saving(one.page, one.reported_at, one.refetch_at)
                    continue
                revisits.chosen.add(one.page)
                if not one.is_out:
                    queues[one.queue].line[one.page] = None
            taken = self._pages[crawl]
            self._free[crawl] = [page for page, one in enumerate(taken) if one is None]


def _page_of(page: int, url: str, queue: Queue, reported_at: float) -> Page:
    """A URL as the policy knows it: its site is its host, its politeness is that of its queue."""
    key = queue.place.key
    return Page(
        page, url, scope=key, site=host_of(url) or key, kind=kind_of(url), seen_at=reported_at
    )


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
