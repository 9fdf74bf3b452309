"""The state of the index policies.

The state is a NamedTuple of a few arrays (few, because handing over an array costs more than an
index); ids of pages are indices of the arrays.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pollwise.policies.arrays import LEASED, READY
from pollwise.policies.index.groups import MOST_GROUPS
from pollwise.rates.excerpt import EXCERPT_COUNT
from pollwise.rates.lattice import COLUMNS, RATE_COUNT, SUBSTEPS, TIME_COUNT
from pollwise.rates.recalibration import RECALIBRATION_SHAPE
from pollwise.rates.summary import KNOT_COUNT
from pollwise.units import DAY

__all__ = [
    "AGING_SURGE",
    "CALENDAR",
    "CHANGED_TABLE",
    "CLOCK_DAYS",
    "CLOCK_OCTAVE",
    "CLOCK_TICKS",
    "EVIDENCE",
    "FIRST_CLOCK_ODDS",
    "INDEX_APART",
    "INDEX_HOST",
    "INDEX_KIND",
    "INDEX_PAGE",
    "INDEX_SHARED",
    "INDEX_SITE",
    "INDEX_TABLE",
    "LEAST_CLOCK_ODDS",
    "MOST_CHANGES",
    "MOST_CLOCK_ODDS",
    "MOST_DATES",
    "MOST_POLLS",
    "NEW",
    "NO_SURGE",
    "ODDS_UNIT",
    "PAGES_BY_RATE",
    "POOL",
    "POOL_CAPACITY",
    "PULLS",
    "RATES_TOGETHER",
    "SEEN_SURGE",
    "SPAN_UNIT",
    "SPELL_COUNT",
    "STALE_SURGE",
    "SUMMARY",
    "SUMMED_SPELLS",
    "SURGES",
    "TELLS_AFTER",
    "TICK_MARGIN",
    "TICK_UNIT",
    "TILTS",
    "UNCHANGED_TABLE",
    "WAITING_SURGE",
    "IndexState",
    "Pages",
    "Shared",
]

NEW, CALENDAR, POOL = READY, LEASED + 1, LEASED + 2
"""Where a page waits: in line, in the calendar or in the pool."""

POOL_CAPACITY = 64
TILTS = 32
RATES_TOGETHER = 4
"""So many rates side by side, a factor of 2.5, are one where the spells of a page are counted: the
rate of a spell is known no better. Within them its spells are spread like those of all pages."""
SPELL_COUNT = RATE_COUNT // RATES_TOGETHER
SUMMED_SPELLS = 8
"""Parts of the rates in which the spells of a summary are counted."""

INDEX_PAGE = np.dtype(
    [
        ("seen_at", "f8"),  # time of the copy; NaN: there is none
        ("weight", "f4"),  # weight / cost
        ("scope", "i4"),
        ("place", "i4"),  # in calendar, held or pool; in line: the page before; -1: none
        ("spot", "i4"),  # of its evidence in full; in line: the page after; -1: none
        # Where the rate is learned:
        # Its kind, within its site. -1: it has no site; below: none on a site (`fields.site_of`).
        ("kind", "i4"),
        ("before", "i4"),  # the pages of its site beside it, in a ring
        ("after", "i4"),
        # Seconds from the change seen last, or from when the page was added, to the copy. Without a
        # copy it is the time when it was added, or up to two minutes before; NaN: it was with the
        # first pages.
        ("spell", "f4"),
        ("burst_odds", "f4"),  # log-odds of changing in bursts, as far as from its polls
        ("changes", "u2"),  # seen by polls: the latest ones, where there are very many
        ("reverts", "u2"),  # how many of them went back to an earlier version
        ("date_odds", "i2"),  # `ODDS_UNIT`: log-odds that the times told are those of the answers
        ("tick", "u2"),  # `TICK_UNIT`: after it, each day (UTC), it has changed, if by the clock
        ("clock_odds", "i2"),  # `ODDS_UNIT`: log-odds of changing by the clock
        ("polls", "u2"),  # that told something: at most `MOST_POLLS`
        ("first_rate", "u1"),  # of the neighbours of the excerpt; of a summary: its code
        ("where", "i1"),
        ("group", "u1"),  # whose share of the budget it has; 0: the rest
        ("young", "i1"),  # 1: added later than the first pages, and no change of it was seen
        ("signalled", "u1"),  # 1: a signal is pending
        # Changes whose time was told, up to MOST_DATES; below 0: none was, and for so long, in
        # `SPAN_UNIT`, before its tick it may change, as its polls have found.
        ("dates", "i1"),
    ]
)
"""What is kept of each page."""

EVIDENCE = np.dtype(
    [
        ("holder", "i4"),  # the page whose it is; -1: none
        # An excerpt (`pollwise.rates.excerpt`) of the likelihood of each rate, given all polls:
        ("likelihood", "u2", (EXCERPT_COUNT,)),
        # Between changes: how many passed at these rates, packed (`pollwise.rates.packed`).
        ("spells", "u2", (SPELL_COUNT,)),
    ]
)
"""What is kept of a page of which much is known, or of every page (`evidence`)."""

SUMMARY = np.dtype(
    [
        ("depths", "u1", (KNOT_COUNT,)),  # of its likelihood (`pollwise.rates.summary`)
        ("spells", "u1", (SUMMED_SPELLS,)),  # roots of how many there are
    ]
)
"""What is kept of any other page instead (`evidence`)."""

ODDS_UNIT = 2.0**-11
TICK_UNIT = DAY / 65_536
"""Seconds of the day."""
MOST_POLLS = 65_535
"""Polls of a page that are counted."""

MOST_CHANGES = 65_535
"""Changes that are counted of a page: older ones count half then."""
MOST_DATES = 127

INDEX_APART = np.dtype(
    [
        ("rate", "f4"),  # where it is known; else there may be signals:
        ("signal", "f4"),  # the probability that the pending one, or the one before, is true
        ("signalled_at", "f8"),  # its time
        ("signals", "f4"),  # how many were followed by a poll
        ("true_signals", "f4"),  # how many of these told of a change
    ]
)
"""What is kept of a page apart, as few policies or pages have it."""

PAGES_BY_RATE = np.dtype(
    [
        ("round", "i4"),  # that is being counted
        ("pages", "f4", (2, RATE_COUNT)),  # by rate: of this round and, complete, of the one before
    ]
)
"""How many pages there are at each rate, of a kind or a site (`prior`)."""

INDEX_KIND = np.dtype([("counts", PAGES_BY_RATE), ("site", "i4")])
"""What is kept of each kind of page within a site."""

PULLS = 6
"""How many strengths with which pages may follow their site are weighed (`sites`)."""

SURGES = 32
"""Changes of a site that are remembered."""

INDEX_SITE = np.dtype(
    [
        ("counts", PAGES_BY_RATE),
        ("surges", "i4"),  # changes seen
        ("begin", "f8", (SURGES,)),  # between which times each of the latest of them was
        ("end", "f8", (SURGES,)),
        ("waited", "f8"),  # seconds before polls of its pages, older ones in part
        ("overlap", "f8"),  # changes that were seen on it meanwhile
        ("pull_odds", "f8", (PULLS,)),  # log-odds of each pull
        ("first_date", "f8"),  # that was told with the latest first copy; NaN: none yet
        ("stamp_odds", "f8"),  # log-odds that it stamps its pages whether they change or not
        ("clocked", "f8"),  # its pages with two dates, each by how far these speak for the clock
        ("dated", "f8"),  # how many there are
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
        ("back_at", "f8"),  # when the last of the pages is back that were held as it was busy
        ("blocked_until", "f8"),  # before this time none of its pages is the best one
    ]
)
"""What is kept of each politeness scope."""

CLOCK_TICKS, CLOCK_OCTAVE = 64, 8
_FARTHER = np.ceil(CLOCK_TICKS * 2.0 ** (np.arange(1, 6 * CLOCK_OCTAVE + 1) / CLOCK_OCTAVE))
CLOCK_DAYS = np.concatenate([np.arange(CLOCK_TICKS + 1), _FARTHER.astype(np.int64)])
"""Days between two polls of a page that changes by the clock for which there is an index: all up to
`CLOCK_TICKS`, and so many in each factor of 2 beyond, up to 11 years."""
FIRST_CLOCK_ODDS = -3.5
LEAST_CLOCK_ODDS = -6.0
"""Log-odds of a page whose dates say that it has no clock, or are not believed."""
MOST_CLOCK_ODDS = 4.0
"""The highest log-odds of the clock of a page, with what other pages add: one such page of 55 has
none. Without a bound to that opendata waits 18 % longer at 4 polls a day and page."""
TELLS_AFTER = 28_800.0
"""Seconds after a change from which its time speaks for the clock: sooner, a page that changes
every few hours would often agree, too."""
TICK_MARGIN = 1200.0
"""Seconds after a change, as told, that a tick is set to; its window begins as long before."""
SPAN_UNIT = TELLS_AFTER / MOST_DATES
"""Seconds in which the length of a window is kept: the longest is `TELLS_AFTER`."""

NO_SURGE, SEEN_SURGE, STALE_SURGE, WAITING_SURGE, AGING_SURGE = range(5)
"""What a surge of changes does to the index: nothing; it is seen; the copy is stale; all wait; the
copy has been out of date for some time."""

INDEX_TABLE, CHANGED_TABLE, UNCHANGED_TABLE = range(3)
"""shape(a) / a^power for a = rate * time, or a^-power where there is a decay; 1 - e^-a; e^-a."""

KEPT_INDEX = np.dtype(
    [
        ("index", "f8"),
        ("since", "f8"),  # between which times it is that, while nothing new is known
        ("until", "f8"),
        ("round", "i4"),  # of the prior, that the belief was worked out with; -1: there is none
        ("only_ages", "i4"),  # 1: while nothing new is known, only time moves it, by the last two
        ("surges", "i4"),  # changes seen on its site when those since its copy were counted
        ("overlap", "f4"),  # that is how many there were
        ("belief", "f4", (RATE_COUNT,)),
        ("weight", "f8"),  # of the page, by the worth of its changes
        ("shares", "f4", (RATE_COUNT,)),  # of the rates in the index
    ]
)
"""The index of a page of the pool, and how long it is that."""

INDEX_SHARED = np.dtype(
    [
        ("learning", "i8"),  # 1: rates are learned, 0: they are known
        ("patience", "f8"),  # polls per page after which any page is polled, where they are learned
        ("slow_is_hopeful", "i8"),  # 1: patience ends only for pages that have most likely changed
        ("surge_kind", "i8"),  # of the objective
        ("revert_worth", "f8"),  # what a change back to an earlier version is worth
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
        ("round", "i4"),  # of counting pages by rate
        ("round_time", "f8"),  # seconds in which there was a poll for every page, when it began
        ("next", "i8"),  # the page to be counted next
        ("counts", PAGES_BY_RATE),  # of all pages
        ("bursty", "f8"),  # how many of the pages counted in this round change in bursts
        ("all", "f8"),  # how many were counted
        ("burst_odds", "f8"),  # log-odds that a page does, before its polls are looked at
        ("young_odds", "f8"),  # log-odds that are added for young pages
        ("spells", "f8", (RATE_COUNT,)),  # between changes, of all pages
        ("all_spells", "f4", (RATE_COUNT,)),  # the same in 32 bits,
        ("together", "f4", (SPELL_COUNT,)),  # their sums over rates that are one,
        ("pseudo", "f4"),  # and by how much they are scaled; 0: all three are void
        ("pull_odds", "f8", (PULLS,)),  # of all sites, see INDEX_SITE
        ("clocked", "f8"),  # of all pages, see INDEX_SITE
        ("dated", "f8"),
        ("signals", "f8"),  # of all pages
        ("true_signals", "f8"),
        ("copy_waited", "i8"),  # 1: no first copy was made with the latest selection
        ("pool_size", "i8"),
        ("first_new", "i8"),  # the line: its first and its last page, and how many there are
        ("last_new", "i8"),
        ("new_size", "i8"),
        ("sweep", "i8"),  # the page swept last
        ("sweep_left", "i8"),  # pages of a quick round
        ("mean_price", "f8"),  # over some polls, where there are many pages
        ("swept_price", "f8"),  # what that was at the start of the latest quick round
        ("pool", "i8", (POOL_CAPACITY,)),
        ("kept", KEPT_INDEX, (POOL_CAPACITY,)),  # of these pages
        ("groups", "i8"),  # with a share of the budget, and the rest; 0: there are no shares
        ("group_share", "f8", (MOST_GROUPS,)),
        ("group_price", "f8", (MOST_GROUPS,)),
        ("group_pages", "i8", (MOST_GROUPS,)),
        ("group_offered", "i8", (MOST_GROUPS,)),  # pages that wait for their turn
        ("charged", "i8"),  # polls that were charged to groups
        ("mean_cost", "f8"),  # of these
        ("group_swept", "f8", (MOST_GROUPS,)),  # the price at the start of the latest quick round
        ("prior", "f4", (RATE_COUNT,)),
        ("base", "f4", (RATE_COUNT,)),  # the base prior
        ("recalibration", "f8", RECALIBRATION_SHAPE),  # of chances
        ("hope", "f8"),  # and the time of a round that `tilt` was made with, where fast rates are
        ("hope_round", "f8"),  # hopeful
        ("tilt", "f4", (TILTS, RATE_COUNT)),  # of beliefs, by number of polls
        ("clock", "f4", (len(CLOCK_DAYS), RATE_COUNT)),  # index by days since the copy was made
        ("late", "i8"),  # 1: it falls in the course of the day
        ("tables", "f4", (3, SUBSTEPS, COLUMNS)),
        ("likelihood", "f4", (RATE_COUNT,)),  # of the page polled last, while it learns
        ("likely", "f4", (RATE_COUNT,)),  # the likelihood of the page looked at or counted last
        ("own_spells", "f4", (SPELL_COUNT,)),  # those of a page
        ("believed", "i8"),  # the page looked at last; -1: its belief is void
        ("belief", "f4", (RATE_COUNT,)),  # the probability of each of its rates now
        ("surge", "f4"),  # seconds by which its site makes it older than it is
        ("overlap", "f4"),  # how many changes were seen on its site since its copy was made
        ("signal", "f4"),  # the probability that its pending signal is true; 0: there is none
        ("signalled", "f8"),  # seconds from its copy to that signal
        ("rate", "f4"),  # where it is known
        ("clock_lift", "f8"),  # what other pages add to its log-odds of changing by the clock
        ("modelled", "i8"),  # the page whose models were worked out last; the next two are of it
        ("steady", "f4", (RATE_COUNT,)),
        ("bursts", "f4", (RATE_COUNT,)),
        ("counted", "f4", (RATE_COUNT,)),  # of the page counted last; the next three: meanwhile
        ("least", "f4", (RATE_COUNT + 1,)),  # 0 beyond the last one
        ("odds", "f4", (RATE_COUNT + 1,)),
        ("moved", "f4", (RATE_COUNT + 1,)),
        ("scale", "f8", (TIME_COUNT,)),  # the factor on the mean of the index table, by time
        ("step", "i8"),  # the lattice time that an index was worked out for last
        ("shares", "f4", (RATE_COUNT,)),  # of the rates in the index of the page weighed last
        ("weight", "f8"),  # of that page, by the worth of its changes
        ("surged", "i8"),  # 1: it has a surge or a signal; then what that adds:
        ("surge_shares", "f4", (RATE_COUNT,)),
        ("waiting", "f8"),
    ]
)
"""What all pages share."""


Pages = NDArray[Any]
Shared = NDArray[Any]


class IndexState(NamedTuple):
    """The state of an index policy."""

    pages: Pages  # of INDEX_PAGE
    shared: Shared  # of INDEX_SHARED, one element
    calendar: NDArray[Any]  # heap by the time to enter the pool; reversed: of held pages
    hosts: NDArray[Any]  # of INDEX_HOST, one for each scope
    sites: NDArray[Any]  # of INDEX_SITE
    kinds: NDArray[Any]  # of INDEX_KIND
    apart: NDArray[Any]  # of INDEX_APART, by page; where no signals came, of no or some pages only
    evidence: NDArray[Any]  # of EVIDENCE
    summaries: NDArray[Any]  # of SUMMARY, by page; none while there is room for all in full
