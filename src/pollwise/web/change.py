"""Has a page changed? The cheapest test comes first.

1.  The server says so: 304 Not Modified (RFC 9110 section 15.4.5).
2.  The body is byte for byte the same: equal `body_hash`.
3.  The body is HTML and its visible text is the same: equal `text_hash`. Scripts, styles,
    templates, comments and attributes (nonces, session numbers, cache busters) do not count.

For everything that is not HTML (XHTML included: its tags nest by the rules of XML), for HTML
without visible text (a shell that scripts fill) and for HTML in an encoding that does not extend
ASCII, `text_hash` is the `body_hash`, so that test 3 equals test 2.

One regular expression finds the visible text, in linear time on any input. Why no tree is built:
see `pollwise.web.reading.html_tokens`.
"""

import re
from dataclasses import dataclass

import xxhash

from pollwise.types import PageMemory

__all__ = ["Fingerprint", "fingerprint", "is_changed", "remembered", "visible_text"]

_EARLIER_VERSIONS = 12
"""The versions of a page that are remembered: enough for A/B tests and for servers behind a load
balancer that disagree."""

# Every alternative also ends at the end of the text, so that no scan fails and starts again one
# character later: this keeps the time linear.
_INVISIBLE = re.compile(
    r"""
    <!--(?:-?>|.*?(?:--!?>|\Z))
    | <(script|style|template|noscript)(?=[\s/>]).*?(?:</\1(?=[\s/>])[^>]*(?:>|\Z)|\Z)
    | <[a-z/!?](?:=\s*"[^"]*(?:"|\Z)|=\s*'[^']*(?:'|\Z)|[^>])*+(?:>|\Z)
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
# Not str.split: it would take some letters of windows-1252, read as Latin-1, for white space.
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
    # NUL and ESC: UTF-16 and ISO-2022-JP, where the byte of '<' may mean something else.
    if not _is_html(body, content_type) or b"\0" in body or b"\x1b" in body:
        return Fingerprint(body_hash, body_hash)
    text = visible_text(body)
    if not text:
        return Fingerprint(body_hash, body_hash)
    return Fingerprint(body_hash, xxhash.xxh3_128_hexdigest(text.encode()))


def is_changed(memory: PageMemory, found: Fingerprint) -> bool:
    """Whether a fetched body differs from the latest copy; without a copy it does."""
    return found.body_hash != memory.body_hash and found.text_hash != memory.text_hash


def remembered(memory: PageMemory, found: Fingerprint) -> PageMemory:
    """What to remember of a page once the body found is its latest copy, without validators.

    The page changed back to a version seen before exactly if the `text_hash` found is among
    `memory.earlier_hashes`. The copy before joins the earlier hashes.
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

    Bytes that are not UTF-8 are read as Latin-1, whatever the page declares: different bytes stay
    different, which is all that a comparison needs.

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
