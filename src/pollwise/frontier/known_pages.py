"""The pages that the index chooses from, crawl by crawl, and what is written down of them."""

import logging
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from pollwise.errors import StateError
from pollwise.frontier.places import host_of
from pollwise.frontier.queues import Queue, Queues
from pollwise.frontier.reports import Report
from pollwise.frontier.revisits import Revisits
from pollwise.frontier.store import FrontierStore
from pollwise.kinds import kind_of
from pollwise.policies.arrays import not_after
from pollwise.types import Outcome, Page

__all__ = ["KnownPages", "page_of"]

_LOG = logging.getLogger(__name__)
_LONGEST_LINE = 64
_CHOSEN_AT_ONCE = 256
_LEARNING_CRAWLS = 64
"""In so many crawls pages are chosen by the index, which takes memory; in others by date."""


class _Stored(NamedTuple):
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


class _Crawl:
    """The pages of one crawl: by number the row of each, and its queue."""

    def __init__(self) -> None:
        self.revisits = Revisits()
        self.pages: list[tuple[int, Queue] | None] = []
        self.free: list[int] = []
        self.unsaved: set[int] = set()

    def number(self, url_id: int, queue: Queue) -> int:
        """A number for a URL that no other page has."""
        if self.free:
            page = self.free.pop()
            self.pages[page] = url_id, queue
            return page
        self.pages.append((url_id, queue))
        return len(self.pages) - 1

    def place(self, page: int) -> tuple[int, Queue]:
        """The row and the queue of a page that is there."""
        known = self.pages[page]
        assert known is not None
        return known


class KnownPages:
    """What the policies of all crawls choose from, and the lines of their queues.

    `keep_dates`: no page is chosen before its own date.
    """

    def __init__(self, store: FrontierStore, queues: Queues, *, keep_dates: bool) -> None:
        self._store = store
        self._queues = queues
        self._keep_dates = keep_dates
        self._crawls: dict[str, _Crawl] = {}
        self._unsaved: set[str] = set()

    def take_up(self, queue: Queue, url_id: int, url: str, date: int, now: float) -> "Kept | None":
        """Choose from a page, too, that was fetched for the first time; None: by date only.

        That is so if there are too many crawls.
        """
        name = queue.place.crawl
        if name not in self._crawls:
            if len(self._crawls) >= _LEARNING_CRAWLS:
                return None
            self._crawls[name] = _Crawl()
        crawl = self._crawls[name]
        page = crawl.number(url_id, queue)
        crawl.revisits.add([page_of(page, url, queue.place.key, now)])
        return self._wait(name, page, date if self._keep_dates else 0, date, now)

    def report(self, queue: Queue, page: int, report: Report, date: int, now: float) -> "Kept":
        """Learn from the report of a page."""
        queue.line.pop(page, None)
        revisits = self._crawls[queue.place.crawl].revisits
        revisits.observe(page, report.outcome, now, report.last_changed_at)
        rests = self._keep_dates or report.outcome in (Outcome.FAILED, Outcome.GONE)
        return self._wait(queue.place.crawl, page, date if rests else 0, date, now)

    def _wait(self, name: str, page: int, rests_until: int, date: int, now: float) -> "Kept":
        crawl = self._crawls[name]
        if rests_until:
            crawl.revisits.rest(page, rests_until)
        crawl.revisits.wait(page, now, date)
        crawl.unsaved.add(page)
        self._unsaved.add(name)
        return Kept(page, rests_until)

    def discard(self, queue: Queue, pages: Iterable[int]) -> None:
        """Forget pages of a queue."""
        gone = list(pages)
        if not gone:
            return
        name = queue.place.crawl
        crawl = self._crawls[name]
        crawl.revisits.discard(gone)
        for page in gone:
            queue.line.pop(page, None)
            crawl.pages[page] = None
        crawl.free += gone
        crawl.unsaved.difference_update(gone)
        self._unsaved.add(name)
        self._store.write_all(
            "DELETE FROM learned WHERE crawl = ? AND page = ?", [(name, page) for page in gone]
        )

    def forget(self, name: str) -> None:
        """Forget all that was learned of a crawl, which has no pages any more."""
        self._crawls.pop(name, None)
        self._unsaved.discard(name)
        for table in ("learned", "learned_shared", "visits"):
            self._store.write(f"DELETE FROM {table} WHERE crawl = ?", (name,))

    def choose(self, name: str | None, now: float) -> None:
        """Choose pages of a crawl (None: of all) as far as visits are saved up.

        They come into the lines of their queues.
        """
        for one in [*self._crawls] if name is None else [name]:
            if one in self._crawls:
                self._choose(one, self._crawls[one], now)

    def _choose(self, name: str, crawl: _Crawl, now: float) -> None:
        def accept(page: int) -> float | None:
            _, queue = crawl.place(page)
            if len(queue.line) < _LONGEST_LINE:
                return None
            delay = self._queues.default_delay if queue.delay is None else queue.delay
            return now + max(delay, 1) * len(queue.line)

        chosen: list[tuple[int]] = []
        for page in crawl.revisits.choose(now, _CHOSEN_AT_ONCE, accept):
            url_id, queue = crawl.place(page)
            queue.line[page] = None
            if len(queue.line) == 1:
                self._queues.wake(queue)
            chosen.append((url_id,))
        if chosen:
            self._store.write_all("UPDATE url SET chosen = 1 WHERE id = ?", chosen)
            self._unsaved.add(name)  # fewer visits are saved up

    def best_in_line(self, queue: Queue, count: int, now: float) -> list[int]:
        """The rows of up to so many pages in the line of a queue, the largest index first."""
        waiting = list(queue.line)
        if not waiting or count <= 0:
            return []
        crawl = self._crawls[queue.place.crawl]
        best: list[int] = []
        while len(waiting) > count and len(best) < count:
            best.append(crawl.revisits.best(waiting, now))
            waiting.remove(best[-1])
        # If all are wanted: they were chosen in this order.
        return [crawl.place(page)[0] for page in best or waiting]

    def save(self) -> None:
        """Write down what was learned since the last time."""
        for name in self._unsaved:
            crawl = self._crawls[name]
            self._store.write(
                "INSERT OR REPLACE INTO visits VALUES (?, ?, ?)",
                (name, crawl.revisits.saved, crawl.revisits.saved_at),
            )
            self._store.save_learned(name, crawl.revisits.learned([*crawl.unsaved]))
            crawl.unsaved.clear()
        self._unsaved.clear()

    def load(self, queues: Mapping[int, Queue]) -> None:
        """Take up the pages in the file, and what was learned of them."""
        found: dict[str, list[_Stored]] = {}
        for row in self._store.rows(
            "SELECT id, queue, url, page, chosen, rests_until, leased_until > 0, reported_at,"
            " refetch_at FROM url WHERE state = 2 AND page IS NOT NULL"
        ):
            found.setdefault(queues[row[1]].place.crawl, []).append(_Stored(*row))
        for name, stored in found.items():
            self._crawls[name] = self._loaded(name, stored, queues)

    def _loaded(self, name: str, stored: list[_Stored], queues: Mapping[int, Queue]) -> _Crawl:
        crawl = _Crawl()
        revisits = crawl.revisits
        crawl.pages = [None] * (max(one.page for one in stored) + 1)
        for one in stored:
            crawl.pages[one.page] = one.id, queues[one.queue]
        crawl.free = [page for page, place in enumerate(crawl.pages) if place is None]
        revisits.add(
            [
                page_of(one.page, one.url, queues[one.queue].place.key, one.reported_at)
                for one in stored
            ]
        )
        try:
            learned = self._store.load_learned(name)
            if learned is not None:
                revisits.load(not_after(learned, max(one.reported_at for one in stored)))
        except StateError as error:
            _LOG.warning("crawl %s: it is learned anew, as %s", name, error)
        saved = self._store.row("SELECT saved, saved_at FROM visits WHERE crawl = ?", (name,))
        if saved is not None:
            revisits.saved, revisits.saved_at = saved
        for one in stored:
            if one.rests_until:
                revisits.rest(one.page, one.rests_until)
            if not one.chosen:
                revisits.go_on_saving(one.page, one.reported_at, one.refetch_at)
                continue
            revisits.chosen.add(one.page)
            if not one.is_out:
                queues[one.queue].line[one.page] = None
        return crawl


class Kept(NamedTuple):
    """What is stored of a page that the policy chooses from."""

    page: int
    rests_until: int


def page_of(page: int, url: str, key: str, reported_at: float) -> Page:
    """A URL as the policy knows it: its site is its host, its politeness that of its queue, `key`.

    `page` is its number there, `reported_at` the time of its latest report.
    """
    return Page(
        page, url, scope=key, site=host_of(url) or key, kind=kind_of(url), seen_at=reported_at
    )
