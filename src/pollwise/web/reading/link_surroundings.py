"""The text around the links of a document: what is said beside them.

Many lists name a page by a link and say next to it what it is about: in the same paragraph, list
item or table row, in the `<dd>` after a `<dt>`, or, where rows and teasers are made of `<div>`s and
headings, in the element after that of the link. See S. Chakrabarti et al.: Automatic resource
compilation by analyzing hyperlink structure and associated text, Computer Networks 30, 1998.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from selectolax.lexbor import LexborNode

from pollwise.web.reading.parsed_page import MAX_AROUND

__all__ = ["LinkSurroundings"]

_LOOKED_AT = 8 * MAX_AROUND
"""Characters of a text that are read, before white space is folded."""
_SAYS = re.compile(r"[^\W_]")
_HEADINGS = frozenset(["div", "h1", "h2", "h3", "h4", "h5", "h6"])
_BODIES = frozenset(["dd", "div", "p"])


class _Heading(NamedTuple):
    """A link whose element may be the heading of the next one.

    `depth` is the place of its element among the open ones; `before` and `after` are what its own
    block says.
    """

    url: str
    element: LexborNode
    depth: int
    before: str
    after: str


class LinkSurroundings:
    """Finds the texts around links; it is told of links and blocks in the order of the document.

    Where links begin and end is told as a place in the parts of text of the present block. A text
    is read for the two links next to it only, so time is linear.
    """

    def __init__(self) -> None:
        self.spans: list[tuple[int, int, str]] = []
        """Begin and end of the links of the present block, and the URLs that want a text."""
        self._begin: int | None = None
        self._heading: _Heading | None = None

    @property
    def is_in_link(self) -> bool:
        """Whether a link has begun that has not ended."""
        return self._begin is not None

    def begin(self, at: int) -> None:
        """A link begins; none is open."""
        self._begin = at

    def end(self, at: int, url: str) -> None:
        """The link ends, if one is open; `url`: whose text is wanted, or empty."""
        if self._begin is not None:
            self.spans.append((self._begin, at, url))
            self._begin = None

    def end_block(
        self, parts: Sequence[str], around: Sequence[LexborNode], *, left: bool
    ) -> list[tuple[str, str]]:
        """URLs and the texts around their links; those without text are left out.

        `parts` are those of the block that ends, `around` the open elements, innermost last;
        `left`: that one is at its end.
        """
        spans, heading, found = self.spans, self._heading, []
        if self._begin is not None:  # the text of the link goes on in the next block
            spans.append((self._begin, len(parts), ""))
            self._begin = 0
        if heading is not None and parts:
            self._heading = None
            if _is_after(heading, around):
                after = heading.after + " " + "".join(parts[: spans[0][0] if spans else None])
                found.append((heading.url, _nearest(heading.before, after)))
        if not spans:
            return found
        begin = 0
        for following, (first, end, url) in enumerate(spans, start=1):
            if url:
                until = spans[following][0] if following < len(spans) else len(parts)
                before = "".join(parts[begin:first]) if begin < first else ""
                after = "".join(parts[end:until]) if end < until else ""
                text = _nearest(before, after) if before or after else ""
                if text:
                    found.append((url, text))
            begin = end
        if left and url and _may_be_heading(around[-1].tag, is_all=len(spans) == 1 and not text):
            self._heading = _Heading(url, around[-1], len(around) - 1, before, after)
        spans.clear()
        return found


def _may_be_heading(tag: str | None, *, is_all: bool) -> bool:
    """Whether a link may head what follows its element; `is_all`: nothing else is said there."""
    return tag == "dt" or (tag in _HEADINGS and is_all)


def _is_after(heading: _Heading, around: Sequence[LexborNode]) -> bool:
    """Whether the innermost open element is, or is in, the next one after that of a heading."""
    if len(around) <= heading.depth or around[heading.depth].tag not in _BODIES:
        return False
    before = around[heading.depth].prev
    while before is not None and not before.is_element_node:
        before = before.prev
    return before is not None and before.mem_id == heading.element.mem_id


def _nearest(before: str, after: str) -> str:
    """The text next to a link: what comes after it, and before it as far as there is room."""
    after = " ".join(after[:_LOOKED_AT].split())[:MAX_AROUND].rstrip()
    room = MAX_AROUND - len(after) - 1
    text = after
    if room > 0 and before:
        text = f"{' '.join(before[-_LOOKED_AT:].split())[-room:].lstrip()} {after}".strip()
    return text if _SAYS.search(text) else ""
