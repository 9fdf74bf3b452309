"""What the pages of one language tell of a topic: the weights of terms, topic vector, floor, scale.

A *profile* is what information filtering compares documents with (N. J. Belkin, W. B. Croft,
Information filtering and information retrieval: two sides of the same coin?, Communications of the
ACM 35(12), 1992). Each language has one of its own. For function words would else tell pages in
the topic's language from all others better than the topic does; and of a topic that is told in
several languages a page in one of them has only a part of the words, so that the language with
the most pages would win.
"""

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pollwise.relevance.boilerplate import Boilerplate
from pollwise.relevance.calibration import calibrated
from pollwise.relevance.page_sample import floor, matched_weight
from pollwise.relevance.parsed_text import term_hashes
from pollwise.relevance.topic import Topic
from pollwise.relevance.topic_vector import BestPages, LikelyPage, feedback, own_vector, tf_idf
from pollwise.types import StateDict

__all__ = ["GUESS_PAGES", "Likeness", "Profile"]

_BUCKETS = 2**20
_FIRST_VECTOR = 16
GUESS_PAGES = 20
"""What is guessed at first, such as floor and top, counts as much as this many pages."""
_GUESSED_FLOOR = 0.05
_GUESSED_TOP = 0.4
# The relevance of 1 is the cosine of the page of this rank, and at least the lowest top.
_TOP_RANK = 10
_LOWEST_TOP = 0.2
# Below this cosine no page is relevant, even where no page is about the topic.
_LOWEST_FLOOR = 0.05

Floats = NDArray[np.float64]
Hashes = NDArray[np.uint32]
Mask = NDArray[np.bool_]


_DAMPED: Floats = np.concatenate([[0.0], 1 + np.log(np.arange(1.0, 256.0))])
"""`_damped` of the counts that most terms have."""


@dataclass(frozen=True, slots=True)
class Likeness:
    """What makes a page near to a topic.

    `nearness` is the cosine of its terms and the topic vector; it is relevant where that is above
    `floor`. `shares` says which part of it each term brings, all together 1.
    """

    nearness: float
    floor: float
    shares: Mapping[str, float]


class Profile:
    """The topic as pages of one language show it; `boilerplate` is what hosts are known to repeat.

    `pages` were counted. Of each array that it takes, an entry is for a term of a page: its hash,
    its count outside of the frame of the host, its weight.
    """

    def __init__(self, topic: Topic, boilerplate: Boilerplate) -> None:
        self._topic = topic
        self._boilerplate = boilerplate
        self.pages = 0
        self._next_vector = _FIRST_VECTOR
        self._matched = 0.0
        # Document frequencies by the low bits of the term's hash: bounded, collisions are rare.
        self._frequencies = np.zeros(_BUCKETS, np.float32)
        self._weighed_pages = 0.0
        self._best = BestPages()
        self._foreign: frozenset[str] = frozenset()
        self._floor, self._top = _GUESSED_FLOOR, _GUESSED_TOP
        self._set_vectors({})

    @property
    def is_due(self) -> bool:
        """Whether its pages have doubled since it was made anew."""
        return self.pages >= self._next_vector

    @property
    def topic_vector(self) -> Mapping[str, float]:
        """The weights of the terms of the topic vector."""
        return self._vector

    def specific(self, host: str, hashes: Hashes, counts: Floats) -> Floats:
        """The counts without terms that the host has nearly everywhere.

        But a whole host may be about the topic. So of the topic's own terms only one use is put
        down to the frame (as in "Tides - Journal of Marine Biology"), and further uses count.
        """
        common = np.flatnonzero(self._boilerplate.common(host, hashes))
        if not len(common):
            return counts
        own = self._dense_own[_bucket(hashes[common])] > 0
        specific = counts.copy()
        specific[common] = np.where(own, np.maximum(counts[common] - 1, 0), 0)
        return specific

    def weights(self, hashes: Hashes, counts: Floats) -> Floats:
        """The weights (1 + ln count) idf of terms."""
        return _damped(counts) * self._inverse(hashes)

    def relevance(self, hashes: Hashes, weights: Floats) -> float:
        """That of a page, from 0 to 1, by its nearness to the topic vector."""
        return calibrated(self.height(hashes, weights))

    def height(self, hashes: Hashes, weights: Floats) -> float:
        """The place of the cosine of a page and the topic between floor (0) and top (1)."""
        cosine = _cosine(weights, _of(self._dense, hashes))
        return (cosine - self._floor) / (self._top - self._floor)

    def likeness(self, hashes: Hashes, weights: Floats) -> Likeness:
        """What makes a page near to the topic."""
        of_page = dict(zip(hashes.tolist(), weights.tolist(), strict=True))
        of_topic = zip(self._vector.items(), term_hashes(tuple(self._vector)).tolist(), strict=True)
        parts = {term: weight * of_page.get(key, 0.0) for (term, weight), key in of_topic}
        total = sum(parts.values())
        shares = {term: part / total for term, part in parts.items() if part > 0}
        nearness = total / math.hypot(*weights) if total > 0 else 0.0
        return Likeness(nearness, self._floor, shares)

    def own_nearness(self, hashes: Hashes, weights: Floats) -> float:
        """How near a page is to the topic's own terms."""
        return _cosine(weights, _of(self._dense_own, hashes))

    def count(self, hashes: Hashes, relevance: float) -> None:
        """Learn how frequent the terms of a page are."""
        self.pages += 1
        self._matched += relevance
        weight = 1 - relevance * (1 - matched_weight(self._matched, self.pages))
        self._weighed_pages += weight
        self._frequencies[_bucket(hashes)] += np.float32(weight)

    def offer(self, host: str, terms: Sequence[str], counts: Floats, nearness: float) -> None:
        """Learn from the terms of a page if it is among the nearest ones."""
        self._best.offer(host, terms, counts, nearness)

    def renew(self, sample: Sequence[tuple[str, Hashes, Floats]], foreign: Collection[str]) -> None:
        """A new topic vector, floor and scale.

        `sample`: hosts, hashes and counts of pages; `foreign`: the topic's own terms that are of
        other languages.
        """
        self._next_vector = 2 * max(self.pages, _FIRST_VECTOR)
        self._foreign = frozenset(foreign)
        own = self._own_vector()
        now = [self._as_of_now(page) for page in self._best.pages]
        near = [page for page in now if page.nearness > _LOWEST_FLOOR]
        # Held meanwhile, 12 bytes a term: to weigh it takes most of the time of a page.
        weighed = [
            (host, hashes, self.weights(hashes, self.specific(host, hashes, counts)))
            for host, hashes, counts in sample
        ]
        self._set_vectors(feedback(own, near, self._inverse, self._background(weighed)))
        self._best.pages = [
            replace(page, nearness=new.nearness)
            for page, new in zip(self._best.pages, now, strict=True)
            if new.nearness > 0
        ]
        cosines = np.array([_cosine(w, _of(self._dense, hashes)) for _, hashes, w in weighed])
        known = len(cosines) / (len(cosines) + GUESS_PAGES)
        best = sorted([*cosines.tolist(), *map(self._cosine_of_best, near)])
        high = best[-_TOP_RANK:][0] if best else 0.0
        top = max(known * high + (1 - known) * _GUESSED_TOP, _LOWEST_TOP)
        # What lies above the top says nothing of the gap.
        gap = floor(np.minimum(cosines, top))
        self._floor = max(known * gap + (1 - known) * _GUESSED_FLOOR, _LOWEST_FLOOR)
        self._top = max(top, 2 * self._floor)

    def state_dict(self) -> StateDict:
        """All that was learned, as flat arrays by name."""
        there = np.flatnonzero(self._frequencies)
        numbers = [self.pages, self._matched, self._weighed_pages, self._floor, self._top]
        numbers.append(self._next_vector)
        best = [[page.host, dict(page.counts), page.nearness] for page in self._best.pages]
        words = json.dumps([self._vector, best, sorted(self._foreign)]).encode()
        return {
            "numbers": np.array(numbers, np.float64),
            "buckets": there.astype(np.uint32),
            "frequencies": self._frequencies[there],
            "words": np.frombuffer(words, np.uint8),
        }

    def load_state_dict(self, state: Mapping[str, NDArray[np.generic]]) -> None:
        """Put back what `state_dict` gave."""
        numbers = state["numbers"].astype(np.float64).tolist()
        pages, self._matched, self._weighed_pages, self._floor, self._top, due_at = numbers
        self.pages, self._next_vector = int(pages), int(due_at)
        vector, best, foreign = json.loads(state["words"].tobytes())
        self._foreign = frozenset(foreign)
        self._best.pages = [LikelyPage(*row) for row in best]
        self._frequencies[:] = 0
        self._frequencies[state["buckets"].astype(np.int64)] = state["frequencies"]
        self._set_vectors(vector)

    def _inverse(self, hashes: Hashes) -> Floats:
        """idf; a term not seen yet counts as if half a page had it."""
        frequencies = _of(self._frequencies, hashes).astype(np.float64)
        # More pages than there are: two terms in one bucket.
        frequencies = np.minimum(frequencies, self._weighed_pages)
        return np.log((self._weighed_pages + 2) / (frequencies + 0.5))

    def _own_vector(self) -> dict[str, float]:
        return own_vector(self._topic, self._inverse, self._foreign)

    def _background(self, sample: Sequence[tuple[str, Hashes, Floats]]) -> dict[str, list[Hashes]]:
        """The terms of pages without relevance, by host; `sample`: hosts, terms and weights."""
        found: dict[str, list[Hashes]] = {}
        for host, hashes, weights in sample:
            if self.height(hashes, weights) <= 0:
                found.setdefault(host, []).append(hashes)
        return found

    def _as_of_now(self, page: LikelyPage) -> LikelyPage:
        """A page by what is known now of its host and of the terms."""
        hashes = term_hashes(tuple(page.counts))
        counts = self.specific(page.host, hashes, np.array(list(page.counts.values())))
        kept = {term: n for term, n in zip(page.counts, counts.tolist(), strict=True) if n > 0}
        if self._topic.judge is not None:
            return LikelyPage(page.host, kept, page.nearness)
        return LikelyPage(page.host, kept, self.own_nearness(hashes, self.weights(hashes, counts)))

    def _cosine_of_best(self, page: LikelyPage) -> float:
        weights = tf_idf(page.counts, self._inverse)
        return sum(weight * self._vector.get(term, 0.0) for term, weight in weights.items())

    def _set_vectors(self, vector: Mapping[str, float]) -> None:
        """Take `vector` for the topic vector; if it is empty, the topic's own terms."""
        own = self._own_vector()
        self._vector = dict(vector or own)
        self._dense_own, self._dense = _dense(own), _dense(self._vector)


def _bucket(hashes: Hashes) -> Hashes:
    return hashes & np.uint32(_BUCKETS - 1)


def _of(buckets: NDArray[np.float32], hashes: Hashes) -> NDArray[np.float32]:
    """The values in the buckets of these terms."""
    return buckets.take(_bucket(hashes))  # an index would take three times as long


def _damped(counts: Floats) -> Floats:
    """1 + ln count, 0 for none; `counts` are whole numbers."""
    if counts.max(initial=0) < len(_DAMPED):
        return _DAMPED.take(counts.astype(np.intp))
    return np.where(counts > 0, 1 + np.log(np.maximum(counts, 1)), 0)


def _dense(vector: Mapping[str, float]) -> NDArray[np.float32]:
    dense = np.zeros(_BUCKETS, np.float32)
    np.add.at(dense, _bucket(term_hashes(tuple(vector))), list(vector.values()))
    return dense


def _cosine(weights: Floats, vector: NDArray[np.float32]) -> float:
    """Of a page's weights and the weights of its terms in a vector of length 1."""
    length = float(np.sqrt(weights @ weights))
    return float(weights @ vector) / length if length > 0 else 0.0
