"""The pages of a store with their titles and texts, for files of other programs."""

from collections.abc import Iterator
from dataclasses import replace

from pollwise.insight.difference import text_of
from pollwise.store import Store
from pollwise.store.records import Document

__all__ = ["documents_with_text"]


def documents_with_text(store: Store, min_relevance: float | None) -> Iterator[Document]:
    """The pages that were seen, as of `Store.documents`.

    Of those that are watched and not collected, title and text are read from the latest version
    that is kept, without what counts for no change; a block of text is a line.
    """
    for document in store.documents(min_relevance):
        if document.text is not None:
            yield document
            continue
        versions = store.versions(document.page_id)
        if not versions:
            yield document
            continue
        record = store.find_page(document.url)
        read = text_of(store, versions[-1], document.url, record, patient=True)
        yield replace(
            document,
            title=document.title or read.title or None,
            text="\n".join(read.blocks) or None,
        )
