"""The contract of a store: what is written down of runs, and what can be read of it.

Every call raises `StoreError`, one line that names place, cause and mend, where the store cannot
be read or written; what was not committed then is not there, and the store can be used on. Each
call sees one consistent state. A store may be used from any thread, by one thread at a time: let
one thread make all calls of a writer, and give readers stores of their own. Times are UTC seconds
since 1970.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from pollwise.events import Event
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
from pollwise.types import Observation, Page, StateDict

__all__ = ["StoreJournal", "StoreReader"]


class StoreReader(Protocol):
    """What was written down; a writer may be at work meanwhile."""

    @property
    def path(self) -> Path:
        """Where the store is."""

    def pages(self) -> list[PageRecord]:
        """All watched pages, by id."""

    def find_page(self, url: str) -> PageRecord | None:
        """The watched page of exactly this url, if there is one."""

    def next_page_id(self) -> int:
        """The id of the next new page: one more than the largest ever given."""

    def totals(self) -> Totals:
        """What the store holds, counted in one query that reads the table of pages once."""

    def recent_outcomes(self, page_id: int, limit: int = 10) -> list[Observation]:
        """The latest polls of a page, newest first; the store keeps 50 of each page."""

    def outcomes(self) -> list[tuple[int, float, bool]]:
        """Page, time and whether it found a change of the kept polls that found the page.

        Of the watched pages, by page and time.
        """

    def revisits(self, page_id: int) -> list[float]:
        """When polls found the body of the version before, byte for byte, oldest first.

        Of the 50 latest polls of the page, as for `recent_outcomes`.
        """

    def versions(self, page_id: int) -> list[StoredVersion]:
        """The versions of a page, also a removed one, oldest first."""

    def body(self, body_hash: str) -> bytes:
        """The body of a version; `InputError` where there is none of this hash."""

    def load_learned(self) -> StateDict | None:
        """What was learned of all watched pages that were ever committed, for
        `Policy.load_state_dict`; None where nothing was.

        `StateError` where pages were learned by policies with different arrays: the mend is
        `forget_learned`.
        """

    def has_learned(self) -> bool:
        """Whether anything was learned, by whatever policy."""

    def scheduler_state(self) -> str | None:
        """The scheduler's state in the latest batch that gave one (a JSON text)."""

    def state(self, name: str) -> bytes | None:
        """What the latest batch that had a state of this name kept; None: there was none."""

    def runs(self) -> list[Run]:
        """All runs, oldest first, also those whose events were pruned."""

    def initial_state(self, run_id: int) -> bytes:
        """The state that `start_run` was given; `InputError` where the run is unknown or pruned."""

    def events(self, run_id: int) -> Iterator[Event]:
        """The event log of a run, in order, read bit by bit; empty where it was pruned.

        Events that are committed meanwhile are given too. `InputError` for a line that is no
        event.
        """

    def history(self) -> Iterator[Fetched]:
        """The collected pages, in the order in which they were collected first, with their
        present relevance and links; without removed pages.

        With `pages`, it is what a request controller needs to go on after a restart. A link may
        lead to a removed page. Read bit by bit.
        """

    def terms(self) -> Iterator[tuple[int, bytes]]:
        """The packed terms of all collected pages with their ids, read bit by bit."""

    def documents(self, min_relevance: float | None = None) -> Iterator[Document]:
        """The pages that were seen, by id, for an export; without removed pages.

        With `min_relevance`, only those that are so relevant. Read bit by bit.
        """

    def search(self, query: str, limit: int = 10, offset: int = 0) -> list[Hit]:
        """The collected pages that hold these words, best first, from the `offset`-th (from 0) on.

        What a query may say, and how hits are ranked: see `pollwise.store.sqlite.search`.
        `InputError` for a query without a word to look for, and for more than 10,000 hits at once.
        """

    def count_matches(self, query: str) -> int:
        """The number of pages that `search` finds by this query; `InputError` as there."""

    def searchable_pages(self) -> int:
        """The number of pages that `search` can find."""

    def snapshot(self) -> AbstractContextManager[None]:
        """Within this context all that is read is of one state of the file.

        A writer may be at work meanwhile; its `-wal` file grows until the context ends.
        """


class StoreJournal(Protocol):
    """Writes down what happens; there is one at a time."""

    def add_pages(self, pages: Sequence[NewPage], now: float) -> list[Page]:
        """Watch these pages; the answer gives them their ids, in the order given.

        A url that is watched already keeps its id and history, and takes the new scope, weight
        and cost. A url that was removed gets a new id. `InputError` where a weight or cost is
        not finite.
        """

    def remove_pages(self, page_ids: Sequence[int], now: float) -> None:
        """Watch these pages no longer, and forget what was learned of them; their versions stay.

        Ids that are unknown or removed already are ignored.
        """

    def start_run(
        self, now: float, settings: Mapping[str, object], initial_state: bytes | None
    ) -> int:
        """Begin a run, to which the events of the batches from now on belong; its id.

        `settings` (values that JSON can hold) and `initial_state` are what it takes to re-run the
        events (None: that is not to be); the store does not look into them. A long-lived daemon
        may begin a new run now and then, so that the log of the older ones can be pruned.
        """

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

    def prune_events(self, keep_runs: int) -> None:
        """Drop events and initial states of all but the `keep_runs` newest runs (at least 1)."""

    def forget_learned(self) -> None:
        """Drop all that was learned, such as before another policy takes over."""
