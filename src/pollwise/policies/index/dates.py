"""How far the times of changes that servers tell are to be believed.

A page that is made on demand may be stamped with the time at which it was made, whenever it
changed. Such a time lies shortly before the poll. Log-odds say whether those of a page are of that
kind: each time told, and the change that the poll found, moves them by how likely both are if it is
and if it is not (Bayes' rule; the rate is the belief). What a time teaches of the rate is the
mixture of both cases, so a first false time does little harm. The time told with a copy that equals
the one before counts, too: if it lies before that one, it is not that of the answer.

The time of a first copy is that of a change, or else of the page's birth, as if a page had a birth
at a rate of its own beside its changes. One that lies shortly before the poll is not believed:
nothing is known of the page yet, and few pages change that often. Where two first copies of a site
tell the same time, it is that of a deployment: the second page was quiet since then, and that is
all. Less than a day ago it may be that of a nightly rebuild as well, and says nothing.

A site may stamp all its pages when it is built anew, whether they change or not. A poll that finds
no change, and is told that one came since the copy was made, shows it: where times are true it
would be a change that was taken back. Log-odds of each site say whether it is such a one; then no
time of its pages is believed. The functions are compiled.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pollwise.kernel_cache import kernel
from pollwise.policies.index.fields import code_of_odds, odds_of, site_of
from pollwise.policies.index.state import IndexState
from pollwise.rates.lattice import RATE_COUNT, RATES, lattice_row, time_step
from pollwise.rates.posterior import learn_last_change
from pollwise.units import DAY, HOUR

__all__ = [
    "FIRST_DATE_ODDS",
    "FOUND_LATE",
    "LATELY",
    "is_doubted",
    "is_stamped",
    "learn_date",
    "learn_first_date",
    "note_first_date",
    "note_stamp",
]

FIRST_DATE_ODDS = -3.0
_MOST_ODDS = 8.0
LATELY = 900.0
"""Seconds before the answer in which most pages that are made on demand are made."""
_SELDOM = 0.03
"""The share that is older, as it comes from a cache."""

_TOLD_OLD = math.log(0.99 / _SELDOM)
"""Log-odds against untrue times of a poll that finds no change and is told of none: of one in 33 of
the pages made on demand, which come from a cache. They do not fall below the first odds by that: to
believe times more lost changes on sites that surge."""
_TOLD_NEW = math.log((1.0 - _SELDOM) / 0.01)
"""Log-odds for untrue times of such a poll that is told of a change just now."""

_SAME, _SAME_SHARE = HOUR, 0.05
"""The times of what was deployed together differ by less than so many seconds, and than this share
of the time since then."""
_BIRTHS = 1.0 / (365.0 * DAY)
"""Births a second. For young pages it is one in the time since then: many of them are new."""
FOUND_LATE = 7.0 * DAY
"""A page that changed last so long before it was added is no new one."""

_FIRST_STAMP_ODDS = -3.0
_STAMPED_AGAIN = math.log(0.5 / 0.01)
"""Log-odds of a poll that finds no change and a later time: of such polls of a site that stamps its
pages it is one in two, as some come before the next stamp, and one in a hundred of others."""
_NOT_AGAIN = math.log(0.5 / 0.99)
_STAMP_ODDS = (-1.0, 11.0)
"""Their bounds, as they are kept: without the first odds."""

Floats = NDArray[np.float32]


@kernel(allocates=False)
def is_doubted(own: Any) -> bool:
    """Whether the times told of a page are more likely those of its answers."""
    return own.date_odds > 0


@kernel(forceinline=True, allocates=False)
def _moved(own: Any, by: float) -> Any:
    """The log-odds that the times of a page are untrue, as they are kept, moved by so much."""
    return code_of_odds(min(max(odds_of(own.date_odds) + by, -_MOST_ODDS), _MOST_ODDS))


@kernel(allocates=False)
def _learn_unchanged(own: Any, polled_at: float, told: float) -> None:
    """Take in the time told with a copy that equals the one before; NaN: none was told."""
    since, odds = polled_at - told, odds_of(own.date_odds)
    if told <= own.seen_at and odds > FIRST_DATE_ODDS:
        own.date_odds = code_of_odds(max(odds - _TOLD_OLD, FIRST_DATE_ODDS))
    elif told > own.seen_at and 0.0 <= since < LATELY:
        own.date_odds = _moved(own, _TOLD_NEW)


@kernel
def learn_date(
    own: Any, belief: Floats, since: float, elapsed: float, changed: Floats, unchanged: Floats
) -> Floats:
    """Take in that a page changed in `elapsed` seconds, and `since` seconds ago, as it is told.

    The result has, for each rate, how likely it is per second that this is told although it is not
    so, over how likely it is that times are true. `changed`, `unchanged`: the tables.
    """
    density = (1.0 - _SELDOM) / LATELY if since < LATELY else _SELDOM / max(elapsed, LATELY)
    untrue = np.float32(density) * lattice_row(changed, time_step(elapsed))
    quiet = lattice_row(unchanged, time_step(max(since, 1e-6)))
    true_told, untrue_told = 0.0, 0.0
    for j in range(RATE_COUNT):
        true_told += belief[j] * RATES[j] * quiet[j]
        untrue_told += belief[j] * untrue[j]
    odds = odds_of(own.date_odds)
    moved = math.log(max(untrue_told, 1e-30) / max(true_told, 1e-30))
    own.date_odds = _moved(own, moved)
    return np.float32(math.exp(odds)) * untrue


@kernel(allocates=False)
def note_first_date(state: IndexState, own: Any, since: float, told: float) -> bool:
    """Note the time told with a first copy; whether it is that of the one before, on its site."""
    number = site_of(state.kinds, own)
    if number < 0:
        return False
    site = state.sites[number]
    before, site.first_date = site.first_date, told
    return abs(told - before) < min(_SAME, _SAME_SHARE * since)


@kernel
def learn_first_date(likelihood: Floats, young: int, since: float, unchanged: Floats) -> None:
    """Take in that a page changed, or was born, `since` seconds ago; the latter if it is young."""
    births = 1.0 / since if young else _BIRTHS
    quiet = lattice_row(unchanged, time_step(since))
    learn_last_change(likelihood, since, unchanged, np.float32(births) * quiet)


@kernel(forceinline=True, allocates=False)
def is_stamped(state: IndexState, own: Any) -> bool:
    """Whether the site of a page more likely stamps its pages than tells when they changed."""
    site = site_of(state.kinds, own)
    return site >= 0 and state.sites[site].stamp_odds + _FIRST_STAMP_ODDS > 0.0


@kernel(allocates=False)
def note_stamp(state: IndexState, own: Any, polled_at: float, told: float) -> None:
    """Learn from the time told with a copy that equals the one before; NaN: none was told.

    One shortly before the poll may be that of the answer, which says nothing of other pages.
    """
    _learn_unchanged(own, polled_at, told)
    number = site_of(state.kinds, own)
    if number >= 0 and polled_at - told >= LATELY:
        site = state.sites[number]
        site.stamp_odds += _STAMPED_AGAIN if told > own.seen_at else _NOT_AGAIN
        least, most = _STAMP_ODDS
        site.stamp_odds = min(max(site.stamp_odds, least), most)
