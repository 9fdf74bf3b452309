"""What a period brings of pages whose rates are known: means, and outcomes drawn at random.

A page of `rate` λ (changes per second) is polled with `frequency` 1/τ (polls per second), at a
random moment of its cycle at first; a = λτ is what is expected between two polls. `horizon` is the
length of the period in seconds.
"""

import math

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "drawn_figures",
    "expected_changes",
    "fresh_share",
    "tellable",
]

Floats = NDArray[np.float64]

_LOG_MOST = (math.log(2.0), math.log(50.0))
"""Somewhere between so many changes from poll to poll, polls do not tell how many there are."""


def expected_changes(rate: Floats, frequency: Floats) -> Floats:
    """Between two polls of a page; infinite where it changes and is never polled."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(rate > 0, rate / frequency, 0.0)


def fresh_share(expected: Floats) -> Floats:
    """(1 - e^-a)/a."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(expected > 0, -np.expm1(-expected) / expected, 1.0)


def tellable(rate: Floats, frequency: Floats, most: float) -> Floats:
    """The rate, up to `most` changes between two polls."""
    return np.where(frequency > 0, np.minimum(rate, most * frequency), rate)


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

    `first` is the share of polls that make first copies, and so find no change. All pages change
    faster or slower by one factor in the period; `excess` is its variance.
    """
    # Pages that share their fate: a busy week makes all of them faster.
    common = generator.gamma(1.0 / excess, excess) if excess > 0 else 1.0
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
    mean = fresh_share(expected)
    # Of one cycle, of which the share min(E/a, 1) is fresh, E exponential; as a share of how
    # much a page differs that is fresh or not all along.
    with np.errstate(divide="ignore", invalid="ignore"):
        square = 2 * (-np.expm1(-expected) - expected * np.exp(-expected)) / expected**2
    square = np.where(expected > 1e-4, square, 1.0 - 2.0 * expected / 3.0)
    whole = mean * (1.0 - mean)
    cycle = np.maximum(square - mean**2, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = whole / (1.0 + horizon * frequency * whole / cycle)
    noise = np.sqrt(weights**2 @ np.nan_to_num(variance)) * generator.normal()
    return float((weights @ mean + noise) / weights.sum())


def _drawn_delay(
    rate: Floats, frequency: Floats, horizon: float, generator: np.random.Generator
) -> float:
    """The mean seconds that changes wait.

    NaN where nothing changes in the period, infinite where what changes is never polled.
    """
    most = math.exp(generator.uniform(*_LOG_MOST))
    changes = generator.poisson(np.minimum(tellable(rate, frequency, most) * horizon, 1e15))
    some = changes > 0
    if not some.any():
        return math.nan
    with np.errstate(divide="ignore"):
        interval = 1.0 / frequency[some]
    total = changes[some] @ interval / 2
    if math.isinf(total):
        return math.inf
    noise = np.sqrt(changes[some] @ interval**2 / 12) * generator.normal()
    return float(max(total + noise, 0.0) / changes.sum())
