"""Which program a file is from, by its beginning and its name."""

import io
import re
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

from pollwise.errors import InputError
from pollwise.importing.changedetection import read_changedetection
from pollwise.importing.imported import Imported, each_once, page_of
from pollwise.importing.opml import read_opml
from pollwise.importing.tables import is_table, read_table
from pollwise.importing.urlwatch import read_urlwatch
from pollwise.sources.feeds import entries_left_out
from pollwise.store.records import NewPage
from pollwise.texts import STANDARD_INPUT, file_told, opened
from pollwise.web.content_coding import GZIP_MAGIC
from pollwise.web.sitemaps import EntriesBeyond, UnusableEntries, parse_sitemap
from pollwise.web.url_list import NoListError, read_url_list

__all__ = ["read_file", "read_urls"]

_LARGEST = 1 << 30
_RECOGNISED = 4096
"""Bytes of the beginning of a file, which tell what it is."""
_JOB = re.compile(rb"^url:\s", re.MULTILINE)
"""In a job of urlwatch; what comes by the standard input has no name that tells."""


def read_file(path: Path) -> Imported:
    """The pages of an OPML file, a sitemap, a table, a job list of urlwatch, or a backup.

    `InputError`, with the name of the file, if it cannot be read or is none of these.
    """
    name = file_told(path)
    try:
        with opened(path) as given:
            # Pipes go forward only.
            file = given if given.seekable() else io.BytesIO(given.read(_LARGEST + 1))
            is_too_large = file.seek(0, io.SEEK_END) > _LARGEST
            file.seek(0)
            # The others are small; a backup may be larger than the memory.
            begin = file.read(1024)
            file.seek(0)
            if _is_warc(begin):
                raise InputError(
                    f"{name} is a WARC file: the copies of pages in it are not taken over; write"
                    " the URLs of its records (WARC-Target-URI) into a list, a URL a line, for"
                    " `pollwise add --file`"
                )
            is_backup = begin.startswith(b"PK")
            data = b""
            if not (is_backup or is_too_large):
                data = file.read(_LARGEST + 1)  # a device may have no end
            if is_too_large or len(data) > _LARGEST:
                raise InputError(f"{name} has more than {_LARGEST >> 20} MiB: import parts of it")
            try:
                read = read_changedetection(file) if is_backup else _read(path, data)
                return each_once(read)
            except InputError as error:
                raise InputError(f"{name}: {error}") from error
    except OSError as error:
        raise InputError(
            f"{name} cannot be read ({error.strerror}): name a file that can"
        ) from error


def _is_warc(begin: bytes) -> bool:
    """Whether a file that begins like this is a web archive (ISO 28500), perhaps as gzip."""
    if begin.startswith(GZIP_MAGIC):
        try:
            begin = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16).decompress(begin, 5)
        except zlib.error:  # told when it is read
            return False
    return begin.startswith(b"WARC/")


def read_urls(path: Path, say: Callable[[str], None]) -> list[str]:
    """The URLs of a list, a URL a line, or of a file of another program, without anything else.

    Of the standard input, or a pipe, those of a list. `say` is told what of the file is left out,
    and see `read_url_list`. `InputError` as there, and as for `read_file`.
    """
    pages: Sequence[NewPage]
    if _is_of_other_program(path):
        imported = read_file(path)
        if imported.left_out:
            first, *others = imported.left_out
            say(f"{path}: {first}" + (f" (and {len(others):,} more like it)" if others else ""))
        pages = imported.pages
    else:
        try:
            pages = read_url_list(path, say)
        except NoListError as error:
            raise InputError(
                f"{file_told(path)}: neither a list with a URL a line nor a sitemap, OPML or a"
                " table; of a pipe only lists are read: write the others into a file"
            ) from error
    if not pages:
        say(f"{file_told(path)} names no page")
    return [page.url for page in pages]


def _is_of_other_program(path: Path) -> bool:
    """Whether `read_file` reads a file; of a pipe that is not known."""
    if path == STANDARD_INPUT or not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            begin = file.read(_RECOGNISED)
    except OSError as error:
        raise InputError(
            f"{path} cannot be read ({error.strerror}): name a file that can"
        ) from error
    return begin.startswith(b"PK") or _reader(path, begin) is not None


def _reader(path: Path, data: bytes) -> Callable[[bytes], Imported] | None:
    """What reads a file that begins like this; None: nothing does."""
    # Without the zeros, what is needed of UTF-16 reads as ASCII.
    begin = data[:_RECOGNISED].replace(b"\0", b"").lstrip(b"\xff\xfe\xef\xbb\xbf \t\r\n").lower()
    if b"<opml" in begin:
        return read_opml
    if b"<urlset" in begin or b"<sitemapindex" in begin or data.startswith(GZIP_MAGIC):
        return _read_sitemap
    if is_table(data[:_RECOGNISED]):
        return read_table
    if path.suffix.casefold() in (".yaml", ".yml") or _JOB.search(begin):
        return read_urlwatch
    return None


def _read(path: Path, data: bytes) -> Imported:
    if (reader := _reader(path, data)) is not None:
        return reader(data)
    raise InputError(
        "no file that can be imported: expected OPML, a sitemap, a CSV table with a column url,"
        " jobs of urlwatch (.yaml) or a backup of changedetection.io (.zip); a list of URLs is for"
        " `pollwise add --file`"
    )


def _read_sitemap(data: bytes) -> Imported:
    unusable, beyond = UnusableEntries(), EntriesBeyond()
    entries = parse_sitemap(data, unusable=unusable, beyond=beyond)
    told = f"entries that cannot be used: {unusable.count:,} (the first: {unusable.why})"
    if not entries:
        why = told if unusable.count else "a sitemap without entries, or one that cannot be read"
        raise InputError(why)
    cut = entries_left_out(len(entries), beyond)
    left_out = tuple(line for line in (told if unusable.count else "", cut) if line)
    return Imported("sitemap", tuple(page_of(entry.url) for entry in entries), left_out)
