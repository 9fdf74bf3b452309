"""Feeds and sitemaps: lists of items.

Feeds are RSS 0.91 to 2.0, Atom and JSON Feed. An item is known by its id, else by its address,
else by what it says.
"""

import json
import re
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from html import unescape
from importlib.util import find_spec
from typing import Any, NamedTuple
from urllib.parse import urljoin

from pollwise.sources.view import LONGEST_TITLE, NO_HUB, HubLinks, ListedItem, UnreadableError
from pollwise.store.records import FoundItem
from pollwise.texts import one_line, printable
from pollwise.web.content_coding import GZIP_MAGIC
from pollwise.web.sitemaps import CutOffError, EntriesBeyond, parse_sitemap
from pollwise.web.visible_text import visible_text

__all__ = ["Feed", "can_read_feeds", "entries_left_out", "read_feed", "read_sitemap"]

_LARGEST = 16 * 1024 * 1024
"""Bytes of a feed, and items of it, that are read: some seconds of work."""
_MOST_ITEMS = 50_000
_LONGEST_ID = 2048
_LONGEST_ADDRESS = 2048
_LINKS = "/*/*[local-name()='link'] | /*/*[local-name()='channel']/*[local-name()='link']"
"""Those of the feed itself: of Atom, and of Atom in RSS."""
_BASE = "{http://www.w3.org/XML/1998/namespace}base"
_JSON_FIELDS = (
    *("id", "url", "title", "summary", "content_html", "content_text"),
    *("date_published", "date_modified"),
)
_ITEM = re.compile(rb"<(?:[\w.-]+:)?(?:item|entry)[\s/>]")
_GUID = re.compile(rb"<(/?(?:[\w.-]+:)?)guid\b", re.IGNORECASE)
_REMEDY = "to compare it as it is, select re:(?s).+"


@dataclass(frozen=True, slots=True)
class Feed:
    """The `title` of a feed and its items, as it lists them; `without_id` of these have no id."""

    title: str
    items: tuple[ListedItem, ...]
    without_id: int
    hub_links: HubLinks = NO_HUB


def can_read_feeds() -> bool:
    """Whether the library for feeds is installed."""
    return find_spec("fastfeedparser") is not None


def read_feed(body: bytes) -> Feed:
    """What a feed says, which may be gzip. `UnreadableError` if it is too broken, too large, or has
    too many items.

    Needs the extra `feeds`, and time that its text may make long: call it beside the loop.
    """
    body = _inflated(body)
    if len(body) > _LARGEST:
        raise UnreadableError(f"a feed of more than {_LARGEST >> 20} MiB; {_REMEDY}")
    try:
        sound = _sound(body)
        parsed = _parsed(sound)
        told = parsed["entries"]
        hub_links, links = _links(body, len(told))
        entries = [
            _item(entry, published, link)
            for entry, published, link in zip(told, _published(sound, told), links, strict=True)
        ]
    except UnreadableError:
        raise
    # Of a feed that is wrong in a new way it raises whatever comes.
    except Exception as error:
        raise UnreadableError(
            f"a feed that cannot be read: {one_line(error)}; {_REMEDY}"
        ) from error
    title = _line(parsed["feed"].get("title"))
    items, without_id = tuple(item for item, _ in entries), sum(not known for _, known in entries)
    return Feed(title, items, without_id, hub_links)


def _inflated(body: bytes) -> bytes:
    """A body without its gzip, if it has any, at most a byte longer than a feed may be."""
    if not body.startswith(GZIP_MAGIC):
        return body
    try:
        return zlib.decompressobj(wbits=31).decompress(body, _LARGEST + 1)
    except zlib.error as error:
        raise UnreadableError(f"a feed whose gzip is broken: {one_line(error)}") from error


class _ItemLink(NamedTuple):
    """The address of an item, as Atom has it, and the xml:base of its link; either may be empty."""

    address: str = ""
    base: str = ""


def _links(body: bytes, count: int) -> tuple[HubLinks, Sequence[_ItemLink]]:
    """What a feed says of hubs, and the link of each of its so many items with its xml:base (XML
    Base, section 4: relative to those around it): the library for feeds tells nothing of these.
    """
    body = body.lstrip()
    if body.startswith(b"{"):
        feed = json.loads(body)
        hubs = feed.get("hubs")
        listed = [hub for hub in hubs if isinstance(hub, dict)] if isinstance(hubs, list) else []
        named = (hub.get("url") for hub in listed if str(hub.get("type")).lower() == "websub")
        hub_links = HubLinks(_address(next(named, "")), _address(feed.get("feed_url")))
        return hub_links, [_ItemLink()] * count
    from lxml import etree

    parser = etree.XMLParser(recover=True, resolve_entities=False, no_network=True)
    root = etree.fromstring(body, parser)
    found: dict[str, str] = {}
    for link in () if root is None else root.xpath(_LINKS):
        for relation in (link.get("rel") or "").lower().split():
            found.setdefault(relation, _address(link.get("href")))
    links = [_ItemLink()] * count
    if root is not None:
        own = [_item_link(item) for item in root.iter("{*}item", "{*}entry")]
        # Of a broken feed the library may find other items.
        links = own if len(own) == count else [_ItemLink(base=_address(root.get(_BASE)))] * count
    return HubLinks(found.get("hub", ""), found.get("self", "")), links


def _item_link(item: Any) -> _ItemLink:
    """The link of an item. In Atom one without a relation is as good as `alternate` (RFC 4287
    section 4.2.7.2), which the library takes only if it comes first.
    """
    is_atom = item.tag.endswith("entry")
    links = list(item.iterchildren("{*}link"))
    relations = ("alternate", None) if is_atom else ("alternate",)
    chosen = (link for relation in relations for link in links if link.get("rel") == relation)
    link = next(chosen, links[0] if links else item)
    return _ItemLink(_address(link.get("href")) if is_atom else "", _address(link.base))


def _address(told: object) -> str:
    return printable(told) if isinstance(told, str) and len(told) <= _LONGEST_ADDRESS else ""


def _parsed(body: bytes) -> Mapping[str, Any]:
    """What the library reads; of bytes, as it would fetch a string that looks like an address."""
    import fastfeedparser

    parsed: Mapping[str, Any] = fastfeedparser.parse(body, include_tags=False, include_media=False)
    return parsed


def _sound(body: bytes) -> bytes:
    """A feed; of JSON only the fields of the right type, as the library takes types for granted.

    `UnreadableError` if it has too many items.
    """
    is_json = body.lstrip().startswith(b"{")
    feed = json.loads(body) if is_json else {}
    count = len(feed.get("items", [])) if is_json else sum(1 for _ in _ITEM.finditer(body))
    if count > _MOST_ITEMS:
        raise UnreadableError(f"a feed of more than {_MOST_ITEMS:,} items; {_REMEDY}")
    if not is_json:
        return body
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


def _published(body: bytes, entries: Sequence[Mapping[str, Any]]) -> list[str | None]:
    """When each item was published, as it says; the library takes ids of RSS for times, too."""
    if _GUID.search(body):
        entries = _parsed(_GUID.sub(rb"<\1no-id", body))["entries"]
    return [entry.get("published") for entry in entries]


def _item(
    entry: Mapping[str, Any], published: str | None, link: _ItemLink
) -> tuple[ListedItem, bool]:
    """An item that was published then and has this link, and whether it has an id."""
    title, url = _line(entry.get("title")), printable(str(entry.get("link") or ""))
    contents: Sequence[Mapping[str, Any]] = entry.get("content") or ()
    told = [entry.get("description"), *(content.get("value") for content in contents)]
    # The description is often made of the content.
    text = max((_text(each) for each in told), key=len)
    key = _id(entry)
    identity = key or url or f"{title}\n{text}"
    shown = title or _line(text)
    found = FoundItem(
        key or url or shown,
        shown,
        _under(link.base, link.address or url[:_LONGEST_ID]),
        _seconds(published or entry.get("updated")),
    )
    return ListedItem(found, identity, text), bool(key)


def _under(base: str, url: str) -> str:
    """The URL of an item with this xml:base (empty: none).

    >>> _under("/news/", "today"), _under("/news/", "http://h/"), _under("", "today")
    ('/news/today', 'http://h/', 'today')
    """
    if base and url and "://" not in url:
        with suppress(ValueError):
            return urljoin(base, url)
    return url


def _id(entry: Mapping[str, Any]) -> str:
    return printable(str(entry.get("id") or ""))[:_LONGEST_ID]


def _line(title: object) -> str:
    return printable(_text(title))[:LONGEST_TITLE]


def _text(markup: object) -> str:
    """The visible text of what may be HTML."""
    return unescape(visible_text(str(markup or "").encode(errors="replace")))


def _seconds(time: object) -> float | None:
    """The UTC seconds of a time in ISO 8601; None if it is none of the years 1 to 9999 in UTC."""
    try:
        return datetime.fromisoformat(str(time)).astimezone(UTC).timestamp() if time else None
    except (ValueError, OverflowError):
        return None


def read_sitemap(body: bytes) -> tuple[tuple[ListedItem, ...], str]:
    """The entries of a sitemap, or of an index of them, and what was left out, in words.

    An entry of another time is another item.

    `UnreadableError` if it is cut off: the others would be new the next time. A full one takes
    about a second: call it beside the loop.
    """
    beyond = EntriesBeyond()
    try:
        entries = parse_sitemap(body, whole=True, beyond=beyond)
    except CutOffError as error:
        raise UnreadableError(f"a sitemap that cannot be compared: {error}") from error
    items = tuple(
        ListedItem(
            FoundItem(entry.url, url=entry.url, published_at=entry.last_modified),
            f"{entry.url} {entry.last_modified}",
        )
        for entry in entries
    )
    return items, entries_left_out(len(entries), beyond)


def entries_left_out(read: int, beyond: EntriesBeyond) -> str:
    """What was left out of a sitemap of which so many entries were read; empty: nothing.

    >>> entries_left_out(50_000, EntriesBeyond(1_200))
    'only the first 50,000 entries are read: 1,200 more are left out'
    """
    if not beyond.count:
        return ""
    more = f"{beyond.count:,} more are" if beyond.is_all else "what follows is"
    return f"only the first {read:,} entries are read: {more} left out"
