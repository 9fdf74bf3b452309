"""`pollwise backup`: a whole copy of a database, also while a process writes to it."""

import time
from dataclasses import dataclass
from pathlib import Path

from pollwise.store.place import Place, file_of
from pollwise.store.sqlite.backup import copy_database

__all__ = ["Backup", "back_up"]


@dataclass(frozen=True, slots=True)
class Backup:
    """A copy that was made of a database: its `bytes`, and when it was begun (UTC seconds)."""

    database: str
    file: str
    bytes: int
    begun_at: float


def back_up(db: Place, file: Path, *, force: bool = False) -> Backup:
    """Copy a database, with all that is in it; errors: see `copy_database`."""
    begun_at = time.time()
    copy = copy_database(file_of(db, "a copy as a file"), file, force=force)
    return Backup(str(db), str(file), copy.stat().st_size, begun_at)
