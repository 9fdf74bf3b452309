"""Feeds and sitemaps: lists of items.

Feeds are RSS 0.91 to 2.0, Atom and JSON Feed. An item is known by its id, else by its address,
else by what it says.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import unescape
from importlib.util import find_spec
from typing import Any

from pollwise.sources.view import ListedItem, UnreadableError, printable
from pollwise.store.records import FoundItem
from pollwise.web.sitemaps import parse_sitemap
from pollwise.web.visible_text import visible_text

__all__ = ["Feed", "can_read_feeds", "read_feed", "read_sitemap"]

_LONGEST_TITLE = 500
_LONGEST_ID = 2048


@dataclass(frozen=True, slots=True)
class Feed:
    """The `title` of a feed and its items, as it lists them; `without_id` of these have no id."""

    title: str
    items: tuple[ListedItem, ...]
    without_id: int


def can_read_feeds() -> bool:
    """Whether the library for feeds is installed."""
    return find_spec("fastfeedparser") is not None


def read_feed(body: bytes) -> Feed:
    """What a feed says. `UnreadableError` if it is too broken.

    Needs the extra `feeds`, and time that its text may make long: call it beside the loop.
    """
    import fastfeedparser

    try:
        # Bytes, never a string: it would fetch what looks like an address.
        parsed = fastfeedparser.parse(body, include_tags=False, include_media=False)
        entries = [_item(entry) for entry in parsed["entries"]]
    # Of a feed that is wrong in a new way it raises whatever comes.
    except Exception as error:
        why = " ".join(str(error).split())[:200]
        raise UnreadableError(
            f"a feed that cannot be read: {why}; to compare it as it is, select re:(?s).+"
        ) from error
    title = _line(parsed["feed"].get("title"))
    return Feed(title, tuple(item for item, _ in entries), sum(not known for _, known in entries))


def _item(entry: Mapping[str, Any]) -> tuple[ListedItem, bool]:
    """An item, and whether it has an id."""
    title, url = _line(entry.get("title")), printable(str(entry.get("link") or ""))
    contents: Sequence[Mapping[str, Any]] = entry.get("content") or ()
    told = [entry.get("description"), *(content.get("value") for content in contents)]
    # The description is often made of the content.
    text = max((_text(each) for each in told), key=len)
    key = printable(str(entry.get("id") or ""))[:_LONGEST_ID]
    identity = key or url or f"{title}\n{text}"
    shown = title or _line(text)
    found = FoundItem(
        key or url or shown,
        shown,
        url[:_LONGEST_ID],
        _seconds(entry.get("published") or entry.get("updated")),
    )
    return ListedItem(found, identity, text), bool(key)


def _line(title: object) -> str:
    return printable(_text(title))[:_LONGEST_TITLE]


def _text(markup: object) -> str:
    """The visible text of what may be HTML."""
    return unescape(visible_text(str(markup or "").encode(errors="replace")))


def _seconds(time: object) -> float | None:
    """The UTC seconds of a time in ISO 8601; None if it is none."""
    try:
        return datetime.fromisoformat(str(time)).timestamp() if time else None
    except (ValueError, OverflowError):
        return None


def read_sitemap(body: bytes) -> tuple[ListedItem, ...]:
    """The entries of a sitemap, or of an index of them; one of another time is another item.

    Never raises. A full one takes about a second: call it beside the loop.
    """
    return tuple(
        ListedItem(
            FoundItem(entry.url, url=entry.url, published_at=entry.last_modified),
            f"{entry.url} {entry.last_modified}",
        )
        for entry in parse_sitemap(body)
    )
