"""Opening the database of a run or a command, for writing."""

from collections.abc import Callable

from pollwise.errors import InputError, StoreBusyError
from pollwise.store import Place, Store

__all__ = ["opened", "opened_again"]


def opened(db: Place, say: Callable[[str], None]) -> Store:
    """The store, for writing; waits while another program has it locked, which `say` is told.

    It is also told if the database was converted, and where it is kept as it was before.
    """
    told = False
    while True:
        try:
            store = Store.open(db)
            if store.older_copy is not None:
                say(
                    f"{db} was converted for this version; as it was before, it is kept in"
                    f" {store.older_copy}: remove that when all is well"
                )
            return store
        except StoreBusyError as error:
            if not told:
                say(f"{error}; waiting for it")
            told = True


def opened_again(db: Place, say: Callable[[str], None]) -> Store:
    """`opened`, of a database that there is; `InputError` if there is none."""
    if not Store.exists(db):
        raise InputError(f"there is no database {db}: --db names another one")
    return opened(db, say)
