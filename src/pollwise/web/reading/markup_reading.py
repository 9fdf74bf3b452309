"""One pass over the tags of a document, for its title, text, links and rules for robots.

`page_parser` says what counts as a link and as text.
"""

import re
from dataclasses import dataclass

from ada_url import join_url

from pollwise.web.reading.html_tokens import (
    INLINE,
    TOKEN,
    VOID,
    attributes,
    class_of,
    folded,
    is_hidden,
)
from pollwise.web.reading.parsed_page import (
    MAX_ANCHOR,
    MAX_BLOCKS,
    MAX_LINKS,
    MAX_PLACE,
    MAX_TEXT,
    Link,
    ParsedPage,
)

__all__ = ["ROBOTS_NAMES", "read_markup"]

ROBOTS_NAMES = frozenset({"robots", "pollwise"})
"""The names in rules for robots that mean this one."""

_MAX_TITLE = 300
_MAX_URL = 4_096
_MAX_DEPTH = 512  # as in browsers: deeper elements become siblings
_MAX_MISNESTED = 32

_ROW_GROUPS = frozenset({"thead", "tbody", "tfoot"})
_CLOSED_BY = {
    "dd": frozenset({"p", "dt", "dd"}),
    "dt": frozenset({"p", "dt", "dd"}),
    "li": frozenset({"p", "li"}),
    "option": frozenset({"option"}),
    "optgroup": frozenset({"option", "optgroup"}),
    "td": frozenset({"p", "td", "th"}),
    "th": frozenset({"p", "td", "th"}),
    "tr": frozenset({"p", "td", "th", "tr"}),
    **dict.fromkeys(_ROW_GROUPS, _ROW_GROUPS | {"p", "td", "th", "tr"}),
}
"""The open elements that a start tag ends; tags not listed end a paragraph."""
_PARAGRAPH = frozenset({"p"})

_TRANSPARENT = INLINE - {"a", "img"}
_CELLS = frozenset({"td", "th", "br"})  # a row of a table is one block
_NOT_NESTED = frozenset({"html", "head", "body"})
_TABLE_PARTS = frozenset({"table", "tr", "td", "th", "caption"}) | _ROW_GROUPS
_SCOPES = frozenset({"td", "th", "caption", "template"})

_REFRESH = re.compile(r"""[\s\d.]*[;,\s]\s*(?:url\s*=\s*)?(["']?)(.*)""", re.IGNORECASE | re.DOTALL)
_NOT_ENDORSED = frozenset({"nofollow", "ugc", "sponsored"})


def read_markup(html: str, url: str, *, xml: bool) -> ParsedPage:
    """Read HTML, or XML as if it were XHTML, from the canonical URL `url`."""
    if xml:
        html = html.replace("<![CDATA[", "").replace("]]>", "")
    reading = _Reading(url, self_closing=xml)
    reading.read(html)
    return reading.page()


@dataclass(slots=True)
class _Anchor:
    """A link whose text is being read, in an element of this depth."""

    url: str
    place: str
    nofollow: bool
    label: str
    depth: int
    parts: list[str]
    room: int = 8 * MAX_ANCHOR  # as written, before white space is folded
    alt: str = ""


class _Reading:
    """The state of one reading of a document.

    The open elements are pairs of name and place. Inline elements are not among them, except within
    hidden ones, whose end must be found.
    """

    def __init__(self, url: str, *, self_closing: bool) -> None:
        self._url = url
        self._self_closing = self_closing
        self._base = url
        self._based = False
        self._open = [("body", "body")]
        self._hidden_at: int | None = None
        self._template_at: int | None = None
        self._anchor: _Anchor | None = None
        self._parts: list[str] = []
        self._room = MAX_TEXT
        self._blocks: list[str] = []
        self._targets: dict[str, str] = {}
        self._links: dict[str, Link] = {}
        self._dropped = 0
        self._title = ""
        self._rules: set[str] = set()
        self._canonical: str | None = None
        self._language = ""

    def page(self) -> ParsedPage:
        self._close_to(0)
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

    def read(self, html: str) -> None:
        begin = 0
        for match in TOKEN.finditer(html):
            start = match.start()
            if start > begin:
                self._text(html[begin:start])
            begin = match.end()
            raw, raw_written, content, slash, name, written = match.groups()
            if name:
                name = name.lower()
                if (
                    name in _TRANSPARENT
                    and self._hidden_at is None
                    and (slash or not written or not is_hidden(written))
                ):
                    continue
                if slash:
                    self._end(name)
                else:
                    self._start(name, written)
            elif raw:
                self._raw(raw.lower(), raw_written, content or "")
        self._text(html[begin:])

    def _text(self, text: str) -> None:
        if self._template_at is not None:
            return
        anchor = self._anchor
        if anchor is not None and anchor.room > 0:
            anchor.parts.append(text[: anchor.room])
            anchor.room -= len(text)
        if self._hidden_at is None and self._room > 0 and (self._parts or not text.isspace()):
            self._parts.append(text)

    def _raw(self, name: str, written: str, content: str) -> None:
        if name == "title" and not self._title:
            self._title = folded(content)[:_MAX_TITLE].rstrip()
        elif name == "iframe" and self._template_at is None:
            self._read_frame(name, written)

    def _start(self, name: str, written: str) -> None:
        inline = name in INLINE
        if not inline:
            closed = _CLOSED_BY.get(name, _PARAGRAPH)
            while self._open[-1][0] in closed:
                self._close_to(len(self._open) - 1)
            self._break(name)
        if name in _READ and self._template_at is None:
            _READ[name](self, name, written)
        if name in VOID or name in _NOT_NESTED or len(self._open) == _MAX_DEPTH:
            return
        if self._self_closing and written.endswith("/"):
            self._end(name)
            return
        hides = name == "noscript" or (written != "" and is_hidden(written))
        if inline and not hides and self._hidden_at is None:
            return
        if hides and self._hidden_at is None:
            self._hidden_at = len(self._open)
        if name == "template" and self._template_at is None:
            self._template_at = len(self._open)
        self._open.append((name, self._place(name, written)))

    def _end(self, name: str) -> None:
        if name in INLINE:
            if name == "a":
                self._end_anchor()
            if self._hidden_at is None:
                return
        else:
            self._break(name)
        last = len(self._open) - 1
        if self._open[last][0] == name:
            self._close_to(last)
            return
        for depth in range(last, max(last - _MAX_MISNESTED, 0), -1):
            opened = self._open[depth][0]
            if opened == name:
                self._close_to(depth)
                return
            if name != "template" and (
                opened == "table" or (opened in _SCOPES and name not in _TABLE_PARTS)
            ):
                return

    def _close_to(self, depth: int) -> None:
        del self._open[max(depth, 1) :]
        if self._hidden_at is not None and depth <= self._hidden_at:
            self._hidden_at = None
        if self._template_at is not None and depth <= self._template_at:
            self._template_at = None
        if self._anchor is not None and depth < self._anchor.depth:
            self._end_anchor()

    def _break(self, name: str) -> None:
        if not self._parts:
            return
        if name in _CELLS:
            self._parts.append(" ")
        else:
            self._end_block()

    def _end_block(self) -> None:
        if not self._parts:
            return
        text = folded("".join(self._parts))[: self._room]
        self._parts.clear()
        if text:
            self._blocks.append(text)
            self._room = self._room - len(text) if len(self._blocks) < MAX_BLOCKS else 0

    def _place(self, name: str, written: str) -> str:
        label = class_of(written)
        place = self._open[-1][1] + "/" + name[:30] + ("." + label if label else "")
        if len(place) <= MAX_PLACE:
            return place
        return place[place.index("/", len(place) - MAX_PLACE - 1) + 1 :]

    def _resolved(self, reference: str) -> str:
        """The URL that a reference means; empty if it cannot be fetched."""
        reference = reference.strip().partition("#")[0]
        if len(reference) > _MAX_URL:
            return ""
        known = self._targets.get(reference)
        if known is None:
            known = self._targets[reference] = _joined(self._base, reference)
        return known

    def _target(self, reference: str) -> str:
        """The URL that a link leads to; empty if there is none, or there are too many links."""
        if len(self._targets) >= MAX_LINKS:
            self._dropped += 1
            return ""
        url = self._resolved(reference)
        return "" if url == self._url else url

    def _add_link(self, url: str, anchor: str, place: str, nofollow: bool = False) -> None:
        anchor = anchor[:MAX_ANCHOR].rstrip()
        known = self._links.get(url)
        if known is None:
            self._links[url] = Link(url, anchor, place, nofollow)
        elif known.anchor or not anchor:
            self._endorse(known, nofollow)
        else:
            self._links[url] = Link(url, anchor, place, known.nofollow and nofollow)

    def _endorse(self, known: Link, nofollow: bool) -> None:
        if known.nofollow and not nofollow:
            self._links[known.url] = known._replace(nofollow=False)

    def _end_anchor(self) -> None:
        anchor, self._anchor = self._anchor, None
        if anchor is not None:
            text = folded("".join(anchor.parts)) or anchor.alt or anchor.label
            self._add_link(anchor.url, text, anchor.place, anchor.nofollow)

    def _read_a(self, name: str, written: str) -> None:
        self._end_anchor()
        if len(self._targets) >= MAX_LINKS:
            self._dropped += "href" in written
            return
        told = attributes(written)
        if "href" not in told or not (url := self._target(told["href"])):
            return
        nofollow = "rel" in told and not _NOT_ENDORSED.isdisjoint(told["rel"].lower().split())
        known = self._links.get(url)
        if known is not None and known.anchor:
            self._endorse(known, nofollow)
            return
        self._anchor = _Anchor(
            url, self._place(name, written), nofollow, _label(told), len(self._open), []
        )

    def _read_area(self, name: str, written: str) -> None:
        told = attributes(written)
        if "href" in told and (url := self._target(told["href"])):
            nofollow = not _NOT_ENDORSED.isdisjoint(told.get("rel", "").lower().split())
            label = folded(told.get("alt", "")) or _label(told)
            self._add_link(url, label, self._place(name, written), nofollow)

    def _read_frame(self, name: str, written: str) -> None:
        told = attributes(written)
        if "src" in told and (url := self._target(told["src"])):
            self._add_link(url, _label(told), self._place(name, written))

    def _read_img(self, name: str, written: str) -> None:
        if self._anchor is not None and not self._anchor.alt:
            self._anchor.alt = folded(attributes(written).get("alt", ""))

    def _read_base(self, name: str, written: str) -> None:
        told = attributes(written)
        if "href" in told and not self._based:
            self._based = True
            self._base = _joined(self._base, told["href"]) or self._base
            self._targets.clear()

    def _read_link(self, name: str, written: str) -> None:
        told = attributes(written)
        relations = told.get("rel", "").lower().split()
        if "href" not in told:
            return
        if "canonical" in relations and self._canonical is None:
            self._canonical = _joined(self._base, told["href"].partition("#")[0]) or None
        for relation in ("next", "prev"):
            if relation in relations and (url := self._target(told["href"])):
                self._add_link(url, "", f"link.{relation}")

    def _read_meta(self, name: str, written: str) -> None:
        if self._hidden_at is not None:  # in <noscript>: for browsers without scripts
            return
        told = attributes(written)
        content = told.get("content", "")
        told_as = told.get("http-equiv", "").lower()
        if told.get("name", "").lower() in ROBOTS_NAMES:
            self._rules.update(rule.strip() for rule in content.lower().split(","))
        elif told_as == "refresh" and (found := _REFRESH.match(content)):
            quote, reference = found.groups()
            reference = reference.partition(quote)[0] if quote else reference
            if reference and (url := self._target(reference)):
                self._add_link(url, "", "meta.refresh")
        elif told_as == "content-language" and not self._language:
            self._language = content.strip()[:35]

    def _read_html(self, name: str, written: str) -> None:
        told = attributes(written)
        language = told.get("lang") or told.get("xml:lang") or ""
        self._language = self._language or language.strip()[:35]


_READ = {
    "a": _Reading._read_a,
    "area": _Reading._read_area,
    "base": _Reading._read_base,
    "frame": _Reading._read_frame,
    "html": _Reading._read_html,
    "iframe": _Reading._read_frame,
    "img": _Reading._read_img,
    "link": _Reading._read_link,
    "meta": _Reading._read_meta,
}


def _label(told: dict[str, str]) -> str:
    label = told.get("aria-label") or told.get("title")
    return folded(label) if label else ""


def _joined(base: str, reference: str) -> str:
    """The canonical URL that a reference without fragment means; empty if it cannot be fetched."""
    try:
        url: str = join_url(base, reference)
    except ValueError:
        return ""
    scheme, _, rest = url.partition("://")
    if scheme not in ("http", "https") or "@" in rest.partition("/")[0]:
        return ""
    return url.partition("#")[0]
