"""Feeds and sitemaps: lists of items.

Feeds are RSS 0.91 to 2.0, Atom and JSON Feed. An item is known by its id, else by its address,
else by what it says.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape, unescape
from importlib.util import find_spec
from typing import Any

from pollwise.sources.view import ListedItem, UnreadableError, printable
from pollwise.store.records import FoundItem
from pollwise.web.sitemaps import CutOffError, parse_sitemap
from pollwise.web.visible_text import visible_text

__all__ = ["Feed", "can_read_feeds", "read_feed", "read_sitemap"]

_LONGEST_TITLE = 500
_LONGEST_ID = 2048
_JSON_FIELDS = (
    *("id", "url", "title", "summary", "content_html", "content_text"),
    *("date_published", "date_modified"),
)


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
        parsed = fastfeedparser.parse(_sound(body), include_tags=False, include_media=False)
        guesses = _guessed_times(parsed["entries"])
        entries = [_item(entry, guesses) for entry in parsed["entries"]]
    # Of a feed that is wrong in a new way it raises whatever comes.
    except Exception as error:
        why = " ".join(str(error).split())[:200]
        raise UnreadableError(
            f"a feed that cannot be read: {why}; to compare it as it is, select re:(?s).+"
        ) from error
    title = _line(parsed["feed"].get("title"))
    return Feed(title, tuple(item for item, _ in entries), sum(not known for _, known in entries))


def _sound(body: bytes) -> bytes:
    """A feed; of JSON only the fields of the right type, as the library takes types for granted."""
    if not body.lstrip().startswith(b"{"):
        return body
    feed = json.loads(body)
    items = [_texts(item) for item in feed.get("items", []) if isinstance(item, dict)]
    sound = json.dumps({**_texts(feed), "items": items}, ensure_ascii=False)
    return sound.encode(errors="replace")


def _texts(told: Mapping[str, object]) -> dict[str, str]:
    # Ids may be numbers, says JSON Feed.
    return {
        name: str(told[name])
        for name in _JSON_FIELDS
        if isinstance(told.get(name), (str, int, float) if name == "id" else str)
    }


def _guessed_times(entries: Iterable[Mapping[str, Any]]) -> Collection[tuple[str, str]]:
    """Ids, each with the time for which the library takes it if an item of RSS tells no time."""
    import fastfeedparser

    ids = {_id(entry) for entry in entries if entry.get("published")}
    doubtful = [key for key in ids if key and not key.startswith(("http://", "https://"))]
    if not doubtful:
        return ()
    items = "".join(f"<item><guid>{escape(key)}</guid></item>" for key in doubtful)
    alone = fastfeedparser.parse(f"<rss><channel>{items}</channel></rss>".encode())
    return {(each["id"], each["published"]) for each in alone["entries"] if each.get("published")}


def _item(
    entry: Mapping[str, Any], guesses: Collection[tuple[str, str]]
) -> tuple[ListedItem, bool]:
    """An item, and whether it has an id."""
    title, url = _line(entry.get("title")), printable(str(entry.get("link") or ""))
    contents: Sequence[Mapping[str, Any]] = entry.get("content") or ()
    told = [entry.get("description"), *(content.get("value") for content in contents)]
    # The description is often made of the content.
    text = max((_text(each) for each in told), key=len)
    key = _id(entry)
    identity = key or url or f"{title}\n{text}"
    shown = title or _line(text)
    times = (entry.get("published"), entry.get("updated"))
    believed = (time for time in times if time and (key, time) not in guesses)
    found = FoundItem(
        key or url or shown,
        shown,
        url[:_LONGEST_ID],
        _seconds(next(believed, None)),
    )
    return ListedItem(found, identity, text), bool(key)


def _id(entry: Mapping[str, Any]) -> str:
    return printable(str(entry.get("id") or ""))[:_LONGEST_ID]


def _line(title: object) -> str:
    return printable(_text(title))[:_LONGEST_TITLE]


def _text(markup: object) -> str:
    """The visible text of what may be HTML."""
    return unescape(visible_text(str(markup or "").encode(errors="replace")))


def _seconds(time: object) -> float | None:
    """The UTC seconds of a time in ISO 8601; None if it is none of the years 1 to 9999 in UTC."""
    try:
        return datetime.fromisoformat(str(time)).astimezone(UTC).timestamp() if time else None
    except (ValueError, OverflowError):
        return None


def read_sitemap(body: bytes) -> tuple[ListedItem, ...]:
    """The entries of a sitemap, or of an index of them; one of another time is another item.

    `UnreadableError` if it is cut off: the others would be new the next time. A full one takes
    about a second: call it beside the loop.
    """
    try:
        entries = parse_sitemap(body, whole=True)
    except CutOffError as error:
        raise UnreadableError(f"a sitemap that cannot be compared: {error}") from error
    return tuple(
        ListedItem(
            FoundItem(entry.url, url=entry.url, published_at=entry.last_modified),
            f"{entry.url} {entry.last_modified}",
        )
        for entry in entries
    )
