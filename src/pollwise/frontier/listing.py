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
_FIELDS = "url, metadata, refetch_at, created_at, crawl, key"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which URLs are asked for: those of a crawl, of a queue (key ""), that contain a text."""

    crawl: str
    key: str
    text: str
    ignore_case: bool

    def text_condition(self) -> tuple[str, list[str]]:
        """What the text asks for, in SQL, with its values."""
        if not self.text:
            return "", []
        is_in = "instr(lower(url), lower(?))" if self.ignore_case else "instr(url, ?)"
        return f" AND {is_in} > 0", [self.text]


class Listing:
    """Looks up URLs in the file behind `reader`."""

    def __init__(self, reader: FrontierReader) -> None:
        self._reader = reader

    def count(self, wanted: Wanted) -> int:
        """How many there are."""
        return sum(self._count_in(queue_id, wanted) for queue_id, _ in self._queues(wanted))

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
        part: list[protocol.URLItem] = []
        for queue_id, key in self._queues(wanted):
            if start > 0 and (count := self._count_in(queue_id, wanted)) <= start:
                start -= count
                continue
            for row in self._rows(queue_id, wanted, start, size):
                part.append(_item((*row, crawl_of(wanted.crawl), key)))
                size -= 1
                if len(part) == _AT_ONCE:
                    yield part
                    part = []
            start = 0
            if size <= 0:
                break
        if part:
            yield part

    def _queues(self, wanted: Wanted) -> Iterator[tuple[int, str]]:
        """Ids and keys of the queues that are asked for, in the order of the keys."""
        crawl, after = crawl_of(wanted.crawl), ""
        if wanted.key:
            yield from self._reader.rows(
                "SELECT id, key FROM queue WHERE crawl = ? AND key = ?", (crawl, wanted.key)
            )
            return
        while rows := self._reader.rows(
            "SELECT id, key FROM queue WHERE crawl = ? AND key > ? ORDER BY key LIMIT ?",
            (crawl, after, _AT_ONCE),
        ):
            yield from rows
            after = rows[-1][1]

    def _count_in(self, queue_id: int, wanted: Wanted) -> int:
        condition, values = wanted.text_condition()
        statement = f"SELECT count(*) FROM url WHERE queue = ?{condition}"
        return int(self._reader.row(statement, (queue_id, *values))[0])

    def _rows(self, queue_id: int, wanted: Wanted, start: int, size: int) -> Iterator[Any]:
        """The rows of a queue, in the order of their URLs."""
        condition, values = wanted.text_condition()
        after = ""
        while size > 0:
            rows = self._reader.rows(
                f"SELECT url, metadata, refetch_at, created_at FROM url WHERE queue = ?{condition}"
                " AND url > ? ORDER BY url LIMIT ? OFFSET ?",
                (queue_id, *values, after, min(size, _AT_ONCE), start),
            )
            if not rows:
                return
            yield from rows
            after, start, size = rows[-1][0], 0, size - len(rows)


def _item(row: Any) -> protocol.URLItem:
    url, metadata, refetch_at, created_at, crawl, key = row
    item = protocol.URLItem(creation_date=created_at)
    item.known.refetchable_from_date = refetch_at
    item.known.info.url, item.known.info.key, item.known.info.crawlID = url, key, crawl
    item.known.info.MergeFromString(metadata)
    return item
