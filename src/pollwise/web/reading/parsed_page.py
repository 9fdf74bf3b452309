"""What a document says, as values."""

from dataclasses import dataclass
from typing import NamedTuple

__all__ = [
    "MAX_ANCHOR",
    "MAX_AROUND",
    "MAX_BLOCKS",
    "MAX_LINKS",
    "MAX_PLACE",
    "MAX_TEXT",
    "Link",
    "ParsedPage",
]

MAX_LINKS = 5_000
"""The different references of a page that are read; later ones are only counted."""

MAX_TEXT = 1_000_000
"""The characters of a page's text that are kept, in at most `MAX_BLOCKS` blocks."""

MAX_BLOCKS = 50_000

MAX_ANCHOR = 100
"""The characters of a link's text that are kept."""

MAX_AROUND = 100
"""The characters of the text around a link that are kept, those nearest to it."""

MAX_PLACE = 80
"""The last characters of a link's place that are kept."""


class Link(NamedTuple):
    """A page that is linked to.

    `url` is canonical. `anchor` is the visible text, else the alternative text of the images in
    the link, else its `aria-label` or `title`; at most 100 characters. `place` names the elements
    around the link, each with its first class, nearest last (`body/div.nav/ul/li/a`, the last 80
    characters); for links outside the text it is `meta.refresh`, `link.next` or `link.prev`.
    `nofollow`: every link to the target says nofollow, ugc or sponsored (`rel`). `around` is the
    text of its paragraph, list item or table row between the links before and after it, white space
    folded: the first 100 characters after the link, and before it as far as there is room. A `<dt>`
    goes on in its `<dd>`, and an element that is all link, a heading or a `<div>`, in the next one.
    It is empty if nothing is said there, and for hidden links.
    """

    url: str
    anchor: str
    place: str
    nofollow: bool
    around: str = ""


@dataclass(frozen=True, slots=True)
class ParsedPage:
    """What a document says; empty, with the `reason` in one line, if it is no text.

    `blocks` are the texts of paragraphs, headings, list items, table rows and so on, in document
    order, white space folded, not empty. `links` are in document order, each target once: the
    first link to it that has an anchor, else the first. `links_dropped` counts the references
    beyond `MAX_LINKS`. `noindex` and `nofollow` are what the page or its X-Robots-Tag asks of
    robots, or of pollwise by name (the links are listed all the same). `canonical` is the URL that
    the page declares (rel=canonical), `language` its declared language tag.
    """

    title: str = ""
    blocks: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    links_dropped: int = 0
    noindex: bool = False
    nofollow: bool = False
    canonical: str | None = None
    language: str = ""
    reason: str = ""
