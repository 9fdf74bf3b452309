"""What differs between a version of a page and the one before, in a few words."""

import pickle
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Protocol

from pollwise.errors import InputError
from pollwise.insight.words import count
from pollwise.sources.legible import legible
from pollwise.sources.reading import LARGE, read, read_plainly, takes_long
from pollwise.sources.recognition import recognised
from pollwise.sources.view import WHOLE, Kind, Parts, UnreadableError, View
from pollwise.store.base import StoreReader
from pollwise.store.records import FoundItem, PageRecord, StoredVersion
from pollwise.texts import printable
from pollwise.web.noise.masks import left_of
from pollwise.web.reading.page_parser import parse_page

__all__ = [
    "Difference",
    "Differs",
    "LatestTexts",
    "VersionText",
    "difference",
    "difference_at",
    "difference_of_texts",
    "lines_of",
    "read_difference",
    "shown_text",
    "text_of",
]

_KEPT = 3
"""Words that are kept on both sides of what differs."""
_MOST_CHARACTERS = 2_000
"""Of what is told of a block of text."""
_KEPT_CHARACTERS = 30
"""Of what is alike before a difference, where words are very long."""
_LEVEL = 1
"""Of compression: what is packed is unpacked once."""
_ENTRY = 500
"""Bytes that a packed text takes besides."""
_LATELY = 10_000
"""Changes among which one is that was found just now."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The title of a new version, and the first block of text that went and that came.

    `title` is empty where there is none. Of two blocks, what they begin and end with alike is left
    out, but for three words. None: no text went, or none came. So many `further` blocks differ.
    `items` are the new ones of a feed, which say all there is to say.
    """

    title: str = ""
    removed: str | None = None
    added: str | None = None
    items: tuple[FoundItem, ...] = ()
    further: int = 0


class Differs(Protocol):
    """What has the fields of a `Difference` that say what went and came."""

    @property
    def removed(self) -> str | None:
        """See `Difference`."""

    @property
    def added(self) -> str | None:
        """See `Difference`."""

    @property
    def items(self) -> tuple[FoundItem, ...]:
        """See `Difference`."""

    @property
    def further(self) -> int:
        """See `Difference`."""


def lines_of(found: Differs, most_items: int = 3, *, addresses: bool = False) -> list[str]:
    """What went and what came and how much more differs, or the first new items of a feed.

    A line each; an item may have another one with its address.

    >>> lines_of(Difference("Shop", "Price: 199 EUR", "Price: 99 EUR", further=2))
    ['- Price: 199 EUR', '+ Price: 99 EUR', 'and 2 more blocks of text']
    """
    sides = (("-", found.removed), ("+", found.added))
    lines = [f"{sign} {printable(text)}" for sign, text in sides if text is not None]
    if found.further:
        lines.append(f"and {count(found.further, 'more block')} of text")
    for item in found.items[:most_items]:
        lines.append(f"+ {printable(item.title or item.url or item.key)}")
        if addresses and item.title and item.url:
            lines.append(printable(item.url))
    if len(found.items) > most_items:
        lines.append(f"+ {count(len(found.items) - most_items, 'more new item')}")
    return lines


@dataclass(frozen=True, slots=True)
class VersionText:
    """What of a version counts: its title (empty: none) and its blocks of text."""

    title: str
    blocks: tuple[str, ...]


class LatestTexts:
    """The texts of versions that were read last: one is that before the next change of its page.

    They take `most` bytes at most; those that were read first are forgotten first.
    """

    def __init__(self, most: int = 16 * 2**20) -> None:
        self._room = most
        self._packed: dict[tuple[str, str], bytes] = {}

    def of(self, version: StoredVersion) -> VersionText | None:
        """The text of a version; None: it is not known."""
        packed = self._packed.get((version.body_hash, version.content_type))
        return None if packed is None else VersionText(*pickle.loads(zlib.decompress(packed)))

    def keep(self, version: StoredVersion, text: VersionText) -> None:
        """Know the text of a version from now on."""
        self.forget(version)
        packed = zlib.compress(pickle.dumps((text.title, text.blocks)), _LEVEL)
        self._packed[version.body_hash, version.content_type] = packed
        self._room -= _ENTRY + len(packed)
        while self._room < 0:
            self._room += _ENTRY + len(self._packed.pop(next(iter(self._packed))))

    def forget(self, version: StoredVersion) -> None:
        """Know the text of a version no more."""
        packed = self._packed.pop((version.body_hash, version.content_type), None)
        if packed is not None:
            self._room += _ENTRY + len(packed)


def read_difference(
    store: StoreReader, page_id: int, url: str, seen_at: float, latest: LatestTexts
) -> Difference:
    """What came with a change that was found just now, at `seen_at` (UTC seconds).

    See `difference_at`; of a feed only its new items. The title is what people know the page by.
    `latest` is that of the changes told before. `StoreError` if the database cannot be read.
    """
    with store.snapshot():
        lately = max(store.latest_change() - _LATELY, 0)
        record = store.find_page(url)
        called = "" if record is None else record.page.name
        for change in store.changes(after=lately, since=seen_at, page_id=page_id):
            if change.seen_at == seen_at:
                called = called or change.title or ""
                if change.items:
                    return Difference(called, items=change.items)
        found = difference_at(store, page_id, url, seen_at, latest)
        return replace(found, title=called or found.title)


def difference_at(
    store: StoreReader, page_id: int, url: str, seen_at: float, latest: LatestTexts | None = None
) -> Difference:
    """What came with the version of a page that was first seen at `seen_at`.

    What is masked as noise does not count. Empty if the version, or the one before, is kept no more
    or is larger than 256 KiB. Takes time in proportion to the sizes.
    """
    versions = [one for one in store.versions(page_id) if one.seen_at <= seen_at][-2:]
    if len(versions) < 2 or versions[-1].seen_at != seen_at:
        return Difference()
    if any(one.size > LARGE for one in versions):
        return Difference()
    record = store.find_page(url)
    before, after = (text_of(store, one, url, record, latest=latest) for one in versions)
    if latest is not None:
        latest.forget(versions[0])
    return difference_of_texts(before, after)


def text_of(
    store: StoreReader,
    version: StoredVersion,
    url: str,
    record: PageRecord | None,
    *,
    patient: bool = False,
    latest: LatestTexts | None = None,
) -> VersionText:
    """What a stored version says, without what is masked or does not count.

    `record` tells that of its page, if it is watched still. `patient`: what may take long to read
    is read as well, such as a PDF, which else has no text. `latest` is asked first, and told.
    """
    masks = () if record is None else record.memory.noise.masks
    parts = WHOLE if record is None else Parts.of(record.page)
    is_plain = not masks and parts == WHOLE
    known = latest.of(version) if is_plain and latest is not None else None
    if known is not None:
        return known
    body, content_type = store.body(version.body_hash), version.content_type or None
    page = parse_page(body, version.content_type, url, text_alone=True)
    if is_plain and page.blocks and not _is_list(body, content_type):
        text = VersionText(page.title, page.blocks)
        if latest is not None:
            latest.keep(version, text)
        return text
    hastily = parts == WHOLE and not patient and takes_long(body, content_type)
    view = read_plainly(body, content_type) if hastily else _seen(body, content_type, parts)
    blocks = left_of(view.blocks, masks)
    return VersionText(view.title or page.title, tuple(_texts(blocks, view.kind)))


def _is_list(body: bytes, content_type: str | None) -> bool:
    return recognised(body, content_type) in ("feed", "sitemap")


def _seen(body: bytes, content_type: str | None, parts: Parts) -> View:
    """What a poll sees; of a version that has none of the parts, all of it."""
    try:
        return read(body, content_type, parts)
    except (UnreadableError, InputError):
        return read_plainly(body, content_type)


def difference_of_texts(before: VersionText, after: VersionText) -> Difference:
    """What differs between two versions."""
    if before.blocks == after.blocks:  # what else readers see is the title
        return difference([before.title], [after.title], after.title)
    return difference(before.blocks, after.blocks, after.title)


def _texts(blocks: Sequence[str], kind: Kind) -> list[str]:
    """Of blocks, what is no tag and no bracket.

    >>> _texts(["<title>", "News", "</title>", "<![CDATA[It rains]]>", "<![CDATA[<p>"], "xml")
    ['News', 'It rains']
    >>> _texts(["{", '"tags": [', '"a",', '"b"]}'], "json")
    ['"tags":', '"a"', '"b"']
    """
    return [text for block in blocks if (text := shown_text(block, kind))]


def shown_text(block: str, kind: Kind) -> str:
    """What people are shown of a block of a page of this kind; empty: nothing."""
    text = legible(block, kind)
    return text.strip(" ,[]{}") if kind == "json" else text


def difference(before: Sequence[str], after: Sequence[str], title: str = "") -> Difference:
    """What went and what came between two sequences of blocks of text; takes linear time.

    >>> found = difference(["News", "Opens at nine o'clock"], ["News", "Opens at ten o'clock"])
    >>> found.removed, found.added
    ("Opens at nine o'clock", "Opens at ten o'clock")
    """
    removed, went = _missing(before, after)
    added, came = _missing(after, before)
    if removed is not None and added is not None:
        removed, added = _close_up(*_focused(removed.split(), added.split()))
    return Difference(title, _cut(removed), _cut(added), further=max(went, came, 1) - 1)


def _missing(blocks: Sequence[str], others: Sequence[str]) -> tuple[str | None, int]:
    """The first block that the others do not have, as often as it comes; and how many these are."""
    left = Counter(others)
    missing = []
    for block in blocks:
        if left[block] == 0:
            missing.append(block)
        else:
            left[block] -= 1
    return next(iter(missing), None), len(missing)


def _focused(one: list[str], other: list[str]) -> tuple[str, str]:
    """The texts of some words, without most of what they begin and end with alike."""
    begin = _alike(one, other)
    end = _alike(one[begin:][::-1], other[begin:][::-1])
    return _around(one, begin, end), _around(other, begin, end)


def _cut(text: str | None) -> str | None:
    return None if text is None else text[:_MOST_CHARACTERS]


def _close_up(one: str, other: str) -> tuple[str, str]:
    """Two texts without what both begin with, but for its end, where that is very long.

    So are words that are no words of a language, such as data.

    >>> _close_up("a" * 3000 + "b c", "a" * 3000 + "d c")[0] == "…" + "a" * 30 + "b c"
    True
    """
    alike = _alike(one, other)
    if alike <= 2 * _KEPT_CHARACTERS:
        return one, other
    first = alike - _KEPT_CHARACTERS
    return f"…{one[first:]}", f"…{other[first:]}"


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """With how many words, or characters, both begin."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _around(words: list[str], begin: int, end: int) -> str:
    """The words but for the first `begin` and the last `end`, with a few on both sides."""
    first, last = max(begin - _KEPT, 0), len(words) - max(end - _KEPT, 0)
    ends = "…" if first > 0 else "", "…" if last < len(words) else ""
    return " ".join(filter(None, (ends[0], *words[first:last], ends[1])))
