"""What is known of a page before it is fetched, as numbers: compiled kernels.

Each number is evidence of one kind: the relevance of pages that link to it, and how good they are
as hubs; fetched neighbours in their lists of links; the means of its directories, each shrunk
towards that of the directory around it; the words of its URL and of the anchors, one by one and in
a linear model; how much of these words is the topic's, if it was told. The kinds follow
S. Chakrabarti, M. van den Berg, B. Dom (Computer Networks 31, 1999) and F. Menczer, G. Pant,
P. Srinivasan (ACM Transactions on Internet Technology 4, 2004).
"""

import math

import numpy as np
from numpy.typing import NDArray

from pollwise.kernel_cache import kernel
from pollwise.policies.collecting.known_web import (
    AIM_HITS,
    AIM_SIZE,
    AIMED,
    BIAS,
    BIAS_SLOPE,
    FETCHES,
    MARK,
    RELEVANCE,
    Web,
)

__all__ = [
    "N_EVIDENCE",
    "N_UNAIMED",
    "aim_worth",
    "correct",
    "gather",
    "guess",
    "learn",
    "learn_aim",
    "link",
    "matched",
]

Row = NDArray[np.float32]
Ints = NDArray[np.int64]

N_EVIDENCE = 37
N_UNAIMED = 30
"""The numbers that say something without a topic."""
_AIM_GUESSED, _AIM_WEIGHT = 0.3, 3.0
"""The relevance that a full match tells of at first, and how many full matches this counts for."""
_MOST_LINKS = 48
"""Links to a page that are looked at, the latest first."""
_MOST_WORDS = 200
_MOST_DIRECTORIES = 20
_REACH = 3
"""Neighbours in a list of links that are looked at, on either side."""
_SHRINK = 2.0
_LEARNING_RATE = 0.3
_RELEVANT_WEIGHT = 2.0


@kernel
def _words_of(web: Web, page: int, found: Ints) -> tuple[int, int]:
    """Put the words of a page into `found`; gives how many the URL has, and how many in all."""
    web.totals[MARK] += 1
    mark = np.int64(web.totals[MARK])
    count = 0
    for at in range(web.pages[page].first_word, web.pages[page].end_word):
        word = web.page_words[at]
        web.words[word].mark = mark
        found[count] = word
        count += 1
    of_url = count
    link, seen, last = web.pages[page].last_link, 0, -1
    while link >= 0 and seen < _MOST_LINKS:
        anchor = web.links[link].anchor
        if anchor != last:
            last = anchor
            for at in range(web.anchors[anchor].first_word, web.anchors[anchor].end_word):
                word = web.anchor_words[at]
                if web.words[word].mark != mark and count < len(found):
                    web.words[word].mark = mark
                    found[count] = word
                    count += 1
        link = web.links[link].earlier
        seen += 1
    return of_url, count


@kernel
def _of_directories(web: Web, page: int, mean: float, row: Row) -> None:
    chain = np.empty(_MOST_DIRECTORIES, np.int64)
    directory, length = web.pages[page].directory, 0
    while directory >= 0 and length < _MOST_DIRECTORIES:
        chain[length] = directory
        directory = web.directories[directory].parent
        length += 1
    own = around = beyond = of_host = mean
    for level in range(length - 1, -1, -1):
        tally = web.directories[chain[level]]
        beyond, around = around, own
        own = (tally.sum + _SHRINK * own) / (tally.count + _SHRINK)
        if level == length - 2:
            of_host = own
    row[0], row[1], row[2], row[3] = own, around, beyond, of_host
    row[4] = web.directories[chain[0]].count
    row[5] = web.directories[chain[min(1, length - 1)]].count
    row[6] = web.directories[chain[max(length - 2, 0)]].count


@kernel
def _of_neighbours(web: Web, link: int, hub: float) -> float:
    """The mean relevance of the fetched neighbours of a link, shrunk towards that of the hub."""
    source = web.links[link].source
    total, weight = hub, 1.0
    for distance in range(1, _REACH + 1):
        for other in (link - distance, link + distance):
            if other < 0 or other >= len(web.links) or web.links[other].source != source:
                continue
            page = web.pages[web.links[other].target]
            if page.learned:
                total += 2.0 / distance * page.relevance
                weight += 2.0 / distance
    return total / weight


@kernel
def _of_links(web: Web, page: int, mean: float, row: Row) -> None:
    n_in = web.pages[page].n_in
    row[7] = web.pages[page].in_most
    row[8] = web.pages[page].in_sum / n_in if n_in > 0 else mean
    row[9] = n_in
    best_hub = best_near = -1.0
    hubs = nears = shares = contexts = best_context = 0.0
    best_count, least_out, seen = 0, 2**31, 0
    link = web.pages[page].last_link
    while link >= 0 and seen < _MOST_LINKS:
        source = web.pages[web.links[link].source]
        hub = (source.hub_sum + 2 * mean + source.relevance) / (source.hub_count + 3)
        if hub > best_hub:
            best_hub, best_count = hub, source.hub_count
        near = _of_neighbours(web, link, hub)
        best_near = max(best_near, near)
        hubs += hub
        nears += near
        shares += source.relevance / source.n_out
        contexts += source.context
        best_context = max(best_context, source.context)
        least_out = min(least_out, source.n_out)
        link = web.links[link].earlier
        seen += 1
    if seen == 0:
        best_hub = best_near = hubs = nears = mean
    count = max(seen, 1)
    row[10], row[11], row[12] = best_hub, hubs / count, best_count
    row[13], row[14] = best_near, nears / count
    row[15], row[16] = contexts / count, best_context
    row[17], row[18] = shares, least_out


@kernel
def _of_words(web: Web, page: int, mean: float, row: Row) -> None:
    found = np.empty(_MOST_WORDS, np.int64)
    of_url, count = _words_of(web, page, found)
    linear = 0.0
    most = np.zeros(2)
    total, weight = np.full(2, 20 * mean), np.full(2, 20.0)
    for at in range(count):
        word = web.words[found[at]]
        linear += word.weight
        if word.count > 0:
            kind = 0 if at < of_url else 1
            estimate = (word.sum + mean) / (word.count + 1)
            spread = estimate * (1 - min(estimate, 0.9)) + 0.01
            trust = word.count / (word.count + 1) / spread
            most[kind] = max(most[kind], estimate)
            total[kind] += trust * estimate
            weight[kind] += trust
    row[19] = web.totals[BIAS] + linear / math.sqrt(max(count, 1))
    for kind in range(2):
        row[20 + kind] = most[kind] if most[kind] > 0 else mean
        row[22 + kind] = total[kind] / weight[kind]


@kernel
def gather(web: Web, page: int, row: Row) -> None:
    """Put all that is known of a page into a row of N_EVIDENCE numbers."""
    mean = (web.totals[RELEVANCE] + 0.02) / (web.totals[FETCHES] + 1)
    _of_directories(web, page, mean, row)
    _of_links(web, page, mean, row)
    _of_words(web, page, mean, row)
    row[24] = web.pages[page].depth
    row[25] = web.pages[page].n_directories
    discoverer = web.pages[page].discoverer
    row[26:29] = 0
    if discoverer >= 0:
        row[26] = web.pages[discoverer].relevance
        row[27] = web.pages[discoverer].value
        row[28] = web.pages[discoverer].context
    row[29] = web.totals[FETCHES] - web.pages[page].discovered_at
    _of_topic(web, page, row)


@kernel
def _of_topic(web: Web, page: int, row: Row) -> None:
    """How much the texts that lead to a page, and those near them, are about the topic.

    Near a link are the anchors beside it in the list of links and the text around it: the one that
    tells more counts.
    """
    best = total = nears = best_near = best_around = sources = 0.0
    seen = 0
    link = web.pages[page].last_link
    while link >= 0 and seen < _MOST_LINKS:
        match = web.anchors[web.links[link].anchor].match
        best = max(best, match)
        total += match
        source = web.links[link].source
        near = weight = 0.0
        for distance in range(1, _REACH + 1):
            for other in (link - distance, link + distance):
                if other >= 0 and other < len(web.links) and web.links[other].source == source:
                    near += web.anchors[web.links[other].anchor].match / distance
                    weight += 1.0 / distance
        if weight > 0:
            near /= weight
        around = web.links[link].around
        if around >= 0:
            near = max(near, web.surroundings[around].match)
            best_around = max(best_around, web.surroundings[around].match)
        nears += near
        best_near = max(best_near, near)
        sources += web.pages[source].aimed
        link = web.links[link].earlier
        seen += 1
    count = max(seen, 1)
    row[30], row[31], row[32] = web.pages[page].match, best, total / count
    row[33], row[34], row[35] = nears / count, best_near, sources / count
    row[36] = best_around


@kernel
def matched(row: Row) -> float:
    """How much a page is about the topic by what leads to it, from 0 to 1."""
    return min(0.5 * row[30] + 0.25 * (row[31] + row[32]) + row[36], 1.0)


@kernel
def aim_worth(web: Web) -> float:
    """The relevance that a full match tells of, by the pages fetched so far; 0 without a topic."""
    if not web.totals[AIMED]:
        return 0.0
    hits = web.totals[AIM_HITS] + _AIM_WEIGHT * _AIM_GUESSED
    return hits / (web.totals[AIM_SIZE] + _AIM_WEIGHT)


@kernel
def learn_aim(web: Web, page: int, row: Row) -> None:
    """Learn what a match tells, from a page that was fetched for the first time."""
    match = matched(row)
    web.pages[page].aimed = match
    web.totals[AIM_HITS] += match * web.pages[page].relevance
    web.totals[AIM_SIZE] += match * match


@kernel
def guess(row: Row, worth: float) -> float:
    """The value of a page while it was not learned yet how much each kind of evidence says."""
    linear = 1 / (1 + math.exp(-row[19]))
    hubs = 0.1 * row[10] + 0.2 * row[13] + 0.15 * row[14]
    learned = 0.25 * row[0] + hubs + 0.1 * row[8] + 0.1 * (row[22] + row[23] + linear)
    return learned + worth * matched(row)


@kernel
def learn(web: Web, page: int, relevance: float) -> None:
    """Enter the relevance of a page that was fetched for the first time.

    The linear model of words is a logistic regression on the root of the relevance, fitted by
    AdaGrad (J. Duchi, E. Hazan, Y. Singer, Journal of Machine Learning Research 12, 2011).
    """
    n_in = web.pages[page].n_in
    web.pages[page].context = web.pages[page].in_sum / n_in if n_in > 0 else 0.0
    web.pages[page].learned = True
    web.totals[FETCHES] += 1
    found = np.empty(_MOST_WORDS, np.int64)
    _, count = _words_of(web, page, found)
    scale = 1 / math.sqrt(max(count, 1))
    linear = web.totals[BIAS]
    for at in range(count):
        linear += scale * web.words[found[at]].weight
    slope = 1 / (1 + math.exp(-linear)) - math.sqrt(relevance)
    if relevance > 0:
        slope *= _RELEVANT_WEIGHT
    web.totals[BIAS_SLOPE] += slope * slope
    web.totals[BIAS] -= 0.5 * slope / math.sqrt(1 + web.totals[BIAS_SLOPE])
    for at in range(count):
        word = found[at]
        web.words[word].count += 1
        web.words[word].slope += (slope * scale) ** 2
        step = _LEARNING_RATE * slope * scale / math.sqrt(0.1 + web.words[word].slope)
        web.words[word].weight -= step
    directory = web.pages[page].directory
    while directory >= 0:
        web.directories[directory].count += 1
        directory = web.directories[directory].parent
    link = web.pages[page].last_link
    while link >= 0:
        web.pages[web.links[link].source].hub_count += 1
        link = web.links[link].earlier
    correct(web, page, relevance)


@kernel
def correct(web: Web, page: int, relevance: float) -> None:
    """Correct the relevance of a page that was learned; its links are not changed."""
    more = relevance - web.pages[page].relevance
    web.pages[page].relevance = relevance
    web.totals[RELEVANCE] += more
    found = np.empty(_MOST_WORDS, np.int64)
    _, count = _words_of(web, page, found)
    for at in range(count):
        web.words[found[at]].sum += more
    directory = web.pages[page].directory
    while directory >= 0:
        web.directories[directory].sum += more
        directory = web.directories[directory].parent
    link = web.pages[page].last_link
    while link >= 0:
        web.pages[web.links[link].source].hub_sum += more
        link = web.links[link].earlier


@kernel
def link(web: Web, source: int, first: int, end: int) -> None:
    """Take in the links in these places of the table, all of one fetched page."""
    relevance = web.pages[source].relevance
    web.pages[source].n_out += end - first
    for place in range(first, end):
        target = web.links[place].target
        if web.pages[target].n_in == 0 and target != source:
            web.pages[target].depth = web.pages[source].depth + 1
            web.pages[target].discovered_at = np.int64(web.totals[FETCHES])
            if not web.pages[target].learned:
                web.pages[target].discoverer = source
        web.links[place].earlier = web.pages[target].last_link
        web.pages[target].last_link = place
        web.pages[target].n_in += 1
        web.pages[target].in_sum += relevance
        web.pages[target].in_most = max(web.pages[target].in_most, relevance)
        if web.pages[target].learned:
            web.pages[source].hub_sum += web.pages[target].relevance
            web.pages[source].hub_count += 1
