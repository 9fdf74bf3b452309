"""What `pollwise status` and `explain` tell of a collection, which may be at work meanwhile."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pollwise.errors import InputError
from pollwise.settings import CollectSettings, is_collection
from pollwise.store import Store
from pollwise.store.base import StoreReader
from pollwise.store.records import PageRecord, Postponed
from pollwise.types import Outcome
from pollwise.web.crawl_urls import crawl_url

__all__ = [
    "CollectedExplanation",
    "CollectionStatus",
    "LinkingPage",
    "RelevantPage",
    "explain_collected",
    "explain_page",
    "holds_collection",
    "summarise_collection",
]

_BEST = 10
_MOST_PARENTS = 10


@dataclass(frozen=True, slots=True)
class RelevantPage:
    """One of the most relevant pages of a collection."""

    relevance: float
    title: str | None
    url: str


@dataclass(frozen=True, slots=True)
class CollectionStatus:
    """How large a collection is and what is `best` in it, most relevant first.

    `topic` is what it is about, in words. `documents` have been read, `relevant` of them are about
    the topic, and `relevance` is their sum. `copies` repeat another document. The `fringe` are
    pages known by links only, `gone` those that no longer exist. `hosts` counts hosts with a
    document.
    """

    topic: str | None
    documents: int
    relevant: int
    relevance: float
    copies: int
    fringe: int
    gone: int
    hosts: int
    best: tuple[RelevantPage, ...]


@dataclass(frozen=True, slots=True)
class LinkingPage:
    """A page that links to another one, with the text of the link."""

    url: str
    relevance: float | None
    anchor: str


@dataclass(frozen=True, slots=True)
class CollectedExplanation:
    """What a collection knows of one page.

    `relevance` (0 to 1) is None if the page was not read. `depth` is the number of links from a
    seed. `duplicate_of` is the URL of the page that it is a copy of. Times are UTC seconds; None:
    not yet. `outcome` and `error` are those of the latest poll that was made, `postponed` is one
    since then that was not. `linked_from` are the first pages that were found to link to it.
    """

    url: str
    title: str | None
    relevance: float | None
    depth: int
    duplicate_of: str | None
    polls: int
    changes: int
    polled_at: float | None
    last_changed_at: float | None
    outcome: Outcome | None
    error: str | None
    postponed: Postponed | None
    linked_from: tuple[LinkingPage, ...]


def holds_collection(db: Path) -> bool:
    """Whether this database holds a collection; `StoreError` if it is no database."""
    with Store.open_readonly(db) as store:
        return is_collection(store)


def summarise_collection(
    settings: CollectSettings, records: Sequence[PageRecord]
) -> CollectionStatus:
    """How the collection stands, given all its pages."""
    collected = [record for record in records if record.relevance is not None]
    best = sorted(collected, key=lambda record: (-(record.relevance or 0.0), record.page.id))
    return CollectionStatus(
        topic=settings.subject,
        documents=len(collected),
        relevant=sum((record.relevance or 0.0) > 0 for record in collected),
        relevance=sum(record.relevance or 0.0 for record in collected),
        copies=sum(record.duplicate_of is not None for record in collected),
        fringe=sum(record.polled_at is None for record in records),
        gone=sum(record.outcome is Outcome.GONE for record in records),
        hosts=len({record.page.scope for record in collected}),
        best=tuple(
            RelevantPage(record.relevance, record.title, record.page.url)
            for record in best[:_BEST]
            if record.relevance
        ),
    )


def explain_collected(db: Path, url: str) -> CollectedExplanation:
    """What a collection knows of one page; `InputError` if it knows nothing."""
    crawl_url(url)  # a bad URL is reported before a bad database
    with Store.open_readonly(db) as store:
        return explain_page(store, db, store.pages(), url)


def explain_page(
    store: StoreReader, db: Path, records: Sequence[PageRecord], url: str
) -> CollectedExplanation:
    """What a collection with these pages knows of one; `InputError` if it knows nothing."""
    address = crawl_url(url)
    record = store.find_page(address)
    if record is None:
        raise InputError(
            f"{address} is not known to the collection {db}; no page that was read links to it,"
            " or its links were left aside"
        )
    urls = {known.page.id: known.page.url for known in records}
    linked_from = _linking_pages(store, record.page.id, urls)
    return CollectedExplanation(
        url=address,
        title=record.title,
        relevance=record.relevance,
        depth=record.depth,
        duplicate_of=None if record.duplicate_of is None else urls.get(record.duplicate_of),
        polls=record.polls,
        changes=record.changes,
        polled_at=record.polled_at,
        last_changed_at=record.last_changed_at,
        outcome=record.outcome,
        error=record.error,
        postponed=record.postponed,
        linked_from=linked_from,
    )


def _linking_pages(
    store: StoreReader, page_id: int, urls: Mapping[int, str]
) -> tuple[LinkingPage, ...]:
    """The first pages that link to a page, among those with a URL in `urls`."""
    found: list[LinkingPage] = []
    for fetched in store.history():
        places = (fetched.links.targets == page_id).nonzero()[0]
        if len(places) and fetched.page_id in urls:
            anchor = fetched.links.anchors[places[0]]
            found.append(LinkingPage(urls[fetched.page_id], fetched.relevance, anchor))
            if len(found) == _MOST_PARENTS:
                break
    return tuple(found)
