"""The papers' world: the page of rank k changes in one step with probability α / k^β."""

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from pollwise.metrics import Changes
from pollwise.simulation.worlds.ranks import RankedPages
from pollwise.simulation.worlds.world import Recorded
from pollwise.types import Page

__all__ = ["Zipf"]

Floats = NDArray[np.float64]


class Zipf(Recorded):
    """Pages of which that of rank k changes with probability `alpha` / k^`beta` per step of 1 s.

    Changes are a Poisson process of rate -ln(1 - α/k^β), which has just that probability of at
    least one change in a step. The ages of the pages' copies are random, as if all pages had been
    polled in turn before. `swap_every`, `perturbations`, and the source: see
    `pollwise.simulation.worlds.ranks.RankedPages`.

    >>> world = Zipf(pages=3, alpha=0.5, beta=1.0)
    >>> world.reset(seed=1, duration=100.0)
    >>> sorted(round(-math.expm1(-rate), 3) for rate in world.rates.values())
    [0.167, 0.25, 0.5]
    """

    def __init__(
        self,
        *,
        pages: int,
        alpha: float,
        beta: float,
        swap_every: int | None = None,
        perturbations: int | None = None,
    ) -> None:
        super().__init__()
        self._ranks = RankedPages(
            "zipf",
            pages=pages,
            alpha=alpha,
            beta=beta,
            swap_every=swap_every,
            perturbations=perturbations,
        )
        self._hazards: list[tuple[Floats, Floats]] = []
        self._rates: dict[int, float] = {}

    @property
    def ideal(self) -> float:
        """1 - Πq: the probability that at least one page changes in a step.

        With one poll a step no policy finds more a poll.
        """
        return float(-np.expm1(-self._ranks.rates.sum()))

    @property
    def rates(self) -> Mapping[int, float]:
        """The change rates at the begin, per second."""
        return self._rates

    def reset(self, seed: int, duration: float = 100_000.0) -> None:
        """Draw a history of `duration` steps, and one before it."""
        rng = np.random.default_rng(seed)
        count = len(self._ranks.probabilities)
        before = float(count)
        self.end = duration
        rank_rates = self._ranks.rates
        order = self._ranks.first_order(rng)
        rate_of = np.empty(count)
        rate_of[order] = rank_rates
        self._rates = dict(enumerate(rate_of.tolist()))
        self._hazards = self._draw_hazards(rng, order, rank_rates, before)
        totals = np.array([hazard[-1] for _, hazard in self._hazards])
        counts = rng.poisson(totals)
        times = [
            np.interp(np.sort(rng.random(n)) * hazard[-1], hazard, time)
            for n, (time, hazard) in zip(counts, self._hazards, strict=True)
        ]
        seen_at = -before * rng.random(count)
        pages = [Page(i, url=f"page-{i}", seen_at=seen) for i, seen in enumerate(seen_at.tolist())]
        changes = Changes.of(times, np.full(count, -before), np.full(count, math.inf))
        self._set_history(pages, changes)

    def cumulative_hazard(self, page_ids: NDArray[np.int64], times: Floats) -> Floats:
        """The expected number of changes of each page up to each time."""
        hazards = np.empty(len(times))
        order = np.argsort(page_ids, kind="stable")
        bounds = np.searchsorted(page_ids[order], np.arange(len(self._hazards) + 1))
        for page, (time, hazard) in enumerate(self._hazards):
            mine = order[bounds[page] : bounds[page + 1]]
            hazards[mine] = np.interp(times[mine], time, hazard)
        return hazards

    def _draw_hazards(
        self,
        rng: np.random.Generator,
        order: NDArray[np.int64],
        rank_rates: Floats,
        before: float,
    ) -> list[tuple[Floats, Floats]]:
        """For each page, times and its cumulative hazard at them, linear in between."""
        knots: list[list[float]] = [[-before] for _ in order]
        rates: list[list[float]] = [[] for _ in order]
        for rank, page in enumerate(order):
            rates[page].append(rank_rates[rank])
        every = self._ranks.swap_every
        if every is not None:
            swap_times = np.arange(every, self.end, every, dtype=float)
            ranks = self._ranks.draw_ranks(rng, len(swap_times))
            for now, rank in zip(swap_times.tolist(), ranks.tolist(), strict=True):
                if rank + 1 < len(order):
                    order[[rank, rank + 1]] = order[[rank + 1, rank]]
                    for moved in (rank, rank + 1):
                        knots[order[moved]].append(now)
                        rates[order[moved]].append(rank_rates[moved])
        hazards = []
        for knot, rate in zip(knots, rates, strict=True):
            time = np.array([*knot, self.end])
            hazards.append((time, np.append(0.0, np.cumsum(np.diff(time) * rate))))
        return hazards
