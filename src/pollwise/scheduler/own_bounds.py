"""What is kept of the pages that have bounds: by columns, as there may be a million."""

import math
from collections.abc import Iterator
from typing import Any, Generic, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from pollwise.page_columns import PageColumns
from pollwise.types import Page

__all__ = ["OwnBounds", "OwnBoundsTable"]

_NONE = -1.0
"""Stands for an interval that is not given."""
_ROW = np.dtype(
    [
        ("page_id", "i8"),
        ("cost", "f8"),
        ("own_longest", "f8"),
        ("own_shortest", "f8"),
        ("polled_at", "f8"),
        ("not_before", "f8"),
        ("looks_at", "f8"),
        ("held_until", "f8"),
        ("changes", "i4"),
        ("seen", "?"),
        ("paused", "?"),
    ]
)

T = TypeVar("T")


class _Column(Generic[T]):
    """A field of a row that is read and written where the table has it."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, own: None, owner: type) -> "_Column[T]": ...
    @overload
    def __get__(self, own: "OwnBounds", owner: type) -> T: ...
    def __get__(self, own: "OwnBounds | None", owner: type) -> "T | _Column[T]":
        if own is None:
            return self
        value: T = own.table.columns[self._name].item(own.row)
        return value

    def __set__(self, own: "OwnBounds", value: T) -> None:
        own.table.columns[self._name][own.row] = value


class OwnBounds:
    """What is kept of a page; it is good until pages come or go.

    `polled_at` is the time of its latest poll, `not_before` that until which it rests. `looks_at`
    is when its deadline is looked at next; -inf: it is overdue. `held_until` is when the policy
    gets it back that selected it too soon; -inf: it is not held. `changes` counts the polls in a
    row that found a change; it was `seen` if there is a copy. A page that is `paused` is held for
    ever.
    """

    __slots__ = ("row", "table")

    cost = _Column[float]()
    polled_at = _Column[float]()
    not_before = _Column[float]()
    looks_at = _Column[float]()
    held_until = _Column[float]()
    changes = _Column[int]()
    seen = _Column[bool]()
    paused = _Column[bool]()

    def __init__(self, table: "OwnBoundsTable", row: int) -> None:
        self.table = table
        self.row = row

    @property
    def scope(self) -> str:
        """Its politeness scope."""
        return self.table.scopes[self.row]

    @property
    def longest(self) -> float | None:
        """The longest interval of its own; None: that of all pages."""
        return _given(self.table.columns["own_longest"].item(self.row))

    @property
    def shortest(self) -> float | None:
        """The shortest interval of its own; None: that of all pages."""
        return _given(self.table.columns["own_shortest"].item(self.row))

    @property
    def round_cost(self) -> float:
        """What it takes of a round of polls of all pages."""
        return 0.0 if self.paused else self.cost

    def want(self, page: Page) -> None:
        """Users want something else of it."""
        columns, row = self.table.columns, self.row
        columns["cost"][row] = page.cost
        columns["paused"][row] = page.paused
        columns["own_longest"][row] = _told(page.longest_interval)
        columns["own_shortest"][row] = _told(page.shortest_interval)


class OwnBoundsTable:
    """Rows of `OwnBounds` by page id, some 90 bytes each."""

    def __init__(self) -> None:
        self._rows = np.zeros(0, _ROW)
        self.columns: dict[str, NDArray[Any]] = {}
        """The fields of all rows, to be read and written: those of `OwnBounds`, and `page_id`."""
        self.scopes: list[str] = []
        """The politeness scope of each row."""
        self._count = 0
        self._row_of = np.zeros(0, np.int32)
        """By page id; -1: nothing is kept of the page."""
        self._free: list[int] = []
        self._make_room(0)

    def __iter__(self) -> Iterator[OwnBounds]:
        return (OwnBounds(self, row) for row in self.rows().tolist())

    def rows(self) -> NDArray[np.int64]:
        """The rows of all pages, by id."""
        return self._row_of[self._row_of >= 0].astype(np.int64)

    def get(self, page_id: int) -> OwnBounds | None:
        """What is kept of a page; None: nothing."""
        if not 0 <= page_id < len(self._row_of):
            return None
        row: int = self._row_of.item(page_id)
        return None if row < 0 else OwnBounds(self, row)

    def extend(self, pages: PageColumns, polled_at: NDArray[np.float64]) -> NDArray[np.int64]:
        """Keep pages that are new, last polled at these times (-inf: never); their rows."""
        if len(pages) == 0:
            return np.zeros(0, np.int64)
        reused = [self._free.pop() for _ in range(min(len(self._free), len(pages)))]
        more = len(pages) - len(reused)
        rows = np.concatenate([np.array(reused, np.int64), np.arange(more) + self._count])
        self._make_room(self._count + more)
        self._count += more
        most = int(pages.ids.max()) + 1
        if most > len(self._row_of):
            grown = max(most, 2 * len(self._row_of)) - len(self._row_of)
            self._row_of = np.concatenate([self._row_of, np.full(grown, -1, np.int32)])
        self._row_of[pages.ids] = rows
        columns = self.columns
        columns["page_id"][rows] = pages.ids
        columns["cost"][rows] = pages.costs
        terms = pages.terms
        columns["own_longest"][rows] = terms.array(lambda one: _told(one.longest_interval), "f8")
        columns["own_shortest"][rows] = terms.array(lambda one: _told(one.shortest_interval), "f8")
        columns["polled_at"][rows] = polled_at
        columns["not_before"][rows] = columns["held_until"][rows] = -math.inf
        columns["looks_at"][rows] = math.inf
        columns["changes"][rows] = pages.changes_in_a_row
        columns["seen"][rows] = ~np.isnan(pages.seen_at)
        columns["paused"][rows] = terms.array(lambda one: one.paused, "?")
        scopes = [one.scope for one in terms.distinct]
        of_rows = [scopes[number] for number in terms.numbers.tolist()]
        for row, scope in zip(reused, of_rows, strict=False):
            self.scopes[row] = scope
        self.scopes += of_rows[len(reused) :]
        return rows

    def remove(self, own: OwnBounds) -> None:
        """Forget a page."""
        self._row_of[self.columns["page_id"][own.row]] = -1
        self._free.append(own.row)

    def _make_room(self, rows: int) -> None:
        """Make room for so many rows, and for an eighth more."""
        had = len(self._rows)
        if rows > had or not self.columns:
            longer = np.zeros(rows + rows // 8, _ROW)
            longer[:had] = self._rows
            self._rows = longer
            self.columns = {name: self._rows[name] for name in _ROW.names or ()}


def _told(interval: float | None) -> float:
    return _NONE if interval is None else interval


def _given(interval: float) -> float | None:
    return None if interval == _NONE else interval
