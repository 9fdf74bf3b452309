"""What a fetched document says: its title, its text, its links, and its rules for robots.

Time and memory are linear in the length of the body whatever it holds, and the result is bounded.

Links are those that a reader can follow: `<a>` and `<area>`, the documents of frames, the target of
`<meta http-equiv=refresh>`, and `<link rel=next>` and `rel=prev`. Other `<link>`s (translations,
feeds, style sheets) and forms do not count, nor do links to the page itself. URLs must be http or
https without user names; fragments are dropped. Hidden elements are no text, but their links count
(menus that a script unfolds); the content of a `<template>` is neither.
"""

import re
from dataclasses import replace

from pollwise.web.reading.markup_reading import ROBOTS_NAMES, read_markup
from pollwise.web.reading.page_encoding import decoded
from pollwise.web.reading.parsed_page import MAX_BLOCKS, MAX_LINKS, MAX_TEXT, Link, ParsedPage
from pollwise.web.urls import canonical

__all__ = ["MAX_LINKS", "MAX_TEXT", "Link", "ParsedPage", "parse_page"]

_VALUED_RULES = frozenset(
    {"max-snippet", "max-image-preview", "max-video-preview", "unavailable_after"}
)
_PLAIN = frozenset({"text/plain", "text/markdown", "text/x-rst"})
_MARKUP = frozenset({"text/html", "application/xhtml+xml", "application/xml", "text/xml"})
_PARAGRAPH_END = re.compile(r"\n[ \t\r\f]*+\n")


def parse_page(
    body: bytes,
    content_type: str | None,
    url: str,
    x_robots_tag: str = "",
    *,
    text_alone: bool = False,
) -> ParsedPage:
    """Read a decompressed body that came from `url` (after redirects).

    `content_type` and `x_robots_tag` are header values, several X-Robots-Tag fields one a line.
    `text_alone`: of HTML only title and blocks are read, which takes less time.
    No body makes it raise; `InputError` if `url` is no http or https URL.

    >>> page = parse_page(b"<title>T</title><p>See <a href=../b>b</a>", None, "http://x.org/a/")
    >>> page.title, page.blocks, page.links[0].url, page.links[0].anchor, page.links[0].around
    ('T', ('See b',), 'http://x.org/b', 'b', 'See')
    """
    base = canonical(url)
    rules = _header_rules(x_robots_tag)
    kind = (content_type or "").split(";", 1)[0].strip().lower()
    if not kind:
        kind = _sniffed(body)
    if kind in _PLAIN:
        page = ParsedPage(blocks=_paragraphs(decoded(body, content_type)))
    elif kind in _MARKUP or (kind.endswith("+xml") and not kind.startswith("image/")):
        text, is_xml = decoded(body, content_type), kind != "text/html"
        page = read_markup(text, base, xml=is_xml, text_alone=text_alone)
    else:
        page = ParsedPage(reason=f"{kind[:80]} is neither HTML nor plain text")
    if not rules:
        return page
    return replace(
        page,
        noindex=page.noindex or not rules.isdisjoint({"noindex", "none"}),
        nofollow=page.nofollow or not rules.isdisjoint({"nofollow", "none"}),
    )


def _sniffed(body: bytes) -> str:
    start = body[:1024].lstrip()
    if not start.startswith((b"\xff\xfe", b"\xfe\xff")):
        if start.startswith(b"%PDF-") or b"\0" in start:
            return "binary content"
        if b"<" not in start:
            return "text/plain"
    return "text/html"


def _paragraphs(text: str) -> tuple[str, ...]:
    text = text[:MAX_TEXT].replace("\r\n", "\n")
    paragraphs = (" ".join(part.split()) for part in _PARAGRAPH_END.split(text, MAX_BLOCKS - 1))
    return tuple(filter(None, paragraphs))


def _header_rules(value: str) -> set[str]:
    """The rules of X-Robots-Tag for pollwise; on a line, those after `name:` are for that robot."""
    rules = set()
    for line in value.splitlines():
        name = "robots"
        for rule in line.lower().split(","):
            before, colon, behind = rule.partition(":")
            if colon and before.strip() not in _VALUED_RULES:
                name, rule = before.strip(), behind
            if name in ROBOTS_NAMES:
                rules.add(rule.strip())
    return rules
