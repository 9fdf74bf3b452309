"""Endless places of the Web, recognised by their URLs alone.

There are three: a path that repeats itself (relative links on pages that answer under any URL), a
calendar that always has one more month, and a page that is served for any query or number. The
first one shows in the form of a URL, the others in how many URLs have one pattern; of these, the
first so many are as good as any others.
"""

import re
from array import array
from collections.abc import Iterator
from enum import Enum
from struct import Struct

import xxhash

__all__ = ["Trap", "Traps", "is_endless"]

_FEWEST_SEGMENTS, _MOST_SEGMENTS = 3, 20
_MOST_REPEATS = 3
_NUMBER = re.compile(r"\b[0-9a-f]{8,}\b|\d+")
_DATED_PATH = re.compile(r"/\d{4}[-/]\d{1,2}(?:[-/]\d{1,2})?/?$")
_DATED_QUERY = re.compile(r"(?:year|month|week|day|date)=\d|=\d{4}-\d{1,2}(?:-\d{1,2})?(?:&|$)")
_ROWS = 4
_WIDTH = 1 << 20
_LAST = _WIDTH - 1
_PLACES = Struct(f">{_ROWS}I")
"""The cells of a URL within the rows, the last one first."""


class Trap(Enum):
    """A kind of trap that shows in the number of its URLs, in words."""

    CALENDAR = "too many dates of one path"
    NUMBERS = "too many numbers in one pattern"
    QUERIES = "too many queries of one path"


class Traps:
    """How many URLs of a host have the same pattern, for any number of hosts and URLs.

    In a pattern `#` stands for any number. At most `dates_per_path` URLs of one path pattern may
    end in a date or have one in their query; `urls_per_pattern` may differ in numbers only;
    `queries_per_path` queries may have one path pattern. (The latter two are large by default, as a
    news site numbers its articles, and a wiki may have all its pages under one path.)

    A count-min sketch (Cormode and Muthukrishnan 2005) with conservative update keeps the counts in
    16 MB, however many, and never too small. With a million patterns one count in seven was too
    large by 1, and none of 50,000 by more.
    """

    def __init__(
        self,
        *,
        dates_per_path: int = 1000,
        urls_per_pattern: int = 10_000,
        queries_per_path: int = 5000,
    ) -> None:
        self._dates = _Limit(Trap.CALENDAR, dates_per_path)
        self._numbers = _Limit(Trap.NUMBERS, urls_per_pattern)
        self._queries = _Limit(Trap.QUERIES, queries_per_path)
        self._counts = array("I", bytes(4 * _ROWS * _WIDTH))

    def enter(self, url: str) -> Trap | None:
        """The trap that a new URL (canonical) belongs to; None: it is in none and is counted."""
        counts = self._counts
        places = []
        for limit, pattern in self._patterns(url):
            cells = first, second, third, last = _cells(limit.name + pattern)
            least = min(counts[first], counts[second], counts[third], counts[last])
            if least >= limit.most:
                return limit.trap
            places.append((cells, least))
        for cells, least in places:
            for cell in cells:
                if counts[cell] == least:
                    counts[cell] = least + 1
        return None

    def _patterns(self, url: str) -> "Iterator[tuple[_Limit, str]]":
        """The patterns of a URL, without one that no second URL can have."""
        origin_end = url.index("/", 8)
        origin, rest = url[:origin_end], url[origin_end:]
        path, _, query = rest.partition("?")
        numberless = origin + _NUMBER.sub("#", path)
        if _DATED_PATH.search(path) or (query and _DATED_QUERY.search(query)):
            yield self._dates, numberless
        if query:
            yield self._queries, numberless
        pattern = f"{numberless}?{_NUMBER.sub('#', query)}" if query else numberless
        if pattern != url:
            yield self._numbers, pattern


class _Limit:
    """How many URLs of a pattern are no `trap` yet, and what their keys begin with.

    The members of an `Enum` are slow to look up, and to name.
    """

    __slots__ = ("most", "name", "trap")

    def __init__(self, trap: Trap, most: int) -> None:
        self.trap = trap
        self.most = most
        self.name = f"{trap.name} "


def is_endless(path: str) -> bool:
    """Whether a path looks endless.

    It has more than 20 segments, a run of segments three times in a row, or one segment four times.
    Numbers may repeat.

    >>> is_endless("/a/b/a/b/a/b/c.html"), is_endless("/docs/1/1/1/a/docs/")
    (True, False)
    """
    segments = path.split("/")[1:]
    if len(segments) < _FEWEST_SEGMENTS:
        return False
    if len(segments) > _MOST_SEGMENTS:
        return True
    words = [segment for segment in segments if not segment.isdigit()]
    if len(set(words)) == len(words):
        return False
    return any(words.count(word) > _MOST_REPEATS for word in words) or any(
        segments[start : start + 2 * period] == segments[start + period : start + 3 * period]
        and not all(segment.isdigit() for segment in segments[start : start + period])
        for period in range(1, len(segments) // 3 + 1)
        for start in range(len(segments) - 3 * period + 1)
    )


def _cells(key: str) -> tuple[int, int, int, int]:
    """One cell in each row of the sketch."""
    last, third, second, first = _PLACES.unpack(xxhash.xxh3_128_digest(key.encode()))
    return (
        first & _LAST,
        _WIDTH + (second & _LAST),
        2 * _WIDTH + (third & _LAST),
        3 * _WIDTH + (last & _LAST),
    )
