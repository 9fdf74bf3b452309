"""What people see of `pollwise check`."""

from pollwise.console.masked_parts import masked_rows, noise_rows
from pollwise.console.quantities import count
from pollwise.console.streams import stdout
from pollwise.console.tables import pairs
from pollwise.live.checking import PageCheck

__all__ = ["print_check"]

_KINDS = {
    "html": "HTML, by its visible text",
    "json": "JSON",
    "xml": "XML",
    "text": "text",
    "other": "neither HTML nor text: byte for byte",
}


def print_check(page: PageCheck) -> None:
    """The answer of `pollwise check`."""
    rows = [("answer", _answer(page))]
    if page.final_url != page.url:
        rows.append(("redirected to", page.final_url))
    if page.error is None:
        rows += [
            ("compared as", _KINDS[page.kind]),
            ("validators", _validators(page)),
            ("fetches", _fetches(page)),
            ("counts", f"{count(page.blocks, 'block')}, beginning with:"),
            *(("", text) for text in page.kept),
            *masked_rows(page.masked),
            *noise_rows(page.noise),
            *(("differs, but is not masked", text) for text in page.restless),
        ]
    if page.changed is not None:
        rows.append(("since the latest copy", "it changed" if page.changed else "no change"))
    stdout().print(pairs(page.url, rows))


def _answer(page: PageCheck) -> str:
    if page.error is not None:
        return f"none: {page.error}"
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
