"""Opening the database of a run or a command, for writing."""

from collections.abc import Callable
from pathlib import Path

from pollwise.errors import InputError, StoreBusyError
from pollwise.store import Store

__all__ = ["opened", "opened_again"]


def opened(db: Path, say: Callable[[str], None]) -> Store:
    """The store, for writing; waits while another program has it locked, which `say` is told."""
    told = False
    while True:
        try:
            return Store.open(db)
        except StoreBusyError as error:
            if not told:
                say(f"{error}; waiting for it")
            told = True


def opened_again(db: Path, say: Callable[[str], None]) -> Store:
    """`opened`, of a database that there is; `InputError` if there is none."""
    if not db.exists():
        raise InputError(f"there is no database {db}: --db names another one")
    return opened(db, say)
