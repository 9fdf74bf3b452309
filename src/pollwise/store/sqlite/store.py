"""The store in one SQLite file.

A commit that returned is on the disk (WAL, `synchronous = FULL`, one fsync each) and survives the
death of the process and a power loss. A commit that did not return is there as a whole or not at
all.
"""

import json
import math
import os
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from pollwise.errors import InputError
from pollwise.events import encode
from pollwise.store.records import (
    Batch,
    ClockSetBack,
    NewPage,
    PollResult,
    StoredReceiver,
    StoredSubscription,
)
from pollwise.store.retention import KEEP_ALL, Retention
from pollwise.store.sqlite.collection import save_discoveries, save_new_pages, settle
from pollwise.store.sqlite.connection import Connection
from pollwise.store.sqlite.creation import lock_for_writing
from pollwise.store.sqlite.database import (
    check_readable,
    check_usable,
    open_for_reading,
    open_for_writing,
)
from pollwise.store.sqlite.failures import undamaged_database
from pollwise.store.sqlite.learned import save_learned
from pollwise.store.sqlite.lock import FileUse, no_older_writer
from pollwise.store.sqlite.polls import save_masks, save_poll, save_polls
from pollwise.store.sqlite.pruning import drop_runs_before, drop_versions, log_events
from pollwise.store.sqlite.queries import SQL
from pollwise.store.sqlite.reader import CHANGED_SETTINGS, SqliteReader
from pollwise.store.sqlite.receivers import save_receiver
from pollwise.store.sqlite.requests import SqliteRequests
from pollwise.store.sqlite.rows import new_page, page_values
from pollwise.store.sqlite.subscriptions import drop_subscription, save_subscriptions
from pollwise.store.sqlite.times import note_time, set_back
from pollwise.types import Page, PageMemory, StateDict, has_same_parts

__all__ = ["Store"]


class Store(SqliteReader, SqliteRequests):
    """Pages, learned state, event log and page versions in one SQLite file.

    One process at a time has it open for writing (`open`); any number read it meanwhile
    (`open_readonly`), even in the same process. `StoreReader` and `StoreJournal` in
    `pollwise.store.base` say what the methods do.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, use: FileUse) -> None:
        super().__init__(Connection(path, connection))
        self._use: FileUse | None = use
        self._run_id: int | None = None
        self._retention = KEEP_ALL
        self.older_copy: Path | None = None
        """Where the database is kept as it was before it was converted now; None: it was not."""

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, durable: bool = True) -> Self:
        """The only writer of this file, which is created or converted if need be.

        Not `durable`: commits do not wait for the disk, and a power loss may damage the file.

        `StoreError` if another store, here or in another process, has it open for writing, if it is
        the file of another program (which is not changed) or if it cannot be written;
        `StoreVersionError` if a later version of pollwise wrote it.
        """
        place = Path(os.path.realpath(path))
        with undamaged_database(place), ExitStack() as undo:
            check_usable(place)
            use = lock_for_writing(place)
            undo.callback(use.release)
            with no_older_writer(place):
                connection, copy = open_for_writing(place)
            undo.callback(connection.close)
            if not durable:
                connection.execute("PRAGMA synchronous = OFF")
            use.confirm()
            undo.pop_all()
            store = cls(place, connection, use)
            store.older_copy = copy
            return store

    @classmethod
    def open_readonly(cls, path: str | os.PathLike[str]) -> Self:
        """A reader; a writer may be at work. Calls that write raise `StoreError`.

        `StoreError` if there is no such database, or the folder cannot hold the files that SQLite
        needs beside it; `StoreVersionError` if its format is that of another version of pollwise.
        """
        place = Path(os.path.realpath(path))
        with undamaged_database(place), ExitStack() as undo:
            check_readable(place)
            # First, or a writer of this process that closes now would end the reader's locks.
            use = FileUse.reading(place)
            undo.callback(use.release)
            connection = open_for_reading(place)
            undo.pop_all()
            return cls(place, connection, use)

    def close(self) -> None:
        """End the use of the file; closing twice is no error."""
        try:
            self._connection.close()
        finally:
            if self._use is not None:
                self._use.release()
                self._use = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add_pages(self, pages: Sequence[NewPage], now: float) -> list[Page]:
        with self._connection.transaction() as connection:
            note_time(connection, now)
            found = self.find_pages([page.url for page in pages])
            watched = {url: record.page for url, record in found.items()}
            next_id = self.next_page_id()
            rows, others = list[dict[str, object]](), list[NewPage]()
            for page in pages:
                if page.url in watched:
                    others.append(page)
                    continue
                page_id = next_id + len(rows)
                rows.append({"id": page_id, **page_values(page, now)})
                watched[page.url] = new_page(page_id, page)
            connection.executemany(SQL["insert_page"], rows)
            for page in others:
                watched[page.url] = self._update(connection, watched[page.url], page, now)
        return [watched[page.url] for page in pages]

    def _update(
        self, connection: sqlite3.Connection, known: Page, told: NewPage, now: float
    ) -> Page:
        """Write what is told of a page that is watched; the page as it is then."""
        values = {"id": known.id, **page_values(told, now, known)}
        connection.execute(SQL["update_page"], values)
        [record] = self._records("live_pages_by_url", urls=json.dumps([told.url]))
        if not has_same_parts(known, record.page):
            connection.execute(SQL["forget_copy"], {"id": known.id})
        return record.page

    def remove_pages(self, page_ids: Sequence[int], now: float) -> None:
        with self._connection.transaction() as connection:
            for page_id in page_ids:
                values = {"id": page_id, "removed_at": now}
                if connection.execute(SQL["remove_page"], values).rowcount:
                    note_time(connection, now)
                connection.execute(SQL["forget_page"], {"id": page_id})
                drop_subscription(connection, page_id)
                settle(connection, self.path, page_id)

    def set_back_times(self, now: float) -> ClockSetBack | None:
        return set_back(self._connection, now)

    def import_checks(self, checks: Sequence[PollResult], learned: StateDict) -> None:
        with self._connection.transaction() as connection:
            note_time(connection, max((poll.observation.polled_at for poll in checks), default=0.0))
            for check in checks:
                save_poll(connection, self.path, check, is_told=False)
            save_learned(connection, learned)

    def start_run(
        self, now: float, settings: Mapping[str, object], initial_state: bytes | None
    ) -> int:
        values = {
            "started_at": now,
            "settings": json.dumps(dict(settings)),
            "initial_state": initial_state,
        }
        with self._connection.transaction() as connection:
            note_time(connection, now)
            run_id = connection.execute(SQL["insert_run"], values).lastrowid
            connection.execute(SQL["drop_state"], {"name": CHANGED_SETTINGS})
        assert run_id is not None  # it was an INSERT
        self._run_id = run_id
        return run_id

    def change_settings(self, told: Mapping[str, object]) -> None:
        with self._connection.transaction() as connection:
            data = json.dumps({**self.changed_settings(), **told}).encode()
            connection.execute(SQL["save_state"], {"name": CHANGED_SETTINGS, "data": data})

    def commit(self, batch: Batch) -> None:
        with self._connection.transaction() as connection:
            note_time(connection, _latest_time(batch))
            save_new_pages(connection, [new for d in batch.discovered for new in d.new_pages])
            save_polls(connection, self.path, batch.polls)
            for page_id, memory in batch.remembered.items():
                save_masks(connection, page_id, memory)
            for discoveries in batch.discovered:
                save_discoveries(connection, self.path, discoveries)
            for name, data in batch.states.items():
                connection.execute(SQL["save_state"], {"name": name, "data": data})
            if batch.learned is not None:
                save_learned(connection, batch.learned)
            if batch.scheduler is not None:
                connection.execute(SQL["save_scheduler"], {"state": batch.scheduler})
            if batch.events:
                if self._run_id is None:
                    raise InputError("events belong to a run: call start_run first")
                log_events(connection, self._run_id, [encode(event) for event in batch.events])
            if self._retention != KEEP_ALL and batch.polls:
                polled = {poll.observation.page_id for poll in batch.polls}
                drop_versions(connection, self._retention, polled, _latest_time(batch))

    def prune_events(self, keep_runs: int) -> None:
        if keep_runs < 1:
            raise InputError(f"keep_runs is {keep_runs}; expected at least 1, the current run")
        with self._connection.transaction() as connection:
            oldest = connection.execute(SQL["oldest_kept_run"], {"kept": keep_runs}).fetchone()[0]
            if oldest is not None:
                drop_runs_before(connection, oldest)

    def save_masks(self, page_id: int, memory: PageMemory) -> None:
        with self._connection.transaction() as connection:
            save_masks(connection, page_id, memory)

    def mark_read(self, seqs: Sequence[int] = (), *, up_to: int = 0, read: bool = True) -> int:
        with self._connection.transaction() as connection:
            marked = sum(
                connection.execute(SQL["mark_change"], {"seq": seq, "read": read}).rowcount
                for seq in seqs
            )
            if up_to:
                marked += connection.execute(SQL["mark_changes_up_to"], {"seq": up_to}).rowcount
        return marked

    def save_receiver(self, receiver: StoredReceiver) -> None:
        with self._connection.transaction() as connection:
            save_receiver(connection, receiver)

    def save_subscriptions(self, subscriptions: Sequence[StoredSubscription]) -> None:
        with self._connection.transaction() as connection:
            save_subscriptions(connection, subscriptions)

    def drop_subscriptions(self, page_ids: Sequence[int]) -> None:
        with self._connection.transaction() as connection:
            for page_id in page_ids:
                drop_subscription(connection, page_id)

    def keep_versions(self, retention: Retention) -> None:
        self._retention = retention

    def forget_learned(self) -> None:
        with self._connection.transaction() as connection:
            connection.execute(SQL["clear_learned_pages"])
            connection.execute(SQL["clear_learned_layouts"])
            connection.execute(SQL["clear_learned_shared"])


def _latest_time(batch: Batch) -> float:
    """The latest time of this machine's clock in the rows of a batch."""
    found = [new.found_at for d in batch.discovered for new in d.new_pages]
    polled = [poll.observation.polled_at for poll in batch.polls]
    seen = [poll.version.seen_at for poll in batch.polls if poll.version is not None]
    return max([*found, *polled, *seen], default=-math.inf)
