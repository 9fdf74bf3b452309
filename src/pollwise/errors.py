"""Every error that pollwise raises on purpose.

::

    PollwiseError
    ├── InputError (ValueError)        an argument or an input line that cannot be used
    │   └── TraceError                 a recorded history that cannot be replayed
    ├── StoreError (OSError)           the database file cannot be read or written
    │   ├── StoreBusyError            ... another program holds its lock; trying again may help
    │   ├── StoreDiskError             ... its disk takes no more; that may pass
    │   ├── StoreInUseError            ... another process is its only writer
    │   └── StoreVersionError          ... was written by another version of pollwise
    ├── StateError (ValueError)        learned state that does not fit the policy it is loaded into
    └── PostponedError                 a fetch that could not be made, through no fault of its page
        └── NoNetworkError             ... as no host can be reached from here

Every message names the input, the place and the remedy, in one line.
What goes wrong on the web is no error but an `Observation` with the outcome FAILED; a
`PostponedError` ends as an `Observation`, too: POSTPONED.
"""

__all__ = [
    "InputError",
    "NoNetworkError",
    "PollwiseError",
    "PostponedError",
    "StateError",
    "StoreBusyError",
    "StoreDiskError",
    "StoreError",
    "StoreInUseError",
    "StoreVersionError",
    "TraceError",
]


class PollwiseError(Exception):
    """The root of all errors that pollwise raises on purpose."""


class InputError(PollwiseError, ValueError):
    """An argument, option or input line that cannot be used."""


class TraceError(InputError):
    """A recorded history that cannot be replayed, such as a table without its columns."""


class StoreError(PollwiseError, OSError):
    """The database cannot be opened, read or written."""


class StoreBusyError(StoreError):
    """Another program kept the database locked; the same call can be made again."""


class StoreDiskError(StoreError):
    """The disk took no more: it is full, a quota is used up, it fails or is read-only; that may
    pass.
    """


class StoreInUseError(StoreError):
    """Another process is the only writer of the database: it polls, or writes for a moment."""


class StoreVersionError(StoreError):
    """The database was written by a version of pollwise whose format this one does not know."""


class StateError(PollwiseError, ValueError):
    """Learned state that does not fit the policy or scheduler it is loaded into."""


class PostponedError(PollwiseError):
    """A fetch that could not be made, through no fault of page or host; says why in words.

    This machine lacked a connection or memory, or a host on the way was busy.
    """


class NoNetworkError(PostponedError):
    """No network is there, for this host or for others."""
