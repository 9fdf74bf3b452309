"""The pages of a store with their titles and texts, for files of other programs."""

from collections.abc import Iterator
from dataclasses import fields, replace
from itertools import islice
from typing import Any

from pollwise.insight.difference import text_of
from pollwise.store import Store
from pollwise.store.records import Document, PageRecord, StoredVersion
from pollwise.web.headers import readable

__all__ = ["exported_pages"]

_AT_ONCE = 100
_FIELDS = tuple(field.name for field in fields(Document))


def exported_pages(
    store: Store, min_relevance: float | None, *, bodies: bool
) -> Iterator[dict[str, Any]]:
    """The pages that were seen, as of `Store.documents`: the fields of each `Document` by name.

    Of pages that are watched and not collected, title and text are read from the latest version
    that is kept, without what counts for no change; a block of text is a line. With `bodies`, that
    version's `content_type` (None: not told) and `body` (bytes) follow; both None: none is kept.
    """
    documents = store.documents(min_relevance)
    while part := list(islice(documents, _AT_ONCE)):
        # Those of a collection have their texts, and no record is read.
        records = store.find_pages([one.url for one in part if one.text is None])
        for document in part:
            needs_version = bodies or document.text is None
            version = _latest_version(store, document) if needs_version else None
            if document.text is None and version is not None:
                document = _with_text(store, document, version, records.get(document.url))
            row = {name: getattr(document, name) for name in _FIELDS}
            if bodies:
                row |= _content(store, version)
            yield row


def _content(store: Store, version: StoredVersion | None) -> dict[str, str | bytes | None]:
    if version is None:
        return {"content_type": None, "body": None}
    content_type = readable(version.content_type or None)
    return {"content_type": content_type, "body": store.body(version.body_hash)}


def _latest_version(store: Store, document: Document) -> StoredVersion | None:
    versions = store.versions(document.page_id)
    return versions[-1] if versions else None


def _with_text(
    store: Store, document: Document, version: StoredVersion, record: PageRecord | None
) -> Document:
    read = text_of(store, version, document.url, record, patient=True)
    return replace(
        document,
        title=document.title or read.title or None,
        text="\n".join(read.blocks) or None,
    )
