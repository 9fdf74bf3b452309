"""Pages that change by the clock: at their own hour of the day, if they change that day at all.

Where servers tell when a page changed last, many pages change at the same time of day to within
minutes: they are rebuilt once a night. Such a page has one *tick* a day, and its change rate says
how likely it is to change at a tick. A poll just after the tick gets the most.

Log-odds say whether a page changes by the clock. Every poll moves them by how well clock and rate
predicted its outcome, or a time that it told: this raises them if it agrees with the tick and
lowers them if it does not. If the poll came soon after the change, agreement says nothing, since a
page that changes all the time would agree as well.

What is awaited is not the tick alone but a *window* that ends at it: while a part of it has passed,
that part of the day's chance has. Where times are told it surrounds them. Where none was ever told,
polls alone find it: a change lies between two of them, and a page by the clock has changed within
the same part of the day each time. The functions are compiled.
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
from pollwise.policies.index.page_index import chance_after, ticks_between, ticks_since_copy
from pollwise.policies.index.state import (
    LEAST_CLOCK_ODDS,
    MOST_CLOCK_ODDS,
    MOST_DATES,
    TELLS_AFTER,
    TICK_MARGIN,
    IndexState,
)
from pollwise.units import DAY

__all__ = ["learn_clock", "learn_tick", "learn_window", "ticks_since_change"]

_NEAR = 1440.0
"""Times of day agree if they differ by fewer seconds."""
_AT_ANY_TIME = 1.0 / 30.0
"""The share of the changes of a page by the clock that come at another time."""
_TELLING = math.log(29.0)
"""Log-odds of one time: 29 of 30 changes by the clock come near the tick, and 1 of 30 others."""
_LEAST_CHANCE = 1e-6
"""The least chance that the rate gives a poll: polls may follow each other within minutes."""
_MOST_FOUND = 2.5
"""The highest log-odds of a clock that polls alone have found: one page of thirteen has none. With
6, changes between two windows wait so long that pages which change every four hours lose 8 %."""
_TOLD_WEIGHT = 4
"""The tick follows as if it were the mean of so many times told."""


@kernel(forceinline=True, allocates=False)
def _from_middle(own: Any, time: float) -> float:
    """Seconds from the middle of the nearest window of a page to a time."""
    return (time - tick_of(own) + span_of(own) / 2 + DAY / 2) % DAY - DAY / 2


@kernel(allocates=False)
def learn_tick(own: Any, changed_at: float) -> None:
    """Move the tick of a page towards the time of a change, as told; or to it, without a clock."""
    apart = _from_middle(own, changed_at)
    own.dates = min(max(own.dates, 0) + 1, MOST_DATES)
    if own.dates > 1 and abs(apart) < _NEAR:
        set_tick(own, tick_of(own) + apart / min(own.dates, _TOLD_WEIGHT))
    elif own.dates == 1 or own.clock_odds < 0:
        set_tick(own, changed_at + TICK_MARGIN)


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
    apart = _from_middle(own, (begin + end) / 2)
    gap = abs(apart) - half - found
    if own.dates == 0 or (gap >= _NEAR and own.clock_odds < 0):
        set_window(own, begin, end)
    elif gap < _NEAR:
        low, high = max(-half, apart - found), min(half, apart + found)
        if low > high:
            low, high = (-half, low + TICK_MARGIN) if apart > 0.0 else (high - TICK_MARGIN, half)
        wider = max(TICK_MARGIN - (high - low), 0.0) / 2
        set_window(own, middle + low - wider, middle + high + wider)


@kernel(allocates=False)
def ticks_since_change(own: Any, changed_at: float, polled_at: float) -> float:
    """The ticks without a change since the last change, as told, of a page by the clock.

    The change is put at the tick nearest to it; below 0: the poll came before that tick.
    """
    return ticks_between(own, changed_at + TICK_MARGIN + DAY / 2, polled_at)


@kernel(allocates=False)
def _chance_by_clock(state: IndexState, own: Any, polled_at: float) -> float:
    """The probability that a poll finds a change, of a page by the clock."""
    ticks = ticks_since_copy(own, polled_at)
    whole = math.floor(ticks)
    chance = chance_after(state.shared, whole * DAY) if whole > 0 else 0.0
    if ticks > whole:
        chance += (ticks - whole) * (chance_after(state.shared, (whole + 1) * DAY) - chance)
    return chance


@kernel(forceinline=True, allocates=False)
def _odds_of_chances(state: IndexState, own: Any, polled_at: float, changed: bool) -> float:
    """How many times likelier a poll finds what it found, of a page by the clock."""
    # Where times are told, what a surge may have changed is no evidence against the rate.
    surge = state.shared[0].surge if own.dates < 0 else 0.0
    by_rate = chance_after(state.shared, polled_at - own.seen_at + surge)
    by_rate = min(max(by_rate, _LEAST_CHANCE), 1.0 - _LEAST_CHANCE)
    by_clock = _chance_by_clock(state, own, polled_at)
    by_clock += (by_rate - by_clock) * _AT_ANY_TIME
    return by_clock / by_rate if changed else (1.0 - by_clock) / (1.0 - by_rate)


@kernel(forceinline=True, allocates=False)
def _agrees(own: Any, changed_at: float) -> bool:
    """Whether the time of a change, as told, is near the tick of a page; or in its found window."""
    return abs(_from_middle(own, changed_at)) < max(_NEAR, span_of(own) / 2)


@kernel(allocates=False)
def learn_clock(state: IndexState, page: int, polled_at: float, changed: bool, told: float) -> None:
    """Compare what clock and rate said of a poll with what it found.

    That may be a change of a time `told`; NaN: none was told. Agreement with a window that polls
    have found says nothing, as it may be wide.
    """
    own = state.pages[page]
    if own.dates == 0:
        return
    agrees = _agrees(own, told)
    if not (agrees or math.isnan(told)):
        moved = -_TELLING
    elif agrees and own.dates > 0 and polled_at - told > TELLS_AFTER:
        moved = _TELLING
    elif own.dates == 1:
        return
    else:
        moved = math.log(_odds_of_chances(state, own, polled_at, changed))
    moved += odds_of(own.clock_odds)
    most = _MOST_FOUND if own.dates < 0 else MOST_CLOCK_ODDS
    own.clock_odds = code_of_odds(min(max(moved, LEAST_CLOCK_ODDS), most))
