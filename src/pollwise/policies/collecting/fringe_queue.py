"""The fringe in order of value, a heap for each host and one of the hosts: compiled kernels.

A host counts by the value of its best page and a bonus that shrinks as more of it is fetched, so
every host is tried, and tried again while others bring little (upper confidence bounds; P. Auer,
N. Cesa-Bianchi, P. Fischer, Machine Learning 47, 2002). Values are computed anew where much may
have changed: for pages that a promising page links to, for the neighbours of links that turned out
relevant, and for a page that comes to the top. Each kernel that values pages is handed a `row` to
gather their evidence in.
"""

import math

import numpy as np
from numpy.typing import NDArray

from pollwise.kernel_cache import kernel
from pollwise.policies.collecting.evidence import N_EVIDENCE, gather
from pollwise.policies.collecting.known_web import (
    AIMED,
    EXPLORATION,
    FETCHES,
    FRINGE,
    RELEVANCE,
    Web,
)
from pollwise.policies.structures.heap import (
    first_page,
    heap_push,
    heap_remove,
    heap_size,
    heap_update,
)
from pollwise.policies.structures.pairing_heap import meld, taken_out

__all__ = [
    "best",
    "block_host",
    "offer",
    "offer_new",
    "value_all",
    "value_new",
    "value_some",
    "value_targets",
    "withdraw",
]

Row = NDArray[np.float32]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_LEAST_MEAN = 0.002
"""The least mean relevance, for the bonus of hosts."""
_NOVELTY = 1.0
"""The bonus of a directory without fetches, in mean relevances."""
_SCOUT = 0.01
"""The bonus of a page for the links that it may bring, for each e-fold of the links to it; it is
halved after this many fetches:"""
_SCOUTED = 20.0
_LATEST = 10.0
"""Times as many fetches after which there is none, as it would be a hundredth."""
_RISE = 4
"""Neighbours of a relevant link that are valued anew, on either side."""
_MOST_LISTS = 32
_TRIES = 16
"""Pages at the top that are valued anew before one of them is taken."""


@kernel(forceinline=True, allocates=False)
def _mean(web: Web) -> float:
    return web.totals[RELEVANCE] / (web.totals[FETCHES] + 1)


@kernel(allocates=False)
def _place_host(web: Web, host: int) -> None:
    """Put a host in its place by its best page and its bonus."""
    root = web.hosts[host].root
    if root < 0 or web.hosts[host].blocks > 0:
        if web.hosts[host].place > 0:
            heap_remove(web.host_heap, web.hosts, host)
            web.hosts[host].place = 0
        return
    fetched = web.directories[web.hosts[host].directory].count
    bonus = web.totals[EXPLORATION] * max(_mean(web), _LEAST_MEAN) / math.sqrt(1 + fetched)
    key = -(web.pages[root].value + bonus)
    if web.hosts[host].place > 0:
        heap_update(web.host_heap, web.hosts, host, key)
    else:
        heap_push(web.host_heap, web.hosts, host, key)


@kernel(allocates=False)
def block_host(web: Web, page: int, more: int) -> None:
    """Block the host of a page once more, or (-1) once less."""
    host = web.pages[page].host
    web.hosts[host].blocks += more
    _place_host(web, host)


@kernel(allocates=False)
def offer(web: Web, page: int, value: float) -> None:
    """Add a page of the fringe, with its value."""
    host = web.pages[page].host
    web.pages[page].value = value
    web.hosts[host].root = meld(web.pages, web.hosts[host].root, page)
    _place_host(web, host)


@kernel(allocates=False)
def offer_new(web: Web, pages: Ints) -> None:
    """Add pages one after the other, each with its value of the plan, or the lowest of all."""
    for page in pages:
        planned = web.pages[page].planned
        web.pages[page].where = FRINGE
        offer(web, page, -math.inf if math.isnan(planned) else planned)


@kernel(allocates=False)
def withdraw(web: Web, page: int) -> None:
    """Take a page of the fringe out."""
    host = web.pages[page].host
    web.hosts[host].root = taken_out(web.pages, web.hosts[host].root, page)
    _place_host(web, host)


@kernel(forceinline=True, allocates=False)
def _scouting(web: Web, page: int) -> float:
    """The bonus of a page for the links that it may bring, at the beginning of a told crawl.

    Where no text matches the topic yet, one that does is found soonest among the links of pages to
    which many link, as these also link to many. Links without a word do not count: those of a
    calendar lead to more of it.
    """
    late = web.totals[FETCHES] / _SCOUTED
    if web.totals[AIMED] == 0 or late > _LATEST:
        return 0.0
    n_in = 0.0
    link, seen = web.pages[page].last_link, 0
    while link >= 0 and seen < _MOST_LISTS:
        anchor = web.anchors[web.links[link].anchor]
        for at in range(anchor.first_word, anchor.end_word):
            if web.words[web.anchor_words[at]].plain:
                n_in += 1.0
                break
        link = web.links[link].earlier
        seen += 1
    return web.totals[AIMED] * _SCOUT * math.log1p(n_in) / (1.0 + late * late)


@kernel(forceinline=True, allocates=False)
def _novelty(web: Web, page: int) -> float:
    """The bonus of a page for how little was fetched of the directory above its own.

    There is always another one of those that have a number for a name: they count as one.
    """
    directory = web.pages[page].directory
    above = web.directories[directory].parent
    while above >= 0:
        directory = above
        if not web.directories[directory].numbered:
            break
        above = web.directories[directory].parent
    fetched = web.directories[directory].count
    return _NOVELTY * max(_mean(web), _LEAST_MEAN) / math.sqrt(1 + fetched)


@kernel(forceinline=True, allocates=False)
def _value(web: Web, weights: Floats, page: int, row: Row) -> float:
    if not math.isnan(web.pages[page].planned):
        return web.pages[page].planned
    gather(web, page, row)
    value = _novelty(web, page) + _scouting(web, page)
    for place in range(N_EVIDENCE):
        value += weights[place] * row[place]
    return value


@kernel(allocates=False)
def _revalue(web: Web, weights: Floats, page: int, row: Row) -> None:
    """Compute the value of a page of the fringe anew; leaves the evidence in `row`."""
    value = _value(web, weights, page, row)
    if value != web.pages[page].value:
        withdraw(web, page)
        offer(web, page, value)


@kernel(allocates=False)
def best(web: Web, weights: Floats, row: Row) -> int:
    """The best page of the fringe, its evidence in `row`; -1: the fringe is empty."""
    page = -1
    for _ in range(_TRIES):
        if heap_size(web.host_heap) == 0:
            return -1
        page = web.hosts[first_page(web.host_heap)].root
        before = web.pages[page].value
        _revalue(web, weights, page, row)
        if web.pages[page].value >= before or web.hosts[first_page(web.host_heap)].root == page:
            break
    else:
        page = web.hosts[first_page(web.host_heap)].root
        gather(web, page, row)
    return page


@kernel(allocates=False)
def value_all(web: Web, weights: Floats, row: Row) -> None:
    """Compute the values of the whole fringe anew."""
    for host in range(len(web.hosts)):
        web.hosts[host].root = -1
    for page in range(len(web.pages)):
        if web.pages[page].where == FRINGE:
            web.pages[page].child = web.pages[page].sibling = web.pages[page].before = -1
            web.pages[page].value = _value(web, weights, page, row)
            host = web.pages[page].host
            web.hosts[host].root = meld(web.pages, web.hosts[host].root, page)
    for host in range(len(web.hosts)):
        _place_host(web, host)


@kernel(allocates=False)
def value_some(web: Web, weights: Floats, row: Row, first: int, count: int) -> int:
    """Compute the values of the next `count` pages after an id anew; gives the last id."""
    page = first
    for _ in range(min(count, len(web.pages))):
        page = page + 1 if page + 1 < len(web.pages) else 0
        if web.pages[page].where == FRINGE:
            _revalue(web, weights, page, row)
    return page


@kernel(allocates=False)
def value_new(web: Web, weights: Floats, row: Row, pages: Ints) -> None:
    """Compute the values of pages of the fringe that have none yet."""
    for page in pages:
        if web.pages[page].where == FRINGE and web.pages[page].value == -math.inf:
            _revalue(web, weights, page, row)


@kernel(allocates=False)
def value_targets(web: Web, weights: Floats, row: Row, source: int, first: int, end: int) -> None:
    """Value the pages that these links of a page lead to, if it promises more than others."""
    page = web.pages[source]
    promise = max(page.relevance, page.hub_sum / (page.hub_count + 3))
    good = promise > max(0.01, _mean(web))
    for place in range(first, end):
        target = web.links[place].target
        if web.pages[target].where == FRINGE and (good or web.pages[target].value == -math.inf):
            _revalue(web, weights, target, row)
    if page.relevance > max(0.01, _mean(web)):
        _value_neighbours(web, weights, source, row)


@kernel(allocates=False)
def _value_neighbours(web: Web, weights: Floats, page: int, row: Row) -> None:
    """Value the neighbours of a page in the lists of links that it stands in."""
    link, seen = web.pages[page].last_link, 0
    while link >= 0 and seen < _MOST_LISTS:
        source = web.links[link].source
        for other in range(max(link - _RISE, 0), min(link + _RISE + 1, len(web.links))):
            target = web.links[other].target
            if web.links[other].source == source and web.pages[target].where == FRINGE:
                _revalue(web, weights, target, row)
        link = web.links[link].earlier
        seen += 1
