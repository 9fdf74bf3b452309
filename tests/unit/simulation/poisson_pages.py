"""A world of pages that change as Poisson processes."""

import math

import numpy as np

from pollwise.metrics import Changes
from pollwise.simulation.worlds.world import Recorded
from pollwise.types import Page
from pollwise.units import DAY


class PoissonPages(Recorded):
    """Pages whose rates are spread evenly in their logarithm, from 0.02 to 2 a day."""

    def __init__(self, pages: int, days: float, seed: int = 4) -> None:
        super().__init__()
        rng = np.random.default_rng(seed)
        rates = np.exp(rng.uniform(np.log(0.02), np.log(2.0), pages)) / DAY
        self.end = days * DAY
        self.rates = dict(enumerate(rates.tolist()))
        times = [np.sort(rng.random(rng.poisson(rate * self.end))) * self.end for rate in rates]
        self._changes_made = Changes.of(times, np.zeros(pages), np.full(pages, math.inf))
        self._pages_made = [Page(i) for i in range(pages)]
        self.reset(0)

    def reset(self, seed: int, duration: float = math.inf) -> None:
        self._set_history(self._pages_made, self._changes_made)
