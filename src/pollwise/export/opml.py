"""The watched feeds as OPML (http://opml.org/spec2.opml), which feed readers import."""

from typing import BinaryIO
from xml.etree import ElementTree

from pollwise.store.base import StoreReader
from pollwise.texts import printable

__all__ = ["FEED", "write_opml"]

FEED = "feed"
"""What such a page is read as."""


def write_opml(file: BinaryIO, store: StoreReader, min_relevance: float | None) -> int:
    """Write the feeds of a store, with their tags as categories; how many there are.

    A name that somebody gave goes before the title of the feed. Pages count as feeds by their
    latest copies, or without any if an OPML file brought them. With `min_relevance`, as for
    `export_collection`.
    """
    root = ElementTree.Element("opml", version="2.0")
    ElementTree.SubElement(ElementTree.SubElement(root, "head"), "title").text = "Watched feeds"
    body = ElementTree.SubElement(root, "body")
    for record in store.pages():
        is_about = min_relevance is None or (record.relevance or 0.0) >= min_relevance
        if record.source == FEED and is_about:
            page = record.page
            told = {
                "type": "rss",
                "text": printable(page.name or record.title or "") or page.url,
                "xmlUrl": page.url,
            }
            if page.tags:
                told["category"] = printable(",".join(page.tags))
            ElementTree.SubElement(body, "outline", told)
    ElementTree.indent(root)
    ElementTree.ElementTree(root).write(file, encoding="utf-8", xml_declaration=True)
    file.write(b"\n")
    return len(body)
