"""Feeds from an OPML file (http://opml.org/spec2.opml), as feed readers export them."""

import re
from dataclasses import replace
from xml.etree import ElementTree

from pollwise.errors import InputError
from pollwise.importing.imported import Imported, page_of, tag_of
from pollwise.store.records import NewPage

__all__ = ["read_opml"]

_MOST_TAGS = 20
"""Of the folders that a feed is in, the outermost ones."""
_FEED = re.compile(r"\s*(?:feed:(?://)?)+", re.IGNORECASE)
"""The scheme by which a browser finds a feed reader; some programs write it before each copy."""


def read_opml(data: bytes) -> Imported:
    """The feeds of an OPML file; the folders that a feed is in, and its categories, are its tags.

    The text of an outline, or else its title, is the name of the feed. `InputError` if it is no
    OPML. Outlines without a URL of a feed are folders or left out.
    """
    if b"<!ENTITY" in data.replace(b"\0", b""):  # in UTF-16, too
        raise InputError("OPML with entities of its own is not read: export it again")
    try:
        root = ElementTree.fromstring(data)
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise InputError(f"no OPML: {error}; export it again") from error
    if root.tag.lower() != "opml":
        raise InputError(f"no OPML: its first tag is <{root.tag}>, not <opml>")
    pages: list[NewPage] = []
    left_out: list[str] = []
    waiting: list[tuple[ElementTree.Element, tuple[str, ...]]] = [(root, ())]
    while waiting:
        element, tags = waiting.pop()
        if element.tag == "outline":
            name = element.get("text") or element.get("title") or ""
            address = element.get("xmlUrl") or element.get("xmlurl")
            if address:
                try:
                    page = page_of(_fetched(address), tags=_tags(tags, element), name=name)
                    pages.append(replace(page, source="feed"))
                except InputError as error:
                    left_out.append(str(error))
            elif not len(element):
                left_out.append(f"{name or 'an outline'}: no feed (it has no xmlUrl)")
            elif (tag := tag_of(name)) and tag not in tags and len(tags) < _MOST_TAGS:
                tags = (*tags, tag)
        waiting += [(inner, tags) for inner in reversed(element)]
    return Imported("OPML", tuple(pages), tuple(left_out))


def _fetched(address: str) -> str:
    """The URL to fetch for one that may have the scheme of feed readers.

    >>> _fetched("feed://a.example/rss"), _fetched("feed:https://a.example/rss")
    ('http://a.example/rss', 'https://a.example/rss')
    """
    scheme = _FEED.match(address)
    if scheme is None:
        return address
    rest = address[scheme.end() :].strip()
    return rest if rest.lower().startswith(("http://", "https://")) else f"http://{rest}"


def _tags(folders: tuple[str, ...], outline: ElementTree.Element) -> tuple[str, ...]:
    named = (outline.get("category") or "").replace("/", ",").split(",")
    return tuple(dict.fromkeys(filter(None, (*folders, *map(tag_of, named)))))
