"""The contract of a store: what is written of runs, and what can be read of it.

Every call raises `StoreError`, one line that names place, cause and remedy, if the store cannot be
read or written; what was not committed is then lost, and the store can still be used. If it is a
`StoreBusyError`, the same call can be made again. Each call sees one consistent state. A store may
be used from any thread, by one thread at a time: let one thread make all calls of a writer, and
give readers stores of their own. Times are UTC seconds since 1970.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from pollwise.events import Event
from pollwise.store.place import Place
from pollwise.store.records import (
    Batch,
    ClockSetBack,
    Document,
    Fetched,
    Hit,
    Lately,
    NewPage,
    PageOutline,
    PageRecord,
    PollResult,
    Run,
    Sizes,
    StoredChange,
    StoredReceiver,
    StoredSubscription,
    StoredVersion,
    Totals,
    WaitingRequest,
)
from pollwise.store.retention import Retention
from pollwise.types import Observation, Page, PageMemory, StateDict
from pollwise.watched_pages import WatchedPages

__all__ = ["StoreJournal", "StoreReader", "StoreRequests"]


class StoreReader(Protocol):
    """What a store holds; a writer may be at work meanwhile."""

    @property
    def path(self) -> Place:
        """What names the store: a file, symbolic links resolved, or a PostgreSQL database."""

    def pages(self) -> list[PageRecord]:
        """All watched pages, by id."""

    def watched_pages(self) -> WatchedPages:
        """What a run needs of all watched pages: of a million, in little memory."""

    def each_outline(self) -> Iterator[PageOutline]:
        """All watched pages in few words, in any order, for whom looks for some of them.

        They are of one state; nothing may be written before the last one.
        """

    def first_pages(
        self, by: str, limit: int, among: Sequence[int] | None = None
    ) -> list[PageRecord]:
        """At most `limit` watched pages: the first by URL, or the latest or the most first.

        `among`: of those with these ids only; None: of all.
        `by` is `url`, `changed`, `polled`, `added`, `changes`, `rate` (changes by the time since
        the first copy) or `weight`; of those that are alike, the first by URL. In any order.
        """

    def find_page(self, url: str) -> PageRecord | None:
        """The watched page with exactly this URL, if there is one."""

    def find_pages(self, urls: Sequence[str]) -> dict[str, PageRecord]:
        """Those of these URLs that are watched, with their pages."""

    def told_anew(self, pages: Sequence[NewPage]) -> list[NewPage]:
        """These pages without those of which `StoreJournal.add_pages` would change nothing.

        Of a URL that is there several times, all of them or none.
        """

    def listed_urls(self, paths: Sequence[str]) -> list[str]:
        """The URLs of the watched pages that lists with these paths have brought, by id."""

    def next_page_id(self) -> int:
        """The id of the next new page: one more than the largest so far."""

    def totals(self) -> Totals:
        """What the store holds, counted in one pass over the pages."""

    def count_pages(self) -> int:
        """How many pages are watched, which is known sooner than `totals`."""

    def count_copies(self) -> int:
        """How many of them are copies of others, as `Collected` tells."""

    def count_without_copy(self) -> int:
        """Of how many watched pages no poll has brought a copy; counted in one pass over them."""

    def sizes(self) -> Sizes:
        """The bytes of the event log and of the versions; at once, however many there are."""

    def lately(self, since: float) -> Lately:
        """What tells how the store has grown since a time (UTC seconds); no body is read."""

    def recent_outcomes(self, page_id: int, limit: int = 10) -> list[Observation]:
        """The latest polls of a page, newest first; the store keeps 50 of each page."""

    def outcomes(self) -> NDArray[np.void]:
        """The kept polls that found their page, as an array of `POLL_OUTCOME`.

        Those of all watched pages, by page and time.
        """

    def revisits(self, page_id: int) -> list[float]:
        """When polls found the latest version again, byte for byte, oldest first.

        Among the latest 50 polls of the page, as for `recent_outcomes`.
        """

    def versions(self, page_id: int) -> list[StoredVersion]:
        """The versions of a page, even a removed one, oldest first."""

    def changes(
        self,
        *,
        after: int = 0,
        since: float | None = None,
        page_id: int | None = None,
        unread: bool = False,
    ) -> Iterator[StoredChange]:
        """The changes with a larger number than `after`, in their order, read in portions.

        Among them is that a page is gone, once, and that it is back.
        With `since`, only those found at that time or later (UTC seconds); with `page_id`, only
        those of a page; with `unread`, only those that nobody has marked as read. The latest
        200,000 are kept, also of pages that were removed.
        """

    def count_changes(
        self,
        *,
        after: int = 0,
        since: float | None = None,
        tags: Sequence[str] = (),
        of_content: bool = False,
        unread: bool = False,
        to_tell: bool = False,
        page_ids: Sequence[int] | None = None,
    ) -> tuple[int, float | None]:
        """How many of these `changes` there are, and when the first was found (None: none was).

        `after`, `since` and `unread` are as there. With `tags`, only those of pages that have one
        of them; `of_content`: only those by which the content of a page differs; `to_tell`: only
        those that are not held back from notices; with `page_ids`, only those of these pages, in a
        time that does not grow with the changes of others.
        """

    def newest_changes(
        self,
        limit: int,
        *,
        after: int = 0,
        before: int | None = None,
        since: float | None = None,
        tags: Sequence[str] = (),
        unread: bool = False,
        page_ids: Sequence[int] | None = None,
    ) -> list[StoredChange]:
        """The last of the changes that `count_changes` counts, at most `limit`, in their order.

        With `before`, only those with a smaller number.
        """

    def latest_change(self) -> int:
        """The number of the latest change; 0: there was none."""

    def latest_time(self) -> float:
        """The latest time that any poll, page or run has (UTC seconds); 0: there is none."""

    def written(self) -> int:
        """A number that is another one once anybody else has written; for this store alone."""

    def page_ids(self, url: str) -> list[int]:
        """The pages that ever had exactly this URL, removed ones too, oldest first."""

    def receivers(self) -> list[StoredReceiver]:
        """Who is told of changes, or was once, by name."""

    def subscriptions(self) -> list[StoredSubscription]:
        """What hubs are asked for, by page."""

    def database_id(self) -> UUID:
        """What no other database has, but for copies of this one."""

    def body(self, body_hash: str) -> bytes:
        """The body with this hash; `InputError` if there is none."""

    def head(self, page_id: int, seen_at: float) -> bytes:
        """The `Version.head` of the version of a page seen at that time; empty: it has none."""

    def load_learned(self) -> StateDict | None:
        """What was learned of all watched pages, for `Policy.load_state_dict`; None: nothing.

        `StateError` if policies with different arrays learned it; `forget_learned` is the remedy.
        """

    def has_learned(self) -> bool:
        """Whether any policy learned anything."""

    def scheduler_state(self) -> str | None:
        """The scheduler's state in the latest batch with one (a JSON text)."""

    def state(self, name: str) -> bytes | None:
        """The bytes of this name in the latest batch with some (`Batch.states`); None: none."""

    def clock_set_back(self) -> ClockSetBack | None:
        """What `set_back_times` last told; None: nothing yet."""

    def runs(self) -> list[Run]:
        """All runs, oldest first, even if their events were pruned."""

    def changed_settings(self) -> dict[str, object]:
        """The settings that were changed since the latest run began, as `change_settings` kept
        them; what the run itself began with is in `runs`.
        """

    def initial_state(self, run_id: int) -> bytes:
        """The state given to `start_run`; `InputError` if there is no such run, or the beginning of
        its event log was dropped.
        """

    def events(self, run_id: int) -> Iterator[Event]:
        """The event log of a run, in order, read in portions; what was dropped is missing.

        Includes events committed meanwhile. `InputError` for a line that is no event.
        """

    def history(self) -> Iterator[Fetched]:
        """The collected pages in the order in which they were first collected, read in portions.

        With their present relevance and links; without removed pages, to which links may still
        lead. A request controller needs this, and `pages`, to go on after a restart.
        """

    def terms_of(self, page_id: int) -> tuple[bool, bytes] | None:
        """Whether a search may find a page, and its packed terms; None: it was not collected."""

    def terms(self) -> Iterator[tuple[int, bytes]]:
        """The ids and packed terms of all collected pages, read in portions."""

    def documents(self, min_relevance: float | None = None) -> Iterator[Document]:
        """The pages of which a poll has brought a copy, by id, for an export; not removed ones.

        With `min_relevance`, only pages at least that relevant. Read in portions.
        """

    def search(self, query: str, limit: int = 10, offset: int = 0) -> list[Hit]:
        """The collected pages that match a query, best first, from the `offset`-th (from 0) on.

        The query language and the ranking: see `pollwise.store.sqlite.search`. `InputError` for a
        query without a word to look for, and for more than 10,000 hits at once.
        """

    def count_matches(self, query: str) -> int:
        """The number of pages that match a query; `InputError` as for `search`."""

    def searchable_pages(self) -> int:
        """The number of pages that `search` can find."""

    def snapshot(self) -> AbstractContextManager[None]:
        """Within this context all reads see one state of the store.

        The `-wal` file of a SQLite writer at work grows until the context ends.
        """


class StoreRequests(Protocol):
    """What is asked of the one writer; several processes may ask and look at once."""

    def together(self) -> AbstractContextManager[object]:
        """Within this context all is kept at its end or, after an error, nothing."""

    def put_request(self, text: str, now: float) -> int:
        """Ask for something; the number of the request. Answered ones stay for a day."""

    def waiting_requests(self, most: float = math.inf) -> list[WaitingRequest]:
        """What was not answered yet, in the order in which it was asked.

        With `most`, only the first, until their texts have so many characters.
        """

    def answer_request(self, request_id: int, now: float, answer: str) -> bool:
        """Answer; whether it still waited."""

    def answer(self, request_id: int) -> str | None:
        """The answer; None: it waits."""

    def withdraw_request(self, request_id: int, now: float) -> bool:
        """Ask no longer; whether it still waited, so that it is never carried out."""


class StoreJournal(Protocol):
    """Writes what happens; there is one writer at a time."""

    def add_pages(self, pages: Sequence[NewPage], now: float) -> list[Page]:
        """Watch these pages; the answer has them with their ids, in the order given.

        A URL that is watched already keeps its id and history, and takes the new scope, and
        what users want of it as far as that is told. If other parts of it count now, what is
        remembered of its latest copy is forgotten. A URL that was removed gets a new id.
        `InputError` if a weight or cost is not finite.
        """

    def remove_pages(self, page_ids: Sequence[int], now: float) -> None:
        """Stop watching these pages and forget what was learned of them; their versions stay.

        Ids that are unknown or removed already are ignored.
        """

    def set_back_times(self, now: float) -> ClockSetBack | None:
        """Set stored times after `now` back to just before it, keeping their order.

        Call it before a run reads the pages: if the clock was ahead once, polls to come would
        count as older than those stored. The event log and the states stay as they are. It costs
        next to nothing unless there are such times. None: there were none, or none by more than
        five seconds, by which the clocks of two runs may well differ; `clock_set_back` then still
        has what was found before.
        """

    def import_checks(self, checks: Sequence[PollResult], learned: StateDict) -> None:
        """Keep polls that another program made, and what was learned of their pages.

        They count as polls of the pages, but `changes` does not tell of them. Give those of a page
        in the order of their times. Errors as for `commit`; then nothing is kept.
        """

    def start_run(
        self, now: float, settings: Mapping[str, object], initial_state: bytes | None
    ) -> int:
        """Begin a run, to which the events of later batches belong; its id.

        `settings` (values that JSON can hold) and `initial_state` (None: the events cannot be
        re-run) are what it takes to re-run the events; the store does not look into them.
        """

    def change_settings(self, told: Mapping[str, object]) -> None:
        """Keep these settings (values that JSON can hold) for the next run, beside those changed
        before; `start_run` takes them as told.
        """

    def together(self) -> AbstractContextManager[object]:
        """Within this context all writes are one transaction: after an error none is kept."""

    def commit(self, batch: Batch) -> None:
        """Keep a batch in one transaction: when this returns, all of it is on the disk.

        An observation older than the latest one of its page is counted, but changes nothing else.
        Learned rows of unknown or removed pages are left out. `search` does not find a page that
        is gone until a poll finds it again. `InputError` for a poll or the content of a page that
        was never added, a version of another page, a new page whose id is not the next one or whose
        URL is watched already, or events before `start_run`; `StateError` for learned arrays that
        do not fit together. After an error nothing is kept.
        """

    def save_masks(self, page_id: int, memory: PageMemory) -> None:
        """Keep the noise of this, and the `text_hash` without it; the next poll goes by them."""

    def mark_read(self, seqs: Sequence[int] = (), *, up_to: int = 0, read: bool = True) -> int:
        """Mark the changes with these numbers as read, or not; how many were not so before.

        All up to `up_to` are marked as read, too. Unknown numbers are ignored.
        """

    def save_receiver(self, receiver: StoredReceiver) -> None:
        """Keep how far a receiver was told."""

    def save_subscriptions(self, subscriptions: Sequence[StoredSubscription]) -> None:
        """Keep what hubs are asked for, one of each page; not of pages that are removed."""

    def drop_subscriptions(self, page_ids: Sequence[int]) -> None:
        """Ask no hub any more for these pages."""

    def prune_events(self, keep_runs: int) -> None:
        """Drop events and initial states of all but the `keep_runs` newest runs (at least 1)."""

    def keep_versions(self, retention: Retention) -> None:
        """From now on, commits with polls drop versions that need not be kept, some with each.

        So it takes until all pages were polled, or some thousand commits, before only what is to
        be kept is left. Bodies without versions go too. `first_seen_at` of documents stays. None
        is dropped for its age before `ages_count_from`.
        """

    @property
    def ages_count_from(self) -> float:
        """When versions are dropped for their ages again (UTC seconds); -inf: they are.

        By a clock that is far ahead all would be too old. So they are kept for a week after
        `set_back_times` was told a time more than 30 days after all that was stored before, over a
        restart too.
        """

    def forget_learned(self) -> None:
        """Drop everything that was learned, such as before another policy takes over."""
