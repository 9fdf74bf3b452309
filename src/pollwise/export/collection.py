"""Writing the pages of a store into a file of another format."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import BinaryIO

from pollwise.checks import require_no_link
from pollwise.errors import InputError
from pollwise.export.draft import draft
from pollwise.export.jsonl import write_jsonl
from pollwise.export.opml import FEED, write_opml
from pollwise.export.parquet import write_parquet
from pollwise.export.url_list import write_url_list
from pollwise.export.warc import write_warc
from pollwise.extras import require_extra
from pollwise.settings import is_collection
from pollwise.store import Place, Store

__all__ = ["FORMATS", "count_left_out", "count_not_listed", "export_collection", "export_into"]

_Writer = Callable[[BinaryIO, Store, float | None], int]

FORMATS = ("jsonl", "txt", "opml", "parquet", "warc")

_SUFFIXES = {
    ".jsonl": "jsonl",
    ".txt": "txt",
    ".opml": "opml",
    ".parquet": "parquet",
    ".warc.gz": "warc",
}
_DEVICES = (Path("/dev"), Path("/dev/fd"))
_EXTRAS = ("parquet", "warc")
_WITHOUT_BODIES = {
    "txt": "a list names pages only: choose jsonl or parquet for their bodies",
    "opml": "OPML only names feeds: choose jsonl or parquet for their bodies",
    "warc": "a WARC file has all bodies anyway: leave out --bodies",
}
"""Why bodies cannot be asked for, by format."""


def export_collection(
    db: Place,
    path: Path,
    *,
    now: float,
    format_name: str | None = None,
    min_relevance: float | None = None,
    bodies: bool = False,
    force: bool = False,
) -> int:
    """Write the pages of a database of which there is a copy into a file; the number of pages.

    A list for `--file` (txt) has those without a copy, too.

    `now` is the time of the export, in UTC seconds since 1970. With `min_relevance` (0 to 1), only
    pages at least that relevant. OPML has only feeds. With `bodies`, JSON lines and Parquet also
    have the body of the latest version of each page. Without `format_name`, the file's name gives
    the format: .jsonl, .txt, .opml, .parquet or .warc.gz. The file shows one state of the database;
    a writer may be at work meanwhile. It is written as a whole or not at all. `InputError` if there
    is a file already (unless `force`), a symbolic link or a device, it cannot be written, a library
    is missing, the format has no place for `bodies`, or a watch has no relevances; `StoreError` if
    the database cannot be read.
    """
    if Path(os.path.abspath(path)).parent in _DEVICES:
        raise InputError(f"{path} is a device: name a file, or - with --format for standard output")
    write = _writer(format_name or _format_of(path), now, bodies=bodies)
    _check_relevance(min_relevance)
    require_no_link(path)
    if path.exists() and not (force and path.is_file()):
        mend = "--force replaces it" if path.is_file() else "it is no regular file"
        raise InputError(f"{path} exists already: give another name ({mend})")
    with Store.open_readonly(db) as store, store.snapshot():
        _require_relevances(store, min_relevance)
        with draft(path) as file:
            return write(file, store, min_relevance)


def export_into(
    db: Place,
    file: BinaryIO,
    *,
    now: float,
    format_name: str,
    min_relevance: float | None = None,
    bodies: bool = False,
) -> int:
    """The same into a file that is open, such as a pipe, which may get a part before an error."""
    if format_name == "parquet":
        raise InputError("Parquet is written into a file only: name one, or choose jsonl")
    write = _writer(format_name, now, bodies=bodies)
    _check_relevance(min_relevance)
    with Store.open_readonly(db) as store, store.snapshot():
        _require_relevances(store, min_relevance)
        return write(file, store, min_relevance)


def count_left_out(db: Place, path: Path, format_name: str | None = None) -> tuple[int, int]:
    """How many pages such an export leaves out: without a copy yet, and no feeds, for OPML."""
    name = format_name or _format_of(path)
    if name == "txt":
        return 0, 0
    with Store.open_readonly(db) as store:
        if name != "opml":
            return store.count_without_copy(), 0
        others = [one.first_seen_at is None for one in store.pages() if one.source != FEED]
        return sum(others), len(others) - sum(others)


def count_not_listed(db: Place, path: Path, format_name: str | None = None) -> tuple[int, int]:
    """How many pages have a name and how many are paused, of which such an export says nothing.

    Only a list for `--file` does not: it is to bring the same pages again.
    """
    if (format_name or _format_of(path)) != "txt":
        return 0, 0
    with Store.open_readonly(db) as store:
        pages = [(bool(page.name), page.paused) for page in store.each_outline()]
    return sum(is_named for is_named, _ in pages), sum(is_paused for _, is_paused in pages)


def _writer(name: str, now: float, *, bodies: bool) -> _Writer:
    """The writer of a format; `InputError` if it is unknown, lacks a library or cannot do that."""
    if name not in FORMATS:
        raise InputError(f"the format {name!r} is unknown: give one of {', '.join(FORMATS)}")
    if bodies and name in _WITHOUT_BODIES:
        raise InputError(_WITHOUT_BODIES[name])
    if name in _EXTRAS:
        require_extra(name, f"the format {name}", "choose jsonl")
    writers: dict[str, _Writer] = {
        "jsonl": partial(write_jsonl, bodies=bodies),
        "txt": write_url_list,
        "opml": write_opml,
        "parquet": partial(write_parquet, bodies=bodies),
        "warc": partial(write_warc, now=now),
    }
    return writers[name]


def _check_relevance(least: float | None) -> None:
    if least is not None and not 0 <= least <= 1:
        raise InputError(f"the least relevance is {least}; expected a number from 0 to 1")


def _require_relevances(store: Store, least: float | None) -> None:
    """`InputError` for a database of a watch that is asked for relevant pages."""
    if least is not None and store.runs() and not is_collection(store):
        raise InputError(
            f"{store.path} holds a watch, whose pages have no relevance: leave out --min-relevance"
        )


def _format_of(path: Path) -> str:
    for suffix, name in _SUFFIXES.items():
        if path.name.casefold().endswith(suffix):
            return name
    raise InputError(
        f"{path}: its name does not tell the format: end it in {', '.join(_SUFFIXES)},"
        " or give --format"
    )
