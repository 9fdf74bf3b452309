"""What a period brings for pages with known rates: means, and outcomes drawn at random.

A page of `rate` λ (changes per second) is polled with `frequency` 1/τ (polls per second), first at
a random moment; a = λτ changes are expected between two polls. `horizon` is the length of the
period in seconds.
"""

import math

import numpy as np
from numpy.typing import NDArray

from pollwise.kernel_cache import kernel

__all__ = [
    "drawn_figures",
    "expected_changes",
    "fresh_share",
    "information",
    "normal_distribution",
    "tellable",
]

Floats = NDArray[np.float64]

_LOG_MOST = (math.log(2.0), math.log(50.0))
"""Somewhere between so many changes from poll to poll, polls cannot tell how many there are."""


def expected_changes(rate: Floats, frequency: Floats) -> Floats:
    """The changes between two polls of a page; infinite if it changes but is never polled."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(rate > 0, rate / frequency, 0.0)


def fresh_share(expected: Floats, changed: Floats) -> Floats:
    """The share of time in which a copy is up to date: (1 - e^-a)/a.

    `changed` is the chance that it is not at the next poll, 1 - e^-a.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(expected > 0, changed / expected, 1.0)


def information(chance: Floats) -> Floats:
    """What a poll that finds a change with this chance tells of the logarithm of the rate.

    It is Fisher's information, a²/(e^a - 1) with the chance 1 - e^-a.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = -np.log1p(-chance)
        told = expected**2 * (1.0 - chance) / chance
    return np.where((chance > 0) & (chance < 1), told, 0.0)


def tellable(rate: Floats, frequency: Floats, most: float) -> Floats:
    """The rate as far as polls can tell it: at most `most` changes between two polls."""
    return np.where(frequency > 0, np.minimum(rate, most * frequency), rate)


@kernel(nogil=True)
def normal_distribution(x: Floats) -> Floats:
    """The standard normal distribution function of a vector."""
    chances = np.empty(len(x))
    for place in range(len(x)):
        chances[place] = 0.5 * math.erfc(-math.sqrt(0.5) * x[place])
    return chances


def drawn_figures(
    rate: Floats,
    frequency: Floats,
    weights: Floats,
    first: float,
    excess: float,
    horizon: float,
    generator: np.random.Generator,
) -> tuple[float, float, float]:
    """Polls that find a change, mean freshness by weight, and mean delay, of one period.

    `first` is the share of polls that make first copies, and so find no change. In the period, all
    pages change faster or slower by one factor (a busy week); `excess` is its variance as far as it
    cannot be negative. Its median is 1 however large that is: of a wild past, a forecast is wide.
    """
    common = max(1.0 + math.sqrt(excess) * generator.normal(), 0.0)
    polled = frequency * (1.0 - first)
    return (
        _drawn_found(rate * common, polled, frequency, horizon, generator),
        _drawn_freshness(rate, frequency, weights, horizon, generator),
        _drawn_delay(rate, frequency, horizon, generator),
    )


def _drawn_found(
    rate: Floats,
    polled: Floats,
    frequency: Floats,
    horizon: float,
    generator: np.random.Generator,
) -> float:
    """How many polls find a change.

    `polled` are the polls per second that can find one, of the `frequency` that a page gets.
    """
    polls = np.floor(horizon * polled + generator.random(len(frequency))).astype(np.int64)
    chance = -np.expm1(-expected_changes(rate, frequency))
    return float(generator.binomial(polls, chance).sum())


def _drawn_freshness(
    rate: Floats,
    frequency: Floats,
    weights: Floats,
    horizon: float,
    generator: np.random.Generator,
) -> float:
    """The mean freshness of pages, by weight."""
    expected = expected_changes(rate, frequency)
    changed = -np.expm1(-expected)
    mean = fresh_share(expected, changed)
    # In one cycle the share min(E/a, 1) is fresh, E exponential. Its variance is compared with that
    # of a page that is fresh, or not, for the whole period.
    with np.errstate(divide="ignore", invalid="ignore"):
        square = 2 * (changed - expected * np.exp(-expected)) / expected**2
    square = np.where(expected > 1e-4, square, 1.0 - 2.0 * expected / 3.0)
    whole = mean * (1.0 - mean)
    cycle = np.maximum(square - mean**2, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = whole / (1.0 + horizon * frequency * whole / cycle)
    variance[np.isnan(variance)] = 0.0
    noise = np.sqrt(weights**2 @ variance) * generator.normal()
    return float((weights @ mean + noise) / weights.sum())


def _drawn_delay(
    rate: Floats, frequency: Floats, horizon: float, generator: np.random.Generator
) -> float:
    """The mean seconds that changes wait.

    NaN if nothing changes in the period, infinite if a page that changes is never polled.
    """
    most = math.exp(generator.uniform(*_LOG_MOST))
    changes = generator.poisson(np.minimum(tellable(rate, frequency, most) * horizon, 1e15))
    some = changes > 0
    if not some.any():
        return math.nan
    numbers = changes[some].astype(np.float64)
    with np.errstate(divide="ignore"):
        interval = 1.0 / frequency[some]
    total = numbers @ interval / 2
    if math.isinf(total):
        return math.inf
    noise = np.sqrt(numbers @ interval**2 / 12) * generator.normal()
    return float(max(total + noise, 0.0) / changes.sum())
