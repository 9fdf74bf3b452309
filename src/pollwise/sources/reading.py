"""What a poll sees of a body: the one place where all kinds of documents are read.

=========  ==============================================  ========================================
kind       is recognised by                                what counts
=========  ==============================================  ========================================
page       text/html                                       the visible text
feed       its first element, or the version that it       its items, by their ids, and what they
           tells (JSON Feed); may be gzip                  say but for numbers and dates in it
sitemap    its first element; may be gzip                  its entries, by address and time
json       application/json, ...+json                      every byte, or the values selected
xml        text/xml, ...+xml                               every byte, or the elements selected
pdf        its beginning                                   the lines of its text
text       text/..., and what else is text                 every byte, or what matches
bytes      anything else                                   every byte
=========  ==============================================  ========================================

With selectors of markup or of JSON a feed or a sitemap is read as XML or as JSON.
"""

import codecs
from collections.abc import Sequence
from dataclasses import replace

import xxhash

from pollwise.errors import InputError
from pollwise.sources.feeds import can_read_feeds, read_feed, read_sitemap
from pollwise.sources.json_documents import json_parts
from pollwise.sources.markup import head_of, markup_parts
from pollwise.sources.pdf import can_read_pdf, read_pdf
from pollwise.sources.recognition import cut_as, is_xhtml, recognised
from pollwise.sources.selectors import Language, Selector, compiled, read_selectors
from pollwise.sources.view import (
    WHOLE,
    Kind,
    ListedItem,
    Parts,
    UnreadableError,
    View,
)
from pollwise.texts import printable
from pollwise.web.noise.blocks import blocks_of, cut
from pollwise.web.reading.page_encoding import decoded
from pollwise.web.visible_text import is_html

__all__ = ["LARGE", "read", "read_plainly", "takes_long"]

LARGE = 256 * 1024
"""Bytes from which on a body is large, so that it takes long to read."""
_HEAD = 256 * 1024
"""Bytes of a page in which its head is looked for."""


def takes_long(body: bytes, content_type: str | None, parts: Parts = WHOLE) -> bool:
    """Whether a body has to be read beside the loop, however small it is."""
    return parts != WHOLE or recognised(body, content_type) in ("feed", "sitemap", "pdf")


def read_plainly(body: bytes, content_type: str | None) -> View:
    """A body by its text or its bytes alone, whatever its kind, in linear time. Never raises."""
    kind = cut_as(body, content_type)
    unmarked = body.removeprefix(codecs.BOM_UTF8)
    return View(
        kind,
        _hash(body),
        blocks=tuple(blocks_of(body, content_type)),
        exact=kind != "page",
        unmarked_hash=None if unmarked is body else _hash(unmarked),
    )


def read(body: bytes, content_type: str | None, parts: Parts = WHOLE) -> View:
    """What a poll sees of a decompressed body; `content_type` is the header's value.

    `UnreadableError` if a selector matches nothing, if nothing is left by what is ignored, or if
    the body is too broken, or raises what nobody thought of. `InputError` if the `parts` cannot be
    read.

    >>> read(b"<title>T</title><main>News</main>", "text/html", Parts(select=("main",))).blocks
    ('News',)
    """
    try:
        return _read(body, content_type, parts)
    except (UnreadableError, InputError):
        raise
    # Bodies come from strangers: one that libraries trip over must not end a run.
    except Exception as error:
        why = printable(f"{type(error).__name__}: {error}")[:200]
        raise UnreadableError(f"it cannot be read: {why}") from error


def _read(body: bytes, content_type: str | None, parts: Parts) -> View:
    kind = recognised(body, content_type)
    if parts == WHOLE:
        return _whole(body, content_type, kind)
    if kind == "xml" and is_xhtml(body):
        kind = "page"
    is_list = kind in ("feed", "sitemap")
    base = cut_as(body, content_type) if is_list else kind
    known = {*_languages(base), *(("re",) if is_list else ())}
    select = read_selectors(parts.select, "select")
    # What is ignored may be missing, also as a page is of a kind that has no such parts.
    ignore = [one for one in read_selectors(parts.ignore, "ignore") if one.language in known]
    if not (select or ignore):
        return replace(_whole(body, content_type, kind), mark=parts.mark)
    patterns = tuple(selector for selector in ignore if selector.language == "re")
    if select or len(patterns) < len(ignore):
        kind = base
    view = replace(_whole(body, content_type, kind), exact=False, mark=parts.mark)
    if view.items is not None:
        return replace(view, items=tuple(_item_without(item, patterns) for item in view.items))
    blocks = _selected(decoded(body, content_type), view, select, ignore)
    left = _without(blocks, patterns)
    if not left:
        raise UnreadableError(f"ignore {' and '.join(parts.ignore)} leaves nothing")
    return replace(view, blocks=left)


def _whole(body: bytes, content_type: str | None, kind: Kind) -> View:
    """What a poll sees of a body of which no part is selected."""
    if kind == "feed":
        if not can_read_feeds():
            return _read_otherwise(body, content_type, "fastfeedparser", "feeds")
        feed = read_feed(body)
        of_all = f"{feed.without_id} of {len(feed.items)} items"
        notice = f"{of_all} have no id: known by address or text" if feed.without_id else ""
        view = _list(body, kind, feed.items, title=feed.title, notice=notice)
        return replace(view, hub_links=feed.hub_links)
    if kind == "sitemap":
        items, left_out = read_sitemap(body)
        return replace(_list(body, kind, items), left_out=left_out)
    if kind == "pdf":
        if not can_read_pdf():
            return _read_otherwise(body, content_type, "pypdf", "text")
        try:
            title, lines = read_pdf(body)
        except UnreadableError as error:  # an encrypted one will not be another next time
            return replace(read_plainly(body, content_type), notice=f"{error}: read byte for byte")
        return View(kind, _hash(body), title, lines)
    view = read_plainly(body, content_type)
    # One in UTF-16 without its mark is compared by its bytes, and XHTML as XML.
    if not (kind == "page" or is_html(body, content_type) or (kind == "xml" and is_xhtml(body))):
        return view
    title, feeds = head_of(decoded(body[:_HEAD], content_type))
    return replace(view, kind=kind, title=title, feeds=feeds)


def _read_otherwise(body: bytes, content_type: str | None, library: str, extra: str) -> View:
    view = read_plainly(body, content_type)
    kind = "byte for byte" if view.kind == "bytes" else f"as {view.kind}"
    return replace(
        view, notice=f"read {kind}, as {library} is missing: pip install 'pollwise[{extra}]'"
    )


def _list(
    body: bytes, kind: Kind, items: tuple[ListedItem, ...], title: str = "", notice: str = ""
) -> View:
    texts = (text for item in items for text in (item.found.title or item.found.url, item.text))
    return View(kind, _hash(body), title, tuple(filter(None, texts)), items=items, notice=notice)


def _selected(
    text: str, view: View, select: Sequence[Selector], ignore: Sequence[Selector]
) -> list[str]:
    """The blocks that the selectors name, without the elements and values that are ignored."""
    for selector in select:
        if selector.language not in _languages(view.kind):
            given = " or ".join(_WRITTEN[name] for name in _languages(view.kind))
            mend = f"; give {given}" if given else ""
            raise UnreadableError(f"{selector} names no part of {_NAMES[view.kind]}{mend}")
    chosen, dropped = _structural(select), _structural(ignore)
    whole = _blocks(text, view.kind, [], dropped)[0] if dropped else list(view.blocks)
    if not select:
        return whole
    named = dict(zip(chosen, _blocks(text, view.kind, chosen, dropped), strict=False))
    blocks: list[str] = []
    for selector in select:
        found = named[selector] if selector in named else _matches(whole, selector)
        if not found:
            raise UnreadableError(f"select {selector} matches nothing")
        blocks += found
    return blocks


def _languages(kind: Kind) -> tuple[Language, ...]:
    """Those of the selectors that can name parts of this kind."""
    return _LANGUAGES.get(kind, ("re",))


def _structural(selectors: Sequence[Selector]) -> list[Selector]:
    """Those of elements or values, which are found before the text is cut."""
    return [selector for selector in selectors if selector.language != "re"]


def _blocks(
    text: str, kind: Kind, select: Sequence[Selector], ignore: Sequence[Selector]
) -> list[list[str]]:
    """The blocks of what each selector names; none: one list of all."""
    if kind == "json":
        found, cut_like = json_parts(text, select, ignore), "json"
    else:
        found = markup_parts(text, select, ignore, is_xml=kind == "xml")
        cut_like = "xml" if kind == "xml" else "html"
    return [[block for part in parts for block in cut(part, cut_like)] for parts in found]


def _matches(blocks: Sequence[str], pattern: Selector) -> list[str]:
    expression = compiled(pattern)
    found = (match[0].strip() for block in blocks for match in expression.finditer(block))
    return [text for text in found if text]


def _without(blocks: Sequence[str], patterns: Sequence[Selector]) -> tuple[str, ...]:
    """Blocks without what matches a pattern."""
    for pattern in patterns:
        expression = compiled(pattern)
        blocks = [expression.sub("", block).strip() for block in blocks]
    return tuple(filter(None, blocks))


def _item_without(item: ListedItem, patterns: Sequence[Selector]) -> ListedItem:
    title, text = (" ".join(_without([told], patterns)) for told in (item.found.title, item.text))
    return replace(item, found=replace(item.found, title=title), text=text)


def _hash(body: bytes) -> str:
    return xxhash.xxh3_128_hexdigest(body)


_LANGUAGES: dict[Kind, tuple[Language, ...]] = {
    "page": ("css", "xpath", "re"),
    "xml": ("xpath", "re"),
    "json": ("json", "re"),
    "bytes": (),
}
_WRITTEN: dict[Language, str] = {
    "css": "CSS",
    "xpath": "xpath:...",
    "json": "json:...",
    "re": "re:...",
}
_NAMES: dict[Kind, str] = {
    "page": "HTML",
    "xml": "XML",
    "json": "JSON",
    "pdf": "a PDF",
    "text": "plain text",
    "bytes": "what is no text",
}
