"""Writing to the tables of a store."""

import json
import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from pollwise.child_processes import usable_cores
from pollwise.errors import InputError
from pollwise.events import encode
from pollwise.store.records import (
    Batch,
    ClockSetBack,
    Discoveries,
    Discovery,
    NewPage,
    PollResult,
    StoredReceiver,
    StoredSubscription,
)
from pollwise.store.retention import AGES_COUNT_AFTER, KEEP_ALL, LONG_AWAY, Retention
from pollwise.store.store import Store
from pollwise.store.tables.connection import Connection, Writer
from pollwise.store.tables.learned import save_learned
from pollwise.store.tables.polls import save_masks, save_poll, save_polls
from pollwise.store.tables.pruning import drop_runs_before, drop_versions, log_events
from pollwise.store.tables.reader import CHANGED_SETTINGS, TableReader
from pollwise.store.tables.receivers import save_receiver
from pollwise.store.tables.requests import TableRequests
from pollwise.store.tables.rows import new_page, page_values
from pollwise.store.tables.subscriptions import drop_subscription, save_subscriptions
from pollwise.store.tables.times import note_time, set_back
from pollwise.types import Page, PageMemory, StateDict, has_same_parts

__all__ = ["TableStore"]

T = TypeVar("T")

_VERY_MANY = 300_000
"""Pages that are read sooner by several processes, each of which takes half a second to begin."""
_BEHIND_ALL = 2**31
"""Above the ids of all pages, unless they are damaged."""
_AGES_COUNT_FROM = "ages count from"
"""The name of a state: it outlasts the runs of a week."""
_MOST_PROCESSES = 4
"""They take 100 MB each, and more would soon wait for the one that puts all together."""


class TableStore(TableReader, TableRequests, Store):
    """A `Store` by a connection to a database, but for its opening and what is of collections."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._run_id: int | None = None
        self._retention = KEEP_ALL
        self._stored_until: float | None = None
        """The latest time of what was stored before, and of polls since; None: not read yet."""
        self._ages_count_from = -math.inf

    def _parts_of_all(self, read: Callable[[TableReader, int, int], Iterator[T]]) -> Iterator[T]:
        """Several processes may read very many pages, if nobody else changes them meanwhile."""
        processes, behind = min(usable_cores(), _MOST_PROCESSES), self.next_page_id()
        is_worth_it = processes > 1 and _VERY_MANY <= behind <= _BEHIND_ALL
        if not is_worth_it or not self._connection.is_writer:
            return super()._parts_of_all(read)
        # Here, as few have so many pages.
        from pollwise.store.tables.side_by_side import read_side_by_side

        return read_side_by_side(self, read, behind, processes)

    def add_pages(self, pages: Sequence[NewPage], now: float) -> list[Page]:
        with self._connection.transaction() as writer:
            self._note_time(writer, now)
            found = self.find_pages([page.url for page in pages])
            watched = {url: record.page for url, record in found.items()}
            new, others = dict[str, NewPage](), list[NewPage]()
            for page in pages:
                if page.url in watched or page.url in new:
                    others.append(page)
                else:
                    new[page.url] = page
            numbered = list(enumerate(new.values(), self.next_page_id()))
            # A few rows at a time: those of a million would be larger than all pages.
            writer.execute_all(
                "insert_page",
                ({"id": page_id, **page_values(page, now)} for page_id, page in numbered),
            )
            watched |= {page.url: new_page(page_id, page) for page_id, page in numbered}
            for page in others:
                watched[page.url] = self._update(writer, watched[page.url], page, now)
        return [watched[page.url] for page in pages]

    def _update(self, writer: Writer, known: Page, told: NewPage, now: float) -> Page:
        """Write what is told of a page that is watched; the page as it is then."""
        values = {"id": known.id, **page_values(told, now, known)}
        writer.execute("update_page", values)
        [record] = self._records("live_pages_by_url", urls=json.dumps([told.url]))
        if not has_same_parts(known, record.page):
            writer.execute("forget_copy", {"id": known.id})
        return record.page

    def remove_pages(self, page_ids: Sequence[int], now: float) -> None:
        with self._connection.transaction() as writer:
            for page_id in page_ids:
                values = {"id": page_id, "removed_at": now}
                if writer.execute("remove_page", values).rowcount:
                    self._note_time(writer, now)
                writer.execute("forget_page", {"id": page_id})
                drop_subscription(writer, page_id)
            self._settle(writer, page_ids)

    def set_back_times(self, now: float) -> ClockSetBack | None:
        before, self._ages_count_from = self._known_until(), self._kept_ages_count_from()
        if before > 0.0 and now - before > LONG_AWAY:
            self._ages_count_from = now + AGES_COUNT_AFTER
            data = repr(self._ages_count_from).encode()
            with self._connection.transaction() as writer:
                writer.execute("save_state", {"name": _AGES_COUNT_FROM, "data": data})
        elif self._ages_count_from > now + AGES_COUNT_AFTER:  # the clock was ahead
            self._ages_count_from = -math.inf
            with self._connection.transaction() as writer:
                writer.execute("drop_state", {"name": _AGES_COUNT_FROM})
        self._stored_until = now
        return set_back(self._connection, now)

    def _kept_ages_count_from(self) -> float:
        data = self.state(_AGES_COUNT_FROM)
        try:
            return -math.inf if data is None else float(data)
        except ValueError as error:
            raise self._connection.damaged(f"the time from which ages count: {error}") from error

    def _known_until(self) -> float:
        """The latest time of what was stored before this store wrote anything, and of its polls."""
        if self._stored_until is None:
            self._stored_until = self.latest_time()
        return self._stored_until

    def _note_time(self, writer: Writer, at: float) -> None:
        self._known_until()
        note_time(writer, at)

    @property
    def ages_count_from(self) -> float:
        return self._ages_count_from

    def import_checks(self, checks: Sequence[PollResult], learned: StateDict) -> None:
        with self._connection.transaction() as writer:
            self._note_time(
                writer, max((poll.observation.polled_at for poll in checks), default=0.0)
            )
            for check in checks:
                save_poll(writer, self.path, check, is_told=False)
            save_learned(writer, learned)

    def start_run(
        self, now: float, settings: Mapping[str, object], initial_state: bytes | None
    ) -> int:
        values = {
            "started_at": now,
            "settings": json.dumps(dict(settings)),
            "initial_state": initial_state,
        }
        with self._connection.transaction() as writer:
            self._note_time(writer, now)
            [(run_id,)] = writer.execute("insert_run", values).fetchall()
            writer.execute("drop_state", {"name": CHANGED_SETTINGS})
        self._run_id = run_id
        number: int = run_id
        return number

    def change_settings(self, told: Mapping[str, object]) -> None:
        with self._connection.transaction() as writer:
            data = json.dumps({**self.changed_settings(), **told}).encode()
            writer.execute("save_state", {"name": CHANGED_SETTINGS, "data": data})

    def commit(self, batch: Batch) -> None:
        with self._connection.transaction() as writer:
            self._note_time(writer, _latest_time(batch))
            self._save_new_pages(writer, [new for d in batch.discovered for new in d.new_pages])
            save_polls(writer, self.path, batch.polls)
            self._settle(writer, [poll.observation.page_id for poll in batch.polls])
            for page_id, memory in batch.remembered.items():
                save_masks(writer, page_id, memory)
            self._save_discoveries(writer, batch.discovered)
            for name, data in batch.states.items():
                writer.execute("save_state", {"name": name, "data": data})
            if batch.learned is not None:
                save_learned(writer, batch.learned)
            if batch.scheduler is not None:
                writer.execute("save_scheduler", {"state": batch.scheduler})
            if batch.events:
                if self._run_id is None:
                    raise InputError("events belong to a run: call start_run first")
                log_events(writer, self._run_id, [encode(event) for event in batch.events])
            if self._retention != KEEP_ALL and batch.polls:
                now, kept = _latest_time(batch), self._retention
                if now < self._ages_count_from:
                    kept = replace(kept, age=None)
                polled = {poll.observation.page_id for poll in batch.polls}
                drop_versions(writer, kept, polled, now)
        self._stored_until = max(self._known_until(), _latest_time(batch))

    def prune_events(self, keep_runs: int) -> None:
        if keep_runs < 1:
            raise InputError(f"keep_runs is {keep_runs}; expected at least 1, the current run")
        with self._connection.transaction() as writer:
            oldest = writer.execute("oldest_kept_run", {"kept": keep_runs}).fetchone()[0]
            if oldest is not None:
                drop_runs_before(writer, oldest)

    def save_masks(self, page_id: int, memory: PageMemory) -> None:
        with self._connection.transaction() as writer:
            save_masks(writer, page_id, memory)

    def mark_read(self, seqs: Sequence[int] = (), *, up_to: int = 0, read: bool = True) -> int:
        with self._connection.transaction() as writer:
            marked = sum(
                writer.execute("mark_change", {"seq": seq, "read": read}).rowcount for seq in seqs
            )
            if up_to:
                marked += writer.execute("mark_changes_up_to", {"seq": up_to}).rowcount
        return marked

    def save_receiver(self, receiver: StoredReceiver) -> None:
        with self._connection.transaction() as writer:
            save_receiver(writer, receiver)

    def save_subscriptions(self, subscriptions: Sequence[StoredSubscription]) -> None:
        with self._connection.transaction() as writer:
            save_subscriptions(writer, subscriptions)

    def drop_subscriptions(self, page_ids: Sequence[int]) -> None:
        with self._connection.transaction() as writer:
            for page_id in page_ids:
                drop_subscription(writer, page_id)

    def keep_versions(self, retention: Retention) -> None:
        self._retention = retention

    def forget_learned(self) -> None:
        with self._connection.transaction() as writer:
            writer.execute("clear_learned_pages")
            writer.execute("clear_learned_layouts")
            writer.execute("clear_learned_shared")

    @abstractmethod
    def _save_new_pages(self, writer: Writer, new_pages: Sequence[Discovery]) -> None:
        """Add the pages that a collection discovered."""

    @abstractmethod
    def _save_discoveries(self, writer: Writer, discovered: Sequence[Discoveries]) -> None:
        """Write what polls meant for a collection, except their new pages."""

    @abstractmethod
    def _settle(self, writer: Writer, page_ids: Iterable[int]) -> None:
        """Have these pages found by their texts, or not, as they were polled or removed."""


def _latest_time(batch: Batch) -> float:
    """The latest time of this machine's clock in the rows of a batch."""
    found = [new.found_at for d in batch.discovered for new in d.new_pages]
    polled = [poll.observation.polled_at for poll in batch.polls]
    seen = [poll.version.seen_at for poll in batch.polls if poll.version is not None]
    return max([*found, *polled, *seen], default=-math.inf)
