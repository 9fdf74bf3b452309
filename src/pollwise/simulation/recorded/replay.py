"""A recorded history of real changes as a world."""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from pollwise.checks import require_object
from pollwise.errors import InputError, TraceError
from pollwise.metrics import Changes
from pollwise.simulation.recorded.crawl_log import is_crawl_log, read_crawl_log
from pollwise.simulation.recorded.tables import path_of
from pollwise.simulation.recorded.trace import read_trace
from pollwise.simulation.worlds.world import Recorded
from pollwise.times import Moment, time_of, times_of
from pollwise.types import Page

__all__ = ["Replay"]


class Replay(Recorded):
    """Recorded pages and changes; every reset gives the same history.

    `changes` maps the name of each page to the times at which it changed, in any order; `lives` to
    its birth and death (infinite: none); `sites` to its site, if that is known. Pages not in
    `lives` are there from the first change of all on. `end` is when the history ends (None: with
    what is known last). Times are UTC seconds, or what else `pollwise.times` understands. The ids
    of pages are in the order of the names as they are given. Pages are polled from their birth on,
    without a copy at first.

    >>> world = Replay({"a": [3.0, 1.0], "b": []}, lives={"b": (2.0, math.inf)})
    >>> world.reset(seed=0)
    >>> world.begin, world.end, world.changes.of_page(0).tolist()
    (1.0, 3.0, [1.0, 3.0])
    >>> world
    <Replay: 2 pages, 2 changes>
    """

    def __init__(
        self,
        changes: Mapping[str, ArrayLike],
        lives: Mapping[str, tuple[Moment, Moment]] | None = None,
        end: Moment | None = None,
        *,
        sites: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        super().__init__()
        demand = "times by the names of pages; for a table, Replay.read"
        require_object("Replay: changes", changes, Mapping, demand)
        names = list(dict.fromkeys([*changes, *(lives or {})]))
        times = [
            np.unique(times_of(f"Replay: changes of {name!r}", changes.get(name, ())))
            for name in names
        ]
        told = {
            name: times_of(f"Replay: life of {name!r}", life, endless=True).tolist()
            for name, life in (lives or {}).items()
        }
        known = np.concatenate([*times, [born for born, _ in told.values()]])
        if len(known) == 0:
            raise TraceError("the trace has no pages: give one with at least one change or birth")
        begin = float(known.min())
        last = max([float(known.max()), *(d for _, d in told.values() if math.isfinite(d))])
        born = np.array([told.get(name, (begin, math.inf))[0] for name in names])
        died = np.array([told.get(name, (begin, math.inf))[1] for name in names])
        pages = [Page(i, url=name, site=sites.get(name, "")) for i, name in enumerate(names)]
        self._take(
            pages,
            Changes.of(times, born, died),
            last if end is None else time_of("Replay: end", end),
        )

    def __repr__(self) -> str:
        return f"<Replay: {len(self._pages)} pages, {len(self._changes.times)} changes>"

    def _take(self, pages: list[Page], changes: Changes, end: float) -> None:
        self.begin = float(changes.born.min())
        self.end = end
        self._set_history(pages, changes)

    @classmethod
    def read(
        cls,
        source: object,
        pages: object = None,
        *,
        weighted: bool = False,
        ignore_reverts: bool = False,
        last_changed: bool = False,
    ) -> "Replay":
        """Read a trace as `pollwise.simulation.recorded.trace` or `crawl_log` describes it.

        `source` is a path, or the table of changes itself (of pandas, polars or Arrow, or lists by
        the names of columns); `pages` is the table of pages (None: of a path, the one beside it).
        `weighted`: pages have the weights of column `weight`. `ignore_reverts`: changes back to an
        earlier version (column `revert`) do not count. `last_changed`: polls tell when the page
        changed last or, if it never did, was born, as many servers do. `TraceError` names what is
        missing or wrong, where, and the remedy.
        """
        path = path_of(source) if isinstance(source, str | os.PathLike) else None
        if path is not None and pages is None and is_crawl_log(path):
            trace = read_crawl_log(path, weighted=weighted)
        else:
            trace = read_trace(source, pages, weighted=weighted)
        changes = trace.changes
        if ignore_reverts:
            if changes.reverted is None:
                where = path or "the table of changes"
                raise TraceError(f"{where}: no column revert; add it, or count all changes")
            changes = changes.novel()
        weights = [1.0] * len(trace.names) if trace.weights is None else trace.weights.tolist()
        rows = zip(trace.names, weights, trace.sites, trace.kinds, strict=True)
        named = [
            Page(number, url=name, weight=weight, site=site, kind=kind)
            for number, (name, weight, site, kind) in enumerate(rows)
        ]
        return cls._of(named, changes, trace.end, last_changed)

    @classmethod
    def _of(cls, pages: list[Page], changes: Changes, end: float, last_changed: bool) -> "Replay":
        world = cls.__new__(cls)
        Recorded.__init__(world)
        world.tells_last_changed = last_changed
        world._take(pages, changes, end)
        return world

    def with_copies(self) -> "Replay":
        """The same history, with a copy of every page from its birth on."""
        born = self._changes.born.tolist()
        pages = [replace(page, seen_at=born[page.id]) for page in self._pages]
        return self._of(pages, self._changes, self.end, self.tells_last_changed)

    def within(self, begin: Moment, end: Moment) -> "Replay":
        """The part of the history from `begin` to `end`, its pages numbered anew.

        `InputError` if no page lives then.
        """
        begin, end = time_of("within: begin", begin), time_of("within: end", end)
        whole = self._changes
        lives = np.flatnonzero((whole.born < end) & (whole.died > begin)).tolist()
        if not lives:
            raise InputError(f"no page lives from {begin:.0f} to {end:.0f}: choose another time")
        parts = [
            np.arange(*(whole.offsets[i] + np.searchsorted(whole.of_page(i), (begin, end))))
            for i in lives
        ]
        kept = np.concatenate(parts)
        changes = Changes(
            np.append(0, np.cumsum([len(part) for part in parts])),
            whole.times[kept],
            np.maximum(whole.born[lives], begin),
            whole.died[lives],
            None if whole.reverted is None else whole.reverted[kept],
        )
        pages = [replace(self._pages[i], id=number) for number, i in enumerate(lives)]
        return self._of(pages, changes, min(end, self.end), self.tells_last_changed)

    def among(self, page_ids: Sequence[int]) -> "Replay":
        """The part of the history that these pages have, numbered anew in the order given."""
        whole = self._changes
        rows = [np.arange(*whole.offsets[i : i + 2]) for i in page_ids]
        kept = np.concatenate([*rows, np.empty(0, np.int64)]).astype(np.int64)
        changes = Changes(
            np.append(0, np.cumsum([len(row) for row in rows])),
            whole.times[kept],
            whole.born[list(page_ids)],
            whole.died[list(page_ids)],
            None if whole.reverted is None else whole.reverted[kept],
        )
        pages = [replace(self._pages[i], id=number) for number, i in enumerate(page_ids)]
        return self._of(pages, changes, self.end, self.tells_last_changed)

    def joined_by(self, others: Mapping[str, ArrayLike]) -> "Replay":
        """The history with further pages, by name the times at which each changed, in order.

        They live all the time, each is a site of its own, and none of their changes is a revert.
        """
        whole = self._changes
        times = [
            times_of(f"joined_by: changes of {name!r}", changed_at)
            for name, changed_at in others.items()
        ]
        novel = np.zeros(sum(map(len, times)), np.bool_)
        changes = Changes(
            np.append(
                whole.offsets,
                whole.offsets[-1] + np.cumsum([len(t) for t in times], dtype=np.int64),
            ),
            np.concatenate([whole.times, *times]),
            np.append(whole.born, np.full(len(others), self.begin)),
            np.append(whole.died, np.full(len(others), math.inf)),
            None if whole.reverted is None else np.append(whole.reverted, novel),
        )
        new = [Page(len(self._pages) + n, url=name, site=name) for n, name in enumerate(others)]
        return self._of([*self._pages, *new], changes, self.end, self.tells_last_changed)

    @property
    def rates(self) -> Mapping[int, float]:
        """Changes per second of each page's life: the best that a policy could have known."""
        changes = self._changes
        lived = np.minimum(changes.died, self.end) - np.maximum(changes.born, self.begin)
        counts = np.diff(changes.offsets)
        return dict(enumerate((counts / np.maximum(lived, 1.0)).tolist()))
