"""Pages, perhaps with past checks, from a table in CSV (RFC 4180) as spreadsheets write it."""

import csv
import io
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

from pollwise.errors import InputError
from pollwise.importing.imported import Imported, page_of, tag_of
from pollwise.store.records import NewPage
from pollwise.texts import printable
from pollwise.times import time_of
from pollwise.types import Observation, Outcome

__all__ = ["is_table", "read_table"]

_URL = ("url", "uri", "link", "address")
_NAME = ("name", "title")
_TAGS = ("tags", "tag", "folder", "group", "category")
_PARTS = ("select", "ignore")
_CHECKS = ("page", "checked_at", "changed")
"""A row for each check: the table that `pollwise replay` reads, too."""
_SEPARATORS = (",", ";", "\t")
"""A spreadsheet takes the semicolon where the comma is the decimal sign."""
_TELLS_SEPARATOR = re.compile(r'\A"?sep=.?"?(?=[\r\n])', re.IGNORECASE)
"""A first line that Excel reads, such as `sep=;`."""
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_FLAGS = {
    **dict.fromkeys(("0", "0.0", "false", "no"), False),
    **dict.fromkeys(("1", "1.0", "true", "yes"), True),
}
_NUMBER = re.compile(r"\d+(\.\d*)?", re.ASCII)
_YEAR_1990 = 631_152_000.0

_Cells = Mapping[str, Sequence[str]]
"""What a row has by the names of its columns, without empty cells."""


def is_table(begin: bytes) -> bool:
    """Whether a file that begins like this names, in its first line, a column that is needed."""
    return _separator(_text_of(begin, "ignore")) is not None


def read_table(data: bytes) -> Imported:
    """The pages of a table: a row each, by the names of its columns, whatever their case.

    `url` (else `uri`, `link` or `address`) is needed; `name` or else `title`, `tags` (or `tag`,
    `folder`, `group`, `category`; several with commas or semicolons between them), and a selector
    in `select` and `ignore` may be there. If there is a column `checked_at`, a row is a past check:
    `page` (unless there is a `url`), when it was checked, and whether it had `changed` since the
    check before. Other columns, and rows that cannot be used, are left out, and said so.
    `InputError` for what is no such table.
    """
    try:
        text = _text_of(data)
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 text (byte {error.start}); save it as UTF-8") from error
    separator = _separator(text)
    if separator is None:
        raise InputError("its first line names no column url")
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    rows = (row for row in lines if any(cell.strip() for cell in row))
    pages: list[NewPage] = []
    left_out: list[str] = []
    checks: defaultdict[str, dict[float, bool]] = defaultdict(dict)
    try:
        columns = [_plain(cell) for cell in next(rows)]
        has_checks = "checked_at" in columns
        of_url = _first_of((*_URL, "page") if has_checks else _URL, columns)
        of_name = _first_of(_NAME, columns)
        for row in rows:
            cells: defaultdict[str, list[str]] = defaultdict(list)
            for column, cell in zip(columns, row, strict=False):  # empty ends may be left out
                if column and cell.strip():
                    cells[column].append(cell.strip())
            try:
                page = _page(cells, of_url, of_name)
                if has_checks:
                    at, changed = _check(cells)
                    of_page = checks[page.url]
                    of_page[at] = changed or of_page.get(at, False)
            except InputError as error:
                left_out.append(f"line {lines.line_num}: {error}")
                continue
            if not has_checks or len(of_page) == 1:
                pages.append(page)
    except csv.Error as error:
        raise InputError(f"line {lines.line_num}: no CSV: {error}") from error
    if pages:
        known = {of_url, of_name, *_TAGS, *_PARTS, *(_CHECKS[1:] if has_checks else ())}
        others = [printable(name) for name in columns if name and name not in known]
        left_out[:0] = [f"the column {name} has no counterpart" for name in others]
    history = {url: _observations(told) for url, told in checks.items()}
    return Imported("CSV", tuple(pages), tuple(left_out), history)


def _text_of(data: bytes, errors: str = "strict") -> str:
    """The text of a table, with an empty line in the place of one that tells the separator."""
    text = data.decode("utf-16" if data.startswith(_UTF_16) else "utf-8-sig", errors)
    return _TELLS_SEPARATOR.sub("", text, count=1)


def _separator(text: str) -> str | None:
    first = text.lstrip("\r\n").splitlines()[:1]
    for separator in _SEPARATORS:
        cells = {_plain(cell) for line in first for cell in line.split(separator)}
        if not cells.isdisjoint(_URL) or cells.issuperset(_CHECKS):
            return separator
    return None


def _plain(cell: str) -> str:
    return cell.strip().strip('"').strip().casefold()


def _first_of(names: Sequence[str], columns: Sequence[str]) -> str:
    """The first of these names that a column has; empty if none has."""
    return next((name for name in names if name in columns), "")


def _page(cells: _Cells, of_url: str, of_name: str) -> NewPage:
    """The page of a row, by the columns of its URL and of its name."""
    url = next(iter(cells.get(of_url, ())), None)
    if url is None:
        raise InputError("there is no URL in it")
    told = (cell for column in _TAGS for cell in cells.get(column, ()))
    tags = (tag_of(part) for cell in told for part in re.split("[,;]", cell))
    return page_of(
        url,
        name=next(iter(cells.get(of_name, ())), None),
        tags=tuple(dict.fromkeys(filter(None, tags))),
        select=cells.get("select", ()),
        ignore=cells.get("ignore", ()),
    )


def _check(cells: _Cells) -> tuple[float, bool]:
    """When a page was checked (UTC seconds), and whether it had changed."""
    time, flag = ("".join(cells.get(name, ())) for name in ("checked_at", "changed"))
    at = time_of("checked_at", float(time) if _NUMBER.fullmatch(time) else time)
    if at < _YEAR_1990:  # such as the number of a day in a spreadsheet
        raise InputError(f"checked_at {time} is before 1990; give UTC seconds or ISO 8601")
    changed = _FLAGS.get(flag.casefold())
    if changed is None:
        raise InputError(f"changed is {printable(flag)[:60]!r}; give 0 or 1, for no or yes")
    return at, changed


def _observations(told: Mapping[float, bool]) -> tuple[Observation, ...]:
    """The checks of a page in their order; the first one made a copy."""
    first, *others = sorted(told)
    later = (Outcome.CHANGED if told[at] else Outcome.UNCHANGED for at in others)
    return (
        Observation(-1, first, Outcome.CHANGED),
        *(Observation(-1, at, outcome) for at, outcome in zip(others, later, strict=True)),
    )
