"""The tree of an HTML document, by lexbor as the HTML standard has it, in linear time.

By the standard some pages take time, or even memory, that grows with the square of their length:
64,000 nested `<div>` take 17 seconds, 30 kB of `<b 1><b 2><b 3>` before as many paragraphs 3 GB.
Pages are therefore looked at before. Those that may be such are flattened: that leaves their text
and their links, but not what is within what.
"""

import re

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser

from pollwise.web.reading.html_tokens import FORMATTING, TOKEN
from pollwise.web.reading.nesting import is_tangled

__all__ = ["tree_of"]

_LONGEST_TAG = 8_192
_KEPT = frozenset(b"a area base br iframe img link meta title".split())
_TRANSPARENT = FORMATTING | set(b"abbr cite del dfn ins kbd q span sub sup".split())


def tree_of(html: bytes) -> LexborHTMLParser:
    """The tree of a document in UTF-8; of one that is tangled, of its text and its links alone.

    >>> tree_of(b"<ul><li>" * 12_000 + b"one<a href=x>two").css_first("p:last-child").html
    '<p>one<a href="x">two</a></p>'
    """
    if is_tangled(html):
        html = TOKEN.sub(_flat, html)
    return LexborHTMLParser(html, options=LexborDocumentOptions.WO_EVENTS)


def _flat(token: re.Match[bytes]) -> bytes:
    """What is left of a tag where nothing is to nest."""
    raw, _, slash, name, *_ = token.groups()
    name = (raw or name or b"").lower()
    if name in _KEPT:
        kept = token[0] if len(token[0]) <= _LONGEST_TAG else b""
        return b"</a>" + kept if name == b"a" and not slash else kept
    return b"" if raw or not name or name in _TRANSPARENT else b"</a><p>"
