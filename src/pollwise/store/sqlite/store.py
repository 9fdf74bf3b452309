"""The store of the live daemon: one SQLite file.

Durability: a commit that returned is on the disk (WAL, `synchronous = FULL`, one fsync each): it
survives both the death of the process and a power loss. A commit that did not return is there as
a whole or not at all.
"""

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Self

from pollwise.errors import InputError, StoreError
from pollwise.events import Event, decode, encode
from pollwise.store.records import (
    Batch,
    Document,
    Fetched,
    Hit,
    NewPage,
    PageRecord,
    Run,
    StoredVersion,
    Totals,
)
from pollwise.store.sqlite.bodies import unpack_body
from pollwise.store.sqlite.collection import (
    read_documents,
    read_history,
    read_terms,
    save_discoveries,
    save_new_pages,
    settle,
)
from pollwise.store.sqlite.connection import Connection
from pollwise.store.sqlite.database import (
    check_usable,
    lock_for_writing,
    open_for_reading,
    open_for_writing,
    reported,
)
from pollwise.store.sqlite.learning import read_learned, save_learned
from pollwise.store.sqlite.polls import save_poll
from pollwise.store.sqlite.queries import SQL
from pollwise.store.sqlite.rows import observation, page_record, page_values, stored_version
from pollwise.store.sqlite.search import count_matches, search
from pollwise.types import Observation, Page, StateDict

__all__ = ["Store"]

_EVENTS_AT_ONCE = 1000


class Store:
    """Pages, learned state, event log and page versions in one SQLite file.

    One process at a time has it open for writing (`open`); any number read it meanwhile
    (`open_readonly`), also in the same process. A `Store` may be used from any thread, by one
    thread at a time: let one thread make all calls of a writer, and give readers their own
    `Store`. Each call sees one consistent state of the file.

    Every call raises `StoreError`, one line that names file, cause and mend, where the file
    cannot be read or written; what was not committed then is not there, and the `Store` can be
    used on. Times are UTC seconds since 1970.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, lock: int | None) -> None:
        self._path = path
        self._connection = Connection(path, connection)
        self._lock = lock
        self._run_id: int | None = None

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """The only writer of this file; a new or empty file becomes a database, an older one is
        converted.

        `StoreError` where another process has it open for writing, where it is the file of
        another program (which is left as it is) and where it cannot be written;
        `StoreVersionError` where a later version of pollwise wrote it.
        """
        place = Path(os.path.realpath(path))
        with reported(place):
            check_usable(place)
            lock = lock_for_writing(place)
            try:
                return cls(place, open_for_writing(place), lock)
            except BaseException:
                os.close(lock)
                raise

    @classmethod
    def open_readonly(cls, path: str | os.PathLike[str]) -> Self:
        """A reader; a writer may be at work. Calls that write raise `StoreError`.

        `StoreError` where there is no such database, or where the folder cannot hold the files
        that SQLite needs beside it; `StoreVersionError` where another version of pollwise wrote
        it.
        """
        place = Path(os.path.realpath(path))
        with reported(place):
            return cls(place, open_for_reading(place), None)

    @property
    def path(self) -> Path:
        """Where the file is, symbolic links resolved."""
        return self._path

    def close(self) -> None:
        """End the use of the file; closing twice is no error."""
        self._connection.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def add_pages(self, pages: Sequence[NewPage], now: float) -> list[Page]:
        """Watch these pages; the answer gives them their ids, in the order given.

        A url that is watched already keeps its id and history, and takes the new scope, weight
        and cost. A url that was removed gets a new id. `InputError` where a weight or cost is
        not finite.
        """
        added = []
        with self._connection.transaction() as connection:
            next_id: int = connection.execute(SQL["next_page_id"]).fetchone()[0]
            for new in pages:
                values = page_values(new, now)
                known = connection.execute(SQL["live_page_by_url"], values).fetchone()
                page_id = next_id if known is None else page_record(known).page.id
                next_id += known is None
                statement = SQL["insert_page"] if known is None else SQL["update_page"]
                connection.execute(statement, {"id": page_id, **values})
                row = connection.execute(SQL["live_page_by_url"], values).fetchone()
                added.append(page_record(row).page)
        return added

    def remove_pages(self, page_ids: Sequence[int], now: float) -> None:
        """Watch these pages no longer, and forget what was learned of them; their versions stay.

        Ids that are unknown or removed already are ignored.
        """
        with self._connection.transaction() as connection:
            for page_id in page_ids:
                connection.execute(SQL["remove_page"], {"id": page_id, "removed_at": now})
                connection.execute(SQL["forget_page"], {"id": page_id})
                settle(connection, self._path, page_id)

    def pages(self) -> list[PageRecord]:
        """All watched pages, by id."""
        return [page_record(row) for row in self._connection.rows("live_pages")]

    def find_page(self, url: str) -> PageRecord | None:
        """The watched page of exactly this url, if there is one."""
        rows = self._connection.rows("live_page_by_url", url=url)
        return page_record(rows[0]) if rows else None

    def next_page_id(self) -> int:
        """The id of the next new page: one more than the largest ever given."""
        page_id: int = self._connection.rows("next_page_id")[0][0]
        return page_id

    def totals(self) -> Totals:
        """What the store holds, counted in one query that reads the table of pages once."""
        return Totals(*self._connection.rows("totals")[0])

    def commit(self, batch: Batch) -> None:
        """Keep a batch in one transaction: when this returns, all of it is on the disk.

        An observation older than the latest one of its page is counted and changes nothing else
        of the page. Learned rows of pages that are removed, or unknown, are left out. A page that
        is gone is found by `search` no longer, until a poll finds it again.
        `InputError` for a poll or the content of a page that was never added, a version that is
        another page's, a new page whose id is not the next one or whose url is watched already,
        or events before `start_run`; `StateError` for learned arrays that do not fit together.
        Then nothing is kept.
        """
        with self._connection.transaction() as connection:
            save_new_pages(connection, [new for d in batch.discovered for new in d.new_pages])
            for poll in batch.polls:
                save_poll(connection, self._path, poll)
                settle(connection, self._path, poll.observation.page_id)
            for discoveries in batch.discovered:
                save_discoveries(connection, self._path, discoveries)
            for name, data in batch.states.items():
                connection.execute(SQL["save_state"], {"name": name, "data": data})
            if batch.learned is not None:
                save_learned(connection, batch.learned)
            if batch.scheduler is not None:
                connection.execute(SQL["save_scheduler"], {"state": batch.scheduler})
            if batch.events:
                if self._run_id is None:
                    raise InputError("events belong to a run: call start_run first")
                connection.executemany(
                    SQL["insert_event"],
                    [{"run_id": self._run_id, "line": encode(event)} for event in batch.events],
                )

    def history(self) -> Iterator[Fetched]:
        """The collected pages, in the order in which they were collected first, with their
        present relevance and links; without removed pages.

        With `pages`, it is what a request controller needs to go on after a restart. A link may
        lead to a removed page. Read bit by bit.
        """
        return read_history(self._connection)

    def terms(self) -> Iterator[tuple[int, bytes]]:
        """The packed terms of all collected pages with their ids, read bit by bit."""
        return read_terms(self._connection)

    def state(self, name: str) -> bytes | None:
        """What the latest batch that had a state of this name kept; None: there was none."""
        rows = self._connection.rows("state", name=name)
        return rows[0][0] if rows else None

    def search(self, query: str, limit: int = 10, offset: int = 0) -> list[Hit]:
        """The collected pages that hold these words, best first, from the `offset`-th (from 0) on.

        What a query may say, and how hits are ranked: see `pollwise.store.sqlite.search`.
        `InputError` for a query without a word to look for, and for more than 10,000 hits at once.
        """
        return search(self._connection, query, limit, offset)

    def count_matches(self, query: str) -> int:
        """The number of pages that `search` finds by this query; `InputError` as there."""
        return count_matches(self._connection, query)

    def searchable_pages(self) -> int:
        """The number of pages that `search` can find."""
        count: int = self._connection.rows("searchable_pages")[0][0]
        return count

    def documents(self, min_relevance: float | None = None) -> Iterator[Document]:
        """The pages that were seen, by id, for an export; without removed pages.

        With `min_relevance`, only those that are so relevant. Read bit by bit.
        """
        return read_documents(self._connection, min_relevance)

    def revisits(self, page_id: int) -> list[float]:
        """When polls found the body of the version before, byte for byte, oldest first.

        Of the 50 latest polls of the page, as for `recent_outcomes`.
        """
        return [time for (time,) in self._connection.rows("revisits", page_id=page_id)]

    def snapshot(self) -> AbstractContextManager[None]:
        """Within this context all that is read is of one state of the file.

        A writer may be at work meanwhile; its `-wal` file grows until the context ends.
        """
        return self._connection.snapshot()

    def load_learned(self) -> StateDict | None:
        """What was learned of all watched pages that were ever committed, for
        `Policy.load_state_dict`; None where nothing was.

        `StateError` where pages were learned by policies with different arrays: the mend is
        `forget_learned`.
        """
        return read_learned(self._connection)

    def has_learned(self) -> bool:
        """Whether anything was learned, by whatever policy."""
        return bool(self._connection.rows("learned_layouts"))

    def forget_learned(self) -> None:
        """Drop all that was learned, such as before another policy takes over."""
        with self._connection.transaction() as connection:
            connection.execute(SQL["clear_learned_pages"])
            connection.execute(SQL["clear_learned_layouts"])
            connection.execute(SQL["clear_learned_shared"])

    def scheduler_state(self) -> str | None:
        """The scheduler's state in the latest batch that gave one (a JSON text)."""
        rows = self._connection.rows("scheduler_state")
        return rows[0][0] if rows else None

    def start_run(
        self, now: float, settings: Mapping[str, object], initial_state: bytes | None
    ) -> int:
        """Begin a run, to which the events of the batches from now on belong; its id.

        `settings` (values that JSON can hold) and `initial_state` are what it takes to re-run the
        events (None: that is not to be); the store does not look into them. A long-lived daemon
        may begin a new run now and then, so that the log of the older ones can be pruned.
        """
        values = {
            "started_at": now,
            "settings": json.dumps(dict(settings)),
            "initial_state": initial_state,
        }
        with self._connection.transaction() as connection:
            run_id = connection.execute(SQL["insert_run"], values).lastrowid
        assert run_id is not None  # it was an INSERT
        self._run_id = run_id
        return run_id

    def runs(self) -> list[Run]:
        """All runs, oldest first, also those whose events were pruned."""
        return [
            Run(run_id, started_at, json.loads(settings))
            for run_id, started_at, settings in self._connection.rows("runs")
        ]

    def initial_state(self, run_id: int) -> bytes:
        """The state that `start_run` was given; `InputError` where the run is unknown or pruned."""
        for (state,) in self._connection.rows("initial_state", run_id=run_id):
            if state is not None:
                return bytes(state)
        raise InputError(f"{self._path} has no run {run_id}, or its event log was pruned")

    def events(self, run_id: int) -> Iterator[Event]:
        """The event log of a run, in order, read bit by bit; empty where it was pruned.

        Events that are committed meanwhile are given too. `InputError` for a line that is no
        event.
        """
        seq = -1
        while rows := self._connection.rows(
            "events_after", run_id=run_id, seq=seq, limit=_EVENTS_AT_ONCE
        ):
            yield from (decode(line) for _, line in rows)
            seq = rows[-1][0]

    def prune_events(self, keep_runs: int) -> None:
        """Drop events and initial states of all but the `keep_runs` newest runs (at least 1)."""
        if keep_runs < 1:
            raise InputError(f"keep_runs is {keep_runs}; expected at least 1, the current run")
        with self._connection.transaction() as connection:
            oldest = connection.execute(SQL["oldest_kept_run"], {"kept": keep_runs}).fetchone()[0]
            connection.execute(SQL["prune_events"], {"run_id": oldest})
            connection.execute(SQL["prune_initial_states"], {"run_id": oldest})

    def recent_outcomes(self, page_id: int, limit: int = 10) -> list[Observation]:
        """The latest polls of a page, newest first; the store keeps 50 of each page."""
        rows = self._connection.rows("recent_polls", page_id=page_id, limit=limit)
        return [observation(row) for row in rows]

    def outcomes(self) -> list[tuple[int, float, bool]]:
        """Page, time and whether it found a change of the kept polls that found the page.

        Of the watched pages, by page and time.
        """
        return [
            (page, time, bool(changed)) for page, time, changed in self._connection.rows("outcomes")
        ]

    def versions(self, page_id: int) -> list[StoredVersion]:
        """The versions of a page, also a removed one, oldest first."""
        return [stored_version(row) for row in self._connection.rows("versions", page_id=page_id)]

    def body(self, body_hash: str) -> bytes:
        """The body of a version; `InputError` where there is none of this hash."""
        rows = self._connection.rows("content", hash=body_hash)
        if not rows:
            raise InputError(f"{self._path} has no body with the hash {body_hash!r}")
        try:
            return unpack_body(*rows[0])
        except ValueError as error:
            raise StoreError(
                f"{self._path}: the body {body_hash} is damaged ({error}): restore a copy"
            ) from error
