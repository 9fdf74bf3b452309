"""Fields of a page that are kept in another form, to save bytes: compiled functions."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pollwise.kernel_cache import kernel
from pollwise.policies.index.state import (
    MOST_DATES,
    ODDS_UNIT,
    SPAN_UNIT,
    TICK_MARGIN,
    TICK_UNIT,
    IndexState,
)

__all__ = [
    "code_of_odds",
    "odds_of",
    "set_tick",
    "set_window",
    "site_of",
    "sites_of",
    "span_of",
    "tick_of",
]


@kernel(forceinline=True, allocates=False)
def site_of(kinds: Any, own: Any) -> int:
    """The number of the site of a page; -1: it has none."""
    return int(kinds[own.kind].site) if own.kind >= 0 else -2 - int(own.kind)


def sites_of(state: IndexState, page_ids: Any) -> NDArray[np.int64]:
    """The same of several pages, not compiled."""
    kinds: NDArray[np.int64] = state.pages["kind"][page_ids].astype(np.int64)
    sites, has_kind = -2 - kinds, kinds >= 0
    sites[has_kind] = state.kinds["site"][kinds[has_kind]]
    return sites


@kernel(forceinline=True, allocates=False)
def odds_of(code: Any) -> float:
    """The log-odds of the code that is kept of them."""
    return float(code * ODDS_UNIT)


@kernel(forceinline=True, allocates=False)
def code_of_odds(odds: float) -> int:
    """The reverse, for log-odds from -16 to 15.9."""
    return round(odds / ODDS_UNIT)


@kernel(forceinline=True, allocates=False)
def tick_of(own: Any) -> float:
    """The second of the day (UTC) after which a page has changed, if by the clock."""
    return float(own.tick * TICK_UNIT)


@kernel(forceinline=True, allocates=False)
def set_tick(own: Any, tick: float) -> None:
    """Keep it, to less than a second."""
    own.tick = round(tick / TICK_UNIT) % 65_536


@kernel(forceinline=True, allocates=False)
def span_of(own: Any) -> float:
    """So many seconds before its tick a page by the clock may change."""
    return 2.0 * TICK_MARGIN if own.dates > 0 else -float(own.dates) * SPAN_UNIT


@kernel(forceinline=True, allocates=False)
def set_window(own: Any, begin: float, end: float) -> None:
    """Keep the two times of a day between which a page changes, if by the clock.

    Only of a page that was never told a time.
    """
    set_tick(own, end)
    own.dates = -min(max(math.ceil((end - begin) / SPAN_UNIT), 1), MOST_DATES)
