"""What people see of `pollwise check`."""

from pollwise.console.conditions import condition_rows
from pollwise.console.masked_parts import masked_rows, noise_rows
from pollwise.console.quantities import count
from pollwise.console.streams import stdout
from pollwise.console.tables import moment, pairs
from pollwise.live.checking import PageCheck
from pollwise.store.records import FoundItem

__all__ = ["print_check"]

_KINDS = {
    "page": "a page: its visible text",
    "feed": "a feed: its items",
    "sitemap": "a sitemap: its entries",
    "json": "JSON",
    "xml": "XML",
    "pdf": "a PDF: its text",
    "text": "plain text",
    "bytes": "byte for byte",
}
_NO_TEXT = "every byte, as it has no text"


def print_check(page: PageCheck) -> None:
    """The answer of `pollwise check`."""
    rows = [("answer", _answer(page))]
    if page.final_url != page.url:
        rows.append(("redirected to", page.final_url))
    if page.error is not None and page.bytes:
        rows.append(("cannot be compared", page.error))
    if page.kind is not None:
        rows += [
            ("read as", _KINDS[page.kind]),
            *([("but", page.notice)] if page.notice else []),
            *([("title", page.title)] if page.title else []),
            *(("names a feed of itself", feed) for feed in page.feeds),
            ("validators", _validators(page)),
            *(_list_rows(page) if page.items is not None else _block_rows(page)),
            *condition_rows(page.conditions),
        ]
    if page.changed is not None:
        rows.append(("since the latest copy", "it changed" if page.changed else "no change"))
    stdout().print(pairs(page.url, rows))


def _list_rows(page: PageCheck) -> list[tuple[str, str]]:
    items = count(page.items or 0, "item")
    shown = [(_when(item), item.title or item.url or item.key) for item in page.newest]
    return [("counts", f"{items}, the newest:" if shown else items), *shown]


def _when(item: FoundItem) -> str:
    return "" if item.published_at is None else moment(item.published_at)


def _block_rows(page: PageCheck) -> list[tuple[str, str]]:
    return [
        ("fetches", _fetches(page)),
        ("counts", f"{count(page.blocks, 'block')}, beginning with:" if page.blocks else _NO_TEXT),
        *(("", text) for text in page.kept),
        *(("ignored", text) for text in page.ignored),
        *masked_rows(page.masked),
        *noise_rows(page.noise),
        *(("differs, but is not masked", text) for text in page.restless),
    ]


def _answer(page: PageCheck) -> str:
    if page.error is not None and not page.bytes:
        is_told = page.error.startswith(f"status {page.status}")
        return page.error if is_told else f"none: {page.error}"
    kind = page.content_type or "no Content-Type"
    return f"status {page.status}, {kind}, {page.bytes:,} bytes"


def _fetches(page: PageCheck) -> str:
    if page.fetches == 1:
        return "1: it could not be had again, so nothing is known of noise"
    return f"{page.fetches}, after the crawl delay of the host"


def _validators(page: PageCheck) -> str:
    told = [
        name
        for name, value in (("ETag", page.etag), ("Last-Modified", page.last_modified))
        if value is not None
    ]
    return " and ".join(told) or "none: every poll fetches all of it"
