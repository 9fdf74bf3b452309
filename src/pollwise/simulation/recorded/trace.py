"""Recorded histories as tables: pages and their changes, read and checked.

A trace is a table of changes, and perhaps one of pages beside it::

    NAME.parquet        page, changed_at; perhaps revert (1: back to a version seen before)
    NAME.pages.parquet  page, first_seen, died_at (negative or empty: alive); perhaps
                        observed_until, site, type, weight

or the same as CSV, or as tables in memory. The rows of each page must be in the order of time;
pages may be mixed. The pages of files are in the order of their names, so that the order of rows
does not matter; those of tables in memory are in the order of the caller.
"""

import math
import os
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pollwise.checks import shown
from pollwise.errors import TraceError
from pollwise.kinds import kind_of
from pollwise.metrics import Changes
from pollwise.simulation.recorded.tables import Table, open_table, path_of

__all__ = ["Trace", "read_trace"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """A recording of pages; lists and arrays have an entry for each page.

    `weights` None: they were not asked for. `end` is when the recording ended (UTC seconds).
    """

    names: list[str]
    sites: list[str]
    kinds: list[str]
    weights: Floats | None
    changes: Changes
    end: float


@dataclass(frozen=True, slots=True, eq=False)
class _Pages:
    names: list[str]
    sites: list[str]
    kinds: list[str]
    weights: Floats | None
    born: Floats
    died: Floats
    end: float


def read_trace(changes: object, pages: object = None, *, weighted: bool = False) -> Trace:
    """Read a table of changes, and one of its pages, if there is one.

    Both are paths or tables in memory; of NAME.parquet or NAME.csv the table of pages is the one
    beside it. Without one, every page is there from the first change of the whole table to the
    last. `weighted`: read and check the weights. `TraceError` names what is wrong, where, and the
    remedy.
    """
    companion = "the table of pages"
    path = path_of(changes) if isinstance(changes, str | os.PathLike) else None
    if path is not None and path.name and pages is None:
        beside = path.with_name(f"{path.stem}.pages{path.suffix}")
        companion, pages = beside.name, beside if beside.is_file() else None
    table = open_table(changes, (), "the table of changes")
    if "checked_at" in table and "changed_at" not in table:
        raise TraceError(
            f"{table.name}: past checks (checked_at), not changes (changed_at): `pollwise replay"
            " FILE.csv` estimates from these"
        )
    table.require("page", "changed_at", instead=" or, of past checks, page, checked_at, changed")
    codes, names = table.codes("page")
    times = table.times("changed_at")
    _check_order(table, codes, times, names)
    if pages is not None:
        listed = open_table(pages, ("page", "first_seen", "died_at"), companion)
        lives = _read_pages(listed, times, weighted, by_name=path is not None)
    elif not names:
        raise TraceError(f"{table.name}: no rows; a trace needs at least one change")
    elif weighted:
        raise TraceError(
            f"{table.name}: no weights; give them in a column weight of {companion}, or leave out"
            " --weighted"
        )
    else:
        lives = _pages_of(names if path is None else sorted(names), times)
    ids = {name: number for number, name in enumerate(lives.names)}
    unlisted = next((name for name in names if name not in ids), None)
    if unlisted is not None:
        row = int(np.flatnonzero(codes == names.index(unlisted))[0])
        raise table.complaint(
            row,
            f"page {shown(unlisted)} has no birth: {companion} does not list it; add it there with"
            " its first_seen, or drop its changes",
        )
    rows_page = np.array([ids[name] for name in names], np.int64)[codes]
    _check_lives(table, rows_page, times, lives)
    order = np.lexsort((times, rows_page))
    offsets = np.searchsorted(rows_page[order], np.arange(len(lives.names) + 1))
    reverted = _read_reverts(table)
    history = Changes(
        offsets,
        times[order],
        lives.born,
        lives.died,
        None if reverted is None else reverted[order],
    )
    return Trace(lives.names, lives.sites, lives.kinds, lives.weights, history, lives.end)


def _check_order(table: Table, codes: Ints, times: Floats, names: list[str]) -> None:
    """`TraceError` for the first row that is not later than the previous one of its page."""
    order = np.argsort(codes, kind="stable")
    late = (np.diff(codes[order]) == 0) & (np.diff(times[order]) <= 0)
    if not late.any():
        return
    rows = order[1:][late]
    row = int(rows.min())
    if times[row] in times[:row][codes[:row] == codes[row]]:
        text = "changed twice at the same time; keep one of the rows"
    else:
        text = "is not in the order of time; sort the table by page and changed_at"
    raise table.complaint(row, f"page {shown(names[codes[row]])} {text}")


def _check_lives(table: Table, pages_of_rows: Ints, times: Floats, pages: _Pages) -> None:
    """`TraceError` for the first change outside the life of its page."""
    wrong = {
        "before its birth (first_seen)": times < pages.born[pages_of_rows],
        "at or after its death (died_at)": times >= pages.died[pages_of_rows],
        "after the end of all recording (observed_until)": times > pages.end,
    }
    for when, rows in wrong.items():
        for row in np.flatnonzero(rows)[:1].tolist():
            raise table.complaint(
                row,
                f"page {shown(pages.names[pages_of_rows[row]])} changed {when}; correct the table"
                " of pages, or drop the row",
            )


def _read_reverts(table: Table) -> NDArray[np.bool_] | None:
    if "revert" not in table:
        return None
    reverts = table.numbers("revert")
    for row in np.flatnonzero((reverts != 0) & (reverts != 1))[:1].tolist():
        raise table.complaint(row, f"revert is {reverts[row]:g}; give 1 (yes) or 0 (no)")
    return reverts == 1


def _pages_of(names: list[str], times: Floats) -> _Pages:
    """The pages of a trace without a table of pages."""
    return _Pages(
        names=names,
        sites=[""] * len(names),
        kinds=[kind_of(name) for name in names],
        weights=None,
        born=np.full(len(names), times.min()),
        died=np.full(len(names), math.inf),
        end=float(times.max()),
    )


def _read_pages(table: Table, times: Floats, weighted: bool, *, by_name: bool) -> _Pages:
    """The table of pages; `times` are those of all changes, `by_name` sorts the pages."""
    names = table.texts("page")
    if not names:
        raise TraceError(f"{table.name}: no rows; list every page of the trace")
    order = sorted(range(len(names)), key=names.__getitem__)
    for one, other in pairwise(order):
        if names[one] == names[other]:
            raise table.complaint(other, f"page {shown(names[other])} is listed before; drop a row")
    if not by_name:
        order = list(range(len(names)))
    born, died = table.times("first_seen"), table.times("died_at", empty=-1.0)
    for row in np.flatnonzero((died >= 0) & (died < born))[:1].tolist():
        raise table.complaint(
            row,
            f"died_at {died[row]:.0f} is before first_seen {born[row]:.0f};"
            " leave died_at empty for a page that is alive",
        )
    end = -1.0
    if "observed_until" in table:
        end = table.times("observed_until", empty=-1.0).max()
    if end < 0:
        end = max(times.max(initial=-math.inf), born.max(), died.max())
    for row in np.flatnonzero(born > end)[:1].tolist():
        raise table.complaint(row, "first_seen is after every observed_until; correct one of them")
    return _Pages(
        names=[names[row] for row in order],
        sites=_in_order(table, "site", order) or [""] * len(names),
        kinds=_in_order(table, "type", order) or [kind_of(names[row]) for row in order],
        weights=_read_weights(table)[order] if weighted else None,
        born=born[order],
        died=np.where(died >= 0, died, math.inf)[order],
        end=float(end),
    )


def _in_order(table: Table, column: str, order: list[int]) -> list[str]:
    """The texts of a column; empty without the column."""
    if column not in table:
        return []
    texts = table.texts(column)
    return [texts[row] for row in order]


def _read_weights(table: Table) -> Floats:
    """What a change of each page is worth, row by row."""
    if "weight" not in table:
        raise TraceError(f"{table.name}: no column weight; add it, or leave out --weighted")
    weights = table.numbers("weight")
    for row in np.flatnonzero(weights < 0)[:1].tolist():
        raise table.complaint(row, f"weight {weights[row]:g} is negative; give 0 or more")
    if not weights.any():
        raise TraceError(f"{table.name}: every weight is 0; weigh at least one page above 0")
    return weights
