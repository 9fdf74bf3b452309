"""A recorded history of items that appeared on lists and left them, as a world."""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pollwise.errors import InputError, TraceError
from pollwise.metrics import Changes, Polls
from pollwise.simulation.recorded.tables import open_table
from pollwise.simulation.worlds.world import Recorded
from pollwise.types import Item, Observation, Outcome, Page

__all__ = ["ItemReplay", "ItemTable", "ephemeral_figures", "ephemeral_tally"]

Floats = NDArray[np.float64]

_TIMES = ("published_at", "first_seen", "gone_at")


@dataclass(frozen=True, slots=True, eq=False)
class ItemTable:
    """Items, an entry each: their source, and when they were published, first listed and gone.

    Times are UTC seconds; `gone_at` is infinite for an item that stays. `weight` is the value of
    an item when it is published.
    """

    source: NDArray[Any]
    published_at: Floats
    first_seen: Floats
    gone_at: Floats
    weight: Floats


class ItemReplay(Recorded):
    """The lists of a table of items; every reset gives the same history.

    The pages are the sources, in the order of the table; a page changes when a new item is listed.
    A poll can find an item from `first_seen` on until it is gone. Its value halves every
    `half_life` seconds from its publication on. If every item is published when it is first
    listed, the table has no real times of publication, and polls do not tell ages.

    >>> items = ItemTable(
    ...     np.array(["a", "a"]), *np.array([[0.0, 4.0], [1.0, 5.0], [9.0, 6.0], [1.0, 2.0]])
    ... )
    >>> world = ItemReplay(items, half_life=1.0)
    >>> world.reset(seed=0)
    >>> world.poll([0], 5.0)[0].items
    (Item(value=0.03125, published_at=0.0), Item(value=1.0, published_at=4.0))
    """

    def __init__(self, items: ItemTable, half_life: float) -> None:
        super().__init__()
        if not 0 < half_life < math.inf:
            raise InputError(
                f"half_life={half_life!r} must be a finite number of seconds above 0; it is the"
                " time in which an item loses half of its value"
            )
        self.decay = math.log(2.0) / half_life
        sorted_names, first_row, code = np.unique(
            items.source, return_index=True, return_inverse=True
        )
        turns = np.argsort(first_row)
        names, owner = sorted_names[turns], np.argsort(turns)[code]
        order = np.lexsort((items.published_at, items.first_seen, owner))
        self._items = ItemTable(
            owner[order],
            *(np.asarray(getattr(items, name))[order] for name in (*_TIMES, "weight")),
        )
        first, gone = self._items.first_seen, self._items.gone_at
        self._aged = bool((self._items.published_at < first).any())
        self._offsets = np.searchsorted(self._items.source, np.arange(len(names) + 1))
        self.begin = float(first.min())
        self.end = float(max(first.max(), gone[np.isfinite(gone)].max(initial=-math.inf)))
        listed = [np.unique(first[rows]) for rows in map(self._rows, range(len(names)))]
        changes = Changes.of(listed, np.full(len(names), self.begin), np.full(len(names), math.inf))
        self._set_history([Page(i, url=str(name)) for i, name in enumerate(names)], changes)

    @classmethod
    def read(cls, source: object, half_life: float) -> Self:
        """Read a table: the path of one, Parquet or CSV by its ending, or one in memory.

        The sources of a file are in the order of their names.

        Its columns: `source`, `item` (unique within its source), `published_at` (where empty or
        later, `first_seen` is taken), `first_seen`, `gone_at` (negative or empty: it stays) and
        `weight`; times are UTC seconds. `TraceError` names what is missing or wrong, and where;
        `InputError` for a half-life that is not above 0.
        """
        return cls(_read_items(source), half_life)

    @property
    def rates(self) -> Mapping[int, float]:
        """The value that appears at each source per second."""
        lived = max(self.end - self.begin, 1.0)
        values = np.add.reduceat(self.values_at(self._items.first_seen), self._offsets[:-1])
        return dict(enumerate((values / lived).tolist()))

    @property
    def items(self) -> ItemTable:
        """All items by source (the ids of the pages) and `first_seen`; for scoring only."""
        return self._items

    def values_at(self, times: Floats) -> Floats:
        """The value of each item at its own entry of `times`, as if it were never gone."""
        age = np.maximum(times - self._items.published_at, 0.0)
        return np.asarray(self._items.weight * np.exp(-self.decay * age), np.float64)

    def poll(self, page_ids: Sequence[int], now: float) -> list[Observation]:
        """What polls find: whether the list has changed, and the new items that are there."""
        found = []
        for page_id in page_ids:
            since = self._seen[page_id]
            items = self._new_items(page_id, since, now)
            (seen,) = super().poll([page_id], now)
            if seen.outcome == Outcome.GONE:
                found.append(seen)
                continue
            found.append(Observation(page_id, now, seen.outcome, n_items=len(items), items=items))
        return found

    def _rows(self, source: int) -> slice:
        return slice(int(self._offsets[source]), int(self._offsets[source + 1]))

    def _new_items(self, source: int, since: float, now: float) -> tuple[Item, ...]:
        """The items listed now but not yet at `since`, the previous poll (NaN: there was none)."""
        rows, table = self._rows(source), self._items
        first = table.first_seen[rows]
        begin = 0 if math.isnan(since) else int(np.searchsorted(first, since, "right"))
        new = slice(rows.start + begin, rows.start + int(np.searchsorted(first, now, "right")))
        listed = table.gone_at[new] > now
        published = table.published_at[new][listed]
        values = table.weight[new][listed] * np.exp(-self.decay * (now - published))
        times = published.tolist() if self._aged else [None] * len(published)
        return tuple(map(Item, values.tolist(), times))


def ephemeral_tally(world: ItemReplay, polls: Polls, warm_up: float) -> Floats:
    """What polls got of the items listed after `warm_up`, a share of the history's time.

    A row for each source: the value of items when first polled, their value when first listed, how
    many were polled before they were gone, and how many there were.
    """
    begin = _counted_from(world, warm_up)
    items = world.items
    taken_at = np.full(len(items.first_seen), math.inf)
    for source in range(len(world.pages)):
        times = np.append(polls.times[polls.page_ids == source], math.inf)
        rows = items.source == source
        taken_at[rows] = times[np.searchsorted(times, items.first_seen[rows], "left")]
    counted = items.first_seen >= begin
    taken = counted & (taken_at < items.gone_at)
    value = np.where(taken, world.values_at(np.where(taken, taken_at, items.first_seen)), 0.0)
    offered = np.where(counted, world.values_at(items.first_seen), 0.0)
    columns = [
        np.bincount(items.source, of_items, minlength=len(world.pages))
        for of_items in (value, offered, taken, counted)
    ]
    return np.stack(columns, axis=1)


def ephemeral_figures(world: ItemReplay, polls: Polls, warm_up: float) -> dict[str, float]:
    """What polls got of the items listed after `warm_up`, a share of the history's time.

    `value_captured`: the value of items when first polled, as a share of their value when first
    listed; `items_captured`: the share of items polled before they were gone; `polls` in that time.
    """
    value, offered, taken, counted = ephemeral_tally(world, polls, warm_up).sum(axis=0)
    return {
        "polls": int((polls.times >= _counted_from(world, warm_up)).sum()),
        "value_captured": float(value / offered) if offered > 0 else math.nan,
        "items_captured": float(taken / counted) if counted > 0 else math.nan,
    }


def _counted_from(world: ItemReplay, warm_up: float) -> float:
    return world.begin + warm_up * (world.end - world.begin)


def _read_items(source: object) -> ItemTable:
    """The table at a path, or in memory, checked."""
    table = open_table(source, ("source", "item", *_TIMES, "weight"), "the table of items")
    if len(table) == 0:
        raise TraceError(f"{table.name}: no rows; an item history needs at least one item")
    sources, items = np.array(table.texts("source")), np.array(table.texts("item"))
    first = table.times("first_seen")
    published = np.fmin(table.times("published_at", empty=math.nan), first)
    gone = table.times("gone_at", empty=-1.0)
    gone = np.where(gone >= 0, gone, math.inf)
    weight = table.numbers("weight")
    faults = {
        "gone_at is before first_seen; leave it empty for one that stays": gone < first,
        "weight is negative; give a number of at least 0, such as 1": weight < 0,
        "the source has this item already; give each item once": _repeated(sources, items),
    }
    for complaint, bad in faults.items():
        if bad.any():
            raise table.complaint(int(np.argmax(bad)), complaint)
    if not weight.any():
        raise TraceError(f"{table.name}: every weight is 0; give items that are worth something")
    columns = (sources, published, first, gone, weight)
    if not isinstance(source, str | os.PathLike):
        return ItemTable(*columns)
    by_name = np.argsort(sources, kind="stable")
    return ItemTable(*(column[by_name] for column in columns))


def _repeated(sources: NDArray[np.str_], items: NDArray[np.str_]) -> NDArray[np.bool_]:
    """The rows whose source and item are those of an earlier row."""
    order = np.lexsort((items, sources))
    again = np.zeros(len(order), np.bool_)
    same = sources[order][1:] == sources[order][:-1]
    again[order[1:]] = same & (items[order][1:] == items[order][:-1])
    return again
