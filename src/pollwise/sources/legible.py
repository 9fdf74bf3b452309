"""What people read in a block of text.

A poll compares blocks as they are written. What they say is another matter: shops write `&#36;19`
for $19 and `1&nbsp;299` for 1 299, a tag of XML has numbers of its own, and long words have soft
hyphens in them.
"""

import json
import re
from dataclasses import replace
from html import unescape

from pollwise.sources.view import Kind, View

__all__ = ["legible", "legible_view", "without_unseen"]

_CDATA = "<![CDATA[", "]]>"
_TAG = re.compile(r"<(?:[^\W\d]|[/!?])")
_REFERENCE = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});?")
"""One of a length that means something: longer numbers are refused by Python."""
_UNSEEN = re.compile("[\xad\u061c\u200b-\u200f\u2060\ufeff]+")
"""Soft hyphens, marks of direction, joiners, and spaces without a width."""
_BEYOND_ASCII = r"\\u(?!00[0-7])[0-9a-fA-F]{4}"
_ESCAPES = re.compile(rf"\\\\|{_BEYOND_ASCII}(?:{_BEYOND_ASCII}|)*+")


def legible(block: str, kind: Kind) -> str:
    """A block of a body of this kind, with the signs that references and escapes in it mean.

    Empty: it is a tag of XML. Of JSON the escapes of ASCII stay, so that it is JSON still. Linear
    time on any input.

    >>> legible("&#36;1&nbsp;299", "page"), legible("<![CDATA[It rains]]>", "xml")
    ('$1\\xa0299', 'It rains')
    """
    if kind in ("page", "xml"):
        bare = block.removeprefix(_CDATA[0]).removesuffix(_CDATA[1]).strip()
        return "" if _TAG.match(bare) else _REFERENCE.sub(_referred, bare)
    return _ESCAPES.sub(_escaped, block) if kind == "json" else block


def legible_view(view: View) -> View:
    """What a poll sees, of which people read the blocks, without signs that are not seen."""
    texts = (without_unseen(legible(block, view.kind)) for block in view.blocks)
    return replace(view, blocks=tuple(filter(None, texts)))


def without_unseen(text: str) -> str:
    """A text without the signs in it that are not seen."""
    return text if text.isascii() else _UNSEEN.sub("", text)


def _referred(found: re.Match[str]) -> str:
    return unescape(found[0])


def _escaped(found: re.Match[str]) -> str:
    return found[0] if found[0] == r"\\" else str(json.loads(f'"{found[0]}"'))
