"""Has a page changed? Cheapest question first.

1.  The server says so: 304 Not Modified (RFC 9110 section 15.4.5).
2.  The body is byte for byte the one at hand: equal `body_hash`.
3.  The body is HTML and what a reader sees of it is the same: equal `text_hash`. Scripts, styles,
    templates, comments and attributes (nonces, session numbers, cache busters) do not count.

For everything that is not HTML (XHTML included: its tags nest by the rules of XML), for HTML
without visible text (a shell that scripts fill) and for HTML in an encoding that is no superset
of ASCII, `text_hash` is the `body_hash`, so that layer 3 finds what layer 2 finds.

Visible text is found by one regular expression and not by building the document's tree: a tree
builder that follows the HTML standard needs quadratic time and memory for pages made to hurt it
(half a megabyte of `<div>` keeps lexbor busy for more than 20 seconds), this takes linear time on
any input.
"""

import re
from dataclasses import dataclass

import xxhash

from pollwise.types import PageMemory

__all__ = ["Fingerprint", "fingerprint", "is_changed", "remembered", "visible_text"]

_EARLIER_VERSIONS = 12
"""So many are remembered of a page: enough for tests of variants and for hosts behind a balancer
that do not agree."""

# Every alternative also ends at the end of the text, so no scan is ever given up and begun again
# one character later: that is what keeps the time linear.
_INVISIBLE = re.compile(
    r"""
    <!--(?:-?>|.*?(?:--!?>|\Z))
    | <(script|style|template|noscript)(?=[\s/>]).*?(?:</\1(?=[\s/>])[^>]*(?:>|\Z)|\Z)
    | <[a-z/!?](?:=\s*"[^"]*(?:"|\Z)|=\s*'[^']*(?:'|\Z)|[^>])*+(?:>|\Z)
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
# Not str.split: for windows-1252 read as Latin-1, what it takes for white space are letters.
_SPACE = re.compile(r"[ \t\n\f\r]+")
_HTML_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype\s+html|html)[\s>]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Hexadecimal XXH3 hashes (128 bits) of a body and of its visible text."""

    body_hash: str
    text_hash: str


def fingerprint(body: bytes, content_type: str | None) -> Fingerprint:
    """The hashes of a decompressed body; `content_type` is the header's value. Never raises."""
    body_hash = xxhash.xxh3_128_hexdigest(body)
    # NUL and ESC: UTF-16 and ISO-2022-JP, where the bytes of '<' need not mean '<'.
    if not _is_html(body, content_type) or b"\0" in body or b"\x1b" in body:
        return Fingerprint(body_hash, body_hash)
    text = visible_text(body)
    if not text:
        return Fingerprint(body_hash, body_hash)
    return Fingerprint(body_hash, xxhash.xxh3_128_hexdigest(text.encode()))


def is_changed(memory: PageMemory, found: Fingerprint) -> bool:
    """Whether a fetched body differs from the copy at hand; without a copy it does."""
    return found.body_hash != memory.body_hash and found.text_hash != memory.text_hash


def remembered(memory: PageMemory, found: Fingerprint) -> PageMemory:
    """What to remember of a page whose copy is now the one found: no validators as yet.

    The page was changed back to a version that was seen before exactly if the `text_hash` found
    is among `memory.earlier_hashes`; with the copy at hand, they make the earlier hashes.
    """
    seen = [*memory.earlier_hashes, *([memory.text_hash] if memory.text_hash else [])]
    earlier = [text_hash for text_hash in seen if text_hash != found.text_hash]
    return PageMemory(
        body_hash=found.body_hash,
        text_hash=found.text_hash,
        earlier_hashes=tuple(earlier[-_EARLIER_VERSIONS:]),
    )


def visible_text(body: bytes) -> str:
    """What a reader sees of an HTML page, white space folded. Never raises.

    Bytes that are not UTF-8 are read as Latin-1, whatever the page declares: every byte stays
    apart from every other, which is all that a comparison needs.

    >>> visible_text(b"<p class=x>Caf\\xe9 <!-- 17 -->opens<script>nonce = 3</script>")
    'Café opens'
    """
    try:
        html = body.decode("utf-8")
    except UnicodeDecodeError:
        html = body.decode("latin-1")
    return _SPACE.sub(" ", _INVISIBLE.sub(" ", html)).strip(" ")


def _is_html(body: bytes, content_type: str | None) -> bool:
    if content_type is None:
        return _HTML_START.match(body) is not None
    return content_type.split(";", 1)[0].strip().lower() == "text/html"
