"""Past checks of one's own pages, and histories of changes that fit them.

A table of checks, a CSV file, has the columns `page`, `checked_at` and `changed` (1, yes or true:
the page differed from the check before; 0, no or false: it did not). Checks of a page are in the
order of time; the first one only made a copy.

From checks nobody knows when a page changed, nor how often between two checks. So histories are
drawn: a page changes at random (a Poisson process), at a rate that its checks make likely. The
likelihood of a rate λ is 1 - e^(-λτ) for a check that found a change after τ seconds, and e^(-λτ)
for one that found none. How often a rate occurs among all pages is fitted to all checks by the EM
algorithm. No rate is above two changes in the median time between two checks: of a page that had
changed at every check, more cannot be known.
"""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pollwise.checks import shown
from pollwise.errors import TraceError
from pollwise.metrics import Polls
from pollwise.simulation.recorded.replay import Replay
from pollwise.simulation.recorded.tables import read_headings, read_table

__all__ = ["PastChecks", "has_checks"]

Floats = NDArray[np.float64]

_RATES = 80
_SLOWEST = 0.1
"""Changes in the whole time, at the least rate."""
_ROUNDS = 200
"""Of the EM algorithm."""


def has_checks(path: Path) -> bool:
    """Whether this is a CSV file with a column `checked_at`; what cannot be read is none."""
    try:
        return path.suffix.lower() == ".csv" and "checked_at" in read_headings(path)
    except (OSError, TraceError):  # told when it is read
        return False


@dataclass(frozen=True, slots=True, eq=False)
class PastChecks:
    """Checks of the pages `names`, sorted; arrays have an entry for each check, in order of time.

    `changed` tells nothing for the first check of a page.
    """

    names: list[str]
    page_ids: NDArray[np.int64]
    times: Floats
    changed: NDArray[np.bool_]

    @classmethod
    def read(cls, path: Path) -> "PastChecks":
        """Read a table of checks; `TraceError` names what is wrong, where, and the remedy."""
        table = read_table(path, ("page", "checked_at", "changed"))
        codes, names = table.codes("page")
        times, changed = table.times("checked_at"), table.flags("changed")
        by_page = np.argsort(codes, kind="stable")
        late = (np.diff(codes[by_page]) == 0) & (np.diff(times[by_page]) <= 0)
        for row in by_page[1:][late][:1].tolist():
            raise table.complaint(
                row,
                f"the check of page {shown(names[codes[row]])} is not later than the one before;"
                " sort the table by page and checked_at",
            )
        if len(names) == len(times):
            raise TraceError(f"{path}: no page was checked twice; give all checks of each page")
        sorted_names, places = np.unique(names, return_inverse=True)
        order = np.argsort(times, kind="stable")
        return cls(sorted_names.tolist(), places[codes[order]], times[order], changed[order])

    @property
    def first_at(self) -> Floats:
        """When each page was checked first."""
        first = np.full(len(self.names), math.inf)
        np.minimum.at(first, self.page_ids, self.times)
        return first

    @property
    def polls(self) -> Polls:
        """The checks that compared: all but the first of each page."""
        compared = self.times > self.first_at[self.page_ids]
        return Polls(self.page_ids[compared], self.times[compared])

    def histories(self, count: int, generator: np.random.Generator) -> list[Replay]:
        """So many histories, from the first check of each page on.

        The rate of each page is drawn by how well it explains the checks, and its changes by that
        rate alone: a check that found a change need not find one in them.
        """
        rates, chances = self._likely_rates()
        # The last check is before the end.
        first, end = self.first_at, math.nextafter(self.times.max(), math.inf)
        drawn = []
        for _ in range(count):
            changes = {}
            for page, name in enumerate(self.names):
                rate = rates[generator.choice(len(rates), p=chances[page])]
                lasts = end - first[page]
                times = first[page] + lasts * generator.random(generator.poisson(rate * lasts))
                changes[name] = np.sort(times).tolist()
            lives = {name: (first[page], math.inf) for page, name in enumerate(self.names)}
            drawn.append(Replay(changes, lives, end).with_copies())
        return drawn

    def _likely_rates(self) -> tuple[Floats, Floats]:
        """Rates per second, and for each page how likely each of them is."""
        order = np.lexsort((self.times, self.page_ids))
        pages, times, changed = self.page_ids[order], self.times[order], self.changed[order]
        again = pages[1:] == pages[:-1]
        gaps, pages, changed = np.diff(times)[again], pages[1:][again], changed[1:][again]
        slowest = _SLOWEST / (self.times.max() - self.times.min())
        rates = np.geomspace(slowest, 2.0 / np.median(gaps), _RATES)
        expected = np.outer(gaps, rates)
        logs = np.where(changed[:, None], np.log(-np.expm1(-expected)), -expected)
        summed = np.zeros((len(self.names), _RATES))
        np.add.at(summed, pages, logs)
        likelihood = np.exp(summed - summed.max(axis=1, keepdims=True))
        weights = np.full(_RATES, 1 / _RATES)
        for _ in range(_ROUNDS):
            chances = likelihood * weights
            chances /= chances.sum(axis=1, keepdims=True)
            weights = chances.mean(axis=0)
        return rates, chances
