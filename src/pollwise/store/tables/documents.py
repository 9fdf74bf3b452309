"""Pages that were seen, with their texts, and what packed values of pages hold."""

import zlib
from collections.abc import Callable, Iterator
from typing import TypeVar

from pollwise.errors import StoreError
from pollwise.store.place import Place
from pollwise.store.records import Document
from pollwise.store.tables.connection import Connection
from pollwise.store.tables.rows import told

__all__ = ["read_documents", "undamaged", "unpack_text"]

_AT_ONCE = 500

Value = TypeVar("Value")


def read_documents(connection: Connection, least: float | None) -> Iterator[Document]:
    """See `Store.documents`."""
    for row in connection.rows_by_key("documents_after", _AT_ONCE, least=least):
        page_id, url, title, data, relevance, depth, *times, polls, changes, gone, other = row[:13]
        name, tags, weight, longest_interval, shortest_interval = row[13:]
        text = None if data is None else undamaged(connection.path, page_id, unpack_text, data)
        first_seen_at, last_seen_at, last_changed_at = times
        yield Document(
            page_id=page_id,
            url=url,
            title=told(title),
            text=text,
            relevance=relevance,
            depth=depth,
            first_seen_at=first_seen_at,
            last_seen_at=last_seen_at,
            last_changed_at=last_changed_at,
            polls=polls,
            changes=changes,
            gone=bool(gone),
            duplicate_of=other,
            name=name,
            tags=tuple(tags.split()),
            weight=weight,
            longest_interval=longest_interval,
            shortest_interval=shortest_interval,
        )


def unpack_text(data: bytes) -> str:
    """The text of a page from the stored bytes; `ValueError` if it is damaged."""
    try:
        return zlib.decompress(data).decode()
    except zlib.error as error:
        raise ValueError(str(error)) from error


def undamaged(path: Place, page_id: int, unpack: Callable[[bytes], Value], data: bytes) -> Value:
    """What `unpack` makes of the data of a page; `StoreError` if it is damaged."""
    try:
        return unpack(data)
    except (ValueError, TypeError) as error:
        raise StoreError(
            f"{path}: what page {page_id} holds is damaged ({error}): restore a copy"
        ) from error
