"""How much a page is about a topic, learned while pages come in.

The vector-space model: a page is the vector of its terms, weighted (1 + ln count) idf, and its
nearness to the topic is the cosine between its vector and the topic's. Relevance is 0 up to the
floor, which lies in the gap between the cosines of the topic's pages and those of the others. Above
it, it is the probability that a page is about the topic.

A robot that looks for its topic sees more of it than its share of the web. Unchecked, this would
change idf and floor to the disadvantage of the very pages that the robot finds. So all relevant
pages together weigh at most a thirtieth of the others.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pollwise.errors import InputError, StateError
from pollwise.relevance.boilerplate import Boilerplate
from pollwise.relevance.calibration import calibrated
from pollwise.relevance.packing import pack_terms, unpack_terms
from pollwise.relevance.page_sample import PageSample, floor, matched_weight
from pollwise.relevance.parsed_text import ParsedText, term_hashes
from pollwise.relevance.topic import Topic
from pollwise.relevance.topic_vector import BestPages, LikelyPage, feedback, own_vector, tf_idf
from pollwise.types import StateDict

__all__ = ["TopicFilter"]

_BUCKETS = 2**20
_GROWTH = 1.25
_FIRST_VECTOR = 8
# Floor and top are guessed at first; the guess counts as much as this many pages.
_GUESS_PAGES = 20
_GUESSED_FLOOR = 0.05
_GUESSED_TOP = 0.4
# The relevance of 1 is the cosine of the page of this rank, and at least the lowest top.
_TOP_RANK = 10
_LOWEST_TOP = 0.2
# Below this cosine no page is relevant, even where no page is about the topic.
_LOWEST_FLOOR = 0.05

Floats = NDArray[np.float64]
Hashes = NDArray[np.uint32]


_DAMPED: Floats = np.concatenate([[0.0], 1 + np.log(np.arange(1.0, 256.0))])
"""`_damped` of the counts that most terms have."""


class TopicFilter:
    """Scores pages by a topic; `observe` learns from each new page, `score` does not.

    Topic vector, floor and scale are made anew, and `version` grows, each time a quarter more
    pages have come; `rescore` brings earlier scores up to date, from what `pack` gave. Where the
    topic has a judge, its judgement is the relevance, and the vector is made of the pages that it
    likes. Memory: about 20 MB, and up to 25 kB for each host.

    >>> from pollwise.relevance.parsed_text import parse_text
    >>> from pollwise.relevance.topic import topic
    >>> whales = TopicFilter(topic("whales"))
    >>> whales.observe("sea.org", parse_text(["Whales", "The whale sings to other whales."])) > 0.5
    True
    >>> whales.observe("sea.org", parse_text(["Ships", "The ship sails to other ports."]))
    0.0
    """

    def __init__(self, topic: Topic) -> None:
        self._topic = topic
        self._boilerplate = Boilerplate()
        self._pages = 0
        self._matched = 0.0
        # Document frequencies by the low bits of the term's hash: bounded, collisions are rare.
        self._frequencies = np.zeros(_BUCKETS, np.float32)
        self._weighed_pages = 0.0
        self._best = BestPages()
        self._sample = PageSample()
        self._next_vector = _FIRST_VECTOR
        self._floor, self._top = _GUESSED_FLOOR, _GUESSED_TOP
        self.version = 0
        self._set_vectors({})

    @property
    def topic_vector(self) -> dict[str, float]:
        """The weight of each term of the topic vector, which has length 1."""
        return dict(self._vector)

    @property
    def judged(self) -> bool:
        """Whether a callable judges the pages, so that nothing can be scored from packed terms."""
        return self._topic.judge is not None

    @property
    def pages(self) -> int:
        """The number of pages observed."""
        return self._pages

    def observe(self, host: str, page: ParsedText) -> float:
        """Learn from a page that was not observed before; its relevance from 0 to 1."""
        counts = self._boilerplate.observe(host, page)
        self._sample.offer(host, page, counts)
        counts = self._specific(host, page.hashes, counts)
        weights = self._weights(page.hashes, counts)
        relevance = self._relevance(page, weights)
        self._count(page.hashes[counts > 0], relevance)
        if page.judgement is None:
            nearness = _cosine(weights, _of(self._dense_own, page.hashes))
        else:
            nearness = page.judgement
        self._best.offer(host, page.terms, counts, nearness)
        if self._pages >= self._next_vector:
            self._renew()
        return relevance

    def score(self, host: str, page: ParsedText) -> float:
        """The relevance of a page from 0 to 1, by what was learned so far."""
        counts = self._boilerplate.counts(host, page)
        weights = self._weights(page.hashes, self._specific(host, page.hashes, counts))
        return self._relevance(page, weights)

    def pack(self, host: str, page: ParsedText) -> bytes:
        """The page's terms outside of the blocks that its host repeats, for `rescore`."""
        return pack_terms(page.hashes, self._boilerplate.counts(host, page))

    def rescore(self, host: str, packed: bytes) -> float:
        """The relevance of a page by its packed terms; `InputError` where a judge is needed."""
        if self._topic.judge:
            raise InputError(
                f"topic: {self._topic.judge} judges texts, not packed terms; keep its judgement"
            )
        return self._scaled(self._nearness(*self._weighed(host, packed)))

    def state_dict(self) -> StateDict:
        """All that was learned, as flat arrays by name."""
        there = np.flatnonzero(self._frequencies)
        numbers = [self._pages, self._matched, self._weighed_pages, self._next_vector]
        numbers += [self._floor, self._top, self.version]
        best = [[page.host, dict(page.counts), page.nearness] for page in self._best.pages]
        words = json.dumps([self._topic_as_json(), self._vector, best]).encode()
        return {
            **self._boilerplate.state_dict(),
            **self._sample.state_dict(),
            "numbers": np.array(numbers, np.float64),
            "buckets": there.astype(np.uint32),
            "frequencies": self._frequencies[there],
            "words": np.frombuffer(words, np.uint8),
        }

    def load_state_dict(self, state: Mapping[str, NDArray[np.generic]]) -> None:
        """Put back what `state_dict` gave to a filter of the same topic; `StateError` otherwise."""
        try:
            numbers = state["numbers"].astype(np.float64).tolist()
            pages, matched, self._weighed_pages, next_vector, floor, top, version = numbers
            topic, vector, best = json.loads(state["words"].tobytes())
            if topic != self._topic_as_json():
                raise ValueError(f"it is of the topic {str(topic)[:60]}")
            self._best.pages = [LikelyPage(*row) for row in best]
            self._sample.load_state_dict(state)
            self._boilerplate.load_state_dict(state)
            self._frequencies[:] = 0
            self._frequencies[state["buckets"].astype(np.int64)] = state["frequencies"]
        except (KeyError, ValueError, IndexError, TypeError) as error:
            raise StateError(
                f"topic filter: the state does not fit ({error!r}); start the collection anew, or"
                " use the version of pollwise that wrote it"
            ) from error
        self._pages, self._matched = int(pages), matched
        self._next_vector, self.version = int(next_vector), int(version)
        self._floor, self._top = floor, top
        self._set_vectors(vector)

    def _topic_as_json(self) -> list[object]:
        examples = [dict(counts) for counts in self._topic.examples]
        return [list(self._topic.words), examples, self._topic.judge]

    def _relevance(self, page: ParsedText, weights: Floats) -> float:
        if self._topic.judge is None:
            return self._scaled(self._nearness(page.hashes, weights))
        if page.judgement is None:
            raise InputError(
                f"topic: {self._topic.judge} has not judged the page; hand its judgement to"
                " parse_text"
            )
        return page.judgement

    def _scaled(self, cosine: float) -> float:
        return calibrated((cosine - self._floor) / (self._top - self._floor))

    def _specific(self, host: str, hashes: Hashes, counts: Floats) -> Floats:
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

    def _weights(self, hashes: Hashes, counts: Floats) -> Floats:
        return _damped(counts) * self._inverse(hashes)

    def _inverse(self, hashes: Hashes) -> Floats:
        """idf; a term not seen yet counts as if half a page had it."""
        frequencies = _of(self._frequencies, hashes).astype(np.float64)
        # More pages than there are: two terms in one bucket.
        frequencies = np.minimum(frequencies, self._weighed_pages)
        return np.log((self._weighed_pages + 2) / (frequencies + 0.5))

    def _count(self, hashes: Hashes, relevance: float) -> None:
        self._pages += 1
        self._matched += relevance
        weight = 1 - relevance * (1 - matched_weight(self._matched, self._pages))
        self._weighed_pages += weight
        self._frequencies[_bucket(hashes)] += np.float32(weight)

    def _renew(self) -> None:
        """A new topic vector, floor and scale."""
        self._next_vector = int(self._pages * _GROWTH) + 1
        self.version += 1
        own = own_vector(self._topic, self._inverse)
        now = [self._as_of_now(page) for page in self._best.pages]
        near = [page for page in now if page.nearness > _LOWEST_FLOOR]
        # Held meanwhile, 12 bytes a term: to weigh it takes most of the time of a page.
        sample = [(host, *self._weighed(host, packed)) for host, packed in self._sample.pages()]
        self._set_vectors(feedback(own, near, self._inverse, self._background(sample)))
        self._best.pages = [
            replace(page, nearness=new.nearness)
            for page, new in zip(self._best.pages, now, strict=True)
            if new.nearness > 0
        ]
        cosines = np.array([self._nearness(hashes, weights) for _, hashes, weights in sample])
        known = len(cosines) / (len(cosines) + _GUESS_PAGES)
        best = sorted([*cosines.tolist(), *map(self._cosine_of_best, near)])
        high = best[-_TOP_RANK:][0] if best else 0.0
        top = max(known * high + (1 - known) * _GUESSED_TOP, _LOWEST_TOP)
        # What lies above the top says nothing of the gap.
        gap = floor(np.minimum(cosines, top))
        self._floor = max(known * gap + (1 - known) * _GUESSED_FLOOR, _LOWEST_FLOOR)
        self._top = max(top, 2 * self._floor)

    def _background(self, sample: Sequence[tuple[str, Hashes, Floats]]) -> dict[str, list[Hashes]]:
        """The terms of pages without relevance, by host; `sample`: hosts, terms and weights."""
        found: dict[str, list[Hashes]] = {}
        for host, hashes, weights in sample:
            if self._scaled(self._nearness(hashes, weights)) == 0:
                found.setdefault(host, []).append(hashes)
        return found

    def _as_of_now(self, page: LikelyPage) -> LikelyPage:
        """A page by what is known now of its host and of the terms."""
        hashes = term_hashes(tuple(page.counts))
        counts = self._specific(page.host, hashes, np.array(list(page.counts.values())))
        kept = {term: n for term, n in zip(page.counts, counts.tolist(), strict=True) if n > 0}
        if self.judged:
            return LikelyPage(page.host, kept, page.nearness)
        weights = self._weights(hashes, counts)
        return LikelyPage(page.host, kept, _cosine(weights, _of(self._dense_own, hashes)))

    def _weighed(self, host: str, packed: bytes) -> tuple[Hashes, Floats]:
        """The terms of a packed page, and their weights by what is known now."""
        hashes, counts = unpack_terms(packed)
        return hashes, self._weights(hashes, self._specific(host, hashes, counts))

    def _nearness(self, hashes: Hashes, weights: Floats) -> float:
        """The cosine of the weights of these terms and the topic vector."""
        return _cosine(weights, _of(self._dense, hashes))

    def _cosine_of_best(self, page: LikelyPage) -> float:
        weights = tf_idf(page.counts, self._inverse)
        return sum(weight * self._vector.get(term, 0.0) for term, weight in weights.items())

    def _set_vectors(self, vector: Mapping[str, float]) -> None:
        """Take `vector` for the topic vector; if it is empty, the topic's own terms."""
        own = own_vector(self._topic, self._inverse)
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
