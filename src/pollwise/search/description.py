"""What a topic engine tells of itself, so that others know which queries to forward to it."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from pollwise.checks import is_real, is_whole

__all__ = ["Description", "read_description", "readable"]

_MOST_TERMS = 1000
_LONGEST_TEXT = 200


@dataclass(frozen=True, slots=True)
class Description:
    """A topic engine: its name, the stems of its topic's words, its topic vector (of length 1, or
    empty), and the number of documents that a search can find.
    """

    name: str
    topic: tuple[str, ...]
    topic_vector: Mapping[str, float]
    documents: int

    def nearness(self, terms: Collection[str]) -> float:
        """How much a query of these terms is about the topic: the cosine, from 0 to 1.

        All distinct terms of the query have the same weight.

        >>> Description("sea", ("whale",), {"whale": 0.8, "krill": 0.6}, 9).nearness(["whale"])
        0.8
        """
        distinct = set(terms)
        if not distinct:
            return 0.0
        shared = sum(self.topic_vector.get(term, 0.0) for term in distinct)
        return min(shared / math.sqrt(len(distinct)), 1.0)

    def document(self) -> dict[str, Any]:
        """The JSON document for `read_description`."""
        return {
            "name": self.name,
            "topic": list(self.topic),
            "topic_vector": {term: round(weight, 6) for term, weight in self.topic_vector.items()},
            "documents": self.documents,
        }


def read_description(document: object) -> Description:
    """The description in a peer's JSON document; `ValueError` if it is none.

    The vector is scaled to length 1, so that no peer can make itself nearer.
    """
    if not isinstance(document, dict):
        raise ValueError("no description of an engine")
    name, topic = document.get("name"), document.get("topic")
    vector, documents = document.get("topic_vector"), document.get("documents")
    if not (isinstance(name, str) and is_whole(documents) and 0 <= documents < 2**53):
        raise ValueError("a description without name or number of documents")
    if not (isinstance(topic, list) and all(isinstance(word, str) for word in topic)):
        raise ValueError("a description without topic")
    if not (isinstance(vector, dict) and len(vector) <= _MOST_TERMS and len(topic) <= _MOST_TERMS):
        raise ValueError("a description without topic vector")
    if not all(is_real(weight) and 0 <= weight <= 1 for weight in vector.values()):
        raise ValueError("a topic vector with weights that are not from 0 to 1")
    length = math.hypot(*vector.values())
    return Description(
        readable(name, _LONGEST_TEXT),
        tuple(readable(word, _LONGEST_TEXT) for word in topic),
        {
            readable(term, _LONGEST_TEXT): weight / length
            for term, weight in vector.items()
            if weight > 0
        },
        documents,
    )


def readable(text: str, longest: int) -> str:
    """Text of a peer that can be sent on: cut, and without lone surrogates."""
    return text[:longest].encode(errors="replace").decode()
