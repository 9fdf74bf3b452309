"""Pages that change by the clock: at their own hour of the day, if they change that day at all.

Where servers tell when a page changed last, many pages change at the same time of day to within
minutes: they are rebuilt once a night. Such a page has one *tick* a day, and its change rate says
how likely it is to change at a tick. A poll just after the tick gets the most.

Log-odds say whether a page changes by the clock. Every time that is told raises them if it agrees
with the tick and lowers them if it does not; if the poll came soon after the tick, agreement says
nothing, since a page that changes all the time would agree as well. Every poll moves them, too, by
how well clock and rate predicted its outcome.

Where no time was ever told, polls alone find the clock: a change lies between two of them, and a
page by the clock has changed within the same part of the day each time. That is its *window*, which
ends at the tick; while a part of it has passed, that part of the day's chance has. The functions
are compiled.
"""

import math
from typing import Any

from pollwise.kernel_cache import kernel
from pollwise.policies.index.fields import (
    code_of_odds,
    odds_of,
    set_tick,
    set_window,
    span_of,
    tick_of,
)
from pollwise.policies.index.page_index import chance_after, ticks_between
from pollwise.policies.index.state import LEAST_CLOCK_ODDS, MOST_DATES, TELLS_AFTER, IndexState
from pollwise.units import DAY

__all__ = ["learn_clock", "learn_tick", "learn_window", "ticks_since_change"]

_MARGIN = 1200.0
"""Seconds after the change that a tick is set to."""
_NEAR = 1440.0
"""Times of day agree if they differ by fewer seconds."""
_AT_ANY_TIME = 1.0 / 30.0
"""The share of the changes of a page by the clock that come at another time."""
_TELLING = math.log(29.0)
"""Log-odds of one time: 29 of 30 changes by the clock come near the tick, and 1 of 30 others."""
_LEAST_CHANCE = 0.03
_LEAST_RATED = 1e-6
"""The least chance that the rate gives a poll, where no time was told: polls may follow each other
within minutes."""
_MOST_FOUND = 2.5
"""The highest log-odds of a clock that polls alone have found: one page of thirteen has none. With
6, changes between two windows wait so long that pages which change every four hours lose 8 %."""


@kernel(forceinline=True, allocates=False)
def _move_odds(own: Any, by: float) -> None:
    moved = odds_of(own.clock_odds) + by
    most = -LEAST_CLOCK_ODDS if own.dates >= 0 else _MOST_FOUND
    own.clock_odds = code_of_odds(min(max(moved, LEAST_CLOCK_ODDS), most))


@kernel(allocates=False)
def learn_tick(own: Any, polled_at: float, changed_at: float) -> None:
    """Compare the time of a change, as told, with the tick of a page."""
    time = (changed_at + _MARGIN) % DAY
    if own.dates > 0:
        apart = abs((time - tick_of(own) + 1.5 * DAY) % DAY - 0.5 * DAY)
        agrees = apart < _NEAR
        if not agrees:
            _move_odds(own, -_TELLING)
        elif polled_at - changed_at > TELLS_AFTER:
            _move_odds(own, _TELLING)
        if agrees or own.clock_odds < 0:
            set_tick(own, time)
    else:
        set_tick(own, time)
    own.dates = min(max(own.dates, 0) + 1, MOST_DATES)


@kernel(allocates=False)
def learn_window(own: Any, begin: float, end: float) -> None:
    """Narrow the window in which a page changes, if by the clock, to where a change was found.

    It is that between the last two polls. Just beside the window, this grows; else it begins anew,
    unless the page has a clock.
    """
    if not 0.0 < end - begin <= TELLS_AFTER:  # clocks may go back
        return
    half, found = span_of(own) / 2, (end - begin) / 2
    middle = tick_of(own) - half
    # All else is told from the middle of the window.
    apart = ((begin + end) / 2 - middle + DAY / 2) % DAY - DAY / 2
    gap = abs(apart) - half - found
    if own.dates == 0 or (gap >= _NEAR and own.clock_odds < 0):
        set_window(own, begin, end)
    elif gap < _NEAR:
        low, high = max(-half, apart - found), min(half, apart + found)
        if low > high:
            low, high = (-half, low + _MARGIN) if apart > 0.0 else (high - _MARGIN, half)
        wider = max(_MARGIN - (high - low), 0.0) / 2
        set_window(own, middle + low - wider, middle + high + wider)


@kernel(allocates=False)
def ticks_since_change(own: Any, changed_at: float, polled_at: float) -> float:
    """The ticks without a change since the last change, as told, of a page by the clock.

    The change is put at the tick nearest to it; below 0: the poll came before that tick.
    """
    return ticks_between(own, changed_at + _MARGIN + DAY / 2, polled_at)


@kernel(allocates=False)
def _chance_by_clock(state: IndexState, own: Any, polled_at: float) -> float:
    """The probability that a poll finds a change, of a page by the clock."""
    ticks = ticks_between(own, own.seen_at, polled_at)
    whole = math.floor(ticks)
    chance = chance_after(state.shared, whole * DAY) if whole > 0 else 0.0
    if ticks > whole:
        chance += (ticks - whole) * (chance_after(state.shared, (whole + 1) * DAY) - chance)
    return chance


@kernel(allocates=False)
def learn_clock(state: IndexState, page: int, polled_at: float, changed: bool) -> None:
    """Compare what clock and rate said of a poll with what it found."""
    own = state.pages[page]
    found = own.dates < 0
    if 0 <= own.dates < 2:
        return
    by_clock = _chance_by_clock(state, own, polled_at)
    surge, least = (state.shared[0].surge, _LEAST_RATED) if found else (0.0, _LEAST_CHANCE)
    by_rate = chance_after(state.shared, polled_at - own.seen_at + surge)
    by_rate = min(max(by_rate, least), 1.0 - least)
    if found:
        by_clock += (by_rate - by_clock) * _AT_ANY_TIME
    else:
        by_clock = min(max(by_clock, least), 1.0 - least)
    odds = by_clock / by_rate if changed else (1.0 - by_clock) / (1.0 - by_rate)
    _move_odds(own, math.log(odds))
