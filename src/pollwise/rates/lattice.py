"""One logarithmic lattice for change rates and for elapsed times.

Rates are 2^(-30 + j/3) per second, j = 0 ... 95: from one change in 34 years to 3.2 per second.
Elapsed times are 2^(-6 + k/66) seconds, k = 0 ... 2639: up to 500 years. A product of the two is
again a point of a lattice, 2^(-36 + (22 j + k)/66), so a function of rate times elapsed time is
tabulated once, and an expectation over all rates is a scalar product with 96 adjacent entries of
the table: no exponential is taken while pages are polled.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pollwise.kernel_cache import kernel

__all__ = [
    "CELL",
    "COLUMNS",
    "RATES",
    "RATE_COUNT",
    "SUBSTEPS",
    "TIMES",
    "TIME_COUNT",
    "interpolate",
    "lattice_row",
    "product_points",
    "put",
    "tabulate",
    "time_at",
    "time_step",
    "time_until",
]

RATE_COUNT = 96
RATES_PER_OCTAVE = 3
SUBSTEPS = 22
"""Time steps per rate step."""
_STEPS_PER_OCTAVE = RATES_PER_OCTAVE * SUBSTEPS
TIME_COUNT = 40 * _STEPS_PER_OCTAVE
_LOG2_FIRST_RATE = -30.0
_LOG2_FIRST_TIME = -6.0
_LOG2_FIRST_PRODUCT = _LOG2_FIRST_RATE + _LOG2_FIRST_TIME
COLUMNS = TIME_COUNT // SUBSTEPS + RATE_COUNT
"""Columns of a table, which has SUBSTEPS rows."""

CELL = 2.0 ** (0.5 / RATES_PER_OCTAVE)
"""A rate of the lattice stands for those up to this many times slower or faster."""

RATES: NDArray[np.float64] = 2.0 ** (_LOG2_FIRST_RATE + np.arange(RATE_COUNT) / RATES_PER_OCTAVE)
"""The rates of the lattice, per second."""


def product_points() -> NDArray[np.float64]:
    """The products of rate and time, in the layout of a table.

    Row q, column m is the point number m * SUBSTEPS + q: the products of the time number
    m * SUBSTEPS + q with all rates are the RATE_COUNT entries of row q from column m on.
    """
    number = np.arange(COLUMNS)[None, :] * SUBSTEPS + np.arange(SUBSTEPS)[:, None]
    points: NDArray[np.float64] = 2.0 ** (_LOG2_FIRST_PRODUCT + number / _STEPS_PER_OCTAVE)
    return points


def tabulate(
    function: Callable[[NDArray[np.float64]], NDArray[np.float64]],
) -> NDArray[np.float32]:
    """A function of rate times elapsed time as a table."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        values = function(product_points())
    return np.ascontiguousarray(values, dtype=np.float32)


@kernel(forceinline=True, allocates=False)
def time_step(elapsed: float) -> int:
    """The number k of the lattice time nearest to an elapsed time in seconds (above 0)."""
    k = round((math.log2(elapsed) - _LOG2_FIRST_TIME) * _STEPS_PER_OCTAVE)
    return min(max(k, 0), TIME_COUNT - 1)


TIMES: NDArray[np.float64] = 2.0 ** (_LOG2_FIRST_TIME + np.arange(TIME_COUNT) / _STEPS_PER_OCTAVE)
"""The times of the lattice, in seconds."""


@kernel(forceinline=True, allocates=False)
def time_at(step: int) -> float:
    """The lattice time number k, in seconds."""
    return float(TIMES[step])


_UNTIL: NDArray[np.float64] = np.array(
    [math.exp2(_LOG2_FIRST_TIME + (step + 0.499) / _STEPS_PER_OCTAVE) for step in range(TIME_COUNT)]
)


@kernel(forceinline=True, allocates=False)
def time_until(step: int) -> float:
    """A time up to which, from the lattice time number k on, that is the nearest one."""
    return float(_UNTIL[step])


@kernel(forceinline=True)
def lattice_row(table: NDArray[np.float32], step: int) -> NDArray[np.float32]:
    """The table's values for the lattice time number `step` and every rate.

    A view of a part of a state, which has no references to count, so that any kernel may take it.
    """
    column = step // SUBSTEPS
    return table[step % SUBSTEPS, column : column + RATE_COUNT]


@kernel(allocates=False)
def interpolate(table: NDArray[np.float32], product: float) -> float:
    """The value of a table at any product of rate and time above 0, linear in its logarithm."""
    place = (math.log2(product) - _LOG2_FIRST_PRODUCT) * _STEPS_PER_OCTAVE
    place = min(max(place, 0.0), COLUMNS * SUBSTEPS - 1.001)
    number = int(place)
    part = place - number
    low = table[number % SUBSTEPS, number // SUBSTEPS]
    number += 1
    high = table[number % SUBSTEPS, number // SUBSTEPS]
    return float(low + part * (high - low))


@kernel(forceinline=True, allocates=False)
def put(target: NDArray[Any], values: NDArray[Any]) -> None:
    """Set what is there of all rates; `target[:] = values` takes seconds to compile."""
    for j in range(RATE_COUNT):
        target[j] = values[j]
