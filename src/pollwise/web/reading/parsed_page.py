"""What a document says, as values."""

from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["MAX_ANCHOR", "MAX_BLOCKS", "MAX_LINKS", "MAX_PLACE", "MAX_TEXT", "Link", "ParsedPage"]

MAX_LINKS = 5_000
"""So many different references of a page are looked at; later ones are only counted."""

MAX_TEXT = 1_000_000
"""So many characters of text are kept of a page, in at most `MAX_BLOCKS` blocks."""

MAX_BLOCKS = 50_000

MAX_ANCHOR = 100
"""So many characters of the text of a link are kept."""

MAX_PLACE = 80
"""So many characters of the place of a link are kept, the last ones."""


class Link(NamedTuple):
    """A page that is linked to.

    `url` is canonical. `anchor` is the visible text, else the alternative text of the images in
    the link, else its `aria-label` or `title`; at most 100 characters. `place` is where the link
    stands: the names of the elements around it, each with its first class, nearest last and at
    most 80 characters of them (`body/div.nav/ul/li/a`); for links that do not stand in the text
    `meta.refresh`, `link.next`, `link.prev`. `nofollow`: no link on the page vouches for the
    target (`rel` has nofollow, ugc or sponsored).
    """

    url: str
    anchor: str
    place: str
    nofollow: bool


@dataclass(frozen=True, slots=True)
class ParsedPage:
    """What a document says; empty, with the `reason` in one line, where it is no text.

    `blocks` are the texts of paragraphs, headings, list items, table rows and so on, in document
    order, white space folded, not empty. `links` are in document order, each target once: the
    first link to it with an anchor counts, or the first. `links_dropped` counts the references
    behind `MAX_LINKS`. `noindex` and `nofollow` are what the page or its X-Robots-Tag asks of
    robots or of pollwise by name (the links are listed all the same). `canonical` is the URL that
    the page names as its own (rel=canonical), `language` the tag of its language, as told.
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
