"""Room for connections: how many files this process may have open at a time."""

import resource

from pollwise.errors import InputError

__all__ = ["make_room", "most_polls"]

_MOST_FILES = 8192
_FEWEST_FILES = 64
"""Without so many nothing can be polled: the database, the event loop and processes come first."""
_OTHER_FILES = 128
"""For the database, processes, the dashboard, look-ups of names."""
_EACH = 3
"""Descriptors for each poll that may be under way: while it connects, it may try two addresses at a
time; and of another host a connection may be kept open."""


def make_room() -> None:
    """Raise the bound on open files, 1,024 by default on most systems, as far as allowed.

    `InputError` if that is too low.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if most < _FEWEST_FILES:
        raise InputError(
            f"the limit on open files is {most}: {_FEWEST_FILES} are needed, raise it (see"
            " `ulimit -n`)"
        )
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def most_polls() -> int:
    """How many polls may be under way at a time, by the bound on open files; at least 1."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = _MOST_FILES if soft == resource.RLIM_INFINITY else min(soft, _MOST_FILES)
    return max(1, (files - _OTHER_FILES) // _EACH)
