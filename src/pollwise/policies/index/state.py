"""The state of the index policies, and what the index of a page is.

The state is a NamedTuple of a few arrays (few, because handing over an array costs more than an
index); ids of pages are indices of the arrays. The functions are compiled.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pollwise.kernel_cache import kernel
from pollwise.policies.arrays import LEASED, READY
from pollwise.policies.index.groups import MOST_GROUPS, share_of
from pollwise.rates.lattice import (
    COLUMNS,
    RATE_COUNT,
    RATES,
    SUBSTEPS,
    TIME_COUNT,
    interpolate,
    lattice_row,
    mean_over,
    time_at,
    time_step,
)
from pollwise.rates.posterior import expectation
from pollwise.rates.recalibration import RECALIBRATION_SHAPE

__all__ = [
    "CALENDAR",
    "CHANGED_TABLE",
    "CLOCK_TICKS",
    "DAY",
    "INDEX_HOST",
    "INDEX_PAGE",
    "INDEX_SHARED",
    "INDEX_SITE",
    "INDEX_TABLE",
    "NEW",
    "NO_SURGE",
    "PAGES_BY_RATE",
    "POOL",
    "POOL_CAPACITY",
    "PULLS",
    "SEEN_SURGE",
    "STALE_SURGE",
    "SURELY",
    "SURGES",
    "TILTS",
    "UNCHANGED_TABLE",
    "WAITING_SURGE",
    "IndexState",
    "Pages",
    "Shared",
    "by_clock",
    "chance_after",
    "floor_time",
    "has_told",
    "index_of",
    "own_price",
    "round_time",
    "ticks_between",
    "time_to_reach",
]

NEW, CALENDAR, POOL = READY, LEASED + 1, LEASED + 2
"""Where a page waits: in line, in the calendar or in the pool."""

POOL_CAPACITY = 64
TILTS = 32

INDEX_PAGE = np.dtype(
    [
        ("seen_at", "f8"),  # time of the copy; NaN: there is none
        ("weight", "f8"),  # weight / cost
        ("group", "i4"),  # whose share of the budget it has; 0: the rest
        ("rate", "f8"),  # where it is known
        ("key", "f8"),  # calendar: when to enter the pool; held: when to come back
        ("place", "i8"),  # in calendar, held, pool or line
        ("polls", "i8"),  # that told something
        ("scope", "i4"),
        ("where", "i4"),
        # Where the rate is learned:
        ("site", "i4"),  # -1: none
        ("kind", "i4"),  # within its site; -1: none
        ("before", "i4"),  # the pages of its site beside it, in a ring
        ("after", "i4"),
        ("round", "i8"),  # of the prior, and the number of surges of the site, that `belief` and
        ("surges", "i8"),  # `surge` were made with
        ("surge", "f4"),  # seconds by which its site makes it older than it is
        ("overlap", "f4"),  # how many changes were seen on its site since the copy was made
        ("changes", "f4"),  # seen by polls
        ("reverts", "f4"),  # how many of them went back to an earlier version
        ("worth", "f4"),  # the factor on its weight for its reverts
        ("signal", "f4"),  # the probability that a pending signal is true; 0: there is none
        ("signalled_at", "f8"),
        ("signals", "f4"),  # how many were followed by a poll
        ("true_signals", "f4"),  # how many of these told of a change
        ("dates", "i4"),  # changes whose time was told
        ("date_odds", "f4"),  # log-odds that the times told are those of the answers
        ("tick", "f4"),  # the second of the day (UTC) after which it has changed, if by the clock
        ("clock_odds", "f4"),  # log-odds of changing by the clock
        ("burst_odds", "f4"),  # log-odds of changing in bursts, as far as from its polls
        ("young", "i4"),  # 1: added later than the first pages, and no change of it was seen
        ("spell_at", "f8"),  # when the change seen last was over, or the page was added
        ("likelihood", "f4", (RATE_COUNT,)),  # of each lattice rate, given all polls
        ("spells", "f4", (RATE_COUNT,)),  # between changes: how many passed at each rate
        ("belief", "f4", (RATE_COUNT,)),  # the probability of each rate now
    ]
)
"""What is kept of each page."""

PAGES_BY_RATE = np.dtype(
    [
        ("round", "i8"),  # that is being counted
        ("pages", "f4", (2, RATE_COUNT)),  # by rate: of this round and, complete, of the one before
    ]
)
"""How many pages there are at each rate, of a kind or a site (`prior`)."""

PULLS = 6
"""How many strengths with which pages may follow their site are weighed (`sites`)."""

SURGES = 32
"""Changes of a site that are remembered."""

INDEX_SITE = np.dtype(
    [
        ("counts", PAGES_BY_RATE),
        ("surges", "i8"),  # changes seen
        ("begin", "f8", (SURGES,)),  # between which times each of the latest of them was
        ("end", "f8", (SURGES,)),
        ("waited", "f8"),  # seconds before polls of its pages, older ones in part
        ("overlap", "f8"),  # changes that were seen on it meanwhile
        ("pull_odds", "f8", (PULLS,)),  # log-odds of each pull
        ("first_date", "f8"),  # that was told with the latest first copy; NaN: none yet
        ("page", "i8"),  # one of its pages; -1: there is none
        ("signals", "f8"),  # of its pages
        ("true_signals", "f8"),
    ]
)
"""What is kept of each site (`sites`)."""

INDEX_HOST = np.dtype(
    [
        ("price", "f8"),  # the factor on the price of its polls
        ("raised", "i8"),  # 1: the price was raised since its latest poll
        ("blocked_until", "f8"),  # before this time none of its pages is the best one
    ]
)
"""What is kept of each politeness scope."""

CLOCK_TICKS = 64
"""Days, at most, between two polls of a page that changes by the clock."""

NO_SURGE, SEEN_SURGE, STALE_SURGE, WAITING_SURGE = range(4)
"""What a surge of changes does to the index: nothing; it is seen; the copy is stale; all wait."""

INDEX_TABLE, DECAY_TABLE, CHANGED_TABLE, UNCHANGED_TABLE = range(4)
"""shape(a) / a^power for a = rate * time; shape(a) for a = decay * time, and 1 where there is no
decay; 1 - e^-a; e^-a."""

INDEX_SHARED = np.dtype(
    [
        ("learning", "i8"),  # 1: rates are learned, 0: they are known
        ("patience", "f8"),  # polls per page after which any page is polled, where they are learned
        ("slow_is_hopeful", "i8"),  # 1: patience ends only for pages that have most likely changed
        ("surge_kind", "i8"),  # of the objective
        ("revert_worth", "f8"),  # what a change back to an earlier version is worth
        ("power", "f8"),  # of the objective
        ("decay", "f8"),  # of the objective; 0: none
        ("price", "f8"),
        ("gap", "f8"),  # mean seconds between polls
        ("gaps", "i8"),  # how many were averaged
        ("began_at", "f8"),  # time of the first selection of all; NaN: none yet
        ("latest", "f8"),  # time of the latest selection; NaN: none since the start
        ("selected_at", "f8"),  # the same; that of an earlier start where there was none since
        ("pages", "i8"),
        ("polls", "i8"),  # selected
        ("learned", "i8"),  # polls that told something
        ("compared", "i8"),  # polls of pages that had a copy
        ("finding", "f8"),  # the share of the latest of them that found a change
        ("round", "i8"),  # of counting pages by rate
        ("round_time", "f8"),  # seconds in which there was a poll for every page, when it began
        ("next", "i8"),  # the page to be counted next
        ("counts", PAGES_BY_RATE),  # of all pages
        ("bursty", "f8"),  # how many of the pages counted in this round change in bursts
        ("all", "f8"),  # how many were counted
        ("burst_odds", "f8"),  # log-odds that a page does, before its polls are looked at
        ("young_odds", "f8"),  # log-odds that are added for young pages
        ("spells", "f8", (RATE_COUNT,)),  # between changes, of all pages
        ("pull_odds", "f8", (PULLS,)),  # of all sites, see INDEX_SITE
        ("signals", "f8"),  # of all pages
        ("true_signals", "f8"),
        ("copy_waited", "i8"),  # 1: no first copy was made with the latest selection
        ("pool_size", "i8"),
        ("first_new", "i8"),
        ("new_size", "i8"),
        ("sweep", "i8"),  # the page swept last
        ("sweep_left", "i8"),  # pages of a quick round
        ("swept_price", "f8"),  # the price at the start of the latest quick round
        ("pool", "i8", (POOL_CAPACITY,)),
        ("groups", "i8"),  # with a share of the budget, and the rest; 0: there are no shares
        ("group_share", "f8", (MOST_GROUPS,)),
        ("group_price", "f8", (MOST_GROUPS,)),
        ("group_pages", "i8", (MOST_GROUPS,)),
        ("group_offered", "i8", (MOST_GROUPS,)),  # pages that wait for their turn
        ("charged", "i8"),  # polls that were charged to groups
        ("mean_cost", "f8"),  # of these
        ("group_swept", "f8", (MOST_GROUPS,)),  # the price at the start of the latest quick round
        ("prior", "f8", (RATE_COUNT,)),
        ("base", "f4", (RATE_COUNT,)),  # the base prior
        ("recalibration", "f8", RECALIBRATION_SHAPE),  # of chances
        ("hope", "f8"),  # and the time of a round that `tilt` was made with, where fast rates are
        ("hope_round", "f8"),  # hopeful
        ("tilt", "f4", (TILTS, RATE_COUNT)),  # of beliefs, by number of polls
        ("clock", "f4", (CLOCK_TICKS + 1, RATE_COUNT)),  # index by days since the copy was made
        ("late", "i8"),  # 1: it falls in the course of the day
        ("tables", "f4", (4, SUBSTEPS, COLUMNS)),
    ]
)
"""What all pages share."""


Pages = NDArray[Any]
Shared = NDArray[Any]


class IndexState(NamedTuple):
    """The state of an index policy."""

    pages: Pages  # of INDEX_PAGE
    shared: Shared  # of INDEX_SHARED, one element
    calendar: NDArray[np.int64]
    held: NDArray[np.int64]
    line: NDArray[np.int64]  # ring; -1: has left
    hosts: NDArray[Any]  # of INDEX_HOST, one for each scope
    sites: NDArray[Any]  # of INDEX_SITE
    kinds: NDArray[Any]  # of PAGES_BY_RATE


DAY = 86_400.0
SURELY = 0.8
"""The chance of a change from which patience ends, where slow rates are hopeful."""


@kernel
def _tilt(own: Any, common: Any) -> NDArray[np.float32]:
    """The factors on the belief in the rate of a page in its index."""
    return common.tilt[0 if common.slow_is_hopeful else min(own.polls, TILTS - 1)]


@kernel(fastmath=True)
def _surge_index(own: Any, tilt: NDArray[np.float32], common: Any, step: int) -> float:
    """What a surge of changes on the site of a page, or a signal, adds to its index."""
    time, kind = time_at(step), common.surge_kind
    unchanged = lattice_row(common.tables[UNCHANGED_TABLE], step)
    surged = np.zeros(RATE_COUNT, np.float32)
    if own.surge > 0.0:
        surged = lattice_row(common.tables[CHANGED_TABLE], time_step(own.surge))
    total, rates, mass = np.float32(0.0), np.float32(0.0), np.float32(0.0)
    for j in range(RATE_COUNT):
        share = own.belief[j] * tilt[j]
        mass += share
        total += share * unchanged[j] * (surged[j] + own.signal * (np.float32(1.0) - surged[j]))
        rates += share * np.float32(RATES[j])
    if kind == SEEN_SURGE:
        return float(total / mass)
    if kind == STALE_SURGE:
        return float(time * total / mass)
    return float(time * (own.surge * rates / mass + own.signal))


@kernel
def _index_at(pages: Pages, shared: Shared, page: int, step: int) -> float:
    """The index of a page as of the lattice time `step` after its copy was made."""
    own, common = pages[page], shared[0]
    time = time_at(step)
    tilt = _tilt(own, common)
    if common.learning:
        mean = expectation(own.belief, tilt, common.tables[INDEX_TABLE], step)
    else:
        rated = own.rate * time
        mean = interpolate(common.tables[INDEX_TABLE], rated) if rated > 0.0 else 0.0
    if common.power != 0.0:
        mean *= time**common.power
    if common.decay > 0.0:
        mean *= interpolate(common.tables[DECAY_TABLE], common.decay * time)
    if not common.learning:
        return mean * own.weight
    if (own.surge > 0.0 or own.signal > 0.0) and common.surge_kind != NO_SURGE:
        mean += _surge_index(own, tilt, common, step)
    return mean * own.weight * own.worth


@kernel
def by_clock(own: Any, common: Any) -> bool:
    """Whether a page is taken to change by the clock, and the objective has an index for that.

    Not while a signal is pending: it tells of a change at another time.
    """
    return own.signal == 0.0 and own.clock_odds > 0.0 and common.clock[1, 0] > 0.0


@kernel
def has_told(own: Any) -> bool:
    """Whether anything is known of a page: a poll was compared, or its first copy had a date."""
    return own.polls > 0 or own.dates > 0


@kernel
def ticks_between(own: Any, begin: float, end: float) -> int:
    """How often a page that changes by the clock may have changed between two times."""
    return int(math.floor((end - own.tick) / DAY) - math.floor((begin - own.tick) / DAY))


@kernel
def _clock_index_at(pages: Pages, shared: Shared, page: int, ticks: int) -> float:
    """The index of a page by the clock right after a tick, the `ticks`th since its copy."""
    own, common = pages[page], shared[0]
    return mean_over(own.belief, common.clock[ticks]) * own.weight * own.worth


@kernel
def round_time(pages: Pages, shared: Shared, page: int) -> float:
    """Seconds in which there is a poll for each page that shares the budget with this one."""
    common, group = shared[0], pages[page].group
    if common.groups == 0:
        return common.pages * common.gap
    share = share_of(shared, group)
    return common.group_pages[group] * common.gap / share if share > 0.0 else math.inf


@kernel
def floor_time(pages: Pages, shared: Shared, page: int) -> float:
    """The elapsed time at which a page is polled whatever its index is; infinite: never."""
    common = shared[0]
    if not (common.learning and common.gap > 0.0 and common.patience < math.inf):
        return math.inf
    floor = common.patience * round_time(pages, shared, page)
    if common.slow_is_hopeful and chance_after(pages, shared, page, floor) < SURELY:
        return math.inf
    return floor


@kernel
def chance_after(pages: Pages, shared: Shared, page: int, elapsed: float) -> float:
    """The probability of a change within `elapsed` seconds, as of the belief in rates."""
    changed = lattice_row(shared[0].tables[CHANGED_TABLE], time_step(elapsed))
    return min(mean_over(pages[page].belief, changed), 1.0)  # sums of 32 bits may exceed it


@kernel
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
    if common.learning and by_clock(own, common):
        ticks = ticks_between(own, own.seen_at, now)
        if ticks <= 0:
            return 0.0
        if ticks > CLOCK_TICKS:
            return _index_at(pages, shared, page, time_step(elapsed))
        late = ((now - own.tick) % DAY) / DAY if common.late else 0.0
        return _clock_index_at(pages, shared, page, ticks) * (1.0 - late)
    return _index_at(pages, shared, page, time_step(elapsed))


@kernel
def time_to_reach(pages: Pages, shared: Shared, page: int, price: float) -> float:
    """Seconds after its copy was made at which the index of a page reaches `price`.

    To a lattice step (1 %), or the tick of the clock; infinite where it never does.
    """
    own, common = pages[page], shared[0]
    if common.learning and by_clock(own, common):
        for ticks in range(1, CLOCK_TICKS + 1):
            if _clock_index_at(pages, shared, page, ticks) >= price:
                # A copy made at a tick has it behind it.
                return ticks * DAY - (own.seen_at - own.tick) % DAY
    low, high = -1, TIME_COUNT
    while high - low > 1:
        middle = (low + high) // 2
        if _index_at(pages, shared, page, middle) >= price:
            high = middle
        else:
            low = middle
    return time_at(high) if high < TIME_COUNT else math.inf


@kernel
def own_price(state: IndexState, page: int) -> float:
    """The factor on the price of a page: that of its host, and of its group."""
    own = state.pages[page]
    price = state.hosts[own.scope].price
    return price * state.shared[0].group_price[own.group] if state.shared[0].groups > 0 else price
