"""The collection: its search, what is best and newest in it, its hosts and its peers."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pollwise.dashboard.answers import Answers
from pollwise.dashboard.api.parameters import text_asked, whole_number_asked
from pollwise.dashboard.frame import frame_of
from pollwise.dashboard.pages import page
from pollwise.errors import InputError, StoreError
from pollwise.insight.capacity import taken_words
from pollwise.insight.collection import CollectionStatus
from pollwise.insight.hosts import HostColumn, ListedHost
from pollwise.insight.snapshot import Snapshot
from pollwise.insight.words import count
from pollwise.search.query_broker import MOST_OFFSET, Found
from pollwise.search.query_processor import OverloadedError
from pollwise.search.results import Result
from pollwise.search.topic_engine import TopicEngine
from pollwise.store.records import PageRecord

__all__ = ["collection_routes", "marked"]

_PATH = "/collection"
_RESULTS = 10
_LATELY = 10
_LATEST = 100
_HOSTS = 10


@dataclass(frozen=True, slots=True)
class _Holding:
    """What there is in the collection; `status` is None before its first run."""

    status: CollectionStatus | None
    found: Sequence[PageRecord]
    gained: str
    hosts: Sequence[ListedHost]


def collection_routes(answers: Answers, engine: TopicEngine) -> list[Route]:
    """The view of a collection that `engine` searches."""

    async def collection(request: Request) -> Response:
        query = request.query_params.get("q", "")
        found, error, status, offset = None, "", 200, 0
        try:
            query = text_asked(request, "q")
            offset = whole_number_asked(request, "offset", 0, least=0, most=MOST_OFFSET)
            if query.strip():
                found = await engine.search(query, _RESULTS, offset, forward=True)
        except InputError as refusal:
            error, status = str(refusal), 400
        except (OverloadedError, StoreError) as failure:
            error, status = str(failure), 503
        return page(
            "collection.html",
            status,
            frame=await frame_of(answers, request),
            query=query[:1000],
            error=error,
            offset=offset,
            found=found,
            matches=0 if found is None else sum(one.matches for one in found.answers),
            marked=marked,
            taken_words=taken_words,
            earlier=_address(query, max(offset - _RESULTS, 0)) if offset else "",
            later=_later(found, query, offset),
            holding=await answers.think(_held),
            description=engine.description,
            peers=engine.peers,
        )

    return [Route(_PATH, collection)]


def marked(result: Result) -> list[tuple[str, bool]]:
    """The snippet in parts, and whether each is a word of the query.

    >>> marked(Result("", "", "a sperm whale", ((2, 7),), 0.0, 0.0, ""))
    [('a ', False), ('sperm', True), (' whale', False)]
    """
    parts, at = [], 0
    for start, end in sorted(result.marks):
        if start >= at:
            parts += [(result.snippet[at:start], False), (result.snippet[start:end], True)]
            at = end
    parts.append((result.snippet[at:], False))
    return [part for part in parts if part[0]]


def _held(snapshot: Snapshot) -> _Holding:
    read = [record for record in snapshot.records if record.relevance is not None]
    latest = heapq.nlargest(_LATEST, read, key=_first_seen_at)
    about = sum(bool(record.relevance) for record in latest)
    return _Holding(
        snapshot.collection,
        heapq.nlargest(_LATELY, filter(lambda record: record.relevance, read), key=_first_seen_at),
        f"About the topic: {about:,} of the {count(len(latest), 'document')} read last.",
        snapshot.hosts.rows(order=HostColumn.pages, limit=_HOSTS).results,
    )


def _first_seen_at(record: PageRecord) -> float:
    return record.first_seen_at or 0.0


def _later(found: Found | None, query: str, offset: int) -> str:
    """The address of the next results; empty: there are none, or too many before them."""
    if found is None or len(found.results) < _RESULTS or offset + _RESULTS > MOST_OFFSET:
        return ""
    return _address(query, offset + _RESULTS)


def _address(query: str, offset: int) -> str:
    return f"{_PATH}?{urlencode({'q': query, 'offset': offset})}"
