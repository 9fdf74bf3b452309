"""What a poll sees of a body, as a value."""

from dataclasses import dataclass
from typing import Literal

import xxhash

from pollwise.store.records import FoundItem
from pollwise.types import Page

__all__ = [
    "LONGEST_TITLE",
    "NO_HUB",
    "WHOLE",
    "HubLinks",
    "Kind",
    "ListedItem",
    "Parts",
    "UnreadableError",
    "View",
]

LONGEST_TITLE = 500
"""Characters of a title that are kept."""

Kind = Literal["page", "feed", "sitemap", "json", "xml", "pdf", "text", "bytes"]
"""What a body was read as; `bytes`: as nothing but that."""


class UnreadableError(ValueError):
    """A body of which nothing can be compared; says why in words, on one line."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The selectors of the parts that count (none: all of it), and of those in them that do not.

    They are as people write them: see `pollwise.sources.selectors`.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    @classmethod
    def of(cls, page: Page) -> "Parts":
        """Those of a page."""
        return cls(page.select, page.ignore)

    @property
    def mark(self) -> str:
        """What tells texts of these parts from texts of others; empty for the whole."""
        if self == WHOLE:
            return ""
        told = "\0\0".join(["\0".join(self.select), "\0".join(self.ignore)])
        return "-" + xxhash.xxh3_64_hexdigest(told.encode("utf-8", "surrogatepass"))


WHOLE = Parts()


@dataclass(frozen=True, slots=True)
class ListedItem:
    """An item of a feed or sitemap; `text` is what else it says than its title.

    `identity` is what makes it the item that it is; an item with another one is new.
    """

    found: FoundItem
    identity: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class HubLinks:
    """What a feed names for subscriptions (WebSub), as it writes the addresses.

    `hub` tells subscribers of changes, `topic` is what the feed is called there. Empty: not named.
    """

    hub: str = ""
    topic: str = ""


NO_HUB = HubLinks()


@dataclass(frozen=True, slots=True)
class View:
    """What a poll sees of a body, whose hash is `body_hash` (XXH3, 128 bits, hexadecimal).

    `blocks` are its pieces of text that count, none empty; those of what was ignored are no part of
    them. `exact`: every byte counts, unless some of the blocks are masked as noise, but for a byte
    order mark: `unmarked_hash` is without that (None: there is none). `items` are those of a feed
    or sitemap, as it lists them, and then they alone count; None: it is no list. `feeds` are the
    feeds that a page names as its own, as it writes their addresses. `hub_links` are those of a
    feed. `mark` is that of the `Parts` that were read. `notice` says on one line what is not as one
    may expect, `left_out` which items of a list are not read; empty: nothing.
    """

    kind: Kind
    body_hash: str
    title: str = ""
    blocks: tuple[str, ...] = ()
    exact: bool = False
    unmarked_hash: str | None = None
    items: tuple[ListedItem, ...] | None = None
    feeds: tuple[str, ...] = ()
    hub_links: HubLinks = NO_HUB
    mark: str = ""
    notice: str = ""
    left_out: str = ""
