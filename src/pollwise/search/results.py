"""Results of a search: reading those of peers with care, and merging those of several engines.

Scores of two engines cannot be compared directly: each takes the fit of its pages relative to its
own best one (see `pollwise.store.sqlite.search`), so the best page of an engine that hardly has the
words scores about as high as the best of one that is full of them. How much an engine knows shows
in the number m of its N pages that match the query. Both are blended as in CORI (J. Callan, Z. Lu,
W. B. Croft, Searching distributed collections with inference networks, SIGIR 1995; J. Callan,
Distributed information retrieval, 2000)::

    score = (D + 0.4 · D · C) / 1.4,    C = T / max T,    T = m / (m + 50 + 150 · N / mean N)

where D (0 to 1) is the score that the engine gave, and C (0 to 1) is relative to all engines that
answered. So an engine that knows little of the query loses up to two sevenths of its scores; those
of an engine that answered alone stay the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pollwise.checks import is_real, is_whole
from pollwise.search.description import readable

__all__ = ["Answer", "Result", "merge", "read_results"]

_BELIEF_SHARE = 0.4
_LONGEST_URL = 4000
_LONGEST_TEXT = 2000


@dataclass(frozen=True, slots=True)
class Result:
    """A page found by an engine (its URL); all else as in `Hit`."""

    url: str
    title: str
    snippet: str
    marks: tuple[tuple[int, int], ...]
    relevance: float
    score: float
    engine: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The results of one engine, best first; `matches` of its `documents` match the query.

    `nearness` says how near the query is to its topic.
    """

    engine: str
    nearness: float
    documents: int
    matches: int
    results: Sequence[Result]


def merge(answers: Sequence[Answer]) -> list[Result]:
    """The results of all answers, best first; for a URL that several found, the best result.

    Equal scores are in the order of `answers`.

    >>> page = Result("http://a.example/", "", "", (), 0.5, 0.7, "http://x.example")
    >>> other = replace(page, url="http://b.example/", score=0.9, engine="http://y.example")
    >>> answers = [Answer("http://x.example", 0.5, 900, 600, [page])]
    >>> answers += [Answer("http://y.example", 0.0, 900, 1, [other])]
    >>> [(result.url, round(result.score, 3)) for result in merge(answers)]
    [('http://a.example/', 0.7), ('http://b.example/', 0.645)]
    """
    beliefs = _beliefs(answers)
    most = max(beliefs, default=0.0)
    best: dict[str, Result] = {}
    for answer, belief in zip(answers, beliefs, strict=True):
        share = (1 + _BELIEF_SHARE * belief / most) / (1 + _BELIEF_SHARE) if most > 0 else 1.0
        for result in answer.results:
            rival = best.get(result.url)
            if rival is None or rival.score < result.score * share:
                best.pop(result.url, None)  # so that it comes after those before it
                best[result.url] = replace(result, score=result.score * share)
    return sorted(best.values(), key=lambda result: -result.score)


def _beliefs(answers: Sequence[Answer]) -> list[float]:
    """T of each engine."""
    mean = sum(answer.documents for answer in answers) / max(len(answers), 1)
    return [
        answer.matches / (answer.matches + 50 + 150 * answer.documents / max(mean, 1.0))
        for answer in answers
    ]


def read_results(document: object, engine: str, limit: int) -> tuple[list[Result], int]:
    """At most `limit` results in the JSON document of a peer, and how many pages match.

    `ValueError` if it has none.
    """
    if not isinstance(document, dict) or not isinstance(document.get("results"), list):
        raise ValueError("no results of a search")
    results, matches = document["results"], document.get("matches")
    if not (is_whole(matches) and 0 <= matches < 2**53):
        raise ValueError("results without the number of matches")
    return [_read(entry, engine) for entry in results[:limit]], matches


def _read(entry: Any, engine: str) -> Result:
    if not isinstance(entry, dict):
        raise ValueError("a result that is no object")
    url, title, snippet = entry.get("url"), entry.get("title"), entry.get("snippet")
    if not (isinstance(url, str) and url.startswith(("http://", "https://"))):
        raise ValueError("a result without a URL")
    if len(url) > _LONGEST_URL or not url.isprintable():
        raise ValueError("a result with a URL that is none")
    if not (isinstance(title, str) and isinstance(snippet, str)):
        raise ValueError("a result without title or snippet")
    relevance, score = entry.get("relevance"), entry.get("score")
    if not (is_real(relevance) and is_real(score) and 0 <= relevance <= 1 and 0 <= score <= 1):
        raise ValueError("a result without relevance or score from 0 to 1")
    snippet = readable(snippet, _LONGEST_TEXT)
    marks = _read_marks(entry.get("marks"), len(snippet))
    return Result(url, readable(title, _LONGEST_TEXT), snippet, marks, relevance, score, engine)


def _read_marks(marks: Any, length: int) -> tuple[tuple[int, int], ...]:
    """The marks that lie in a snippet of this length."""
    if not isinstance(marks, list):
        raise ValueError("a result without marks")
    for mark in marks:
        if not (isinstance(mark, list) and len(mark) == 2 and all(map(is_whole, mark))):
            raise ValueError("a mark that is no pair of places")
    return tuple((start, end) for start, end in marks if 0 <= start < end <= length)
