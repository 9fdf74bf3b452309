"""A file that is written as a whole or not at all."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from pollwise.errors import InputError, StoreError

__all__ = ["draft"]

_FULL_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@contextmanager
def draft(path: Path) -> Iterator[BinaryIO]:
    """A file to write, which takes its place at `path` when the context ends without an error.

    Until then it is beside that place, as `.NAME.part`; after an error it is deleted, and `path` is
    unchanged. `InputError` if the system does not let it be written. Errors of the store pass.
    """
    part = path.with_name(f".{path.name}.part")
    try:
        with open(part, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException as error:
        with suppress(OSError):  # on a read-only disk even a missing file cannot be deleted
            part.unlink()
        if not isinstance(error, OSError) or isinstance(error, StoreError):
            raise
        mend = "free some space" if error.errno in _FULL_DISK else "choose another place"
        reason = error.strerror or str(error)
        raise InputError(f"{path} cannot be written ({reason}): {mend}") from error
