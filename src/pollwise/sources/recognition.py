"""What kind of document a body is, by its beginning first: servers often send feeds as HTML."""

import re
import zlib
from contextlib import suppress

from pollwise.sources.view import Kind
from pollwise.web.content_coding import GZIP_MAGIC
from pollwise.web.noise.blocks import cutting_of

__all__ = ["cut_as", "is_xhtml", "recognised"]

_PDF = "application/pdf"
_BEGINNING = 4096
"""Bytes that are looked at."""

# White space, declarations and comments before the first element. Each alternative begins with
# another character or ends at the end, which keeps the time linear.
_ROOT = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:\s++|<\?.*?\?>|<!--.*?-->|<!(?!--)[^>\[]*(?:\[.*?\]\s*)?>|)*+"
    rb"<(?:[\w.-]+:)?([\w.-]+)",
    re.DOTALL,
)
_LISTS: dict[bytes, Kind] = {
    b"rss": "feed",
    b"urlset": "sitemap",
    b"sitemapindex": "sitemap",
}
# Elements that others have too: by the namespaces of Atom 1.0 and 0.3, and of RSS 1.0.
_FEEDS = {
    b"feed": (b"http://www.w3.org/2005/Atom", b"http://purl.org/atom/ns#"),
    b"RDF": (b"http://purl.org/rss/1.0/",),
}
_JSON_FEED = re.compile(rb'"version"\s*:\s*"https?:\\?/\\?/jsonfeed\.org\\?/')
_CUT: dict[str, Kind] = {"html": "page", "other": "bytes", "json": "json", "xml": "xml"}


def recognised(body: bytes, content_type: str | None) -> Kind:
    """The kind of a decompressed body; `content_type` is the header's value. Never raises.

    A feed or a sitemap may be gzip. An Atom feed in an encoding that does not extend ASCII is not
    recognised.

    >>> recognised(b"<?xml version='1.0'?><rss version='2.0'>", "text/html")
    'feed'
    """
    start = body[:_BEGINNING]
    if start.startswith(GZIP_MAGIC):
        with suppress(zlib.error):
            start = zlib.decompressobj(wbits=31).decompress(start, _BEGINNING)
        is_json_feed = start.lstrip().startswith(b"{") and _JSON_FEED.search(start)
        return _list_of(start) or ("feed" if is_json_feed else "bytes")
    told = (content_type or "").split(";", 1)[0].strip().lower()
    if start.lstrip().startswith(b"%PDF-") or (told == _PDF and b"%PDF-" in start[:1024]):
        return "pdf"
    listed = _list_of(start)
    if listed is not None:
        return listed
    kind = cut_as(body, content_type)
    return "feed" if kind == "json" and _is_json_feed(body) else kind


def cut_as(body: bytes, content_type: str | None) -> Kind:
    """What a body is if it is compared as a whole: `page`, `json`, `xml`, `text` or `bytes`."""
    return _CUT.get(cutting_of(body, content_type), "text")


def is_xhtml(body: bytes) -> bool:
    """Whether the first element of XML is that of a page."""
    root = _ROOT.match(body[:_BEGINNING])
    return root is not None and root[1] == b"html"


def _list_of(start: bytes) -> Kind | None:
    root = _ROOT.match(start)
    if root is None:
        return None
    if any(namespace in start for namespace in _FEEDS.get(root[1], ())):
        return "feed"
    return _LISTS.get(root[1])


def _is_json_feed(body: bytes) -> bool:
    # The version may come last.
    return any(_JSON_FEED.search(part) for part in (body[:_BEGINNING], body[-_BEGINNING:]))
