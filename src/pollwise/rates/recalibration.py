"""Predicted chances, corrected by the outcomes of earlier predictions.

A model of how pages change is wrong in its own way on every set of pages: of the polls to which it
gives a chance of 0.2, perhaps 0.14 find a change. Here predictions are compared with outcomes, in
bins of log-odds, and later predictions are moved by the difference (the histogram form of the
recalibration of Platt, "Probabilistic outputs for support vector machines", 1999). A bin with few
outcomes moves like all bins together; older outcomes count for less and less.

A table has a column for each bin and one for all polls; its rows are sums over polls: of the
chances, of the changes found, and of the polls. It starts at zero. The functions are compiled.
"""

import math

import numpy as np
from numpy.typing import NDArray

from pollwise.kernel_cache import kernel

__all__ = ["RECALIBRATION_SHAPE", "recalibrated", "recalibrated_all", "take_in_outcome"]

_BINS = 33
_WIDTH = 0.5
"""Width of a bin in log-odds; the middle bin is that of even odds."""
_ALL = _BINS
_MEMORY = 2000.0
"""Polls of a bin, and of all bins together, after which an outcome counts a third."""
_PSEUDO_CHANGES = 5.0
"""How many changes (or failures to change) of its own a bin must have seen to count as much as
all bins together."""
_PSEUDO_POLLS = 20.0
"""How many polls it takes before all bins together move half as much as their outcomes say."""
_LEAST = 1e-6

RECALIBRATION_SHAPE = (3, _BINS + 1)
Table = NDArray[np.float64]


@kernel(allocates=False)
def _log_odds(chance: float) -> float:
    return math.log(chance / (1.0 - chance))


@kernel(allocates=False)
def _chance(log_odds: float) -> float:
    return 1.0 / (1.0 + math.exp(-log_odds))


@kernel(allocates=False)
def _place(chance: float) -> float:
    """The place of a chance among the bins, with a fraction."""
    place = _log_odds(min(max(chance, _LEAST), 1.0 - _LEAST)) / _WIDTH + _BINS // 2
    return min(max(place, 0.0), _BINS - 1.001)


@kernel(allocates=False)
def _move(table: Table, column: int, chance: float, expected: float, pseudo: float) -> float:
    """By how much log-odds are moved in a column.

    As if `pseudo` more polls of the chance `chance` had found a share `expected` of changes.
    """
    predicted = (table[0, column] + pseudo * chance) / (table[2, column] + pseudo)
    found = (table[1, column] + pseudo * expected) / (table[2, column] + pseudo)
    return _log_odds(found) - _log_odds(predicted)


@kernel(allocates=False)
def recalibrated(table: Table, chance: float) -> float:
    """A predicted chance (0 to 1), corrected by experience."""
    if not 0.0 < chance < 1.0:
        return chance
    common = _move(table, _ALL, 0.5, 0.5, _PSEUDO_POLLS)
    place = _place(chance)
    left = int(place)
    move = 0.0
    for column, share in ((left, left + 1.0 - place), (left + 1, place - left)):
        centre = _WIDTH * (column - _BINS // 2)
        expected = _chance(centre + common)
        pseudo = _PSEUDO_CHANGES / min(expected, 1.0 - expected)
        move += share * _move(table, column, _chance(centre), expected, pseudo)
    return _chance(_log_odds(chance) + move)


@kernel
def recalibrated_all(table: Table, chances: NDArray[np.float64]) -> NDArray[np.float64]:
    """`recalibrated` of each."""
    result = np.empty(len(chances))
    for i, chance in enumerate(chances):
        result[i] = recalibrated(table, chance)
    return result


@kernel(allocates=False)
def take_in_outcome(table: Table, chance: float, changed: bool) -> None:
    """Learn what came of a poll whose chance, before recalibration, was `chance` (in place)."""
    place = _place(chance)
    left = int(place)
    for column, share in ((left, left + 1.0 - place), (left + 1, place - left), (_ALL, 1.0)):
        keep = 1.0 - share / _MEMORY
        table[0, column] = table[0, column] * keep + share * chance
        table[1, column] = table[1, column] * keep + share * changed
        table[2, column] = table[2, column] * keep + share
