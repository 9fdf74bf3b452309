"""What is kept of a database that an earlier version wrote, before it is converted."""

import shutil
import sqlite3
from pathlib import Path

from pollwise.errors import StoreError
from pollwise.store.sqlite.copying import copy_into, remove_left_drafts
from pollwise.store.sqlite.file_format import latest_format, pragma
from pollwise.version import __version__

__all__ = ["keep_older"]

_CONVERSION = 1.5
"""What copy and conversion take of the disk, in sizes of the database."""
_MB = 1_000_000


def keep_older(connection: sqlite3.Connection, path: Path) -> Path | None:
    """Copy a database of an older format beside it; None: it has the latest one, or is empty.

    `StoreError` if the disk has no room for it.
    """
    if not 0 < pragma(connection, "user_version") < latest_format():
        return None
    remove_left_drafts(path.parent)
    needed = _CONVERSION * pragma(connection, "page_count") * pragma(connection, "page_size")
    free = shutil.disk_usage(path.parent).free
    if free < needed:
        raise StoreError(
            f"{path} is of an earlier version: to convert it and keep a copy of it takes"
            f" {needed / _MB:,.1f} MB, and the disk has {free / _MB:,.1f} MB left: free some space"
        )
    copy = _free_name(path)
    copy_into(connection, path, copy)
    return copy


def _free_name(path: Path) -> Path:
    """The place of the copy: what is there already stays, such as another copy."""
    version = ".".join(__version__.split(".")[:2])
    number = 1
    while True:
        more = "" if number == 1 else f"-{number}"
        place = path.with_name(f"{path.stem}.before-{version}{more}{path.suffix}")
        if not place.exists():
            return place
        number += 1
