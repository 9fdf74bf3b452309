"""Changes as an Atom feed (RFC 4287)."""

from collections.abc import Iterable
from datetime import UTC, datetime
from xml.etree import ElementTree

from pollwise.insight.changes import ListedChange, happened
from pollwise.insight.words import in_time
from pollwise.notify.wording import difference_lines, headline, short, title_of
from pollwise.store.records import ChangeKind
from pollwise.texts import printable

__all__ = ["atom_feed"]

_NAMESPACE = "http://www.w3.org/2005/Atom"


def atom_feed(feed_id: str, changes: Iterable[ListedChange], now: float) -> bytes:
    """A feed with this id (a URI) of these changes, the newest first, as a document in UTF-8.

    It is as new as its newest change, or of the time `now` (UTC seconds) if it has none.
    """
    listed = sorted(changes, key=lambda change: -change.seq)
    feed = ElementTree.Element("feed", xmlns=_NAMESPACE)
    _add(feed, "id", feed_id)
    _add(feed, "title", "Changes that pollwise found")
    _add(feed, "updated", _date(max((change.seen_at for change in listed), default=now)))
    _add(ElementTree.SubElement(feed, "author"), "name", "pollwise")
    for change in listed:
        entry = ElementTree.SubElement(feed, "entry")
        _add(entry, "id", change.id)
        _add(entry, "title", _title(change))
        _add(entry, "updated", _date(change.seen_at))
        ElementTree.SubElement(entry, "link", rel="alternate", href=change.url)
        for tag in change.tags:
            ElementTree.SubElement(entry, "category", term=printable(tag))
        what = happened(change.kind, change.status)
        when = in_time(what, change.seen_at - change.before_at)
        _add(entry, "summary", "\n".join([*difference_lines(change), when]))
    ElementTree.indent(feed)
    document: bytes = ElementTree.tostring(feed, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _title(change: ListedChange) -> str:
    """What changed and, of a feed, what its first new item is called."""
    name = title_of(change) if change.kind is ChangeKind.CHANGED else headline(change)
    if not change.items:
        return name
    first, *others = change.items
    more = f" and {len(others):,d} more" if others else ""
    return f"{name}: {short(first.title or first.url or first.key)}{more}"


def _add(parent: ElementTree.Element, name: str, text: str) -> None:
    ElementTree.SubElement(parent, name).text = text


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
