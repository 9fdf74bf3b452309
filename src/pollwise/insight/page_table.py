"""The pages of a snapshot as a table that is filtered and sorted at once, however long it is."""

import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pollwise.insight.evidence import of_page
from pollwise.insight.page_list import (
    ListedPage,
    PageState,
    listed_page,
    page_state,
    searched,
    sought,
)
from pollwise.insight.waits import Waits, waits_of
from pollwise.store.place import Place
from pollwise.store.records import PageRecord
from pollwise.types import Outcome
from pollwise.units import DAY

if TYPE_CHECKING:
    from pollwise.insight.knowledge import Knowledge

__all__ = ["Column", "PageRow", "PageRows", "PageTable"]

_SORTED_AT_ONCE = 4096
_EXPECTED = (
    *("expected_per_day", "expected_between", "chance", "index", "price", "due_at"),
    "next_poll_at",
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Column(Enum):
    """By what rows are sorted; texts and `due` ascend unless told otherwise, the others descend."""

    url = "url"
    host = "host"
    state = "state"
    outcome = "outcome"
    due = "due"
    """When the next poll is due."""
    changed = "changed"
    polled = "polled"
    added = "added"
    polls = "polls"
    changes = "changes"
    rate = "rate"
    """Changes that are expected a day."""
    chance = "chance"
    index = "index"
    price = "price"
    failures = "failures"
    weight = "weight"
    relevance = "relevance"

    @property
    def descends(self) -> bool:
        """Whether the largest comes first unless somebody says otherwise."""
        return self not in (Column.url, Column.host, Column.state, Column.outcome, Column.due)


@dataclass(frozen=True, slots=True)
class PageRow(ListedPage):
    """A page of the table: what is listed of it, and what is expected.

    `host` is the politeness scope that it shares with others. `outcome` is that of the latest poll
    that was made, `failures` counts the failed ones in a row up to it. `expected_per_day` are the
    changes expected a day, `expected_between` their central 90 % interval, `chance` is the
    probability that it has changed since its copy was made; None: too few polls told something.
    `index` and `price`: see `Explanation`; None: of a collection, or never watched. `next_poll_at`
    is when nothing but the budget holds it back any more (UTC seconds; None: not known, or never).
    `relevance` and `depth`: see `PageRecord`.
    """

    id: int
    host: str
    outcome: Outcome | None
    failures: int
    expected_per_day: float | None
    expected_between: tuple[float, float] | None
    chance: float | None
    index: float | None
    price: float | None
    due_at: float | None
    next_poll_at: float | None
    relevance: float | None
    depth: int


@dataclass(frozen=True, slots=True)
class PageRows:
    """Some of the `found` pages that fit, from the `offset`-th (from 0) on, of `pages` in all."""

    database: str
    pages: int
    found: int
    offset: int
    results: tuple[PageRow, ...]


class PageTable:
    """The pages of a database, with what is `known` of those of a watch (None: nothing is).

    What it needs is worked out at the first use and kept: for 100,000 pages that takes a second or
    two, and then any rows some tens of milliseconds. Threads may share it.
    """

    def __init__(
        self, database: Place, records: Sequence[PageRecord], known: "Knowledge | None"
    ) -> None:
        self.database = database
        self.records = records
        self.known = known
        self._orders: dict[tuple[Column, bool], Ints] = {}

    def rows(
        self,
        *,
        tag: str | None = None,
        state: PageState | None = None,
        host: str | None = None,
        text: str | None = None,
        order: Column = Column.url,
        descending: bool | None = None,
        offset: int = 0,
        limit: int | None = 50,
    ) -> PageRows:
        """The pages with this tag, state and host and with this text in URL, name, title or state.

        None: any. Lower and upper case are the same, and quotes around the text are left out. Those
        that have nothing to be sorted by come last; `descending` None: as is usual for this column.
        """
        places = self._ordered(order, order.descends if descending is None else descending)
        for fits in self._fitting(tag, state, host, text):
            places = places[fits[places]]
        shown = places[offset:] if limit is None else places[offset : offset + limit]
        return PageRows(
            str(self.database),
            len(self.records),
            len(places),
            offset,
            tuple(map(self.row, shown.tolist())),
        )

    def row(self, place: int) -> PageRow:
        """The page that is the `place`-th (from 0) by id."""
        record = self.records[place]
        listed = listed_page(record)
        return PageRow(
            **{field.name: getattr(listed, field.name) for field in fields(ListedPage)},
            id=record.page.id,
            host=self.hosts[place],
            outcome=record.outcome,
            failures=record.failures,
            **self._expected(place),
            relevance=record.relevance,
            depth=record.depth,
        )

    def _expected(self, place: int) -> dict[str, Any]:
        """What is expected of a page; of one that is not known, nothing."""
        if self.known is None:
            return dict.fromkeys(_EXPECTED)
        told, waits = self.known.estimates[place], self.waits[place]
        is_known = of_page(int(told["polls"])).suffices
        chance = float(self.known.chances[place])
        return {
            "expected_per_day": float(told["change_rate"]) * DAY if is_known else None,
            "expected_between": (
                (float(told["rate_low"]) * DAY, float(told["rate_high"]) * DAY)
                if is_known
                else None
            ),
            "chance": chance if is_known and not math.isnan(chance) else None,
            "index": float(told["index"]),
            "price": float(told["price"]),
            "due_at": waits.due_at,
            "next_poll_at": self.next_poll_at[place],
        }

    @cached_property
    def hosts(self) -> list[str]:
        """The politeness scope of each page, which several hosts may share."""
        if self.known is None:
            return [record.page.scope for record in self.records]
        scheduler = self.known.scheduler
        return [scheduler.scope_of(record.page.id) for record in self.records]

    @cached_property
    def waits(self) -> list[Waits]:
        """What the next poll of each page of a watch waits for."""
        if self.known is None:
            return []
        scheduler, now = self.known.scheduler, self.known.now
        quiet_until = self.known.settings.quiet_hours().end(now)
        return [
            waits_of(scheduler, record, due_at, now, quiet_until=quiet_until)
            for record, due_at in zip(
                self.records, self.known.estimates["due_at"].tolist(), strict=True
            )
        ]

    @cached_property
    def next_poll_at(self) -> list[float | None]:
        """When nothing but the budget holds each page back any more; None: not known, or paused."""
        return [
            None if record.page.paused else waits.next_poll_at
            for record, waits in zip(self.records, self.waits, strict=True)
        ]

    @cached_property
    def _texts(self) -> list[str]:
        """What is searched of each page, in lower case."""
        return [
            searched(record.page.url, record.page.name, record.title, state)
            for record, state in zip(self.records, self._states, strict=True)
        ]

    @cached_property
    def _states(self) -> list[PageState]:
        return [page_state(record) for record in self.records]

    @cached_property
    def _by_tag(self) -> dict[str, list[int]]:
        """The places of the pages with each tag."""
        places: dict[str, list[int]] = {}
        for place, record in enumerate(self.records):
            for tag in record.page.tags:
                places.setdefault(tag, []).append(place)
        return places

    @property
    def tags(self) -> dict[str, int]:
        """How many pages have each tag, by tag."""
        return {tag: len(places) for tag, places in sorted(self._by_tag.items())}

    @cached_property
    def states(self) -> dict[PageState, int]:
        """How many pages stand how; only what there is."""
        counts = Counter(self._states)
        return {state: counts[state] for state in PageState if counts[state]}

    def _fitting(
        self, tag: str | None, state: PageState | None, host: str | None, text: str | None
    ) -> Iterator[NDArray[np.bool_]]:
        """Which pages fit each filter that is asked for."""
        if tag is not None:
            tagged = np.zeros(len(self.records), np.bool_)
            tagged[self._by_tag.get(tag, [])] = True
            yield tagged
        if state is not None:
            yield np.array([own is state for own in self._states])
        if host is not None:
            yield np.array([own == host for own in self.hosts])
        if text:
            wanted = sought(text)
            yield np.array([wanted in own for own in self._texts])

    def _ordered(self, column: Column, descending: bool) -> Ints:
        """The places of all pages in this order; those that are alike are by URL."""
        key = column, descending
        if key not in self._orders:
            values = self._values(column)
            self._orders[key] = np.lexsort((self._by_url, -values if descending else values))
        return self._orders[key]

    def _values(self, column: Column) -> Floats:
        """What pages are sorted by; NaN: there is nothing."""
        if column is Column.url:
            return self._by_url
        if column is Column.host:
            ranks = {host: rank for rank, host in enumerate(sorted(set(self.hosts)))}
            return np.array([ranks[host] for host in self.hosts], np.float64)
        if column is Column.state:
            numbers = {state: number for number, state in enumerate(PageState)}
            return np.array([numbers[state] for state in self._states], np.float64)
        if column in _OF_RECORDS:
            # In an array of floats, None becomes NaN.
            return np.array(list(map(_OF_RECORDS[column], self.records)), np.float64)
        if self.known is None:
            return np.full(len(self.records), math.nan)
        if column is Column.due:
            return np.array(self.next_poll_at, np.float64)
        estimates = self.known.estimates
        if column is Column.price:
            return np.asarray(estimates["price"], np.float64)
        if column is Column.index:
            counts = [state not in _BY_NO_INDEX for state in self._states]
            return np.where(counts, estimates["index"], math.nan)
        figures = self.known.chances if column is Column.chance else estimates["change_rate"]
        return np.where(estimates["polls"] >= of_page(0).needed, figures, math.nan)

    @cached_property
    def _by_url(self) -> Floats:
        """The rank of each page by its URL."""
        urls = [record.page.url for record in self.records]
        # In parts, as other threads wait for each of them.
        parts = [
            sorted(range(begin, min(begin + _SORTED_AT_ONCE, len(urls))), key=urls.__getitem__)
            for begin in range(0, len(urls), _SORTED_AT_ONCE)
        ]
        ranks = np.empty(len(urls))
        for rank, place in enumerate(heapq.merge(*parts, key=urls.__getitem__)):
            ranks[place] = rank
        return ranks


_BY_NO_INDEX = (PageState.paused, PageState.failing, PageState.gone)
"""How pages stand that are not polled by their index."""
_OF_RECORDS: dict[Column, Callable[[PageRecord], float | None]] = {
    Column.outcome: lambda record: record.outcome,
    Column.changed: lambda record: record.last_changed_at,
    Column.polled: lambda record: record.polled_at,
    Column.added: lambda record: record.added_at,
    Column.polls: lambda record: record.polls,
    Column.changes: lambda record: record.changes,
    Column.failures: lambda record: record.failures,
    Column.weight: lambda record: record.page.weight,
    Column.relevance: lambda record: record.relevance,
}
