"""How much discovery counts against keeping fresh: what steers a robot towards min(R, F).

A collection holds the relevance H, of which S is up to date, and lacks E: it has the coverage
C = H/(H + E) and the freshness F = S/H; the recall of O'Meara and Patel is R = C F. A new page of
relevance v raises C by about v/H until it changes, for 1/λ seconds; a look at a held page raises
the integral of F by W/H, its Whittle index over H. The smaller of C and F is to be raised. They are
estimates, so each counts with the probability that it is the smaller: if errors are logistic with
scale s, that of C over that of F is e^((F - C)/s). So new and held pages compete by::

    κ v/λ  against  W,    κ = e^((F - C)/s)

This rule has no memory, and each poll moves C or F at once in the right direction, so nothing can
oscillate. Where both can gain alike, it keeps C and F equal; where one has nothing more to gain, it
is left alone, even if it is the smaller.

E is estimated in two ways, and the larger counts: too low an estimate ends discovery, which nobody
would notice; one too high is soon corrected by the fetches that it leads to.

- From the yield. If the relevance held after t fetches of new pages grows like t/(t + b), as the
  number of species does with the size of a sample (Michaelis-Menten), E = t dH/dt. Late growth
  falls like 1/t², so its exponentially weighted mean over the last share q of the fetches is
  1/(1 - 2q) times the present one. The relevance of held pages that are gone counts against the
  growth: as much is taken to be new elsewhere.
- From the fringe: each of its pages has at least a small share of the mean relevance of held pages.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["Balance", "FixedShares"]

_SOFTNESS = 0.04
"""s, the scale of the error of F - C."""
_SHARE, _LEAST = 0.25, 16.0
"""q, and the fewest fetches over which growth is averaged."""
_FRINGE_SHARE = 0.01
"""The least relevance of a page of the fringe, in mean relevances of held pages: 0.001 to
0.03 in six traversals of two graphs, at 5 to 50 % of each."""
_BINS, _BINS_PER_OCTAVE = 24, 2
_MEMORY = 32.0
"""Fetches of pages of like value over which their relevance is averaged."""


class Balance:
    """Takes in what fetches of new pages bring, and gives new pages an index."""

    rests = True
    """Whether held pages rest (`pollwise.policies.collecting.rests`), and leave their polls to new
    ones meanwhile.
    """

    def __init__(self) -> None:
        self._fetches = 0
        self._growth = 0.0
        self._lost = 0.0
        self._relevance = 0.0
        # By value, in steps of half an octave: fetches, values, relevances, fading out.
        self._bins = np.zeros((_BINS, 3))

    def found(self, value: float | None, relevance: float) -> None:
        """A new page was fetched, of this value (None: unknown), and is held from now on."""
        if value is not None:
            own = self._bins[_bin(value)]
            own *= 1.0 - 1.0 / _MEMORY
            own += (1.0, max(value, 0.0), relevance)
        self._relevance += relevance
        if self._relevance <= 0.0:
            return  # growth is counted from the first relevant page on
        self._fetches += 1
        self._growth += (relevance - self._lost - self._growth) / self._memory
        self._lost = 0.0

    def lost(self, relevance: float) -> None:
        """A held page is gone."""
        self._lost += relevance

    @property
    def _memory(self) -> float:
        """Fetches over which growth is averaged."""
        return min(self._fetches, max(_LEAST, _SHARE * self._fetches))

    def coverage(self, relevance: float, held: int, fringe: int) -> float:
        """C, with `relevance` in `held` pages, and `fringe` pages in the fringe."""
        if relevance <= 1e-9:
            return 0.0
        growth, more = self._growth, self._fetches * (1 - 2 * _SHARE) * self._growth
        by_yield = more if growth > 0 else -self._memory * growth
        by_fringe = _FRINGE_SHARE * relevance / held * fringe
        return relevance / (relevance + max(by_yield, by_fringe))

    def index(
        self,
        value: float,
        *,
        freshness: float,
        change_rate: float,
        relevance: float,
        held: int,
        fringe: int,
    ) -> float:
        """The index κ v/λ of a page of the fringe of this value; for the others see `coverage`."""
        if relevance <= 1e-9:
            return math.inf
        odds = math.exp((freshness - self.coverage(relevance, held, fringe)) / _SOFTNESS)
        least = _FRINGE_SHARE * relevance / held
        return odds * max(self._expected(value), self._growth, least) / change_rate

    def _expected(self, value: float) -> float:
        """The relevance to be expected of a page of this value, from those of about this value.

        Where there are few, from what the values of all say, but no more than the value itself.
        """
        _, values, relevances = self._bins.sum(axis=0)
        trust = min(relevances / values, 1.0) if values > 0 else 1.0
        count, _, relevance = self._bins[_bin(value)]
        return float((relevance + trust * max(value, 0.0)) / (count + 1.0))

    def state(self) -> NDArray[np.float64]:
        """All that was learned."""
        totals = [self._fetches, self._growth, self._lost, self._relevance]
        return np.concatenate([totals, self._bins.ravel()])

    def load(self, state: Sequence[float]) -> None:
        """Put back what `state` gave."""
        fetches, self._growth, self._lost, self._relevance, *bins = state
        self._fetches = int(fetches)
        self._bins = np.reshape(bins, (_BINS, 3))


class FixedShares(Balance):
    """New and held pages get half of the polls each: what the one queue is compared with."""

    rests = False

    def __init__(self) -> None:
        super().__init__()
        self._new_is_next = False

    def index(self, value: float, **_: float) -> float:
        """Infinite and 0 in turn."""
        self._new_is_next = not self._new_is_next
        return math.inf if self._new_is_next else 0.0


def _bin(value: float) -> int:
    """The bin of a value: the first for 1 or more, the last for the lowest and for 0."""
    if value <= 0:
        return _BINS - 1
    return int(min(max(-math.log2(value) * _BINS_PER_OCTAVE, 0), _BINS - 1))
