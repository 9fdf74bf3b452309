"""What is kept of URLs, as it is asked for: one, a list, or how many.

It reads the file beside the thread that gives URLs out, so that long lists keep nobody waiting.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pollwise.frontier.places import crawl_of, place_of
from pollwise.frontier.protocol import urlfrontier_pb2 as protocol
from pollwise.frontier.store import FrontierReader

__all__ = ["Listing", "Wanted"]

_AT_ONCE = 500
_FIELDS = "url.queue, url.url, metadata, refetch_at, created_at, queue.crawl, queue.key"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which URLs are asked for: those of a crawl, of a queue (key ""), that contain a text."""

    crawl: str
    key: str
    text: str
    ignore_case: bool

    def condition(self) -> tuple[str, list[object]]:
        """The same in SQL, with its values."""
        parts, values = ["queue.crawl = ?"], [crawl_of(self.crawl)]
        if self.key:
            parts.append("queue.key = ?")
            values.append(self.key)
        if self.text:
            is_in = "instr(lower(url.url), lower(?))" if self.ignore_case else "instr(url.url, ?)"
            parts.append(f"{is_in} > 0")
            values.append(self.text)
        return " AND ".join(parts), [*values]


class Listing:
    """Looks up URLs in the file behind `reader`."""

    def __init__(self, reader: FrontierReader) -> None:
        self._reader = reader

    def count(self, wanted: Wanted) -> int:
        """How many there are."""
        condition, values = wanted.condition()
        (count,) = self._reader.row(
            f"SELECT count(*) FROM queue JOIN url ON url.queue = queue.id WHERE {condition}", values
        )
        return int(count)

    def status(self, url: str, key: str, crawl: str) -> protocol.URLItem | None:
        """What is kept of one; None: it is not there."""
        place = place_of(url, key, crawl)
        if place is None:
            return None
        row = self._reader.row(
            f"SELECT {_FIELDS} FROM queue JOIN url ON url.queue = queue.id"
            " WHERE queue.crawl = ? AND queue.key = ? AND url.url = ?",
            (*place, url),
        )
        return None if row is None else _item(row)

    def parts(self, wanted: Wanted, start: int, size: int) -> Iterator[list[protocol.URLItem]]:
        """Up to `size` URLs from `start` on, queue by queue, in parts."""
        condition, values = wanted.condition()
        after: tuple[int, str] = (-1, "")
        while size > 0:
            rows = self._reader.rows(
                f"SELECT {_FIELDS} FROM queue JOIN url ON url.queue = queue.id WHERE {condition}"
                " AND (url.queue, url.url) > (?, ?) ORDER BY url.queue, url.url LIMIT ? OFFSET ?",
                [*values, *after, min(size, _AT_ONCE), start],
            )
            if not rows:
                return
            yield [_item(row) for row in rows]
            after, start, size = (rows[-1][0], rows[-1][1]), 0, size - len(rows)


def _item(row: Any) -> protocol.URLItem:
    _, url, metadata, refetch_at, created_at, crawl, key = row
    item = protocol.URLItem(creation_date=created_at)
    item.known.refetchable_from_date = refetch_at
    item.known.info.url, item.known.info.key, item.known.info.crawlID = url, key, crawl
    item.known.info.MergeFromString(metadata)
    return item
