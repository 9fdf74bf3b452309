"""The store of the live daemon: one SQLite file.

Durability: a commit that returned is on the disk (WAL, `synchronous = FULL`, one fsync each): it
survives both the death of the process and a power loss. A commit that did not return is there as
a whole or not at all.
"""

import contextlib
import json
import math
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pollwise.errors import InputError, StateError, StoreError
from pollwise.events import Event, decode, encode
from pollwise.store.bodies import pack_body, unpack_body
from pollwise.store.database import (
    check_usable,
    lock_for_writing,
    open_for_reading,
    open_for_writing,
    reported,
)
from pollwise.store.learned import pack_rows, pack_shared, unpack_rows, unpack_shared
from pollwise.store.queries import SQL
from pollwise.store.records import (
    Batch,
    NewPage,
    PageRecord,
    PollResult,
    Run,
    StoredVersion,
    Totals,
)
from pollwise.store.rows import observation, page_record, poll_values, storable, stored_version
from pollwise.types import Observation, Page, StateDict, Version

__all__ = ["Store"]

_KEPT_POLLS = 50
"""Polls of each page that are kept for explanations; the event log has them all."""

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
        self._connection = connection
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
        with reported(self._path):
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
        with self._transaction() as connection:
            next_id: int = connection.execute(SQL["next_page_id"]).fetchone()[0]
            for new in pages:
                if not (math.isfinite(new.weight) and math.isfinite(new.cost)):
                    raise InputError(
                        f"{new.url}: weight {new.weight} and cost {new.cost} must be finite"
                    )
                values = {
                    "url": new.url,
                    "scope": new.scope,
                    "weight": new.weight,
                    "cost": new.cost,
                    "added_at": now,
                }
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
        with self._transaction() as connection:
            for page_id in page_ids:
                connection.execute(SQL["remove_page"], {"id": page_id, "removed_at": now})
                connection.execute(SQL["forget_page"], {"id": page_id})

    def pages(self) -> list[PageRecord]:
        """All watched pages, by id."""
        return [page_record(row) for row in self._rows("live_pages")]

    def find_page(self, url: str) -> PageRecord | None:
        """The watched page of exactly this url, if there is one."""
        rows = self._rows("live_page_by_url", url=url)
        return page_record(rows[0]) if rows else None

    def totals(self) -> Totals:
        """What the store holds, counted in one query that reads the table of pages once."""
        return Totals(*self._rows("totals")[0])

    def commit(self, batch: Batch) -> None:
        """Keep a batch in one transaction: when this returns, all of it is on the disk.

        An observation older than the latest one of its page is counted and changes nothing else
        of the page. Learned rows of pages that are removed, or unknown, are left out.
        `InputError` for a poll of a page that was never added, a version that is another page's,
        or events before `start_run`; `StateError` for learned arrays that do not fit together.
        Then nothing is kept.
        """
        with self._transaction() as connection:
            for poll in batch.polls:
                self._save_poll(connection, poll)
            if batch.learned is not None:
                self._save_learned(connection, batch.learned)
            if batch.scheduler is not None:
                connection.execute(SQL["save_scheduler"], {"state": batch.scheduler})
            if batch.events:
                if self._run_id is None:
                    raise InputError("events belong to a run: call start_run first")
                connection.executemany(
                    SQL["insert_event"],
                    [{"run_id": self._run_id, "line": encode(event)} for event in batch.events],
                )

    def load_learned(self) -> StateDict | None:
        """What was learned of all watched pages that were ever committed, for
        `Policy.load_state_dict`; None where nothing was.

        `StateError` where pages were learned by policies with different arrays: the mend is
        `forget_learned`.
        """
        with self._snapshot():
            layouts = dict(self._rows("learned_layouts"))
            rows = self._rows("learned_pages")
            shared = self._rows("learned_shared")
        if not layouts:
            return None
        used = {layout_id for _, layout_id, _ in rows} or {max(layouts)}
        if len(used) > 1:
            names = "; ".join(
                ", ".join(column[0] for column in json.loads(layouts[layout_id]))
                for layout_id in sorted(used)
            )
            raise StateError(
                f"{self._path} holds what {len(used)} different policies learned ({names}):"
                " forget it and learn anew, or go back to a copy of the file"
            )
        state = unpack_rows(layouts[used.pop()], [(page_id, data) for page_id, _, data in rows])
        return state | unpack_shared(shared)

    def has_learned(self) -> bool:
        """Whether anything was learned, by whatever policy."""
        return bool(self._rows("learned_layouts"))

    def forget_learned(self) -> None:
        """Drop all that was learned, such as before another policy takes over."""
        with self._transaction() as connection:
            connection.execute(SQL["clear_learned_pages"])
            connection.execute(SQL["clear_learned_layouts"])
            connection.execute(SQL["clear_learned_shared"])

    def scheduler_state(self) -> str | None:
        """The scheduler's state in the latest batch that gave one (a JSON text)."""
        rows = self._rows("scheduler_state")
        return rows[0][0] if rows else None

    def start_run(self, now: float, settings: Mapping[str, object], initial_state: bytes) -> int:
        """Begin a run, to which the events of the batches from now on belong; its id.

        `settings` (values that JSON can hold) and `initial_state` are what it takes to re-run the
        events; the store does not look into them. A long-lived daemon may begin a new run now and
        then, so that the log of the older ones can be pruned.
        """
        values = {
            "started_at": now,
            "settings": json.dumps(dict(settings)),
            "initial_state": initial_state,
        }
        with self._transaction() as connection:
            run_id = connection.execute(SQL["insert_run"], values).lastrowid
        assert run_id is not None  # it was an INSERT
        self._run_id = run_id
        return run_id

    def runs(self) -> list[Run]:
        """All runs, oldest first, also those whose events were pruned."""
        return [
            Run(run_id, started_at, json.loads(settings))
            for run_id, started_at, settings in self._rows("runs")
        ]

    def initial_state(self, run_id: int) -> bytes:
        """The state that `start_run` was given; `InputError` where the run is unknown or pruned."""
        for (state,) in self._rows("initial_state", run_id=run_id):
            if state is not None:
                return bytes(state)
        raise InputError(f"{self._path} has no run {run_id}, or its event log was pruned")

    def events(self, run_id: int) -> Iterator[Event]:
        """The event log of a run, in order, read bit by bit; empty where it was pruned.

        Events that are committed meanwhile are given too. `InputError` for a line that is no
        event.
        """
        seq = -1
        while rows := self._rows("events_after", run_id=run_id, seq=seq, limit=_EVENTS_AT_ONCE):
            yield from (decode(line) for _, line in rows)
            seq = rows[-1][0]

    def prune_events(self, keep_runs: int) -> None:
        """Drop events and initial states of all but the `keep_runs` newest runs (at least 1)."""
        if keep_runs < 1:
            raise InputError(f"keep_runs is {keep_runs}; expected at least 1, the current run")
        with self._transaction() as connection:
            oldest = connection.execute(SQL["oldest_kept_run"], {"kept": keep_runs}).fetchone()[0]
            connection.execute(SQL["prune_events"], {"run_id": oldest})
            connection.execute(SQL["prune_initial_states"], {"run_id": oldest})

    def recent_outcomes(self, page_id: int, limit: int = 10) -> list[Observation]:
        """The latest polls of a page, newest first; the store keeps 50 of each page."""
        rows = self._rows("recent_polls", page_id=page_id, limit=limit)
        return [observation(row) for row in rows]

    def outcomes(self) -> list[tuple[int, float, bool]]:
        """Page, time and whether it found a change of the kept polls that found the page.

        Of the watched pages, by page and time.
        """
        return [(page, time, bool(changed)) for page, time, changed in self._rows("outcomes")]

    def versions(self, page_id: int) -> list[StoredVersion]:
        """The versions of a page, also a removed one, oldest first."""
        return [stored_version(row) for row in self._rows("versions", page_id=page_id)]

    def body(self, body_hash: str) -> bytes:
        """The body of a version; `InputError` where there is none of this hash."""
        rows = self._rows("content", hash=body_hash)
        if not rows:
            raise InputError(f"{self._path} has no body with the hash {body_hash!r}")
        try:
            return unpack_body(*rows[0])
        except ValueError as error:
            raise StoreError(
                f"{self._path}: the body {body_hash} is damaged ({error}): restore a copy"
            ) from error

    def _save_poll(self, connection: sqlite3.Connection, poll: PollResult) -> None:
        seen = poll.observation
        values = poll_values(poll)
        if not connection.execute(SQL["count_poll"], values).rowcount:
            raise InputError(f"a poll of page {seen.page_id}, which {self._path} never had")
        connection.execute(SQL["update_polled_page"], values)
        connection.execute(SQL["insert_poll"], values)
        connection.execute(SQL["prune_polls"], {"page_id": seen.page_id, "kept": _KEPT_POLLS})
        if poll.version is not None:
            if poll.version.page_id != seen.page_id:
                raise InputError(
                    f"a version of page {poll.version.page_id} in a poll of page {seen.page_id}"
                )
            self._save_version(connection, poll.version)

    def _save_version(self, connection: sqlite3.Connection, version: Version) -> None:
        values = {"hash": version.body_hash}
        if connection.execute(SQL["content_exists"], values).fetchone() is None:
            codec, data = pack_body(version.body)
            connection.execute(
                SQL["insert_content"],
                {**values, "codec": codec, "size": len(version.body), "data": data},
            )
        connection.execute(
            SQL["insert_version"],
            {
                "page_id": version.page_id,
                "seen_at": version.seen_at,
                "content_type": storable(version.content_type),
                "body_hash": version.body_hash,
            },
        )

    def _save_learned(self, connection: sqlite3.Connection, state: StateDict) -> None:
        layout, rows = pack_rows(state)
        connection.execute(SQL["insert_layout"], {"layout": layout})
        connection.executemany(
            SQL["save_learned_page"],
            [{"page_id": page_id, "layout": layout, "data": data} for page_id, data in rows],
        )
        connection.execute(SQL["clear_learned_shared"])
        connection.executemany(
            SQL["save_learned_shared"],
            [
                {"name": name, "dtype": dtype, "shape": shape, "data": data}
                for name, dtype, shape, data in pack_shared(state)
            ],
        )

    def _rows(self, query: str, **values: object) -> list[Any]:
        with reported(self._path):
            return self._connection.execute(SQL[query], values).fetchall()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with reported(self._path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                # After a full disk or an I/O error SQLite has rolled back already.
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def _snapshot(self) -> Iterator[None]:
        with reported(self._path):
            self._connection.execute("BEGIN")
            try:
                yield
            finally:
                self._connection.execute("COMMIT")
