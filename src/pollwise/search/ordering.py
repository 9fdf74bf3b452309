"""The order of results: those in the language of the query or the topic come before others.

The language is that of the query if its words tell one, else that in which the results are most
about the topic. The score of a page in another one counts a quarter, also where answers of several
engines are merged; one whose language is not clear loses nothing. Results are ordered in blocks of
`BLOCK`, whatever part of a block is asked for, so that the pages of an answer fit together. Near
copies of a page are never found (`pollwise.collecting.duplicates`).
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from pollwise.relevance.languages import language_of
from pollwise.store.base import StoreReader
from pollwise.store.records import Hit

__all__ = ["BLOCK", "search_in_order"]

BLOCK = 50
"""Results that are ordered together."""
_OF_OTHERS = 0.25
"""What the score of a page in another language counts."""
_MOST = 10_000
"""Hits that a store gives at once."""


def search_in_order(store: StoreReader, query: str, limit: int, offset: int = 0) -> list[Hit]:
    """As `StoreReader.search`, with the results in the language of the query or topic first."""
    first = offset - offset % BLOCK
    last = offset + limit + -(offset + limit) % BLOCK
    if last - first > _MOST:
        return store.search(query, limit, offset)
    hits = store.search(query, last - first, first)
    ordered: list[Hit] = []
    for start in range(0, len(hits), BLOCK):
        ordered += _ordered(query, hits[start : start + BLOCK])
    return ordered[offset - first :][:limit]


def _ordered(query: str, hits: Sequence[Hit]) -> list[Hit]:
    languages = {hit.page_id: language_of(f"{hit.title}\n{hit.snippet}") for hit in hits}
    wanted = language_of(query.replace(" OR ", " ")) or _most_relevant(hits, languages)
    weighed = [
        hit
        if languages[hit.page_id] in (wanted, None)
        else replace(hit, score=_OF_OTHERS * hit.score)
        for hit in hits
    ]
    return sorted(weighed, key=lambda hit: -hit.score)


def _most_relevant(hits: Sequence[Hit], languages: dict[int, str | None]) -> str | None:
    """The language of the results that are most about the topic, together."""
    relevance: defaultdict[str, float] = defaultdict(float)
    for hit in hits:
        language = languages[hit.page_id]
        if language is not None:
            relevance[language] += hit.relevance
    return max(relevance, key=relevance.__getitem__, default=None)
