"""A page cut into blocks, small enough that a clock in one of them leaves the others as they are.

========================  ==========================================================================
page                      blocks
========================  ==========================================================================
HTML                      the visible text between two tags, or of a line of it
JSON                      a value, with its name before it and the brackets behind it
XML, feeds, XHTML         a tag with its attributes, and the text between two tags
other text                a line
anything else             none: nothing of it can be masked
========================  ==========================================================================

White space around a block does not count. All of it takes linear time on any input.
"""

import re

from pollwise.web.reading.page_encoding import UTF_16_MARKS
from pollwise.web.visible_text import is_html, readable, visible_blocks

__all__ = ["Cutting", "blocks_of", "cut", "cutting_of"]

Cutting = str
"""How a body is cut: `html`, `json`, `xml`, `text`, or `other` if it is not."""

_MARKUP = re.compile(r"<[^>]*+>?+|[^<]++")
_VALUES = re.compile(r"[^,{}\[\]]*+[,{}\[\]]++|[^,{}\[\]]++")
# Of application/*: what is text but says so by its whole name.
_TEXTS = frozenset({"javascript", "x-yaml", "yaml", "toml", "x-ndjson", "rtf", "sql"})


def cutting_of(body: bytes, content_type: str | None) -> Cutting:
    """How a body is cut; by its beginning if there is no Content-Type."""
    # NUL and ESC: UTF-16 without its mark and ISO-2022-JP, where the byte of '<' may mean something
    # else.
    if (b"\0" in body or b"\x1b" in body) and not body.startswith(UTF_16_MARKS):
        return "other"
    if is_html(body, content_type):
        return "html"
    if content_type is None:
        start = body[:64].lstrip()[:1]
        return "xml" if start == b"<" else "json" if start in (b"{", b"[") else "text"
    family, _, name = content_type.split(";", 1)[0].strip().lower().partition("/")
    if name == "json" or name.endswith("+json"):
        return "json"
    if name == "xml" or name.endswith("+xml"):
        return "xml"
    return "text" if family == "text" or name in _TEXTS else "other"


def blocks_of(body: bytes, content_type: str | None) -> list[str]:
    """The blocks of a decompressed body, in order, none of them empty. Never raises.

    >>> blocks_of(b'{"generated_at": 17, "tags": ["a", "b"]}', "application/json")
    ['{', '"generated_at": 17,', '"tags": [', '"a",', '"b"]}']
    """
    cutting = cutting_of(body, content_type)
    return [] if cutting == "other" else cut(readable(body, content_type), cutting)


def cut(text: str, cutting: Cutting) -> list[str]:
    """The blocks of a text that is cut so, in order, none of them empty."""
    if cutting == "html":
        return visible_blocks(text)
    if cutting == "text":
        pieces = text.split("\n")
    else:
        pieces = (_MARKUP if cutting == "xml" else _VALUES).findall(text)
    return [piece for piece in map(str.strip, pieces) if piece]
