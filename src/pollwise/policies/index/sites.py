"""Changes on one site come together: one change seen raises what is expected of its siblings.

A change of a page counts, for every other page of its site, as so many more seconds in which that
page may have changed: its *surge*. So a page that hardly ever changes is hardly suspected, and the
copy of one that changes often is taken for stale. How many seconds a change counts as is learned
for each site, and for all sites together until a site has had some changes of its own. After a
surge of J seconds and τ others, a share J/(τ + J) of a change that a poll finds is put down to the
surge, and the same share of the predicted chance of a change is held against it; at the true J, the
two are equal on average. (For rare changes this is the EM algorithm. Where the chance is near 1 the
EM algorithm would expect many changes, of which polls show only one.)

A change is known to lie between two polls of its page, or at the time that the server told. It
concerns the siblings whose copy is older, and in part those whose copy was made between the two
polls. Changes by the clock (`clock`) are left out: that they come together says nothing. Each site
remembers its latest changes, and its pages form a ring, so neither needs a look at all pages. The
functions are compiled.
"""

from pollwise.kernel_cache import kernel
from pollwise.policies.index.state import SURGES, IndexState, chance_after

__all__ = [
    "FIRST_CHANGES",
    "FIRST_SURGE",
    "join_site",
    "leave_site",
    "look_at_site",
    "note_change",
    "note_poll",
]

FIRST_SURGE = 86_400.0
"""Seconds that a change counts as at first, or the time in which there is a poll for every page if
that is less: among pages that change every minute, a day would swallow all their changes."""
FIRST_CHANGES = 5.0
"""How many changes that counts as."""


@kernel
def join_site(state: IndexState, page: int) -> None:
    """Put a page into the ring of its site."""
    own = state.pages[page]
    own.before = own.after = page
    if own.site < 0:
        return
    site = state.sites[own.site]
    if site.page >= 0:
        first = state.pages[site.page]
        own.before, own.after = first.before, site.page
        state.pages[first.before].after = page
        first.before = page
    else:
        site.page = page


@kernel
def leave_site(state: IndexState, page: int) -> None:
    """Take a page out of the ring of its site."""
    own = state.pages[page]
    if own.site < 0:
        return
    site = state.sites[own.site]
    if site.page == page:
        site.page = own.after if own.after != page else -1
    state.pages[own.before].after = own.after
    state.pages[own.after].before = own.before


@kernel
def note_change(state: IndexState, page: int, begin: float, end: float) -> None:
    """Tell the site of a page that the page changed between two times."""
    if state.pages[page].site >= 0:
        site = state.sites[state.pages[page].site]
        spot = site.surges % SURGES
        site.begin[spot], site.end[spot] = begin, end
        site.surges += 1


@kernel
def _first_exposure(round_time: float) -> float:
    """What the exposure that all sites begin with lacks, where rounds are shorter than a day."""
    first = FIRST_SURGE
    if round_time > 0.0:
        first = min(first, round_time)
    return FIRST_CHANGES * (1.0 / first - 1.0 / FIRST_SURGE)


@kernel
def look_at_site(state: IndexState, page: int) -> None:
    """Work out the surge of a page."""
    own, common = state.pages[page], state.shared[0]
    own.surge = own.overlap = 0.0
    if own.site < 0:
        return
    site = state.sites[own.site]
    overlap = 0.0
    for n in range(min(site.surges, SURGES)):
        begin, end = site.begin[n], site.end[n]
        if end > own.seen_at:
            overlap += 1.0 if begin >= own.seen_at else (end - own.seen_at) / (end - begin)
    lack = _first_exposure(common.round_time) if common.by_rounds else 0.0
    common_surge = common.share / (common.exposure + lack)
    seconds = (site.share + FIRST_CHANGES) / (site.exposure + FIRST_CHANGES / common_surge)
    own.overlap, own.surge, own.surges = overlap, seconds * overlap, site.surges


@kernel
def note_poll(state: IndexState, page: int, elapsed: float, changed: bool) -> None:
    """Learn what surges count as from a poll, `elapsed` seconds after the one before."""
    own, common = state.pages[page], state.shared[0]
    if own.site >= 0 and own.overlap > 0.0:
        site = state.sites[own.site]
        counted = elapsed + own.surge
        exposure = chance_after(state.pages, state.shared, page, counted) * own.overlap / counted
        share = own.surge / counted if changed else 0.0
        site.exposure += exposure
        site.share += share
        common.exposure += exposure
        common.share += share
