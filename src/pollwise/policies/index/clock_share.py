"""How many pages change by the clock, of a site and of all: what is expected of one more page.

Sites rebuild all their pages at night, or none. So the prior odds of a page are those of a share of
pages which is counted: each page with at least two dates counts by how far these, and its polls,
speak for the clock, if either were equally likely. The share of a site is a Beta distribution
centred on that of all pages, as the prior of rates is (`prior`); a page takes no part in its own
prior. Where a poll later in the day is as good as one at the tick, nothing is gained by a clock
that is only likely, and pages are judged by themselves. The functions are compiled.
"""

import math
from typing import Any

from pollwise.kernel_cache import kernel
from pollwise.policies.index.dates import is_doubted, is_stamped
from pollwise.policies.index.fields import odds_of, site_of
from pollwise.policies.index.state import FIRST_CLOCK_ODDS, IndexState

__all__ = ["clock_lift", "count_clock", "spoken_for_clock"]

_FIRST_SHARE = 1.0 / (1.0 + math.exp(-FIRST_CLOCK_ODDS))
_PSEUDO_PAGES = 20.0
"""Pages that the first odds count as."""
_PARENT_PAGES = 3.0
"""Pages that the share of all pages counts as for a site."""


@kernel(forceinline=True, allocates=False)
def spoken_for_clock(own: Any) -> float:
    """How far the dates and polls of a page speak for the clock; below 0: it has too few dates."""
    if own.dates <= 1:
        return -1.0
    return 1.0 / (1.0 + math.exp(FIRST_CLOCK_ODDS - odds_of(own.clock_odds)))


@kernel(forceinline=True, allocates=False)
def _count(counts: Any, before: float, now: float) -> None:
    counts.clocked = max(counts.clocked + max(now, 0.0) - max(before, 0.0), 0.0)
    counts.dated += (now >= 0.0) - (before >= 0.0)


@kernel(allocates=False)
def count_clock(state: IndexState, page: int, before: float, now: float) -> None:
    """Count a page of which this was `spoken_for_clock`, and now is."""
    own = state.pages[page]
    _count(state.shared[0], before, now)
    site = site_of(state.kinds, own)
    if site >= 0:
        _count(state.sites[site], before, now)


@kernel(forceinline=True, allocates=False)
def clock_lift(state: IndexState, page: int) -> float:
    """What other pages add to the log-odds of a page.

    Nothing without a date that is believed, or if it does not matter how late in the day a poll is.
    """
    own, common = state.pages[page], state.shared[0]
    if own.dates <= 0 or not common.late or is_doubted(own) or is_stamped(state, own):
        return 0.0
    spoken = spoken_for_clock(own)
    mine, self = max(spoken, 0.0), 1.0 if spoken >= 0.0 else 0.0
    share = max(common.clocked - mine, 0.0) + _PSEUDO_PAGES * _FIRST_SHARE
    share /= common.dated - self + _PSEUDO_PAGES
    number = site_of(state.kinds, own)
    if number >= 0:
        site = state.sites[number]
        clocked = max(site.clocked - mine, 0.0) + _PARENT_PAGES * share
        share = clocked / (site.dated - self + _PARENT_PAGES)
    return math.log(share / (1.0 - share)) - FIRST_CLOCK_ODDS
