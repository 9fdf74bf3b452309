"""What the simulator needs of a world of pages, and the base of our worlds."""

import math
from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from pollwise.metrics import Changes
from pollwise.types import Observation, Outcome, Page

__all__ = ["Recorded", "World"]


@runtime_checkable
class World(Protocol):
    """Pages that change. The same seed gives the same history, whatever polls it."""

    begin: float
    """The time of the first poll (UTC seconds)."""

    tells_last_changed: bool
    """Whether polls tell when the page changed last, as servers may."""

    def reset(self, seed: int, duration: float = math.inf) -> None:
        """Begin anew with a history of at least `duration` seconds, or all that is recorded."""

    @property
    def end(self) -> float:
        """When the history ends."""

    @property
    def pages(self) -> Sequence[Page]:
        """Every page that is there at some time; their ids are 0, 1, 2, ..."""

    @property
    def changes(self) -> Changes:
        """What really happens, for the simulator and for scoring; no policy sees it."""

    @property
    def rates(self) -> Mapping[int, float]:
        """The true change rates per second by page id, for policies that are told them."""

    def poll(self, page_ids: Sequence[int], now: float) -> list[Observation]:
        """What polls find at `now`, compared with the copies of the polls before."""


class Recorded:
    """A world whose history is known before the first poll: the base of all ours."""

    begin = end = 0.0
    tells_last_changed = False

    def __init__(self) -> None:
        self._pages: list[Page] = []
        self._changes = Changes.of([], np.empty(0), np.empty(0))
        self._seen = np.empty(0)

    def reset(self, seed: int, duration: float = math.inf) -> None:
        """Begin anew; the same history, if a world does not draw another."""
        self._set_history(self._pages, self._changes)

    def _set_history(self, pages: list[Page], changes: Changes) -> None:
        self._pages = pages
        self._changes = changes
        self._seen = np.array(
            [math.nan if page.seen_at is None else page.seen_at for page in pages]
        )

    @property
    def pages(self) -> Sequence[Page]:
        """Every page that is there at some time."""
        return self._pages

    @property
    def changes(self) -> Changes:
        """What really happens."""
        return self._changes

    def poll(self, page_ids: Sequence[int], now: float) -> list[Observation]:
        """What polls find; GONE for a page that is not there at `now`."""
        return [self._poll(page_id, now) for page_id in page_ids]

    def _poll(self, page_id: int, now: float) -> Observation:
        changes = self._changes
        if not changes.born[page_id] <= now < changes.died[page_id]:
            return Observation(page_id, now, Outcome.GONE)
        times = changes.of_page(page_id)
        count = int(np.searchsorted(times, now, "right"))
        seen_at = self._seen[page_id]
        changed = math.isnan(seen_at) or bool(count > np.searchsorted(times, seen_at, "right"))
        self._seen[page_id] = now
        return Observation(
            page_id,
            now,
            Outcome.CHANGED if changed else Outcome.UNCHANGED,
            last_changed_at=self._last_changed_at(page_id, count),
            cost=self._pages[page_id].cost,
            reverted=changed and not math.isnan(seen_at) and self._is_reverted(page_id, count),
        )

    def _last_changed_at(self, page_id: int, count: int) -> float | None:
        """The time of a page's change number `count` (0: of its birth), if that is told."""
        if not self.tells_last_changed:
            return None
        if count:
            return float(self._changes.of_page(page_id)[count - 1])
        born = float(self._changes.born[page_id])
        # Of pages that are there from the beginning the birth is not known.
        return born if born > self.begin else None

    def _is_reverted(self, page_id: int, count: int) -> bool:
        reverted = self._changes.reverted
        return reverted is not None and bool(reverted[self._changes.offsets[page_id] + count - 1])
