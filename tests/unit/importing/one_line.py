"""What any input must come to."""

from collections.abc import Callable

from pollwise.errors import InputError
from pollwise.importing.imported import Imported


def read_or_refused(read: Callable[[bytes], Imported], data: bytes) -> None:
    """The data is read, or refused by one line."""
    try:
        read(data)
    except InputError as error:
        told = str(error)
    else:
        return
    assert len(told.splitlines()) == 1
