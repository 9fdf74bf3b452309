"""A copy of a database for safe-keeping."""

import os
from contextlib import closing
from pathlib import Path

from pollwise.checks import require_no_link
from pollwise.errors import InputError
from pollwise.store.sqlite.copying import BESIDE, copy_into, remove_left_drafts
from pollwise.store.sqlite.database import check_readable
from pollwise.store.sqlite.failures import reported
from pollwise.store.sqlite.file_format import connect_to_read
from pollwise.store.sqlite.lock import FileUse

__all__ = ["copy_database"]


def copy_database(db: str | os.PathLike[str], file: Path, *, force: bool = False) -> Path:
    """Copy a database of any format into `file`, which only its owner may read; its real path.

    A process may write to the database meanwhile. `InputError` if there is a file already (unless
    `force`), or it is the database itself, or a symbolic link: what it leads to was not named, or
    has a name under which SQLite keeps what belongs to a database. `StoreError` as for `copy_into`.
    """
    source = Path(os.path.realpath(db))
    target = Path(os.path.realpath(file.parent), file.name)
    with reported(source):
        check_readable(source)
        use = FileUse.reading(source)
    try:
        with reported(target):
            _check_target(source, target, force=force)
            remove_left_drafts(target.parent)
        with reported(source), closing(connect_to_read(source)) as connection:
            copy_into(connection, source, target)
    finally:
        use.release()
    return target


def _check_target(source: Path, target: Path, *, force: bool) -> None:
    if not target.parent.is_dir():
        raise InputError(f"{target}: there is no folder {target.parent}: make it, or name another")
    if target.exists() and target.samefile(source):
        raise InputError(f"{source} is the database itself: name another file")
    require_no_link(target)
    for suffix in BESIDE:
        database = Path(str(target).removesuffix(suffix))
        if database != target and database.is_file():
            raise InputError(f"{target} is a name that SQLite uses for {database}: name another")
    if not target.exists():
        return
    if not (force and target.is_file()):
        mend = "--force replaces it" if target.is_file() else "it is no regular file"
        raise InputError(f"{target} exists already: give another name ({mend})")
