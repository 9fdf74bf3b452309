"""One walk through the tree of a document, for its title, text, links and rules for robots.

`page_parser` says what counts as a link and as text.
"""

import re
from dataclasses import dataclass

from ada_url import join_url
from selectolax.lexbor import LexborHTMLParser, LexborNode

from pollwise.texts import printable
from pollwise.web.reading.link_surroundings import LinkSurroundings
from pollwise.web.reading.page_tree import tree_of
from pollwise.web.reading.parsed_page import (
    MAX_ANCHOR,
    MAX_BLOCKS,
    MAX_LINKS,
    MAX_PLACE,
    MAX_TEXT,
    Link,
    ParsedPage,
)
from pollwise.web.urls import base_of, plainly_joined

__all__ = ["ROBOTS_NAMES", "read_markup"]

ROBOTS_NAMES = frozenset({"robots", "pollwise"})
"""The names in rules for robots that mean this one."""

_MAX_TITLE = 300
_MAX_TITLES = 1_000
"""Titles that are looked at until one is found: drawings have titles too, and elements nest."""
_MAX_NAME = 30
_MAX_URL = 4_096
"""Characters of a reference, and of the URL that it means: a page may repeat its base in each."""

_DOCUMENT = LexborHTMLParser("")


def _ids(kind: int, names: str) -> dict[int, int]:
    """The kind of elements of these names, which lexbor numbers alike in any document."""
    return {_DOCUMENT.create_node(name).tag_id: kind for name in names.split()}


_TEXT, _COMMENT, _INSTRUCTION = 2, 4, 0

_BLOCK, _CELL, _INLINE, _LINK, _OUTERMOST, _TEMPLATE, _UNSEEN = range(7)
"""Kinds of elements: those that interrupt the text around them; those that end a cell or a line;
those that do not interrupt; links; those that are part of no place; templates; and those whose
content is no text of the page. Their order counts: those up to cells are in places, and from
templates on their children are not the next to be read."""
_UNBROKEN = frozenset({_INLINE, _LINK, _UNSEEN})
_KINDS = {
    **_ids(
        _INLINE,
        """
        abbr acronym b bdi bdo big cite code data del dfn em font i input ins kbd label mark nobr
        q rb rp rt ruby s samp small span strike strong sub sup time tt u var wbr
        """,
    ),
    **_ids(_CELL, "td th br"),
    **_ids(_LINK, "a"),
    **_ids(_OUTERMOST, "html head body"),
    **_ids(_TEMPLATE, "template"),
    **_ids(_UNSEEN, "iframe img noembed noframes script style textarea title xmp"),
    _COMMENT: _UNSEEN,
    _INSTRUCTION: _UNSEEN,
}
"""The kinds of nodes; any other is `_BLOCK`."""
_HIDING = '[hidden], [style*="none" i]'
_WRAPPING = ["b", "code", "em", "i", "span", "strong"]
"""The elements that are most frequent among those that do not interrupt, but for links."""
_WRAPPING_WITH_LINKS = ["a", *_WRAPPING]

_CLASS = re.compile(r"\s*([\w-]{1,30})")
_NOT_DISPLAYED = re.compile(r"display\s*:\s*none", re.IGNORECASE)
_REFRESH = re.compile(r"""[\s\d.]*[;,\s]\s*(?:url\s*=\s*)?(["']?)(.*)""", re.IGNORECASE | re.DOTALL)
_NOT_ENDORSED = frozenset({"nofollow", "ugc", "sponsored"})
_NOSCRIPT = re.compile(rb"<(/?)noscript(?=[\s/>])", re.IGNORECASE)
_FOR_NOSCRIPT = "data-pollwise-noscript"
_AS_TEMPLATE = rf"<\1template {_FOR_NOSCRIPT}".encode()
"""Where scripts run, <noscript> is no part of the page, whatever it holds, as a <template> is."""
_EMPTY_ELEMENT = re.compile(
    r"""<(?!(?:area|base|br|col|embed|frame|hr|img|input|link|meta|param|source|track|wbr)[\s/])
        ([^\s/><"'!?]++) ((?: [^<>"'/]++ | /(?!>) | "[^"<]*+" | '[^'<]*+' | )*+) />""",
    re.VERBOSE,
)
"""What XML has besides the elements that have no content in HTML either."""


def read_markup(html: str, url: str, *, xml: bool, text_alone: bool = False) -> ParsedPage:
    """Read HTML, or XML as if it were XHTML, from the canonical URL `url`.

    `text_alone`: only its title and its blocks.
    """
    if xml:
        html = html.replace("<![CDATA[", "").replace("]]>", "")
        html = _EMPTY_ELEMENT.sub(r"<\1\2></\1>", html)
    written = html.encode(errors="replace")
    lowered = written.lower()
    if b"noscript" in lowered:
        written = _NOSCRIPT.sub(_AS_TEMPLATE, written)
    reading = _Reading(url)
    hides = b"hidden" in lowered or b"none" in lowered
    reading.read(tree_of(written), text_alone=text_alone, hides=hides)
    return reading.page()


@dataclass(slots=True)
class _Anchor:
    """A link whose text is being read."""

    url: str
    place: str
    nofollow: bool
    told: dict[str, str | None]
    parts: list[str]
    room: int = 8 * MAX_ANCHOR  # before white space is folded
    alt: str = ""

    def read(self, text: str) -> None:
        if self.room > 0:
            self.parts.append(text[: self.room])
            self.room -= len(text)


class _Reading:
    """The state of one reading of a document.

    `_around` are the open elements but for inline ones, `_places` the places of the outer ones of
    them, as far as links asked for them.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._base = base_of(url)
        self._based = False
        self._around: list[LexborNode] = []
        self._places = ["body"]
        self._hidden = False
        self._anchor: _Anchor | None = None
        self._beside = LinkSurroundings()
        self._parts: list[str] = []
        self._room = MAX_TEXT
        self._blocks: list[str] = []
        self._targets: dict[str, str] = {}
        self._links: dict[str, Link] = {}
        self._dropped = 0
        self._title = ""
        self._titles_left = _MAX_TITLES
        self._rules: set[str] = set()
        self._canonical: str | None = None
        self._language = ""

    def page(self) -> ParsedPage:
        self._end_block()
        return ParsedPage(
            title=self._title,
            blocks=tuple(self._blocks),
            links=tuple(self._links.values()),
            links_dropped=self._dropped,
            noindex=not self._rules.isdisjoint({"noindex", "none"}),
            nofollow=not self._rules.isdisjoint({"nofollow", "none"}),
            canonical=self._canonical,
            language=self._language,
        )

    def read(self, tree: LexborHTMLParser, *, text_alone: bool, hides: bool) -> None:
        """Go through all nodes in their order; `hides`: some elements may be hidden.

        What is done for every node stands in this loop, which has thousands of rounds for a page.
        """
        root = tree.root
        if root is None:
            return
        self._read_html(root)
        hiding = {node.mem_id for node in tree.css(_HIDING) if _hides(node)} if hides else set()
        _unwrap(tree, _WRAPPING_WITH_LINKS if text_alone else _WRAPPING, hiding)
        above: list[tuple[LexborNode, int]] = []
        hidden_at = -1
        parts, around, places = self._parts, self._around, self._places
        spans = self._beside.spans
        # The elements that say more than their text, and how they are read.
        reads = _READ_FOR_TEXT if text_alone else _READ
        kind_of = _KINDS.get
        node = root.first_child
        while True:
            if node is None:
                if not above:
                    return
                node, kind = above.pop()
                if kind <= _CELL:
                    if parts or spans:
                        self._break(kind, left=True)
                    around.pop()
                    if len(places) > len(around) + 1:
                        places.pop()
                elif kind == _LINK:
                    self._end_anchor()
                elif kind != _INLINE and (parts or spans):
                    self._break(kind)
                if hidden_at >= 0 and len(above) == hidden_at:
                    hidden_at, self._hidden = -1, False
                node = node.next
                continue
            tag = node.tag_id
            if tag == _TEXT:
                text = node.text_content or ""
                if self._anchor is not None:
                    self._anchor.read(text)
                if (parts or not text.isspace()) and self._room > 0 and not self._hidden:
                    parts.append(text)
                node = node.next
                continue
            kind = kind_of(tag, _BLOCK)
            if kind != _INLINE:
                if (parts or spans) and kind not in _UNBROKEN:
                    self._break(kind)
                if tag in reads:
                    reads[tag](self, node)
            inner = node.first_child if kind < _TEMPLATE else _inner(node, kind)
            if inner is None:
                if kind == _LINK:
                    self._end_anchor()
                node = node.next
                continue
            if hidden_at < 0 and (kind == _TEMPLATE or (hiding and node.mem_id in hiding)):
                hidden_at, self._hidden = len(above), True
            if kind <= _CELL:
                around.append(node)
            above.append((node, kind))
            node = inner

    def _break(self, kind: int, *, left: bool = False) -> None:
        """End the block of text, but for cells: a row of a table is one block.

        `left`: at the end of the innermost open element.
        """
        if kind == _CELL:
            self._parts.append(" ")
        else:
            self._end_block(left=left)

    def _end_block(self, *, left: bool = False) -> None:
        parts = self._parts
        for url, text in self._beside.end_block(parts, self._around, left=left):
            self._links[url] = self._links[url]._replace(around=text)
        if not parts:
            return
        text = _folded("".join(parts) if len(parts) > 1 else parts[0])[: self._room]
        parts.clear()
        if text:
            self._blocks.append(text)
            self._room = self._room - len(text) if len(self._blocks) < MAX_BLOCKS else 0

    def _place(self, node: LexborNode, told: dict[str, str | None]) -> str:
        """The place of a link in this element, which has these attributes."""
        while len(self._places) <= len(self._around):
            around = self._around[len(self._places) - 1]
            self._places.append(_within(self._places[-1], around, around.attributes))
        return _within(self._places[-1], node, told)

    def _resolved(self, reference: str) -> str:
        """The URL that a reference means; empty if it cannot be fetched."""
        reference = reference.strip().partition("#")[0]
        if len(reference) > _MAX_URL:
            return ""
        known = self._targets.get(reference)
        if known is None:
            known = self._targets[reference] = self._joined(reference)
        return known

    def _joined(self, reference: str) -> str:
        """The same of a reference that was not met before."""
        return plainly_joined(self._base, reference) or _parsed(self._base.url, reference)

    def _target(self, reference: str) -> str:
        """The URL that a link leads to; empty if there is none, or there are too many links."""
        if len(self._targets) >= MAX_LINKS:
            self._dropped += 1
            return ""
        url = self._resolved(reference)
        return "" if url == self._url else url

    def _add_link(self, url: str, anchor: str, place: str, nofollow: bool = False) -> bool:
        """Take up a link; whether it is the first one to its target that counts, by now."""
        anchor = anchor[:MAX_ANCHOR].rstrip()
        known = self._links.get(url)
        if known is None:
            self._links[url] = Link(url, anchor, place, nofollow)
        elif known.anchor or not anchor:
            self._endorse(known, nofollow)
            return False
        else:
            self._links[url] = Link(url, anchor, place, known.nofollow and nofollow)
        return True

    def _endorse(self, known: Link, nofollow: bool) -> None:
        if known.nofollow and not nofollow:
            self._links[known.url] = known._replace(nofollow=False)

    def _end_anchor(self) -> None:
        anchor, self._anchor = self._anchor, None
        url = ""
        if anchor is not None:
            text = _folded("".join(anchor.parts)) or anchor.alt or _label(anchor.told)
            if self._add_link(anchor.url, text, anchor.place, anchor.nofollow):
                url = anchor.url
        self._beside.end(len(self._parts), "" if self._hidden else url)

    def _read_a(self, node: LexborNode) -> None:
        if self._anchor is not None or self._beside.is_in_link:
            self._end_anchor()
        told = node.attributes
        reference = told.get("href")
        if reference is None:
            return
        if not self._hidden:
            self._beside.begin(len(self._parts))
        if not (url := self._target(reference)):
            return
        nofollow = "rel" in told and _is_not_endorsed(told)
        known = self._links.get(url)
        if known is not None and known.anchor:
            self._endorse(known, nofollow)
            return
        self._anchor = _Anchor(url, self._place(node, told), nofollow, told, [])

    def _read_area(self, node: LexborNode) -> None:
        told = node.attributes
        reference = told.get("href")
        if reference is not None and (url := self._target(reference)):
            label = _folded(told.get("alt") or "") or _label(told)
            self._add_link(url, label, self._place(node, told), _is_not_endorsed(told))

    def _read_frame(self, node: LexborNode) -> None:
        told = node.attributes
        reference = told.get("src")
        if reference is not None and (url := self._target(reference)):
            self._add_link(url, _label(told), self._place(node, told))

    def _read_img(self, node: LexborNode) -> None:
        if self._anchor is not None and not self._anchor.alt:
            self._anchor.alt = _folded(node.attributes.get("alt") or "")

    def _read_title(self, node: LexborNode) -> None:
        if self._title or not self._titles_left:
            return
        self._titles_left -= 1
        if all(around.tag != "svg" for around in self._around):
            self._title = printable(node.text())[:_MAX_TITLE].rstrip()

    def _read_base(self, node: LexborNode) -> None:
        reference = node.attributes.get("href")
        if reference is not None and not self._based:
            self._based = True
            self._base = base_of(self._joined(reference) or self._base.url)
            self._targets.clear()

    def _read_link(self, node: LexborNode) -> None:
        told = node.attributes
        reference = told.get("href")
        relations = (told.get("rel") or "").lower().split()
        if reference is None:
            return
        if "canonical" in relations and self._canonical is None:
            self._canonical = self._joined(reference.partition("#")[0]) or None
        for relation in ("next", "prev"):
            if relation in relations and (url := self._target(reference)):
                self._add_link(url, "", f"link.{relation}")

    def _read_meta(self, node: LexborNode) -> None:
        if self._hidden:  # in <noscript>: for browsers without scripts
            return
        told = node.attributes
        content = told.get("content") or ""
        told_as = (told.get("http-equiv") or "").lower()
        if (told.get("name") or "").lower() in ROBOTS_NAMES:
            self._rules.update(rule.strip() for rule in content.lower().split(","))
        elif told_as == "refresh" and (found := _REFRESH.match(content)):
            quote, reference = found.groups()
            reference = reference.partition(quote)[0] if quote else reference
            if reference and (url := self._target(reference)):
                self._add_link(url, "", "meta.refresh")
        elif told_as == "content-language" and not self._language:
            self._language = content.strip()[:35]

    def _read_html(self, node: LexborNode) -> None:
        told = node.attributes
        language = told.get("lang") or told.get("xml:lang") or ""
        self._language = language.strip()[:35]


_READ = {
    _DOCUMENT.create_node(name).tag_id: read
    for name, read in {
        "a": _Reading._read_a,
        "area": _Reading._read_area,
        "base": _Reading._read_base,
        "frame": _Reading._read_frame,
        "iframe": _Reading._read_frame,
        "img": _Reading._read_img,
        "link": _Reading._read_link,
        "meta": _Reading._read_meta,
        "title": _Reading._read_title,
    }.items()
}


_TITLE = _DOCUMENT.create_node("title").tag_id
_READ_FOR_TEXT = {_TITLE: _Reading._read_title}


def _hides(node: LexborNode) -> bool:
    """Whether an element that matches `_HIDING` hides what is in it."""
    told = node.attributes
    style = told.get("style") or ""
    return "hidden" in told or _NOT_DISPLAYED.search(style) is not None


def _unwrap(tree: LexborHTMLParser, names: list[str], hiding: set[int]) -> None:
    """Take the elements of these names out of a tree, but not their content.

    They may be more than all other nodes, and for lexbor that takes a fraction of the time. Those
    without content stay, and hidden ones, by their ids.
    """
    if hiding:
        for node in tree.css(", ".join(names)):
            if node.mem_id not in hiding:
                node.unwrap()
    else:
        tree.unwrap_tags(names)
    tree.merge_text_nodes()


def _inner(node: LexborNode, kind: int) -> LexborNode | None:
    """The first node in a template that is written as `<noscript>`; else None."""
    if kind != _TEMPLATE or _FOR_NOSCRIPT not in node.attributes:
        return None
    contents = node.template_fragments()
    return contents[0].first_child if contents else None


def _within(outer: str, node: LexborNode, told: dict[str, str | None]) -> str:
    """The place of an element in an outer one, cut to its last names."""
    place = f"{outer}/{(node.tag or '')[:_MAX_NAME]}"
    if "class" in told and (found := _CLASS.match(told["class"] or "")):
        place += f".{found[1]}"
    if len(place) <= MAX_PLACE:
        return place
    return place[place.index("/", len(place) - MAX_PLACE - 1) + 1 :]


def _is_not_endorsed(told: dict[str, str | None]) -> bool:
    relations = told.get("rel")
    return relations is not None and not _NOT_ENDORSED.isdisjoint(relations.lower().split())


def _label(told: dict[str, str | None]) -> str:
    return _folded(told.get("aria-label") or told.get("title") or "")


def _folded(text: str) -> str:
    """Text as people read it."""
    return " ".join(text.split())


def _parsed(base: str, reference: str) -> str:
    """The canonical URL that a reference means; empty if it cannot be fetched.

    It is empty as well if the URL is longer than `_MAX_URL`.
    """
    try:
        url: str = join_url(base, reference)
    except ValueError:
        return ""
    if len(url) > _MAX_URL:
        return ""
    scheme, _, rest = url.partition("://")
    if scheme not in ("http", "https") or "@" in rest.partition("/")[0]:
        return ""
    return url.partition("#")[0]
