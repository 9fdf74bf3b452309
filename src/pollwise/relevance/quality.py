"""What a collection is worth: recall, freshness, quality, and the performance of a robot.

Of a collection C (O'Meara and Patel 2001, equations 1 to 3)::

    recall       R(C) = relevance held / relevance that exists
    freshness    F(C) = share of what is held that is up to date
    quality      min(R(C), F(C))
    performance  ∫ quality dt

Freshness weighs pages by their relevance: a stale copy of a page that hardly matters hardly
matters. Nothing is lacking where no relevance exists, and nothing stale where none is held: such
a recall or freshness is 1.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from pollwise.errors import InputError

__all__ = ["Performance", "freshness", "quality", "recall"]


def recall(relevance: ArrayLike, held: ArrayLike) -> float:
    """R(C): of pages with these relevances, the share of relevance in those that are `held`.

    >>> recall(relevance=[0.5, 0.25, 0.25], held=[True, False, True])
    0.75
    """
    values = np.asarray(relevance, np.float64)
    return _share(float(values[np.asarray(held, bool)].sum()), float(values.sum()))


def freshness(fresh: ArrayLike, held: ArrayLike, weight: ArrayLike = 1.0) -> float:
    """F(C): of the `held` pages, the share (by `weight`, such as relevance) that is `fresh`.

    >>> freshness(fresh=[True, False, True], held=[True, True, False], weight=[0.75, 0.25, 1.0])
    0.75
    """
    fresh = np.asarray(fresh, bool)
    weights = np.where(np.asarray(held, bool), np.asarray(weight, np.float64), 0.0)
    weights = np.broadcast_to(weights, np.broadcast_shapes(weights.shape, fresh.shape))
    return _share(float((weights * fresh).sum()), float(weights.sum()))


def quality(recall: float, freshness: float) -> float:
    """min(R, F): neither can make up for the other."""
    return min(recall, freshness)


class Performance:
    """Recall, freshness and quality as they change with time, and the integral of quality.

    Begins at the time `start` (seconds) with an empty collection; `existing` is the relevance that
    exists. A live robot does not know it and sets it as it learns (`set_existing`).

    >>> score = Performance(existing=2.0)
    >>> score.add(now=10.0, held=1.0, fresh=1.0)   # half of the relevance is fetched
    >>> score.add(now=30.0, fresh=-0.75)           # most of it changes
    >>> score.recall, score.freshness, score.quality, score.performance(now=40.0)
    (0.5, 0.25, 0.25, 12.5)
    """

    def __init__(self, existing: float, start: float = 0.0) -> None:
        self._start = self._now = start
        self._held = self._fresh = 0.0
        self._existing = _relevance("existing", existing)
        self._integral = 0.0

    def add(self, now: float, held: float = 0.0, fresh: float = 0.0, existing: float = 0.0) -> None:
        """What changed at `now`, as differences of relevance.

        A page of relevance r that is fetched for the first time is `held=r, fresh=r`; one that
        changes behind our back `fresh=-r`; one fetched again after that `fresh=r`; one that
        disappears from the web `existing=-r, fresh=-r`, and `held=-r` when we learn of it.
        """
        self._advance(now)
        self._held += held
        self._fresh += fresh
        self._existing += existing

    def set_existing(self, now: float, fringe: float) -> None:
        """Take for existing what is held and what is expected of pages not fetched yet.

        `fringe`: the sum of their expected relevances. The past is not scored anew.
        """
        self._advance(now)
        self._existing = self._held + _relevance("fringe", fringe)

    @property
    def recall(self) -> float:
        """R(C) now."""
        return _share(self._held, self._existing)

    @property
    def freshness(self) -> float:
        """F(C) now."""
        return _share(self._fresh, self._held)

    @property
    def quality(self) -> float:
        """min(R, F) now."""
        return quality(self.recall, self.freshness)

    def performance(self, now: float) -> float:
        """The integral of quality from the start until `now`, in seconds of full quality."""
        self._advance(now)
        return self._integral

    def mean_quality(self, now: float) -> float:
        """The mean of quality over the time from the start until `now`; at the start, quality."""
        elapsed = now - self._start
        return self.performance(now) / elapsed if elapsed > 0 else self.quality

    def _advance(self, now: float) -> None:
        if not now >= self._now:
            raise InputError(
                f"Performance: now={now!r} must not be before {self._now!r}, the time of the"
                " event before; hand events over in the order of time"
            )
        self._integral += self.quality * (now - self._now)
        self._now = now


def _share(part: float, whole: float) -> float:
    """Sums of differences may leave a rounding error where nothing is left."""
    return min(max(part / whole, 0.0), 1.0) if whole > 1e-9 else 1.0


def _relevance(name: str, value: float) -> float:
    if not 0 <= value < math.inf:
        raise InputError(f"Performance: {name}={value!r} must be a finite number of at least 0")
    return value
