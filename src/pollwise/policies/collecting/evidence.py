"""What is known of a page before it is fetched, as numbers: compiled kernels.

Each number is evidence of one kind: the relevance of the pages that link to it, and how good they
are as hubs; fetched neighbours in their lists of links; the means of its directories, each shrunk
towards that of the directory around it; the words of its URL and of the anchors, by what the pages
brought that had them before, and by the pages that link with them; how much of these words is the
topic's, if it was told. The kinds follow S. Chakrabarti, M. van den Berg, B. Dom (Computer Networks
31, 1999) and F. Menczer, G. Pant, P. Srinivasan (ACM Transactions on Internet Technology 4, 2004).
The value of a page is the sum of the numbers, each by its weight
(`pollwise.policies.collecting.weights`).
"""

import math

import numpy as np
from numpy.typing import NDArray

from pollwise.kernel_cache import kernel
from pollwise.policies.collecting.known_web import (
    BIAS,
    BIAS_SLOPE,
    FETCHES,
    MARK,
    RELEVANCE,
    TEXTS,
    Web,
)

__all__ = [
    "ANCHOR_MATCH",
    "ANCHOR_WORDS",
    "ANY_MATCH",
    "BEST_LINK_WORD",
    "BEST_NEAR",
    "DIRECTORY",
    "HUB",
    "LINEAR",
    "LINKING",
    "LINKING_MEAN",
    "LINKING_SHARES",
    "LINK_WORDS",
    "MATCH",
    "NEAR",
    "NEAR_MATCH",
    "N_EVIDENCE",
    "URL_MATCH",
    "URL_WORDS",
    "correct",
    "gather",
    "learn",
    "link",
]

Row = NDArray[np.float32]

N_EVIDENCE = 21
(
    DIRECTORY,
    ABOVE,
    HOST,
    LINKING,
    LINKING_FEW,
    LINKING_MEAN,
    LINKING_SHARES,
    HUB,
    BEST_NEAR,
    NEAR,
    URL_WORDS,
    ANCHOR_WORDS,
    LINEAR,
    BEST_LINK_WORD,
    LINK_WORDS,
    ANY_MATCH,
    MATCH,
    URL_MATCH,
    ANCHOR_MATCH,
    NEAR_MATCH,
    LEADING_MATCH,
) = range(N_EVIDENCE)
"""The kinds of evidence, by their places in a row."""

_MOST_LINKS = 48
"""Links to a page that are looked at, the latest first."""
_REACH = 3
"""Neighbours in a list of links that are looked at, on either side."""
_SHRINK = 2.0
_FEW, _MANY, _WORDS_FEW = 1.0, 10.0, 3.0
"""Links without relevance that are added to those of a page, or of a word."""
_LINKS = 10.0
"""The links of a page that all tell as much as it does."""
_LEARNING_RATE = 0.3
_RELEVANT_WEIGHT = 2.0


@kernel(forceinline=True, allocates=False)
def _words_of(web: Web, page: int) -> tuple[int, int]:
    """Put the words of a page into `web.found`; gives how many the URL has, and how many in all."""
    found = web.found
    web.totals[MARK] += 1
    mark = np.int64(web.totals[MARK])
    count = 0
    first, end = web.pages[page].first_word, web.pages[page].end_word
    for at in range(first, min(end, first + len(found))):
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


@kernel(forceinline=True, allocates=False)
def _of_directories(web: Web, page: int, mean: float, row: Row) -> None:
    chain = web.chain
    directory, length = web.pages[page].directory, 0
    while directory >= 0 and length < len(chain):
        chain[length] = directory
        directory = web.directories[directory].parent
        length += 1
    own = around = of_host = mean
    for level in range(length - 1, -1, -1):
        tally = web.directories[chain[level]]
        around = own
        own = (tally.sum + _SHRINK * own) / (tally.count + _SHRINK)
        if level == length - 2:
            of_host = own
    row[DIRECTORY], row[ABOVE], row[HOST] = own, around, of_host


@kernel(forceinline=True, allocates=False)
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


@kernel(forceinline=True, allocates=False)
def _of_links(web: Web, page: int, mean: float, row: Row) -> None:
    n_in, total = web.pages[page].n_in, web.pages[page].in_sum
    row[LINKING] = total / (n_in + _MANY)
    row[LINKING_FEW] = total / (n_in + _FEW)
    row[LINKING_MEAN] = total / n_in if n_in > 0 else mean
    best_hub = best_near = -1.0
    nears = shares = 0.0
    seen = 0
    link = web.pages[page].last_link
    while link >= 0 and seen < _MOST_LINKS:
        source = web.pages[web.links[link].source]
        hub = (source.hub_sum + 2 * mean + source.relevance) / (source.hub_count + 3)
        best_hub = max(best_hub, hub)
        near = _of_neighbours(web, link, hub)
        best_near = max(best_near, near)
        nears += near
        shares += source.relevance / source.n_out
        link = web.links[link].earlier
        seen += 1
    if seen == 0:
        best_hub = best_near = nears = mean
    row[HUB], row[BEST_NEAR], row[NEAR] = best_hub, best_near, nears / max(seen, 1)
    row[LINKING_SHARES] = min(_LINKS * shares, 1.0)


@kernel(forceinline=True, allocates=False)
def _of_words(web: Web, page: int, mean: float, row: Row) -> None:
    of_url, count = _words_of(web, page)
    linear = best_link = of_links = 0.0
    rarities = 1.0
    of_url_words = of_anchor_words = 20 * mean
    url_weight = anchor_weight = 20.0
    for at in range(count):
        word = web.words[web.found[at]]
        linear += word.weight
        if word.plain and word.link_count > 0:
            linking = (word.link_sum + _WORDS_FEW * mean) / (word.link_count + _WORDS_FEW)
            best_link = max(best_link, linking)
            rarity = math.log((web.totals[TEXTS] + 1.0) / (word.texts + 0.5))
            of_links += rarity * linking
            rarities += rarity
        if word.count > 0:
            estimate = (word.sum + mean) / (word.count + 1)
            spread = estimate * (1 - min(estimate, 0.9)) + 0.01
            trust = word.count / (word.count + 1) / spread
            if at < of_url:
                of_url_words += trust * estimate
                url_weight += trust
            else:
                of_anchor_words += trust * estimate
                anchor_weight += trust
    row[BEST_LINK_WORD], row[LINK_WORDS] = best_link, of_links / rarities
    row[URL_WORDS], row[ANCHOR_WORDS] = of_url_words / url_weight, of_anchor_words / anchor_weight
    row[LINEAR] = 1 / (1 + math.exp(-web.totals[BIAS] - linear / math.sqrt(max(count, 1))))


@kernel(forceinline=True, allocates=False)
def _match_beside(web: Web, link: int) -> float:
    """The mean match of the anchors beside one in its list of links."""
    source = web.links[link].source
    match = weight = 0.0
    for distance in range(1, _REACH + 1):
        for other in (link - distance, link + distance):
            if other >= 0 and other < len(web.links) and web.links[other].source == source:
                match += web.anchors[web.links[other].anchor].match / distance
                weight += 1.0 / distance
    return match / weight if weight > 0 else 0.0


@kernel(forceinline=True, allocates=False)
def _of_topic(web: Web, page: int, row: Row) -> None:
    """How much the texts that lead to a page, and those near them, are about the topic.

    Near a link are the anchors beside it in the list of links and the text around it: the one that
    tells more counts.
    """
    best = total = best_near = best_around = sources = 0.0
    seen = 0
    link = web.pages[page].last_link
    while link >= 0 and seen < _MOST_LINKS:
        match = web.anchors[web.links[link].anchor].match
        best = max(best, match)
        total += match
        best_near = max(best_near, _match_beside(web, link))
        around = web.links[link].around
        if around >= 0:
            best_around = max(best_around, web.surroundings[around].match)
        sources += web.pages[web.links[link].source].led_match
        link = web.links[link].earlier
        seen += 1
    count = max(seen, 1)
    of_url = web.pages[page].match
    row[MATCH] = min(0.5 * of_url + 0.25 * (best + total / count) + best_around, 1.0)
    row[ANY_MATCH] = row[MATCH] > 0
    row[URL_MATCH], row[ANCHOR_MATCH] = of_url, best
    row[NEAR_MATCH], row[LEADING_MATCH] = max(best_near, best_around), sources / count


@kernel(allocates=False)
def gather(web: Web, page: int, row: Row) -> None:
    """Put all that is known of a page into a row of N_EVIDENCE numbers."""
    mean = (web.totals[RELEVANCE] + 0.02) / (web.totals[FETCHES] + 1)
    _of_directories(web, page, mean, row)
    _of_links(web, page, mean, row)
    _of_words(web, page, mean, row)
    _of_topic(web, page, row)


@kernel(allocates=False)
def learn(web: Web, page: int, row: Row, relevance: float) -> None:
    """Enter the relevance of a page that was fetched for the first time, and what led to it.

    The linear model of words is a logistic regression on the root of the relevance, fitted by
    AdaGrad (J. Duchi, E. Hazan, Y. Singer, Journal of Machine Learning Research 12, 2011).
    """
    web.pages[page].led_match = row[MATCH]
    web.pages[page].learned = True
    web.totals[FETCHES] += 1
    _, count = _words_of(web, page)
    scale = 1 / math.sqrt(max(count, 1))
    linear = web.totals[BIAS]
    for at in range(count):
        linear += scale * web.words[web.found[at]].weight
    slope = 1 / (1 + math.exp(-linear)) - math.sqrt(relevance)
    if relevance > 0:
        slope *= _RELEVANT_WEIGHT
    web.totals[BIAS_SLOPE] += slope * slope
    web.totals[BIAS] -= 0.5 * slope / math.sqrt(1 + web.totals[BIAS_SLOPE])
    for at in range(count):
        word = web.found[at]
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


@kernel(allocates=False)
def correct(web: Web, page: int, relevance: float) -> None:
    """Correct the relevance of a page that was learned.

    What its links tell is corrected too, but for those that it did not have at first.
    """
    more = relevance - web.pages[page].relevance
    web.pages[page].relevance = relevance
    web.totals[RELEVANCE] += more
    _, count = _words_of(web, page)
    for at in range(count):
        web.words[web.found[at]].sum += more
    directory = web.pages[page].directory
    while directory >= 0:
        web.directories[directory].sum += more
        directory = web.directories[directory].parent
    link = web.pages[page].last_link
    while link >= 0:
        web.pages[web.links[link].source].hub_sum += more
        link = web.links[link].earlier
    _linking(web, page, web.pages[page].first_link, web.pages[page].end_link, 0, more)


@kernel(forceinline=True, allocates=False)
def _linking(web: Web, source: int, first: int, end: int, count: int, more: float) -> None:
    """Let each page and each word that these links of a page lead to, or have, count so many more
    links (0 or 1), and as much more relevance. A word counts once, however many links have it.
    """
    web.totals[MARK] += 1
    mark = np.int64(web.totals[MARK])
    for place in range(first, end):
        web.pages[web.links[place].target].n_in += count
        web.pages[web.links[place].target].in_sum += more
        anchor = web.links[place].anchor
        for at in range(web.anchors[anchor].first_word, web.anchors[anchor].end_word):
            word = web.anchor_words[at]
            if web.words[word].mark != mark:
                web.words[word].mark = mark
                web.words[word].link_count += count
                web.words[word].link_sum += more


@kernel(allocates=False)
def link(web: Web, source: int, first: int, end: int) -> None:
    """Take in the links in these places of the table, all of one fetched page."""
    relevance = web.pages[source].relevance
    web.pages[source].n_out += end - first
    for place in range(first, end):
        target = web.links[place].target
        if web.pages[target].n_in == 0 and target != source and not web.pages[target].learned:
            web.pages[target].discoverer = source
        web.links[place].earlier = web.pages[target].last_link
        web.pages[target].last_link = place
        if web.pages[target].learned:
            web.pages[source].hub_sum += web.pages[target].relevance
            web.pages[source].hub_count += 1
    _linking(web, source, first, end, 1, relevance)
