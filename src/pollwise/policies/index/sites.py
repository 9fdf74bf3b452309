"""Changes on one site come together: one change seen raises what is expected of its siblings.

A site has a clock of its own, which runs on when a change is seen on it, on average as fast as
time: if m changes were seen on it since the copy of a page was made, where r are seen in a second,
its clock says m/r seconds. Where more were seen than usual, a page may have changed in
τ + w (m/r - τ) seconds instead of the τ that passed; the second part is its *surge*. Where fewer
were seen the page has none, for it may be that nobody looked. A site that is always busy has no
surges either, whatever w is.

How much the pages of a site follow its clock, its *pull* w, is not known. Each of a few values has
log-odds, for each site and for all sites together, by how well it has predicted the polls of their
pages; 0, a site whose pages have nothing in common, is one of them. The pull is the mean of these
experts (Bayesian model averaging), and older polls of a site count for less.

A change is known to lie between two polls of its page, or at the time that the server told. It
concerns the siblings whose copy is older, and in part those whose copy was made between the two
polls. Changes by the clock (`clock`) are left out: that they come together says nothing. Each site
remembers its latest changes; before these it is taken to have been as busy as usual. The pages of a
site form a ring, so neither needs a look at all pages. The functions are compiled.
"""

import math
from typing import Any

import numpy as np

from pollwise.kernel_cache import kernel
from pollwise.policies.index.fields import site_of
from pollwise.policies.index.page_index import chance_after
from pollwise.policies.index.state import POOL, PULLS, SURGES, IndexState

__all__ = [
    "join_site",
    "leave_site",
    "look_at_site",
    "note_change",
    "note_poll",
]

_PULL = np.array([0.0, 0.1, 0.25, 0.5, 1.0, 2.0])
_FIRST_ODDS = np.array([0.0, -1.0, -1.0, -1.0, -1.0, -2.0])
"""Log-odds of each pull, before any poll."""
_MOST_ODDS = 10.0
"""By how much the log-odds of a pull may stay behind those of the best one, on a site."""
_MOST_COMMON_ODDS = 3.0
"""The same for all sites together."""
_COMMON_SHARE = 0.2
"""How much a poll counts for all sites, compared with its own one."""
_KEEP = 0.995
"""What is left of the weight of a site's poll after the next one."""
_LEAST_CHANCE = 1e-4


@kernel(allocates=False)
def join_site(state: IndexState, page: int) -> None:
    """Put a page into the ring of its site."""
    own = state.pages[page]
    own.before = own.after = page
    number = site_of(state.kinds, own)
    if number < 0:
        return
    site = state.sites[number]
    if site.page >= 0:
        first = state.pages[site.page]
        own.before, own.after = first.before, site.page
        state.pages[first.before].after = page
        first.before = page
    else:
        site.page = page


@kernel(allocates=False)
def leave_site(state: IndexState, page: int) -> None:
    """Take a page out of the ring of its site."""
    own = state.pages[page]
    number = site_of(state.kinds, own)
    if number < 0:
        return
    site = state.sites[number]
    if site.page == page:
        site.page = own.after if own.after != page else -1
    state.pages[own.before].after = own.after
    state.pages[own.after].before = own.before


@kernel(allocates=False)
def note_change(state: IndexState, page: int, begin: float, end: float) -> None:
    """Tell the site of a page that the page changed between two times."""
    number = site_of(state.kinds, state.pages[page])
    if number >= 0:
        site = state.sites[number]
        spot = site.surges % SURGES
        site.begin[spot], site.end[spot] = begin, end
        site.surges += 1


@kernel(allocates=False)
def _pull(site: Any, common: Any) -> float:
    """How closely the pages of a site follow its clock: 0, not at all, to 2."""
    highest = -math.inf
    for k in range(PULLS):
        highest = max(highest, site.pull_odds[k] + common.pull_odds[k])
    total = mass = 0.0
    for k in range(PULLS):
        weight = math.exp(site.pull_odds[k] + common.pull_odds[k] + _FIRST_ODDS[k] - highest)
        mass += weight
        total += weight * _PULL[k]
    return total / mass


@kernel(forceinline=True, allocates=False)
def _rate(site: Any) -> float:
    """Changes seen on a site in a second since the copy of a page was made, as of its polls."""
    return (site.overlap + 1.0) / site.waited


@kernel(allocates=False)
def _overlap(site: Any, seen_at: float) -> float:
    """How many changes were seen on a site since the time of a copy."""
    overlap, oldest = 0.0, math.inf
    for n in range(min(site.surges, SURGES)):
        begin, end = site.begin[n], site.end[n]
        oldest = min(oldest, end)
        if end > seen_at:
            overlap += 1.0 if begin >= seen_at else (end - seen_at) / (end - begin)
    if site.surges > SURGES and oldest > seen_at and site.waited > 0.0:
        overlap += _rate(site) * (oldest - seen_at)
    return overlap


@kernel(forceinline=True, allocates=False)
def _kept_overlap(own: Any, site: Any, common: Any) -> float:
    """The same for a page; in the pool it is worked out once until there are more.

    Then its index is void, whoever looks at the page first.
    """
    if own.where != POOL:
        return _overlap(site, own.seen_at)
    kept = common.kept[own.place]
    if kept.surges != site.surges:
        kept.overlap, kept.surges = _overlap(site, own.seen_at), site.surges
        kept.until, kept.only_ages = -math.inf, 0
    return float(kept.overlap)


@kernel(forceinline=True, allocates=False)
def _excess(site: Any, common: Any, waited: float) -> float:
    """By how many seconds the clock of a site is ahead of the time since the copy was made.

    The copy is that of the page looked at last.
    """
    if site.waited == 0.0 or waited <= 0.0:  # clocks may go back
        return 0.0
    return max(common.overlap / _rate(site) - waited, 0.0)


@kernel(allocates=False)
def look_at_site(state: IndexState, page: int) -> None:
    """Work out the surge of a page as of now."""
    own, common = state.pages[page], state.shared[0]
    common.surge = common.overlap = 0.0
    number = site_of(state.kinds, own)
    if number >= 0:
        site = state.sites[number]
        common.overlap = _kept_overlap(own, site, common)
        excess = _excess(site, common, common.latest - own.seen_at)
        if excess > 0.0:
            common.surge = _pull(site, common) * excess


@kernel(allocates=False)
def _judge_pulls(state: IndexState, page: int, waited: float, changed: bool) -> None:
    """Move the log-odds of all pulls by what they said of a poll."""
    common = state.shared[0]
    site = state.sites[site_of(state.kinds, state.pages[page])]
    excess = _excess(site, common, waited)
    best = best_common = -math.inf
    for k in range(PULLS):
        chance = chance_after(state.shared, waited + _PULL[k] * excess)
        chance = min(max(chance, _LEAST_CHANCE), 1.0 - _LEAST_CHANCE)
        told = math.log(chance if changed else 1.0 - chance)
        site.pull_odds[k] = _KEEP * site.pull_odds[k] + told
        common.pull_odds[k] += _COMMON_SHARE * told
        best = max(best, site.pull_odds[k])
        best_common = max(best_common, common.pull_odds[k])
    for k in range(PULLS):
        site.pull_odds[k] = max(site.pull_odds[k] - best, -_MOST_ODDS)
        common.pull_odds[k] = max(common.pull_odds[k] - best_common, -_MOST_COMMON_ODDS)


@kernel(allocates=False)
def note_poll(state: IndexState, page: int, waited: float, changed: bool) -> None:
    """Learn how pages follow their site from a poll, `waited` seconds after the one before.

    The page is the one looked at last.
    """
    own = state.pages[page]
    number = site_of(state.kinds, own)
    if number >= 0:
        _judge_pulls(state, page, waited, changed)
        site = state.sites[number]
        site.waited = _KEEP * site.waited + waited
        site.overlap = _KEEP * site.overlap + state.shared[0].overlap
