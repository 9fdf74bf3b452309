"""The search page of a topic engine: plain HTML, made here, that needs nothing from anywhere."""

import base64
import hashlib
from collections.abc import Iterator
from html import escape
from urllib.parse import urlencode

from pollwise.search.query_broker import MOST_OFFSET, Found
from pollwise.search.results import Result

__all__ = ["PAGE_HEADERS", "search_page"]

_STYLE = """
:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }
body { margin: 0 auto; max-width: 46rem; padding: 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.25rem; }
h2 { font-size: 1.1rem; margin: 0; }
form { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; }
input[type=search] { flex: 1 1 14rem; }
input, button { font: inherit; padding: .5rem .75rem; min-height: 2.75rem; box-sizing: border-box; }
:focus-visible { outline: 3px solid; outline-offset: 2px; }
ol { padding: 0; list-style: none; }
li { margin: 1.5rem 0; }
p { margin: .25rem 0; }
.about { font-size: .875rem; opacity: .8; }
nav { display: flex; gap: 1.5rem; }
nav a { padding: .5rem 0; }
"""
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()

PAGE_HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": (
        f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; form-action 'self';"
        " base-uri 'none'; frame-ancestors 'none'"
    ),
}
"""The page may load nothing and run nothing; only its own style holds."""


def search_page(
    name: str,
    documents: int,
    *,
    query: str = "",
    limit: int = 10,
    offset: int = 0,
    found: Found | None = None,
    error: str | None = None,
    token: str | None = None,
) -> bytes:
    """The page of the engine `name`, with what was `found` or with the `error` of a query.

    `token` goes on with the form and the links, if the request came with it.
    """
    heading = f"Search {name}"
    title = f"{query} – {heading}" if query else heading
    hidden = "" if token is None else f'<input type="hidden" name="token" value="{escape(token)}">'
    parts = [
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="robots" content="noindex">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n<body>",
        f"<header><h1>{escape(heading)}</h1>",
        f'<p class="about">{documents:,d} documents</p></header>\n<main>',
        '<form role="search" action="/" method="get"><label for="q">Words to look for</label>',
        f'<input type="search" id="q" name="q" value="{escape(query)}" maxlength="1000" required>',
        f'{hidden}<button type="submit">Search</button></form>\n',
    ]
    if error is not None:
        parts.append(f'<p role="alert">{escape(error)}</p>\n')
    if found is not None:
        parts += _found(found, query, limit, offset, token)
    parts.append("</main></body></html>\n")
    return "".join(parts).encode(errors="replace")


def _found(found: Found, query: str, limit: int, offset: int, token: str | None) -> Iterator[str]:
    matches = sum(answer.matches for answer in found.answers)
    count = len(found.results)
    if count:
        shown = f"Results {offset + 1:,d} to {offset + count:,d}, {matches:,d} pages match"
    else:
        shown = "No page matches" if offset == 0 else "No more results"
    yield f'<p role="status">{shown}</p>\n<ol start="{offset + 1}">\n'
    for result in found.results:
        yield _result(result)
    yield "</ol>\n"
    for engine, why in found.failed.items():
        yield f'<p class="about">{escape(engine)} did not answer: {escape(why)}</p>\n'
    links = []
    if offset > 0:
        links.append(_link("prev", "Previous results", query, max(offset - limit, 0), token))
    if count == limit and offset + limit <= MOST_OFFSET:
        links.append(_link("next", "Next results", query, offset + limit, token))
    if links:
        yield f'<nav aria-label="Pages of results">{"".join(links)}</nav>\n'


def _link(relation: str, text: str, query: str, offset: int, token: str | None) -> str:
    asked: dict[str, str | int] = {"q": query, "offset": offset}
    if token is not None:
        asked["token"] = token
    return f'<a rel="{relation}" href="/?{escape(urlencode(asked))}">{text}</a>'


def _result(result: Result) -> str:
    url, title = escape(result.url), escape(result.title.strip() or result.url)
    heading = f"<bdi>{title}</bdi>"
    if result.url.startswith(("http://", "https://")):
        heading = f'<a href="{url}" rel="noreferrer nofollow">{heading}</a>'
    return (
        f'<li><h2>{heading}</h2><p class="about"><bdi>{url}</bdi></p>'
        f'<p><bdi>{_marked(result)}</bdi></p><p class="about">relevance'
        f" {result.relevance:.2f}, from {escape(result.engine)}</p></li>\n"
    )


def _marked(result: Result) -> str:
    """The snippet with the words of the query marked."""
    parts, at = [], 0
    for start, end in sorted(result.marks):
        if start >= at:
            parts.append(escape(result.snippet[at:start]))
            parts.append(f"<mark>{escape(result.snippet[start:end])}</mark>")
            at = end
    parts.append(escape(result.snippet[at:]))
    return "".join(parts)
