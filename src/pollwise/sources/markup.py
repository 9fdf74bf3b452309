"""Parts of HTML and XML, found by CSS and XPath, and what the head of a page tells.

CSS is matched by lexbor, which builds the tree that browsers do; its time is kept linear by
`pollwise.web.reading.nesting`.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode

from pollwise.sources.selectors import Selector, compiled
from pollwise.sources.view import LONGEST_TITLE, UnreadableError
from pollwise.texts import printable
from pollwise.web.reading.nesting import DEEPEST, is_tangled, nests_deeply
from pollwise.web.reading.page_tree import tree_of

__all__ = ["head_of", "markup_parts"]

_HEAD = 64 * 1024
"""Characters of a page in which its head is looked for."""
_HEAD_ENDS = re.compile(r"</head\b|<body\b", re.IGNORECASE)
_TITLE = re.compile(r"<title\b[^<>]*+>[^<]*+</title\b", re.IGNORECASE)
_MOST_FEEDS = 10
_FEEDS = frozenset(
    {"application/rss+xml", "application/atom+xml", "application/feed+json", "application/rdf+xml"}
)


def head_of(html: str) -> tuple[str, tuple[str, ...]]:
    """The title of a page, and the addresses of the feeds that it names as its own.

    >>> head_of("<title>News</title><link rel=alternate type=application/rss+xml href=/feed>")
    ('News', ('/feed',))
    """
    html = html[:_HEAD]
    tree = tree_of(_head(html).encode(errors="replace"))
    title = tree.css_first("title")
    if title is None or not _is_title(title):  # what looked like one was in a comment or a script
        tree = tree_of(html.encode(errors="replace"))
        title = next(filter(_is_title, tree.css("title")), None)
    feeds = (
        link.attributes.get("href") or ""
        for link in tree.css("link[rel~=alternate i][href]")
        if (link.attributes.get("type") or "").strip().lower() in _FEEDS
    )
    named = tuple(dict.fromkeys(filter(None, map(str.strip, feeds))))
    text = "" if title is None else printable(title.text())
    return text[:LONGEST_TITLE], named[:_MOST_FEEDS]


def _is_title(node: LexborNode) -> bool:
    """Whether a title is not empty, and none of a drawing."""
    return bool(printable(node.text())) and not node.css_matches("svg title")


def _head(html: str) -> str:
    """The part of a page that is enough to find its title and feeds: most have a head.

    All of it if they may be elsewhere: what looks like the end of the head may be a comment.
    """
    if (end := _HEAD_ENDS.search(html)) is None:
        return html
    head, rest = html[: end.start()], html[end.start() :]
    has_title = _TITLE.search(head) is not None
    return head if has_title and not _may_name_a_feed(rest.lower()) else html


def _may_name_a_feed(html: str) -> bool:
    """Whether there may be a link to one, whose letters may be written by their numbers."""
    return "alternate" in html or ("<link" in html and "&#" in html)


def markup_parts(
    text: str, select: Sequence[Selector], ignore: Sequence[Selector], *, is_xml: bool
) -> list[list[str]]:
    """What each selector names (none: one list with all of it), without what is ignored, as markup.

    A part within another comes only once. `UnreadableError` if that cannot be found. It needs
    the extra `text`.

    >>> page = "<main><h1>News</h1><p class=ad>Buy</p></main><footer>17"
    >>> markup_parts(page, [Selector("css", "main")], [Selector("css", ".ad")], is_xml=False)
    [['<main><h1>News</h1></main>']]
    """
    if not is_xml:
        html = text.encode(errors="replace")
        if nests_deeply(html):
            raise UnreadableError(
                f"its tags nest more than {DEEPEST:,} deep: too deep for selectors"
            )
        if is_tangled(html):
            raise UnreadableError("its tags have too many attributes for selectors")
    for selector in ignore:
        text = _found(text, selector, is_xml).rest()
    if not select:
        return [[text]]
    return [_found(text, selector, is_xml).parts() for selector in select]


def _found(text: str, selector: Selector, is_xml: bool) -> "_ByCss | _ByXpath":
    if selector.language == "css":
        return _ByCss(text, selector, is_xml)
    return _ByXpath(text, selector, is_xml)


class _ByCss:
    """What a CSS selector matches in a page."""

    def __init__(self, text: str, selector: Selector, is_xml: bool) -> None:
        if is_xml:
            raise UnreadableError(f"{selector} selects in HTML, and this is XML: use xpath:")
        self._tree = LexborHTMLParser(text)
        found = self._tree.css(selector.expression)
        inside = {node.mem_id for node in found}
        self._found = [node for node in found if not _is_within(node, inside)]

    def parts(self) -> list[str]:
        return [node.html or "" for node in self._found]

    def rest(self) -> str:
        root = self._tree.root
        for node in self._found:
            if root is not None and node.mem_id == root.mem_id:
                return ""
            node.decompose()
        return self._tree.html or ""


def _is_within(node: Any, nodes: set[int]) -> bool:
    above = node.parent
    while above is not None:
        if above.mem_id in nodes:
            return True
        above = above.parent
    return False


class _ByXpath:
    """What an XPath expression finds: elements, or the texts and attributes of some."""

    def __init__(self, text: str, selector: Selector, is_xml: bool) -> None:
        from lxml import etree

        self._write = etree.tostring
        parser = (
            etree.XMLParser(encoding="utf-8", recover=True, resolve_entities=False, no_network=True)
            if is_xml
            else etree.HTMLParser(encoding="utf-8")
        )
        try:
            self._root = etree.fromstring(text.encode(errors="replace"), parser)
        except etree.XMLSyntaxError as error:
            raise UnreadableError(f"selectors of markup, but there is none: {error}") from error
        try:
            found = [] if self._root is None else compiled(selector)(self._root)
        except etree.XPathError as error:
            raise UnreadableError(f"{selector} cannot be evaluated: {error}") from error
        if any(isinstance(node, tuple) for node in found):
            raise UnreadableError(f"{selector} finds namespaces, not parts of a page")
        self._found = self._outermost(found)

    def _outermost(self, found: Iterable[Any]) -> list[Any]:
        nodes = list(found)
        inside = {id(node) for node in nodes}
        return [
            node
            for node in nodes
            if isinstance(node, str)
            or not any(id(above) in inside for above in node.iterancestors())
        ]

    def parts(self) -> list[str]:
        return [
            str(node)
            if isinstance(node, str)
            else self._write(node, encoding="unicode", with_tail=False)
            for node in self._found
        ]

    def rest(self) -> str:
        for node in self._found:
            if isinstance(node, str):
                self._remove_text(node)
            elif (above := node.getparent()) is not None:
                before = node.getprevious()
                if before is not None:
                    before.tail = (before.tail or "") + (node.tail or "")
                else:
                    above.text = (above.text or "") + (node.tail or "")
                node.tail = None
                above.remove(node)
            else:
                return ""
        return "" if self._root is None else self._write(self._root, encoding="unicode")

    def _remove_text(self, text: Any) -> None:
        owner = text.getparent()
        if text.is_attribute:
            del owner.attrib[text.attrname]
        elif text.is_tail:
            owner.tail = None
        else:
            owner.text = None
