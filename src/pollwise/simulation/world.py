"""What a world of pages offers to the simulator, and what both kinds of world have in common."""

import math
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pollwise.metrics import Changes
from pollwise.types import Observation, Outcome, Page

__all__ = ["Recorded", "World"]


class World(Protocol):
    """Pages that change. The same seed gives the same history, whatever polls it."""

    begin: float
    """The time of the first poll (UTC seconds)."""

    def reset(self, seed: int, duration: float = math.inf) -> None:
        """Begin anew with a history of at least `duration` seconds, or of all there is."""

    @property
    def end(self) -> float:
        """When the history ends."""

    @property
    def pages(self) -> Sequence[Page]:
        """Every page that is there at some time; ids 0, 1, 2, ..."""

    @property
    def changes(self) -> Changes:
        """What really happens, for scoring and for the worlds' own use; no policy sees it."""

    @property
    def rates(self) -> Mapping[int, float]:
        """The true change rates per second by page id, for policies that are told them."""

    def poll(self, page_ids: Sequence[int], now: float) -> list[Observation]:
        """What polls find at `now`, against the copies of the polls before."""

    def change_times(self, page_id: int) -> NDArray[np.float64]:
        """The times at which a page changes; for scoring only."""


class Recorded:
    """A world whose history is there before the first poll: the base of all ours."""

    begin = 0.0

    def __init__(self) -> None:
        self._pages: list[Page] = []
        self._changes = Changes.of([], np.empty(0), np.empty(0))
        self._seen = np.empty(0)

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

    def change_times(self, page_id: int) -> NDArray[np.float64]:
        """The times at which a page changes."""
        return self._changes.of_page(page_id)

    def poll(self, page_ids: Sequence[int], now: float) -> list[Observation]:
        """What polls find; GONE for a page that is not there at `now`."""
        found = []
        for page_id in page_ids:
            if not self._changes.born[page_id] <= now < self._changes.died[page_id]:
                found.append(Observation(page_id, now, Outcome.GONE))
                continue
            times = self._changes.of_page(page_id)
            seen_at = self._seen[page_id]
            changed = math.isnan(seen_at) or bool(
                np.searchsorted(times, now, "right") > np.searchsorted(times, seen_at, "right")
            )
            self._seen[page_id] = now
            outcome = Outcome.CHANGED if changed else Outcome.UNCHANGED
            cost = self._pages[page_id].cost
            found.append(Observation(page_id, now, outcome, cost=cost))
        return found
