"""What `pollwise status` and `explain` tell of a collection, which may be at work meanwhile."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pollwise.errors import InputError
from pollwise.settings import CollectSettings, latest_settings
from pollwise.store import Store
from pollwise.store.records import PageRecord
from pollwise.types import Outcome
from pollwise.web.crawl_urls import crawl_url

__all__ = ["explain_collected", "holds_collection", "summarise_collection"]

_BEST = 10
_MOST_PARENTS = 10


def holds_collection(db: Path) -> bool:
    """Whether the pages of this database are a collection's; `StoreError` if it is none."""
    with Store.open_readonly(db) as store:
        return isinstance(latest_settings(store), CollectSettings)


def summarise_collection(store: Store, records: Sequence[PageRecord]) -> dict[str, Any] | None:
    """How large the collection is and what is best in it; None: the store holds no collection.

    `documents` have been read, of which `relevant` are about the topic (`relevance` in sum) and
    `copies` say what another one says. The `fringe` are pages known by links only, `gone` those
    that are no longer there. `hosts` counts those that have a document.
    """
    settings = latest_settings(store)
    if not isinstance(settings, CollectSettings):
        return None
    collected = [record for record in records if record.relevance is not None]
    best = sorted(collected, key=lambda record: (-(record.relevance or 0.0), record.page.id))
    return {
        "topic": settings.subject,
        "documents": len(collected),
        "relevant": sum((record.relevance or 0.0) > 0 for record in collected),
        "relevance": sum(record.relevance or 0.0 for record in collected),
        "copies": sum(record.duplicate_of is not None for record in collected),
        "fringe": sum(record.polled_at is None for record in records),
        "gone": sum(record.outcome is Outcome.GONE for record in records),
        "hosts": len({record.page.scope for record in collected}),
        "best": [
            {"relevance": record.relevance, "title": record.title, "url": record.page.url}
            for record in best[:_BEST]
            if record.relevance
        ],
    }


def explain_collected(db: Path, url: str) -> dict[str, Any]:
    """What a collection knows of one page; `InputError` if it never came across it.

    `linked_from` are the first pages that were found to link to it, with their relevance and the
    anchor. Times are UTC seconds.
    """
    address = crawl_url(url)
    with Store.open_readonly(db) as store:
        record = store.find_page(address)
        if record is None:
            raise InputError(
                f"{address} is not known to the collection {db}; no page that was read links to it,"
                " or its links were left aside"
            )
        urls = {known.page.id: known.page.url for known in store.pages()}
        parents: list[dict[str, Any]] = []
        for fetched in store.history():
            places = (fetched.links.targets == record.page.id).nonzero()[0]
            if len(places) and fetched.page_id in urls and len(parents) < _MOST_PARENTS:
                parents.append(
                    {
                        "url": urls[fetched.page_id],
                        "relevance": fetched.relevance,
                        "anchor": fetched.links.anchors[places[0]],
                    }
                )
    return {
        "url": address,
        "title": record.title,
        "relevance": record.relevance,
        "depth": record.depth,
        "duplicate_of": urls.get(record.duplicate_of) if record.duplicate_of is not None else None,
        "polls": record.polls,
        "changes": record.changes,
        "polled_at": record.polled_at,
        "last_changed_at": record.last_changed_at,
        "outcome": None if record.outcome is None else record.outcome.name.lower(),
        "error": record.error,
        "linked_from": parents,
    }
