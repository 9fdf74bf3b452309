"""The state of the index policies, and what the index of a page is.

The state is a NamedTuple of a few arrays (few, because handing over an array costs more than an
index); ids of pages are indices of the arrays. The functions are compiled.
"""

import math
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from pollwise.rates.lattice import (
    COLUMNS,
    RATE_COUNT,
    SUBSTEPS,
    TIME_COUNT,
    interpolate,
    time_at,
    time_step,
)
from pollwise.rates.posterior import expectation
from pollwise.rates.recalibration import RECALIBRATION_SHAPE

__all__ = [
    "ABSENT",
    "CALENDAR",
    "CHANGED_TABLE",
    "HELD",
    "HOST",
    "LEASED",
    "NEW",
    "PAGE",
    "POOL",
    "POOL_CAPACITY",
    "SHARED",
    "TILTS",
    "UNCHANGED_TABLE",
    "IndexState",
    "Pages",
    "Shared",
    "floor_time",
    "index_of",
    "time_to_reach",
]

ABSENT, NEW, CALENDAR, HELD, POOL, LEASED = range(6)
"""Where a page is."""

POOL_CAPACITY = 64
TILTS = 128

PAGE = np.dtype(
    [
        ("seen_at", "f8"),  # time of the copy; NaN: there is none
        ("weight", "f8"),  # weight / cost
        ("rate", "f8"),  # where it is known
        ("key", "f8"),  # calendar: when to enter the pool; held: when to come back
        ("place", "i8"),  # in calendar, held, pool or line
        ("polls", "i8"),  # that told something
        ("scope", "i4"),
        ("where", "i4"),
        ("likelihood", "f4", (RATE_COUNT,)),  # of each lattice rate, where it is learned
    ]
)
"""What is kept of each page."""

HOST = np.dtype(
    [
        ("price", "f8"),  # what the price of its polls is multiplied with
        ("raised", "i8"),  # 1: the price was raised since its latest poll
    ]
)
"""What is kept of each politeness scope."""

INDEX_TABLE, DECAY_TABLE, CHANGED_TABLE, UNCHANGED_TABLE = range(4)
"""shape(a) / a^power for a = rate * time; shape(a) for a = decay * time, and 1 where there is no
decay; 1 - e^-a; e^-a."""

SHARED = np.dtype(
    [
        ("learning", "i8"),  # 1: rates are learned, 0: they are known
        ("patience", "f8"),  # polls per page after which any page is polled, where they are learned
        ("power", "f8"),  # of the objective
        ("decay", "f8"),  # of the objective; 0: none
        ("price", "f8"),
        ("gap", "f8"),  # mean seconds between polls
        ("gaps", "i8"),  # how many were averaged
        ("latest", "f8"),  # time of the latest selection; NaN: none since the start
        ("pages", "i8"),
        ("polls", "i8"),  # selected
        ("learned", "i8"),  # polls that told something
        ("next_fit", "i8"),  # the number of such polls at which the prior is fitted again
        ("fits", "i8"),
        ("pool_size", "i8"),
        ("first_new", "i8"),
        ("new_size", "i8"),
        ("sweep", "i8"),  # the page swept last
        ("sweep_left", "i8"),  # pages of a quick round
        ("swept_price", "f8"),  # the price at the begin of the latest quick round
        ("pool", "i8", (POOL_CAPACITY,)),
        ("prior", "f8", (RATE_COUNT,)),
        ("recalibration", "f8", RECALIBRATION_SHAPE),  # of chances
        ("tilt", "f4", (TILTS, RATE_COUNT)),  # optimism: powers of the rates, by number of polls
        ("tilted", "f4", (TILTS, RATE_COUNT)),  # prior * tilt
        ("tables", "f4", (4, SUBSTEPS, COLUMNS)),
    ]
)
"""What all pages share."""


Pages = NDArray[Any]
Shared = NDArray[Any]


class IndexState(NamedTuple):
    """The state of an index policy."""

    pages: Pages  # of PAGE
    shared: Shared  # of SHARED, one element
    calendar: NDArray[np.int64]
    held: NDArray[np.int64]
    line: NDArray[np.int64]  # ring; -1: has left
    hosts: NDArray[Any]  # of HOST, one for each scope


@numba.njit(cache=True)
def _index_at(pages: Pages, shared: Shared, page: int, step: int) -> float:
    """The index of a page as of the lattice time `step` after its copy was made."""
    own, common = pages[page], shared[0]
    time = time_at(step)
    if common.learning:
        weights = common.tilted[min(own.polls, TILTS - 1)]
        mean = expectation(own.likelihood, weights, common.tables[INDEX_TABLE], step)
    else:
        rated = own.rate * time
        mean = interpolate(common.tables[INDEX_TABLE], rated) if rated > 0.0 else 0.0
    if common.power != 0.0:
        mean *= time**common.power
    if common.decay > 0.0:
        mean *= interpolate(common.tables[DECAY_TABLE], common.decay * time)
    return mean * own.weight


@numba.njit(cache=True)
def floor_time(shared: Shared) -> float:
    """The elapsed time at which any page is polled whatever its index is."""
    common = shared[0]
    if common.learning and common.gap > 0.0:
        return common.patience * common.pages * common.gap
    return math.inf


@numba.njit(cache=True)
def index_of(pages: Pages, shared: Shared, page: int, now: float) -> float:
    """The index of a page now: infinite without a copy, 0 for a copy that is not older than now."""
    elapsed = now - pages[page].seen_at
    if math.isnan(elapsed) or elapsed >= floor_time(shared):
        return math.inf
    if elapsed <= 0.0:
        return 0.0
    return _index_at(pages, shared, page, time_step(elapsed))


@numba.njit(cache=True)
def time_to_reach(pages: Pages, shared: Shared, page: int, price: float) -> float:
    """Seconds after its copy was made at which the index of a page reaches `price`.

    To a lattice step (1 %); infinite where it never does.
    """
    low, high = -1, TIME_COUNT
    while high - low > 1:
        middle = (low + high) // 2
        if _index_at(pages, shared, page, middle) >= price:
            high = middle
        else:
            low = middle
    return time_at(high) if high < TIME_COUNT else math.inf
