"""What is kept of the pages that have bounds: by columns, as there may be a million."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pollwise.array_growth import long_enough
from pollwise.numbering import Numbering
from pollwise.page_columns import PageColumns
from pollwise.types import Page

__all__ = ["OwnBounds", "OwnBoundsTable"]

_NONE = -1.0
"""Stands for an interval that is not given."""
_ROW = np.dtype(
    [
        ("page_id", "i8"),
        ("cost", "f8"),
        ("longest", "f8"),
        ("shortest", "f8"),
        ("polled_at", "f8"),
        ("not_before", "f8"),
        ("looks_at", "f8"),
        ("held_until", "f8"),
        ("changes", "i4"),
        ("scope", "i4"),
        ("seen", "?"),
        ("paused", "?"),
    ]
)
_FIELDS = _ROW.names or ()
_MOST_LATELY = 1024


class OwnBounds:
    """What is kept of a page, as of when it was asked for; what is set of it is kept as well.

    It is good until pages come or go. `longest` and `shortest` are the intervals of its own; None:
    those of all pages. `polled_at` is the time of its latest poll, `not_before` that until which it
    rests. `looks_at` is when its deadline is looked at next; -inf: it is overdue. `held_until` is
    when the policy gets it back that selected it too soon; -inf: it is not held. `changes` counts
    the polls in a row that found a change; it was `seen` if there is a copy. A page that is
    `paused` is held for ever.
    """

    table: "OwnBoundsTable"
    row: int
    page_id: int
    cost: float
    longest: float | None
    shortest: float | None
    polled_at: float
    not_before: float
    looks_at: float
    held_until: float
    changes: int
    scope: str
    seen: bool
    paused: bool

    def __init__(self, table: "OwnBoundsTable", row: int) -> None:
        own = self.__dict__  # setting an attribute writes into the table
        own["table"], own["row"] = table, row
        (
            own["page_id"],
            own["cost"],
            longest,
            shortest,
            own["polled_at"],
            own["not_before"],
            own["looks_at"],
            own["held_until"],
            own["changes"],
            scope,
            own["seen"],
            own["paused"],
        ) = table.values(row)
        own["scope"] = table.scopes.keys[scope]
        own["longest"] = None if longest == _NONE else longest
        own["shortest"] = None if shortest == _NONE else shortest

    def __setattr__(self, name: str, value: float) -> None:
        self.table.columns[name][self.row] = value
        self.__dict__[name] = value

    @property
    def round_cost(self) -> float:
        """What it takes of a round of polls of all pages."""
        return 0.0 if self.paused else self.cost

    def want(self, page: Page) -> None:
        """Users want something else of it."""
        self.cost, self.paused = page.cost, page.paused
        columns, own = self.table.columns, self.__dict__
        own["longest"], own["shortest"] = page.longest_interval, page.shortest_interval
        columns["longest"][self.row] = _told(page.longest_interval)
        columns["shortest"][self.row] = _told(page.shortest_interval)


class OwnBoundsTable:
    """Rows of `OwnBounds` by page id, 80 bytes each."""

    def __init__(self) -> None:
        self._rows: NDArray[Any] = np.zeros(0, _ROW)
        self.columns = {name: self._rows[name] for name in _FIELDS}
        """The fields of all rows, to be read and written: those of `OwnBounds`."""
        self.scopes = Numbering[str]()
        """The politeness scopes by the numbers in the rows."""
        self._count = 0
        self._row_of = np.zeros(0, np.int32)
        """By page id; -1: nothing is kept of the page."""
        self._free: list[int] = []
        self._lately: dict[int, OwnBounds] = {}
        """Those asked for lately, by page id: a page that is selected is soon answered."""

    def __iter__(self) -> Iterator[OwnBounds]:
        return (OwnBounds(self, row) for row in self.rows().tolist())

    def rows(self) -> NDArray[np.int64]:
        """The rows of all pages, by id."""
        return self._row_of[self._row_of >= 0].astype(np.int64)

    def rows_of(self, page_ids: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows of pages; -1: nothing is kept of the page."""
        ids = np.asarray(page_ids, np.int64)
        rows = np.full(len(ids), -1)
        known = (ids >= 0) & (ids < len(self._row_of))
        rows[known] = self._row_of[ids[known]]
        return rows

    def values(self, row: int) -> Any:
        """The fields of a row, a tuple; -1 stands for an interval that is not given."""
        return self._rows.item(row)

    def get(self, page_id: int) -> OwnBounds | None:
        """What is kept of a page; None: nothing."""
        if (own := self._lately.get(page_id)) is not None:
            return own
        if not 0 <= page_id < len(self._row_of):
            return None
        row: int = self._row_of.item(page_id)
        if row < 0:
            return None
        if len(self._lately) == _MOST_LATELY:
            self._lately.clear()
        own = self._lately[page_id] = OwnBounds(self, row)
        return own

    def let_go(self) -> None:
        """Look into the columns again, as they were written or rows come or go."""
        self._lately.clear()

    def extend(self, pages: PageColumns, polled_at: NDArray[np.float64]) -> NDArray[np.int64]:
        """Keep pages that are new, last polled at these times (-inf: never); their rows."""
        if len(pages) == 0:
            return np.zeros(0, np.int64)
        self.let_go()
        reused = [self._free.pop() for _ in range(min(len(self._free), len(pages)))]
        more = len(pages) - len(reused)
        rows = np.arange(self._count - len(reused), self._count + more)
        rows[: len(reused)] = reused
        # By a slice, as at the start, it takes two thirds of the time.
        places: Any = rows if reused else slice(self._count, self._count + more)
        self._make_room(self._count + more)
        self._count += more
        self._row_of = long_enough(self._row_of, int(pages.ids.max()) + 1, -1)
        self._row_of[pages.ids] = rows
        columns = self.columns
        columns["page_id"][places] = pages.ids
        columns["cost"][places] = pages.costs
        terms = pages.terms
        columns["longest"][places] = terms.array(lambda one: _told(one.longest_interval), "f8")
        columns["shortest"][places] = terms.array(lambda one: _told(one.shortest_interval), "f8")
        columns["polled_at"][places] = polled_at
        columns["not_before"][places] = columns["held_until"][places] = -math.inf
        columns["looks_at"][places] = math.inf
        columns["changes"][places] = pages.changes_in_a_row
        columns["seen"][places] = ~np.isnan(pages.seen_at)
        columns["paused"][places] = terms.array(lambda one: one.paused, "?")
        columns["scope"][places] = terms.array(lambda one: self.scopes.take_up(one.scope), "i4")
        return rows

    def remove(self, own: OwnBounds) -> None:
        """Forget a page."""
        self.let_go()
        self._row_of[own.page_id] = -1
        self._free.append(own.row)

    def _make_room(self, rows: int) -> None:
        before = self._rows
        self._rows = long_enough(before, rows)
        if self._rows is not before:
            self.columns = {name: self._rows[name] for name in _FIELDS}


def _told(interval: float | None) -> float:
    return _NONE if interval is None else interval
