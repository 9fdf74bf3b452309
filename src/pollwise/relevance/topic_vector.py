"""The topic vector: the topic's own terms, and those of the best pages so far.

One round of pseudo-relevance feedback in the manner of Rocchio (1971): the pages nearest to the
own terms are taken for relevant, and the terms that they share join the vector. What keeps it on
the topic: the own terms hold a fixed share of the vector; each round starts from the own terms,
not from the vector before; one host contributes only a few pages; a term joins only if pages of
several hosts have it, where there are several, and only if it tells these pages from others of the
same hosts.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from pollwise.relevance.parsed_text import term_hashes
from pollwise.relevance.topic import Topic

__all__ = ["BestPages", "LikelyPage", "feedback", "foreign_terms", "own_vector", "tf_idf", "unit"]

_PAGES = 40
_PAGES_PER_HOST = 5
_TERMS_OF_PAGE = 400
_FEEDBACK_TERMS = 40
_HOSTS = 3
_OWN_SHARE = 0.5
_LEAST_ODDS_RATIO = 3.0
_ELSEWHERE = ""
_EXAMPLE_TERMS = 100
# A term is of a language if the share of its pages that have it is at least so much of another's.
_LEAST_SHARE = 0.5

Floats = NDArray[np.float64]
Hashes = NDArray[np.uint32]
Inverse = Callable[[Hashes], Floats]
"""From term hashes to inverse document frequencies."""


@dataclass(frozen=True, slots=True)
class LikelyPage:
    """A page near the own terms of the topic: its host, term counts, and how near it is."""

    host: str
    counts: Mapping[str, float]
    nearness: float


class BestPages:
    """The pages nearest to the topic, few of each host."""

    def __init__(self) -> None:
        self.pages: list[LikelyPage] = []

    def offer(self, host: str, terms: Sequence[str], counts: Floats, nearness: float) -> None:
        """Take the page in if it is near enough."""
        if nearness <= 0:
            return
        siblings = [page for page in self.pages if page.host == host]
        rivals = siblings if len(siblings) >= _PAGES_PER_HOST else self.pages
        if rivals is siblings or len(rivals) >= _PAGES:
            farthest = min(rivals, key=lambda page: page.nearness)
            if farthest.nearness >= nearness:
                return
            self.pages.remove(farthest)
        order = np.argsort(-counts, kind="stable")[:_TERMS_OF_PAGE]
        kept = {terms[i]: float(counts[i]) for i in order if counts[i] > 0}
        self.pages.append(LikelyPage(host, kept, nearness))


def own_vector(topic: Topic, inverse: Inverse, foreign: Collection[str] = ()) -> dict[str, float]:
    """The topic's own terms: its words, what its examples have most of, or half and half.

    Without the `foreign` ones, unless all are.
    """
    words = tf_idf(dict.fromkeys(topic.words, 1), inverse)
    centre: dict[str, float] = {}
    for counts in topic.examples:
        for term, weight in tf_idf(counts, inverse).items():
            centre[term] = centre.get(term, 0.0) + weight
    most = sorted(centre, key=lambda term: (-centre[term], term))[:_EXAMPLE_TERMS]
    examples = unit({term: centre[term] for term in most})
    own = {t: words.get(t, 0.0) + examples.get(t, 0.0) for t in [*words, *examples]}
    return unit({term: own[term] for term in own if term not in foreign} or own)


def foreign_terms(
    topic: Topic, samples: Mapping[str, Sequence[Hashes]], guess: float
) -> dict[str, list[str]]:
    """By language, the topic's own terms that pages of another one have much more often.

    `samples` are the hashes of the terms of pages, by language; that no page has a term counts
    as much as so many pages (`guess`).
    """
    terms = [*dict.fromkeys(chain(topic.words, *topic.examples))]
    if not terms:
        return {language: [] for language in samples}
    hashes = term_hashes(terms)
    order = np.argsort(hashes)
    shares = {
        language: _frequencies(hashes, order, pages) / (len(pages) + guess)
        for language, pages in samples.items()
    }
    least = _LEAST_SHARE * np.max([*shares.values()], axis=0)
    return {
        language: [terms[place] for place in np.flatnonzero(own < least)]
        for language, own in shares.items()
    }


def feedback(
    own: Mapping[str, float],
    pages: Sequence[LikelyPage],
    inverse: Inverse,
    background: Mapping[str, Sequence[Hashes]],
) -> dict[str, float]:
    """The topic vector of length 1: the `own` terms, and those by which the `pages` stand out.

    `background` are the hashes of the terms of other pages, by host.
    """
    centre: dict[str, float] = {}
    hosts: dict[str, set[str]] = {}
    for page in pages:
        for term, weight in tf_idf(page.counts, inverse).items():
            centre[term] = centre.get(term, 0.0) + weight
            hosts.setdefault(term, set()).add(page.host)
    needed = min(_HOSTS, len({page.host for page in pages}))
    shared = [term for term in centre if len(hosts[term]) >= needed and term not in own]
    ratios = _odds_ratios(shared, pages, background)
    telling = [t for t, ratio in zip(shared, ratios, strict=True) if ratio >= _LEAST_ODDS_RATIO]
    best = sorted(telling, key=lambda term: (-centre[term], term))[:_FEEDBACK_TERMS]
    learned = unit({term: centre[term] for term in best})
    if not own or not learned:
        return dict(own) or learned
    vector = {term: math.sqrt(_OWN_SHARE) * weight for term, weight in own.items()}
    return vector | {term: math.sqrt(1 - _OWN_SHARE) * w for term, w in learned.items()}


def _odds_ratios(
    terms: Sequence[str], pages: Sequence[LikelyPage], background: Mapping[str, Sequence[Hashes]]
) -> Floats:
    """How much likelier each term is in the `pages` than in the background of the same hosts.

    The odds ratio of Mantel and Haenszel ("Statistical aspects of the analysis of data from
    retrospective studies of disease", 1959), each host being a stratum: a word that all pages of
    a host have tells nothing, however rare it is elsewhere. The pages of hosts without a background
    are one stratum, with the background of all.
    """
    if not terms:
        return np.empty(0)
    hashes = term_hashes(terms)
    order = np.argsort(hashes)
    above, below = np.full(len(terms), 0.5), np.full(len(terms), 0.5)
    strata: dict[str, list[Hashes]] = {}
    for page in pages:
        host = page.host if page.host in background else _ELSEWHERE
        strata.setdefault(host, []).append(term_hashes(tuple(page.counts)))
    everywhere = [page for host in background.values() for page in host]
    for host, near in strata.items():
        others = everywhere if host == _ELSEWHERE else background[host]
        with_near = _frequencies(hashes, order, near)
        with_others = _frequencies(hashes, order, others)
        size = len(near) + len(others)
        above += with_near * (len(others) - with_others) / size
        below += (len(near) - with_near) * with_others / size
    ratios: Floats = above / below
    return ratios


def _frequencies(terms: Hashes, order: NDArray[np.intp], pages: Sequence[Hashes]) -> Floats:
    """In how many of the pages each term stands; `order` sorts the terms."""
    found = np.zeros(len(terms))
    for page in pages:
        places = np.searchsorted(terms, page, sorter=order)
        inside = order[np.minimum(places, len(terms) - 1)]
        found[inside[terms[inside] == page]] += 1
    return found


def tf_idf(counts: Mapping[str, float], inverse: Inverse) -> dict[str, float]:
    """The weights (1 + ln count) idf of terms, scaled to length 1."""
    idf = inverse(term_hashes(tuple(counts)))
    return unit(
        {term: (1 + math.log(n)) * w for (term, n), w in zip(counts.items(), idf, strict=True)}
    )


def unit(vector: Mapping[str, float]) -> dict[str, float]:
    """Scaled to length 1."""
    length = math.sqrt(sum(weight * weight for weight in vector.values()))
    return {term: weight / length for term, weight in vector.items()} if length > 0 else {}
