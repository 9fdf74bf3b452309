"""What a poll of a page is worth now, and when it will be worth the price: compiled functions.

The index of a page is that of its objective (`objectives.Objective.index`), for a learning policy
its mean over the belief in the rate of the page. That is `shared.belief`, which whoever calls these
functions has made that of the page (`belief.refresh_belief`).
"""

import math
from typing import Any

import numpy as np

from pollwise.kernel_cache import kernel
from pollwise.policies.index.fields import odds_of, span_of, tick_of
from pollwise.policies.index.groups import share_of
from pollwise.policies.index.state import (
    AGING_SURGE,
    CHANGED_TABLE,
    CLOCK_DAYS,
    CLOCK_OCTAVE,
    CLOCK_TICKS,
    INDEX_TABLE,
    MOST_CLOCK_ODDS,
    NO_SURGE,
    STALE_SURGE,
    TELLS_AFTER,
    TILTS,
    UNCHANGED_TABLE,
    WAITING_SURGE,
    IndexState,
    Pages,
    Shared,
)
from pollwise.rates.lattice import (
    RATE_COUNT,
    RATES,
    TIME_COUNT,
    interpolate,
    lattice_row,
    time_at,
    time_step,
)
from pollwise.rates.sums import mean_over, normalise
from pollwise.units import DAY

__all__ = [
    "SURELY",
    "by_clock",
    "chance_after",
    "floor_time",
    "has_told",
    "index_of",
    "mean_index",
    "own_price",
    "round_time",
    "shortest_round",
    "ticks_between",
    "ticks_since_copy",
    "time_to_reach",
    "worth_after",
    "worth_of",
]

_UNTOLD = -1.5
"""Log-odds of the clock below which no date of a page has spoken for it."""
SURELY = 0.8
"""The chance of a change from which patience ends, where slow rates are hopeful."""
_FEW_CHANGES = 1.0
"""Changes that a page is taken to have had before, none of them a revert."""


@kernel
def worth_after(reverts: Any, changes: Any, revert_worth: float) -> Any:
    """The worth of a page's next change after so many, some of them reverts (or arrays)."""
    return 1.0 - (1.0 - revert_worth) * reverts / (changes + _FEW_CHANGES)


@kernel(forceinline=True, allocates=False)
def worth_of(own: Any, common: Any) -> float:
    """The factor on the weight of a page for its reverts."""
    if own.reverts == 0:
        return 1.0
    return float(worth_after(own.reverts, own.changes, common.revert_worth))


@kernel(forceinline=True, allocates=False)
def _weigh(own: Any, common: Any) -> None:
    """Work out the shares that the rates of a page have in its index: its belief, by hope."""
    tilt = common.tilt[0 if common.slow_is_hopeful else min(own.polls, TILTS - 1)]
    for j in range(RATE_COUNT):
        common.shares[j] = common.belief[j] * tilt[j]
    normalise(common.shares)
    common.weight = own.weight * worth_of(own, common)
    common.surged = (common.surge > 0.0 or common.signal > 0.0) and common.surge_kind != NO_SURGE
    if common.surged:
        _weigh_surge(own, common)


@kernel(allocates=False)
def _weigh_surge(own: Any, common: Any) -> None:
    """The same for what a surge of changes on the site of a page, or a signal, adds to it."""
    if common.surge_kind == AGING_SURGE:  # it depends on the time
        return
    if common.surge_kind == WAITING_SURGE:
        rate = np.float32(0.0)
        for j in range(RATE_COUNT):
            rate += common.shares[j] * np.float32(RATES[j])
        common.waiting = common.surge * rate + common.signal
        return
    for j in range(RATE_COUNT):
        common.surge_shares[j] = common.shares[j] * common.signal
    if common.surge > 0.0:
        surged = lattice_row(common.tables[CHANGED_TABLE], time_step(common.surge))
        for j in range(RATE_COUNT):
            common.surge_shares[j] += surged[j] * (common.shares[j] - common.surge_shares[j])


@kernel(forceinline=True, allocates=False)
def mean_index(common: Any, shares: Any, step: int) -> float:
    """The mean index, but for the weight, of rates with these shares at a lattice time."""
    return mean_over(shares, lattice_row(common.tables[INDEX_TABLE], step)) * common.scale[step]


@kernel(allocates=False)
def _aging_index(common: Any, step: int) -> float:
    """The mean index for age, of a page with a surge or a signal (see `worth`)."""
    time = time_at(step)
    surged = time_step(time + common.surge)
    mean = mean_index(common, common.shares, surged) * (time / time_at(surged)) ** 2
    if time > common.signalled and common.signal > 0.0:
        unchanged = mean_over(common.shares, lattice_row(common.tables[UNCHANGED_TABLE], surged))
        mean += common.signal * unchanged * (time**2 - common.signalled**2) / 2.0
    return float(mean)


@kernel(forceinline=True, allocates=False)
def _index_at(common: Any, step: int) -> float:
    """The index of the page weighed last, as of the lattice time `step` after its copy was made."""
    mean = mean_index(common, common.shares, step)
    if common.surged:
        time, kind = time_at(step), common.surge_kind
        if kind == AGING_SURGE:
            mean = _aging_index(common, step)
        elif kind == WAITING_SURGE:
            mean += time * common.waiting
        else:
            unchanged = lattice_row(common.tables[UNCHANGED_TABLE], step)
            added = mean_over(common.surge_shares, unchanged)
            mean += added * time if kind == STALE_SURGE else added
    return mean * common.weight


@kernel(allocates=False)
def _told_index_at(own: Any, common: Any, step: int) -> float:
    """The same of a page whose rate is known."""
    changes = common.rate * time_at(step)
    mean = interpolate(common.tables[INDEX_TABLE], changes) if changes > 0.0 else 0.0
    return mean * common.scale[step] * own.weight


@kernel(forceinline=True, allocates=False)
def by_clock(own: Any, common: Any) -> bool:
    """Whether a page is taken to change by the clock, and the objective has an index for that.

    Not while a signal is pending: it tells of a change at another time.
    """
    odds = odds_of(own.clock_odds) + common.clock_lift
    return not own.signalled and odds > 0.0 and common.clock[1, 0] > 0.0


@kernel(forceinline=True, allocates=False)
def _not_by_clock(own: Any, common: Any) -> float:
    """The probability that a page changes at any time, and not by the clock."""
    odds = min(odds_of(own.clock_odds) + common.clock_lift, MOST_CLOCK_ODDS)
    return 1.0 / (1.0 + math.exp(odds))


@kernel(forceinline=True, allocates=False)
def has_told(own: Any) -> bool:
    """Whether anything is known of a page: a poll was compared, or its first copy had a date."""
    return own.polls > 0 or own.dates > 0


@kernel(forceinline=True, allocates=False)
def _is_untold(own: Any) -> bool:
    """Whether a page is taken to change by the clock only as others do."""
    return odds_of(own.clock_odds) < _UNTOLD


@kernel(forceinline=True, allocates=False)
def _awaited_tick(own: Any) -> float:
    """The second of the day by which a page by the clock is polled: its tick.

    If only others say that it is one, that is later, when a date tells: polled right after its
    tick, a page that changes every few hours would look like one that changes once a day.
    """
    return tick_of(own) + (TELLS_AFTER if _is_untold(own) else 0.0)


@kernel(forceinline=True, allocates=False)
def _awaited_span(own: Any, common: Any) -> float:
    """The window before that, in which polls pay.

    0: there is none where a poll at its end is as good, or a date would not tell before.
    """
    return span_of(own) if common.late and not _is_untold(own) else 0.0


@kernel(forceinline=True, allocates=False)
def _window_passed(tick: float, span: float, time: float) -> float:
    """The share that passed of the window before a tick; 0 out of it."""
    left = DAY - (time - tick) % DAY
    return 1.0 - left / span if left < span else 0.0


@kernel(forceinline=True, allocates=False)
def _ticks(tick: float, span: float, begin: float, end: float) -> float:
    """How often a time of the day came between two times; of a window, the share that passed."""
    ticks = float(math.floor((end - tick) / DAY) - math.floor((begin - tick) / DAY))
    if span > 0.0:
        ticks += _window_passed(tick, span, end) - _window_passed(tick, span, begin)
    return ticks


@kernel(forceinline=True, allocates=False)
def ticks_between(own: Any, begin: float, end: float) -> float:
    """How often a page that changes by the clock may have changed between two times.

    Of the window in which it changes that share counts which passed between them.
    """
    return _ticks(tick_of(own), span_of(own), begin, end)


@kernel(forceinline=True, allocates=False)
def _awaited_from(own: Any) -> float:
    """When the next change of a page by the clock may come: after its copy was made.

    Where the time of a change was told, in the window, not before the tick: there is one a day.
    """
    if own.dates > 0:
        changed_at = own.seen_at - own.spell
        left = (tick_of(own) - changed_at) % DAY
        if left < span_of(own):
            return float(max(own.seen_at, changed_at + left))
    return float(own.seen_at)


@kernel(forceinline=True, allocates=False)
def ticks_since_copy(own: Any, now: float) -> float:
    """How often a page that changes by the clock may have changed since its copy was made."""
    return max(ticks_between(own, _awaited_from(own), now), 0.0)


@kernel(forceinline=True, allocates=False)
def _clock_row(ticks: int) -> int:
    """The last one of `CLOCK_DAYS` that is no more."""
    if ticks <= CLOCK_TICKS:
        return ticks
    row = CLOCK_TICKS + int(CLOCK_OCTAVE * math.log2(ticks / CLOCK_TICKS))
    return min(row, len(CLOCK_DAYS) - 1)


@kernel(forceinline=True, allocates=False)
def _clock_index_at(own: Any, common: Any, row: int) -> float:
    """The index of a page by the clock right after a tick, by the row of `CLOCK_DAYS`."""
    return mean_over(common.belief, common.clock[row]) * own.weight * worth_of(own, common)


@kernel(forceinline=True, allocates=False)
def _clock_index_after(own: Any, common: Any, ticks: float) -> float:
    """The same after some ticks, and a part of one."""
    whole = int(ticks)
    index = _clock_index_at(own, common, _clock_row(whole)) if whole > 0 else 0.0
    if ticks > whole:
        index += (ticks - whole) * (_clock_index_at(own, common, _clock_row(whole + 1)) - index)
    return index


@kernel(forceinline=True, allocates=False)
def _narrowed(common: Any, span: float) -> float:
    """The factor on the index of a day, if what comes in it comes within a window."""
    return float(common.scale[time_step(span)] / common.scale[time_step(DAY)])


@kernel(allocates=False)
def _clock_index(own: Any, common: Any, now: float) -> float:
    """The index of the page weighed last, if it changes by the clock.

    In its window that is the index of a rate: as if the day passed in it.
    """
    tick, span, begin = _awaited_tick(own), _awaited_span(own, common), _awaited_from(own)
    if now <= begin:
        return 0.0
    ticks = _ticks(tick, span, begin, now)
    index, passed = 0.0, _window_passed(tick, span, now)
    if passed > 0.0:
        waited = min(passed, (now - begin) / span)
        index = mean_index(common, common.shares, time_step(waited * DAY))
        index *= _narrowed(common, span) * common.weight
        ticks -= waited
    if ticks > 0.0:
        late = ((now - tick) % DAY) / DAY if common.late else 0.0
        index = max(index, _clock_index_after(own, common, ticks) * (1.0 - late))
    return index


@kernel(forceinline=True, allocates=False)
def _group_round(shared: Shared, group: int) -> float:
    """Seconds in which there is a poll for each page of a group."""
    common, share = shared[0], share_of(shared, group)
    return common.group_pages[group] * common.gap / share if share > 0.0 else math.inf


@kernel(forceinline=True, allocates=False)
def round_time(pages: Pages, shared: Shared, page: int) -> float:
    """Seconds in which there is a poll for each page that shares the budget with this one."""
    common = shared[0]
    if common.groups == 0:
        return common.pages * common.gap
    return _group_round(shared, pages[page].group)


@kernel(allocates=False)
def shortest_round(shared: Shared) -> float:
    """The least `round_time` of all pages."""
    common = shared[0]
    if common.groups == 0:
        return common.pages * common.gap
    shortest = math.inf
    for group in range(common.groups):
        shortest = min(shortest, _group_round(shared, group))
    return shortest


@kernel(allocates=False)
def floor_time(pages: Pages, shared: Shared, page: int) -> float:
    """The elapsed time at which a page is polled whatever its index is; infinite: never."""
    common = shared[0]
    if not (common.learning and common.gap > 0.0 and common.patience < math.inf):
        return math.inf
    floor = common.patience * round_time(pages, shared, page)
    if common.slow_is_hopeful and chance_after(shared, floor) < SURELY:
        return math.inf
    return floor


@kernel(forceinline=True, allocates=False)
def chance_after(shared: Shared, elapsed: float) -> float:
    """The probability of a change within `elapsed` seconds, as of the belief at hand."""
    changed = lattice_row(shared[0].tables[CHANGED_TABLE], time_step(elapsed))
    return min(mean_over(shared[0].belief, changed), 1.0)  # sums of 32 bits may exceed it


@kernel(allocates=False)
def index_of(pages: Pages, shared: Shared, page: int, now: float) -> float:
    """The index of a page now: infinite without a copy, 0 for a copy that is not older than now."""
    own, common = pages[page], shared[0]
    elapsed = now - own.seen_at
    if math.isnan(elapsed):
        return math.inf
    if elapsed <= 0.0:
        return 0.0
    # `floor_time` costs more than the index, so it is not computed for pages polled lately.
    patience = common.patience * round_time(pages, shared, page)
    if elapsed >= patience and elapsed >= floor_time(pages, shared, page):
        return math.inf
    step = common.step = time_step(elapsed)
    if not common.learning:
        return _told_index_at(own, common, step)
    _weigh(own, common)
    index = _index_at(common, step)
    if by_clock(own, common):
        index *= _not_by_clock(own, common)
        index = max(index, _clock_index(own, common, now))
    return index


@kernel(allocates=False)
def _time_in_window(common: Any, span: float, price: float) -> float:
    """Seconds in its window after which a page by the clock is worth a price."""
    price /= _narrowed(common, span) * common.weight
    low, high = -1, TIME_COUNT
    while high - low > 1:
        step = (low + high) // 2
        if mean_index(common, common.shares, step) >= price:
            high = step
        else:
            low = step
    return time_at(high) * span / DAY if high < TIME_COUNT else math.inf


@kernel(allocates=False)
def _time_to_tick(own: Any, common: Any, price: float) -> float:
    """Seconds until a page by the clock is worth a price, from when its next change may come.

    In its next window, at the end of this, or at a later tick.
    """
    tick, span, begin = _awaited_tick(own), _awaited_span(own, common), _awaited_from(own)
    passed = (begin - tick) % DAY  # a copy made at a tick has it behind it
    begun = _window_passed(tick, span, begin)
    if span > 0.0:
        waits, left = _time_in_window(common, span, price), 1.0 - begun
        if waits < left * span:
            return DAY - passed - left * span + waits
        if begun > 0.0 and waits < span and _clock_index_after(own, common, left) < price:
            return 2.0 * DAY - passed - span + waits
    for row in range(1, len(CLOCK_DAYS)):
        if _clock_index_after(own, common, CLOCK_DAYS[row] - begun) >= price:
            return float(CLOCK_DAYS[row] * DAY - passed)
    return math.inf


@kernel(allocates=False)
def time_to_reach(
    pages: Pages, shared: Shared, page: int, price: float, near: float = 0.0
) -> float:
    """Seconds after its copy was made at which the index of a page reaches `price`.

    To a lattice step (1 %), or the tick of the clock; infinite where it never does. It is found
    sooner if it is `near` a time (0: nothing is known of it).
    """
    own, common = pages[page], shared[0]
    by_tick = math.inf
    if common.learning:
        _weigh(own, common)
        if by_clock(own, common):
            by_tick = _awaited_from(own) - own.seen_at + _time_to_tick(own, common, price)
            price /= _not_by_clock(own, common)
    low, high = -1, TIME_COUNT
    stride, step = TIME_COUNT, TIME_COUNT // 2
    if near > 0.0:
        stride, step = 1, time_step(near)
    while high - low > 1:
        index = _index_at(common, step) if common.learning else _told_index_at(own, common, step)
        if index >= price:
            high, step = step, step - stride
        else:
            low, step = step, step + stride
        stride *= 2
        if not low < step < high:
            step = (low + high) // 2
    return min(time_at(high), by_tick) if high < TIME_COUNT else by_tick


@kernel(forceinline=True, allocates=False)
def own_price(state: IndexState, page: int) -> float:
    """The factor on the price of a page: that of its host, and of its group."""
    own = state.pages[page]
    price = state.hosts[own.scope].price
    return price * state.shared[0].group_price[own.group] if state.shared[0].groups > 0 else price
