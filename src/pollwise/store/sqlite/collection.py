"""The collection in the store: discovered pages, the content of fetched ones, the full-text index.

Call the functions that write within a transaction.
"""

import sqlite3
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from pollwise.errors import InputError, StoreError
from pollwise.store.records import Collected, Discoveries, Discovery, Document, Fetched
from pollwise.store.sqlite.bodies import LEVEL
from pollwise.store.sqlite.connection import Connection
from pollwise.store.sqlite.links import NO_LINKS, pack_links, unpack_links
from pollwise.store.sqlite.queries import SQL
from pollwise.store.sqlite.rows import page_values

__all__ = [
    "read_documents",
    "read_history",
    "read_terms",
    "save_discoveries",
    "save_new_pages",
    "settle",
    "undamaged",
    "unpack_text",
]

_AT_ONCE = 500

Value = TypeVar("Value")


def save_new_pages(connection: sqlite3.Connection, new_pages: Sequence[Discovery]) -> None:
    """Add discovered pages; `InputError` if their ids have a gap or a URL is known."""
    next_id: int = connection.execute(SQL["next_page_id"]).fetchone()[0]
    in_order = sorted(new_pages, key=lambda new: new.page.id)
    for expected, new in enumerate(in_order, start=next_id):
        if new.page.id != expected:
            raise InputError(
                f"{new.page.url} was given the id {new.page.id}; expected {expected}, the next one"
            )
        values = {**page_values(new.page, new.found_at), "id": expected, "depth": new.depth}
        try:
            connection.execute(SQL["insert_page"], values)
        except sqlite3.IntegrityError as error:
            raise InputError(f"{new.page.url} is watched already: it has an id") from error


def save_discoveries(connection: sqlite3.Connection, path: Path, discoveries: Discoveries) -> None:
    """Write what a poll meant for the collection, except its new pages.

    `InputError` for the content of a page that the database never had.
    """
    collected, links = discoveries.collected, discoveries.links
    if collected is not None:
        _save_collected(connection, path, collected)
        if links is not None:
            values = {"page_id": collected.page_id, "data": pack_links(links)}
            connection.execute(SQL["save_links"], values)
        settle(connection, path, collected.page_id)
    connection.executemany(
        SQL["rescore_page"],
        [{"page_id": page, "relevance": value} for page, value in discoveries.rescored.items()],
    )


def _save_collected(connection: sqlite3.Connection, path: Path, collected: Collected) -> None:
    page_id = collected.page_id
    title, text = _storable(collected.title), collected.text.encode("utf-8", "replace")
    data = zlib.compress(text, LEVEL)
    before = connection.execute(SQL["document"], {"page_id": page_id}).fetchone()
    searchable = before == (title, data, True)
    if before is not None and before[2] and not searchable:
        _change_index(connection, path, "drop_text", page_id, *before[:2])
    values = {
        "page_id": page_id,
        "relevance": collected.relevance,
        "title": title,
        "duplicate_of": collected.duplicate_of,
        "indexed": collected.indexed,
        "searchable": searchable,
        "terms": collected.terms,
        "text": data,
    }
    if not connection.execute(SQL["collect_page"], values).rowcount:
        raise InputError(f"page {page_id} was collected, which {path} never had")
    connection.execute(SQL["save_document"], values)


def settle(connection: sqlite3.Connection, path: Path, page_id: int) -> None:
    """Bring the full-text index up to date with what is known of a page.

    It holds collected pages that may be indexed, unless they are duplicates, gone or removed.
    """
    values: dict[str, object] = {"page_id": page_id}
    state = connection.execute(SQL["search_state"], values).fetchone()
    if state is None or state[0] == state[1]:
        return
    title, data, searchable = connection.execute(SQL["document"], values).fetchone()
    change = "drop_text" if searchable else "index_text"
    _change_index(connection, path, change, page_id, title, data)
    connection.execute(SQL["set_searchable"], {**values, "searchable": not searchable})


def _change_index(
    connection: sqlite3.Connection, path: Path, change: str, page_id: int, title: str, data: bytes
) -> None:
    text = undamaged(path, page_id, unpack_text, data)
    connection.execute(SQL[change], {"page_id": page_id, "title": title, "text": text})


def read_history(connection: Connection) -> Iterator[Fetched]:
    """See `Store.history`."""
    for _, page_id, relevance, data in connection.rows_by_key("history_after", _AT_ONCE):
        links = (
            NO_LINKS if data is None else undamaged(connection.path, page_id, unpack_links, data)
        )
        yield Fetched(page_id, relevance, links)


def read_terms(connection: Connection) -> Iterator[tuple[int, bytes]]:
    """See `Store.terms`."""
    yield from connection.rows_by_key("terms_after", _AT_ONCE)


def read_documents(connection: Connection, least: float | None) -> Iterator[Document]:
    """See `Store.documents`."""
    for row in connection.rows_by_key("documents_after", _AT_ONCE, least=least):
        page_id, url, title, data, relevance, depth, *times, polls, changes, gone, other = row
        text = None if data is None else undamaged(connection.path, page_id, unpack_text, data)
        first_seen_at, last_seen_at, last_changed_at = times
        yield Document(
            page_id=page_id,
            url=url,
            title=title,
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
        )


def unpack_text(data: bytes) -> str:
    """The text of a page from the stored bytes; `ValueError` if it is damaged."""
    try:
        return zlib.decompress(data).decode()
    except zlib.error as error:
        raise ValueError(str(error)) from error


def undamaged(path: Path, page_id: int, unpack: Callable[[bytes], Value], data: bytes) -> Value:
    """What `unpack` makes of the data of a page; `StoreError` if it is damaged."""
    try:
        return unpack(data)
    except (ValueError, TypeError) as error:
        raise StoreError(
            f"{path}: what page {page_id} holds is damaged ({error}): restore a copy"
        ) from error


def _storable(text: str) -> str:
    """Text that SQLite can hold, with `?` for lone surrogates, which are no characters."""
    return text.encode("utf-8", "replace").decode()
