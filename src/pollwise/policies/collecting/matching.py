"""How much of a text is about the topic that the user told: of the texts of URLs and anchors.

A text matches by the share of its words that are the topic's, each word weighted by its inverse
document frequency among the texts of this crawl (K. Spärck Jones: A statistical interpretation of
term specificity, Journal of Documentation 28, 1972). The more texts have a word of the topic, the
less it tells. Words are compared without their endings; one that only begins like a word of the
topic, as "auth" does, counts for the share that it has of it.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pollwise.kernel_cache import kernel
from pollwise.relevance.terms import terms

__all__ = ["Aim", "match_new", "match_texts"]

_SHORTEST = 4
"""Letters that a beginning of a word needs to count for the word."""
_FIRST = 3
"""Letters by which words are looked up."""


class Aim:
    """The topic as the weights of its terms, of which the greatest counts as 1."""

    def __init__(self, weights: Mapping[str, float]) -> None:
        most = max(weights.values(), default=0.0)
        self._weights = {term: weight / most for term, weight in weights.items() if weight > 0}
        self._by_beginning: dict[str, list[str]] = {}
        for term in self._weights:
            self._by_beginning.setdefault(term[:_FIRST], []).append(term)

    def credit(self, word: str) -> float:
        """What a word in lower case is worth, from 0 to 1.

        >>> aim = Aim({"authent": 2.0, "login": 1.0})
        >>> [aim.credit(word) for word in ("authentication", "logins", "auth", "author")]
        [1.0, 0.5, 0.5714285714285714, 0.0]
        """
        near = self._by_beginning.get(word[:_FIRST])
        if near is None:
            return 0.0
        credits = (self._credit(found, term) for found in terms(word) for term in near)
        return max(credits, default=0.0)

    def _credit(self, found: str, term: str) -> float:
        short, long = sorted((found, term), key=len)
        if short != long and not (len(short) >= _SHORTEST and long.startswith(short)):
            return 0.0
        return self._weights[term] * len(short) / len(long)


@kernel
def _match_of(
    words: NDArray[Any], places: NDArray[Any], first: int, end: int, texts: float
) -> float:
    """How much of the text whose words are in these places is the topic's, from 0 to 1."""
    rarest = math.log(2.0 * texts + 2.0)
    ours = total = 0.0
    for at in range(first, end):
        word = words[places[at]]
        if word.plain:
            rarity = math.log((texts + 1.0) / (word.texts + 0.5))
            ours += rarity * word.aim * rarity / rarest
            total += rarity
    return ours / total if total > 0 else 0.0


@kernel
def match_texts(
    words: NDArray[Any], places: NDArray[Any], texts: NDArray[Any], count: int, total: float
) -> None:
    """Match the first `count` texts of a table anew; `total` is how many texts there are."""
    for at in range(count):
        text = texts[at]
        texts[at].match = _match_of(words, places, text.first_word, text.end_word, total)


@kernel
def match_new(
    words: NDArray[Any],
    places: NDArray[Any],
    texts: NDArray[Any],
    new: NDArray[np.int64],
    known: float,
    aimed: bool,
) -> None:
    """Count the `new` texts of a table one after the other, and match each; `known` came before.

    Unless it is `aimed` there is no topic to match them with.
    """
    for number, at in enumerate(new):
        text = texts[at]
        for place in range(text.first_word, text.end_word):
            words[places[place]].texts += 1
        if aimed:
            total = known + number + 1.0
            texts[at].match = _match_of(words, places, text.first_word, text.end_word, total)
