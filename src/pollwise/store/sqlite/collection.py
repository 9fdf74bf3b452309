"""The collection in the store: discovered pages, the content of fetched ones, the full-text index.

Call the functions that write within a transaction.
"""

import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence

from pollwise.errors import InputError
from pollwise.store.place import Place
from pollwise.store.records import Collected, Discoveries, Discovery, Fetched
from pollwise.store.sqlite.links import NO_LINKS, pack_links, unpack_links
from pollwise.store.tables.bodies import LEVEL
from pollwise.store.tables.connection import Connection, Writer
from pollwise.store.tables.documents import undamaged, unpack_text
from pollwise.store.tables.rows import page_values, wants_nothing
from pollwise.types import Page

__all__ = [
    "read_history",
    "read_terms",
    "save_discoveries",
    "save_new_pages",
    "settle",
]

_AT_ONCE = 500

_Values = Callable[[Page, float], dict[str, object]]
"""Makes most parameters of an insertion, from a page and the time of its finding."""


def save_new_pages(writer: Writer, new_pages: Sequence[Discovery]) -> None:
    """Add discovered pages; `InputError` if their ids have a gap or a URL is known."""
    next_id: int = writer.execute("next_page_id").fetchone()[0]
    url = ""
    plain, special = list[Discovery](), list[Discovery]()
    in_order = sorted(new_pages, key=lambda new: new.page.id)
    for expected, new in enumerate(in_order, start=next_id):
        if new.page.id != expected:
            raise InputError(
                f"{new.page.url} was given the id {new.page.id}; expected {expected}, the next one"
            )
        (plain if wants_nothing(new.page) else special).append(new)

    def rows(found: Sequence[Discovery], values: _Values) -> Iterator[dict[str, object]]:
        nonlocal url
        for new in found:
            url = new.page.url
            yield {**values(new.page, new.found_at), "id": new.page.id, "depth": new.depth}

    try:
        # In a third of the time, as a page may lead to a hundred.
        writer.execute_all("insert_plain_page", rows(plain, _plain_values))
        writer.execute_all("insert_page", rows(special, page_values))
    except sqlite3.IntegrityError as error:
        raise InputError(f"{url} is watched already: it has an id") from error


def _plain_values(page: Page, added_at: float) -> dict[str, object]:
    return {"url": page.url, "scope": page.scope, "added_at": added_at}


def save_discoveries(writer: Writer, path: Place, discovered: Iterable[Discoveries]) -> None:
    """Write what polls meant for the collection, except their new pages.

    `InputError` for the content of a page that the database never had.
    """
    texts: dict[int, str] = {}
    for discoveries in discovered:
        collected, links = discoveries.collected, discoveries.links
        if collected is not None:
            texts[collected.page_id] = _save_collected(writer, path, collected)
            if links is not None:
                values = {"page_id": collected.page_id, "data": pack_links(links)}
                writer.execute("save_links", values)
        writer.execute_all(
            "rescore_page",
            [{"page_id": page, "relevance": value} for page, value in discoveries.rescored.items()],
        )
    # In this order, with nothing in between: at a lower id, and at some other statements, the
    # full-text index writes out all that it has gathered, which takes as long as a page.
    for page_id, text in sorted(texts.items()):
        settle(writer, path, page_id, text)


def _save_collected(writer: Writer, path: Place, collected: Collected) -> str:
    """Write what is in a page; its text as it is stored."""
    page_id = collected.page_id
    title, text = _storable(collected.title), collected.text.encode("utf-8", "replace")
    data = zlib.compress(text, LEVEL)
    before = writer.execute("document", {"page_id": page_id}).fetchone()
    searchable = before == (title, data, True)
    if before is not None and before[2] and not searchable:
        known = undamaged(path, page_id, unpack_text, before[1])
        _change_index(writer, "drop_text", page_id, before[0], known)
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
    if not writer.execute("collect_page", values).rowcount:
        raise InputError(f"page {page_id} was collected, which {path} never had")
    writer.execute("save_document", values)
    return text.decode()


def settle(writer: Writer, path: Place, page_id: int, text: str | None = None) -> None:
    """Bring the full-text index up to date with what is known of a page.

    It holds collected pages that may be indexed, unless they are duplicates, gone or removed.
    `text` is that of the page, as it is stored (None: to be read).
    """
    values: dict[str, object] = {"page_id": page_id}
    state = writer.execute("search_state", values).fetchone()
    if state is None or state[0] == state[1]:
        return
    title, data, searchable = writer.execute("document", values).fetchone()
    text = undamaged(path, page_id, unpack_text, data) if text is None else text
    _change_index(writer, "drop_text" if searchable else "index_text", page_id, title, text)
    writer.execute("set_searchable", {**values, "searchable": not searchable})


def _change_index(writer: Writer, change: str, page_id: int, title: str, text: str) -> None:
    writer.execute(change, {"page_id": page_id, "title": title, "text": text})


def read_history(connection: Connection) -> Iterator[Fetched]:
    """See `Store.history`."""
    for _, page_id, relevance, data in connection.rows_by_key("history_after", _AT_ONCE):
        links = (
            NO_LINKS if data is None else undamaged(connection.path, page_id, unpack_links, data)
        )
        yield Fetched(page_id, relevance, links)


def read_terms_of(connection: Connection, page_id: int) -> tuple[bool, bytes] | None:
    """See `Store.terms_of`."""
    for indexed, terms in connection.rows("terms_of", page_id=page_id):
        return bool(indexed), bytes(terms)
    return None


def read_terms(connection: Connection) -> Iterator[tuple[int, bytes]]:
    """See `Store.terms`."""
    yield from connection.rows_by_key("terms_after", _AT_ONCE)


def _storable(text: str) -> str:
    """Text that SQLite can hold, with `?` for lone surrogates, which are no characters."""
    return text.encode("utf-8", "replace").decode()
