"""What is to be expected of a page before its own polls: how fast pages like it change.

How many pages there are at each rate is counted for all pages together, for each site, and for
each kind of page within a site. The prior of a kind is a Dirichlet prior centred on that of its
site, and that of a site is centred on the prior of all pages: a page of which little is known is
taken for one of its kind, and a kind of few pages for one of its site.

Counting is the EM algorithm for the weights of a mixture (Laird, "Nonparametric maximum likelihood
estimation of a mixing distribution", 1978): a page counts for each rate with the probability that
it has this rate, given the counts of the round before. The pages take turns, a few at each poll,
so that no poll has to wait for a pass over all of them, and the fewer the more is known of each:
then a poll changes it less. From then on a round lowers the prior of a rate by a part at most: if
the only page that has this rate is taken for slower while it is counted, as when it changes places
with another one, the rate would be impossible until the next round. The functions are compiled.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pollwise.kernel_cache import kernel
from pollwise.policies.arrays import ABSENT
from pollwise.policies.index.clock_share import count_clock, spoken_for_clock
from pollwise.policies.index.evidence import fetch_evidence, likelihood_of_page
from pollwise.policies.index.fields import site_of
from pollwise.policies.index.page_index import has_told
from pollwise.policies.index.state import POOL_CAPACITY, TILTS, IndexState
from pollwise.policies.structures.prefetch import prefetch
from pollwise.rates.lattice import RATE_COUNT, RATES, put
from pollwise.rates.sums import normalise, total_of

__all__ = [
    "FIRST_BURST_ODDS",
    "base_prior",
    "burst_share",
    "count_pages",
    "fast_hope",
    "prior_of",
    "recount",
    "slow_hope",
    "steady_model",
    "weigh_rates",
]

_MOST_PAGES_A_POLL = 8
_FIRST_POLLS = 3.0
"""Polls of each page until which so many are counted at a poll; then fewer, in proportion."""
_MOST_LOST = 0.2
"""The share of its prior that a rate loses in a round at most, where polls tell little new."""
_PLACES_A_POLL = 128
"""Ids that are looked at for these pages, as there may be gaps."""
_PSEUDO_PAGES = 100.0
"""Pages that the base prior counts as at first; fewer as pages are polled."""
_PARENT_PAGES = 3.0
"""Pages that the prior of all pages counts as for a site, and that of a site for its kinds."""
FIRST_BURST_ODDS = -1.0
_PSEUDO_BURSTY = 5.0
"""Pages changing in bursts that the first odds count as."""
_SMOOTHING = 0.2
"""Share of a page that is counted for either of the rates beside it, at most: the maximum
likelihood by itself is a handful of spikes. What polls cannot tell comes to the shape of the base
prior, so that pages too fast for their polls do not become ever faster."""
_LEAST = np.float32(1e-36)
"""Products of prior and likelihood are at least this, as they are divided by."""
_LARGER = np.float32(2.0**40)
"""By this much larger, what is moved is a normal number: others take a hundred times as long."""
_MUCH_TO_FIND = 0.2
"""The share of polls without a change from which on hope is in full."""
_HOPES = 16
"""Hope is worked out again when it has moved by one part of so many, or the time of a round by a
part of `_ROUND_MOVE`."""
_ROUND_MOVE = 8.0
_YOUNG_POLLS = 4
"""Compared polls of a page after which its own odds say enough: with more, new pages without a
change came too seldom to their turn (delay of curlwww 3 to 6 % longer)."""
_FAST_ENOUGH = 4.0
"""Changes in a round from which on a page is polled often enough, however fast it is."""

Floats = NDArray[np.float32]


@kernel
def base_prior(round_time: float) -> NDArray[np.float64]:
    """The probability of each rate for a page of which nothing is known.

    Rates are equally likely on a logarithmic scale up to one change in `round_time` seconds, the
    time in which there is a poll for every page (0: not known yet). Faster ones are rarer in
    proportion: polls cannot tell them apart, and taking a page for too slow costs a few polls,
    while taking it for too fast would give it up.
    """
    weights = np.ones(RATE_COUNT)
    for j in range(RATE_COUNT):
        weights[j] = 1.0 / max(RATES[j] * round_time, 1.0)
    return weights / weights.sum()


@kernel(forceinline=True, allocates=False)
def _novelty(common: Any) -> float:
    """How much a poll still tells: 1 until each page has been polled a few times, then less."""
    return min((1.0 + _FIRST_POLLS) / (1.0 + common.learned / max(common.pages, 1)), 1.0)


@kernel
def _start_round(state: IndexState) -> None:
    """Begin a new round: the prior becomes what was counted in the one before, but falls slowly."""
    common = state.shared[0]
    pages = max(common.pages, 1)  # all may be paused while one is polled
    kept = 1.0 - max(_novelty(common), _MOST_LOST) if common.round_time > 0.0 else 0.0
    common.round_time = pages * common.gap
    count = (
        min(_PSEUDO_PAGES, pages) / (1.0 + common.learned / pages) * base_prior(common.round_time)
    )
    _turn(common.counts, common.round)
    complete = common.counts.pages[common.round % 2]
    count += complete
    least = kept * count.sum()
    for j in range(RATE_COUNT):
        common.prior[j] = max(count[j], least * common.prior[j])
    normalise(common.prior)
    bursty = common.bursty + _PSEUDO_BURSTY
    steady = common.all - common.bursty + _PSEUDO_BURSTY * math.exp(-FIRST_BURST_ODDS)
    common.burst_odds = math.log(bursty / steady)
    common.bursty = common.all = 0.0
    common.round += 1
    _set_round(common)


@kernel
def slow_hope(round_time: float) -> NDArray[np.float64]:
    """The factors on beliefs where slow rates are the hopeful ones (see `bayes_index`).

    `round_time` is the time, in seconds, in which there is a poll for every page.
    """
    return 1.0 / (1.0 + RATES * round_time / 2.0)


@kernel
def fast_hope(hope: float, round_time: float) -> NDArray[np.float64]:
    """The factors on beliefs where fast rates are the hopeful ones, by number of polls.

    `hope` is 1 or, where nearly all polls find a change, less: there is little to hope for. A rate
    of several changes in a round of polls of all pages is as hopeful as any that is faster, since
    either page would have changed by its next poll.
    """
    rates = np.minimum(RATES * round_time, _FAST_ENOUGH) if round_time > 0.0 else RATES
    tilt = np.empty((TILTS, RATE_COUNT))
    for polls in range(TILTS):
        power = hope / (1.0 + polls) ** 2
        for j in range(RATE_COUNT):
            tilt[polls, j] = rates[j] ** power
    return tilt


@kernel
def _set_round(common: Any) -> None:
    """Work out what depends on the time of a round, and on what polls find."""
    common.believed = -1
    for spot in range(POOL_CAPACITY):
        common.kept[spot].until = -math.inf
    if common.slow_is_hopeful:
        put(common.tilt[0], slow_hope(common.round_time))
    else:
        hope = math.ceil(_HOPES * min((1.0 - common.finding) / _MUCH_TO_FIND, 1.0)) / _HOPES
        moved = abs(common.round_time - common.hope_round) * _ROUND_MOVE
        if hope != common.hope or moved > common.hope_round:
            common.hope, common.hope_round = hope, common.round_time
            hopes = fast_hope(hope, common.round_time)
            for polls in range(TILTS):
                put(common.tilt[polls], hopes[polls])
    put(common.base, base_prior(common.round_time))


@kernel(forceinline=True, allocates=False)
def _turn(counts: Any, now: int) -> None:
    """Prepare counts for the round `now`: those of the last round are complete, older ones void."""
    behind = now - counts.round
    if behind > 0:
        counts.pages[now % 2] = 0.0
        if behind > 1:
            counts.pages[1 - now % 2] = 0.0
        counts.round = now


@kernel(allocates=False)
def _narrow(prior: Floats, counts: Any, now: int) -> None:
    """Turn the prior of a level into that of the level below, which has these counts (in place)."""
    _turn(counts, now)
    complete = counts.pages[1 - now % 2]
    for j in range(RATE_COUNT):
        prior[j] = _PARENT_PAGES * prior[j] + complete[j]
    normalise(prior)


@kernel(forceinline=True, allocates=False)
def _take_prior(state: IndexState, page: int, prior: Floats) -> None:
    """Fill in the prior of a page."""
    own, common = state.pages[page], state.shared[0]
    put(prior, common.prior)
    site = site_of(state.kinds, own)
    if site >= 0:
        _narrow(prior, state.sites[site].counts, common.round)
        if own.kind >= 0:
            _narrow(prior, state.kinds[own.kind].counts, common.round)


@kernel(forceinline=True, allocates=False)
def weigh_rates(state: IndexState, page: int, weights: Floats) -> None:
    """Fill in the probability of each rate if the page has one for good."""
    common = state.shared[0]
    _take_prior(state, page, weights)
    likelihood_of_page(state, page, common.likely)
    for j in range(RATE_COUNT):
        weights[j] *= common.likely[j]
    normalise(weights)


@kernel
def prior_of(state: IndexState, page: int) -> Floats:
    """The prior of a page."""
    prior = np.empty(RATE_COUNT, np.float32)
    _take_prior(state, page, prior)
    return prior


@kernel
def steady_model(state: IndexState, page: int) -> Floats:
    """The probability of each rate if the page has one for good."""
    weights = np.empty(RATE_COUNT, np.float32)
    weigh_rates(state, page, weights)
    return weights


@kernel(forceinline=True, allocates=False)
def _chance(odds: float) -> float:
    """The probability with these log-odds."""
    return 1.0 / (1.0 + math.exp(-odds))


@kernel(forceinline=True, allocates=False)
def burst_share(state: IndexState, page: int) -> float:
    """The probability that a page changes in bursts (see `belief`).

    Its prior is the share of all pages that do, which is counted as well.
    """
    own, common = state.pages[page], state.shared[0]
    odds = common.burst_odds + own.burst_odds
    if own.young and own.polls < _YOUNG_POLLS:
        odds += common.young_odds
    return _chance(odds)


@kernel(forceinline=True, allocates=False)
def _add(counts: Any, share: Floats, now: int) -> None:
    _turn(counts, now)
    here = counts.pages[now % 2]
    for j in range(RATE_COUNT):
        here[j] += share[j]


@kernel(forceinline=True, allocates=False)
def _share_out(state: IndexState, page: int) -> None:
    """Fill in `common.counted`: how much of a page is counted for each rate.

    That is the probability of each rate over the long run, some of it moved to the rates beside it:
    by a step of Metropolis that leaves the base prior times the likelihood as it is.
    """
    common = state.shared[0]
    counted, least, odds, moved = common.counted, common.least, common.odds, common.moved
    _take_prior(state, page, counted)
    likelihood_of_page(state, page, common.likely)
    for j in range(RATE_COUNT):
        likely = common.likely[j]
        counted[j] *= likely
        least[j] = max(common.base[j] * likely, _LEAST)
        odds[j] = counted[j] / least[j]
    scale = _LARGER / total_of(counted)
    for j in range(RATE_COUNT):
        share = np.float32(_SMOOTHING) * scale * min(least[j], least[j + 1])
        moved[j + 1] = share * (odds[j] - odds[j + 1])
    for j in range(RATE_COUNT):
        counted[j] = (counted[j] * scale + moved[j] - moved[j + 1]) / _LARGER


@kernel(forceinline=True, allocates=False)
def _count_page(state: IndexState, page: int) -> None:
    """Count one page, by what is known of its rate over the long run."""
    own, common = state.pages[page], state.shared[0]
    _share_out(state, page)
    _add(common.counts, common.counted, common.round)
    common.bursty += _chance(common.burst_odds + own.burst_odds)  # as if no page were young
    common.all += 1.0
    site = site_of(state.kinds, own)
    if site >= 0:
        _add(state.sites[site].counts, common.counted, common.round)
        if own.kind >= 0:
            _add(state.kinds[own.kind].counts, common.counted, common.round)


@kernel(forceinline=True, allocates=False)
def count_pages(state: IndexState) -> None:
    """Count the next few pages; after the last one, a new round begins."""
    common = state.shared[0]
    if common.round_time == 0.0 and common.gap > 0.0:
        _start_round(state)
    counted, wanted = 0, max(int(_MOST_PAGES_A_POLL * _novelty(common)), 1)
    for _ in range(min(_PLACES_A_POLL, len(state.pages))):
        if counted == wanted:
            break
        prefetch(state.pages, common.next + wanted)
        fetch_evidence(state, common.next + wanted)
        own = state.pages[common.next]
        if own.where != ABSENT:
            counted += 1
            if has_told(own):
                _count_page(state, common.next)
        common.next += 1
        if common.next == len(state.pages):
            common.next = 0
            _start_round(state)


@kernel(nogil=True, allocates=False)
def recount(state: IndexState, pages: NDArray[np.int64]) -> None:
    """Count all pages by site and kind anew; the prior of all pages stays as it is."""
    common = state.shared[0]
    common.round += 2  # what was counted is void
    common.clocked = common.dated = 0.0
    for site in state.sites:
        site.clocked = site.dated = 0.0
    for page in pages:
        if has_told(state.pages[page]):
            _count_page(state, page)
        count_clock(state, page, -1.0, spoken_for_clock(state.pages[page]))
    common.next = 0
    common.bursty = common.all = 0.0
    common.round += 1
    _set_round(common)
