"""Pages from a table in CSV (RFC 4180) with a column of URLs, as spreadsheets write it."""

import csv
import io
import re
from collections import defaultdict
from collections.abc import Sequence

from pollwise.errors import InputError
from pollwise.importing.imported import Imported, page_of, tag_of
from pollwise.store.records import NewPage
from pollwise.texts import printable

__all__ = ["is_table", "read_table"]

_URL = ("url", "uri", "link", "address")
_NAME = ("name", "title")
_TAGS = ("tags", "tag", "folder", "group", "category")
_PARTS = ("select", "ignore")
_KNOWN = frozenset((*_URL, *_NAME, *_TAGS, *_PARTS))
_SEPARATORS = (",", ";", "\t")
"""A spreadsheet takes the semicolon where the comma is the decimal sign."""
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def is_table(begin: bytes) -> bool:
    """Whether a file that begins like this has, in its first line, the name of a column of URLs."""
    return _separator(begin.decode(_encoding(begin), "ignore")) is not None


def read_table(data: bytes) -> Imported:
    """The pages of a table: a row each, by the names of its columns, whatever their case.

    `url` (or `uri`, `link`, `address`) is needed; `name` or `title`, `tags` (or `tag`, `folder`,
    `group`, `category`; several with commas or semicolons between them), and a selector in
    `select` and `ignore` may be there. Other columns, and rows without a URL that can be watched,
    are left out, and said so. `InputError` for what is no such table.
    """
    try:
        text = data.decode(_encoding(data))
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 text (byte {error.start}); save it as UTF-8") from error
    separator = _separator(text)
    if separator is None:
        raise InputError("its first line names no column url")
    pages: list[NewPage] = []
    left_out: list[str] = []
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    columns: Sequence[str] = ()
    try:
        for row in rows:
            if not any(cell.strip() for cell in row):
                continue
            if not columns:
                columns = [_plain(cell) for cell in row]
                others = [name for name in columns if name and name not in _KNOWN]
                left_out += [f"the column {printable(name)} has no counterpart" for name in others]
                continue
            try:
                pages.append(_page(columns, row))
            except InputError as error:
                left_out.append(f"line {rows.line_num}: {error}")
    except csv.Error as error:
        raise InputError(f"line {rows.line_num}: no CSV: {error}") from error
    return Imported("CSV", tuple(pages), tuple(left_out))


def _encoding(data: bytes) -> str:
    return "utf-16" if data.startswith(_UTF_16) else "utf-8-sig"


def _separator(text: str) -> str | None:
    first = text.lstrip("\r\n").splitlines()[:1]
    for separator in _SEPARATORS:
        if any(_plain(cell) in _URL for line in first for cell in line.split(separator)):
            return separator
    return None


def _plain(cell: str) -> str:
    return cell.strip().strip('"').strip().casefold()


def _page(columns: Sequence[str], row: Sequence[str]) -> NewPage:
    cells = defaultdict(list)
    for column, cell in zip(columns, row, strict=False):  # spreadsheets leave out empty ends
        if cell.strip():
            cells[column].append(cell.strip())

    def told(names: Sequence[str]) -> list[str]:
        return [cell for name in names for cell in cells[name]]

    urls = told(_URL)
    if not urls:
        raise InputError("there is no URL in it")
    tags = (tag_of(part) for cell in told(_TAGS) for part in re.split("[,;]", cell))
    return page_of(
        urls[0],
        name=next(iter(told(_NAME)), None),
        tags=tuple(dict.fromkeys(filter(None, tags))),
        select=cells["select"],
        ignore=cells["ignore"],
    )
