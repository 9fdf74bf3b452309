"""Sitemaps: lists of pages that a site wants to have visited (https://www.sitemaps.org).

The XML forms (`urlset`, and `sitemapindex` for lists of sitemaps) and plain text are read, also as
gzip, in UTF-8 as the protocol demands; feeds are not. XML may be broken or hostile: reading stops
at a document type declaration (so no entities), at what is no sitemap and at any limit, and gives
what it has until then.
"""

import io
import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, islice
from xml.parsers import expat

from pollwise.errors import InputError
from pollwise.web.content_coding import GZIP_MAGIC
from pollwise.web.urls import canonical

__all__ = [
    "MAX_BYTES",
    "MAX_ENTRIES",
    "CutOffError",
    "EntriesBeyond",
    "SitemapEntry",
    "UnusableEntries",
    "parse_sitemap",
]

MAX_ENTRIES = 50_000
"""The entries of one sitemap that are read: the protocol's limit."""

MAX_BYTES = 50 * 1024 * 1024
"""The bytes of one sitemap that are read, decompressed: the protocol's limit."""

_CHUNK = 1 << 20
# The size of a tag, the depth and the number of names bound the memory that expat takes; the number
# of elements bounds the time.
_LONGEST_TAG = 2 * _CHUNK
_DEEPEST = 16
_MAX_NAMES = 1000
_MAX_ELEMENTS = 20 * MAX_ENTRIES
_LONGEST_TEXT = 2048  # the protocol's bound for a URL
_MAX_LINES = 2 * MAX_ENTRIES
_ENTRY_OF = {"urlset": "url", "sitemapindex": "sitemap"}
_YEAR_OR_MONTH = re.compile(r"\d{4}(?:-\d\d)?")


@dataclass(frozen=True, slots=True)
class SitemapEntry:
    """One entry of a sitemap.

    `url` is canonical. `last_modified` (UTC seconds) is when its content changed, as the site says;
    None: it does not say, or not readably. `is_index`: the entry is itself a sitemap.
    """

    url: str
    last_modified: float | None = None
    is_index: bool = False


@dataclass(slots=True)
class UnusableEntries:
    """How many entries of a sitemap could not be used, and why the first of them."""

    count: int = 0
    why: str = ""

    def note(self, why: str) -> None:
        """Count one."""
        self.why = self.why or why
        self.count += 1


@dataclass(slots=True)
class EntriesBeyond:
    """How many entries of a sitemap stand behind those that were read, as a limit was met.

    `is_all`: these are all; else there may be more.
    """

    count: int = 0
    is_all: bool = True


class CutOffError(ValueError):
    """The XML of a sitemap does not end: entries are missing."""


def parse_sitemap(
    body: bytes,
    *,
    whole: bool = False,
    unusable: UnusableEntries | None = None,
    beyond: EntriesBeyond | None = None,
) -> list[SitemapEntry]:
    """The entries of a sitemap in its order; empty if `body` is no sitemap. Never raises.

    But if it has to be `whole`: then `CutOffError` if it is XML that does not end before a limit is
    met. Entries that cannot be used are left out, and noted in `unusable`; those behind a limit are
    counted in `beyond`.

    A full sitemap takes about a second: call it outside the event loop.

    >>> parse_sitemap(b"<urlset><url><loc>http://h/a?b&amp;c</loc><lastmod>1970-01-02</lastmod></url>")
    [SitemapEntry(url='http://h/a?b&c', last_modified=86400.0, is_index=False)]
    """
    found = _Found([], UnusableEntries() if unusable is None else unusable, beyond)
    is_cut_off = is_read = False
    # Whatever ends the reading, the entries until then count.
    with suppress(_EnoughError, expat.ExpatError, zlib.error):
        chunks = _chunks(body)
        first = next(chunks, b"")
        if first.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<"):
            is_cut_off = _is_cut_off(first, chunks, found)
        else:
            _read_lines(b"".join([first, *chunks]), found)
        is_read = True
    if beyond is not None:
        beyond.is_all = is_read and not is_cut_off
    if whole and is_cut_off and len(found.entries) < MAX_ENTRIES:
        raise CutOffError(f"its XML does not end: cut off after {len(found.entries):,} entries")
    return found.entries


@dataclass(frozen=True, slots=True)
class _Found:
    entries: list[SitemapEntry]
    unusable: UnusableEntries
    beyond: EntriesBeyond | None

    def add(self, location: str, modified: str = "", *, is_index: bool = False) -> None:
        """Add an entry if it is usable.

        When the limit is reached, the others are counted, or `_EnoughError`.
        """
        if len(self.entries) == MAX_ENTRIES:
            self.note_beyond()
            return
        location = location.strip()
        try:
            if len(location) > _LONGEST_TEXT:
                raise InputError(f"a URL of more than {_LONGEST_TEXT:,} characters")
            url = canonical(location)
        except InputError as error:  # a bad entry does not spoil the others
            self.unusable.note(str(error))
            return
        self.entries.append(SitemapEntry(url, _utc_seconds(modified), is_index))
        if len(self.entries) == MAX_ENTRIES and self.beyond is None:
            raise _EnoughError

    def note_beyond(self) -> None:
        """Count an entry behind a limit."""
        if self.beyond is not None:
            self.beyond.count += 1


class _EnoughError(Exception):
    """Reading stops here."""


class _Handlers:
    """Follows the elements of an XML file and appends an entry for each that ends."""

    def __init__(self, found: _Found) -> None:
        self._found = found
        self._open: list[str] = []
        self._n_elements = 0
        self._names: set[str] = set()
        self._prefix = ""
        self._root = ""
        self._text = ""
        self._told: dict[str, str] = {}

    @property
    def is_open(self) -> bool:
        """Whether elements have begun that have not ended."""
        return bool(self._open)

    def doctype(self, *declaration: object) -> None:
        raise _EnoughError

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._names.add(name)
        self._names.update(attributes)
        self._n_elements += 1
        if self._n_elements > _MAX_ELEMENTS:
            self._found.note_beyond()
            raise _EnoughError
        if len(self._open) == _DEEPEST or len(self._names) > _MAX_NAMES:
            raise _EnoughError
        if not self._open:
            # By prefix, as wrong and undeclared namespaces are frequent.
            prefix, colon, self._root = name.rpartition(":")
            self._prefix = prefix + colon
            if self._root not in _ENTRY_OF:
                raise _EnoughError
        self._open.append(name)
        self._text = ""

    def text(self, text: str) -> None:
        if len(self._text) <= _LONGEST_TEXT:
            self._text += text

    def end(self, name: str) -> None:
        self._open.pop()
        own = name.removeprefix(self._prefix)
        if len(self._open) == 2:
            self._told[own] = self._text
        elif len(self._open) == 1:
            if own == _ENTRY_OF[self._root]:
                is_index = self._root == "sitemapindex"
                told = self._told.get
                self._found.add(told("loc", ""), told("lastmod", ""), is_index=is_index)
            self._told.clear()


def _is_cut_off(first: bytes, others: Iterator[bytes], found: _Found) -> bool:
    """Append the entries of XML; whether it does not end."""
    parser = expat.ParserCreate("UTF-8")
    parser.buffer_text = True
    handlers = _Handlers(found)
    parser.StartDoctypeDeclHandler = handlers.doctype
    parser.StartElementHandler = handlers.start
    parser.EndElementHandler = handlers.end
    parser.CharacterDataHandler = handlers.text
    n_bytes = 0
    for chunk in chain([first], others):
        parser.Parse(chunk, False)
        n_bytes += len(chunk)
        if n_bytes - parser.CurrentByteIndex > _LONGEST_TAG:
            raise _EnoughError
    try:
        parser.Parse(b"", True)
    except expat.ExpatError:
        return handlers.is_open
    return False


def _read_lines(text: bytes, found: _Found) -> None:
    lines = io.BytesIO(text)
    for line in islice(lines, _MAX_LINES):
        if location := line.decode(errors="replace").removeprefix("\ufeff").strip():
            found.add(location)
    if lines.read().strip():
        found.note_beyond()
        raise _EnoughError


def _utc_seconds(told: str) -> float | None:
    """The time of a W3C date (a profile of ISO 8601), the start of a year, month or day."""
    text = told.strip()
    if _YEAR_OR_MONTH.fullmatch(text):
        text += "-01-01" if len(text) == 4 else "-01"
    try:
        time = datetime.fromisoformat(text)
        time = time if time.tzinfo else time.replace(tzinfo=UTC)
        # In UTC it may lie before the year 1 or after 9999, which cannot be shown.
        return time.astimezone(UTC).timestamp()
    except (ValueError, OverflowError):
        return None


def _chunks(body: bytes) -> Iterator[bytes]:
    """The content in pieces, decompressed if it is gzip, up to `MAX_BYTES`."""
    if not body.startswith(GZIP_MAGIC):
        for start in range(0, min(len(body), MAX_BYTES), _CHUNK):
            yield body[start : start + _CHUNK]
        return
    inflate = zlib.decompressobj(wbits=31)
    for _ in range(MAX_BYTES // _CHUNK):
        chunk = inflate.decompress(body, _CHUNK)
        body = inflate.unconsumed_tail
        if not chunk:
            return
        yield chunk
