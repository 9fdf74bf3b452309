"""Opening the database of a run or a command, for writing."""

from collections.abc import Callable
from typing import TypeVar

from pollwise.errors import InputError, StoreBusyError, StoreVersionError
from pollwise.store import Place, Store

__all__ = ["convert_older", "opened", "opened_again", "waited_for"]

T = TypeVar("T")


def opened(db: Place, say: Callable[[str], None]) -> Store:
    """The store, for writing; waits while another program has it locked, which `say` is told.

    It is also told if the database was converted, and where it is kept as it was before.
    """
    store = waited_for(lambda: Store.open(db), say)
    if store.older_copy is not None:
        say(
            f"{db} was converted for this version; as it was before, it is kept in"
            f" {store.older_copy}: remove that when all is well"
        )
    return store


def convert_older(db: Place, say: Callable[[str], None]) -> None:
    """Convert a database of an earlier version, as `opened` does; another is only looked at."""
    try:
        Store.open_readonly(db).close()
    except StoreVersionError:
        opened(db, say).close()


def waited_for(call: Callable[[], T], say: Callable[[str], None]) -> T:
    """What a call gives that waits for a database: until that is free, which `say` is told."""
    told = False
    while True:
        try:
            return call()
        except StoreBusyError as error:
            if not told:
                say(f"{error}; waiting for it")
            told = True


def opened_again(db: Place, say: Callable[[str], None]) -> Store:
    """`opened`, of a database that there is; `InputError` if there is none."""
    if not Store.exists(db):
        raise InputError(f"there is no database {db}: --db names another one")
    return opened(db, say)
