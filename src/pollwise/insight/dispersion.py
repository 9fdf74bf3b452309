"""How much more widely real pages vary than Poisson processes, judged by past predictions."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["LEVEL", "POISSON", "Spread", "dispersion"]

Floats = NDArray[np.float64]

LEVEL = 0.8
"""The intended probability that an interval contains its figure."""
_NORMAL = 1.2815515655446004
"""The absolute value of a standard normal variable is below this with probability `LEVEL`."""
_NORMAL_QUANTILES = (0.157, 0.489, 0.887, 1.534)
"""The absolute value of a standard normal variable is below these with probability 1/8 ... 7/8."""
_MOST_PERIODS = 60
_PERIODS_BEFORE = 8
"""Periods that predict the share of polls that find a change in the next one."""


def dispersion(errors: ArrayLike) -> float:
    """The variance of errors whose variance should be 1; at least 1.

    It is chosen so that 80 % of the errors would have been within their 80 % intervals. So a single
    outlier does not widen all later intervals (split conformal prediction; Vovk, Gammerman and
    Shafer 2005). A few errors of variance 1 are mixed in.

    >>> round(dispersion([-2.0, 2.0] * 50), 1)
    2.4
    """
    sizes = np.append(np.abs(np.asarray(errors, np.float64)), _NORMAL_QUANTILES)
    return max((float(np.quantile(sizes, LEVEL, method="higher")) / _NORMAL) ** 2, 1.0)


@dataclass(frozen=True, slots=True)
class Spread:
    """Variances of a period's figures relative to those of Poisson processes.

    `found`: the number of changes found; `stale`: the time during which copies were out of date;
    `delay`: the mean wait of a change.
    """

    found: float = 1.0
    stale: float = 1.0
    delay: float = 1.0

    @classmethod
    def of_polls(
        cls, ages: Floats, gaps: Floats, chances: Floats, changed: NDArray[np.bool_], period: float
    ) -> Self:
        """From past polls, period by period.

        Each poll has an age (how long ago it was), the gap to the poll before it, the predicted
        chance of a change, and whether there was one. Times are in seconds. The polls of the latest
        60 periods are used. A change that is found is taken to have waited half the gap.

        The chances depend on which pages were polled and when, which a forecast does not know. So
        the number of changes found is also compared with the share of polls that found one in the
        periods before.
        """
        waits = gaps / 2
        surplus = changed - chances
        number, expected = _sums(ages, chances, period)
        found = max(
            dispersion(_standard(_sums(ages, surplus, period)[1], expected)),
            dispersion(_errors_of_shares(ages, changed, period)),
        )
        # Changes that happen together are found in the course of a whole gap.
        usual_gap = float(chances @ gaps / chances.sum()) if chances.any() else period
        long = max(period, 2 * usual_gap)
        number, expected = _sums(ages, chances, long)
        weighted = _sums(ages, chances * waits, long)[1]
        usual = np.divide(weighted, expected, where=expected > 0, out=np.zeros(len(expected)))
        apart = waits - usual[number]
        stale, delay = (
            _standard(_sums(ages, surplus * x, long)[1], _sums(ages, chances * x**2, long)[1])
            for x in (waits, apart)
        )
        # Where changes come in clusters, copies are out of date in clusters too.
        return cls(found, max(dispersion(stale), found), dispersion(delay))


POISSON = Spread()


def _sums(ages: Floats, values: Floats, period: float) -> tuple[NDArray[np.int64], Floats]:
    """The number of each poll's period (the latest is 0), and the sum of values in each period."""
    number = (ages // period).astype(np.int64)
    return number, np.asarray(np.bincount(number, values, minlength=1), np.float64)


def _errors_of_shares(ages: Floats, changed: NDArray[np.bool_], period: float) -> Floats:
    """Errors of predicting each period's changes by the share of polls that found one before it."""
    polls = _sums(ages, np.ones(len(ages)), period)[1]
    found = _sums(ages, changed.astype(np.float64), period)[1]
    # Sums over all earlier periods; a difference of two is the sum over the latest few of them.
    polls_before, found_before = (
        np.append(np.cumsum(counts[::-1])[::-1], 0.0) for counts in (polls, found)
    )
    number = np.arange(len(polls))
    last = np.minimum(number + 1 + _PERIODS_BEFORE, len(polls))
    share = (found_before[number + 1] - found_before[last] + 0.5) / (
        polls_before[number + 1] - polls_before[last] + 1.0
    )
    expected = np.where(number < len(polls) - 1, share * polls, 0.0)
    return _standard(found - expected, expected)


def _standard(errors: Floats, variances: Floats) -> Floats:
    """Errors divided by their standard deviations, in those of the latest periods that have any."""
    errors, variances = errors[:_MOST_PERIODS], variances[:_MOST_PERIODS]
    known = variances > 0
    return np.asarray(errors[known] / np.sqrt(variances[known]))
