"""A file that is written as a whole or not at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from pollwise.errors import InputError, StoreError
from pollwise.full_disk import FULL_DISK

__all__ = ["draft", "is_database"]

_DATABASE = b"SQLite format 3\0"
"""The first bytes of a database of SQLite (its file format, section 1.3.1)."""


@contextmanager
def draft(path: Path) -> Iterator[BinaryIO]:
    """A file to write, which takes its place at `path` when the context ends without an error.

    Until then it is beside that place, as `.NAME.NUMBER.part`; after an error it is deleted, and
    `path` is unchanged. Of several at once the last one stays. `InputError` if the system does not
    let it be written, or if a device, a pipe or a database has its place. Errors of the store pass.
    """
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise InputError(f"{path} is a device or a pipe: name a file")
        if is_database(path):
            raise InputError(f"{path} is a database, which would be lost: name another file")
        with open(part, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
        _keep_names(path.parent)
    except BaseException as error:
        with suppress(OSError):  # on a read-only disk even a missing file cannot be deleted
            part.unlink()
        if not isinstance(error, OSError) or isinstance(error, StoreError):
            raise
        mend = "free some space" if error.errno in FULL_DISK else "choose another place"
        reason = error.strerror or str(error)
        raise InputError(f"{path} cannot be written ({reason}): {mend}") from error


def is_database(path: Path) -> bool:
    """Whether there is a database of SQLite at this path, as far as it can be read."""
    with suppress(OSError):
        if path.is_file():
            with path.open("rb") as file:
                return file.read(len(_DATABASE)) == _DATABASE
    return False


def _keep_names(folder: Path) -> None:
    """Have the names in a folder survive a power loss."""
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
