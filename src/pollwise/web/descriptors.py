"""Room for connections: how many files this process may have open at a time."""

import resource

__all__ = ["make_room", "most_polls"]

_MOST_FILES = 8192
_OTHER_FILES = 128
"""For the database, processes, the dashboard, look-ups of names."""
_EACH = 3
"""Descriptors for each poll that may be under way: while it connects, it may try two addresses at a
time; and of another host a connection may be kept open."""


def make_room() -> None:
    """Raise the bound on open files, 1,024 by default on most systems, as far as allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def most_polls() -> int:
    """How many polls may be under way at a time, by the bound on open files; at least 1."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = _MOST_FILES if soft == resource.RLIM_INFINITY else min(soft, _MOST_FILES)
    return max(1, (files - _OTHER_FILES) // _EACH)
