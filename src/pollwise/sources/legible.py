"""What people read in the blocks of a text.

A poll compares blocks as they are written. What they say is another matter: shops write `&#36;19`
for $19 and `1&nbsp;299` for 1 299, a tag of XML has numbers of its own, and long words have soft
hyphens in them.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from html import unescape

from pollwise.sources.view import View

__all__ = ["legible", "without_unseen"]

_TAG = re.compile(r"<(?:[^\W\d]|[/!?])")
_REFERENCE = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});?")
"""One of a length that means something: longer numbers are refused by Python."""
_UNSEEN = re.compile("[\xad\u061c\u200b-\u200f\u2060\ufeff]+")
"""Soft hyphens, marks of direction, joiners, and spaces without a width."""
_BEYOND_ASCII = r"\\u(?!00[0-7])[0-9a-fA-F]{4}"
_ESCAPES = re.compile(rf"\\\\|{_BEYOND_ASCII}(?:{_BEYOND_ASCII}|)*+")


def legible(view: View) -> View:
    """What a poll sees, with the signs that references in HTML and XML and escapes in JSON mean,
    and without signs that are not seen.

    Of JSON the escapes of ASCII stay, so that it is JSON still. Tags of XML are left out, as those
    of HTML are before. Linear time on any input.

    >>> legible(View("page", "", blocks=("&#36;1&nbsp;299",))).blocks
    ('$1\\xa0299',)
    """
    texts: Iterable[str] = view.blocks
    if view.kind in ("page", "xml"):
        texts = (_REFERENCE.sub(_referred, text) for text in texts if not _TAG.match(text))
    elif view.kind == "json":
        texts = (_ESCAPES.sub(_escaped, text) for text in texts)
    return replace(view, blocks=tuple(map(without_unseen, texts)))


def without_unseen(text: str) -> str:
    """A text without the signs in it that are not seen."""
    return _UNSEEN.sub("", text)


def _referred(found: re.Match[str]) -> str:
    return unescape(found[0])


def _escaped(found: re.Match[str]) -> str:
    return found[0] if found[0] == r"\\" else str(json.loads(f'"{found[0]}"'))
