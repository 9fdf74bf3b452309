"""Pages that change by the clock: at their own hour of the day, if they change that day at all.

Where servers tell when a page changed last, many pages change at the same time of day to within
minutes: they are rebuilt once a night. Such a page has one *tick* a day, and its change rate says
how likely it is to change at a tick. A poll just after the tick gets the most.

Log-odds say whether a page changes by the clock. Every time that is told raises them if it agrees
with the tick and lowers them if it does not; if the poll came soon after the tick, agreement says
nothing, since a page that changes all the time would agree as well. Every poll moves them, too, by
how well clock and rate predicted its outcome. The functions are compiled.
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
_TELLING = math.log(29.0)
"""Log-odds of one time: 29 of 30 changes by the clock come near the tick, and 1 of 30 others."""
_LEAST_CHANCE = 0.03
_MOST_FOUND = 2.5


@kernel(forceinline=True, allocates=False)
def _move_odds(own: Any, by: float) -> None:
    moved = odds_of(own.clock_odds) + by
    most = -LEAST_CLOCK_ODDS if own.span == 0 else _MOST_FOUND
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
    own.dates = min(own.dates + 1, MOST_DATES)
    own.span = 0


@kernel(allocates=False)
def learn_window(own: Any, begin: float, end: float) -> None:
    """Narrow the window in which a page changes, if by the clock, to where a change was found.

    It is that between the last two polls. Just beside the window, this grows; else it begins anew,
    unless the page has a clock.
    """
    if end - begin > TELLS_AFTER:
        return
    span = span_of(own)
    middle = tick_of(own) - span / 2
    found = (end - begin) / 2
    apart = ((begin + end) / 2 - middle + DAY / 2) % DAY - DAY / 2
    gap = abs(apart) - span / 2 - found
    if own.span == 0 or (gap >= _NEAR and own.clock_odds < 0):
        set_window(own, begin, end)
    elif gap < _NEAR:
        low, high = max(-span / 2, apart - found), min(span / 2, apart + found)
        if low > high:
            low, high = (-span / 2, low + _MARGIN) if apart > 0.0 else (high - _MARGIN, span / 2)
        wider = max(_MARGIN - (high - low), 0.0) / 2
        set_window(own, middle + low - wider, middle + high + wider)


@kernel(allocates=False)
def ticks_since_change(own: Any, changed_at: float, polled_at: float) -> float:
    """The ticks without a change since the last change, as told, of a page by the clock.

    The change is put at the tick nearest to it; below 0: the poll came before that tick.
    """
    return ticks_between(own, changed_at + _MARGIN + DAY / 2, polled_at)


@kernel(allocates=False)
def learn_clock(state: IndexState, page: int, polled_at: float, changed: bool) -> None:
    """Compare what clock and rate said of a poll with what it found."""
    own = state.pages[page]
    if own.dates < 2 and own.span == 0:
        return
    ticks = ticks_between(own, own.seen_at, polled_at)
    whole = math.floor(ticks)
    by_clock = chance_after(state.shared, whole * DAY) if whole > 0 else 0.0
    if ticks > whole:
        by_clock += (ticks - whole) * (chance_after(state.shared, (whole + 1) * DAY) - by_clock)
    by_rate = chance_after(state.shared, polled_at - own.seen_at)
    if own.span > 0:
        by_rate = chance_after(state.shared, polled_at - own.seen_at + state.shared[0].surge)
        by_rate = min(max(by_rate, 1e-6), 1.0 - 1e-6)
        by_clock += (by_rate - by_clock) / 30
        _move_odds(
            own, math.log(by_clock / by_rate if changed else (1.0 - by_clock) / (1.0 - by_rate))
        )
        return
    by_clock = min(max(by_clock, _LEAST_CHANCE), 1.0 - _LEAST_CHANCE)
    by_rate = min(max(by_rate, _LEAST_CHANCE), 1.0 - _LEAST_CHANCE)
    odds = by_clock / by_rate if changed else (1.0 - by_clock) / (1.0 - by_rate)
    _move_odds(own, math.log(odds))
