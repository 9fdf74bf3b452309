"""Reading from the tables of a store."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from typing import TypeVar
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from pollwise.checks import read_json
from pollwise.errors import InputError, StoreError
from pollwise.events import Event, decode
from pollwise.store.place import Place
from pollwise.store.records import (
    POLL_OUTCOME,
    ChangeKind,
    ClockSetBack,
    Document,
    Lately,
    NewPage,
    PageOutline,
    PageRecord,
    Run,
    Sizes,
    StoredChange,
    StoredReceiver,
    StoredSubscription,
    StoredVersion,
    Totals,
)
from pollwise.store.retention import KEPT_POLLS
from pollwise.store.tables.bodies import unpack_body, unpack_head
from pollwise.store.tables.connection import Connection
from pollwise.store.tables.documents import read_documents, undamaged
from pollwise.store.tables.learned import LearnedPart, learned_parts, read_learned
from pollwise.store.tables.receivers import read_receivers
from pollwise.store.tables.rows import (
    Row,
    is_only_brought,
    is_told_anew,
    observation,
    page_outline,
    page_record,
    stored_change,
    stored_version,
    watched_part,
    watched_wishes,
)
from pollwise.store.tables.subscriptions import read_subscriptions
from pollwise.types import Observation, StateDict
from pollwise.watched_pages import WatchedPages, WatchedPart

__all__ = ["CHANGED_SETTINGS", "TableReader"]

T = TypeVar("T")

CHANGED_SETTINGS = "changed settings"
"""The name of the state that has the settings changed since the latest run began."""

_EVENTS_AT_ONCE = 1000
_CHANGES_AT_ONCE = 200
_URLS_AT_ONCE = 2_000
_LARGEST_NUMBER = 2**63 - 1
"""That a database takes."""
_TOGETHER = 20
"""Parts of the rows of pages that are taken in together: what many pages have is told once."""


class TableReader:
    """What a `StoreReader` tells of a watch, by a connection to a database."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @property
    def path(self) -> Place:
        return self._connection.path

    def pages(self) -> list[PageRecord]:
        return [
            record
            for rows in self._connection.rows_in_parts("live_pages")
            for record in self._made(rows, page_record)
        ]

    def watched_pages(self) -> WatchedPages:
        pages = WatchedPages()
        for part in self._parts_of_all(TableReader.watched_parts):
            pages.extend(part)
        return pages

    def _parts_of_all(self, read: Callable[["TableReader", int, int], Iterator[T]]) -> Iterator[T]:
        """What `read` gives of the pages of all ids, in their order."""
        return read(self, 0, _LARGEST_NUMBER)

    def watched_parts(self, first: int, behind: int) -> Iterator[WatchedPart]:
        """What a run needs of the watched pages with ids from `first` on and below `behind`, by id.

        They are of one state; nothing may be written before the last one.
        """
        ids = {"first": first, "behind": behind}
        with self._connection.snapshot():
            wishes = watched_wishes(self._connection.rows_in_parts("watched_wishes", **ids))
            parts = self._connection.columns_in_parts("watched_pages", **ids)
            while True:
                with self._undamaged():
                    part = watched_part(islice(parts, _TOGETHER), wishes)
                if part is None:
                    return
                yield part

    def each_outline(self) -> Iterator[PageOutline]:
        for rows in self._connection.rows_in_parts("page_outlines"):
            yield from self._made(rows, page_outline)

    def first_pages(
        self, by: str, limit: int, among: Sequence[int] | None = None
    ) -> list[PageRecord]:
        ids = None if among is None else json.dumps([*among])
        return self._records("first_pages", by=by, limit=limit, among=ids)

    def find_page(self, url: str) -> PageRecord | None:
        return self.find_pages([url]).get(url)

    def find_pages(self, urls: Sequence[str]) -> dict[str, PageRecord]:
        return {
            record.page.url: record
            for begin in range(0, len(urls), _URLS_AT_ONCE)
            for record in self._records(
                "live_pages_by_url", urls=json.dumps(urls[begin : begin + _URLS_AT_ONCE])
            )
        }

    def told_anew(self, pages: Sequence[NewPage]) -> list[NewPage]:
        anew = set[str]()
        for begin in range(0, len(pages), _URLS_AT_ONCE):
            part = pages[begin : begin + _URLS_AT_ONCE]
            brought, others = list[NewPage](), list[NewPage]()
            for page in part:
                (brought if is_only_brought(page) else others).append(page)
            scopes = self._scopes([page.url for page in brought])
            anew |= {page.url for page in brought if scopes.get(page.url) != page.scope}
            wished = [page.url for page in others]
            known = {row[0]: row for row in self._by_url("wishes_by_url", wished)}
            anew |= {page.url for page in others if is_told_anew(page, known.get(page.url))}
        return [page for page in pages if page.url in anew]

    def _scopes(self, urls: Sequence[str]) -> dict[str, str]:
        """The politeness scopes of those that are watched.

        Pages that a list brought have ids in its order, in which many are found together: looked
        for one by one they take four times as long.
        """
        ids = [row[0] for row in self._by_url("scopes_by_url", [*urls[:1], *urls[-1:]])]
        rows: list[Row] = []
        if ids and max(ids) - min(ids) < 2 * len(urls):
            rows = self._connection.rows("scopes_within", first=min(ids), last=max(ids))
        scopes: dict[str, str] = {url: scope for _, url, scope in rows}
        others = [url for url in urls if url not in scopes]
        return scopes | {url: scope for _, url, scope in self._by_url("scopes_by_url", others)}

    def _by_url(self, query: str, urls: Sequence[str]) -> list[Row]:
        """The rows of a query of the watched pages with these URLs."""
        return self._connection.rows(query, urls=json.dumps(urls)) if urls else []

    def listed_urls(self, paths: Sequence[str]) -> list[str]:
        parts = self._connection.rows_in_parts("listed_urls", paths=json.dumps(paths))
        return [url for rows in parts for (url,) in rows]

    def _records(self, query: str, **values: object) -> list[PageRecord]:
        return self._made(self._connection.rows(query, **values), page_record)

    def _made(self, rows: list[Row], make: Callable[[Row], T]) -> list[T]:
        """What `make` makes of rows of pages; `StoreError` if it cannot."""
        with self._undamaged():
            return [make(row) for row in rows]

    @contextmanager
    def _undamaged(self) -> Iterator[None]:
        """A context in which values are made of rows of pages; `StoreError` if they cannot be."""
        try:
            yield
        except ValueError as error:
            raise StoreError(f"{self.path}: a page is damaged ({error}): restore a copy") from error

    def next_page_id(self) -> int:
        page_id: int = self._connection.row("next_page_id")[0]
        return page_id

    def totals(self) -> Totals:
        return Totals(*self._connection.row("totals"))

    def count_pages(self) -> int:
        [count] = self._connection.row("count_pages")
        return int(count)

    def count_copies(self) -> int:
        [count] = self._connection.row("count_copies")
        return int(count)

    def count_without_copy(self) -> int:
        [count] = self._connection.row("count_without_copy")
        return int(count)

    def sizes(self) -> Sizes:
        return Sizes(*self._connection.row("sizes"))

    def lately(self, since: float) -> Lately:
        return Lately(*self._connection.row("lately", since=since, kept=KEPT_POLLS))

    def recent_outcomes(self, page_id: int, limit: int = 10) -> list[Observation]:
        rows = self._connection.rows("recent_polls", page_id=page_id, limit=limit)
        return [observation(row) for row in rows]

    def outcomes(self) -> NDArray[np.void]:
        parts = [
            np.array(rows, POLL_OUTCOME) for rows in self._connection.rows_in_parts("outcomes")
        ]
        return np.concatenate([np.empty(0, POLL_OUTCOME), *parts])

    def revisits(self, page_id: int) -> list[float]:
        return [time for (time,) in self._connection.rows("revisits", page_id=page_id)]

    def versions(self, page_id: int) -> list[StoredVersion]:
        return [stored_version(row) for row in self._connection.rows("versions", page_id=page_id)]

    def changes(
        self,
        *,
        after: int = 0,
        since: float | None = None,
        page_id: int | None = None,
        unread: bool = False,
    ) -> Iterator[StoredChange]:
        query = "unread_changes_after" if unread else "changes_after"
        which: dict[str, object] = {"since": since}
        if page_id is not None:  # by another index
            query, which = "changes_of_page", {**which, "page_id": page_id, "unread": unread}
        for row in self._connection.rows_by_key(query, _CHANGES_AT_ONCE, after=after, **which):
            yield self._change(row)

    def _change(self, row: Row) -> StoredChange:
        try:
            return stored_change(row)
        except ValueError as error:
            raise StoreError(
                f"{self.path}: a change is damaged ({error}): restore a copy"
            ) from error

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
        kinds = [int(kind) for kind in ChangeKind if kind.is_of_content or not of_content]
        number, first = self._connection.row(
            "count_changes" if page_ids is None else "count_changes_of_pages",
            after=after,
            since=since,
            tags=_tags(tags),
            kinds=json.dumps(kinds),
            unread=unread,
            to_tell=to_tell,
            **_of_pages(page_ids),
        )
        return number, first

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
        rows = self._connection.rows(
            "newest_changes" if page_ids is None else "newest_changes_of_pages",
            after=after,
            before=_LARGEST_NUMBER if before is None else before,
            since=since,
            tags=_tags(tags),
            unread=unread,
            limit=min(limit, _LARGEST_NUMBER),
            **_of_pages(page_ids),
        )
        return [self._change(row) for row in reversed(rows)]

    def latest_change(self) -> int:
        number: int = self._connection.row("latest_change")[0]
        return number

    def latest_time(self) -> float:
        at: float = self._connection.row("latest_time")[0]
        return at

    def written(self) -> int:
        number: int = self._connection.row("written")[0]
        return number

    def page_ids(self, url: str) -> list[int]:
        return [page_id for (page_id,) in self._connection.rows("page_ids", url=url)]

    def receivers(self) -> list[StoredReceiver]:
        return read_receivers(self._connection)

    def subscriptions(self) -> list[StoredSubscription]:
        return read_subscriptions(self._connection)

    def database_id(self) -> UUID:
        data = self.state("database_id")
        if data is None or len(data) != 16:
            raise self._connection.damaged("it has no id")
        return UUID(bytes=data)

    def body(self, body_hash: str) -> bytes:
        rows = self._connection.rows("content", hash=body_hash)
        if not rows:
            raise InputError(f"{self.path} has no body with the hash {body_hash!r}")
        try:
            return unpack_body(*rows[0])
        except ValueError as error:
            raise StoreError(
                f"{self.path}: the body {body_hash} is damaged ({error}): restore a copy"
            ) from error

    def head(self, page_id: int, seen_at: float) -> bytes:
        rows = self._connection.rows("head", page_id=page_id, seen_at=seen_at)
        return undamaged(self.path, page_id, unpack_head, rows[0][0]) if rows else b""

    def load_learned(self) -> StateDict | None:
        return read_learned(self._connection, self._parts_of_all(TableReader.learned_parts))

    def learned_parts(self, first: int, behind: int) -> Iterator[LearnedPart]:
        """The same of what was learned of them, see `learned.learned_parts`."""
        return learned_parts(self._connection, first, behind)

    def has_learned(self) -> bool:
        return bool(self._connection.rows("learned_layouts"))

    def scheduler_state(self) -> str | None:
        rows = self._connection.rows("scheduler_state")
        return rows[0][0] if rows else None

    def state(self, name: str) -> bytes | None:
        rows = self._connection.rows("state", name=name)
        return rows[0][0] if rows else None

    def clock_set_back(self) -> ClockSetBack | None:
        rows = self._connection.rows("clock_set_back")
        return ClockSetBack(*rows[0]) if rows else None

    def runs(self) -> list[Run]:
        rows = self._connection.rows("runs")
        try:
            return [Run(run_id, begun_at, _mapping(text)) for run_id, begun_at, text in rows]
        except ValueError as error:
            raise StoreError(
                f"{self.path}: the settings of a run are damaged: restore a copy"
            ) from error

    def changed_settings(self) -> dict[str, object]:
        data = self.state(CHANGED_SETTINGS)
        try:
            return {} if data is None else _mapping(data.decode())
        except ValueError as error:
            raise StoreError(
                f"{self.path}: changed settings are damaged: restore a copy"
            ) from error

    def initial_state(self, run_id: int) -> bytes:
        for (state,) in self._connection.rows("initial_state", run_id=run_id):
            if state is not None:
                return bytes(state)
        raise InputError(
            f"{self.path} has no run {run_id}, or its event log was pruned:"
            " only a run whose log is whole can be re-run"
        )

    def events(self, run_id: int) -> Iterator[Event]:
        for _, line in self._connection.rows_by_key("events_after", _EVENTS_AT_ONCE, run_id=run_id):
            yield decode(line)

    def documents(self, min_relevance: float | None = None) -> Iterator[Document]:
        return read_documents(self._connection, min_relevance)

    def snapshot(self) -> AbstractContextManager[None]:
        return self._connection.snapshot()


def _tags(asked: Sequence[str]) -> str:
    """Tags for a statement, which looks for them between spaces; what is no word, no page has."""
    words = (tag if tag.split() == [tag] and tag.isprintable() else " " for tag in asked)
    return json.dumps([*words])


def _of_pages(page_ids: Sequence[int] | None) -> dict[str, str]:
    """The further parameter of a statement that is of these pages; None: it is of all."""
    return {} if page_ids is None else {"page_ids": json.dumps([*page_ids])}


def _mapping(text: str) -> dict[str, object]:
    """The JSON object of a text; `ValueError` if it is none."""
    told = read_json(text)
    if not isinstance(told, dict):
        raise ValueError(f"expected settings by name, not {text[:40]!r}")
    return told
