"""Whether the tree of a page would take more time or memory than its length is worth.

What is counted is never less than what the tree construction of the HTML standard (section 13.2.6)
goes through: in doubt an element is taken to be open still.
"""

import re
from collections import Counter, defaultdict

import numpy as np
import numpy.typing as npt

from pollwise.web.reading.html_tokens import (
    ATTRIBUTE,
    ATTRIBUTES,
    FORMATTING,
    MORE_ATTRIBUTES,
    TOKEN,
    is_self_closing,
)

__all__ = ["DEEPEST", "is_tangled", "nests_deeply"]

DEEPEST = 1_000
"""Elements in each other: browsers stop at about 500."""

_Codes = npt.NDArray[np.uint8]
_Marks = npt.NDArray[np.bool_]

_FEW_TAGS = 1_000
"""With so few start tags no tree has more than 250,000 nodes."""
_MANY_TAGS = 10_000
"""So many take less than a fifth of a second even if they all nest."""
_FEW_HELD = 10
"""So many formatting elements may be opened anew with every tag."""
_MOST_REOPENED = 500_000
"""How often more of them may be opened anew in a page."""
_ALIKE = 3
"""Of formatting elements with the same attributes so many are opened anew."""
_LONG_TAG = 8_192
_MOST_ATTRIBUTES = 1_000
"""Of a long tag, and of all tags of `<html>` and `<body>` together: each is one element."""
_MOST_OVERLAP = 4
"""How often as long as a page may be what may be tags of it: some are in values of others."""
_LOOKED_BACK = 32
"""Open elements among which an end tag looks for its own."""

_LESS, _GREATER, _SLASH = b"<>/"
_LOWER = 32  # the bit that makes a letter a small one
_START = re.compile(rb"<[a-z][^\s/]*+", re.IGNORECASE)
_ROOT = re.compile(rb"<(?:html|body)(?=[\s/])(%b)" % ATTRIBUTES, re.IGNORECASE | re.VERBOSE)
_ROOTS = tuple(name[0] << 8 | name[1] for name in (b"html", b"body"))
_QUOTES = b"\"'"
_BEFORE_VALUE = np.zeros(256, np.bool_)
_BEFORE_VALUE[np.frombuffer(b"= \t\n\f\r\v", np.uint8)] = True
_FORMATTED = re.compile(
    rb"<(?:%b)[\s/][^>]*+" % b"|".join(sorted(FORMATTING - {b"a"})), re.IGNORECASE
)
_MAY_BE_FORMATTED = np.zeros(2**16, np.bool_)
"""By the two characters behind a `<`, made small, whether `_FORMATTED` may match."""
for _name in FORMATTING - {b"a"}:
    for _second in (b" \t\n\f\r\v/", _name[1:2])[len(_name) > 1]:
        _MAY_BE_FORMATTED[_name[0] << 8 | _second | _LOWER] = True


def _names(listed: bytes) -> frozenset[bytes]:
    return frozenset(listed.split())


_VOID = _names(
    b"""
    area base basefont bgsound br col embed frame hr img input keygen link meta param source track
    wbr
    """
)
_SECTIONS = _names(
    b"""
    address article aside blockquote center details dialog dir div dl fieldset figcaption figure
    footer form h1 h2 h3 h4 h5 h6 header hgroup listing main menu nav ol p pre search section
    summary ul
    """
)
_ROW_GROUPS = _names(b"thead tbody tfoot")
_CELLS = _names(b"td th")
_TABLE = _CELLS | _ROW_GROUPS | _names(b"table tr caption")
_ITEMS = _names(b"li dd dt")
_OBJECTS = _names(b"applet button marquee object")
_DRAWINGS = _names(b"svg math")
_WALLS = _CELLS | _OBJECTS | _DRAWINGS | _names(b"caption select table template")
"""Elements that no tag within them ends together with those around, but for tags of tables."""
_TABLE_WALLS = _OBJECTS | _DRAWINGS | _names(b"select table template")
_BLOCKS = _SECTIONS | _TABLE | _ITEMS
_SPECIAL = _WALLS | _BLOCKS
_ITEM_WALLS = _SPECIAL - _names(b"address div p")
_TABLE_PARTS = _TABLE - {b"table"} | _names(b"col colgroup")
_CELLS_OF_TABLES = _CELLS | {b"caption"}
_BREAKING_OUT = _names(
    b"""
    b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li
    listing menu meta nobr ol p pre ruby s small span strong strike sub sup table tt u ul var
    """
)
"""Elements that end the drawing around them (13.2.6.5); others, but for `font`, are part of it."""
_HTML_WITHIN = _names(b"foreignobject desc annotation-xml mi mn mo ms mtext")
"""Elements of drawings that hold HTML."""
_DRAWING_WALLS = _SPECIAL | _BREAKING_OUT
_IN_DRAWING = b"/"
"""What the names of elements that may be part of a drawing begin with."""
_ENDED_BY = {
    **dict.fromkeys(_SECTIONS, ((b"p", _WALLS),)),
    b"li": ((b"li", _ITEM_WALLS), (b"p", _WALLS)),
    b"dd": ((b"dd", _ITEM_WALLS), (b"dt", _ITEM_WALLS), (b"p", _WALLS)),
    b"dt": ((b"dd", _ITEM_WALLS), (b"dt", _ITEM_WALLS), (b"p", _WALLS)),
    **dict.fromkeys(_CELLS, tuple((name, _TABLE_WALLS) for name in _CELLS)),
    b"tr": ((b"tr", _TABLE_WALLS),),
    **dict.fromkeys(_ROW_GROUPS, tuple((name, _TABLE_WALLS) for name in _ROW_GROUPS)),
}
"""The open elements that a start tag ends, and behind which walls they are out of its reach."""


def is_tangled(html: bytes) -> bool:
    """Whether the time or the memory for the tree of a document may grow with its square.

    >>> is_tangled(b"<div>" * 12000), is_tangled(b"<div></div>" * 12000)
    (True, False)
    """
    if len(html) <= _LONG_TAG and html.count(b"<") <= _FEW_TAGS:
        return False
    codes = np.frombuffer(html, np.uint8)
    greater = codes == _GREATER
    ends = np.flatnonzero(greater)
    if np.diff(ends, prepend=-1, append=len(codes)).max() > _LONG_TAG and any(
        map(_has_many_attributes, html.split(b">"))
    ):
        return True
    if len(html) > _LONG_TAG and _has_many_behind_values(html, codes, greater):
        return True
    begins = np.flatnonzero(codes[:-2] == _LESS)
    behind = (codes[begins + 1].astype(np.intp) << 8 | codes[begins + 2]) | _LOWER << 8 | _LOWER
    roots = begins[(behind == _ROOTS[0]) | (behind == _ROOTS[1])].tolist()
    if len(html) > _LONG_TAG and _have_roots_many_attributes(html, roots):
        return True
    starts = int(np.count_nonzero(codes[begins + 1] != _SLASH))
    if starts <= _FEW_TAGS:
        return False
    formatted = begins[_MAY_BE_FORMATTED[behind]].tolist()
    written = {found[0] for begin in formatted if (found := _FORMATTED.match(html, begin))}
    opened_anew = starts * _ALIKE * (len(FORMATTING) + len(written))
    return (starts > _MANY_TAGS or opened_anew > _MOST_REOPENED) and nests_deeply(html)


def nests_deeply(html: bytes) -> bool:
    """Whether elements nest more than `DEEPEST`, or are opened anew too often; in linear time."""
    return _Nesting().is_deep(html)


def _has_many_attributes(piece: bytes) -> bool:
    """Whether what stands before a `>` may be a tag of very many attributes."""
    if len(piece) <= _LONG_TAG:
        return False
    tag = _START.search(piece)
    return tag is not None and (
        len(piece[tag.end() :].split()) > _MOST_ATTRIBUTES
        or len(ATTRIBUTE.findall(piece, tag.end())) > _MOST_ATTRIBUTES
    )


def _has_many_behind_values(html: bytes, codes: _Codes, greater: _Marks) -> bool:
    """Whether a tag that has a `>` in a value may have very many attributes behind it.

    Every place that looks like the begin of such a value is tried: which are in text is in doubt.
    `codes`: the bytes of the document, `greater`: whether they are a `>`.
    """
    room = _MOST_OVERLAP * len(html)
    for quote in _QUOTES:
        if quote not in html:
            continue
        marks = np.flatnonzero((codes == quote) | greater)
        kinds = codes[marks]
        quotes = marks[:-1][kinds[:-1] < kinds[1:]]  # of which a `>` is the next
        for begin in quotes[_BEFORE_VALUE[codes[quotes - 1]]].tolist():
            more = MORE_ATTRIBUTES.match(html, begin)
            if more is None:
                continue
            room -= len(more[0])
            behind = more[1]
            if room < 0 or (
                len(behind) > _MOST_ATTRIBUTES and len(ATTRIBUTE.findall(behind)) > _MOST_ATTRIBUTES
            ):
                return True
    return False


def _have_roots_many_attributes(html: bytes, begins: list[int]) -> bool:
    """Whether all tags of `<html>` and `<body>` together may have very many attributes.

    The standard gives those of later ones to the element of the first (13.2.6.4.7). `begins`: where
    such tags may begin.
    """
    room = _MOST_OVERLAP * len(html)
    found = 0
    for begin in begins:
        tag = _ROOT.match(html, begin)
        if tag is not None:
            room -= len(tag[0])
            found += len(ATTRIBUTE.findall(tag[1]))
            if room < 0 or found > _MOST_ATTRIBUTES:
                return True
    return False


class _Nesting:
    """The elements that are open, and the formatting elements to be opened anew.

    `_waiting` has how many there are with the same name and attributes.
    """

    def __init__(self) -> None:
        self._open: list[tuple[bytes, bytes]] = [(b"", b"")]  # name, attributes
        # How many of them have a name; asked for many that none has, which takes a Counter longer.
        self._named: defaultdict[bytes, int] = defaultdict(int)
        self._walls = 0
        self._waiting: dict[bytes, Counter[bytes]] = {name: Counter() for name in FORMATTING}
        self._held = 0  # formatting elements that are open or waiting
        self._in_drawing = False  # beyond doubt
        self._are_tables_sure = True

    def is_deep(self, html: bytes) -> bool:
        """See `nests_deeply`."""
        opened_anew = 0
        for raw, content, slash, name, attributes, cdata in TOKEN.findall(html):
            if slash:
                self._end(name.lower())
            elif name:
                self._start(name.lower(), attributes)
            elif (raw and self._may_hold_tags(raw, content)) or (
                cdata and self._may_be_in_drawing()
            ):
                return True
            if self._held > _FEW_HELD:
                opened_anew += self._held
                if opened_anew > _MOST_REOPENED:
                    return True
            if len(self._open) > DEEPEST:
                return True
        return False

    def _may_hold_tags(self, name: bytes, content: bytes) -> bool:
        """Whether a browser may see tags in what is text elsewhere, or text behind it."""
        if self._may_be_in_drawing():
            return b"<" in content
        return name.lower() == b"script" and b"<!--" in content and b"<script" in content.lower()

    def _may_be_in_drawing(self) -> bool:
        return self._named[b"svg"] > 0 or self._named[b"math"] > 0

    def _start(self, name: bytes, attributes: bytes) -> None:
        if name in _DRAWINGS:
            if is_self_closing(attributes):
                return
            self._in_drawing = True
        elif name in _HTML_WITHIN or name in _BREAKING_OUT or name == b"font":
            self._in_drawing = False
        elif self._in_drawing and is_self_closing(attributes):
            return
        if self._may_be_in_drawing():
            if name not in _BREAKING_OUT and name not in _DRAWINGS:
                name = _IN_DRAWING + name
            if name not in _VOID:
                self._push(name, attributes)
        elif name not in _VOID and (name not in _TABLE_PARTS or self._is_in_table()):
            if name == b"table" and self._named[name] and not self._is_in_cell():
                self._are_tables_sure = False
            self._end_others(name)
            self._push(name, attributes)

    def _push(self, name: bytes, attributes: bytes) -> None:
        self._open.append((name, attributes))
        self._named[name] += 1
        if name in _WALLS:
            self._walls += 1
        elif name in FORMATTING:
            self._held += 1

    def _is_in_table(self) -> bool:
        """Whether tags of rows and cells count; elsewhere they are ignored."""
        return self._are_tables_sure and self._named[b"table"] > 0

    def _is_in_cell(self) -> bool:
        """Whether a table may begin here without ending the one around it."""
        for opened, _ in reversed(self._open[-_LOOKED_BACK:]):
            if opened in _CELLS_OF_TABLES:
                return True
            if opened == b"table":
                break
        return False

    def _end_others(self, name: bytes) -> None:
        """Close the elements that a start tag of this name ends."""
        for ended, walls in _ENDED_BY.get(name, ()):
            if self._named[ended]:
                self._close(self._depth(ended, walls))
        if name == b"option" and self._open[-1][0] == name:
            self._close(len(self._open) - 1)
        if name == b"a" and self._named[name]:  # links do not nest, but what is in them stays
            self._take_out(self._depth(name, _WALLS))

    def _take_out(self, depth: int) -> None:
        """End the element that is so deep, if there is one, but none that is in it."""
        if depth < len(self._open):
            name, _ = self._open.pop(depth)
            self._named[name] -= 1
            self._held -= name in FORMATTING

    def _end(self, name: bytes) -> None:
        if name in _DRAWINGS:
            self._in_drawing = False
        if self._named[_IN_DRAWING + name]:
            depth = self._depth(_IN_DRAWING + name, _DRAWING_WALLS)
            if depth < len(self._open):
                self._close(depth)
                return
        if self._named[name]:
            self._end_open(name)
        elif name in FORMATTING and self._waiting[name] and not self._walls:
            alike = self._waiting[name]
            attributes = next(reversed(alike))
            alike[attributes] -= 1
            self._held -= 1
            if not alike[attributes]:
                del alike[attributes]

    def _end_open(self, name: bytes) -> None:
        """An end tag of an element that is open, perhaps out of reach."""
        if self._open[-1][0] == name:
            self._close(len(self._open) - 1)
        elif name in _TABLE:
            depth = self._depth(name, _TABLE_WALLS)
            self._are_tables_sure &= depth < len(self._open)
            if self._are_tables_sure:
                self._close(depth)
        elif name == b"form":
            self._take_out(self._depth(name, _WALLS))
        elif name in _BLOCKS or name in _OBJECTS:
            self._close(self._depth(name, _WALLS))
        else:
            walls = _DRAWING_WALLS if name in _DRAWINGS else _SPECIAL
            self._close(self._depth(name, walls))

    def _depth(self, name: bytes, walls: frozenset[bytes]) -> int:
        """How deep the innermost element of this name is; below all if it is out of reach."""
        end = len(self._open)
        for depth in range(end - 1, max(end - _LOOKED_BACK, 0), -1):
            opened = self._open[depth][0]
            if opened == name:
                return depth
            if opened in walls:
                break
        return end

    def _close(self, depth: int) -> None:
        """End the element that is so deep, and all in it, whose formatting goes on behind it."""
        while len(self._open) > depth:
            name, attributes = self._open.pop()
            self._named[name] -= 1
            if name in _WALLS:
                self._walls -= 1
            elif name in FORMATTING:
                alike = self._waiting[name]
                if len(self._open) > depth and alike[attributes] < _ALIKE:
                    alike[attributes] += 1
                else:
                    self._held -= 1
