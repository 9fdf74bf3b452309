"""The tags of an HTML document one after another, in linear time on any input.

No tree is built: by the HTML standard that takes quadratic time and memory for malicious pages
(half a megabyte of `<div>` keeps lexbor busy for more than 20 seconds).
"""

import re
from contextlib import suppress
from html import unescape
from html.entities import html5

__all__ = ["INLINE", "RAW", "TOKEN", "VOID", "attributes", "class_of", "folded", "is_hidden"]

INLINE = frozenset(
    """
    a abbr acronym b bdi bdo big cite code data del dfn em font i img input ins kbd label mark
    nobr q rb rp rt ruby s samp small span strike strong sub sup time tt u var wbr
    """.split()  # noqa: SIM905
)
"""Elements that do not interrupt the text around them."""

VOID = frozenset(
    """
    area base basefont bgsound br col embed frame hr img input keygen link meta param source
    track wbr
    """.split()  # noqa: SIM905
)
"""Elements that have no content and no end tag (HTML standard section 13.1.2)."""

RAW = frozenset({"iframe", "noembed", "noframes", "script", "style", "textarea", "title", "xmp"})
"""Elements whose content holds no tags, up to their own end tag."""

_MAX_WRITTEN = 2**16
_ATTRIBUTES = r"""(?: [^>=]++ | =\s*+ (?: "[^"]*+(?:"|\Z) | '[^']*+(?:'|\Z) )? )*+"""

# Every alternative also ends at the end of the text: see `pollwise.web.visible_text`.
TOKEN = re.compile(
    rf"""
    < (?: ({"|".join(sorted(RAW))}) (?=[\s/>]) ({_ATTRIBUTES})
          (?: (?<=/)> | (?:>|\Z) ((?: [^<]++ | <(?!/\1[\s/>]) )*+) (?: <[^>]*+(?:>|\Z) | \Z) )
        | (/?+) ([a-z][^\s/>]*+) ({_ATTRIBUTES}) (?:>|\Z)
        | !-- (?: -?> | (?: [^-]++ | -(?!-!?>) )*+ (?:--!?>|\Z) )
        | [!?/] [^>]*+ (?:>|\Z) )
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""An element of `RAW` as a whole (groups: name, attributes, content), a tag (groups: `/` of an end
tag, name, attributes), or a comment, declaration or stray end tag (no groups). An element of `RAW`
whose start tag ends in `/>` has no content, even in HTML, where it comes from XHTML or SVG."""

_ATTRIBUTE = re.compile(
    r"""([^\s"'>/=]++) (?: \s*+ = \s*+
        (?: "([^"]*+)(?:"|\Z) | '([^']*+)(?:'|\Z) | ([^\s"'>][^\s>]*+) )? )?""",
    re.VERBOSE,
)
_CLASS = re.compile(r"""(?:^|[\s"'])class\s*+=\s*+["']?\s*+([\w-]{1,30})""", re.IGNORECASE)
_NOT_DISPLAYED = re.compile(r"display\s*:\s*none", re.IGNORECASE)
_REFERENCE = re.compile(r"&(?:(#[^;&\s]{1,9});?|(\w{2,40}(?:;|(?![=\w]))))", re.ASCII)


def attributes(written: str) -> dict[str, str]:
    """The attributes of a tag: names in lower case, character references decoded, the first wins.

    Only the first 64 kB of a tag are read.
    """
    found: dict[str, str] = {}
    for name, quoted, single, bare in _ATTRIBUTE.findall(written, 0, _MAX_WRITTEN):
        value = quoted or single or bare
        found.setdefault(name.lower(), _REFERENCE.sub(_referred, value) if "&" in value else value)
    return found


def class_of(written: str) -> str:
    """The first class among the attributes of a tag; empty if there is none."""
    found = _CLASS.search(written) if written else None
    return found[1] if found else ""


def is_hidden(written: str) -> bool:
    """Whether the attributes of a tag hide the element: `hidden`, or `display: none`."""
    if "none" not in written and "hidden" not in written:
        return False
    told = attributes(written)
    return "hidden" in told or bool(_NOT_DISPLAYED.search(told.get("style", "")))


def folded(text: str) -> str:
    """Text as people read it: character references decoded, white space folded."""
    if "&" in text:
        with suppress(ValueError):  # a number of thousands of digits stays as written
            text = unescape(text)
    return " ".join(text.split())


def _referred(match: re.Match[str]) -> str:
    """HTML standard section 13.2.5.73: in an attribute `&copy=1` is no reference."""
    number, name = match.groups()
    return unescape(match[0]) if number else html5.get(name, match[0])
