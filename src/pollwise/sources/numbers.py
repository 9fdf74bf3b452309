"""The first number of a text, as people write prices, rates and counts.

A point or comma that stands between groups of three digits sets thousands apart, the last one
before any other count of digits is the decimal sign. One alone before exactly three digits may be
either: it sets thousands apart (`1.299` and `1,299` are 1299), unless a 0 is before it, or more
than three digits. Spaces and apostrophes between groups of three digits set thousands apart, too,
and so do commas as in India (`12,34,567`). A minus counts before the number or its currency, unless
a letter or digit stands right before it.

In JSON the numbers are those of JSON, also `1.299`; texts there are read as said above, and names
are not read.
"""

import json
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from pollwise.sources.view import View

__all__ = ["Reading", "first_number", "number_in"]

_SPACES = " \u00a0\u2007\u2009\u202f"
_POINTS = ".,\uff0e\uff0c"
"""Signs that set thousands apart in some places, and are the decimal sign in others."""
_NUMBER = re.compile(
    rf"""
    (?:
        (?<![\w)\]%.,]) (?P<minus>[-\u2212])
        (?: (?: [^\w\s.,-] | [A-Z] ){{1,3}} [{_SPACES}]? )?
    )?
    (?P<whole>
        \d{{1,3}} (?P<mark>[{_POINTS}\u066c'\u2019{_SPACES}]) \d{{3}} (?!\d)
            (?: (?P=mark) \d{{3}} (?!\d) | )*+
        | \d{{1,2}} ,\d{{2}} (?: ,\d{{2}} (?!\d) | )*+ ,\d{{3}} (?!\d)
        | \d+
        | (?<![\w.,]) (?=\.\d)
    )
    (?: [{_POINTS}\u066b] (?P<part>\d+) )?
    """,
    re.VERBOSE,
)
_NO_DIGIT = re.compile(r"\D")
_OF_JSON = re.compile(
    r"""
    # A text also without its end: to look on is slow.
    (?P<text> " (?: [^"\\]++ | \\. | )*+ "? ) \s* (?P<colon>:)?
    | (?P<number> -? \d+ (?:\.\d+)? (?:[eE][+-]?\d{1,6})? )
    """,
    re.VERBOSE | re.DOTALL,
)


class Reading(NamedTuple):
    """A number, and the text by which it is written."""

    number: Decimal
    text: str


def first_number(view: View) -> Reading | None:
    """The first number of what a poll sees; None: there is none."""
    if view.kind == "json":
        return _first_of_json(_joined(view.blocks))
    return next((found for block in view.blocks if (found := number_in(block))), None)


def number_in(text: str) -> Reading | None:
    """The first number of a text; None: there is none.

    >>> [str(number_in(text).number) for text in ("1.299,00 €", "£1,299", "1 299", "-0,125 %")]
    ['1299.00', '1299', '1299', '-0.125']
    """
    found = _NUMBER.search(text)
    if found is None:
        return None
    whole, mark, part = found["whole"], found["mark"], found["part"]
    if part is None and mark and mark in _POINTS and int(whole[0]) == 0 and whole.count(mark) == 1:
        whole, part = whole.split(mark)
    sign = "-" if found["minus"] else ""
    number = Decimal(f"{sign}{_NO_DIGIT.sub('', whole) or '0'}.{part or ''}")
    return Reading(number, found[0])


def _joined(blocks: Sequence[str]) -> str:
    """JSON as it was before it was cut, which is behind commas, also those of texts."""
    return "".join(block if block.endswith(",") else f"{block}\n" for block in blocks)


def _first_of_json(document: str) -> Reading | None:
    for token in _OF_JSON.finditer(document):
        if token["number"] is not None:
            return Reading(Decimal(token["number"]), token["number"])
        if token["colon"] is None and (found := number_in(_unescaped(token["text"]))):
            return found
    return None


def _unescaped(text: str) -> str:
    try:
        return str(json.loads(text, strict=False))
    except ValueError:  # it only looks like JSON
        return text
