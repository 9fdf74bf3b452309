"""How much a page is about a topic, learned while pages come in.

The vector-space model: a page is the vector of its terms, weighted (1 + ln count) idf, and its
nearness to the topic is the cosine between its vector and the topic's. Relevance is 0 up to the
floor, which lies in the gap between the cosines of the topic's pages and those of the others. Above
it, it is the probability that a page is about the topic. All of this is learned by language.

A robot that looks for its topic sees more of it than its share of the web. Unchecked, this would
change idf and floor to the disadvantage of the very pages that the robot finds. So all relevant
pages together weigh at most a thirtieth of the others.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pollwise.errors import InputError, StateError
from pollwise.relevance.boilerplate import Boilerplate
from pollwise.relevance.languages import language_of
from pollwise.relevance.packing import pack_terms, unpack_terms
from pollwise.relevance.page_sample import PageSample
from pollwise.relevance.parsed_text import ParsedText
from pollwise.relevance.profile import GUESS_PAGES, Likeness, Profile
from pollwise.relevance.topic import Topic
from pollwise.relevance.topic_vector import foreign_terms, unit
from pollwise.types import StateDict

__all__ = ["TopicFilter"]

_GROWTH = 1.25
_FIRST_VECTOR = 8
_OF_ENGLISH = ("the", "of", "and")

Floats = NDArray[np.float64]
Hashes = NDArray[np.uint32]


class TopicFilter:
    """Scores pages by a topic; `observe` learns from each new page, `score` does not.

    Pages of a language are compared with each other; one whose language is not clear is taken for
    one of the language that most pages have. Topic vectors, floors and scales are made anew, and
    `version` grows, each time a quarter more pages have come, or those of a language have doubled;
    `rescore` brings earlier scores up to date, from what `pack` gave. Where the topic has a judge,
    its judgement is the relevance, and the vectors are made of the pages that it likes. Memory:
    about 20 MB, a few for each further language, and up to 25 kB for each host.

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
        self._sample = PageSample()
        self._next_vector = _FIRST_VECTOR
        self.version = 0
        # By language; one of no language is there until the first page with one takes it over.
        self._profiles = {"": Profile(topic, self._boilerplate)}

    @property
    def topic_vector(self) -> dict[str, float]:
        """The weight of each term of the topic vector, which has length 1.

        Of a term of several languages it is the greatest one.
        """
        weights: dict[str, float] = {}
        for profile in self._profiles.values():
            for term, weight in profile.topic_vector.items():
                weights[term] = max(weight, weights.get(term, 0.0))
        return unit(weights)

    @property
    def judged(self) -> bool:
        """Whether a callable judges the pages, so that nothing can be scored from packed terms."""
        return self._topic.judge is not None

    @property
    def pages(self) -> int:
        """The number of pages observed."""
        return sum(profile.pages for profile in self._profiles.values())

    def observe(self, host: str, page: ParsedText) -> float:
        """Learn from a page that was not observed before; its relevance from 0 to 1."""
        counts = self._boilerplate.observe(host, page)
        self._sample.offer(host, page, counts)
        profile = self._profile_to_teach(page.language)
        counts = profile.specific(host, page.hashes, counts)
        weights = profile.weights(page.hashes, counts)
        relevance = self._relevance(profile, page, weights)
        profile.count(page.hashes[counts > 0], relevance)
        if page.judgement is None:
            nearness = profile.own_nearness(page.hashes, weights)
        else:
            nearness = page.judgement
        profile.offer(host, page.terms, counts, nearness)
        if self.pages >= self._next_vector or profile.is_due:
            self._renew()
        return relevance

    def score(self, host: str, page: ParsedText) -> float:
        """The relevance of a page from 0 to 1, by what was learned so far."""
        counts = self._boilerplate.counts(host, page)
        profile = self._profile(page.language)
        weights = profile.weights(page.hashes, profile.specific(host, page.hashes, counts))
        return self._relevance(profile, page, weights)

    def pack(self, host: str, page: ParsedText) -> bytes:
        """The page's terms outside of the blocks that its host repeats, for `rescore`."""
        return pack_terms(page.hashes, self._boilerplate.counts(host, page), page.language)

    def rescore(self, host: str, packed: bytes) -> float:
        """The relevance of a page by its packed terms; `InputError` where a judge is needed."""
        if self._topic.judge:
            raise InputError(
                f"topic: {self._topic.judge} judges texts, not packed terms; keep its judgement"
            )
        profile, hashes, weights = self._weighed(host, packed)
        return profile.relevance(hashes, weights)

    def likeness(self, host: str, packed: bytes) -> Likeness:
        """What makes a page near to the topic, by its packed terms."""
        profile, hashes, weights = self._weighed(host, packed)
        return profile.likeness(hashes, weights)

    def state_dict(self) -> StateDict:
        """All that was learned, as flat arrays by name."""
        about = json.dumps([self._topic_as_json(), self._next_vector, self.version])
        return {
            **self._boilerplate.state_dict(),
            **self._sample.state_dict(),
            "filter": np.frombuffer(about.encode(), np.uint8),
            **{
                f"{language}.{name}": array
                for language, profile in self._profiles.items()
                for name, array in profile.state_dict().items()
            },
        }

    def load_state_dict(self, state: Mapping[str, NDArray[np.generic]]) -> None:
        """Put back what `state_dict` gave to a filter of the same topic; `StateError` otherwise."""
        try:
            state = state if "filter" in state else _of_one_profile(state)
            topic, next_vector, version = json.loads(state["filter"].tobytes())
            if topic != self._topic_as_json():
                raise ValueError(f"it is of the topic {str(topic)[:60]}")
            self._sample.load_state_dict(state)
            self._boilerplate.load_state_dict(state)
            parts: dict[str, dict[str, NDArray[np.generic]]] = {}
            for name, array in state.items():
                language, dot, own_name = name.partition(".")
                if dot:
                    parts.setdefault(language, {})[own_name] = array
            profiles = {language: Profile(self._topic, self._boilerplate) for language in parts}
            for language, part in parts.items():
                profiles[language].load_state_dict(part)
        except (KeyError, ValueError, IndexError, TypeError) as error:
            raise StateError(
                f"topic filter: the state does not fit ({error!r}); start the collection anew, or"
                " use the version of pollwise that wrote it"
            ) from error
        self._next_vector, self.version, self._profiles = next_vector, version, profiles

    def _topic_as_json(self) -> list[object]:
        examples = [dict(counts) for counts in self._topic.examples]
        return [list(self._topic.words), examples, self._topic.judge]

    def _weighed(self, host: str, packed: bytes) -> tuple[Profile, Hashes, Floats]:
        """The profile that a packed page is compared with, its terms and their weights."""
        hashes, counts, language = unpack_terms(packed)
        profile = self._profile(language)
        return profile, hashes, profile.weights(hashes, profile.specific(host, hashes, counts))

    def _profile(self, language: str) -> Profile:
        """That with which pages of a language are compared; "": it is not clear."""
        name = self._profile_name(language)
        return self._profiles.get(name) or Profile(self._topic, self._boilerplate)

    def _profile_to_teach(self, language: str) -> Profile:
        if language and "" in self._profiles:
            self._profiles[language] = self._profiles.pop("")
        elif language and language not in self._profiles:
            self._profiles[language] = Profile(self._topic, self._boilerplate)
        return self._profile(language)

    def _profile_name(self, language: str) -> str:
        if language in self._profiles:
            return language
        if not language:
            return max(self._profiles, key=lambda name: self._profiles[name].pages)
        return "" if "" in self._profiles else language

    def _relevance(self, profile: Profile, page: ParsedText, weights: Floats) -> float:
        if self._topic.judge is None:
            return profile.relevance(page.hashes, weights)
        if page.judgement is None:
            raise InputError(
                f"topic: {self._topic.judge} has not judged the page; hand its judgement to"
                " parse_text"
            )
        return page.judgement

    def _renew(self) -> None:
        """New topic vectors, floors and scales."""
        self._next_vector = int(self.pages * _GROWTH) + 1
        self.version += 1
        samples: dict[str, list[tuple[str, Hashes, Floats]]] = {name: [] for name in self._profiles}
        for host, packed in self._sample.pages():
            hashes, counts, language = unpack_terms(packed)
            samples[self._profile_name(language)].append((host, hashes, counts))
        terms = {name: [hashes for _, hashes, _ in sample] for name, sample in samples.items()}
        foreign = foreign_terms(self._topic, terms, GUESS_PAGES)
        for name, sample in samples.items():
            self._profiles[name].renew(sample, foreign[name])


def _of_one_profile(state: Mapping[str, NDArray[np.generic]]) -> dict[str, NDArray[np.generic]]:
    """The state of a version that had one profile for pages of all languages."""
    *numbers, next_vector, floor, top, version = state["numbers"].tolist()
    topic, vector, best = json.loads(state["words"].tobytes())
    about = json.dumps([topic, int(next_vector), int(version)])
    language = _language_of_best([counts for _, counts, _ in best])
    return {
        **state,
        "filter": np.frombuffer(about.encode(), np.uint8),
        f"{language}.numbers": np.array([*numbers, floor, top, 2 * numbers[0]]),
        f"{language}.words": np.frombuffer(json.dumps([vector, best, []]).encode(), np.uint8),
        f"{language}.buckets": state["buckets"],
        f"{language}.frequencies": state["frequencies"],
    }


def _language_of_best(pages: Sequence[Mapping[str, float]]) -> str:
    """The language that most of the best pages are in, by their terms; empty: there are none.

    Else the first page that comes, in whatever language, would take over what was learned.
    """
    # Of English, whose function words are no terms, a few stand for those of any page.
    found = Counter(language_of(" ".join([*_OF_ENGLISH, *terms])) or "en" for terms in pages)
    return found.most_common(1)[0][0] if found else ""
